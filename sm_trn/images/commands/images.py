"""sm-trn images"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import click
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from ...cli.shared import Completed, emit, json_option, say
from ...core.catalog import images
from ...core.catalog.instances import find_instance
from ...core.errors import UnknownName
from ...core.formatting.missing import Missing, known
from ...core.formatting.table import Align, Cell, Column, Row, Table
from ...core.formatting.text import WHOLE_NAMES, WIDE, Screen, table_lines
from ...core.specs.value import suggestion
from ..contents import Contents, all_contents

NAMES = Completed(lambda: (each.name for each in all_contents()))


class Versions(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases alone
    """``2.5``, which is any 2.5.x, or a specifier such as ``>=2.4``."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> SpecifierSet:
        """A specifier. Raises click.BadParameter for anything else."""
        try:
            return SpecifierSet(f"=={value}.*" if str(value)[:1].isdigit() else str(value or "?"))
        except InvalidSpecifier:
            self.fail(f"got {value!r}, wanted a version such as 2.5, or '>=2.4'", param, ctx)


SHOWN = ("torch", "transformers", "datasets", "accelerate", "trl", "peft", "numpy")


@click.group("images", invoke_without_command=True)
@click.option(
    "--torch", type=Versions(), metavar="VERSION", help="Only images with this PyTorch, such as 2.5 or '>=2.4'."
)
@click.option("--transformers", type=Versions(), metavar="VERSION", help="Only images with these transformers.")
@click.option("--python", type=Versions(), metavar="VERSION", help="Only images with this Python, such as 3.11.")
@click.option(
    "--on", "instance", metavar="INSTANCE", help="Only images for this instance type, such as ml.trn1.32xlarge."
)
@click.option("--patched", is_flag=True, help="Only images that AWS still patches.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    *,
    torch: SpecifierSet | None,
    transformers: SpecifierSet | None,
    python: SpecifierSet | None,
    instance: str | None,
    patched: bool,
    as_json: bool,
) -> None:
    """Show which training image holds what, newest first. What AWS does not publish is marked as not known.

    \b
    Examples: sm-trn images --torch 2.5 --on ml.p4d.24xlarge
              sm-trn images show huggingface-4.49
              sm-trn images diff pytorch-2.5.1-gpu pytorch-2.6.0-gpu
    """
    if context.invoked_subcommand is not None:
        return
    if instance is not None and find_instance(instance) is None:
        raise click.BadParameter(
            f"got {instance!r}, wanted an instance type of sm-trn catalog instances", param_hint="--on"
        )
    found = [
        each
        for each in sorted(all_contents(), key=_age, reverse=True)
        if _has(each.pytorch, torch)
        and _has(each.transformers or each.version("transformers"), transformers)
        and _has(each.python, python)
        and (instance is None or each.processor == images.processor(instance))
        and not (patched and _ended(each))
    ]
    if as_json:
        emit([_facts(each) for each in found])
        return
    say(
        "\n".join(table_lines(_table(found), Screen(width=WIDE), WHOLE_NAMES))
        if found
        else "No image that is known has all of this."
    )
    say(
        "Next: sm-trn images show NAME. Versions are those of the image's newest build. The beginning of a name stands for the newest."
    )


@command.command("show")
@click.argument("name", type=NAMES)
@json_option
def show(*, name: str, as_json: bool) -> None:
    """Show every package of an image, with the file that says so."""
    held = find(name)
    if as_json:
        emit({**_facts(held), "packages": dict(held.packages)})
        return
    say(
        f"{held.name}   Python {held.python or Missing.NOT_KNOWN}, CUDA {held.cuda or Missing.NOT_KNOWN}, {_patched(held)}"
    )
    for package, spec in sorted(held.packages.items()):
        say(f"  {package:<28} {spec or Missing.NOT_KNOWN}")
    if not held.complete:
        say("AWS publishes the packages that it names, not those that they bring.")
    say(f"Source: {held.source}")


@command.command("diff")
@click.argument("before", type=NAMES)
@click.argument("after", type=NAMES)
def diff(*, before: str, after: str) -> None:
    """Show what differs between two images: Python, CUDA and each package."""
    one, two = find(before), find(after)
    say(f"{one.name} → {two.name}")
    rows = [("python", one.python, two.python), ("cuda", one.cuda, two.cuda)]
    rows += [(name, _spec(one, name), _spec(two, name)) for name in sorted({*one.packages, *two.packages})]
    for name, first, second in rows:
        if first != second:
            say(f"  {name:<28} {first or Missing.NOT_KNOWN} → {second or Missing.NOT_KNOWN}")


def find(name: str) -> Contents:
    """The image of this name, or the newest whose name begins so. Raises UnknownName."""
    exact = [each for each in all_contents() if each.name == name]
    found = exact or sorted((each for each in all_contents() if each.name.startswith(name)), key=_age)
    if not found:
        names = [each.name for each in all_contents()]
        raise UnknownName(
            f"image: got {name!r}, wanted one of the names that sm-trn images lists{suggestion(name, names)}"
        )
    return found[-1]


def _age(held: Contents) -> tuple[Version, Version]:
    return Version(held.pytorch), Version(held.transformers or "0")


def _has(version: object, asked: SpecifierSet | None) -> bool:
    if asked is None or version is None:
        return asked is None
    return asked.contains(str(version), prereleases=True)


def _spec(held: Contents, name: str) -> str:
    """What is published of a package; that it is not there is known of a lock file alone."""
    return held.packages.get(name) or str(Missing.NOTHING if held.holds(name) is False else Missing.NOT_KNOWN)


def _row(held: Contents) -> images.ImageRow | None:
    rows = images.rows(held.family)
    same = [
        row
        for row in rows
        if (row.pytorch, row.transformers, row.neuron_sdk) == (held.pytorch, held.transformers, held.neuron_sdk)
    ]
    return same[-1] if same else None


def _ended(held: Contents) -> bool:
    row = _row(held)
    return (
        row is None or row.end_of_patch is None or row.end_of_patch < datetime.now(tz=timezone.utc).date().isoformat()
    )


def _patched(held: Contents) -> str:
    row = _row(held)
    return f"patched until {known(row.end_of_patch if row is not None else None, Missing.NOT_KNOWN)}"


def _facts(held: Contents) -> dict[str, object]:
    row = _row(held)
    versions = {name: held.packages.get(name) for name in SHOWN}
    dates = (
        {"general_availability": row.general_availability, "end_of_patch": row.end_of_patch} if row is not None else {}
    )
    return {"name": held.name, "processor": held.processor, "python": held.python, "cuda": held.cuda, **versions, **dates,
            "complete": held.complete, "source": held.source}  # fmt: skip


def _table(found: list[Contents]) -> Table:
    columns = [
        Column(name="python", heading="Python", align=Align.LEFT),
        Column(name="cuda", heading="CUDA", align=Align.LEFT),
    ]
    columns += [Column(name=name, heading=name, align=Align.LEFT) for name in SHOWN]
    columns.append(Column(name="until", heading="Patched until", align=Align.LEFT))
    rows = []
    for held in found:
        row = _row(held)
        cells = {name: Cell(_version(held, name)) for name in SHOWN}
        cells |= {"python": Cell(held.python or Missing.NOT_KNOWN), "cuda": Cell(held.cuda or Missing.NOTHING)}
        cells["until"] = Cell(known(row.end_of_patch if row is not None else None, Missing.NOT_KNOWN))
        rows.append(Row(name=held.name, cells=cells))
    return Table(columns=tuple(columns), rows=tuple(rows), rows_are="Images")


def _version(held: Contents, name: str) -> str:
    exact = held.version(name)
    return exact.public if exact is not None else _spec(held, name)
