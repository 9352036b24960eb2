"""What jobs that ran teach: how much slower or faster they were than estimated, kept in a file the user names."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import SmTrnError
from ..configuration import Configuration
from ..rates import support_key

SCHEMA = 1
NARROWED = {1: 0.75, 2: 0.6}  # of the interval's logarithm, by the number of jobs; three and more: a half
LEAST = 0.5


def calibration_key(c: Configuration) -> str:
    """What a measured job speaks for: the chip with its precision, and the software."""
    return f"{support_key(c)} {c.family} {c.style.value}"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured over estimated seconds of real jobs, by chip, precision and software.

    >>> st.results.Calibration({"ampere half transformers eager": (1.2, 1.3)}).jobs
    2
    """

    ratios: Mapping[str, tuple[float, ...]]

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

    def plus(self, other: Calibration) -> Calibration:
        """Both together."""
        names = {*self.ratios, *other.ratios}
        return Calibration({name: (*self.ratios.get(name, ()), *other.ratios.get(name, ())) for name in sorted(names)})

    def save(self, path: str | Path) -> None:
        """Write it as JSON. Raises OSError."""
        body = {
            "schema": SCHEMA,
            "about": "measured over estimated seconds of a step",
            "ratios": {name: list(each) for name, each in self.ratios.items()},
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
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SmTrnError(
            f"{path}: not a calibration ({type(error).__name__}: {error}); wanted what st.calibrate(…).save writes"
        ) from error
    if body.get("schema") != SCHEMA or any(not 0.01 < each < 100 for values in ratios.values() for each in values):
        raise SmTrnError(
            f"{path}: got another schema, or a ratio out of 0.01 to 100; wanted what st.calibrate(…).save writes"
        )
    return Calibration(ratios)
