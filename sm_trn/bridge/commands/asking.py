"""The question for what a launcher leaves open, on a terminal: one line a name, and an empty answer leaves it open."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterable

import click

from ...core.preflight.secrets import is_named_secret
from ..launchers.launches import Launchers
from ..launchers.values import Given, Unresolved


def on_terminal() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def value_of(text: str) -> object:
    """A value as it is given by hand: a Python literal where it is one, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def answers(found: Iterable[Launchers], known: Collection[str], ask: Callable[[str], str]) -> Given:
    """What ``ask`` says for each name that would fill a hole or a placeholder and is not ``known``; names that are left open are not
    in it. Nobody is asked for a secret, which does not belong into a job."""
    wanted: dict[str, Unresolved] = {}
    for hole in (hole for each in found for launch in each.launches for hole in (*launch.holes, *launch.asked)):
        if hole.give and hole.give not in known and not is_named_secret(hole.give, "any value"):
            wanted.setdefault(hole.give, hole)
    said = {name: ask(f"{name} ({hole.place}: {hole.expression})") for name, hole in wanted.items()}
    said = {name: text for name, text in said.items() if text}
    return Given({name: value_of(text) for name, text in said.items()}, said)


def prompt(question: str) -> str:
    """Ask on the terminal; Return alone leaves it open."""
    return str(click.prompt(question, default="", show_default=False, err=True))
