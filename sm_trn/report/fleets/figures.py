"""What a fleet's money bought, as figures: by day, instance, person and tag. Solid, failed, idle, and what spot saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ...core.formatting import numbers as fmt
from ..figures.bars import Bar, BarInfo, bars_alone, folded, plot_bars
from ..figures.drawing import WIDE, Sheet, bare, draw_headings, headings, rc, text_size
from .rows import PERSON_TAGS, TAG, FleetCosts, FleetGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DAYS = 62  # days that are drawn one by one; more are drawn by month
_TAGS = 3  # keys of tags that have a figure
_HEIGHT, _LEFT = 170.0, 46.0  # points


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFigure:
    """A figure of a fleet. ``name`` is the stem of its file; ``draw`` makes it on a sheet, or on its own when None."""

    name: str
    title: str
    subtitle: str
    foot: str
    alt: str
    draw: Callable[[Sheet | None], Figure]
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeInfo:
    """Spend over time: a column for each day, or month, from the first to the last, those without a job too."""

    title: str
    subtitle: str
    columns: tuple[FleetGroup, ...]
    unit: str
    foot: str
    alt: str

    @property
    def drawn(self) -> bool:
        return len(self.columns) > 1


def fleet_figures(item: FleetCosts) -> Iterator[FleetFigure]:
    """Every figure that has something to show: of more than one day, and of each key that tells jobs apart."""
    if not any(_paid(group) for group in item.by("instance")):
        return
    over = time_info(item)
    if over.drawn:
        yield FleetFigure(
            name=f"fleet-by-{over.unit}", title=over.title, subtitle=over.subtitle, foot=over.foot, alt=over.alt, wide=True,
            draw=lambda sheet: _drawn_over_time(over, sheet or WIDE),
        )  # fmt: skip
    for key in ("instance", *(["person"] if any(row.person for row in item.rows) else []), *_tag_keys(item)):
        info = spend_info(item, key)
        yield FleetFigure(
            name=f"fleet-by-{_slug(key)}", title=info.title, subtitle=info.subtitle, foot=info.foot, alt=info.alt,
            draw=_drawer(info),
        )  # fmt: skip


def _drawer(info: BarInfo) -> Callable[[Sheet | None], Figure]:
    return lambda sheet: bars_alone(info, sheet or Sheet(), _plot)


def _plot(info: BarInfo, ax: Axes | None = None, *, sheet: Sheet) -> Axes:
    return plot_bars(info, ax, sheet, lambda value: f"${value:,g}")


def _slug(key: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in key.lower()).strip("-")[:40] or "tag"


def _tag_keys(item: FleetCosts) -> list[str]:
    """The tags that most jobs have and that tell jobs apart; those of persons, of AWS and of this package are no groups."""
    found = Counter(key for row in item.rows for key in row.tags)
    own = [
        key
        for key, _ in found.most_common()
        if key.lower() not in PERSON_TAGS and not key.startswith(("aws:", "sm_trn:", "sagemaker:"))
    ]
    slugs: set[str] = set()
    keys = []
    for key in own:
        if len({row.tags.get(key) for row in item.rows}) > 1 and _slug(key) not in slugs:
            slugs.add(_slug(key))
            keys.append(f"{TAG}{key}")
    return keys[:_TAGS]


def _paid(group: FleetGroup) -> Decimal:
    return group.usd + group.idle_usd


def spend_info(item: FleetCosts, key: str) -> BarInfo:
    """What was paid by ``key``, dearest first: solid for jobs that did not fail, then failed, then idle. Dashed: saved by spot."""
    groups = [group for group in item.by(key) if group.priced or group.idle_usd]
    groups.sort(key=lambda group: (-_paid(group), group.name))
    total = sum((_paid(group) for group in groups), Decimal(0))
    name = key.removeprefix(TAG)
    without = [group.name for group in item.by(key) if not group.priced and not group.idle_usd]
    return BarInfo(
        title=_title(groups, total, name),
        subtitle=_textures(groups),
        bars=folded([_bar(group) for group in groups], best_first=lambda value: -value),
        axis="US dollars",
        foot=f"Without a cost: {_few(without)}." if without else "",
        alt=f"Bars of cost by {name}. {'; '.join(_said(group) for group in groups)}.",
        plain=True,
    )


def _title(groups: Sequence[FleetGroup], total: Decimal, name: str) -> str:
    first = groups[0]
    if len(groups) == 1:
        return f"All of {fmt.usd(total)} was spent on {first.name}"
    share = fmt.percent(float(_paid(first) / total * 100)) if total else fmt.percent(0)
    return f"By {name}: {first.name} cost {share} of {fmt.usd(total)}"


def _few(names: Sequence[str]) -> str:
    return fmt.listing([*names[:4], *([f"{len(names) - 4} more"] if len(names) > 4 else [])])


def _said(group: FleetGroup) -> str:
    saved = [f"spot saved {fmt.usd(group.spot_saved)}"] if group.spot_saved > 0 else []
    return ", ".join([f"{group.name} {fmt.usd(_paid(group))}", *_lost(group), *saved])


def _lost(group: FleetGroup) -> list[str]:
    """What bought nothing, in words."""
    failed = [f"failed {fmt.usd(group.failed_usd)}"] if group.failed_usd else []
    return failed + ([f"idle {fmt.usd(group.idle_usd)}"] if group.idle_usd else [])


def _textures(groups: Sequence[FleetGroup]) -> str:
    said = ["Solid: jobs that did not fail."]
    said += ["Red cross-hatch: failed jobs."] if any(group.failed_usd for group in groups) else []
    said += ["Hollow: idle warm pools, paid and empty."] if any(group.idle_usd for group in groups) else []
    said += ["Dashed: saved by spot, not paid."] if any(group.spot_saved > 0 for group in groups) else []
    return " ".join(said)


def _parts(group: FleetGroup) -> tuple[tuple[str, float], ...]:
    parts = (("steady", group.usd - group.failed_usd), ("failed", group.failed_usd), ("idle", group.idle_usd))
    return tuple((texture, float(usd)) for texture, usd in parts if usd > 0)


def _bar(group: FleetGroup) -> Bar:
    saved = group.spot_saved if group.spot_saved > 0 else None
    whole = _paid(group) + saved if saved is not None else None
    return Bar(
        label=group.name,
        slot=0,
        detail=", ".join([fmt.jobs(group.jobs), *_lost(group)]),
        value=float(_paid(group)),
        text=fmt.usd(_paid(group)),
        parts=_parts(group),
        ghost=float(whole) if whole is not None else None,
        ghost_text=fmt.usd(whole) if whole is not None else "",
        ghost_note=f"spot saved {fmt.usd(saved)}" if saved is not None else "",
    )


def time_info(item: FleetCosts) -> TimeInfo:
    """What was paid each day, or each month of a long time."""
    days = sorted({f"{row.snapshot.created:%Y-%m-%d}" for row in item.rows if row.snapshot.created})
    unit = "month" if days and (date.fromisoformat(days[-1]) - date.fromisoformat(days[0])).days >= _DAYS else "day"
    known = {group.name: group for group in item.by(unit)}
    names = _months(days) if unit == "month" else _each_day(days)
    columns = tuple(known.get(name) or _empty(name) for name in names)
    total, lost = item.usd + item.idle_usd, item.bought_nothing_usd
    share = f", of which {fmt.percent(float(lost / total * 100))} bought nothing" if lost and total else ""
    span = f"{names[0]} to {names[-1]}" if len(names) > 1 else "".join(names)
    undated = known.get("no date")
    return TimeInfo(
        title=f"{span}: {fmt.usd(total)}{share}",
        subtitle=f"US dollars by {unit} of submission, UTC. {_textures(columns)}",
        columns=columns,
        unit=unit,
        foot=f"{fmt.usd(_paid(undated))} of jobs without a date are not drawn." if undated and _paid(undated) else "",
        alt=f"Columns of cost by {unit}. {'; '.join(_said(group) for group in columns if _paid(group)) or 'Nothing was paid'}.",
    )


def _each_day(days: Sequence[str]) -> list[str]:
    if not days:
        return []
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    return [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]


def _months(days: Sequence[str]) -> list[str]:
    first, last = (12 * int(day[:4]) + int(day[5:7]) - 1 for day in (days[0], days[-1]))
    return [f"{number // 12:04}-{number % 12 + 1:02}" for number in range(first, last + 1)]


def _empty(name: str) -> FleetGroup:
    return FleetGroup(name=name, jobs=0, priced=0, instance_hours=0.0, usd=Decimal(0), spot_saved=Decimal(0))


def _drawn_over_time(info: TimeInfo, sheet: Sheet) -> Figure:
    with mpl.rc_context(rc(sheet.theme)):
        head = headings(sheet, title=info.title, subtitle=info.subtitle, foot=info.foot)
        head = replace(head, below=head.below - 14)
        height = _HEIGHT * sheet.unit
        whole = head.above + height + head.below
        figure = Figure(figsize=(sheet.width / 72, whole / 72))
        left = (sheet.side + _LEFT * sheet.unit) / sheet.width
        ax = figure.add_axes((left, head.below / whole, 1 - left - sheet.side / sheet.width, height / whole))
        _draw_columns(ax, info, sheet)
        draw_headings(ax, sheet, head, left=-_LEFT * sheet.unit, below=28)
    return figure


def _draw_columns(ax: Axes, info: TimeInfo, sheet: Sheet) -> None:
    palette = sheet.palette
    bare(ax, sheet)
    ax.set_xlim(-0.6, len(info.columns) - 0.4)
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"${value:,g}"))
    ax.grid(visible=True, axis="y", color=palette["line"], linewidth=0.8)
    looks: dict[str, dict[str, object]] = {
        "steady": {"facecolor": palette["s1"], "edgecolor": "none", "linewidth": 0},
        "failed": {"facecolor": palette["bg"], "edgecolor": palette["err"], "hatch": "xxxx", "linewidth": 1.2},
        "idle": {"facecolor": palette["bg"], "edgecolor": palette["ink2"], "linewidth": 1.4},
    }
    highest = 0.0
    for place, group in enumerate(info.columns):
        bottom = 0.0
        for texture, usd in _parts(group):
            ax.bar([place], [usd], 0.72, bottom=bottom, zorder=2, **looks[texture])  # type: ignore[arg-type]  # a patch's own
            bottom += usd
        if group.spot_saved > 0:
            ax.bar([place], [float(group.spot_saved)], 0.72, bottom=bottom, facecolor="none", edgecolor=palette["s1"],
                   linestyle=(0, (3, 2)), linewidth=1, zorder=1.8)  # fmt: skip
            bottom += float(group.spot_saved)
        highest = max(highest, bottom)
    ax.set_ylim(0, highest * 1.08 or 1.0)
    _dates(ax, info, sheet)


def _dates(ax: Axes, info: TimeInfo, sheet: Sheet) -> None:
    """As many dates as have room; without the year where all are of one."""
    one_year = len({group.name[:4] for group in info.columns}) == 1 and info.unit == "day"
    names = [group.name[5:] if one_year else group.name for group in info.columns]
    room = (sheet.room - _LEFT * sheet.unit) / len(names)
    wide = max(text_size(name, sheet.label)[0] for name in names) + 8
    step = max(1, -(-int(wide) // max(1, int(room))))
    half = wide / 2 - 4
    places = [place for place in range(0, len(names), step) if room * (len(names) - place - 0.4) >= half - sheet.side]
    ax.set_xticks(places, [names[place] for place in places])
