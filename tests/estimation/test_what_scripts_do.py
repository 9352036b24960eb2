"""What an estimate takes from the script itself: how many GPUs it drives, how it packs, what it saves; beside public jobs on SageMaker."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from forecast.trainer import trained

import sm_trn as st
from sm_trn.forecast.configuration import Configuration
from sm_trn.forecast.jobs.configure import configure, facts_of, with_batch
from sm_trn.forecast.jobs.value import Estimate
from sm_trn.forecast.memory import memory, sample_bytes
from sm_trn.forecast.work import work_of

HEAD = "from transformers import Trainer, TrainingArguments\n"
TRAINER = (
    HEAD
    + "Trainer(model=model, args=TrainingArguments('out', num_train_epochs=1, per_device_train_batch_size=8)).train()\n"
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


def configured(there: st.JobSpec) -> Configuration:
    return configure(facts_of(there, KNOWN)).configuration  # type: ignore[arg-type]


def test_trainer_alone_on_four_gpus_drives_them_all_from_one_process(tmp_path: Path) -> None:
    alone = job(tmp_path, TRAINER)
    spread = alone.replace(distribution=st.TorchDistributed())
    assert st.estimate(alone, **KNOWN).steps == st.estimate(spread, **KNOWN).steps == 200
    one, four = configured(alone), configured(spread)
    assert ((one.data, one.driven), (four.data, four.driven)) == ((4, 4), (4, 1))
    assert work_of(one).kernels == 4 * work_of(four).kernels


def test_what_the_script_sets_itself_is_said(tmp_path: Path) -> None:
    drives = "Trainer drives 4 GPUs from one process (torch.nn.DataParallel), for the job has no distribution"
    sets = "train.py trains with per_device_train_batch_size = 8, num_train_epochs = 1"
    assert {drives, sets} <= set(st.estimate(job(tmp_path, TRAINER), **KNOWN).assumed)
    lays = "one process lays the model over 4 GPUs, which compute one after another"
    assert lays in st.estimate(job(tmp_path, LAID), **KNOWN).assumed
    said = job(tmp_path, TRAINER, {"per_device_train_batch_size": 4, "num_train_epochs": 2})
    assert "trains with" not in str(st.estimate(said, **KNOWN))


@pytest.mark.parametrize(
    ("text", "instance"), [(LOOP, "ml.g5.12xlarge"), (TRAINER, "ml.g5.2xlarge"), (TRAINER, "ml.trn1.32xlarge")]
)
def test_another_script_or_machine_trains_on_one_device(tmp_path: Path, text: str, instance: str) -> None:
    found = configured(job(tmp_path, text, {"batch_size": 8}, instance=instance))
    assert (found.data, found.driven, found.laid_over) == (1, 1, 1)


@pytest.mark.parametrize("how", ["auto", "balanced"])
def test_a_model_laid_over_gpus_shares_its_memory_and_not_its_time(tmp_path: Path, how: str) -> None:
    laid = configured(job(tmp_path, LAID.replace("auto", how)))
    assert (laid.data, laid.driven, laid.laid_over) == (1, 1, 4)
    alone = dataclasses.replace(laid, laid_over=1)
    assert memory(laid).weights == pytest.approx(memory(alone).weights / 4)
    assert memory(laid).activations == pytest.approx(memory(alone).activations / 4)
    assert work_of(laid) == work_of(alone)


def test_float32_keeps_less_than_twice_of_mixed_precision_and_old_releases_no_more() -> None:
    mixed = next(row.configuration for row in trained() if row.name == "bert-base-uncased")
    wide = dataclasses.replace(mixed, precision="fp32", autocast=False)
    assert sample_bytes(wide)[0] == pytest.approx(1.25 * sample_bytes(mixed)[0])
    assert sample_bytes(dataclasses.replace(wide, release=2020.8)) == sample_bytes(wide)


def test_memory_of_float32_is_met_within_a_fifth() -> None:
    rows = [row for row in trained() if row.configuration.precision == "fp32"]
    assert len(rows) == 3
    assert all(abs(memory(row.configuration).total / row.gib - 1) < 0.2 for row in rows)


def test_frozen_float32_weights_stay_float32() -> None:
    half = next(row.configuration for row in trained() if row.configuration.adapters)
    whole = dataclasses.replace(half, precision="fp32", autocast=False, half_states=False)
    assert memory(whole).weights == pytest.approx(2 * memory(half).weights)


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
    there = job(tmp_path, text, {"model_name": "distilbert-base-uncased", "epochs": 3}, instance=instance)
    found = st.estimate(there.replace(framework=st.PyTorch("1.7.1", python="py36")), examples=900_000, length=512)
    assert found.fits
    assert found.billable_s is not None
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


@pytest.mark.parametrize(
    ("merging", "whole"),
    [
        ("model.merge_and_unload().save_pretrained('/opt/ml/model')\n", True),
        ("def merge():\n    model.merge_and_unload()\nmerge()\n", True),
        ("def merge():\n    model.merge_and_unload()\n# merge()\n", False),
        ("if wanted():\n    model.merge_and_unload()\n", False),
    ],
)
def test_adapters_that_the_script_merges_leave_a_whole_model(tmp_path: Path, merging: str, whole: bool) -> None:
    lora = TRAINER + "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig())\n"
    told = upload(job(tmp_path, lora, {"merge_adapters": True}))
    assert (upload(job(tmp_path, lora + merging)) == told) is whole


@pytest.mark.parametrize(("instance", "precision"), [("ml.p3.2xlarge", "fp16"), ("ml.g5.2xlarge", "bf16")])
def test_16_bits_that_the_script_takes_as_the_device_allows(tmp_path: Path, instance: str, precision: str) -> None:
    text = TRAINER.replace("num_train", "bf16=torch.cuda.is_bf16_supported(), num_train")
    assert configured(job(tmp_path, text, instance=instance)).precision == precision


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("", 10),
        ("save_steps=1000", 5),
        ("save_strategy='no'", 0),
        ("save_strategy='epoch', num_train_epochs=1", 1),
        ("save_total_limit=2", 2),
    ],
)
def test_checkpoints_in_the_model_folder_are_packed_too(tmp_path: Path, words: str, kept: int) -> None:
    def written(folder: str) -> st.JobSpec:
        return job(tmp_path, HEAD + f"Trainer(args=TrainingArguments('{folder}', max_steps=5000, {words}))\n",
                   {"model_name": "bert-base-uncased"})  # fmt: skip

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


def test_a_plan_changes_the_batch_by_the_scripts_own_name(tmp_path: Path) -> None:
    text = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--batch_size', type=int)\nparser.parse_args()\n"
    assert with_batch(job(tmp_path, text), 2, 1).hyperparameters["batch_size"] == 2
    assert with_batch(job(tmp_path, LOOP), 2, 1).hyperparameters["per_device_train_batch_size"] == 2
    dashed = job(tmp_path, text.replace("batch_size", "batch-size"), {"batch-size": 8})
    assert with_batch(dashed, 2, 1).hyperparameters == {**dashed.hyperparameters, "batch-size": 2}


def test_a_batch_that_stands_in_the_code_is_changed_there(tmp_path: Path) -> None:
    text = TRAINER.replace("per_device_train_batch_size=8", "per_device_train_batch_size=4096")
    (found,) = [
        each
        for each in st.check(job(tmp_path, text, {"model_name": "bert-large-uncased", "max_seq_length": 512}))
        if each.id == "EST002"
    ]
    assert (found.where, found.fix) == ("script", "a batch of 8 in the script")


def test_axolotls_configuration_is_read(tmp_path: Path) -> None:
    (tmp_path / "qlora.yml").write_text(
        "base_model: some/other\nbase_model: meta-llama/Llama-2-7b-hf\n"
        "load_in_4bit: true\nadapter: qlora\nsequence_len: 4096\nsample_packing: true\n"
        "gradient_accumulation_steps: 4\nmicro_batch_size: 2\nnum_epochs: 3\nbf16: true\nflash_attention: true\n"
        "gradient_checkpointing: true\n"
    )
    there = job(tmp_path, "import axolotl\n", {"config": "qlora.yml"}, instance="ml.g5.2xlarge")
    found = st.estimate(there.replace(hyperparameters={"config": "qlora.yml"}), tokens=5.9e6)
    c = found.configuration
    assert (c.model.name, c.weight_bits, c.adapters, c.flash, c.precision) == ("llama-2-7b", 4, True, True, "bf16")
    assert (c.sequence, c.global_batch, found.steps) == (4096, 8, 3 * 181)


def test_one_epoch_by_its_singular_name(tmp_path: Path) -> None:
    there = job(tmp_path, LOOP, {"epoch": 2, "batch_size": 8}, instance="ml.g5.2xlarge")
    assert st.estimate(there, **KNOWN).steps == 1600


def pulled(there: st.JobSpec) -> float:
    return next(phase.seconds.p50 for phase in st.estimate(there, **KNOWN).phases if phase.name == "image pull")


def test_an_image_of_an_old_release_is_small(tmp_path: Path) -> None:
    new = job(tmp_path, TRAINER)
    assert pulled(new.replace(framework=st.PyTorch("1.6.0", python="py36"))) < pulled(new) / 2
    assert pulled(new.replace(framework=st.PyTorch("1.8.1", python="py36"))) == pulled(new)


# Two public jobs with ResNet-18 and ResNet-50 of 6,680 photographs, whose one process loads them: a V100 and a T4 wait for it.
@pytest.mark.parametrize(
    ("model", "instance", "batch", "epochs", "billed"),
    [("resnet18", "ml.p3.2xlarge", 512, 4, 980), ("resnet50", "ml.g4dn.xlarge", 32, 10, 1639)],
)
def test_photographs_may_be_loaded_more_slowly_than_they_are_trained(
    tmp_path: Path, model: str, instance: str, batch: int, epochs: int, billed: float
) -> None:
    folder = "data = torchvision.datasets.ImageFolder(path)\nfor batch in DataLoader(data, batch_size=64{}):\n    train(batch)\n"
    known: dict[str, Any] = {"model": model, "batch": batch, "epochs": epochs, "examples": 6680}

    def found(more: str) -> Estimate:
        return st.estimate(job(tmp_path, folder.format(more), instance=instance), **known)

    alone = found("")
    assert alone.billable_s.p10 < billed < alone.billable_s.p90
    assert "images are loaded by 1 of a worker's processes, 50 a second in each: small ones take less" in alone.assumed
    beside = found(", num_workers=1").step_s
    assert beside is not None
    assert alone.step_s is not None
    assert beside.p50 < alone.step_s.p50  # the training process loads before it trains
    waits = [
        span.p90 for span in (found(f", num_workers={count}").step_s for count in (8, 1, "COUNT")) if span is not None
    ]
    assert waits == sorted(waits)


def test_a_head_on_frozen_layers_keeps_none_of_their_activations(tmp_path: Path) -> None:
    """A public job trained so with a batch of 256 on a T4."""
    text = "for weight in model.parameters():\n    weight.requires_grad = False\n" + LOOP
    known: dict[str, Any] = {"model": "resnet50", "batch": 256, "epochs": 5, "examples": 6680}
    frozen = st.estimate(job(tmp_path, text, instance="ml.g4dn.xlarge"), **known)
    assert st.estimate(job(tmp_path, text, instance="ml.g4dn.xlarge"), **known, length=224**2).may_fit
    assert not st.estimate(job(tmp_path, LOOP, instance="ml.g4dn.xlarge"), **known, length=224**2).may_fit
    assert "images have 224 × 224 pixels; smaller ones take less: --length N gives their pixels" in frozen.assumed


@pytest.mark.parametrize(
    ("transforms", "arguments", "pixels"),
    [
        ("transforms.RandomCrop(32, padding=4)", {}, 32 * 32),
        ("transforms.RandomCrop(32, 4)\ntransforms.Resize(64, 3)", {}, 32 * 32),
        ("import albumentations as A\nA.Resize(128, 256)", {}, 128 * 256),
        ("transforms.Resize(256)\ntransforms.CenterCrop(224)", {}, 224 * 224),
        ("transforms.RandomResizedCrop(size=(64, 96))", {}, 64 * 96),
        ("SIDE = 48\nA.Resize(height=SIDE, width=SIDE)", {}, 48 * 48),
        ("transforms.Resize((args.side, args.side))", {"image_size": 128}, 128 * 128),
        ("transforms.Resize((args.height, args.width))", {"height": 137, "width": 236}, 137 * 236),
    ],
)
def test_images_are_as_large_as_the_job_makes_them(
    tmp_path: Path, transforms: str, arguments: dict[str, Any], pixels: int
) -> None:
    known: dict[str, Any] = {"model": "resnet50", "batch": 256, "epochs": 5, "examples": 6680}
    found = st.estimate(job(tmp_path, f"{transforms}\n{LOOP}", arguments, instance="ml.g4dn.xlarge"), **known)
    assert pixels == found.configuration.sequence
    assert not [each for each in found.assumed if "pixels" in each]


def test_a_batch_of_small_images_fits_where_one_of_large_ones_does_not(tmp_path: Path) -> None:
    """ResNet-50 was trained on CIFAR-10 with a batch of 2,048 on one V100. Where nothing says their size, nobody can tell."""

    def fits(transforms: str) -> tuple[bool, bool, bool]:
        given = {"batch_size": 2048, "model_name": "resnet50"}
        made = job(tmp_path, f"{transforms}\n{LOOP}", given, instance="ml.p3.2xlarge")
        found = st.estimate(made, epochs=2, examples=50_000)
        return found.fits, found.may_fit, "EST002" in {problem.id for problem in st.check(made)}

    assert (True, True, False) == fits("transforms.RandomCrop(32, padding=4)")
    assert (False, False, True) == fits("transforms.RandomCrop(224)")
    assert (False, True, False) == fits("pass")


def test_what_profiling_takes_is_said_to_be_unknown(tmp_path: Path) -> None:
    profiled = job(tmp_path, TRAINER, profiling=st.specs.Profiling(parameters={"DataloaderProfilingConfig": "{}"}))
    said = "profiling takes no time: that of the framework took longer than the training of two public jobs"
    assert said in st.estimate(profiled, **KNOWN).assumed
    assert said in st.estimate(job(tmp_path, f"from smdebug.pytorch import get_hook\n{TRAINER}"), **KNOWN).assumed
    assert said not in st.estimate(job(tmp_path, TRAINER), **KNOWN).assumed


@pytest.mark.parametrize(
    ("modules", "share"),
    [
        ('target_modules=["q_proj", "v_proj"]', 2 / 7),
        ("r=8", 2 / 7),
        ('target_modules="all-linear"', 1),
        ("target_modules=found()", 1),
    ],
)
def test_adapters_cost_where_the_script_puts_them(tmp_path: Path, modules: str, share: float) -> None:
    made = job(
        tmp_path,
        f"from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig({modules}))\n{TRAINER}",
    )
    assert share == st.estimate(made, **KNOWN).configuration.adapted
