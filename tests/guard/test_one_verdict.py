"""The same sick job has one verdict, one word and one next command, whoever asks."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from fakes.simulated_sagemaker import Refusal, Service, Story
from fakes.simulated_wire import World, attached, world

import sm_trn as st
from sm_trn.cli.jobs.waiting import exit_code
from sm_trn.core.status import Verdict
from sm_trn.diagnosis.commands.guard import _once
from sm_trn.diagnosis.text import diagnosis_text
from sm_trn.report.ui.watcher import Watcher

TRAINING_S = 9_000.0
Line: TypeAlias = tuple[float, str]


def steps(count: int, loss: str = "0.5", *, begin: float = 150.0, every: float = 20.0, first: int = 1) -> list[Line]:
    return [(begin + every * at, f"{{'loss': {loss}, 'step': {first + at}}}") for at in range(count)]


def hanging() -> list[Line]:
    """Steps, and then only a heart that beats."""
    return steps(100) + [(2_150 + 30 * at, "heartbeat: alive") for at in range(200)]


def not_finite() -> list[Line]:
    lost = [(2_150 + 20 * at, f"{{'loss': 0.0, 'grad_norm': nan, 'step': {101 + at}}}") for at in range(340)]
    return steps(100) + lost


SICK: Mapping[Verdict, Sequence[Line]] = {
    Verdict.STALLED: hanging(),
    Verdict.NOT_FINITE: not_finite(),
}
ASKED_S = 5_500.0  # after the beginning, while the job runs


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """A simulated account without faults."""
    return world(monkeypatch, tmp_path)


def begin(here: World, lines: Sequence[Line], name: str = "sick") -> st.TrainingJob:
    phases = (("Starting", 90.0), ("Downloading", 50.0), ("Training", TRAINING_S), ("Uploading", 20.0))
    here.service.add(name, created=here.clock.now(), story=Story(phases=phases, lines={"algo-1": tuple(lines)}))
    return attached(here.session, name)


def on_the_page(here: World) -> dict[str, str]:
    """The live page's pieces, as words."""
    watcher = Watcher(here.session, pause=here.clock.sleep)
    board = watcher.board
    watcher.first()
    with board.listening(lambda: None):
        end = here.clock.now() + 200
        while here.clock.now() < end:
            watcher.step()
    return {place: unescape(re.sub(r"<[^>]+>", " ", html)).replace("\xa0", " ") for place, html in board.pieces.items()}


@pytest.mark.parametrize("verdict", SICK)
def test_every_surface_says_the_same(here: World, verdict: Verdict, capsys: pytest.CaptureFixture[str]) -> None:
    job = begin(here, SICK[verdict])
    here.clock.sleep(ASKED_S)
    command = "sm-trn why sick"

    state = job.health()
    assert verdict is state.verdict

    found = job.why()
    assert found.health is not None
    assert (verdict, True) == (found.health.verdict, found.cause is not None)
    assert verdict.word in diagnosis_text(found, job="sick")

    assert 1 == _once(here.session, [job], st.Guard(), as_json=True)
    (told,) = json.loads(capsys.readouterr().out)
    assert (verdict.word, verdict.word) == (told["verdict"], told["alarms"][0]["verdict"])
    assert 1 == _once(here.session, [job], st.Guard(), as_json=False)
    text = capsys.readouterr().out
    assert f"sick  {verdict.word}" in text
    assert f"next      {command}" in text

    page = on_the_page(here)["jobs"]
    assert f"1 job: 1 {verdict.word}." in page
    assert f"! {verdict.word}" in page
    assert f"Next: {command}" in page

    stream = io.StringIO()
    notes: list[str] = []
    here.session.wait([job], stream=stream, notice=notes.append)
    told_by_guard = [note for note in notes if note.startswith("✗ sick")]
    assert told_by_guard
    assert all(f"✗ sick: {verdict.word}, " in note and note.endswith(f"Next: {command}") for note in told_by_guard)
    lines = [line for line in stream.getvalue().splitlines() if f" {verdict.word}: " in line]
    assert lines
    assert all(line.endswith(f"Next: {command}") for line in lines)


def test_a_completed_job_that_learned_nothing_ended_badly_everywhere(here: World) -> None:
    job = begin(here, not_finite())
    here.clock.sleep(TRAINING_S + 600)
    assert Verdict.ENDED_BADLY is job.health().verdict
    found = job.why()
    assert "num.nan" == found.id
    assert found.health is not None
    assert Verdict.ENDED_BADLY is found.health.verdict
    story = job.record()
    assert any(note.startswith("ended badly: Completed, but the loss is printed as 0") for note in story.notes)
    stream = io.StringIO()
    final = here.session.wait([job], stream=stream)
    assert "ended badly" in stream.getvalue()
    assert 1 == exit_code([job], final)
    assert "ended badly" in on_the_page(here)["jobs"]


def test_a_healthy_job_is_progressing_everywhere(here: World) -> None:
    job = begin(here, steps(440))
    here.clock.sleep(ASKED_S)
    found = job.why()
    assert Verdict.PROGRESSING is job.health().verdict
    assert found.cause is None
    assert "sick: progressing, last step" in diagnosis_text(found, job="sick")
    assert 0 == _once(here.session, [job], st.Guard(), as_json=True)
    page = on_the_page(here)["jobs"]
    assert "1 job: 1 training." in page
    assert "Next:" not in page
    notes: list[str] = []
    final = here.session.wait([job], stream=io.StringIO(), notice=notes.append)
    assert not [note for note in notes if "✗" in note]
    assert 0 == exit_code([job], final)


def test_numbers_that_no_rule_reads_are_offered_and_not_used(here: World) -> None:
    lines = [
        (150.0 + 20 * at, f"Epoch {at}/440 | train loss: {2 / at:.3f} | val acc: {at / 5:.1f} %")
        for at in range(1, 440)
    ]
    job = begin(here, lines)
    here.clock.sleep(TRAINING_S + 600)
    story = job.record()
    command = "sm-trn logs sick --suggest"
    assert () == story.points
    assert [f"its log tells epoch, train_loss, val_acc, which no rule reads; {command} offers rules"] == list(
        story.notes
    )


def test_an_empty_log_is_a_sign_and_one_that_cannot_be_read_is_none(here: World) -> None:
    job = begin(here, ())
    here.clock.sleep(ASKED_S)
    assert "its log is empty" in job.health().what
    found = job.why()
    assert found.cause is not None
    assert "its log is empty" in found.cause.what

    class Closed(Service):
        def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
            if operation in {"DescribeLogStreams", "GetLogEvents"}:
                raise Refusal("AccessDeniedException", "no")
            return super().answer(operation, body)

    here.service.__class__ = Closed
    state = job.why().health
    assert state is not None
    assert Verdict.UNKNOWN is state.verdict
