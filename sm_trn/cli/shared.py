"""What every command shares: how it answers people and machines."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from ..core.formatting.printable import printable
from ..core.formatting.text import WIDE, Screen
from ..core.formatting.theme import wants_color
from ..core.pricing.book import price_day

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


class Day(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases alone
    """The day of a price."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text. Raises click.BadParameter for what is no date."""
        try:
            price_day(str(value))
        except ValueError as error:
            self.fail(str(error).removeprefix("at: "), param, ctx)
        return str(value)


class Completed(StringParamType):
    """A text of which a shell knows words, and that may be a file."""

    def __init__(self, words: Callable[[], Iterable[str]] = tuple, *, files: bool = False) -> None:
        self._words, self._files = words, files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words that begin so; then the shell's own completion of files."""
        del ctx, param
        found = [CompletionItem(word) for word in self._words() if word.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if self._files else found


def role_arn(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The ARN. Raises click.BadParameter for what SageMaker would refuse as one."""
    from ..core.catalog import limits  # noqa: PLC0415 - a quick `--help` needs none of it

    if value is not None and not limits.matches("RoleArn", value):
        said = f"got {value!r}, wanted the ARN of a role, such as arn:aws:iam::111122223333:role/training"
        raise click.BadParameter(said, context, parameter)
    return value


def bucket_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The name. Raises click.BadParameter for what no bucket can be called."""
    if value is not None and _BUCKET.fullmatch(value) is None:
        said = f"got {value!r}, wanted the name of a bucket: 3 to 63 small letters, digits, dots and hyphens"
        raise click.BadParameter(said, context, parameter)
    return value


def ago(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """A date, or an age such as ``30d`` as an ISO time."""
    from ..core.logs.selection import since_s  # noqa: PLC0415 - as above

    is_age = value is not None and re.fullmatch(r"\d+[smhd]", value) is not None
    seconds = int(since_s(value, time.time())) if is_age and value else 0
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat() if is_age else value


class Number(click.FloatRange):
    """A number between two others; neither NaN nor infinite, which no range refuses."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Raises click.BadParameter for any other."""
        try:
            found = float(super().convert(value, param, ctx))
        except click.BadParameter:
            found = math.nan
        if not math.isfinite(found):
            self.fail(f"got {value!r}, wanted a number{_bounds(self)}", param, ctx)
        return found


class Whole(click.IntRange):
    """A whole number between two others."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Raises click.BadParameter for any other."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(f"got {value!r}, wanted a whole number{_bounds(self)}", param, ctx)


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases alone
    """A time such as ``90m``, ``3h``, ``1.5d``, or seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds. Raises click.BadParameter for anything else."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(value).strip())
        if match is None or float(match[1]) <= 0:
            self.fail(f"got {value!r}, wanted a time such as 3h, 90m or 5400s", param, ctx)
        return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[match[2] or "s"]


def _bounds(numbers: click.FloatRange | click.IntRange) -> str:
    """`` from 1 to 500``; empty where every number is taken."""
    if numbers.min is None:
        return "" if numbers.max is None else f" of at most {numbers.max:g}"
    if numbers.max is not None:
        return f" from {numbers.min:g} to {numbers.max:g}"
    return f" above {numbers.min:g}" if numbers.min_open else f" of at least {numbers.min:g}"


at_option = click.option(
    "--at", type=Day(), metavar="DATE", help="Use prices of this date, e.g. 2022-12-31. Default: the newest known."
)


def emit(body: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(body, indent=2, default=plain))


def cents(usd: Decimal | None) -> Decimal | None:
    """Rounded for machines; None stays None."""
    return None if usd is None else usd.quantize(Decimal("0.01"), ROUND_HALF_EVEN)


def plain(value: object) -> object:
    """Return what JSON can hold: times as ISO 8601 UTC, money and paths as text. Raises TypeError for any other object."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (Decimal, Path)):
        return str(value)
    if hasattr(value, "items"):
        return dict(value.items())
    raise TypeError(f"{type(value).__name__} has no JSON form")


def terminal() -> Screen:
    """Where lines are shown: as wide as the terminal; without end where the output goes elsewhere."""
    return Screen(width=shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDE)


def say(text: str = "", *, paint: Callable[[str], str] | None = None) -> None:
    """Lines for people: what a job printed cannot move their cursor. ``paint`` may colour them where that is wanted.

    ``wants_color`` says where: it alone decides, and not click.
    """
    clean = "\n".join(printable(line) for line in text.split("\n"))
    colored = paint is not None and wants_color(sys.stdout)
    click.echo(paint(clean) if paint is not None and colored else clean, color=colored)
