"""Do the jobs learn the same, and what does equality cost? Training loss on several axes, or one small panel per job.

First the curves as numbers: by epoch, step, billable minutes, USD or emulated seconds, and where two of them are level.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import cut, unbroken
from ...core.formatting.theme import SLOTS, marker, role
from ...core.specs.metrics import MetricPoint
from ...core.specs.snapshot import JobStatus
from ..sections.rows import Row
from ..sections.section import Section
from .drawing import Labels, Layout, Sheet, bare, families, fitted, fitted_apart, text_size, ticks_within, watermark
from .figure import FigureKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SMOOTHED = 200  # points; more are drawn thin under their mean
AROUND = 5  # points to the left and to the right that a mean takes in
SINCE_SUBMIT = "minutes since submit"
MULTIPLES = 12  # small panels at most
_COVERED = 0.003  # of an axis: nearer curves cannot be told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One job's losses along one axis. ``smooth`` is empty unless there are more than 200 points. ``ended`` says how it broke off.

    ``lies_on`` names the job whose curve covers this one.
    """

    label: str
    slot: int
    emulated: bool
    points: tuple[tuple[float, float], ...]
    smooth: tuple[tuple[float, float], ...] = ()
    ended: str = ""
    lies_on: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One axis. ``missing`` says in words why it is empty; ``level`` is where two curves last met; ``bad`` marks a job that failed."""

    name: str
    axis: str
    curves: tuple[Curve, ...] = ()
    missing: str = ""
    level: float | None = None
    level_text: str = ""
    bad: bool = False


def panels(rows: Sequence[Row], *, emulated: bool) -> tuple[Panel, ...]:
    """Epoch and step for everyone; minutes and USD for measured jobs, this machine's seconds for emulated ones.

    Minutes are billable ones; with a job on spot they count from submit, since its billed seconds are a price and no time.
    """
    common = (
        _panel(rows, "per epoch", "epoch", "no epoch in the log"),
        _panel(rows, "per step", "optimizer step", "no step in the log"),
    )
    if emulated:
        return (*common, _panel(rows, "per second here", "s emu", "no times in the log"))
    return (
        *common,
        _panel(rows, "per minute", SINCE_SUBMIT, "no times in the log")
        if any(row.snapshot.spot for row in rows)
        else _panel(rows, "per minute", "billable minutes", "billable time per step is not known"),
        _panel(rows, "per dollar", "US dollars", "cost per step is not known"),
    )


def multiples_of(rows: tuple[Row, ...], shown: tuple[Panel, ...]) -> tuple[Panel, ...]:
    """One panel per job on the first axis that is known, best final loss first, failed ones last."""
    axis = next((panel for panel in shown if panel.curves), None)
    if axis is None:
        return ()
    by_label = {curve.label: curve for curve in axis.curves}

    def rank(row: Row) -> tuple[bool, float]:
        final = row.final_loss
        return row.status.word == "failed", math.inf if final is None or math.isnan(final) else final

    drawn = [row for row in sorted(rows, key=rank) if row.label in by_label][:MULTIPLES]
    return tuple(
        Panel(
            name=row.label,
            axis=axis.axis,
            curves=(replace(by_label[row.label], lies_on=""),),
            level_text=_outcome(row, by_label[row.label]),
            bad=_failed(row) or bool(by_label[row.label].ended),
        )
        for row in drawn
    )


def _outcome(row: Row, curve: Curve) -> str:
    """How a job ended, for the title of its panel."""
    if _failed(row):
        return "✗ failed"
    return curve.ended or fmt.loss(row.final_loss if row.final_loss is not None else curve.points[-1][1])


def _failed(row: Row) -> bool:
    return row.snapshot.status is JobStatus.FAILED


def _panel(rows: Sequence[Row], name: str, axis: str, missing: str) -> Panel:
    curves = tuple(_told_apart([curve for row in rows if (curve := _curve(row, axis)) is not None]))
    level = _level(curves) if axis in {"billable minutes", SINCE_SUBMIT, "US dollars"} else None
    text = ""
    if level is not None:
        text = f"level, {fmt.usd(level)}" if axis == "US dollars" else f"level, {fmt.significant(level)} min"
    return Panel(name=name, axis=axis, curves=curves, missing="" if curves else missing, level=level, level_text=text)


def _told_apart(curves: Sequence[Curve]) -> Iterator[Curve]:
    """The curves; one that an earlier one covers says which."""
    values = [y for curve in curves for _, y in curve.points]
    same = (max(values) - min(values)) * _COVERED if values else 0.0
    for number, curve in enumerate(curves):
        under = next((earlier.label for earlier in curves[:number] if _covers(earlier, curve, same)), "")
        yield replace(curve, lies_on=under) if under else curve


def _covers(one: Curve, other: Curve, same: float) -> bool:
    if len(one.points) != len(other.points):
        return False
    width = abs(one.points[-1][0] - one.points[0][0])
    return all(
        abs(a[0] - b[0]) <= width * _COVERED and abs(a[1] - b[1]) <= same
        for a, b in zip(one.points, other.points, strict=True)
    )


def _curve(row: Row, axis: str) -> Curve | None:
    series = row.record.series("loss")
    placed = [(x, point) for point in series if (x := _place(row, point, axis)) is not None]
    points = tuple((x, point.value) for x, point in placed if math.isfinite(point.value))
    if not points:
        return None
    broken = next((point for _, point in placed if not math.isfinite(point.value)), None)
    ended = ""
    if broken is not None:
        where = f" at step {fmt.count(broken.step)}" if broken.step is not None else ""
        ended = f"✗ {fmt.not_finite(broken.value)}{where}"
        points = tuple(
            (x, point.value) for x, point in placed[: placed.index(next(p for p in placed if p[1] is broken))]
        )
    if not points:
        return None
    return Curve(
        label=row.label, slot=row.slot, emulated=row.emulated, points=points, smooth=smooth(points), ended=ended
    )


def _place(row: Row, point: MetricPoint, axis: str) -> float | None:
    if axis == "epoch":
        return point.epoch
    if axis == "optimizer step":
        return point.step
    if axis == SINCE_SUBMIT:
        created = row.snapshot.created
        return None if created is None or point.time_s is None else max(0.0, point.time_s - created.timestamp()) / 60
    seconds = _elapsed(row, point)
    return seconds if seconds is None or axis == "s emu" else _billed(row, seconds, axis)


def _billed(row: Row, seconds: float, axis: str) -> float | None:
    """What was billed so far: minutes, or USD."""
    share = _billed_share(row)
    if share is None:
        return None
    if axis == "billable minutes":
        return seconds * share / 60
    return None if row.price is None else seconds * share / 3600 * row.snapshot.count * float(row.price.usd_per_hour)


def _elapsed(row: Row, point: MetricPoint) -> float | None:
    """Seconds since billing began."""
    start = row.snapshot.started
    if start is None or point.time_s is None:
        return None
    return max(0.0, point.time_s - start.timestamp())


def _billed_share(row: Row) -> float | None:
    """Billed seconds per second since the start: 1 on demand, less on spot or with interruptions; None while a spot job runs."""
    job = row.snapshot
    if job.started is not None and job.ended is not None and job.billable_s is not None:
        wall = (job.ended - job.started).total_seconds()
        return job.billable_s / wall if wall > 0 else None
    return None if job.spot else 1.0


def smooth(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """The mean of each point and those around it, as many to the left as to the right; nothing for few points."""
    if len(points) <= SMOOTHED:
        return ()
    values = [value for _, value in points]
    result = []
    for number, (x, _) in enumerate(points):
        reach = min(AROUND, number, len(points) - 1 - number)
        around = values[number - reach : number + reach + 1]
        result.append((x, math.fsum(around) / len(around)))
    return tuple(result)


def _level(curves: Sequence[Curve]) -> float | None:
    """Where two curves last cross; None unless there are exactly two that do."""
    if len(curves) != 2:
        return None
    first, second = (curve.smooth or curve.points for curve in curves)
    low, high = max(first[0][0], second[0][0]), min(first[-1][0], second[-1][0])
    grid = sorted({x for x, _ in (*first, *second) if low <= x <= high})
    gaps = [(x, gap) for x in grid if (gap := _at(first, x) - _at(second, x)) != 0]
    for (left, before), (right, after) in reversed(list(pairwise(gaps))):
        if before * after < 0:
            touch = next((x for x in grid if left < x < right), None)
            return touch if touch is not None else left + (right - left) * before / (before - after)
    return None


def _at(points: Sequence[tuple[float, float]], x: float) -> float:
    """The curve's value at ``x``, straight between its points."""
    place = bisect_left([point[0] for point in points], x)
    if place == 0 or points[place][0] == x:
        return points[place][1]
    (x0, y0), (x1, y1) = points[place - 1], points[place]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


_HEIGHT, _GAP, _AXIS, _NAME, _KEY = 104.0, 36.0, 40.0, 20.0, 20.0  # points
DIVERGED, LOGARITHMIC = 10.0, 100.0  # times what losses begin with; times the smallest
_SEEN = 60  # points of a curve that a label keeps off


@dataclass(frozen=True, slots=True, kw_only=True)
class LossInfo:
    """``panels`` are axes for up to six jobs, else one panel per job, best final loss first."""

    title: str
    subtitle: str
    panels: tuple[Panel, ...]
    foot: str
    alt: str
    emulated: bool = False
    multiples: bool = False

    @property
    def drawn(self) -> bool:
        return any(panel.curves for panel in self.panels)

    @property
    def key(self) -> tuple[Curve, ...]:
        """One curve per job, for the line of names."""
        found: dict[str, Curve] = {}
        for curve in (curve for panel in self.panels for curve in panel.curves):
            found[curve.label] = max(curve, found.get(curve.label, curve), key=lambda each: bool(each.lies_on))
        return tuple(found.values())


def loss_info(section: Section) -> LossInfo:
    """Losses of the measured jobs; of the emulated ones when there is no other."""
    emulated = not section.measured
    rows = section.emulated if emulated else section.measured
    shown = panels(rows, emulated=emulated)
    multiples = len(rows) > SLOTS
    ceiling = ceiling_of(curve for panel in shown for curve in panel.curves)
    info = LossInfo(
        title=("EMULATED: " if emulated else "") + _title(rows, ceiling),
        subtitle=_subtitle(section, shown, emulated=emulated),
        panels=multiples_of(rows, shown) if multiples else shown,
        foot=" ".join([*_gone(shown, ceiling), _foot(section, rows, shown)]).strip(),
        alt=_alt(rows, emulated=emulated),
        emulated=emulated,
        multiples=multiples,
    )
    if info.drawn:
        return info
    words = (
        f"no loss in the log of {fmt.listing([row.label for row in rows])}"
        if len(rows) <= SLOTS
        else "no loss in the logs"
    )
    return replace(info, panels=(Panel(name="", axis="", missing=words),), multiples=False)


def _columns(info: LossInfo, sheet: Sheet) -> int:
    if sheet.width < 400:
        return 1
    most = 3 if info.multiples else 4
    return min(most, len(info.panels), max(1, int(sheet.width // (150 * sheet.unit))))


def _body(info: LossInfo, sheet: Sheet) -> float:
    """Points that key and panels need."""
    if not info.drawn:
        return 60
    rows = math.ceil(len(info.panels) / _columns(info, sheet))
    return sheet.unit * (len(_key_lines(info, sheet)) * _KEY + rows * (_NAME + _HEIGHT + _AXIS))


def _draw(ax: Axes, info: LossInfo, sheet: Sheet) -> None:
    ax.set_axis_off()
    if info.emulated:
        watermark(ax, sheet)
    if not info.drawn:
        ax.text(
            0.0,
            0.5,
            info.panels[0].missing,
            transform=ax.transAxes,
            fontsize=sheet.text,
            color=sheet.palette["ink3"],
            va="center",
        )
        return
    height, columns = _body(info, sheet), _columns(info, sheet)
    room, unit = sheet.room, sheet.unit
    left, gap = 26.0 * unit, _GAP * unit
    width = (room - columns * left - (columns - 1) * (gap - left)) / columns
    key = _key_lines(info, sheet)
    top = len(key) * _KEY * unit
    _key(ax, key, sheet, height)
    limits, scale = _limits(info), _scale(info)
    names = _panel_names(info, sheet, width)
    for place, panel in enumerate(info.panels):
        row, column = divmod(place, columns)
        x = left + column * (width + gap)
        y = height - top - ((row + 1) * (_NAME + _HEIGHT + _AXIS) - _AXIS) * unit
        child = ax.inset_axes(Bbox.from_bounds(x / room, y / height, width / room, _HEIGHT * unit / height).bounds)
        last = place + columns >= len(info.panels)
        child.set_yscale(scale)
        child.set_ylim(*limits)
        named = panel.axis if last or not info.multiples else ""
        child.set_xlabel(named, loc="right", fontsize=sheet.label, color=sheet.palette["ink3"], labelpad=2)
        _draw_panel(child, info, replace(panel, name=names[place]), sheet, (width, _HEIGHT * unit))


def _panel_names(info: LossInfo, sheet: Sheet, width: float) -> list[str]:
    """The names of the panels, cut so that what differs stays."""
    names = [panel.name for panel in info.panels]
    if not info.multiples:
        return names
    said = max(text_size(panel.level_text, sheet.label)[0] if panel.level_text else 0.0 for panel in info.panels)
    return fitted_apart(names, width - said - 8, sheet.text, bold=True)


def ceiling_of(curves: Iterable[Curve]) -> float:
    """The largest loss that is drawn: a curve above ten times what the curves begin with, and usually are, has diverged."""
    found = list(curves)
    usual = [value for curve in found for value in (curve.points[0][1], median(y for _, y in curve.points))]
    # Of one that diverges early the median is large too: the smaller half speaks for all.
    return DIVERGED * max(sorted(map(abs, usual))[: max(1, math.ceil(len(usual) / 2))], default=0.0)


def _values(info: LossInfo) -> list[float]:
    """What is drawn inside the axes."""
    curves = [curve for panel in info.panels for curve in panel.curves]
    values = [y for curve in curves for _, y in curve.points]
    ceiling = ceiling_of(curves)
    return [y for y in values if y <= ceiling] if max(values) > ceiling > 0 else values


def _scale(info: LossInfo) -> str:
    """Logarithmic where losses are spread over two powers of ten and more: else the small ones are a flat line."""
    values = _values(info)
    return "log" if min(values) > 0 and max(values) >= LOGARITHMIC * min(values) else "linear"


def _limits(info: LossInfo) -> tuple[float, float]:
    """One y for all panels, with air above and below; multiples start at zero. What diverged leaves the axes."""
    values = _values(info)
    low, high = min(values), max(values)
    if _scale(info) == "log":
        return low / 1.3, high * 1.3
    air = (high - low or abs(high) or 1.0) * 0.08
    return (0.0 if info.multiples and low > 0 else low - air), high + air


def _key_lines(info: LossInfo, sheet: Sheet) -> list[list[tuple[float, str, Curve]]]:
    """Where each name of the key starts, in as many lines as the width needs; nothing when a panel is a job."""
    letter, room = sheet.text * (0.66 if families()[0] == "DejaVu Sans" else 0.58), sheet.room
    lines: list[list[tuple[float, str, Curve]]] = [[]]
    x = 0.0
    for curve in () if info.multiples else info.key:
        under = f", lies on {curve.lies_on}" if curve.lies_on else ""
        name = cut(f"{curve.label}{under}", int((room - 13) / letter))
        width = 13 + len(name) * letter
        if lines[-1] and x + width > room:
            lines.append([])
            x = 0.0
        lines[-1].append((x, name, curve))
        x += width + 18
    return lines if lines[0] else []


def _key(ax: Axes, lines: list[list[tuple[float, str, Curve]]], sheet: Sheet, height: float) -> None:
    """Marker and name of each job above the panels."""
    for place, (x, name, curve) in ((number, item) for number, line in enumerate(lines) for item in line):
        y = 1 - (7 + place * _KEY) * sheet.unit / height
        color = sheet.palette[role(curve.slot)]
        fill = sheet.palette["bg"] if curve.emulated else color
        ax.plot([(x + 5) / sheet.room], [y], transform=ax.transAxes, marker=marker(curve.slot).matplotlib, markersize=sheet.text * 0.62,
                color=color, markerfacecolor=fill, clip_on=False, linestyle="")  # fmt: skip
        ax.annotate(name, (0, y), (x + 13, 0), xycoords="axes fraction", textcoords="offset points", va="center", ha="left",
                    fontsize=sheet.text, fontweight="bold", color=sheet.palette["ink"])  # fmt: skip


def _draw_panel(child: Axes, info: LossInfo, panel: Panel, sheet: Sheet, room: tuple[float, float]) -> None:
    bare(child, sheet)
    palette = sheet.palette
    child.set_facecolor("none")
    above: dict[str, Any] = {
        "xycoords": "axes fraction",
        "textcoords": "offset points",
        "va": "baseline",
        "xytext": (0, 7),
    }
    said = text_size(panel.level_text, sheet.label)[0] + 8 if info.multiples and panel.level_text else 0.0
    name = fitted(panel.name, room[0] - said, sheet.text, bold=True)
    ink = palette["ink" if info.multiples else "ink2"]
    child.annotate(name, (0, 1), ha="left", fontsize=sheet.text, fontweight="bold", color=ink, **above)
    if child.get_yscale() == "linear":
        child.yaxis.set_major_locator(MaxNLocator(4))
    else:
        child.yaxis.set_minor_locator(NullLocator())
    child.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    child.grid(visible=True, axis="y", color=palette["line"], linewidth=0.8)
    if panel.missing:
        child.set_xticks([])
        child.text(
            0.5,
            0.5,
            unbroken(panel.missing),
            transform=child.transAxes,
            ha="center",
            va="center",
            fontsize=sheet.label,
            color=palette["ink3"],
        )
        return
    dollars = panel.axis == "US dollars"
    if info.multiples:
        _others(child, info, panel, palette["line"])
    for curve in panel.curves:
        _line(child, curve, sheet, palette["s1" if info.multiples else role(curve.slot)], marked=not info.multiples)
    ticks_within(child, sheet, lambda value: f"${value:,g}" if dollars else f"{value:,g}", width=room[0], most=4)
    if not info.multiples:
        _endings(child, panel, sheet, room)
    if panel.level is not None:
        child.axvline(panel.level, color=palette["ink2"], linewidth=1, linestyle=(0, (3, 3)), zorder=1.5)
        right = panel.level > sum(child.get_xlim()) / 2
        child.annotate(unbroken(panel.level_text), (panel.level, 1), (-4 if right else 4, -4), xycoords=("data", "axes fraction"),
                       textcoords="offset points", ha="right" if right else "left", va="top", fontsize=sheet.label, color=palette["ink3"],
                       bbox={"facecolor": palette["bg"], "edgecolor": "none", "pad": 1})  # fmt: skip
    if info.multiples and panel.level_text:
        ink = palette["err" if panel.bad else "ink2"]
        child.annotate(panel.level_text, (1, 1), ha="right", fontsize=sheet.label, color=ink, **above)


def _line(child: Axes, curve: Curve, sheet: Sheet, color: str, *, marked: bool) -> None:
    xs, ys = zip(*curve.points, strict=True)
    fill = sheet.palette["bg"] if curve.emulated else color
    if curve.smooth:
        child.plot(xs, ys, color=color, linewidth=0.5, alpha=0.35, zorder=2)
        xs, ys = zip(*curve.smooth, strict=True)
    every = max(1, len(xs) // 10)
    mark = marker(curve.slot).matplotlib if marked else ""
    child.plot(
        xs,
        ys,
        color=color,
        linewidth=1.6,
        linestyle=(0, (6, 4)) if curve.lies_on else "solid",
        marker=mark,
        markevery=every,
        markersize=4.2,
        markerfacecolor=fill,
        zorder=3,
    )
    if curve.ended:
        child.plot(
            [xs[-1]], [ys[-1]], marker="x", markersize=6, markeredgewidth=1.6, color=sheet.palette["err"], zorder=4
        )


def _endings(child: Axes, panel: Panel, sheet: Sheet, room: tuple[float, float]) -> None:
    """Which jobs broke off, inside of the panel: name and reason on two lines, on the side that has room."""
    (left, right), (bottom, top) = child.get_xlim(), child.get_ylim()
    labels = Labels(
        room[0], room[1] - (20 * sheet.unit if panel.level is not None else 0)
    )  # its text stands at the top
    for curve in panel.curves:
        for x, y in curve.points[:: max(1, len(curve.points) // _SEEN)]:
            labels.block((x - left) / (right - left) * room[0], (y - bottom) / (top - bottom) * room[1], radius=2.5)
    for curve in panel.curves:
        if not curve.ended:
            continue
        x, y = curve.points[-1]
        y = min(y, top)
        name = fitted(curve.label, room[0] - 4, sheet.label)
        text = f"{name}\n{curve.ended}"
        at = (x - left) / (right - left) * room[0], (y - bottom) / (top - bottom) * room[1]
        found = labels.place(*at, text_size(text, sheet.label))
        if found is not None:
            child.annotate(unbroken(text), found, xycoords="axes points", ha="left", va="bottom", fontsize=sheet.label,
                           color=sheet.palette["err"], zorder=5, annotation_clip=False)  # fmt: skip


def _others(child: Axes, info: LossInfo, panel: Panel, color: str) -> None:
    for other in info.panels:
        for curve in other.curves if other is not panel else ():
            xs, ys = zip(*(curve.smooth or curve.points), strict=True)
            child.plot(xs, ys, color=color, linewidth=1, zorder=1)


def _gone(shown: tuple[Panel, ...], ceiling: float) -> Iterator[str]:
    """Which curves leave the axes, and how far."""
    most: dict[str, float] = {}
    for curve in (curve for panel in shown for curve in panel.curves):
        most[curve.label] = max(y for _, y in curve.points)
    for label, value in most.items():
        if value > ceiling > 0:
            yield f"{label} diverged: it leaves the axes, up to {fmt.loss(value)}."


def _title(rows: tuple[Row, ...], ceiling: float) -> str:
    known = [(row.label, row.final_loss) for row in rows if row.final_loss is not None]
    if not known:
        return "No loss is known"
    apart = ceiling if ceiling > 0 else math.inf
    finite = [(label, value) for label, value in known if math.isfinite(value) and value <= apart]
    gone: dict[str, list[str]] = {}
    for label, value in known:
        if not math.isfinite(value):
            gone.setdefault(f"became {fmt.not_finite(value)}", []).append(label)
        elif value > apart:
            gone.setdefault("diverged", []).append(label)
    said = [
        f"{fmt.listing(labels) if len(labels) <= 2 else fmt.jobs(len(labels))} {word}" for word, labels in gone.items()
    ]
    return "; ".join([*_ended(finite), *said])


def _ended(known: list[tuple[str, float]]) -> Iterator[str]:
    """Where the finite losses ended: of up to two jobs by name."""
    shown = dict.fromkeys(fmt.loss(value) for _, value in known)
    if len(known) > 1 and len(shown) == 1:
        who = "Both jobs" if len(known) == 2 else f"All {len(known)} jobs"
        yield f"{who} ended at a loss of {next(iter(shown))}"
    elif len(known) > 2:
        values = [value for _, value in known]
        yield f"Final losses from {fmt.loss(min(values))} to {fmt.loss(max(values))}"
    elif known:
        (first, value), *others = known
        rest = "".join(f", {label} at {fmt.loss(loss)}" for label, loss in others)
        yield f"{first} ended at a loss of {fmt.loss(value)}{rest}"


def _subtitle(section: Section, shown: tuple[Panel, ...], *, emulated: bool) -> str:
    smooth = any(curve.smooth for panel in shown for curve in panel.curves)
    text = f"Training loss. {section.workload}".rstrip(". ") + "."
    if emulated:
        text += " Seconds are this machine's."
    return f"{text} Thin: as logged. Thick: the mean of {AROUND} points to the left and right." if smooth else text


def _foot(section: Section, rows: tuple[Row, ...], shown: tuple[Panel, ...]) -> str:
    drawn = {curve.label for panel in shown for curve in panel.curves}
    without = [row.label for row in rows if row.label not in drawn]
    parts = [f"No loss in the log of {fmt.listing(without)}."] if without and drawn else []
    failed = [row.label for row in rows if row.status.word == "failed" and row.label in drawn]
    parts += [f"{fmt.listing(failed[:3])} failed."] if failed else []
    if len(rows) > MULTIPLES:
        parts.append(f"{len(rows) - MULTIPLES} more jobs are not drawn.")
    if section.emulated and section.measured:
        parts.append(f"{fmt.listing([row.label for row in section.emulated])}: emulated, not drawn with measured jobs.")
    return " ".join(parts)


def _alt(rows: tuple[Row, ...], *, emulated: bool) -> str:
    said = [f"{row.label} ended at {fmt.loss(row.final_loss)}" for row in rows if row.final_loss is not None]
    return f"{'EMULATED. ' if emulated else ''}Line chart of training loss. {'; '.join(said) or 'No loss is known'}."


_LAYOUT = Layout(body=_body, draw=_draw)
FIGURE = FigureKind(
    name="loss",
    info=lambda section, _: loss_info(section),
    plot=_LAYOUT.plot,
    alone=_LAYOUT.alone,
    wide=True,
    rehearsed=True,
)
