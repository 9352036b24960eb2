"""The same sick job has one verdict, one word and one next command, whoever asks."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from fakes.simulated_sagemaker import Refusal, Service, Story
from fakes.simulated_wire import World, attached, world

import sm_trn as st
from sm_trn.cli.jobs.waiting import exit_code
from sm_trn.core.status import Verdict, next_command, status_look
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

    assert verdict.word in diagnosis_text(job.why(), job="sick")
    assert 1 == _once(here.session, [job], st.Guard(), as_json=True)
    (told,) = json.loads(capsys.readouterr().out)
    assert verdict.word == told["alarms"][0]["verdict"]

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


def story(
    lines: Sequence[Line] = (), seconds: float = TRAINING_S, outcome: str = "Completed", *last: tuple[str, float]
) -> Story:
    phases = (("Starting", 90.0), ("Downloading", 50.0), ("Training", seconds), *last)
    return Story(phases=phases, outcome=outcome, reason="AlgorithmError: KeyError", lines={"algo-1": tuple(lines)})


PAUSED = steps(250)  # the last one 370 s before anybody asks
TWENTY: Mapping[str, tuple[Story, Verdict]] = {
    "healthy": (story(steps(440)), Verdict.PROGRESSING),
    "slow": (story(steps(50, every=110.0)), Verdict.PROGRESSING),
    **{f"sweep-{number}": (story(steps(440, str(number))), Verdict.PROGRESSING) for number in (1, 2, 3)},
    "evaluates": (story([*PAUSED, (5_140.0, "***** Running Evaluation *****")]), Verdict.EVALUATING),
    "saves": (story([*PAUSED, (5_140.0, "Saving model checkpoint to /opt/ml/checkpoints")]), Verdict.SAVING),
    "silent": (story(steps(5, every=1.0)), Verdict.STALLED),
    "hangs": (story(hanging()), Verdict.STALLED),
    "without-log": (story(), Verdict.STALLED),
    "without-metrics": (story([(150.0 + 20 * at, "still here") for at in range(400)]), Verdict.STALLED),
    "nan": (story(not_finite()), Verdict.NOT_FINITE),
    "unsaved": (story(steps(440)), Verdict.UNSAVED),
    "pending": (Story(phases=(("Pending", TRAINING_S),)), Verdict.WAITING),
    "failed": (story(steps(20), 2_000.0, "Failed"), Verdict.ENDED_BADLY),
    "stopped": (story(steps(20), 2_000.0, "Stopped"), Verdict.ENDED_WELL),
    "at-max-run": (story(steps(20), 2_000.0, "Stopped", ("MaxRuntimeExceeded", 1.0)), Verdict.ENDED_BADLY),
    "completed": (story(steps(20), 2_000.0), Verdict.ENDED_WELL),
    "completed-nan": (story(not_finite()[:150], 3_200.0), Verdict.ENDED_BADLY),
    "no-model": (story(steps(20), 2_000.0), Verdict.LEFT_NO_MODEL),
}


def test_twenty_jobs_have_one_verdict_one_number_and_one_next_command_everywhere(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w:gz").close()
    here.service.objects["out/no-model/output/model.tar.gz"] = empty.getvalue()
    for name, (own, _) in TWENTY.items():
        made = here.service.add(name, created=here.clock.now(), story=own)
        made.request = {**made.request, "OutputDataConfig": {"S3OutputPath": "s3://a-bucket/out"}}
        if name == "unsaved":
            place = {"CheckpointConfig": {"S3Uri": "s3://a-bucket/checkpoints"}}
            made.request = {**made.request, **place, "HyperParameters": {"save_steps": "20"}}
    here.clock.sleep(ASKED_S)
    jobs = {name: attached(here.session, name) for name in TWENTY}
    snapshots = {name: job.snapshot() for name, job in jobs.items()}
    states = {name: job.health() for name, job in jobs.items()}
    assert {name: verdict for name, (_, verdict) in TWENTY.items()} == {n: each.verdict for n, each in states.items()}

    why = {name: job.why() for name, job in jobs.items()}
    assert {n: each.verdict for n, each in states.items()} == {n: w.health and w.health.verdict for n, w in why.items()}
    stops = {"stopped": True}  # a person's stop is named as a cause, and needs nobody
    assert {n: each.needs_you or n in stops for n, each in states.items()} == {
        n: w.cause is not None for n, w in why.items()
    }

    assert 1 == _once(here.session, list(jobs.values()), st.Guard(), as_json=True)
    told = {row["name"]: row["verdict"] for row in json.loads(capsys.readouterr().out)}
    assert {name: each.verdict.word for name, each in states.items()} == told
    _once(here.session, list(jobs.values()), st.Guard(), as_json=False)
    text = capsys.readouterr().out
    for name, state in states.items():
        command = next_command(name, snapshots[name].status, state.verdict)
        assert state.needs_you is (f"next      {command}\n" in text), name
        assert not state.needs_you or command == f"sm-trn why {name}"

    ended = [name for name, snapshot in snapshots.items() if snapshot.terminal]
    codes = {name: exit_code([jobs[name]], [snapshots[name]]) for name in ended}
    assert {name: int(states[name].verdict is Verdict.ENDED_BADLY) for name in ended} == codes
    for name in ("failed", "at-max-run"):
        with pytest.raises(st.errors.JobFailed, match=f"{name} (failed|was stopped at max_run)"):
            jobs[name].wait(progress=False)
    notes = {name: " ".join(jobs[name].record().notes) for name in ended}
    assert {"failed", "at-max-run", "completed-nan", "no-model"} == {name for name, note in notes.items() if note}

    numbers = {name: [p.value for p in jobs[name].points() if p.name == "loss"][-1] for name in ("healthy", "sweep-2")}
    assert dict.fromkeys(numbers, True) == {n: f"loss {loss:g}" in states[n].what for n, loss in numbers.items()}
    page = on_the_page(here)["jobs"]
    looks = {name: status_look(snapshots[name], state.verdict).word for name, state in states.items()}
    assert {} == {n: word for n, word in looks.items() if not re.search(rf"{n}\b.{{0,90}}{word}", page, re.DOTALL)}


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


@pytest.mark.parametrize(("suffices", "note"), [(False, "was not stopped: "), (True, "was asked to stop (stall_s)")])
def test_a_guard_that_may_stop_does_it_or_says_why_not(here: World, suffices: bool, note: str) -> None:
    job, notes = begin(here, hanging()), list[str]()
    guard = st.Guard(act="stop", silence_suffices=suffices)
    final = here.session.wait([job], stream=io.StringIO(), notice=notes.append, guard=guard)
    assert 1 == sum(note in each for each in notes)
    assert suffices is (final[0].status_word == "Stopped")
