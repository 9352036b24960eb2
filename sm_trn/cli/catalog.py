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

from ..core import catalog
from ..core.catalog import renewal, tables
from ..core.errors import NotConfigured, UnknownName
from ..core.facts import SCHEMA, facts_file, read_facts
from ..core.formatting import numbers as fmt
from ..core.formatting.missing import Missing
from ..core.formatting.table import Align, Cell, Column, Row, Table
from ..core.formatting.text import WHOLE_NAMES, WIDE, Screen, table_lines
from ..core.pricing.book import BASE_REGION, Price, dump_prices, parse_prices, price_sources
from ..core.session.defaults import known_prices, known_region
from ..core.specs.value import suggestion
from .shared import Region, emit, json_option, region_option, say


@click.group("catalog", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show the tables behind checks and costs. Each row has a source and a date.

    Without a subcommand: how old each table is, and what renews it.
    """
    if context.invoked_subcommand is not None:
        return
    rows = {table.name: table for table in (*tables.catalogue_tables(), _prices())}
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


def _prices() -> tables.FactTable:
    rows = [price for price in known_prices().prices if price.component != "Hosting"]
    own = [price for price in rows if price.source not in price_sources()]
    return tables.FactTable(
        name="prices",
        rows=len(rows),
        as_of=max(price.as_of for price in rows),
        own_rows=len(own),
        source="; ".join(price_sources().values()),
        renewed_by="sm-trn catalog update, from the AWS Price List when there are credentials",
    )


@command.command("instances")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]…")
@region_option("Show the prices of this region.")
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
        found.append({**dataclasses.asdict(row), "accelerator": row.accelerator.name, "usd_per_hour": usd})
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
        ),
        [(row["name"], {**row, "shown": f"{row['chips']} × {row['chip']}" if row["chips"] else None}) for row in found],
    )
    say(f"\nPrices of {where}, the newest known: sm-trn catalog prices shows their days.")


def _list(rows_are: str, columns: Sequence[Column], rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Show rows by their names; what is not known, or is nothing, is a dash."""
    made = [
        Row(name=name, cells={each.name: Cell(values[each.name] or Missing.NOTHING) for each in columns})
        for name, values in rows
    ]
    table = Table(columns=tuple(columns), rows=tuple(made), rows_are=rows_are)
    say("\n".join(table_lines(table, Screen(width=WIDE), WHOLE_NAMES)))


@command.command("images")
@click.option("--family", type=click.Choice(list(catalog.images.families())), help="Show only this family.")
@json_option
def show_images(*, family: str | None, as_json: bool) -> None:
    """List training images: versions, Neuron release, until when AWS patches them, date of the row."""
    families = [family] if family else list(catalog.images.families())
    rows = [row for name in families for row in catalog.images.rows(name)]
    if as_json:
        emit([dataclasses.asdict(row) for row in rows])
        return
    _list(
        "Family",
        tuple(
            Column(name=name, heading=heading, align=Align.LEFT)
            for name, heading in (
                ("pytorch", "PyTorch"),
                ("transformers", "Transformers"),
                ("python", "Python"),
                ("neuron_sdk", "Neuron"),
                ("end_of_patch", "Patched until"),
                ("as_of", "As of"),
            )
        ),
        [(row.family, dataclasses.asdict(row)) for row in rows],
    )


@command.command("prices")
@click.option("--instance", help="Show only this instance type.")
@click.option("--refresh", is_flag=True, help="Ask the AWS Price List for today's prices; needs AWS credentials.")
@region_option("Show only prices of this region.", when="Default with --refresh")
@click.option("--profile", help="Use this AWS profile.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the prices to this file. SM_TRN_PRICES=FILE makes every command use it.",
)
@json_option
def show_prices(
    *, instance: str | None, refresh: bool, region: str | None, profile: str | None, save: Path | None, as_json: bool
) -> None:
    """List prices per instance and hour with region, date and source. Inferred prices are marked.

    With --region: the newest price of each type there, as every command uses it. Without: every row of the table.

    \b
    Example: sm-trn catalog prices --refresh --region us-west-2 --save prices.json
    """
    if save is not None and not refresh:
        raise click.UsageError("--save keeps what --refresh finds; the prices shown without it are known already")
    if refresh:
        rows = _refreshed(instance, known_region(region, profile=profile), profile)
        if save is not None:
            save.write_text(dump_prices(rows), "utf-8")
            click.echo(f"wrote {save}; export SM_TRN_PRICES={save} to use it", err=True)
    else:
        known = {price.instance for price in known_prices().prices}
        if instance is not None and instance not in known:
            raise UnknownName(f"instance: got {instance!r}, wanted one with a known price{suggestion(instance, known)}")
        shown = known_prices().prices if region is None else known_prices().newest(region)
        rows = [price for price in shown if instance in {None, price.instance}]
    if as_json:
        emit([{**dataclasses.asdict(row), "source_text": price_sources().get(row.source, row.source)} for row in rows])
        return
    _list(
        "Instance",
        (
            Column(name="region", heading="Region", align=Align.LEFT),
            Column(name="usd_per_hour", heading="USD/hour"),
            Column(name="as_of", heading="As of", align=Align.LEFT),
            Column(name="from", heading="Source", align=Align.LEFT),
        ),
        [
            (row.instance, {**dataclasses.asdict(row), "from": row.source + (", inferred" if row.inferred else "")})
            for row in rows
        ],
    )
    if not rows:
        say(f"No price is known for {instance + ' in ' if instance else ''}{region}; --refresh asks AWS.")


def _refreshed(instance: str | None, region: str, profile: str | None) -> list[Price]:
    """Today's training prices. Raises UnknownName when the list has none."""
    from ..core.aws import RenewableSession, fetch_prices  # noqa: PLC0415 - only this option needs AWS

    session = RenewableSession(profile=profile, region=region)
    names = [instance] if instance else [row.name for row in catalog.instances().values() if row.trains]
    found = [price for name in names for price in fetch_prices(session, name, region)]
    if not found:
        raise UnknownName(f"prices: the Price List has none for training on {', '.join(names)} in {region}")
    return found


@command.command("update")
@click.option(
    "--region",
    "regions",
    type=Region(),
    multiple=True,
    help="Ask for prices of this region; repeatable. Default: us-east-1, which the others follow, and your own region.",
)
@click.option("--profile", help="Use this AWS profile.")
@click.option("--offline", is_flag=True, help="Do not ask AWS for prices.")
def update(*, regions: tuple[str, ...], profile: str | None, offline: bool) -> None:
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
    prices, said = ([], "not asked (--offline)") if offline else _regional_prices(regions, profile)
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
    from ..core.aws import RenewableSession, fetch_region_prices  # noqa: PLC0415 - only this command needs AWS

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
