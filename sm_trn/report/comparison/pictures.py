"""Which figures of a comparison have something to show, and under which names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..figures import FIGURES
from ..figures.described import Info
from ..figures.figure import FigureKind
from ..figures.style import WIDE, Sheet
from ..sections.section import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...core.pricing.book import PriceBook

FIGURED = 12  # workloads that have figures: each takes more than a second, and half a megabyte of the page


class Shown(Protocol):
    """A comparison, as far as its figures need it."""

    @property
    def sections(self) -> tuple[Section, ...]: ...
    @property
    def book(self) -> PriceBook: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One figure of one section, to be drawn. ``name`` is the stem of its file."""

    name: str
    section: Section
    info: Info
    figure: FigureKind

    def draw(self, sheet: Sheet | None = None) -> Figure:
        """On ``sheet``, or on the figure's own when None."""
        return self.figure.alone(self.info, sheet or (WIDE if self.figure.wide else Sheet()))


def pictures(item: Shown) -> Iterator[Picture]:
    """Every figure that has something to show: measured jobs first, rehearsals after, never both in one. Of many workloads,
    the ``FIGURED`` with the most jobs have figures.
    """
    several = len(item.sections) > 1
    names: set[str] = set()
    most = sorted(item.sections, key=lambda section: -len(section.rows))[:FIGURED]
    figures = [line.load() for line in FIGURES]
    for section in item.sections:
        if not any(section is chosen for chosen in most):
            continue
        tail = f"-{_slug(section.workload, names)}" if several else ""
        if section.measured:
            yield from _drawn(item, section, figures, tail)
        if section.emulated:
            learned = [figure for figure in figures if figure.rehearsed]
            yield from _drawn(item, section.rehearsal, learned, f"{tail}-emulated")


def _drawn(item: Shown, section: Section, figures: list[FigureKind], tail: str) -> Iterator[Picture]:
    for figure in figures:
        info = figure.info(section, item.book)
        if info.drawn:
            yield Picture(name=f"{figure.name}{tail}", section=section, info=info, figure=figure)


def _slug(text: str, used: set[str]) -> str:
    """A file-name part that is not used yet."""
    stem = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "jobs"
    name, number = stem, 2
    while name in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name
