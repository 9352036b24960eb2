"""What a device says of itself in the step lines; runs that only collect graphs; the monitor beside them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import kit.trainer  # noqa: F401 - with it transformers loads its parts before torch_xla is only a recording
import train_language_model
import train_text_classification
from kit.device import Meter, NeuronMonitor, TorchRuntime, XlaRuntime, set_environment, utilisation
from recording_torch_xla import RecordingTorchXla

from launch import Finished, run_here

# The shape of a report is that of AWS's guide to neuron-monitor, shortened.
REPORT = {
    "neuron_runtime_data": [
        {
            "pid": 7,
            "report": {
                "neuroncore_counters": {
                    "neuroncores_in_use": {"0": {"neuroncore_utilization": 80.0}, "1": {"neuroncore_utilization": 40.0}}
                },
                "memory_used": {"neuron_runtime_used_bytes": {"host": 1, "neuron_device": 2_500_000_000}},
            },
        }
    ],
    "system_data": {},
}
TINY = ["--model", "tiny-random", "--train", "sample", "--epochs", "1", "--per_device_batch_size", "64"]


# --- padding and waiting ---


def meter_of(runtime: Any) -> Meter:
    meter = Meter(runtime, 4)
    meter.start()
    return meter


def test_what_is_made_ahead_is_counted_when_it_is_used() -> None:
    meter = meter_of(TorchRuntime("cpu", {}))
    for tokens in (1, 2, 4):
        meter.batch(tokens, 8)
    meter.step()
    assert 3 / 16 == pytest.approx(meter.lap(micro_batches=2)["padding_fill"], abs=1e-4)
    meter.step()
    assert 0.5 == meter.lap(micro_batches=2)["padding_fill"]
    assert "padding_fill" not in meter.lap()


def test_waiting_is_a_share_of_the_time_and_ends_with_the_lap() -> None:
    meter = meter_of(TorchRuntime("cpu", {}))
    meter.waited(1e9)
    assert 1.0 == meter.lap()["data_wait"]
    assert 0.0 == meter.lap()["data_wait"]


def test_where_nothing_is_compiled_batches_are_nearly_full(tmp_path: Path) -> None:
    run = run_here(train_text_classification.main, *TINY, "--logging_steps", "10", "--model_dir", str(tmp_path / "m"))
    (first,) = run.having("first_step_seconds")
    filled = [line["padding_fill"] for line in run.having("loss")]
    assert "shapes" not in first
    assert sum(filled) / len(filled) > 0.6


@pytest.mark.parametrize(("shapes", "fill"), [("1", 0.6), ("8", 0.75)])
def test_more_lengths_less_padding(tmp_path: Path, shapes: str, fill: float) -> None:
    flags = [*TINY, "--shapes", shapes, "--logging_steps", "10", "--model_dir", str(tmp_path / "m")]
    run = run_here(train_text_classification.main, *flags)
    (first,) = run.having("first_step_seconds")
    filled = [line["padding_fill"] for line in run.having("loss")]
    if shapes == "1":
        assert 1 == first["shapes"]
        assert max(filled) < fill
    else:
        assert 1 < first["shapes"] <= 8
        assert sum(filled) / len(filled) > fill


# --- what the device says ---


def test_a_cpu_says_nothing() -> None:
    assert {} == meter_of(TorchRuntime("cpu", {})).device()


def test_compilations_while_the_meter_stands_are_not_counted() -> None:
    with RecordingTorchXla().installed() as xla:
        meter = meter_of(XlaRuntime({}))
        meter.stop()
        xla.calls.append("cut")  # an evaluation's graph
        meter.start()
        assert (0, 0.0) == meter.compiled()
    with RecordingTorchXla().installed() as xla:
        meter = meter_of(XlaRuntime({}))
        xla.calls.append("cut")
        meter.stop()
        assert {"compiles": 1, "compile_seconds": 2.5, "accelerator_memory_gb": 3.0} == meter.device()


@pytest.mark.parametrize("module", [train_text_classification, train_language_model])
def test_step_lines_on_xla_say_compilations_and_memory(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if module is train_text_classification:
        with RecordingTorchXla().installed():
            monkeypatch.setenv("SM_TRN_RUNTIME", "xla")
            run = run_here(module.main, *TINY, "--model_dir", str(tmp_path / "m"))
        line = run.having("loss")[-1]
        assert (1, 2.5, 3.0) == (line["compiles"], line["compile_seconds"], line["accelerator_memory_gb"])
    else:  # Trainer drives a real torch_xla by itself; here its lines are read on the CPU
        flags = "--model_type tiny-gpt2 --block_size 32 --max_train_samples 64 --max_steps 4 --logging_steps 2"
        run = run_here(module.main, *flags.split(), "--save_strategy", "no", "--output_dir", str(tmp_path / "m"))
        line = run.having("loss")[-1]
        assert 1.0 == line["padding_fill"]
        assert "compiles" not in line
    assert 0 == run.code, run.err
    assert 0 <= line["data_wait"] <= 1


# --- runs that only collect graphs ---


def graphs_only(module: Any, monkeypatch: pytest.MonkeyPatch, *flags: str) -> Finished:
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "1")
    return run_here(module.main, *flags)


def test_a_loop_that_only_collects_graphs_makes_few_steps_and_claims_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = ["--checkpoint_dir", str(tmp_path / "c"), "--model_dir", str(tmp_path / "m"), "--save_steps", "1"]
    with RecordingTorchXla().installed() as xla:
        monkeypatch.setenv("SM_TRN_RUNTIME", "xla")
        run = graphs_only(train_text_classification, monkeypatch, *TINY, *folders)
    assert 0 == run.code, run.err
    assert 5 == xla.calls.count("cut")
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


# --- neuron-monitor ---


def test_utilisation_is_the_mean_over_cores_and_memory_the_sum_over_processes() -> None:
    assert {"neuroncore_utilization": 60.0, "neuron_memory_gb": 2.5} == utilisation(REPORT)
    assert {} == utilisation({"neuron_runtime_data": None})


def test_without_the_program_the_monitor_is_silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {} == NeuronMonitor().values


def install_monitor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An executable of that name that writes half a line, then reports until its reader is gone."""
    program, pid = folder / "neuron-monitor", folder / "pid"
    program.write_text(
        f"#!/bin/sh\necho $$ > {pid}\necho '{{\"neuron_run'\nwhile echo '{json.dumps(REPORT)}'; do sleep 0.05; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return pid


def until(seen: Any) -> None:
    deadline = time.monotonic() + 20
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_monitors_newest_report_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = install_monitor(tmp_path, monkeypatch)
    monitor = NeuronMonitor()
    until(lambda: "neuroncore_utilization" in monitor.values)
    assert {"neuroncore_utilization": 60.0, "neuron_memory_gb": 2.5} == monitor.values
    monitor.process.kill()
    monitor.process.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# --- environment ---


def test_a_cache_of_compilations_that_the_job_names_is_kept() -> None:
    for given in ({"NEURON_COMPILE_CACHE_URL": "s3://b/c"}, {"NEURON_CC_FLAGS": "--cache_dir=/fsx/c --lnc=1"}, {}):
        environ = {**given, "SM_TRN_RUNTIME": "xla"}
        set_environment(environ)
        assert given.items() <= environ.items()
        cache = environ.get("NEURON_COMPILE_CACHE_URL")
        assert cache == (given.get("NEURON_COMPILE_CACHE_URL") or (None if given else "/var/tmp/neuron-compile-cache"))


def test_a_failed_compilation_is_tried_again_and_machines_talk_through_efa_only_where_there_are_several() -> None:
    several = {"SM_TRN_RUNTIME": "xla", "WORLD_SIZE": "64", "LOCAL_WORLD_SIZE": "32"}
    one = {"SM_TRN_RUNTIME": "xla", "WORLD_SIZE": "32", "LOCAL_WORLD_SIZE": "32"}
    for environ in (several, one):
        set_environment(environ)
        assert "--retry_failed_compilation" in environ["NEURON_CC_FLAGS"]
        assert "1" == environ["NEURON_RT_STOCHASTIC_ROUNDING_EN"]
    assert "efa" == several["FI_PROVIDER"]
    assert "FI_PROVIDER" not in one
