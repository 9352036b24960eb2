"""Horizontal bars: name and detail above the bar, its value at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from ...core.formatting.printable import cut, unbroken
from ...core.formatting.theme import SLOTS, marker, role
from .chart import Chart, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.58  # inches of a bar with its name at a text of 9.5 points
LISTED, BEST, WORST = 20, 10, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One row. ``parts`` are (texture, length): transfer, warmup, steady. ``outline`` is the end of a dashed one.

    Without a ``value`` the ``text`` stands in the bar's place.
    """

    label: str
    slot: int = 0
    detail: str = ""
    value: float | None = None
    text: str = ""
    parts: tuple[tuple[str, float], ...] = ()
    span: tuple[float, float] | None = None
    outline: float | None = None


def bar_chart(  # noqa: PLR0913 - the words of a figure, each by name
    bars: Sequence[Bar],
    *,
    name: str,
    title: str,
    subtitle: str,
    foot: str,
    axis: str,
    unit: str = "",
    level: float | None = None,
) -> Chart:
    """A figure of bars: all of up to 20, else the first 10, how many more there are, and the last 3. ``level`` is a dashed line."""
    shown = list(bars)
    if len(bars) > LISTED:
        more = Bar(label=f"{len(bars) - BEST - WORST} more", text="not drawn")
        shown = [*bars[:BEST], more, *bars[-WORST:]]
    return Chart(
        name=name, title=title, subtitle=subtitle, foot=foot,
        alt=f"Bar chart, {axis}. {'; '.join(f'{bar.label} {bar.text}' for bar in bars)}.",
        height=0.3 + ROW * len(shown),
        drawn=any(bar.value is not None for bar in bars),
        draw=lambda axes, style: _draw(axes[0], shown, style, axis=axis, unit=unit, level=level),
    )  # fmt: skip


def _draw(ax: Axes, bars: Sequence[Bar], style: Style, *, axis: str, unit: str, level: float | None) -> None:
    palette, small = style.palette, style.size * 0.92
    ax.set_ylim(len(bars) - 0.42, -0.55)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(visible=True, axis="x")
    ax.set_xlabel(axis, loc="right")
    ax.xaxis.set_major_locator(MaxNLocator(5 if style.width > 5 else 4, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(StrMethodFormatter(unit + "{x:,g}"))
    ax.set_xlim(0, _limit(bars, style))
    for y, bar in enumerate(bars):
        color = palette[role(bar.slot if len(bars) <= SLOTS else 0)]  # of many jobs no colour is a name
        top: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
        if len(bars) <= SLOTS:
            ax.plot([0.0], [y - 0.4], marker=marker(bar.slot).matplotlib, color=color, markersize=style.size * 0.66,
                    transform=ax.get_yaxis_transform(), clip_on=False)  # fmt: skip
        shift = style.size if len(bars) <= SLOTS else 1
        name = cut(bar.label, style.letters(style.size * 1.1) - 2)
        ax.annotate(name, (0, y - 0.4), (shift, 0), fontweight="bold", **top)
        detail = cut(bar.detail, style.letters(small))
        ax.annotate(unbroken(detail), (0, y - 0.12), (1, 0), fontsize=small, color=palette["ink3"], **top)
        if bar.value is None:
            text = cut(bar.text, style.letters(small))
            ax.annotate(text, (0, y + 0.18), (1, 0), fontsize=small, color=palette["ink3"], style="italic", **top)
            continue
        left = 0.0
        for texture, length in bar.parts or (("steady", bar.value),):
            ax.barh(y + 0.2, length, 0.3, left=left, **_look(texture, color, style))
            left += length
        if bar.outline is not None:
            ax.barh(y + 0.2, bar.outline, 0.38, facecolor="none", edgecolor=color, linestyle=(0, (3, 2)), zorder=1.5)
        if bar.span is not None:
            ax.plot(bar.span, [y + 0.2, y + 0.2], color=palette["ink"], linewidth=1.2, marker="|", markersize=6)
        ax.annotate(bar.text, (_end(bar), y + 0.2), (5, 0), textcoords="offset points", va="center", fontweight="bold")
    if level is not None:
        ax.axvline(level, color=palette["ink2"], linewidth=1, linestyle=(0, (3, 3)), zorder=1.5)


def _end(bar: Bar) -> float:
    return max(bar.value or 0.0, bar.outline or 0.0, bar.span[1] if bar.span else 0.0)


def _limit(bars: Sequence[Bar], style: Style) -> float:
    """Far enough to the right for the text at the end of each bar."""
    share = [min(0.6, (len(bar.text) * style.size * 0.68 + 12) / (style.width * 72)) for bar in bars]
    return max((_end(bar) / (1 - part) for bar, part in zip(bars, share, strict=True)), default=0.0) or 1.0


def _look(texture: str, color: str, style: Style) -> dict[str, Any]:
    if texture == "transfer":
        return {"facecolor": color, "alpha": 0.35, "linewidth": 0}
    if texture == "warmup":
        return {"facecolor": color, "edgecolor": style.palette["bg"], "hatch": "////", "linewidth": 0}
    return {"facecolor": color, "linewidth": 0}
