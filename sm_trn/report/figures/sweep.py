"""A sweep: the metric of each setting, the best one first; a dot for each seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.formatting.printable import cut, unbroken
from ..sections.section import Section
from ..sections.sweep import Setup, Sweep, setting_text, sweep_headline, sweep_rest
from .chart import Chart, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LISTED = 20  # settings that are drawn


def chart(section: Section) -> Chart:
    """The ranking of a section whose jobs differ in hyperparameters only."""
    sweep = section.sweep
    if sweep is None or not sweep.setups:
        title = "No sweep: three jobs or more that differ in hyperparameters only"
        return Chart(name="sweep", title=title, drawn=False, draw=lambda *_: None)
    setups = sweep.setups[:LISTED]
    more = len(sweep.setups) - len(setups)
    best = "the lowest" if sweep.lowest else "the highest"
    values = "; ".join(f"{_settings(setup)} {fmt.loss(setup.mean)}" for setup in setups)
    return Chart(
        name="sweep",
        title=sweep_headline(sweep).rstrip("."),
        subtitle=f"{sweep.metric}, {best} first. A dot for each job, a line at the mean of several.",
        foot=f"{sweep_rest(sweep)} {f'{more} more settings are not drawn.' if more else ''}".strip(),
        alt=f"Dots of {sweep.metric}. {values}.",
        height=0.4 + 0.36 * len(setups),
        emulated=sweep.emulated,
        draw=lambda axes, style: _draw(axes[0], sweep, setups, style),
    )


def _settings(setup: Setup) -> str:
    values = [f"{name} {setting_text(value)}" for name, value in setup.settings.items()]
    return ", ".join(values) or setup.trials[0].job


def _draw(ax: Axes, sweep: Sweep, setups: Sequence[Setup], style: Style) -> None:
    palette = style.palette
    ax.set_ylim(len(setups) - 0.5, -0.6)
    names = [unbroken(cut(_settings(setup), 44 if style.width > 5 else 22)) for setup in setups]
    ax.set_yticks(range(len(setups)), names)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(visible=True)
    ax.margins(x=0.12)
    ax.set_xlabel(sweep.metric, loc="right")
    for y, setup in enumerate(setups):
        color = palette["s1" if y == 0 else "axis"]
        values = [trial.value for trial in setup.trials if trial.value is not None]
        ax.plot(
            values,
            [y] * len(values),
            marker="o",
            markersize=6,
            linestyle="",
            color=color,
            alpha=0.75 if len(values) > 1 else 1,
        )
        if len(values) > 1:
            ax.plot([setup.mean] * 2, [y - 0.25, y + 0.25], color=palette["ink"], linewidth=1.6)
        ax.annotate(fmt.loss(setup.mean), (max(values), y), (7, 0), textcoords="offset points", va="center",
                    fontweight="bold" if y == 0 else "normal")  # fmt: skip
