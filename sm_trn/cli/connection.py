"""The options of every command that asks SageMaker, and the session that they make."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ..core.session.handles import Session
from .options import global_option

F = TypeVar("F", bound=Callable[..., Any])


def connection_options(command: F) -> F:
    """Add --backend, --region, --profile and --state. The command receives ``connection``: call it for the session.

    It connects at the first call only, so that a command which turns out to need no cloud never asks for one. A command's own
    --role and --bucket go into it too.
    """

    @global_option("backend")
    @global_option("region")
    @global_option("profile")
    @global_option("state")
    @functools.wraps(command)
    def connected(
        *args: Any, backend: str | None, region: str | None, profile: str | None, state: Path | None, **kwargs: Any
    ) -> Any:
        named = {name: kwargs.pop(name) for name in ("role", "bucket") if name in kwargs}

        @functools.cache
        def connection() -> Session:
            from ..wiring import connect  # noqa: PLC0415 - a quick `--help` needs none of it

            session = connect(backend, region=region, profile=profile, state=state, **named)
            if not kwargs.get("as_json"):
                click.echo(session.announcement, err=True)
            return session

        return command(*args, connection=connection, **kwargs)

    return connected  # type: ignore[return-value]  # click adds the options


def emulator_asked() -> bool:
    """Whether the emulator was asked for: by the option, else by the environment."""
    backend = click.get_current_context().params["backend"]
    return (os.environ.get("SM_TRN_BACKEND") if backend is None else backend) == "emulator"
