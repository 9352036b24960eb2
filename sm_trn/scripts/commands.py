"""The command that a script declares with click or typer, made again with click: its parser is asked, its function never runs."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from ..core.preflight import source
from .fields import FieldKind, enumerations, field_of
from .parsers import Refused, constants, literal

_TYPES: dict[str, click.ParamType[Any, Any]] = {
    "int": click.INT,
    "float": click.FLOAT,
    "str": click.STRING,
    "bool": click.BOOL,
}
_KEPT = frozenset({"required", "is_flag", "multiple", "nargs", "count"})  # of what a parameter says
_LEFT = frozenset(
    {
        "help",
        "show_default",
        "default",
        "callback",
        "envvar",
        "metavar",
        "hidden",
        "expose_value",
        "is_eager",
        "show_envvar",
    }
)
_NO_PARAMETERS = frozenset({"pass_context", "pass_obj"})
_EARLY = ("ignore_unknown_options", "allow_extra_args")


@dataclass(frozen=True, slots=True)
class Command:
    """A click command as far as it is written out."""

    command: click.Command
    names: tuple[str, ...]
    strict: bool

    def leftover(self, words: tuple[str, ...]) -> list[str]:
        """The options that the command does not know. Raises Refused for anything else that it does not take."""
        try:
            self.command.make_context("script", list(words))
        except click.NoSuchOption as error:
            return [error.option_name]
        except click.ClickException as error:
            raise Refused(error.format_message()) from None
        except (click.exceptions.Exit, click.Abort, TypeError, ValueError):
            return []
        return []


@functools.lru_cache(maxsize=source.KEPT)
def of_click(program: str, environment: frozenset[str]) -> Command | None:
    """The only command that a program declares with click or typer; None where one cannot be read. ``environment`` are the variables
    that the job sets.
    """
    if "click" not in program and "typer" not in program:
        return None
    tree = source.tree(program)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    made = [node for node in functions if any(_decorates(each, "command") for each in node.decorator_list)]
    run = {
        ast.unparse(call.args[0])
        for call in source.calls(program)
        if ast.unparse(call.func) == "typer.run" and call.args
    }
    made += [node for node in functions if node.name in run]
    grouped = any(
        _decorates(each, "group") or _decorates(each, "callback") for node in functions for each in node.decorator_list
    )
    if len(made) != 1 or grouped:
        return None
    typed = run or any(ast.unparse(call.func) == "typer.Typer" for call in source.calls(program))
    try:
        parameters = list(_typed(made[0], tree) if typed else _declared(made[0], constants(program), environment))
        settings = {} if typed else _settings(made[0])
    except (ValueError, TypeError):
        return None
    command = click.Command("script", params=parameters, context_settings=settings, add_help_option=False)
    names = tuple(option.lstrip("-") for each in parameters if isinstance(each, click.Option) for option in each.opts)
    return Command(command, names, strict=not any(settings.get(name) for name in _EARLY))


def _decorates(node: ast.expr, name: str) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute) and called.attr == name


def _settings(function: ast.FunctionDef) -> dict[str, Any]:
    """The settings of the command's context. Raises ValueError."""
    words = [
        word
        for each in function.decorator_list
        if _decorates(each, "command") and isinstance(each, ast.Call)
        for word in each.keywords
    ]
    read: dict[str, Any] = next((literal(word.value, {}) for word in words if word.arg == "context_settings"), {})
    return {name: value for name, value in read.items() if name in _EARLY}


def _declared(function: ast.FunctionDef, names: Any, environment: frozenset[str]) -> Iterator[click.Parameter]:
    """The parameters of click's decorators. Raises ValueError for what is not written out."""
    for each in function.decorator_list:
        call = each if isinstance(each, ast.Call) else None
        if _decorates(each, "command") or any(_decorates(each, name) for name in _NO_PARAMETERS):
            continue
        if call is None or not (_decorates(each, "option") or _decorates(each, "argument")):
            raise ValueError(ast.unparse(each))
        flags = [literal(word, names) for word in call.args]
        options: dict[str, Any] = {}
        for word in call.keywords:
            if word.arg == "type":
                options["type"] = _type(word.value, names)
            elif word.arg in _KEPT:
                options[word.arg] = literal(word.value, names)
            elif word.arg not in _LEFT:
                raise ValueError(ast.unparse(each))
        stated = {word.arg: word.value for word in call.keywords}
        set_here = "envvar" in stated and _is_set(literal(stated["envvar"], names), environment)
        options |= {"required": False} if "default" in stated or set_here else {}
        yield (
            click.Option(flags, **options)
            if _decorates(each, "option")
            else click.Argument(flags, **{"required": True, **options})
        )


def _is_set(variable: object, environment: frozenset[str]) -> bool:
    """Whether the container has a variable of this name."""
    return variable in environment or str(variable).startswith("SM_")


def _type(node: ast.expr, names: Any) -> click.ParamType[Any, Any]:
    """A click type; any text where the type is one that looks at the machine or cannot be read."""
    if isinstance(node, ast.Name) and node.id in _TYPES:
        return _TYPES[node.id]
    if isinstance(node, ast.Attribute):
        return _TYPES.get(node.attr.lower(), click.UNPROCESSED)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {"click.Choice", "Choice"}:
        words = {word.arg: literal(word.value, names) for word in node.keywords}
        return click.Choice(literal(node.args[0], names), case_sensitive=bool(words.get("case_sensitive", True)))
    return click.UNPROCESSED


def _typed(function: ast.FunctionDef, tree: ast.Module) -> Iterator[click.Parameter]:
    """The parameters that typer makes of a function's own. Raises ValueError for what is not written out.

    Source: typer 0.29.2, main.py, get_click_param: a parameter without a default is an argument, any other ``--its-name``, and a
    bool a pair of flags.
    """
    enums = enumerations(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    arguments = function.args
    defaults: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults)) + list(
        arguments.defaults
    )
    pairs = [
        *zip(arguments.args, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        annotation, stated = argument.annotation or ast.Name("str"), _typers(default)
        if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).endswith("Annotated"):
            annotation, *others = getattr(annotation.slice, "elts", [annotation.slice])
            stated = next((call for each in others if (call := _typers(each)) is not None), stated)
        kind = field_of(annotation, None, enums)
        if kind is not None:
            yield _parameter(argument.arg, kind, default, stated)


def _typers(node: ast.expr | None) -> ast.Call | None:
    """``typer.Option(…)`` or ``typer.Argument(…)``."""
    found = isinstance(node, ast.Call) and ast.unparse(node.func).rsplit(".", 1)[-1] in {"Option", "Argument"}
    return node if found and isinstance(node, ast.Call) else None


def _parameter(name: str, kind: FieldKind, default: ast.expr | None, stated: ast.Call | None) -> click.Parameter:
    texts = [word.value for word in stated.args if isinstance(word, ast.Constant)] if stated is not None else []
    inside = default is not None and stated is default  # typer.Option(default, "--name") as the default itself
    given = [word for word in texts if isinstance(word, str) and word.startswith("-")]
    required = default is None or (inside and (... in texts or not (set(texts) - set(given) or _has_default(stated))))
    kinds: dict[str, Any] = {
        "type": click.Choice(kind.choices) if kind.choices else _TYPES.get(kind.type, click.UNPROCESSED)
    }
    option = ast.unparse(stated.func).endswith("Option") if stated is not None else default is not None
    if not option:
        return click.Argument([name], required=required, **kinds)
    dashed = name.replace("_", "-")
    if kind.type == "bool":
        return click.Option(given or [f"--{dashed}/--no-{dashed}"], is_flag=True)
    return click.Option([*(given or [f"--{dashed}"]), name], required=required, multiple=kind.many, **kinds)


def _has_default(stated: ast.Call | None) -> bool:
    return stated is not None and (
        any(word.arg == "default" for word in stated.keywords)
        or bool(stated.args and not isinstance(stated.args[0], ast.Constant))
    )
