"""What jobs that ran teach: how much slower or faster they were than estimated, kept in a file the user names."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...core.errors import SmTrnError
from ..configuration import Configuration
from ..intervals import Interval
from ..rates import support_key

SCHEMA = 1
NARROWED = {1: 0.75, 2: 0.6}  # of the interval's logarithm, by the number of jobs; three and more: a half
LEAST = 0.5


def calibration_key(c: Configuration) -> str:
    """What a measured job speaks for: the chip with its precision, and the software."""
    return f"{support_key(c)} {c.family} {c.style.value}"


def step_key(c: Configuration) -> str:
    """What a measured step is: everything that decides its seconds. Only this very step is known by it."""
    workers = f"{c.data}x{c.tensor}x{c.pipeline}x{c.context} on {c.hosts} hosts"
    batch = f"{c.micro_batch:g}x{c.micro_steps:g} of {c.tokens_per_sample:g}"
    how = f"{c.sharding.value} {c.recompute.value:g} {c.optimizer_bytes:g} {c.weight_bits}{' adapters' if c.adapters else ''}"
    how += f" {c.head.value} {c.release:g}{' flash' if c.flash else ''}{' forward' if c.forward_only else ''}"
    return f"{c.model.name} {c.chip.name} {calibration_key(c)} | {workers} | {batch} | {how}"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured over estimated seconds of real jobs, by chip, precision and software; and the seconds of steps that were measured.

    >>> st.results.Calibration({"ampere half transformers eager": (1.2, 1.3)}).jobs
    2
    """

    ratios: Mapping[str, tuple[float, ...]]
    steps: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def jobs(self) -> int:
        """How many jobs it stands on."""
        return sum(len(each) for each in self.ratios.values())

    def of(self, c: Configuration) -> tuple[float, float, int] | None:
        """What to multiply the estimate with, what to multiply its interval's logarithm with, and from how many jobs; None: nothing."""
        found = self.ratios.get(calibration_key(c), ())
        if not found:
            return None
        return statistics.median(found), NARROWED.get(len(found), LEAST), len(found)

    def step(self, c: Configuration) -> Interval | None:
        """The measured seconds of this very step; None where it was not measured."""
        return self.steps.get(step_key(c))

    def plus(self, other: Calibration) -> Calibration:
        """Both together. Of a step that both measured, the other's seconds count."""
        names = {*self.ratios, *other.ratios}
        ratios = {name: (*self.ratios.get(name, ()), *other.ratios.get(name, ())) for name in sorted(names)}
        return Calibration(ratios, {**self.steps, **other.steps})

    def save(self, path: str | Path) -> None:
        """Write it as JSON. Raises OSError."""
        body = {
            "schema": SCHEMA,
            "about": "measured over estimated seconds of a step",
            "ratios": {name: list(each) for name, each in self.ratios.items()},
            "steps": {name: [each.p10, each.p50, each.p90] for name, each in self.steps.items()},
        }
        Path(path).write_text(json.dumps(body, indent=1) + "\n", "utf-8")


def read_calibration(path: str | Path) -> Calibration:
    """Read what ``save`` wrote. Raises SmTrnError for anything else.

    >>> try:
    ...     st.read_calibration("nothing.json")
    ... except st.SmTrnError as error:
    ...     "not a calibration" in str(error)
    True
    """
    try:
        body = json.loads(Path(path).read_text("utf-8"))
        ratios = {str(name): tuple(float(each) for each in values) for name, values in body["ratios"].items()}
        steps = {
            str(name): Interval(float(low), float(middle), float(high))
            for name, (low, middle, high) in body.get("steps", {}).items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SmTrnError(
            f"{path}: not a calibration ({type(error).__name__}: {error}); wanted what st.calibrate(…).save writes"
        ) from error
    sound = all(0.01 < each < 100 for values in ratios.values() for each in values) and all(
        each.p10 > 0 for each in steps.values()
    )
    if body.get("schema") != SCHEMA or not sound:
        raise SmTrnError(
            f"{path}: got another schema, a ratio out of 0.01 to 100, or seconds that are not positive; "
            "wanted what st.calibrate(…).save writes"
        )
    return Calibration(ratios, steps)
