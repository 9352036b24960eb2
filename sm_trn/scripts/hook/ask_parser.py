"""Hook of the sandbox: a parser's answer to the program's command line becomes a note, and the program ends there.

It knows argparse, and what is built on it – HfArgumentParser, hydra –, and click, also as typer has it.
"""

from __future__ import annotations

import argparse
import os
import sys

from sitecustomize import SETTINGS, of_program, on_import, tell  # type: ignore[import-not-found]  # of the sandbox
from stand_ins import StandIn  # type: ignore[import-not-found]  # as above

_parse_known_args = argparse.ArgumentParser.parse_known_args
_state = {"parsing": False, "strict": None, "doubt": ""}


class _RefusedError(Exception):
    """An error of argparse, which would end the program."""


def _answer(names, *, refused="", leftover=(), strict=True, ends=True):
    names = sorted({name.lstrip("-") for name in names} - {"h", "help"})
    tell("parser", names=names, refused=refused, leftover=list(leftover), strict=strict, doubt=_state["doubt"])
    if ends:
        os._exit(0)


def _known(self, args=None, namespace=None):
    """In the place of ``parse_known_args``."""
    words, strict = sys.argv[1:] if args is None else list(args), _state["strict"]
    if _state["parsing"] or (strict is None and not set(words) <= set(sys.argv[1:])):
        return _parse_known_args(self, args, namespace)
    names = [name for action in self._actions for name in action.option_strings]
    _state["parsing"] = True
    try:
        parsed, leftover = _parse_known_args(self, words, namespace)
    except (_RefusedError, argparse.ArgumentError, argparse.ArgumentTypeError, SystemExit) as error:
        _answer(names, refused=str(error), strict=bool(strict))
    finally:
        _state["parsing"] = False
    # A parser of the program's own may hand what it leaves to another.
    ends = bool(strict) or SETTINGS["asked"] < 2 or not of_program(sys._getframe(1).f_code.co_filename)
    _answer(names, leftover=leftover, strict=bool(strict), ends=ends)
    return parsed, leftover


def _strictly(self, args=None, namespace=None):
    """In the place of ``parse_args``."""
    _state["strict"] = True if args is None or set(args) <= set(sys.argv[1:]) else None
    try:
        return self.parse_known_args(args, namespace)[0]
    finally:
        _state["strict"] = None


def _error(_, message):
    raise _RefusedError(message)


def _handed(self, *words, **settings):
    """A stand-in may fill a parser that is handed to it."""
    if any(isinstance(each, argparse._ActionsContainer) for each in (*words, *settings.values())):
        _state["doubt"] = f"{self._name}, which is not installed here, may have more arguments"
    return StandIn(f"{self._name}(…)", self._why)


def _patch_transformers(module):
    """HfArgumentParser refuses what is left, unless it is asked to return it."""
    parse = module.HfArgumentParser.parse_args_into_dataclasses

    def parse_args_into_dataclasses(self, args=None, return_remaining_strings=False, **settings):
        _state["strict"] = not return_remaining_strings
        return parse(self, args=args, return_remaining_strings=return_remaining_strings, **settings)

    module.HfArgumentParser.parse_args_into_dataclasses = parse_args_into_dataclasses


def _patch_click(module):
    """The words of a command are parsed when its context is made; then it is invoked."""
    exceptions = sys.modules[module.__name__.replace(".core", ".exceptions")]
    make, invoke = module.Command.make_context, module.Command.invoke

    def options(command):
        return [name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("-")]

    def make_context(self, *words, **settings):
        try:
            return make(self, *words, **settings)
        except exceptions.NoSuchOption as error:
            _answer(options(self), leftover=[error.option_name])
        except exceptions.ClickException as error:
            _answer(options(self), refused=error.format_message())

    def invoke_command(self, context):
        if hasattr(self, "list_commands"):  # a group
            return invoke(self, context)
        return _answer(options(self), leftover=context.args, strict=not context.ignore_unknown_options)

    module.Command.make_context, module.Command.invoke = make_context, invoke_command


StandIn.__call__, StandIn.__eq__ = _handed, object.__eq__  # typing compares the parts of a union
argparse.ArgumentParser.parse_known_args = _known  # type: ignore[method-assign]
argparse.ArgumentParser.parse_args = _strictly  # type: ignore[method-assign]
argparse.ArgumentParser.error = _error  # type: ignore[method-assign]
on_import("transformers.hf_argparser", _patch_transformers)
on_import("click.core", _patch_click)
on_import("typer._click.core", _patch_click)
