"""A comparison as files: figures, table, JSON, page. The only writer of files here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from ..figures import (
    accuracy_info,
    cost_info,
    loss_info,
    pareto_info,
    phases_info,
    plot_accuracy,
    plot_cost,
    plot_phases,
    plot_throughput,
    plot_waste,
    throughput_info,
    waste_info,
)
from ..figures.bar_values import BarInfo
from ..figures.bars import bar_figure
from ..figures.loss import WIDE, LossInfo, loss_figure
from ..figures.pareto import ParetoInfo, pareto_figure
from ..figures.style import Sheet, rc
from ..sections.section import Section
from ..spreadsheet import csv_text
from .page import FIGURED, page
from .table import COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .compared import Compared

DPI = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One figure to be written: ``draw`` makes it for a sheet. ``wide`` ones take the whole width of a page."""

    name: str
    section: Section
    info: BarInfo | LossInfo | ParetoInfo
    draw: Callable[[Sheet], Figure]
    wide: bool = False

    @property
    def sheet(self) -> Sheet:
        return WIDE if self.wide else Sheet()


def save(item: Compared, directory: Path, *, now: datetime | None) -> tuple[Path, ...]:
    """Write everything below ``directory``, which is made. Returns the paths, the page first."""
    directory.mkdir(parents=True, exist_ok=True)
    shown = tuple(pictures(item))
    written = [directory / "report.html", directory / "compare.csv", directory / "compare.json"]
    written[0].write_text(page(item, shown, now=now), "utf-8")
    written[1].write_bytes(
        csv_text(COLUMNS, item.cells()).encode()
    )  # bytes, because write_text would change line ends on Windows
    written[2].write_text(item.to_json() + "\n", "utf-8")
    for picture in shown:
        path = directory / f"{picture.name}.png"
        with mpl.rc_context(rc("light")):
            picture.draw(picture.sheet).savefig(
                path, dpi=DPI, metadata={"Description": picture.info.alt, "Software": None}
            )
        written.append(path)
    return tuple(written)


def pictures(item: Compared) -> Iterator[Picture]:
    """Every figure that has something to show: measured jobs first, rehearsals after, never both in one. Of many workloads,
    the ``FIGURED`` with the most jobs have figures.
    """
    several = len(item.sections) > 1
    names: set[str] = set()
    most = sorted(item.sections, key=lambda section: -len(section.rows))[:FIGURED]
    for section in item.sections:
        if not any(section is chosen for chosen in most):
            continue
        tail = f"-{_slug(section.workload, names)}" if several else ""
        if section.measured:
            yield from _measured(item, section, tail)
        if section.emulated:
            yield from _learned(section.rehearsal, f"{tail}-emulated")


def _measured(item: Compared, section: Section, tail: str) -> Iterator[Picture]:
    yield from _bars("throughput", tail, section, throughput_info(section), plot_throughput)
    yield from _bars("cost", tail, section, cost_info(section, item.book), plot_cost)
    yield from _bars("phases", tail, section, phases_info(section), plot_phases)
    weighed = pareto_info(section, item.book)
    if weighed.drawn:
        yield Picture(
            name=f"cost-and-time{tail}", section=section, info=weighed, draw=lambda sheet: pareto_figure(weighed, sheet)
        )
    yield from _bars("padding", tail, section, waste_info(section), plot_waste)
    yield from _learned(section, tail)


def _learned(section: Section, tail: str) -> Iterator[Picture]:
    loss = loss_info(section)
    if loss.drawn:
        yield Picture(
            name=f"loss{tail}", section=section, info=loss, draw=lambda sheet: loss_figure(loss, sheet), wide=True
        )
    yield from _bars("accuracy", tail, section, accuracy_info(section), plot_accuracy)


def _bars(name: str, tail: str, section: Section, info: BarInfo, plot: Callable[..., Axes]) -> Iterator[Picture]:
    """A figure of bars, when it has any."""
    if info.drawn:
        yield Picture(
            name=f"{name}{tail}",
            section=section,
            info=info,
            draw=lambda sheet: bar_figure(info, sheet, lambda _, ax, on: plot(info, ax, sheet=on)),
        )


def _slug(text: str, used: set[str]) -> str:
    """A file-name part that is not used yet."""
    stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "jobs"
    name, number = stem, 2
    while name in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name
