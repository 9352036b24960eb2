"""The parts of a verdict on their own: losses that recover, machines that prepare data."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from sm_trn.core.specs import MetricPoint
from sm_trn.diagnosis.health.losses import Losses
from sm_trn.diagnosis.health.pace import Pace
from sm_trn.diagnosis.health.usage import Work, levels


def heard(*parts: tuple[float, float, int]) -> Losses:
    """Losses in parts, each from a value to another in so many steps, with a little noise."""
    losses, noise = Losses(), itertools.cycle((0.0, 0.01, -0.01))
    at = 0.0
    for first, last, steps in parts:
        for number in range(steps):
            at += 10.0
            losses.hear(first + (last - first) * number / steps + next(noise), None, at)
    return losses


def test_a_rise_that_stays_is_a_divergence_and_one_that_recovers_is_none() -> None:
    learned, rises = (4.0, 0.5, 200), (0.5, 6.0, 40)
    assert heard(learned, rises, (6.0, 6.2, 80)).diverged() is not None
    assert heard(learned, rises, (6.0, 3.9, 80)).diverged() is None  # still far from its best, and on its way
    assert heard(learned, rises, (6.0, 1.0, 80)).diverged() is None
    assert heard(learned, (0.5, 0.6, 120)).diverged() is None


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
    found = levels(points(GPUUtilization=gpu, CPUUtilization=cpu), accelerators=1, processors=8, now=840.0, since_s=0.0)
    assert work is found["algo-1"].work


def test_a_noisy_speed_is_seldom_below_a_limit_that_it_keeps() -> None:
    measured, told = 0, 0
    for seed in range(1, 12):
        random, pace, at = Random(seed), Pace(), 0.0
        for step in range(1, 1200):
            at += 60 * random.uniform(0.8, 1.25) * (1.8 if step > 200 else 1)
            pace.hear(step, at)
            measured += 1
            told += pace.below(0.5)
        for step in range(1200, 1240):
            at += 60 * 8
            pace.hear(step, at)
        assert pace.below(0.5)
    assert told < measured / 500
