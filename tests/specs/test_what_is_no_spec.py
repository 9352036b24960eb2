"""A file's name, a handle or a list where a spec is wanted: one sentence says what was meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jobs
import pytest

import sm_trn as st

ASKED: list[Callable[[Any], object]] = [st.check, st.render, st.policies]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            "job.toml",
            r"job: got 'job.toml' \(str\), wanted a JobSpec; st.read_jobs\('job.toml'\) returns those of a file",
        ),
        ([1, 2], r"job: got \[1, 2\] \(list\), wanted a JobSpec: one at a time"),
        (None, r"job: got None \(NoneType\), wanted a JobSpec"),
    ],
)
def test_what_is_no_spec_is_named(asked: Callable[[Any], object], given: object, says: str) -> None:
    with pytest.raises(TypeError, match=f"^{says}$"):
        asked(given)


def test_a_handle_is_told_where_its_spec_is() -> None:
    class Handle:
        spec = jobs.trainium("s")

    with pytest.raises(TypeError, match=r"wanted a JobSpec; this one's is \.spec$"):
        st.check(Handle())  # type: ignore[arg-type]


def test_one_job_is_compared_as_a_list_of_one() -> None:
    alone = st.compare("published/bert-trn1")
    assert str(alone) == str(st.compare(["published/bert-trn1"]))
    with pytest.raises(
        TypeError, match=r"^job: got 1 \(int\), wanted a TrainingJob, a JobRecord, the file of one, or a pub"
    ):
        st.compare([1])  # type: ignore[list-item]
