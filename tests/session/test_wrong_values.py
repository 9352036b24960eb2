"""Wrong values in Python: each is refused in a sentence that names it, says what was wanted, and starts nothing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest
from fakes.simulated_wire import World

import sm_trn as st

JOB = st.JobSpec(
    name="bert",
    script=st.Script("train_text_classification.py"),
    framework=st.HuggingFace("4.56.2", pytorch="2.8.0", python="py312"),
    compute=st.Compute("ml.g5.xlarge"),
    max_run_s=3600,
    hyperparameters={"model": "bert-base-cased", "train": "sample"},
)
SESSION: list[tuple[str, Callable[[Any], Any], str]] = [
    ("a path for a job", lambda s: s.submit("job.toml"), r"job: got 'job.toml' \(str\), wanted a JobSpec; st.read_jobs"),
    ("nothing for a job", lambda s: s.submit(None), "job: got None"),
    ("a path for jobs", lambda s: s.submit_all("job.toml"), r"jobs: got 'job.toml' \(str\), wanted JobSpecs"),
    ("nothing among jobs", lambda s: s.submit_all([JOB, None]), "job: got None"),
    ("dollars below 0", lambda s: s.submit(JOB, max_usd=-1), "USD: got -1, wanted a number of dollars from 0"),
    ("dollars in words", lambda s: s.submit(JOB, max_usd="lots"), "USD: got 'lots', wanted a number"),
    ("no dollars at all", lambda s: s.submit(JOB, max_usd=math.nan), "USD: got nan, wanted a number"),
    ("nothing for a name", lambda s: s.attach(None), r"name: got None \(NoneType\), wanted a text"),
    ("a limit below 0", lambda s: s.jobs(limit=-1), "limit: got -1, wanted a whole number from 0"),
    ("a limit in words", lambda s: s.jobs(limit="x"), "limit: got 'x', wanted a whole number from 0"),
    ("a limit of snapshots", lambda s: s.snapshots(limit=-1), "limit: got -1, wanted a whole number from 0"),
    ("a word for a tag", lambda s: s.jobs(tag="team"), r"tag: got 'team' \(str\), wanted a key and a value, such as \('team', 'nlp'\)"),
]  # fmt: skip
ALONE: list[tuple[str, Callable[[], Any], str]] = [
    ("examples below 1", lambda: st.estimate(JOB, examples=-1), "examples: got -1, wanted a number above 0"),
    ("examples in words", lambda: st.estimate(JOB, examples="many"), "examples: got 'many', wanted a number"),  # type: ignore[arg-type]
    ("examples that are none", lambda: st.estimate(JOB, examples=math.nan), "examples: got nan, wanted a number"),
    ("a length of 0", lambda: st.estimate(JOB, examples=9, length=0), "length: got 0, wanted a number above 0"),
    ("a number for limits", lambda: st.plan(JOB, limits=5), r"limits: got 5 \(int\), wanted Limits"),  # type: ignore[arg-type]
    ("a deadline in words", lambda: st.Limits(deadline_s="3h"), r"Limits.deadline_s: got '3h' \(str\), wanted a number"),  # type: ignore[arg-type]
    ("a deadline by another name", lambda: st.Limits(deadline=3), r"unknown field 'deadline' \(.*deadline_s=3 \* 3600"),  # type: ignore[call-arg]
    ("a deadline of an estimate", lambda: st.estimate(JOB, deadline=3), "a deadline or a budget is said by limits=st.Limits"),  # type: ignore[call-arg]
    ("nothing to compare", lambda: st.diff(JOB, None), r"got None \(NoneType\), wanted a JobSpec"),  # type: ignore[arg-type]
    ("a path to compare", lambda: st.diff("job.toml", JOB), r"got 'job.toml' \(str\), wanted a JobSpec; st.read_jobs"),  # type: ignore[arg-type]
    ("a path to rehearse", lambda: st.rehearse("job.toml"), r"job: got 'job.toml' \(str\), wanted a JobSpec; st.read_jobs"),  # type: ignore[arg-type]
    ("a path for an estimator", lambda: st.estimator("job.toml", role="r"), r"job: got 'job.toml' \(str\), wanted a JobSpec"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize("emulated", [False, True], ids=["on AWS", "emulated"])
@pytest.mark.parametrize(("call", "said"), [case[1:] for case in SESSION], ids=[case[0] for case in SESSION])
def test_a_session_refuses_it_and_starts_nothing(
    here: World, call: Callable[[Any], Any], said: str, *, emulated: bool
) -> None:
    session = dataclasses.replace(here.session, emulated=emulated)
    with pytest.raises((TypeError, ValueError, st.errors.SmTrnError), match=said):
        call(session)
    assert [] == session.jobs()


@pytest.mark.parametrize(("call", "said"), [case[1:] for case in ALONE], ids=[case[0] for case in ALONE])
def test_a_function_refuses_it(call: Callable[[], Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError, st.errors.SmTrnError), match=said):
        call()
