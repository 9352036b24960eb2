"""What an estimate takes from the script itself: sizes that it writes out, how many GPUs it drives, how it packs, what it saves; beside
public jobs on SageMaker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sm_trn as st
from sm_trn.forecast.configuration import Configuration

HEAD = "from transformers import Trainer, TrainingArguments\n"
TRAINER = (
    HEAD
    + "Trainer(model=model, args=TrainingArguments('out', num_train_epochs=1, per_device_train_batch_size=8)).train()\n"
)
PARSER = (
    "import argparse\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--{}', type=int, default=16)\nargs, _ = parser.parse_known_args()\n"
)
LOOP = "for batch in batches:\n    model(**batch).loss.backward()\n"
LAID = TRAINER.replace("Trainer(", "model = AutoModelForCausalLM.from_pretrained(name, device_map='auto')\nTrainer(", 1)
KNOWN: dict[str, Any] = {"examples": 6400, "length": 128}


def job(
    folder: Path, text: str, given: dict[str, Any] | None = None, *, instance: str = "ml.g5.12xlarge", **fields: Any
) -> st.JobSpec:
    (folder / "train.py").write_text(text)
    return st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.1", python="py310"),
        compute=st.Compute(instance),
        hyperparameters={"model_name": "meta-llama/Llama-2-7b-hf", **(given or {})},
        **fields,
    )


def configured(there: st.JobSpec, **known: Any) -> Configuration:
    return st.estimate(there, **{**KNOWN, **known}).configuration


@pytest.mark.parametrize(
    ("text", "given", "batch"),
    [
        (TRAINER, {}, 8),
        (HEAD + "Trainer(args=TrainingArguments('out', learning_rate=1e-4)).train()\n", {}, 8),  # Trainer's own default
        (PARSER.format("train_batch_size") + LOOP, {}, 16),
        (
            PARSER.format("bs") + HEAD + "TrainingArguments('out', per_device_train_batch_size=args.bs)\n",
            {"batch_size": 2},
            2,
        ),
        (
            PARSER.format("train_batch_size")
            + HEAD
            + "TrainingArguments(per_device_train_batch_size=args.train_batch_size)",
            {},
            16,
        ),
        (PARSER.format("train_batch_size") + LOOP, {"train_batch_size": 24}, 24),
        (PARSER.format("batch-size") + LOOP, {"batch-size": 4}, 4),
    ],
)
def test_a_batch_is_read_where_it_is_written_out(tmp_path: Path, text: str, given: dict[str, Any], batch: int) -> None:
    assert batch == configured(job(tmp_path, text, given, instance="ml.g5.2xlarge"), epochs=1).micro_batch


def test_what_is_put_together_is_asked_for(tmp_path: Path) -> None:
    text = "loader, other = DataLoader(data, batch_size=16 * devices()), DataLoader(test, batch_size=64)\n" + LOOP
    with pytest.raises(st.errors.MissingFact, match="--batch 8"):
        st.estimate(job(tmp_path, text), **KNOWN, epochs=1)


def test_trainer_alone_on_four_gpus_drives_them_all_from_one_process(tmp_path: Path) -> None:
    alone = job(tmp_path, TRAINER)
    spread = alone.replace(distribution=st.TorchDistributed())
    found, faster = st.estimate(alone, **KNOWN), st.estimate(spread, **KNOWN)
    assert found.steps == faster.steps == 200
    assert (
        (found.configuration.data, found.configuration.driven),
        (faster.configuration.data, faster.configuration.driven),
    ) == (
        (4, 4),
        (4, 1),
    )
    assert faster.step_s.p50 < found.step_s.p50
    drives = "Trainer drives 4 GPUs from one process (torch.nn.DataParallel), for the job has no distribution"
    assert drives in found.assumed


@pytest.mark.parametrize(
    ("text", "instance"), [(LOOP, "ml.g5.12xlarge"), (TRAINER, "ml.g5.2xlarge"), (TRAINER, "ml.trn1.32xlarge")]
)
def test_another_script_or_machine_trains_on_one_device(tmp_path: Path, text: str, instance: str) -> None:
    found = configured(job(tmp_path, text, {"batch_size": 8}, instance=instance), epochs=1)
    assert (found.data, found.driven, found.laid_over) == (1, 1, 1)


@pytest.mark.parametrize("how", ["auto", "balanced"])
def test_a_model_laid_over_gpus_shares_its_memory(tmp_path: Path, how: str) -> None:
    laid = st.estimate(job(tmp_path, LAID.replace("auto", how)), **KNOWN)
    alone = st.estimate(job(tmp_path, TRAINER, instance="ml.g5.2xlarge"), **KNOWN)
    assert (laid.configuration.data, laid.configuration.driven, laid.configuration.laid_over) == (1, 1, 4)
    assert laid.memory.weights == pytest.approx(alone.memory.weights / 4)


# aws-samples/amazon-sagemaker-huggingface-benchmark: DistilBERT in float32, 900,000 reviews of 512 tokens, three epochs, on V100s.
@pytest.mark.parametrize(("instance", "billed"), [("ml.p3.2xlarge", 66_355), ("ml.p3.8xlarge", 19_447)])
def test_public_jobs_lie_in_their_intervals(tmp_path: Path, instance: str, billed: float) -> None:
    text = (
        "import argparse, os\nfrom transformers import Trainer, TrainingArguments\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--epochs', type=int, default=1)\nparser.add_argument('--train_batch_size', type=int, default=32)\n"
        "parser.add_argument('--model_dir', default=os.environ['SM_MODEL_DIR'])\nargs, _ = parser.parse_known_args()\n"
        "made = TrainingArguments(output_dir=args.model_dir, num_train_epochs=args.epochs,\n"
        "                         per_device_train_batch_size=args.train_batch_size)\nTrainer(model=model, args=made).train()\n"
    )
    given = {"model_name": "distilbert-base-uncased", "epochs": 3, "train_batch_size": 32}
    there = job(tmp_path, text, given, instance=instance)
    found = st.estimate(there.replace(framework=st.PyTorch("1.7.1", python="py36")), examples=900_000, length=512)
    assert found.fits
    assert found.billable_s.p10 < billed < found.billable_s.p90


def upload(there: st.JobSpec) -> float:
    return next(phase.seconds.p50 for phase in st.estimate(there, **KNOWN).phases if phase.name == "save and upload")


def test_an_archive_takes_its_time(tmp_path: Path) -> None:
    packed, raw = job(tmp_path, TRAINER), job(tmp_path, TRAINER, output=st.Output(compress=False))
    assert upload(packed) > 3 * upload(raw)
    kept = packed.replace(checkpoint=st.Checkpoint(s3_uri="s3://bucket/checkpoints"))
    assert upload(kept) - upload(packed) == pytest.approx(12 * configured(packed).model.parameters / 150e6)
    lora = TRAINER + "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig())\n"
    assert upload(job(tmp_path, lora, {"merge_adapters": True})) > 5 * upload(job(tmp_path, lora))
    assert upload(job(tmp_path, lora)) < 60
    merging = lora + "model.merge_and_unload().save_pretrained('/opt/ml/model')\n"
    assert upload(job(tmp_path, merging)) == upload(job(tmp_path, lora, {"merge_adapters": True}))
    open_ = lora + "if wanted():\n    model.merge_and_unload()\n"
    assert upload(job(tmp_path, open_)) == upload(job(tmp_path, lora))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, 10),
        ({"save_steps": 1000}, 5),
        ({"save_strategy": "no"}, 0),
        ({"save_strategy": "epoch", "num_train_epochs": 1}, 1),
        ({"save_total_limit": 2}, 2),
    ],
)
def test_checkpoints_in_the_model_folder_are_packed_too(tmp_path: Path, given: dict[str, Any], kept: int) -> None:
    def written(folder: str) -> st.JobSpec:
        return job(
            tmp_path,
            HEAD,
            {"model_name": "bert-base-uncased", "max_steps": 5000, "batch_size": 8, "output_dir": folder, **given},
        )

    size = configured(written("/tmp/out")).model.parameters * 12 / 30e6
    assert upload(written("/opt/ml/model")) - upload(written("/tmp/out")) == pytest.approx(kept * size)


def test_texts_that_the_script_joins_are_counted_as_blocks(tmp_path: Path) -> None:
    text = TRAINER.replace("Trainer(model", "SFTTrainer(packing=True, max_seq_length=1024, model")
    there = job(tmp_path, text, {"max_seq_length": 1024}, instance="ml.g5.2xlarge")
    assert st.estimate(there, examples=10_000, tokens=1_024_000).steps == 125
    assert st.estimate(there, examples=10_000).steps == 1250  # blocks, where their tokens are not said
    data = tmp_path / "train.jsonl"
    data.write_text(json.dumps({"text": "word " * 400}) + "\n")
    assert st.estimate(there, data=str(data), examples=10_000).steps == st.estimate(there, tokens=10_000 * 478.0).steps


@pytest.mark.parametrize(
    ("text", "given", "name"),
    [
        (PARSER.format("batch_size") + LOOP, {}, "batch_size"),
        (PARSER.format("batch-size") + LOOP, {"batch-size": 8}, "batch-size"),
        (LOOP, {"per_device_train_batch_size": 8}, "per_device_train_batch_size"),
    ],
)
def test_a_plan_changes_the_batch_by_the_scripts_own_name(
    tmp_path: Path, text: str, given: dict[str, Any], name: str
) -> None:
    there = job(tmp_path, text, {"model_name": "gpt2", **given}, instance="ml.g5.2xlarge")
    (choice,) = st.plan(there, only=["ml.g5.2xlarge"], counts=(1,), **KNOWN, epochs=1).choices
    assert name in choice.job.hyperparameters
    assert [each for each in choice.job.hyperparameters if "batch" in each] == [name]


def test_a_batch_that_stands_in_the_code_is_changed_there(tmp_path: Path) -> None:
    text = TRAINER.replace("per_device_train_batch_size=8", "per_device_train_batch_size=4096")
    made = job(tmp_path, text, {"model_name": "bert-large-uncased", "max_seq_length": 512})
    (problem,) = [each for each in st.check(made) if each.id == "EST002"]
    assert (problem.where, problem.fix) == ("script", "a batch of 8 in the script")
