"""A job's measured rate beside the estimated one: told once, on AWS only, and not before the rate is steady."""

from __future__ import annotations

import io

import pytest
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached
from hypothesis import given
from hypothesis import strategies as hyp

from sm_trn.core.specs import MetricPoint, parse_snapshot
from sm_trn.diagnosis.guard.foreseen import FAR, Foreseen, far_off, steady_rate, step_of
from sm_trn.forecast.step import Interval

ASKED = {
    "model_name": "bert-base-uncased",
    "per_device_train_batch_size": "32",
    "max_seq_length": "128",
    "num_train_epochs": "2",
    "dataset_name": "amazon_polarity",
}


def told(here: World, rate: float, steps: int, hyperparameters: dict[str, str]) -> list[str]:
    lines = tuple((141 + n, str({"steps_per_second": rate, "step": n * steps // 40})) for n in range(1, 41))
    job = here.service.add("far", created=here.clock.now(), story=Story(lines={"algo-1": lines, "algo-2": ()}))
    job.request = {**job.request, "HyperParameters": hyperparameters}
    heard: list[str] = []
    here.session.wait([attached(here.session, "far")], stream=io.StringIO(), notice=heard.append)
    return [text for text in heard if "estimated were" in text]


def likely(here: World) -> Interval:
    job = here.service.add("asked", created=here.clock.now())
    job.request = {**job.request, "HyperParameters": ASKED}
    found = step_of(here.session.backend.fetch_snapshot("asked"), None)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("share", "steps", "word"),
    [
        (1.0, 4000, ""),
        (0.05, 4000, "times slower"),
        (30.0, 4000, "faster"),
        (0.05, 120, ""),  # too few steps
    ],
)
def test_a_rate_far_off_is_told_once(here: World, share: float, steps: int, word: str) -> None:
    said = told(here, share / likely(here).p50, steps, ASKED)
    assert len(said) == bool(word)
    assert all(word in text for text in said)


def test_a_job_that_cannot_be_estimated_is_not_spoken_of(here: World) -> None:
    assert not told(here, 0.001, 4000, {"epochs": "2"})


def test_an_emulated_job_is_never_held_against_an_estimate(here: World) -> None:
    heard: list[str] = []
    answer = {
        "TrainingJobName": "a",
        "TrainingJobArn": "arn:aws:sagemaker:us-west-2:000000000000:training-job/a",
        "TrainingJobStatus": "InProgress",
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2},
        "HyperParameters": ASKED,
    }
    points = [MetricPoint("steps_per_second", 0.001, step=100.0 * n) for n in range(20)]
    Foreseen(logs=(), asked={}).compare(parse_snapshot(answer), points, heard.append)
    assert steady_rate(points) == 0.001
    assert not heard


@given(hyp.floats(1e-3, 1e3), hyp.floats(1e-3, 10), hyp.floats(1, 3), hyp.floats(1, 3))
def test_only_a_rate_beyond_the_factor_is_far(rate: float, middle: float, down: float, up: float) -> None:
    step = Interval(middle / down, middle, middle * up)
    inside = 1 / step.p90 / FAR <= rate <= 1 / step.p10 * FAR
    assert bool(far_off("a", rate, step)) is not inside
