"""What a shell completes beyond commands, options and words that a command knows: files."""

from __future__ import annotations

import click
from click.types import StringParamType

from .shared import Completed


def completing(command: click.Command) -> click.Command:
    """The command with files for a shell to complete where it takes them."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            completing(inner)
    for parameter in command.params:
        if not isinstance(parameter.type, StringParamType) or isinstance(parameter.type, Completed):
            continue  # a number, a path, a choice, or one whose command knows its words
        if "FILE" in str(parameter.metavar):
            parameter.type = Completed(files=True)
    return command
