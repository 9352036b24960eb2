"""sm-trn catalog"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from .. import catalog
from ..errors import UnknownName
from ..pricing.book import Price, dump_prices, price_sources
from ..session.connection import known_prices, known_region
from ..specs.value import suggestion
from .shared import emit, json_option, region_option, say


@click.group("catalog")
def command() -> None:
    """Show the tables behind checks and costs. Each row has a source and a date."""


@command.command("instances")
@json_option
def show_instances(*, as_json: bool) -> None:
    """List instance types: accelerators, workers, memory, network."""
    rows = list(catalog.instances().values())
    if as_json:
        emit([{**dataclasses.asdict(row), "accelerator": row.accelerator.name} for row in rows])
        return
    say(f"{'INSTANCE':<18} {'ACCELERATOR':<24} {'WORKERS':>7} {'MEMORY GiB':>11} {'NETWORK Gbit/s':>15} {'EFA':>4}")
    for row in rows:
        chips = f"{row.chips} × {row.chip}" if row.chips else "-"
        network = "-" if row.network_gbps is None else f"{row.network_gbps:g}"
        efa = "yes" if row.efa else "-"
        say(f"{row.name:<18} {chips:<24} {row.workers:>7} {row.memory_gib:>11,} {network:>15} {efa:>4}")


@command.command("images")
@click.option("--family", type=click.Choice(list(catalog.images.families())), help="Show only this family.")
@json_option
def show_images(*, family: str | None, as_json: bool) -> None:
    """List training images: versions, Neuron release, date of the row."""
    families = [family] if family else list(catalog.images.families())
    rows = [row for name in families for row in catalog.images.rows(name)]
    if as_json:
        emit([dataclasses.asdict(row) for row in rows])
        return
    say(f"{'FAMILY':<21} {'PYTORCH':<8} {'TRANSFORMERS':<13} {'PYTHON':<7} {'NEURON':<8} AS OF")
    for row in rows:
        say(
            f"{row.family:<21} {row.pytorch:<8} {row.transformers or '-':<13} {row.python:<7} {row.neuron_sdk or '-':<8} {row.as_of}"
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
        rows = [
            price
            for price in known_prices().prices
            if instance in {None, price.instance} and region in {None, price.region}
        ]
    if as_json:
        emit([{**dataclasses.asdict(row), "source_text": price_sources().get(row.source, row.source)} for row in rows])
        return
    say(f"{'INSTANCE':<18} {'REGION':<10} {'USD/HOUR':>10}  {'AS OF':<10}  SOURCE")
    for row in rows:
        mark = ", inferred" if row.inferred else ""
        say(f"{row.instance:<18} {row.region:<10} {row.usd_per_hour:>10}  {row.as_of:<10}  {row.source}{mark}")
    if not rows:
        say(f"No price is known for {instance + ' in ' if instance else ''}{region}; --refresh asks AWS.")


def _refreshed(instance: str | None, region: str, profile: str | None) -> list[Price]:
    """Today's training prices. Raises UnknownName when the list has none."""
    from ..aws import RenewableSession, fetch_prices  # noqa: PLC0415 - only this option needs AWS

    session = RenewableSession(profile=profile, region=region)
    names = [instance] if instance else [row.name for row in catalog.instances().values() if row.trains]
    found = [price for name in names for price in fetch_prices(session, name, region)]
    if not found:
        raise UnknownName(f"prices: the Price List has none for training on {', '.join(names)} in {region}")
    return found
