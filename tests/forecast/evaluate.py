"""How far estimates can be trusted: ``python tests/forecast/evaluate.py [ROWS.json]``, the forecast beside a baseline of two lines.

The rows are published measurements as configurations: ``rows.json`` beside this file, or others in its form. The baseline is 6 × parameters
× tokens over the peak times one efficiency, the median of rows.json's rows of other sources with the same chip and method.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sm_trn.core.catalog.instances import chips
from sm_trn.forecast.configuration import Configuration, Sharding, Style
from sm_trn.forecast.memory import largest_batch, memory
from sm_trn.forecast.models import known
from sm_trn.forecast.step import WIDTHS, method, step_seconds

ROWS = Path(__file__).with_name("rows.json")


@dataclass(frozen=True, slots=True)
class Measured:
    """A row: how a step was trained and by whom measured; ``step_s``, ``gib`` and ``largest`` are 0 where they were not."""

    source: str
    configuration: Configuration
    step_s: float = 0.0
    gib: float = 0.0
    largest: float = 0.0
    host: int = 0

    @property
    def repository(self) -> str:
        """Rows of one have one author: all commits and files of a table are one."""
        return re.split(r"[@: ]", self.source.removeprefix("github:"))[0]


def measured(path: Path = ROWS) -> list[Measured]:
    """All rows of a file."""
    body = json.loads(path.read_text("utf-8"))
    return [
        Measured(
            source=body["sources"][row["source"]],
            configuration=_configuration(row["configuration"], row.get("chip_differs", {})),
            **{name: row[name] for name in ("step_s", "gib", "largest", "host") if name in row},
        )
        for row in body["rows"]
    ]


def _configuration(fields: Mapping[str, Any], differs: Mapping[str, Any]) -> Configuration:
    typed = {
        "model": known()[fields["model"]],
        "chip": replace(chips()[fields["chip"]], **differs),
        "style": Style(fields["style"]),
        "sharding": Sharding(fields.get("sharding", "none")),
    }
    return Configuration(**{**fields, **typed})


def forecast(row: Measured) -> float:
    """Estimated seconds of the row's step."""
    return step_seconds(row.configuration)[0]


def baseline(rows: Sequence[Measured], known_rows: Sequence[Measured]) -> list[float]:
    """What the two lines say, by rows that are known from other sources: where none has the chip and method, by all of them."""
    used = [(other, _key(other), _ideal(other.configuration) / other.step_s) for other in known_rows]
    seconds = []
    for row in rows:
        others = [(key, share) for other, key, share in used if other.repository != row.repository]
        alike = [share for key, share in others if key == _key(row)] or [share for _, share in others]
        seconds.append(_ideal(row.configuration) / statistics.median(alike))
    return seconds


def _key(row: Measured) -> tuple[str, str, str]:
    return row.configuration.chip.generation, row.configuration.precision, method(row.configuration)


def _ideal(c: Configuration) -> float:
    peak = c.chip.peak(c.precision) or c.chip.peak(c.half) or c.chip.fp32 * 1e12 / c.chip.workers
    weights = c.model.active_parameters + c.model.width * c.model.vocabulary * (c.predicted == 1)
    return 6 * weights * (c.sequence + c.target) * c.global_batch / c.workers / peak


def line(title: str, rows: Sequence[Measured], seconds: Sequence[float], *, covers: bool = False) -> str:
    """Rows, how many are met within 20 and 35 per cent, the median of published over estimated, and how many lie in the interval."""
    ratios = [row.step_s / estimated for row, estimated in zip(rows, seconds, strict=True)]
    if not ratios:
        return f"{title:<44} {0:>4}"
    near = [statistics.mean(abs(ratio - 1) <= bound for ratio in ratios) for bound in (0.20, 0.35)]
    inside = statistics.mean(
        low <= ratio <= high
        for row, ratio in zip(rows, ratios, strict=True)
        for low, high in [WIDTHS[method(row.configuration)]]
    )
    share = f"{inside:>7.0%}" if covers else ""
    return f"{title:<44} {len(rows):>4} {near[0]:>6.0%} {near[1]:>6.0%} {statistics.median(ratios):>7.2f} {share}"


KINDS: Mapping[str, Callable[[Measured], bool]] = {
    "all": lambda _: True,
    "NVIDIA's recipes, 2020 and 2021": lambda row: row.repository == "NVIDIA/DeepLearningExamples",
    "MPT, six sizes of one recipe": lambda row: row.configuration.model.name.startswith("mpt-"),
    "Trainium": lambda row: row.configuration.neuron,
    "Trainer on an H200": lambda row: row.repository.startswith("Trainer"),
    **{name: lambda row, name=name: method(row.configuration) == name for name in WIDTHS},  # type: ignore[misc]
}


def report(rows: Sequence[Measured]) -> str:
    """The whole table: speed by kind of row, then memory."""
    timed = [row for row in rows if row.step_s]
    lines = [f"{'':<44} {'ROWS':>4} {'±20 %':>6} {'±35 %':>6} {'RATIO':>7} {'COVERED':>7}"]
    plain = dict(zip(map(id, timed), baseline(timed, [row for row in measured() if row.step_s]), strict=True))
    for name, kind in KINDS.items():
        mine = [row for row in timed if kind(row)]
        if mine:
            lines.append(line(name, mine, list(map(forecast, mine)), covers=True))
            lines.append(line("  baseline", mine, [plain[id(row)] for row in mine]))
    used = [memory(row.configuration).total / row.gib for row in rows if row.gib]
    most = [max(largest_batch(row.configuration), 0.1) / row.largest for row in rows if row.largest]
    for name, ratios in (("memory in use", used), ("largest batch", most)):
        if ratios:
            near = [statistics.mean(1 / by <= ratio <= by for ratio in ratios) for by in (1.2, 1.35)]
            lines.append(
                f"{name:<44} {len(ratios):>4} ×1.2 {near[0]:.0%}  ×1.35 {near[1]:.0%}  median × {statistics.median(ratios):.2f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(report(measured(Path(sys.argv[1]) if len(sys.argv) > 1 else ROWS)) + "\n")
