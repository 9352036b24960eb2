"""What a device says of itself in the step lines; runs that only collect graphs."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import train_language_model
import train_text_classification
from kit.common import Meter, padding, set_environment

from launch import Finished, run_here

TINY = ["--model", "tiny-random", "--train", "sample", "--epochs", "1", "--per_device_batch_size", "64"]


# --- padding and waiting ---


@pytest.mark.parametrize(
    ("flags", "padded"),
    [
        ({"bf16": False}, {"pad_to_multiple_of": None}),
        ({"bf16": True}, {"pad_to_multiple_of": 8}),
        ({"fp16": True}, {"pad_to_multiple_of": 8}),
    ],
)
def test_batches_are_padded_to_eights_where_half_precision_wants_them(
    flags: dict[str, bool], padded: dict[str, int]
) -> None:
    assert padded == padding({}, SimpleNamespace(**{"bf16": False, **flags}), None)


def test_waiting_is_a_share_of_the_time_and_ends_with_the_lap() -> None:
    meter = Meter(4)
    meter.begin_step()
    meter.end_step()
    assert 0.0 == meter.lap()["data_wait"]
    deadline = time.perf_counter() + 0.02
    while time.perf_counter() < deadline:
        pass
    meter.begin_step()
    meter.end_step()
    assert meter.lap()["data_wait"] > 0.9
    assert 0.0 == meter.lap()["data_wait"]


def test_what_happens_while_the_meter_stands_is_in_no_rate() -> None:
    meter = Meter(4)
    meter.begin_step()
    meter.end_step()
    meter.pause()
    deadline = time.perf_counter() + 0.02
    while time.perf_counter() < deadline:
        pass
    meter.begin_step()
    meter.end_step()
    assert 0.0 == meter.lap()["data_wait"]
    assert meter.summary()["train_runtime"] < 0.02


def test_step_lines_say_how_many_tokens_are_computed_and_how_long_one_waited(tmp_path: Path) -> None:
    flags = "--model_type tiny-gpt2 --block_size 32 --max_train_samples 64 --max_steps 4 --logging_steps 2"
    run = run_here(
        train_language_model.main, *flags.split(), "--save_strategy", "no", "--output_dir", str(tmp_path / "m")
    )
    assert 0 == run.code, run.err
    line = run.having("loss")[-1]
    assert line["tokens_per_second"] == pytest.approx(32 * line["samples_per_second"], rel=0.02)
    assert 0 <= line["data_wait"] <= 1
    assert "compiles" not in line  # a CPU says nothing


# --- runs that only collect graphs ---


def graphs_only(module: Any, monkeypatch: pytest.MonkeyPatch, *flags: str) -> Finished:
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "1")
    return run_here(module.main, *flags)


def test_a_loop_that_only_collects_graphs_makes_few_steps_and_claims_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = ["--checkpoint_dir", str(tmp_path / "c"), "--model_dir", str(tmp_path / "m"), "--save_steps", "1"]
    run = graphs_only(train_text_classification, monkeypatch, *TINY, *folders)
    assert 0 == run.code, run.err
    assert ", 5 steps\n" in run.out
    assert [] == run.metrics
    assert [] == list(tmp_path.iterdir())


def test_a_trainer_that_only_collects_graphs_makes_few_steps_and_claims_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = (
        "--model_type tiny-gpt2 --block_size 32 --num_train_epochs 3 --logging_steps 1 --save_steps 1 --do_eval True"
    )
    run = graphs_only(train_language_model, monkeypatch, *flags.split(), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    assert [] == run.metrics
    assert "5 steps, to collect graphs only" in run.out
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]


# --- environment ---


def test_the_compiler_is_told_what_it_compiles_and_what_the_job_names_is_kept() -> None:
    for given in ({"NEURON_CC_FLAGS": "--cache_dir=/fsx/c --lnc=1"}, {}):
        environ = {**given, "SM_TRN_RUNTIME": "xla"}
        set_environment(environ)
        assert given.items() <= environ.items()
        assert "1" == environ["NEURON_RT_STOCHASTIC_ROUNDING_EN"]
    assert "--retry_failed_compilation" in environ["NEURON_CC_FLAGS"]
