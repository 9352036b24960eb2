"""The jobs that comparisons with the SDKs draw: every accelerator, region, strategy and field, or a comparison says little."""

from __future__ import annotations

import collections
import dataclasses
import os
from typing import Any

import pytest
from hypothesis import Phase, given, seed, settings
from strategies_of_values import REGIONS, sensible

from sm_trn.core.catalog import images, instances
from sm_trn.core.specs import JobSpec
from sm_trn.core.strategies import STRATEGIES

DRAWS = 250
# Hypothesis mixes in constants of every module that is loaded, so what is drawn depends on the tests before: more is drawn until all is.
ROUNDS = 40
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


class Drawn:
    """What was drawn so far."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
        self.seen: set[Any] = set()
        self.fields: set[tuple[str, str]] = set()

    def add(self, job: JobSpec, region: str) -> None:
        self.seen.add(region)
        self.seen.update(
            row.accelerator if (row := instances().get(name)) else "unknown" for name in job.compute.instances
        )
        self.seen.add(job.distribution.name if job.distribution else None)
        self.seen.add(f"{len(job.compute.groups)} groups")
        self.seen.add(images.family_of(job))
        for part in parts(job):
            for field in dataclasses.fields(part):
                self.fields.add((type(part).__name__, field.name))
                self.values[type(part).__name__, field.name].add(repr(getattr(part, field.name)))

    @property
    def lacking(self) -> set[Any]:
        """What never was, and the fields that always had one value."""
        wanted = {*images.regions(), *ACCELERATORS, "unknown", *STRATEGIES, None, "container", *images.families()}
        wanted |= {"0 groups", "1 groups", "2 groups", "3 groups"}
        return (wanted - self.seen - {"neuron-legacy"}) | {name for name in self.fields if len(self.values[name]) < 2}


@pytest.mark.skipif(
    "SM_TRN_EXAMPLES" not in os.environ, reason="SM_TRN_EXAMPLES, as .ci/run sets it: thousands of jobs are drawn"
)
def test_every_accelerator_region_strategy_and_field_is_drawn() -> None:
    drawn = Drawn()
    for number in range(ROUNDS):

        @seed(number)
        @settings(max_examples=DRAWS, database=None, phases=[Phase.generate])
        @given(job=sensible("./src"), region=REGIONS)
        def draw(job: JobSpec, region: str) -> None:
            drawn.add(job, region)

        draw()
        if not drawn.lacking:
            return
    assert set() == drawn.lacking
