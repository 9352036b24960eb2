"""What the estimate says in `check`: warnings alone, with the number that would do."""

from __future__ import annotations

import pytest

import sm_trn as st

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


def warned(job: st.JobSpec) -> dict[str, st.Problem]:
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


@pytest.mark.parametrize("left_out", sorted(JOB.hyperparameters.keys() - {"fp16"}))
def test_where_a_fact_is_missing_nothing_is_said(left_out: str) -> None:
    job = JOB.replace(
        hyperparameters={name: value for name, value in JOB.hyperparameters.items() if name != left_out}, max_run_s=60
    )
    assert not warned(job)
