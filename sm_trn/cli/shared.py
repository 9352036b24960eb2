"""What every command shares: how it answers people and machines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import click

from ..logs.shown import printable

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else on stdout.")


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


def say(text: str = "", *, paint: Callable[[str], str] | None = None) -> None:
    """Lines for people: what a job printed cannot move their cursor. ``paint`` may colour them where that is wanted.

    Colour goes to terminals only (click takes it out elsewhere), and not where NO_COLOR is set (no-color.org).
    """
    clean = "\n".join(printable(line) for line in text.split("\n"))
    click.echo(paint(clean) if paint is not None and not os.environ.get("NO_COLOR") else clean)
