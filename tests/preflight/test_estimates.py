"""What the estimate says in `check`: warnings alone, with the number that would do."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

import sm_trn as st
from sm_trn.forecast.configure import configure
from sm_trn.forecast.estimate import billable, step_interval
from sm_trn.forecast.facts import facts_of
from sm_trn.forecast.memory import largest_batch

JOB = st.JobSpec(
    name="amazon",
    script=st.Script("train.py", source_dir="s3://a-bucket/source.tar.gz"),
    framework=st.PyTorch("1.13.1", python="py39"),
    compute=st.Compute("ml.p4d.24xlarge"),
    distribution=st.TorchDistributed(),
    hyperparameters={
        "model_name": "bert-base-uncased",
        "per_device_train_batch_size": 32,
        "max_seq_length": 128,
        "num_train_epochs": 2,
        "fp16": True,
        "dataset_name": "amazon_polarity",
    },
)


def warned(job: st.JobSpec) -> dict[str, st.specs.Problem]:
    return {each.id: each for each in st.check(job) if each.id.startswith("EST")}


def with_batch(batch: int) -> st.JobSpec:
    return JOB.replace(hyperparameters={**JOB.hyperparameters, "per_device_train_batch_size": batch})


def test_a_job_that_fits_and_ends_in_time_is_not_warned_of() -> None:
    assert not warned(JOB)


def test_a_time_limit_below_the_upper_end_names_one_that_is_enough() -> None:
    problem = warned(JOB.replace(max_run_s=1200))["EST001"]
    assert problem.severity is st.Severity.WARNING
    assert isinstance(problem.fix, str)
    wanted = int(problem.fix.removeprefix("max_run_s=").replace("_", ""))
    assert not warned(JOB.replace(max_run_s=wanted))


def test_a_batch_far_beyond_memory_names_one_that_fits() -> None:
    problem = warned(with_batch(5000))["EST002"]
    assert problem.severity is st.Severity.WARNING
    assert isinstance(problem.fix, str)
    batch = int(problem.fix.rpartition("=")[2].replace("_", ""))
    assert st.estimate(with_batch(batch)).fits
    assert "EST002" not in warned(with_batch(batch))


def test_a_batch_within_the_doubt_of_the_memory_model_is_no_alarm() -> None:
    most = st.estimate(JOB).largest_batch
    assert "EST002" not in warned(with_batch(int(most * 1.3)))


@pytest.mark.parametrize("left_out", sorted(JOB.hyperparameters.keys() - {"fp16", "max_seq_length"}))
def test_where_a_fact_is_missing_nothing_is_said(left_out: str) -> None:
    job = JOB.replace(
        hyperparameters={name: value for name, value in JOB.hyperparameters.items() if name != left_out}, max_run_s=60
    )
    assert not warned(job)


def memory(job: st.JobSpec) -> list[str]:
    return [each.id for each in st.check(job) if each.id in {"MEM001", "EST002"}]


def of_source(folder: Path, text: str, **more: str | int | bool) -> st.JobSpec:
    (folder / "train.py").write_text(text)
    return JOB.replace(
        script=st.Script("train.py", source_dir=str(folder)), hyperparameters={**JOB.hyperparameters, **more}
    )


def test_memory_needs_no_count_of_the_examples() -> None:
    job = with_batch(5000)
    left = {
        name: value for name, value in job.hyperparameters.items() if name not in {"dataset_name", "num_train_epochs"}
    }
    assert memory(job.replace(hyperparameters=left)) == ["EST002"]


@pytest.mark.parametrize(
    ("model", "batch", "said"),
    [
        ("bert-base-uncased", 64, []),
        ("bert-base-uncased", 5000, ["EST002"]),
        ("gpt2-xl", 1, []),
        ("gpt2-xl", 640, ["EST002"]),
        ("meta-llama/Llama-2-7b-hf", 1, ["MEM001"]),  # no batch fits: the state alone is too large
        ("meta-llama/Llama-2-7b-hf", 640, ["MEM001"]),
        ("meta-llama/Llama-2-70b-hf", 1, ["MEM001"]),
    ],
)
def test_of_memory_a_job_is_told_once(tmp_path: Path, model: str, batch: int, said: list[str]) -> None:
    job = of_source(tmp_path, "import torch\n", model_name=model, per_device_train_batch_size=batch)
    assert memory(job) == said


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import torch\n", ["EST002"]),
        ("from peft import get_peft_model\nmodel = get_peft_model(model)\n", ["EST002"]),
        ("from torch.distributed.fsdp import fully_shard\nfully_shard(model)\n", ["EST002"]),
        ("if args.lora:\n    from peft import get_peft_model\n    model = get_peft_model(model)\n", ["EST002"]),
    ],
)
def test_a_batch_that_no_reading_of_the_script_fits_is_warned_of(tmp_path: Path, script: str, said: list[str]) -> None:
    assert memory(of_source(tmp_path, script, per_device_train_batch_size=5000)) == said


def test_what_the_script_may_shrink_is_said_with_the_word_that_leaves_it_open(tmp_path: Path) -> None:
    text = "if args.save_memory:\n    model.gradient_checkpointing_enable()\n"
    (problem,) = [
        each for each in st.check(of_source(tmp_path, text, per_device_train_batch_size=1000)) if each.id == "EST002"
    ]
    assert "cannot tell" in problem.consequence
    assert "gradient_checkpointing" in problem.consequence


def test_a_job_that_evaluates_alone_has_another_batch(tmp_path: Path) -> None:
    more = {"do_train": False, "do_eval": True}
    assert memory(of_source(tmp_path, "import torch\n", per_device_train_batch_size=5000, **more)) == []


def test_a_check_looks_at_a_job_once() -> None:
    seen: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in {configure.__code__, largest_batch.__code__, billable.__code__}:
            seen.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        st.check(JOB)
        st.check(with_batch(5000))  # it does not fit, whatever time it would take
    finally:
        sys.setprofile(None)
    assert seen == ["configure", "billable", "configure", "largest_batch"]


@pytest.mark.parametrize(
    ("model", "rules"),
    [("mistralai/Mistral-7B-v0.1", {"MEM001"}), ("gpt2", set()), ("google/gemma-2-9b", {"MEM001", "DATA004"})],
)
def test_a_model_that_the_script_writes_out_is_known(tmp_path: Path, model: str, rules: set[str]) -> None:
    program = f"from transformers import AutoModelForCausalLM, Trainer\nNAME = {model!r}\nm = AutoModelForCausalLM.from_pretrained(NAME)\n"
    (tmp_path / "train.py").write_text(program + "Trainer(m).train()\nm.save_pretrained('/opt/ml/model')\n")
    job = JOB.replace(
        script=st.Script("train.py", source_dir=str(tmp_path)), compute=st.Compute("ml.g5.2xlarge"), hyperparameters={}
    )
    assert rules == {each.id for each in st.check(job)} & {"MEM001", "DATA004"}


def test_a_new_generation_of_chips_is_estimated_from_its_physics() -> None:
    known = configure(facts_of(JOB, {"length": 128}))
    chip = replace(known.average.chip, generation="rubin")
    new = replace(known, average=replace(known.average, chip=chip), others=())
    assert step_interval(new).p90 > step_interval(known).p90 > 0
