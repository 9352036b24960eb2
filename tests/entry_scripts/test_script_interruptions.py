"""Interrupted again and again – SIGTERM, SIGKILL, a torn checkpoint, a full disk, in a save, in an evaluation – and the same
bytes at the end; with another number of workers the same steps.

SM_TRN_INTERRUPTIONS sets how often each run is interrupted.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from fork_server import TORCH, Child, server_of
from sm_spot import DONE, INTERRUPTED, USAGE_ERROR, Checkpoints

from launch import QUIET, SCRIPTS, Launch

pytestmark = [pytest.mark.local, pytest.mark.timeout(1800)]
INTERRUPTIONS = int(os.environ.get("SM_TRN_INTERRUPTIONS", "2"))
DEADLINE_S = 300.0
LONGER = 1 + INTERRUPTIONS // 12  # so that each interruption finds some steps still to be done
EVAL_STEPS = 7
STEPS_OF_AN_EPOCH = 225  # of the raw loop: 3,600 texts of the sample, 16 a step
EVALUATING = f" --eval_strategy steps --eval_steps {EVAL_STEPS} --max_eval_samples 16"
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
        " --gradient_accumulation_steps 2 --per_device_train_batch_size 4" + EVALUATING
    ),
    "--output_dir",
)
MASKED = (
    "train_language_model",
    f"--model_type tiny-bert --block_size 32 --max_train_samples 600 --num_train_epochs {3 * LONGER} --logging_steps 1 --save_steps 5"
    + EVALUATING,
    "--output_dir",
)
GLUE = (
    "train_glue",
    (
        f"--model_name_or_path tiny-random --train_file sample --max_train_samples 1600 --num_train_epochs {LONGER} --logging_steps 1"
        " --save_steps 5 --do_eval False --per_device_train_batch_size 8" + EVALUATING
    ),
    "--output_dir",
)
AS_THEY_COME = (GLUE[0], f"{GLUE[1]} --group_by_length False", GLUE[2])
QUESTIONS = (
    "train_question_answering",
    (
        "--model_name_or_path tiny-random --train_file sample --max_train_samples 800 --max_seq_length 128 --doc_stride 32"
        f" --logging_steps 1 --num_train_epochs {LONGER} --save_steps 5 --do_eval False --per_device_train_batch_size 8"
        + EVALUATING
    ),
    "--output_dir",
)

TUNED = (
    "finetune",
    (
        "--model_name_or_path tiny-llama --train_file sample --block_size 32 --max_train_samples 600"
        f" --num_train_epochs {3 * LONGER} --logging_steps 1 --save_steps 5 --per_device_train_batch_size 4 --learning_rate 0.001"
        + EVALUATING
    ),
    "--output_dir",
)
ADDITIONS = (TUNED[0], f"{TUNED[1]} --use_lora True --lora_dropout 0.1", TUNED[2])


class Run:
    """One run, from its start to its end."""

    def __init__(self, script: str, argv: list[str], log: Path, *, file_limit: int = -1) -> None:
        self._name, self._log = script, log
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

    def is_at(self, kind: str, folder: Path) -> bool:
        """In a save: a checkpoint lacks its manifest, the last file of it. In an evaluation: the newest line is of a step that
        one follows, the loop's of each epoch, Trainer's each seventh; its figures are said when it ends.
        """
        if kind == "in a save":
            begun = [*folder.glob(".partial-*"), *checkpoints_in(folder)]
            return any(not (path / "manifest.json").exists() for path in begun)
        step, newest = self.steps_done(), self.said.rstrip().rsplit("\n", 1)[-1]
        return (
            step > 0 and "'loss'" in newest and step % (STEPS_OF_AN_EPOCH if self._name == RAW[0] else EVAL_STEPS) == 0
        )

    @property
    def ended(self) -> bool:
        return "train_runtime" in self.said

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
    known = Checkpoints(folder)
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
CAMPAIGN = pytest.mark.skipif(INTERRUPTIONS < 8, reason="set SM_TRN_INTERRUPTIONS to 8 or more to run it")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(RAW, id="raw loop"),
        pytest.param(CAUSAL, id="causal"),
        pytest.param(MASKED, id="masked", marks=ON_DEMAND),
        pytest.param(GLUE, id="glue", marks=ON_DEMAND),
        pytest.param(AS_THEY_COME, id="glue, as they come", marks=ON_DEMAND),
        pytest.param(QUESTIONS, id="questions", marks=ON_DEMAND),
        pytest.param(TUNED, id="fine-tuning", marks=CAMPAIGN),
        pytest.param(ADDITIONS, id="fine-tuning with additions", marks=CAMPAIGN),
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
    # An evaluation is at the end of an epoch: of the run behind it little may be left.
    kinds = ["in an evaluation", "SIGKILL", "torn", "full disk", "in a save", "SIGTERM"]
    for number in range(1, INTERRUPTIONS + 1):
        kind = kinds[number % len(kinds)]
        before = complete(folder)
        # Spread over the run, and somewhere else in a step each time.
        target = int(0.7 * total * number / (INTERRUPTIONS + 1))
        run = start(number, *checked, file_limit=FULL_DISK_BYTES if kind == "full disk" else -1)
        if kind == "full disk":
            assert USAGE_ERROR == run.end(), run.said[-3000:]
            assert "disk: a file could not be written" in run.said
            assert before == complete(folder)  # what was there is untouched, and nothing half-written counts
            continue
        run.wait_for(lambda run, target=target: run.steps_done() >= target and bool(complete(folder)))  # type: ignore[misc]
        if kind in {"in a save", "in an evaluation"}:
            run.wait_for(lambda run, kind=kind: run.is_at(kind, folder) or run.ended)  # type: ignore[misc]
            run.end(signal.SIGKILL)
            continue
        time.sleep(dice.random() * 0.05)
        sent, answer = (signal.SIGTERM, INTERRUPTED) if kind == "SIGTERM" else (signal.SIGKILL, -signal.SIGKILL)
        ended = run.end(sent)
        assert ended == answer or (ended == DONE and run.steps_done() == total), run.said[-3000:]
        if kind == "torn":
            tear(complete(folder)[-1], dice)  # not one that the kill has already cut off
    last = start(INTERRUPTIONS + 1, *checked)
    assert DONE == last.end(), last.said[-3000:]
    assert weights_of(tmp_path / "straight") == weights_of(tmp_path / "interrupted")
    losses = [dict(re.findall(r"'loss': ([0-9.]+),.*'step': (\d+)", log)) for log in (straight.said, last.said)]
    assert set(losses[1]) <= set(losses[0])


LATE = [
    pytest.param(RAW, f"'step': {224 * LONGER}", id="raw loop, before the last step", marks=ON_DEMAND),
    pytest.param(RAW, "eval_accuracy", id="raw loop, after an evaluation", marks=ON_DEMAND),
    pytest.param(RAW, "train_runtime", id="raw loop, at the final save"),
    pytest.param(CAUSAL, "train_runtime", id="causal, before the final evaluation and save", marks=ON_DEMAND),
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


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
@pytest.mark.parametrize("script", [pytest.param(RAW, id="raw loop", marks=ON_DEMAND), pytest.param(GLUE, id="glue")])
def test_a_stop_that_comes_while_the_libraries_load_is_answered_as_any_other(
    script: tuple[str, str, str], tmp_path: Path
) -> None:
    command = [sys.executable, str(SCRIPTS / f"{script[0]}.py"), *script[1].split(), script[2], str(tmp_path)]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **QUIET}, stdout=log, stderr=log)
    maps = Path(f"/proc/{process.pid}/maps")
    while "libtorch_cpu" not in maps.read_text():
        assert process.poll() is None, (tmp_path / "log").read_text()
    assert "" == (tmp_path / "log").read_text()
    process.send_signal(signal.SIGTERM)
    assert INTERRUPTED == process.wait(DEADLINE_S), (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(one, id=name)
        for name, one in {
            "raw loop": RAW,
            "causal": CAUSAL,
            "masked": MASKED,
            "glue": GLUE,
            "questions": QUESTIONS,
        }.items()
    ],
)
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
@ON_DEMAND
def test_a_run_goes_on_with_another_number_of_workers(
    script: tuple[str, str, str], before: int, after: int, tmp_path: Path
) -> None:
    """From the same checkpoint the same bytes twice, every step up to the last, and nearly the loss of one that never stopped."""
    name, flags, out = script
    words = flags.split()
    place = next((number for number, word in enumerate(words) if word.endswith("batch_size")), None)
    size = 8 if place is None else int(words[place + 1])
    words = words if place is None else words[:place] + words[place + 2 :]
    batch = "--per_device_batch_size" if name == RAW[0] else "--per_device_train_batch_size"
    launch = Launch(tmp_path, f"{name}.py")

    def argv(workers: int, folder: str) -> list[str]:
        return [*words, batch, str(size // workers), "--checkpoint_dir", folder, out, f"model-{folder}"]

    straight = launch.run(*argv(1, "straight"))
    assert DONE == straight.code, straight.err[-3000:]
    stopped = launch.run_until("'step': 20", signal.SIGTERM, *argv(before, "first"), workers=before - 1 and before)
    assert stopped.code, stopped.err[-3000:]
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    ends = [launch.run(*argv(after, folder), workers=after - 1 and after) for folder in ("first", "second")]
    assert [DONE, DONE] == [end.code for end in ends], ends[0].err[-3000:]
    assert weights_of(tmp_path / "model-first") == weights_of(tmp_path / "model-second")
    whole, rest = ({line["step"]: line["loss"] for line in run.having("loss")} for run in (straight, ends[0]))
    begun = re.search(r"resuming after step (\d+)", ends[0].out)
    assert begun
    assert list(rest) == [step for step in whole if step > int(begun[1])]
    last = [mean(list(losses.values())[-10:]) for losses in (whole, rest)]
    assert last[0] == pytest.approx(last[1], rel=0.15)  # dropout is drawn by each worker for its own texts


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
