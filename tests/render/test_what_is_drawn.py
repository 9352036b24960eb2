"""The jobs that comparisons with the SDKs draw: every accelerator, region, strategy and field, or a comparison says little."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from hypothesis import Phase, given, settings
from strategies_of_values import REGIONS, sensible

from sm_trn.catalog import images, instances
from sm_trn.specs import JobSpec
from sm_trn.strategies import STRATEGIES

DRAWS = 2000
# The families are drawn by their types; each has several hundred chances.
ACCELERATORS = {row.accelerator for row in instances().values()}


def parts(value: Any) -> Any:
    """Every dataclass in a spec, itself first."""
    if dataclasses.is_dataclass(value):
        yield value
        for field in dataclasses.fields(value):
            yield from parts(getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from parts(item)
    elif hasattr(value, "values"):
        for item in value.values():
            yield from parts(item)


def test_every_accelerator_region_strategy_and_field_is_drawn() -> None:
    drawn: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
    seen: set[Any] = set()
    types: set[type] = set()

    @settings(
        max_examples=DRAWS, database=None, phases=[Phase.generate],
    )  # fmt: skip
    @given(job=sensible("./src"), region=REGIONS)
    def draw(job: JobSpec, region: str) -> None:
        seen.add(region)
        seen.update(row.accelerator if (row := instances().get(name)) else "unknown" for name in job.compute.instances)
        seen.add(job.distribution.name if job.distribution else None)
        seen.add(f"{len(job.compute.groups)} groups")
        seen.add(images.family_of(job))
        for part in parts(job):
            types.add(type(part))
            for field in dataclasses.fields(part):
                drawn[type(part).__name__, field.name].add(repr(getattr(part, field.name)))

    draw()
    assert set() == {*images.regions(), *ACCELERATORS, "unknown", *STRATEGIES, None} - seen
    assert set() == {"0 groups", "1 groups", "2 groups", "3 groups", "container", *images.families()} - seen - {
        "neuron-legacy"
    }
    fields = {(kind.__name__, field.name) for kind in types for field in dataclasses.fields(kind)}
    assert set() == {name for name in fields if len(drawn[name]) < 2}
