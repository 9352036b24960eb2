"""Machines that prepare data work, though their accelerators are idle."""

from __future__ import annotations

import pytest

from sm_trn.core.specs import MetricPoint
from sm_trn.diagnosis.health.health import Work, usage


def points(**percent: float) -> list[MetricPoint]:
    return [
        MetricPoint(name=name, value=value, time_s=60.0 * minute, host="algo-1")
        for name, value in percent.items()
        for minute in range(15)
    ]


@pytest.mark.parametrize(
    ("gpu", "cpu", "work"), [(0.0, 400.0, Work.WORKS), (0.0, 8.0, Work.IDLE), (0.0, 0.0, Work.IDLE)]
)
def test_idle_accelerators_beside_busy_processors_are_data_that_is_prepared(gpu: float, cpu: float, work: Work) -> None:
    assert work is usage(points(GPUUtilization=gpu, CPUUtilization=cpu), accelerators=1, processors=8, now=840.0).work
