"""What a shell completes beyond commands and options: files, and the words that an argument or an option takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.types import StringParamType

from ..core import _entry, catalog
from ..core.render import TARGETS
from .files.rules import catalogue
from .shared import Completed


def rule_ids() -> Iterable[str]:
    """The ids of the rules of ``check``."""
    return (rule.id for rule in catalogue())


def instances() -> Iterable[str]:
    """The instance types of the catalogue."""
    return catalog.instances()


WORDS: dict[tuple[str, str], Callable[[], Iterable[str]]] = {  # by command and parameter
    ("render", "target"): lambda: TARGETS,
    ("init", "script"): _entry.shipped_scripts,
}
OF_ANY: dict[str, Callable[[], Iterable[str]]] = {  # by parameter
    "ignore": rule_ids,
    "explain": rule_ids,
    "instance": instances,
}


def completing(command: click.Command, path: str) -> click.Command:
    """The command, which ``path`` calls, with what a shell completes of its arguments."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            completing(inner, f"{path} {name}")
    for parameter in command.params:
        if not isinstance(parameter.type, StringParamType) or isinstance(parameter.type, Completed):
            continue  # a number, a path, a choice, or one whose command knows its words
        words = WORDS.get((path, parameter.name or ""), OF_ANY.get(parameter.name or ""))
        files = "FILE" in str(parameter.metavar)
        if words is not None or files:
            parameter.type = Completed(words, files=files)
    return command
