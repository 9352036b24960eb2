"""A spot rehearsal tells a script that survives interruptions from one that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn
from hypothesis import given
from hypothesis import strategies as some
from jobs import job_of

import sm_trn as st
from sm_trn.emulator.rehearsal import doubt_of, redone_steps

COUNTER = """
import json, os, pathlib, random, sys, time
folder = pathlib.Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"), "checkpoints")
kept = folder / "state.json"
step, total = json.loads(kept.read_text()) if LOADS and kept.exists() else (0, 0.0)
while step < 40:
    step += 1
    total += random.Random(step).random() if EXACT else random.random()
    print({"loss": 1.0 / step, UNIT: step}, flush=True)
    if SAVES:
        kept.with_suffix(".new").write_text(json.dumps([step, total]))
        kept.with_suffix(".new").replace(kept)
    time.sleep(0.05)
print({"eval_total": total}, flush=True)
pathlib.Path(os.environ["SM_MODEL_DIR"], "model.pt").write_text(repr(total))
"""


def job(folder: Path, *, exact: bool = True, loads: bool = True, saves: bool = True, unit: str = "step") -> st.JobSpec:
    switches = f"EXACT, LOADS, SAVES, UNIT = {exact}, {loads}, {saves}, {unit!r}\n"
    return job_of(folder, switches + COUNTER, name="counter")


@pytest.mark.local
@pytest.mark.parametrize("unit", ["step", "epoch"])  # Trainer logs epochs only
def test_a_script_that_resumes_exactly_is_told_so(emulator: Any, tmp_path: Path, unit: str) -> None:
    told: list[str] = []
    found = st.rehearse(job(tmp_path, unit=unit), interruptions=2, notice=False, state=emulator.state, tell=told.append)
    assert [f"1/2  {found.plain} runs, left alone", f"2/2  {found.interrupted} runs; to be interrupted after"] == [
        told[0],
        told[1].rpartition(" after")[0] + " after",
    ]
    assert 2 == sum(f"interrupted after {unit}" in line for line in told[2:])
    steps = 40 if unit == "step" else None
    assert (True, 2, steps, "") == (found.identical, found.interruptions, found.steps, found.doubt)
    assert (found.redone or 0) <= 4
    alone, cut = found.evaluations["eval_total"]
    assert alone == cut
    assert "The weights are bitwise identical (model.pt)." in str(found)
    assert "EMULATED" in str(found)


@pytest.mark.local
@pytest.mark.parametrize(
    ("script", "doubt"),
    [
        ({"exact": False, "loads": False}, "each start began again at 1"),
        ({"loads": False}, "each start began again at 1"),
        ({"saves": False}, "no checkpoint was written, every step was redone"),
    ],
    ids=["random", "never loads", "never saves"],
)
def test_a_script_that_starts_over_is_told_so_on_the_command_line(
    emulator: Any, tmp_path: Path, script: dict[str, Any], doubt: str
) -> None:
    """The weights of a deterministic script are the same however often it starts over."""
    (tmp_path / "job.toml").write_text(st.dump_job(job(tmp_path, **script), "toml"))
    words = ["--interruptions", "1", "--json", "--state", str(emulator.state)]
    shown = sm_trn("rehearse", str(tmp_path / "job.toml"), *words)
    body = json.loads(shown.stdout)
    same = script.get("exact", True)
    assert (1, False, same, 1) == (shown.returncode, body["resumed"], body["identical"], body["interruptions"])
    assert doubt in body["doubt"]
    assert {"model.pt": same} == body["files"]
    assert body["redone_at_most"] >= 5
    assert same is (len(set(body["evaluations"]["eval_total"])) == 1)


@pytest.mark.local
def test_a_job_that_fails_is_no_rehearsal(emulator: Any, tmp_path: Path) -> None:
    broken = job(tmp_path)
    (tmp_path / "train.py").write_text("raise SystemExit(3)")
    with pytest.raises(st.errors.JobFailed, match=r"(?s)counter-plain-.* ended as Failed: .*Next: sm-trn why"):
        st.rehearse(broken, state=emulator.state)


def test_nothing_to_interrupt_is_refused(emulator: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="interruptions: got 0"):
        st.rehearse(job(tmp_path), interruptions=0, state=emulator.state)


@pytest.mark.parametrize(
    ("attempts", "redone"),
    [
        ([[1, 2, 3]], 0),
        ([[1, 2, 3, 4], [3, 4, 5]], 2),
        ([[1, 2], [3, 4]], 0),
        ([[10, 20, 30], [20, 30]], 29),
        ([[1, 2], [], [1, 2]], 2),
    ],
)
def test_steps_done_again_are_counted_with_what_a_log_leaves_open(attempts: list[list[int]], redone: int) -> None:
    assert redone == redone_steps(attempts)


@pytest.mark.parametrize(
    ("starts", "kept", "kept_later", "doubt"),
    [
        ([[1, 2, 3], [3, 4]], True, True, ""),
        ([[1], [1, 2, 3], [], [3, 4]], True, True, ""),
        ([[0.5, 1.0], [1.5]], True, True, ""),
        ([[1, 2, 3], [1, 2, 3]], True, True, "each start began again at 1"),
        ([[1, 2, 3]], False, True, "ended before it was interrupted"),
        ([[1, 2, 3], [4, 5]], False, False, "no checkpoint was written"),
        ([[1, 2], [1, 2, 3]], False, True, "first checkpoint came after the last interruption"),
        ([[], []], True, True, "names neither steps nor epochs"),
    ],
)
def test_a_job_resumed_only_where_its_steps_went_on_from_a_checkpoint(
    starts: list[list[float]], kept: bool, kept_later: bool, doubt: str
) -> None:
    found = doubt_of(starts, kept=kept, kept_later=kept_later)
    assert doubt in found
    assert bool(doubt) is bool(found)


def test_a_log_without_steps_says_nothing() -> None:
    assert redone_steps([[], []]) is None


@given(some.integers(5, 60), some.lists(some.tuples(some.integers(1, 60), some.integers(0, 60)), max_size=5))
def test_every_step_that_was_done_again_counts(total: int, cuts: list[tuple[int, int]]) -> None:
    """Against the truth: a run that logs each step, is cut after some step and goes on after an earlier one."""
    attempts, at = [], 0
    for forward, kept in cuts:
        end = min(total, at + forward)
        attempts.append(list(range(at + 1, end + 1)))
        at = max(at, min(kept, end))
    attempts.append(list(range(at + 1, total + 1)))
    done = sum(len(steps) for steps in attempts)
    assert done - total == redone_steps(attempts)
