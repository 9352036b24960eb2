"""What a running job is watched for, and what is done about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from .value import suggesting

ACTS = ("tell", "stop", "resume")


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What a running job is watched for. 0 or None switches a limit off; all but ``max_usd`` are off outside the phase Training.

    ``no_first_step_s``: seconds of training until the first step is logged; twice as many on Neuron, which compiles first.
    ``stall_s``: seconds without a step, once the job's rhythm is known; never less than five of its usual gaps between steps. A line
    that tells no new step is none.
    ``pause_s``: seconds that an evaluation or a save that it announced may take before its usual length is known; a compilation, a
    download and tokenizing twice.
    ``not_finite``: the loss is NaN or infinite, ``metric_evaluation_data_points`` times in a row. ``loss_above``: so often above it.
    ``diverging``: the loss has lost most of what it had learned, and does not recover.
    ``slower_than``: the share of its own best speed below which the job counts as slow.
    ``idle_accelerator``: percent that no accelerator has passed for ten minutes. ``max_usd``: dollars that the job has cost.

    ``log_pattern`` is a regular expression that a line of progress matches, where the script logs in a way of its own; its group,
    if any, is the loss. A line that matches ``stop_pattern`` ends the watch. These names, and ``metric_evaluation_data_points``, are
    those of HyperPod's log monitoring.

    ``act`` is ``tell``, ``stop`` (the script gets SIGTERM and saves), or ``resume``: stop, and start again from the checkpoints,
    once. Only what is proved is acted on, such as silence on idle accelerators. Silence alone is told, unless ``silence_suffices``;
    a job that is slow or diverges is only told.

    >>> st.Guard(stall_s=600, act="stop").stall_s
    600
    """

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "expectedStartCutOffInSeconds": "no_first_step_s=…",
            "expectedRecurringFrequencyInSeconds": "stall_s=…",
            "metricEvaluationDataPoints": "metric_evaluation_data_points=…",
            "logPattern": "log_pattern=…",
            "stopPattern": "stop_pattern=…",
        }
    )

    no_first_step_s: int = 3600
    stall_s: int = 1200
    pause_s: int = 3600
    not_finite: bool = True
    diverging: bool = True
    slower_than: float | None = 0.5
    loss_above: float | None = None
    idle_accelerator: float | None = None
    max_usd: float | None = None
    metric_evaluation_data_points: int = 2
    log_pattern: str | None = None
    stop_pattern: str | None = None
    act: str = "tell"
    silence_suffices: bool = False

    def __post_init__(self) -> None:
        for name in (
            "no_first_step_s",
            "stall_s",
            "pause_s",
            "max_usd",
            "idle_accelerator",
            "metric_evaluation_data_points",
        ):
            value, least = getattr(self, name), int(name == "metric_evaluation_data_points")
            if value is not None and not value >= least:
                raise ValueError(f"guard.{name}: got {value!r}, wanted at least {least}")
        if self.slower_than is None:  # a file has no word for it, and what it leaves out is the default
            object.__setattr__(self, "slower_than", 0.0)
        elif not 0 <= self.slower_than < 1:
            raise ValueError(
                f"guard.slower_than: got {self.slower_than!r}, wanted a share from 0, which switches it off, to 1, such as 0.5"
            )
        if self.act not in ACTS:
            raise ValueError(f"guard.act: got {self.act!r}, wanted one of {', '.join(ACTS)}")
        _expression("log_pattern", self.log_pattern)
        _expression("stop_pattern", self.stop_pattern)


def _expression(name: str, text: str | None) -> None:
    try:
        re.compile(text or "")
    except re.error as error:
        raise ValueError(f"guard.{name}: got {text!r}, which is no regular expression: {error}") from None
