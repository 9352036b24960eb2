"""Interrupted again and again – SIGTERM, SIGKILL, a torn newest checkpoint, a full disk – and the same bytes at the end.

SM_TRN_INTERRUPTIONS sets how often each run is interrupted.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from fork_server import TORCH, Child, server_of
from kit.spot import DONE, INTERRUPTED, USAGE_ERROR, Checkpoints

from launch import QUIET, SCRIPTS

pytestmark = [pytest.mark.local, pytest.mark.timeout(1800)]
INTERRUPTIONS = int(os.environ.get("SM_TRN_INTERRUPTIONS", "4"))
DEADLINE_S = 300.0
LONGER = 1 + INTERRUPTIONS // 12  # so that each interruption finds some steps still to be done
FULL_DISK_BYTES = 40_000  # a checkpoint's largest file is some ten times that

RAW = (
    "train_text_classification",
    f"--model tiny-random --train sample --per_device_batch_size 16 --epochs {LONGER} --logging_steps 1 --save_steps 5",
    "--model_dir",
)
CAUSAL = (
    "train_language_model",
    (
        f"--model_type tiny-gpt2 --block_size 32 --max_train_samples 600 --num_train_epochs {2 * LONGER} --logging_steps 1 --save_steps 5"
        " --gradient_accumulation_steps 2 --per_device_train_batch_size 4"
    ),
    "--output_dir",
)
MASKED = (
    "train_language_model",
    f"--model_type tiny-bert --block_size 32 --max_train_samples 600 --num_train_epochs {3 * LONGER} --logging_steps 1 --save_steps 5",
    "--output_dir",
)
GLUE = (
    "train_glue",
    (
        f"--model_name_or_path tiny-random --train_file sample --max_train_samples 1600 --num_train_epochs {LONGER} --logging_steps 1"
        " --save_steps 5 --do_eval False --per_device_train_batch_size 8"
    ),
    "--output_dir",
)
AS_THEY_COME = (GLUE[0], f"{GLUE[1]} --group_by_length False", GLUE[2])
QUESTIONS = (
    "train_question_answering",
    (
        "--model_name_or_path tiny-random --train_file sample --max_train_samples 800 --max_seq_length 128 --doc_stride 32"
        f" --logging_steps 1 --num_train_epochs {LONGER} --save_steps 5 --do_eval False --per_device_train_batch_size 8"
    ),
    "--output_dir",
)


class Run:
    """One run, from its start to its end."""

    def __init__(self, script: str, argv: list[str], log: Path, *, file_limit: int = -1) -> None:
        self._log = log
        arguments = [str(SCRIPTS / f"{script}.py"), *argv]
        environment = {**os.environ, **QUIET}
        with log.open("w") as file:
            streams = (0, file.fileno(), file.fileno())
            self._child = Child(
                server_of(*TORCH),
                arguments,
                environment=environment,
                folder=str(log.parent),
                streams=streams,
                file_limit=file_limit,
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    def steps_done(self) -> int:
        return max([int(step) for step in re.findall(r"'loss'.*'step': (\d+)", self.said)] or [0])

    def wait_for(self, arrived: Callable[[Run], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not arrived(self):
            assert time.monotonic() < deadline, self.said[-2000:]
            time.sleep(0.005)

    def end(self, number: signal.Signals | None = None) -> int:
        """Its exit code, negative where a signal ended it."""
        if number is not None:
            os.kill(self._child.pid, number)
        return self._child.wait()


def weights_of(folder: Path) -> str:
    (path,) = [*folder.glob("model.safetensors"), *folder.glob("pytorch_model.bin")]
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checkpoints_in(folder: Path) -> list[Path]:
    names = [path for path in folder.glob("*") if re.fullmatch(r"checkpoint-\d+", path.name)]
    return sorted(names, key=lambda path: int(path.name.rsplit("-", 1)[1]))


def complete(folder: Path) -> list[Path]:
    known = Checkpoints(folder, {}, print)
    return [path for path in checkpoints_in(folder) if not known.fault(int(path.name.rsplit("-", 1)[1]))]


def tear(checkpoint: Path, dice: random.Random) -> None:
    """As an upload that was cut off leaves it: a file short, another, or missing."""
    victim = dice.choice(sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.stat().st_size > 0))
    content = victim.read_bytes()
    damage = dice.choice(["cut", "flip", "empty", "gone"])
    if damage == "gone":
        victim.unlink()
    elif damage == "empty":
        victim.write_bytes(b"")
    elif damage == "cut":
        victim.write_bytes(content[: len(content) // 2])
    else:
        victim.write_bytes(bytes([content[0] ^ 1]) + content[1:])


ON_DEMAND = pytest.mark.skipif("SM_TRN_INTERRUPTIONS" not in os.environ, reason="set SM_TRN_INTERRUPTIONS to run it")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(RAW, id="raw loop"),
        pytest.param(CAUSAL, id="causal"),
        pytest.param(MASKED, id="masked", marks=ON_DEMAND),
        pytest.param(GLUE, id="glue", marks=ON_DEMAND),
        pytest.param(AS_THEY_COME, id="glue, as they come", marks=ON_DEMAND),
        pytest.param(QUESTIONS, id="questions", marks=ON_DEMAND),
    ],
)
def test_however_often_interrupted_the_last_bytes_are_the_same(script: tuple[str, str, str], tmp_path: Path) -> None:
    name, flags, out = script
    dice = random.Random(f"{name} {flags}")

    def start(number: int, *more: str, file_limit: int = -1) -> Run:
        return Run(name, [*flags.split(), *more], tmp_path / f"{number}.log", file_limit=file_limit)

    straight = start(0, out, "straight")
    assert DONE == straight.end(), straight.said[-3000:]
    total = straight.steps_done()
    checked = ("--checkpoint_dir", "checkpoints", out, "interrupted")
    folder = tmp_path / "checkpoints"
    kinds = ["SIGTERM", "SIGKILL", "torn", "full disk"]
    for number in range(1, INTERRUPTIONS + 1):
        kind = kinds[number % len(kinds)]
        before = complete(folder)
        # Spread over the run, and somewhere else in a step each time.
        target = int(0.7 * total * number / (INTERRUPTIONS + 1))
        run = start(number, *checked, file_limit=FULL_DISK_BYTES if kind == "full disk" else -1)
        if kind == "full disk":
            if name == RAW[0]:  # the loop goes on; Trainer's ends, and says what to do
                run.wait_for(lambda run: "is not saved" in run.said)
                assert -signal.SIGKILL == run.end(signal.SIGKILL)
            else:
                assert USAGE_ERROR == run.end(), run.said[-3000:]
                assert "not saved, the disk refused the checkpoint" in run.said
            assert before == complete(folder)  # what was there is untouched, and nothing half-written counts
            continue
        run.wait_for(lambda run, target=target: run.steps_done() >= target and bool(complete(folder)))  # type: ignore[misc]
        time.sleep(dice.random() * 0.05)
        if kind == "SIGTERM":
            assert INTERRUPTED == run.end(signal.SIGTERM), run.said[-3000:]
            continue
        assert -signal.SIGKILL == run.end(signal.SIGKILL), run.said[-3000:]
        if kind == "torn":
            tear(complete(folder)[-1], dice)  # not one that the kill has already cut off
    last = start(INTERRUPTIONS + 1, *checked)
    assert DONE == last.end(), last.said[-3000:]
    assert weights_of(tmp_path / "straight") == weights_of(tmp_path / "interrupted")
    losses = [dict(re.findall(r"'loss': ([0-9.]+),.*'step': (\d+)", log)) for log in (straight.said, last.said)]
    assert set(losses[1]) <= set(losses[0])


LATE = [
    pytest.param(RAW, f"'step': {224 * LONGER}", id="raw loop, before the last step"),
    pytest.param(RAW, "eval_accuracy", id="raw loop, after an evaluation"),
    pytest.param(RAW, "train_runtime", id="raw loop, at the final save"),
    pytest.param(CAUSAL, "train_runtime", id="causal, before the final evaluation and save"),
    pytest.param(GLUE, "train_runtime", id="glue, at the final save", marks=ON_DEMAND),
    pytest.param(QUESTIONS, "train_runtime", id="questions, at the final save", marks=ON_DEMAND),
]


@pytest.mark.parametrize(("script", "moment"), LATE)
def test_killed_late_the_last_bytes_are_the_same(script: tuple[str, str, str], moment: str, tmp_path: Path) -> None:
    """At the last step, in an evaluation and while the model is being saved, where the checkpoint is of the last step."""
    name, flags, out = script
    flags = flags.replace("--save_steps 5", "--save_steps 40") + (" --do_eval True" if script is CAUSAL else "")

    def start(number: int, *more: str) -> Run:
        return Run(name, [*flags.split(), *more], tmp_path / f"{number}.log")

    straight = start(0, out, "straight")
    assert DONE == straight.end(), straight.said[-3000:]
    checked = ("--checkpoint_dir", "checkpoints", out, "killed")
    killed = start(1, *checked)
    killed.wait_for(lambda run: moment in run.said)
    killed.end(signal.SIGKILL)  # should it have ended by itself, the next run begins at the last step as well
    last = start(2, *checked)
    assert DONE == last.end(), last.said[-3000:]
    assert weights_of(tmp_path / "straight") == weights_of(tmp_path / "killed")


def test_a_full_disk_at_the_last_moment_is_said_and_the_run_still_ends_as_interrupted(
    tmp_path: Path,
) -> None:
    name, flags, out = CAUSAL
    argv = [
        *flags.replace("--save_steps 5", "--save_steps 1000").split(),
        "--checkpoint_dir",
        "checkpoints",
        out,
        "model",
    ]
    run = Run(name, argv, tmp_path / "log", file_limit=FULL_DISK_BYTES)
    run.wait_for(lambda run: run.steps_done() >= 7)
    assert INTERRUPTED == run.end(signal.SIGTERM)
    assert re.search(r"interrupted: after step \d+: not saved, the disk refused", run.said)
    assert [] == complete(tmp_path / "checkpoints")
