"""What ends a run before its time, and what it then says: in an evaluation, with transformers' own flag, on a host without
checkpoints, at the end of the job's time."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("datasets")

import sm_spot
from sm_spot import DONE, INTERRUPTED, USAGE_ERROR, Checkpoints

from launch import Launch
from test_spot_in_strangers import Group, exchange

pytestmark = [pytest.mark.local, pytest.mark.timeout(900)]
EVALUATING = ("--eval_strategy", "steps", "--eval_steps", "10", "--per_device_eval_batch_size", "1")


def complete(folder: Path) -> list[int]:
    known = Checkpoints(folder / "host0" / "checkpoints")
    return [step for step in known.steps() if not known.fault(step)]


def step_of(said: str) -> int:
    stopped = re.search(r"interrupted: .*after step (\d+) of", said)
    assert stopped, said[-3000:]
    return int(stopped[1])


def test_a_stop_in_a_long_evaluation_is_saved_and_answered_before_the_evaluation_ends(tmp_path: Path) -> None:
    run = Group(tmp_path, "trainer_loop", *EVALUATING, "--save_steps", "1000")
    run.wait_for("'step': 10}")
    assert [INTERRUPTED] == run.end(signal.SIGTERM), run.said[-3000:]
    assert "eval_loss" not in run.said
    assert "interrupted: in an evaluation after step 10 of" in run.said
    assert [10] == complete(tmp_path)


def test_the_loop_of_our_own_hears_a_stop_in_its_evaluation_too(tmp_path: Path) -> None:
    rows = "".join(f"{word},{int(word == 'good')}\n" for word in ("good", "bad") * 16)
    (tmp_path / "small.csv").write_text("text,label\n" + rows)
    flags = "--model tiny-random --train small.csv --validation sample --per_device_batch_size 1 --epochs 2 --logging_steps 1"
    argv = [*flags.split(), "--checkpoint_dir", "checkpoints", "--model_dir", "model"]
    run = Launch(tmp_path).run_until("'step': 32,", signal.SIGTERM, *argv)
    assert INTERRUPTED == run.code, run.err[-3000:]
    assert "eval_loss" not in run.out
    assert "interrupted: after step 32 of 64; saved in checkpoints" in run.err


def test_where_the_best_model_is_wanted_a_step_that_was_not_judged_is_not_saved(tmp_path: Path) -> None:
    best = ("--load_best_model_at_end", "True", "--save_steps", "10")
    run = Group(tmp_path, "trainer_loop", *EVALUATING, *best)
    run.wait_for("'step': 20}")
    assert [INTERRUPTED] == run.end(signal.SIGTERM), run.said[-3000:]
    assert [10] == complete(tmp_path)


def test_transformers_own_flag_for_it_does_not_end_as_a_success(tmp_path: Path) -> None:
    run = Group(tmp_path, "trainer_loop", "--enable_jit_checkpoint", "True", "--save_steps", "1000")
    run.wait_for("'loss'", 3)
    assert [INTERRUPTED] == run.end(signal.SIGTERM), run.said[-3000:]
    assert [step_of(run.said)] == complete(tmp_path)


def test_the_callback_alone_in_an_ordinary_script_stops_it_too(tmp_path: Path) -> None:
    run = Group(tmp_path, "callback_alone")
    run.wait_for("'loss'", 12)
    assert [INTERRUPTED] == run.end(signal.SIGTERM), run.said[-3000:]
    again = Group(tmp_path, "callback_alone")
    assert [DONE] == again.end(), again.said[-3000:]
    assert f"resuming after step {step_of(run.said)}" in again.said


@pytest.mark.skipif(
    "SM_TRN_INTERRUPTIONS" not in os.environ, reason="SM_TRN_INTERRUPTIONS, as .ci/run sets it: four workers"
)
def test_two_workers_of_which_one_has_no_checkpoint_begin_together(tmp_path: Path) -> None:
    run = Group(tmp_path, "plain_loop", hosts=2)
    assert [DONE, DONE] == run.end(), run.said[-3000:]
    exchange(tmp_path, 2)
    for path in (tmp_path / "host1" / "checkpoints").glob("checkpoint-*"):
        path.rename(tmp_path / path.name)
    again = Group(tmp_path, "plain_loop", hosts=2)
    assert [DONE, DONE] == again.end(), again.said[-3000:]
    assert "from the start" in again.said


def test_hosts_that_share_a_folder_put_a_torn_checkpoint_aside_at_once(tmp_path: Path) -> None:
    """On a cluster: both have seen it, and one of them has moved it already."""

    class Late(Checkpoints):
        def steps(self) -> list[int]:
            return [20]

    (tmp_path / "checkpoint-20").mkdir()
    Checkpoints(tmp_path).put_aside(newer_than=0)
    Late(tmp_path).put_aside(newer_than=0)
    assert not (tmp_path / "checkpoint-20").exists()


def test_an_exception_is_left_where_torchrun_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(left))

    def fails() -> None:
        raise ValueError("the third row has no label")

    with pytest.raises(ValueError, match="the third row"):
        sm_spot.exit_code_of(fails)
    message = json.loads(left.read_text())["message"]
    assert "ValueError: the third row has no label" == message["message"]
    assert 'raise ValueError("the third row has no label")' in message["extraInfo"]["py_callstack"]


def test_the_jobs_time_is_a_stop_that_comes_before_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sm_spot.MAX_RUN_VARIABLE, str(sm_spot.MARGIN_SECONDS + 0.001))
    run = Group(tmp_path, "plain_loop")
    assert [INTERRUPTED] == run.end(), run.said[-3000:]
    assert [1] == complete(tmp_path)


def test_a_stop_before_training_ends_a_program_that_has_nothing_to_save() -> None:
    code = "import os, signal, sm_spot\nos.kill(os.getpid(), signal.SIGTERM)"
    environment = {**os.environ, "PYTHONPATH": str(Path(sm_spot.__file__).parent)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (INTERRUPTED, "interrupted: before training\n") == (run.returncode, run.stderr)


@pytest.mark.skipif("SM_TRN_INTERRUPTIONS" not in os.environ, reason="SM_TRN_INTERRUPTIONS, as .ci/run sets it: slow")
@pytest.mark.parametrize(("accumulation", "stopped"), [(1, 4), (4, 1)])
def test_a_stop_between_long_steps_is_saved_before_torchrun_kills(
    accumulation: int, stopped: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does so 30 s after the signal: with steps of 8 s behind the second, with micro-batches of 8 s within a step."""
    monkeypatch.setenv("STEP_SECONDS", "8")
    monkeypatch.setenv("FIRST_SLOW", "2")
    run = Group(tmp_path, "trainer_loop", "--gradient_accumulation_steps", str(accumulation), workers=2)
    run.wait_for("'loss'", 3 if accumulation == 1 else 1)
    run.end(signal.SIGTERM)
    assert stopped == step_of(run.said)
    assert complete(tmp_path)[-1] == stopped


def test_what_cannot_resume_exactly_says_so_or_is_refused(tmp_path: Path) -> None:
    flags = ("--ignore_data_skip", "True", "--max_steps", "1")
    run = Group(tmp_path, "trainer_loop", *flags)
    assert [DONE] == run.end(), run.said[-3000:]
    assert "resumes, but not exactly: batches are not skipped (ignore_data_skip)" in run.said
    refused = Group(tmp_path, "trainer_loop", *flags, options=["--exact"])
    assert [USAGE_ERROR] == refused.end(), refused.said[-3000:]
    assert "error: --exact: this run resumes, but not exactly" in refused.said


def test_a_script_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, sm_spot.__file__, "run", "absent.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert USAGE_ERROR == run.returncode
    assert "error: sm_spot.py: got 'absent.py', wanted a script: python sm_spot.py run train.py …\n" == run.stderr


def test_an_accelerate_loop_goes_on_from_what_it_has_saved_itself(tmp_path: Path) -> None:
    run = Group(tmp_path, "no_trainer")
    run.wait_for("'loss'", 12)
    assert [INTERRUPTED] == run.end(signal.SIGTERM), run.said[-3000:]
    again = Group(tmp_path, "no_trainer")
    assert [DONE] == again.end(), again.said[-3000:]
    assert "resumes, but not exactly" in again.said
    assert "resuming from checkpoints/step_" in again.said
