"""Whole programs written for SDK v3: shown as a diff, written in place, or as new notebooks."""

from __future__ import annotations

import difflib
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cli.shared import say
from ...core.errors import SmTrnError
from ...core.extras import extra
from ...core.formatting import numbers as fmt

if TYPE_CHECKING:
    from ..rewriting.port import Port


def ported(names: Sequence[str], python: Path | None, arguments: str, isolation: str) -> list[tuple[Path, Port]]:
    """Each file, ported; ``isolation`` is how its runs are held.

    Raises SmTrnError where this Python has no SDK v2, or none with SDK v3 is named.
    """
    with extra("bridge", "Writing a program for SDK v3"):
        from ..rewriting.port import port  # noqa: PLC0415 - an extra
        from ..rewriting.sdk import sdk_v2, sdk_v3  # noqa: PLC0415 - as above
    v2, v3 = sdk_v2(), sdk_v3(python)
    return [(Path(name), port(Path(name), v2, v3, shlex.split(arguments), isolation)) for name in names]


def show(results: Sequence[tuple[Path, Port]]) -> int:
    """Each change as a diff, and what is to be said of it."""
    for path, port in results:
        tell(path, port)
        name = str(path)
        lines = difflib.unified_diff(
            port.old.splitlines(), port.text.splitlines(), name, f"{name}, for SDK v3", lineterm=""
        )
        say("\n".join(lines))
    return _code(results)


def write_in_place(results: Sequence[tuple[Path, Port]]) -> int:
    """Write what runs, and keep the old file beside it."""
    for path, port in results:
        tell(path, port)
        if port.runs:
            shutil.copy2(path, path.with_name(f"{path.name}.bak"))
            _write(path, port)
            say(f"{path}: written for SDK v3; {path.name}.bak is the old file")
    return _code(results)


def write_notebooks(results: Sequence[tuple[Path, Port]], output: Path | None) -> int:
    """Write what runs into another folder, or on the screen."""
    for path, port in results:
        if path.suffix != ".ipynb":
            raise SmTrnError(
                f"import: got {str(path)!r} for --to notebook, wanted a .ipynb file; --diff and --in-place take scripts"
            )
        tell(path, port)
        if not port.runs:
            continue
        if output is None:
            click.echo(port.text, nl=False)
            continue
        output.mkdir(parents=True, exist_ok=True)
        target = output / path.name
        if target.resolve() == path.resolve():
            raise SmTrnError(
                f"import: got {str(output)!r}, the folder of {str(path)!r}, wanted another one, or --in-place"
            )
        _write(target, port)
        say(str(target))
    return _code(results)


def tell(path: Path, port: Port) -> None:
    """What was found out about a file: why it is not written, or what its jobs differ in."""
    if not port.launches:
        click.echo(f"{path}: no estimator of SDK v2 is made here; nothing is written", err=True)
        return
    if port.refused:
        for each in port.refused:
            click.echo(f"{each}", err=True)
        click.echo(f"{path}: it would not be the same program under SDK v3, so it is not written", err=True)
        return
    jobs = fmt.jobs(port.jobs)
    what = (
        "the whole program was run"
        if port.whole
        else "the statements that its jobs depend on were run, not the whole program"
    )
    click.echo(f"{path}: {jobs} sent under SDK v2 and under SDK v3, recorded, not launched; {what}", err=True)
    for means in port.named:
        click.echo(f"  differs: {means}", err=True)


def _write(path: Path, port: Port) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(port.text)


def _code(results: Sequence[tuple[Path, Port]]) -> int:
    return int(not all(port.runs for _, port in results))
