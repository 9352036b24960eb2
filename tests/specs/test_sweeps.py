"""Grids: every combination once, names that are legal, unique and readable, and refusals that say what to write."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jobs
import pytest
from hypothesis import example, given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.catalog import limits
from sm_trn.core.session.launches import unique_names
from sm_trn.core.specs.sweeps import LONGEST, SWEEP_TAG, parse_values

BASE = jobs.trainium("s3://bucket/source.tar.gz").replace(
    name="reviews", hyperparameters={"epochs": 3, "learning_rate": 2e-5}
)


def test_every_combination_is_a_job_and_the_last_changes_fastest() -> None:
    made = st.grid(BASE, learning_rate=[1e-5, 3e-5], seed=[1, 2])
    assert ["reviews-lr1e-5-seed1", "reviews-lr1e-5-seed2", "reviews-lr3e-5-seed1", "reviews-lr3e-5-seed2"] == [
        job.name for job in made
    ]
    assert {"epochs": 3, "learning_rate": 3e-5, "seed": 1} == dict(made[2].hyperparameters)
    assert all(job.tags[SWEEP_TAG] == "reviews" for job in made)
    assert made[0].replace(name="reviews", hyperparameters=BASE.hyperparameters, tags=BASE.tags) == BASE


@pytest.mark.parametrize(
    ("values", "tail"),
    [
        ({"learning_rate": [0.0001]}, "lr1e-4"),
        ({"learning_rate": [0.001]}, "lr0p001"),
        ({"learning_rate": [3.9125e-5]}, "lr3p9125e-5"),
        ({"weight_decay": [0.1]}, "wd0p1"),
        ({"fp16": [True]}, "fp16-true"),
        ({"optim": ["adamw_torch"]}, "optim-adamw-torch"),
        ({"lora-r": [8]}, "lora-r8"),
        ({"shift": [-2.5]}, "shift-minus2p5"),
        ({"batch_size": [8], "per_device_train_batch_size": [4]}, "batch-size8-per-device-train-batch-size4"),
    ],
)
def test_a_name_carries_the_values(values: dict[str, list[Any]], tail: str) -> None:
    (made,) = st.grid(BASE.replace(name="x"), values)
    assert made.name in {f"x-{tail}", f"x-{tail}"[:LONGEST]}


HYPER = some.one_of(
    some.integers(-(10**9), 10**9),
    some.booleans(),
    some.floats(allow_nan=False, allow_infinity=False),
    some.text(max_size=30),
)
KEYS = some.text("abcdefghijklmnopqrstuvwxyz_-.ü", min_size=1, max_size=40)


def distinct(values: list[Any]) -> list[Any]:
    return [value for number, value in enumerate(values) if value not in values[:number]]


@given(
    some.dictionaries(KEYS, some.lists(HYPER, min_size=1, max_size=4).map(distinct), min_size=1, max_size=3),
    some.from_regex(r"\A[a-zA-Z0-9](-*[a-zA-Z0-9]){0,50}\Z"),
)
@example({"a": ["x-1", "x_1"], "b": ["Y", "y"]}, "a")
@example(
    {"per_device_train_batch_size": [1, 2], "gradient_accumulation_steps": [4, 8]}, "bert-large-question-answering"
)
def test_names_are_legal_unique_and_leave_room_for_submit(values: dict[str, list[Any]], base: str) -> None:
    made = st.grid(BASE.replace(name=base, hyperparameters={}), values)
    names = [job.name for job in made]
    assert len(names) == len({name.lower() for name in names}) == math.prod(map(len, values.values()))
    assert all(limits.matches("TrainingJobName", name) and len(name) <= LONGEST for name in names)
    assert all(limits.matches("TrainingJobName", name) for name in unique_names(names, 1.7e9))
    asked = [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    assert asked == [dict(job.hyperparameters) for job in made]


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"learnin_rate": [1e-5]}, st.errors.UnknownName, "did you mean 'learning_rate'"),
        ({"learning_rate": 1e-5}, TypeError, r"wanted a list of values, such as learning_rate=\[1e-05\]"),
        ({"learning_rate": "1e-5"}, TypeError, "wanted a list of values"),
        ({"learning_rate": []}, ValueError, "got no values"),
        ({"learning_rate": [1e-5, 1e-5]}, ValueError, "got 1e-05 twice"),
        ({"learning_rate": [math.nan]}, TypeError, "wanted a number"),
        ({"learning_rate": [[1]]}, TypeError, "wanted a number"),
        ({}, ValueError, "wanted at least one"),
        ({"seed": range(101)}, st.SmTrnError, "got 101 jobs"),
    ],
)
def test_what_is_no_grid_is_refused_in_a_sentence(values: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        st.grid(BASE, values)


def test_more_jobs_are_made_when_somebody_says_so() -> None:
    assert 101 == len(st.grid(BASE, seed=range(101), max_jobs=101))


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("learning_rate=1e-5,3e-5", "learning_rate", (1e-5, 3e-5)),
        ("seed=1, 2", "seed", (1, 2)),
        ("fp16=true,false", "fp16", (True, False)),
        ("model=bert-base,roberta", "model", ("bert-base", "roberta")),
        ("name=NaN,1", "name", ("NaN", 1)),
    ],
)
def test_values_on_the_command_line(text: str, name: str, values: tuple[Any, ...]) -> None:
    assert (name, values) == parse_values(text)


@pytest.mark.parametrize("text", ["learning_rate", "=1", "learning_rate=", "learning_rate=1,,2"])
def test_a_value_that_is_missing_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="wanted NAME=VALUE,VALUE"):
        parse_values(text)
