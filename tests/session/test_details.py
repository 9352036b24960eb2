"""A job that is not there is named with the one that was meant, at the price of a list."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.simulated_sagemaker import Refusal
from fakes.simulated_wire import World, world

import sm_trn as st


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    made = world(monkeypatch, tmp_path)
    for number, name in enumerate(["bert-261121-101010-aaaaaa", "bert-261122-101010-bbbbbb", "gpt2-long"]):
        made.service.add(name, created=made.clock.now() - 3600 + number)
    return made


@pytest.mark.parametrize(
    ("asked", "meant"), [("ert-26", "bert-261122-101010-bbbbbb"), ("gpt2-lnog", "gpt2-long"), ("nothing-like-it", None)]
)
def test_a_name_that_is_not_there_is_answered_with_the_newest_that_was_meant(
    here: World, asked: str, meant: str | None
) -> None:
    with pytest.raises(st.errors.CloudError) as caught:
        here.session.attach(asked)
    said = str(caught.value)
    assert said.startswith(f"job: got {asked!r}, wanted a job in us-west-2")
    assert (f"did you mean {meant!r}?" in said) if meant else ("did you mean" not in said)
    assert ("DescribeTrainingJob", "ValidationException") == (caught.value.operation, caught.value.code)


def test_without_leave_to_list_the_name_alone_is_wrong(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(body: object) -> dict[str, object]:
        raise Refusal("AccessDeniedException", "no")

    monkeypatch.setattr(here.service, "_list", refused)
    with pytest.raises(st.errors.CloudError, match="wanted a job in us-west-2; sm-trn list"):
        here.session.attach("bert")


def test_the_beginning_of_a_name_is_enough_where_one_job_has_it(here: World) -> None:
    assert "gpt2-long" == here.session.attach("gpt2-lo").name
    with pytest.warns(UserWarning, match="2 jobs were launched as bert; the newest is bert-261122-101010-bbbbbb"):
        assert "bert-261122-101010-bbbbbb" == here.session.attach("bert").name
    with pytest.raises(st.errors.UnknownName, match=r"begins bert-261122-101010-bbbbbb, bert-"):
        here.session.attach("bert-2")


def test_last_is_the_newest_job(here: World) -> None:
    newest = here.session.jobs(limit=1)[0].name
    assert newest == here.session.attach("@last").name


def test_jobs_are_found_by_a_tag_after_they_ended(here: World, spec: st.JobSpec) -> None:
    first, _ = here.session.submit_all([spec.replace(name="one", tags={"team": "a"}), spec.replace(name="two")])
    assert [first.name] == [job.name for job in here.session.jobs(tag=("team", "a"))]
    assert [] == here.session.jobs(tag=("team", "b"))
