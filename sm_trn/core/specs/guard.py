"""Limits that a running job is watched for, and the action when one is passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from .value import suggesting

ACTS = ("tell", "stop")


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Limits that a running job is watched for. 0 or None switches a limit off; only the cost is looked at outside the phase Training.

    ``no_first_step_s``: seconds of training until the first step is logged; twice as many on Neuron, which compiles first.
    ``stall_s``: seconds without a step, once the job's rhythm is known; never less than five of its usual gaps between steps. A line
    that tells no new step is none.
    ``pause_s``: seconds that an evaluation or a save that it announced may take before its usual length is known; a compilation, a
    download and tokenizing twice.
    ``not_finite``: the loss is NaN or infinite. So it must be ``metric_evaluation_data_points`` times in a row.
    ``max_usd``: dollars that the job has cost.

    ``act`` is ``tell``, or ``stop``: the script gets SIGTERM and saves. Only what is proved is acted on, such as silence on idle
    accelerators. Silence alone is told, unless ``silence_suffices``.

    >>> st.Guard(stall_s=600, act="stop").stall_s
    600
    """

    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "expectedStartCutOffInSeconds": "no_first_step_s=…",
            "expectedRecurringFrequencyInSeconds": "stall_s=…",
            "metricEvaluationDataPoints": "metric_evaluation_data_points=…",
        }
    )

    no_first_step_s: int = 3600
    stall_s: int = 1200
    pause_s: int = 3600
    not_finite: bool = True
    max_usd: float | None = None
    metric_evaluation_data_points: int = 2
    act: str = "tell"
    silence_suffices: bool = False

    def __post_init__(self) -> None:
        for name in ("no_first_step_s", "stall_s", "pause_s", "max_usd", "metric_evaluation_data_points"):
            value, least = getattr(self, name), int(name == "metric_evaluation_data_points")
            if value is not None and not value >= least:
                raise ValueError(f"guard.{name}: got {value!r}, wanted at least {least}")
        if self.act not in ACTS:
            raise ValueError(f"guard.act: got {self.act!r}, wanted one of {', '.join(ACTS)}")
