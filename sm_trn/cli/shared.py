"""What every command shares: how it connects, and how it answers people and machines."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import click

from ..logs import printable
from ..session import Session, connect

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Machine-readable answer; nothing else goes to stdout."
)


def connection_options(command: F) -> F:
    """Add --backend, --region, --profile and --state. The command receives ``connection``: call it for the session.

    It connects at the first call only, so that a command which turns out to need no cloud never asks for one.
    """

    @click.option(
        "--backend",
        type=click.Choice(["aws", "emulator"]),
        help="Default: SM_TRN_BACKEND, else AWS if credentials are found.",
    )
    @click.option("--region", help="AWS region.")
    @click.option("--profile", help="AWS profile.")
    @click.option("--state", type=click.Path(path_type=Path), help="The emulator's state folder.")
    @functools.wraps(command)
    def connected(
        *args: Any, backend: str | None, region: str | None, profile: str | None, state: Path | None, **kwargs: Any
    ) -> Any:
        @functools.cache
        def connection() -> Session:
            session = connect(backend, region=region, profile=profile, state=state)
            if not kwargs.get("as_json"):
                click.echo(session.announcement, err=True)
            return session

        return command(*args, connection=connection, **kwargs)

    return connected  # type: ignore[return-value]  # click adds the options


def emit(body: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(body, indent=2, default=plain))


def plain(value: object) -> object:
    """Times as ISO 8601 UTC, money as text, paths as text."""
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
