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
    ("asked", "meant"), [("bert", "bert-261122-101010-bbbbbb"), ("gpt2-lnog", "gpt2-long"), ("nothing-like-it", None)]
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
