"""sm-trn catalog"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
from packaging.version import Version

from ...cli.options import Region, global_option, json_option, region_option
from ...cli.shared import Completed, emit, say
from ...core import catalog
from ...core.catalog import renewal
from ...core.catalog.images import ImageRow
from ...core.catalog.instances import find_instance
from ...core.errors import NotConfigured, UnknownName
from ...core.facts import SCHEMA, facts_file, read_facts
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing, known
from ...core.formatting.table import Align, Cell, Column, Row, Table
from ...core.formatting.text import WHOLE_NAMES, WIDE, Screen, table_lines
from ...core.pricing.book import BASE_REGION, Price, dump_prices, parse_prices, price_sources
from ...core.session.defaults import known_prices, known_region
from ...core.specs.value import suggestion
from ..contents import Contents, all_contents

IMAGE_NAMES = Completed(lambda: (each.name for each in all_contents()))
SHOWN = ("torch", "transformers", "datasets", "accelerate", "trl", "peft", "numpy")


@click.group("catalog", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show the tables behind checks and costs. Each row has a source and a date.

    Without a subcommand: how old each table is, and what renews it.
    """
    if context.invoked_subcommand is not None:
        return
    rows = {table.name: table for table in (*renewal.catalogue_tables(), _prices())}
    _list(
        "Table",
        (
            Column(name="rows", heading="Rows"),
            Column(name="own_rows", heading="Of them yours"),
            Column(name="as_of", heading="Newest row", align=Align.LEFT),
            Column(name="renewed_by", heading="Renewed by", align=Align.LEFT),
        ),
        [(name, dataclasses.asdict(row)) for name, row in rows.items()],
    )
    say(
        f"Your own facts: {facts_file()} ({'made ' + made if (made := read_facts(facts_file()).get('made')) else 'no such file'})"
    )


def _prices() -> renewal.FactTable:
    rows = [price for price in known_prices().prices if price.component != "Hosting"]
    own = [price for price in rows if price.source not in price_sources()]
    return renewal.FactTable(
        name="prices",
        rows=len(rows),
        as_of=max(price.as_of for price in rows),
        own_rows=len(own),
        source="; ".join(price_sources().values()),
        renewed_by="sm-trn catalog update, from the AWS Price List when there are credentials",
    )


@command.command("instances")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]…")
@region_option
@json_option
def show_instances(patterns: tuple[str, ...], *, region: str | None, as_json: bool) -> None:
    """List instance types: accelerators and their memory, workers, memory of the host, network, price of an hour.

    PATTERN is a name, in which * stands for anything: 'ml.p5*'.
    """
    book, where = known_prices(), known_region(region)
    wanted = patterns or ("*",)
    rows = [row for row in catalog.instances().values() if any(fnmatchcase(row.name, each) for each in wanted)]
    if not rows:
        raise UnknownName(f"instance: got {' '.join(patterns)}, wanted a name or a pattern of one, such as 'ml.p5*'")
    found = []
    for row in rows:
        price = book.of([(row.name, 1)], where)
        usd = price.usd_per_hour if price is not None else None
        day = price.as_of + (", inferred" if price.inferred else "") if price is not None else None
        priced = {"usd_per_hour": usd, "price_as_of": day}
        found.append({**dataclasses.asdict(row), "accelerator": row.accelerator.name, **priced})
    if as_json:
        emit(found)
        return
    _list(
        "Instance",
        (
            Column(name="shown", heading="Accelerator", align=Align.LEFT),
            Column(name="accelerator_memory_gib", heading="Its memory", short="ITS GiB", form=fmt.count),
            Column(name="workers", heading="Workers"),
            Column(name="memory_gib", heading="Memory", short="HOST GiB", form=fmt.count),
            Column(name="network_gbps", heading="Network", short="NETWORK Gbit/s", form=lambda speed: f"{speed:g}"),
            Column(name="efa", heading="EFA", form=lambda efa: "yes" if efa else ""),
            Column(name="usd_per_hour", heading="Price", short="USD/h", form=lambda usd: f"{usd:,.2f}"),
            Column(name="price_as_of", heading="Price of", align=Align.LEFT),
        ),
        [(row["name"], {**row, "shown": f"{row['chips']} × {row['chip']}" if row["chips"] else None}) for row in found],
    )
    say(f"\nPrices of {where}, the newest known; sm-trn catalog update asks AWS for newer ones.")


def _list(rows_are: str, columns: Sequence[Column], rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Show rows by their names; what is not known, or is nothing, is a dash."""
    made = [
        Row(name=name, cells={each.name: Cell(values[each.name] or Missing.NOTHING) for each in columns})
        for name, values in rows
    ]
    table = Table(columns=tuple(columns), rows=tuple(made), rows_are=rows_are)
    say("\n".join(table_lines(table, Screen(width=WIDE), WHOLE_NAMES)))


@command.command("images")
@click.argument("names", nargs=-1, type=IMAGE_NAMES, metavar="[NAME [OTHER]]")
@click.option(
    "--on", "instance", metavar="INSTANCE", help="Only images for this instance type, such as ml.trn1.32xlarge."
)
@json_option
def show_images(names: tuple[str, ...], *, instance: str | None, as_json: bool) -> None:
    """List training images with what each holds, newest first. What AWS does not publish is marked as not known.

    With NAME, or its beginning, show every package of one image; with two names, what differs between them.

    \b
    Examples: sm-trn catalog images --on ml.p4d.24xlarge
              sm-trn catalog images pytorch-2.5.1-gpu pytorch-2.6.0-gpu
    """
    if len(names) > 2:
        raise click.UsageError(f"got {len(names)} images, wanted one, or two to compare")
    if instance is not None and find_instance(instance) is None:
        raise click.BadParameter(
            f"got {instance!r}, wanted an instance type of sm-trn catalog instances", param_hint="--on"
        )
    if len(names) == 2:
        _show_differences(find_image(names[0]), find_image(names[1]), as_json=as_json)
    elif names:
        _show_image(find_image(names[0]), as_json=as_json)
    else:
        images = sorted(all_contents(), key=_age, reverse=True)
        fitting = [each for each in images if instance is None or each.processor == catalog.images.processor(instance)]
        _show_table(fitting, as_json=as_json)


def _show_table(images: list[Contents], *, as_json: bool) -> None:
    if as_json:
        emit([_image_facts(each) for each in images])
        return
    columns = [("python", "Python"), ("cuda", "CUDA"), *((name, name) for name in SHOWN), ("until", "Patched until")]
    rows = []
    for image in images:
        versions = {name: _version(image, name) for name in SHOWN}
        facts = {"python": image.python, "cuda": image.cuda, "until": _patched_until(image)}
        rows.append((image.name, {**versions, **facts}))
    _list("Images", [Column(name=name, heading=heading, align=Align.LEFT) for name, heading in columns], rows)
    say("Versions are those of the image's newest build. The beginning of a name stands for the newest.")


def _show_image(image: Contents, *, as_json: bool) -> None:
    if as_json:
        emit({**_image_facts(image), "packages": dict(image.packages)})
        return
    python, cuda = image.python or Missing.NOT_KNOWN, image.cuda or Missing.NOT_KNOWN
    say(f"{image.name}   Python {python}, CUDA {cuda}, patched until {_patched_until(image)}")
    for package, version in sorted(image.packages.items()):
        say(f"  {package:<28} {version or Missing.NOT_KNOWN}")
    if not image.complete:
        say("AWS publishes the packages that it names, not those that they bring.")
    say(f"Source: {image.source}")


def _show_differences(before: Contents, after: Contents, *, as_json: bool) -> None:
    rows = [("python", before.python, after.python), ("cuda", before.cuda, after.cuda)]
    names = sorted({*before.packages, *after.packages})
    rows += [(name, _published(before, name), _published(after, name)) for name in names]
    different = [(name, one, two) for name, one, two in rows if one != two]
    if as_json:
        emit([{"name": name, before.name: one, after.name: two} for name, one, two in different])
        return
    say(f"{before.name} → {after.name}")
    for name, one, two in different:
        say(f"  {name:<28} {one or Missing.NOT_KNOWN} → {two or Missing.NOT_KNOWN}")


def find_image(name: str) -> Contents:
    """Return the image of this name, or the newest whose name begins so. Raises UnknownName."""
    exact = [each for each in all_contents() if each.name == name]
    images = exact or sorted((each for each in all_contents() if each.name.startswith(name)), key=_age)
    if not images:
        names = [each.name for each in all_contents()]
        raise UnknownName(
            f"image: got {name!r}, wanted one of the names that sm-trn catalog images lists{suggestion(name, names)}"
        )
    return images[-1]


def _age(image: Contents) -> tuple[Version, Version]:
    return Version(image.pytorch), Version(image.transformers or "0")


def _published(image: Contents, name: str) -> str:
    """Return the published version of a package. Only a lock file shows that a package is absent."""
    return image.packages.get(name) or str(Missing.NOTHING if image.holds(name) is False else Missing.NOT_KNOWN)


def _catalog_row(image: Contents) -> ImageRow | None:
    wanted = (image.pytorch, image.transformers, image.neuron_sdk)
    rows = reversed(catalog.images.rows(image.family))
    return next((row for row in rows if (row.pytorch, row.transformers, row.neuron_sdk) == wanted), None)


def _patched_until(image: Contents) -> str:
    row = _catalog_row(image)
    return str(known(row.end_of_patch if row is not None else None, Missing.NOT_KNOWN))


def _image_facts(image: Contents) -> dict[str, object]:
    row, versions = _catalog_row(image), {name: image.packages.get(name) for name in SHOWN}
    dates = {name: getattr(row, name, None) for name in ("general_availability", "end_of_patch")}
    return {"name": image.name, "processor": image.processor, "python": image.python, "cuda": image.cuda, **versions, **dates,
            "complete": image.complete, "source": image.source}  # fmt: skip


def _version(image: Contents, name: str) -> str:
    exact = image.version(name)
    return exact.public if exact is not None else _published(image, name)


@command.command("update")
@click.option(
    "--region",
    "regions",
    type=Region(),
    multiple=True,
    help="Ask for prices of this region; repeatable. Default: us-east-1, which the others follow, and your own region.",
)
@global_option("profile")
def update(*, regions: tuple[str, ...], profile: str | None) -> None:
    """Add newer facts, from where they are, to a file of your own that every command then uses.

    Images come from the tables of an installed SageMaker SDK (version 2 or 3), prices from the AWS Price List when there
    are credentials. Limits and the names of instance types are always those of the installed botocore.

    \b
    Example: sm-trn catalog update --region eu-west-1
    """
    today = date.today().isoformat()  # noqa: DTZ011 - the day on the user's calendar
    path = facts_file()
    own = read_facts(path)
    rows, registries = renewal.newer_images(today)
    prices, said = _regional_prices(regions, profile)
    kept = parse_prices(json.dumps(own["prices"]), where=str(path)) if own else ()
    merged = {(price.instance, price.region, price.as_of): price for price in (*kept, *prices)}
    facts = {
        "schema": SCHEMA,
        "made": today,
        "images": {
            "registries": {**own.get("images", {}).get("registries", {}), **registries},
            "rows": [*own.get("images", {}).get("rows", []), *rows],
        },
        "prices": json.loads(dump_prices(merged.values())),
    }
    sdk = renewal.sdk_tables()
    say(f"images: {_count(rows, 'newer row')} from {sdk[1] if sdk else 'no SageMaker SDK: none is installed'}")
    for row in rows:
        say(
            f"  {row['family']} {row.get('transformers') or ''} pytorch {row['pytorch']}".replace(
                "  pytorch", " pytorch"
            )
        )
    without = renewal.types_without_facts()
    say(
        f"instance types: the installed botocore has {_count(without, 'type')} without facts here"
        + (f": {', '.join(without)}" if without else "")
    )
    say(f"prices: {said}")
    if not rows and not prices:
        say("nothing is newer than what is known already; no file was written")
        return
    _write(path, facts)
    say(f"wrote {path}; every command uses it")


def _regional_prices(regions: Iterable[str], profile: str | None) -> tuple[list[Price], str]:
    """Today's prices of the regions, and a sentence about them. Without credentials none is asked for."""
    from ...core.aws import RenewableSession, fetch_region_prices  # noqa: PLC0415 - only this command needs AWS

    session = RenewableSession(profile=profile)
    if session.get_credentials() is None:
        return [], "not asked, for there are no AWS credentials (aws configure makes some)"
    wanted = list(dict.fromkeys(regions or (BASE_REGION, known_region(profile=profile))))
    found = [price for region in wanted for price in fetch_region_prices(session, region)]
    known = known_prices()
    newer = [
        price
        for price in found
        if (have := known.find(price.instance, price.region)) is None or have.as_of < price.as_of
    ]
    return newer, f"{_count(newer, 'newer price')} of {len(found)} in {', '.join(wanted)}, from the AWS Price List"


def _count(items: Iterable[object], noun: str) -> str:
    count = len(list(items))
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _write(path: Path, facts: dict[str, object]) -> None:
    """Replace the file in one step, so that a command beside this one reads the old facts or the new ones."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(facts, indent=1), "utf-8")
        draft.replace(path)
    except OSError as error:
        raise NotConfigured(
            f"{path}: got {error}, wanted a file that can be written; SM_TRN_CATALOG names another"
        ) from error
