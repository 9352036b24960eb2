"""Variables that the user gives a program, by name, by value or in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import click


def variables(given: Iterable[str], files: Iterable[Path], own: Mapping[str, str]) -> dict[str, str]:
    """The variables of the files, and over them those that are given: ``NAME=value``, or ``NAME`` for its value in ``own``.

    Raises UsageError for a name that ``own`` does not have, and for a line of a file that gives no variable. No message holds a value.

    >>> variables(["EPOCHS=3", "HOME"], [], {"HOME": "/home/me"})
    {'EPOCHS': '3', 'HOME': '/home/me'}
    """
    found = {name: value for file in files for name, value in _of_file(file)}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not name or (not equals and name not in own):
            raise click.UsageError(
                f"--env: got {name!r}, which is no variable of this environment; wanted NAME or NAME=VALUE"
            )
        found[name] = value if equals else own[name]
    return found


def _of_file(file: Path) -> Iterable[tuple[str, str]]:
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--env-file: got {str(file)!r}, which cannot be read: {type(error).__name__}") from None
    for number, line in enumerate(lines, 1):
        text = line.strip().removeprefix("export ").lstrip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--env-file: got line {number} of {file}, wanted NAME=VALUE")
        yield name.strip(), _unquoted(value.strip())


def _unquoted(value: str) -> str:
    """The value without quotes, or without the comment that follows it."""
    quote = value[:1]
    if quote in {"'", '"'} and value.find(quote, 1) > 0:
        return value[1 : value.find(quote, 1)]
    return value.partition(" #")[0].rstrip()
