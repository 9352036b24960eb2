"""sm-trn catalog"""

from __future__ import annotations

import dataclasses

import click

from .. import catalog
from ..pricing import price_sources, snapshot_book
from .shared import emit, json_option, say


@click.group("catalog")
def command() -> None:
    """The tables behind checks and costs, each row with its source and date."""


@command.command("instances")
@json_option
def show_instances(*, as_json: bool) -> None:
    """Instance types: accelerators, workers, memory, network."""
    rows = list(catalog.instances().values())
    if as_json:
        emit([{**dataclasses.asdict(row), "accelerator": row.accelerator.name} for row in rows])
        return
    say(f"{'INSTANCE':<18} {'ACCELERATOR':<15} {'WORKERS':>7} {'MEMORY GiB':>11} {'NETWORK Gbit/s':>15} {'EFA':>4}")
    for row in rows:
        chips = f"{row.chips} × {row.chip}" if row.chips else "-"
        say(
            f"{row.name:<18} {chips:<15} {row.workers:>7} {row.memory_gib:>11,} {row.network_gbps:>15g} {'yes' if row.efa else '-':>4}"
        )


@command.command("images")
@click.option("--family", type=click.Choice(list(catalog.images.families())), help="One family only.")
@json_option
def show_images(*, family: str | None, as_json: bool) -> None:
    """Training images: versions, Neuron release, date of the row."""
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
@click.option("--instance", help="One instance type only.")
@json_option
def show_prices(*, instance: str | None, as_json: bool) -> None:
    """Prices per instance and hour: region, date, source; inferred ones say so."""
    rows = [price for price in snapshot_book().prices if instance in {None, price.instance}]
    if as_json:
        emit([{**dataclasses.asdict(row), "source_text": price_sources()[row.source]} for row in rows])
        return
    say(f"{'INSTANCE':<18} {'REGION':<10} {'USD/HOUR':>10}  {'AS OF':<10}  SOURCE")
    for row in rows:
        mark = ", inferred" if row.inferred else ""
        say(f"{row.instance:<18} {row.region:<10} {row.usd_per_hour:>10}  {row.as_of:<10}  {row.source}{mark}")
