"""Estimates of jobs: what they are made of, what is asked for, and the published pair of jobs beside them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from jobs import LLAMA

import sm_trn as st
from sm_trn.forecast.configuration import Sharding
from sm_trn.forecast.data import count_file

import jobs  # isort: skip - a module of the tests


def classifier(instance: str, batch: int) -> st.JobSpec:
    """The published pair: BERT-base on AmazonPolarity, two epochs, 256 texts a step."""
    return st.JobSpec(
        name="amazon",
        script=st.Script("train.py", source_dir="s3://a-bucket/source.tar.gz"),
        framework=st.PyTorch("1.11", python="py38"),
        compute=st.Compute(instance),
        distribution=st.TorchDistributed(),
        hyperparameters={
            "model_name": "bert-base-uncased",
            "per_device_train_batch_size": batch,
            "max_seq_length": 128,
            "num_train_epochs": 2,
            "dataset_name": "amazon_polarity",
        },
    )


@pytest.mark.parametrize(
    ("instance", "batch", "billable", "rate"),
    [("ml.trn1.32xlarge", 8, 6033, 6.64), ("ml.p4d.24xlarge", 32, 6553, 5.44)],
)
def test_the_published_pair_lies_in_its_intervals(instance: str, batch: int, billable: float, rate: float) -> None:
    found = st.estimate(classifier(instance, batch))
    assert 28_126 == found.steps  # half a batch more than 3,600,000 × 2 ÷ 256
    assert found.fits
    assert found.billable_s.p10 < billable < found.billable_s.p90
    assert found.step_s.p10 < 1 / rate < found.step_s.p90 * 1.2  # docs/guides/estimate.md


def test_an_unknown_model_is_asked_for_and_a_size_that_stands_for_it_is_said() -> None:
    job = classifier("ml.g6.2xlarge", 1)
    job = dataclasses.replace(
        job, hyperparameters={**job.hyperparameters, "model_name": "somebody/Unheard-8B-it", "bf16": True}
    )
    with pytest.raises(st.errors.MissingFact, match="Unheard-8B-it") as asked:
        st.estimate(job)
    assert "model" == asked.value.fact
    assert any("plain decoder of 8b" in each for each in st.estimate(job, model="8b").assumed)


def test_how_long_an_image_of_ones_own_is_pulled_is_not_known() -> None:
    known = classifier("ml.p4d.24xlarge", 32)
    address = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/mine:1"
    pulls = [
        next(phase for phase in st.estimate(job).phases if phase.name == "image pull")
        for job in (known, dataclasses.replace(known, image_uri=address))
    ]
    assert pulls[1].seconds.p10 < pulls[0].seconds.p10
    assert pulls[1].seconds.p90 > 2 * pulls[0].seconds.p90
    assert "of one's own" in pulls[1].basis


def test_how_fast_a_mounted_file_system_is_widens_the_interval() -> None:
    files = st.FileSystem("fs-0123456789abcdef0", st.specs.FileSystemKind.FSX_LUSTRE, directory="/x")
    jobs_of = [
        dataclasses.replace(classifier("ml.g5.xlarge", 8), inputs={"train": each}) for each in ("s3://b/train", files)
    ]
    s3, mounted = (next(each for each in st.estimate(job).phases if "data" in each.name).seconds for job in jobs_of)
    assert s3.p90 + 1000 < mounted.p90


def test_cost_is_billable_seconds_of_all_instances_at_a_dated_price() -> None:
    one = st.estimate(classifier("ml.p4d.24xlarge", 32))
    assert one.usd is not None
    assert one.price is not None
    assert pytest.approx(one.billable_s.p90 / 3600 * float(one.price.usd_per_hour)) == one.usd.p90
    assert "2026-09-01" == one.price.as_of
    two = st.estimate(classifier("ml.p4d.24xlarge", 32).replace(compute=st.Compute("ml.p4d.24xlarge", count=2)))
    assert two.usd is not None
    assert pytest.approx(2 * two.billable_s.p50 / 3600 * float(one.price.usd_per_hour)) == two.usd.p50


@pytest.mark.parametrize(
    ("left_out", "fact"),
    [
        ("model_name", "model"),
        ("per_device_train_batch_size", "batch"),
        ("max_seq_length", "length"),
        ("num_train_epochs", "epochs"),
        ("max_train_samples", "examples"),
    ],
)
def test_what_is_missing_is_asked_for_by_name(left_out: str, fact: str) -> None:
    job = classifier("ml.p4d.24xlarge", 32)
    kept = {**job.hyperparameters, "max_train_samples": 3_600_000}
    job = job.replace(
        hyperparameters={name: value for name, value in kept.items() if name not in {left_out, "dataset_name"}}
    )
    with pytest.raises(st.errors.MissingFact, match=f"--{fact}") as asked:
        st.estimate(job)
    assert fact == asked.value.fact
    told: dict[str, object] = {
        "model": "bert-base-uncased",
        "batch": 32,
        "length": 128,
        "epochs": 2,
        "examples": 3_600_000,
    }
    found = st.estimate(job, **{fact: told[fact]})  # type: ignore[arg-type]  # one of several kinds
    assert found.steps == st.estimate(classifier("ml.p4d.24xlarge", 32)).steps


def test_a_fact_that_nobody_knows_is_refused_with_the_nearest() -> None:
    with pytest.raises(TypeError, match="did you mean 'examples'"):
        st.estimate(classifier("ml.p4d.24xlarge", 32), exmples=5)  # type: ignore[call-arg]


def test_a_chip_without_any_row_is_said_and_reaches_from_the_hardwares_bound() -> None:
    found = st.estimate(classifier("ml.trn2.48xlarge", 8).replace(framework=st.NeuronX("2.9.0")))
    assert found.bounds_only
    assert "no published row for Trainium2" in str(found)
    assert found.step_s.p90 / found.step_s.p10 > 4


def test_an_unsaid_precision_is_said_and_keeps_both_ends() -> None:
    job = classifier("ml.p4d.24xlarge", 32)
    found, sure = st.estimate(job), st.estimate(job, precision="tf32")
    assert any("TF32" in each for each in found.assumed)
    assert sure.step_s.p50 == found.step_s.p50
    assert sure.step_s.p90 * 1.5 < found.step_s.p90


def test_one_width_for_each_method() -> None:
    plain = classifier("ml.g5.2xlarge", 2)
    widths = []
    for more in ({}, {"use_lora": True}, {"load_in_4bit": True, "use_lora": True}):
        job = plain.replace(hyperparameters={**plain.hyperparameters, "bf16": True, **more})
        found = st.estimate(job, model="meta-llama/Llama-3.2-1B", length=512)
        widths.append((found.method, found.step_s.p90 / found.step_s.p10))
    assert ["full weights", "LoRA", "quantised weights"] == [name for name, _ in widths]
    assert sorted(width for _, width in widths) == [width for _, width in widths]


def test_a_limit_below_the_upper_end_is_said() -> None:
    job = classifier("ml.p4d.24xlarge", 32)
    found = st.estimate(job.replace(max_run_s=3000))
    assert "above max_run_s, 3,000 s" in str(found)
    assert "max_run_s =" not in str(st.estimate(job))


def test_a_batch_that_does_not_fit_names_one_that_does() -> None:
    found = st.estimate(classifier("ml.g5.xlarge", 4000), precision="fp32")
    assert not found.fits
    assert 0 < found.largest_batch < 4000
    assert f"does not fit; the largest batch is about {found.largest_batch}" in str(found)
    assert st.estimate(classifier("ml.g5.xlarge", found.largest_batch), precision="fp32").fits


def test_spot_is_cheaper_and_slower_and_says_that_it_is_assumed() -> None:
    job = classifier("ml.p4d.24xlarge", 32)
    spot = job.replace(spot=st.Spot(max_wait_s=200_000, checkpoint_s3_uri="s3://a-bucket/checkpoints"))
    plain, cheap = st.estimate(job), st.estimate(spot)
    assert plain.usd is not None
    assert cheap.usd is not None
    assert cheap.usd.p90 < plain.usd.p90
    assert plain.wall_s.p90 < cheap.wall_s.p90
    assert "assumed" in str(cheap)


def test_the_arguments_decide_the_layout() -> None:
    c = st.estimate(LLAMA).configuration
    assert (8, 4, 64) == (c.tensor, c.data, c.global_batch)
    assert c.sharding is Sharding.OPTIMIZER
    assert not c.autocast


def test_examples_are_counted_in_a_file(tmp_path: Path) -> None:
    lines = tmp_path / "train.jsonl"
    lines.write_text("".join(json.dumps({"text": "some words " * (at % 7)}) + "\n" for at in range(1234)))
    assert 1234 == count_file(lines).examples
    table = tmp_path / "train.csv"
    table.write_text("text,label\n" + "a,1\n" * 99)
    assert 99 == count_file(table).examples
    assert 1234 == count_file(tmp_path).examples
    with pytest.raises(st.errors.MissingFact, match="No such file"):
        count_file(tmp_path / "nothing.csv")


def test_a_large_file_is_not_read_whole(tmp_path: Path) -> None:
    lines = tmp_path / "train.txt"
    lines.write_text(
        "ninety-nine characters, more or less, and a line end after them all, as texts of this length do.\n" * 60_000
    )
    found = count_file(lines)
    assert pytest.approx(60_000, rel=0.01) == found.examples
    assert "estimated" in found.source


def test_a_local_configuration_is_read(tmp_path: Path) -> None:
    shape = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 22, "num_attention_heads": 32}
    shape |= {"num_key_value_heads": 4, "intermediate_size": 5632, "vocab_size": 32_000}
    (tmp_path / "config.json").write_text(json.dumps(shape))
    job = classifier("ml.p4d.24xlarge", 4)
    here, known = st.estimate(job, model=str(tmp_path)), st.estimate(job, model="TinyLlama/TinyLlama-1.1B-Chat-v1.0")
    assert known.step_s == here.step_s


@given(some.integers(1, 10**7), some.integers(1, 10**6), some.integers(1, 20))
def test_more_data_never_costs_less(examples: int, more: int, epochs: int) -> None:
    job = classifier("ml.p4d.24xlarge", 32)
    less, greater = (
        st.estimate(job, examples=count, epochs=epochs).billable_s for count in (examples, examples + more)
    )
    assert less.p10 <= greater.p10 * (1 + 1e-9)
    assert less.p50 <= greater.p50 * (1 + 1e-9)
    assert less.p90 <= greater.p90 * (1 + 1e-9)


def test_memory_time_and_ceiling_come_first() -> None:
    lines = str(st.estimate(classifier("ml.p4d.24xlarge", 32))).splitlines()
    assert ["Memory", "Billable", "Cost"] == [line.split()[0] for line in lines[1:4]]
    assert "the largest batch is about" in lines[1]
    assert "80 %" in lines[2]
    assert "at most $" in lines[3]


def test_the_json_holds_what_is_shown() -> None:
    found = st.estimate(classifier("ml.p4d.24xlarge", 32))
    body = json.loads(json.dumps(found.to_dict()))
    assert body["estimated"] is True
    assert body["billable_s"]["p50"] == found.billable_s.p50
    assert {"weights", "total", "limit"} <= set(body["memory_gib"])


def test_a_spec_is_wanted() -> None:
    with pytest.raises(TypeError, match="JobSpec"):
        st.estimate("job.toml")  # type: ignore[arg-type]


def test_every_job_of_the_tests_is_estimated_or_asks(tmp_path: Path) -> None:
    for job in (jobs.smddp(str(tmp_path)), jobs.compiled(str(tmp_path)), jobs.trainium(str(tmp_path))):
        assert st.estimate(job).billable_s.p50 > 0
