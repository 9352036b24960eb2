"""Specs that many tests use: the four configurations of the main job, two others, and one of a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sm_trn as st

ROLE = "arn:aws:iam::123456789012:role/SageMakerExecutionRole"
BUCKET = "a-bucket"
REGION = "us-east-1"

GPT2: dict[str, str | int | float | bool] = {
    "model_type": "gpt2",
    "tokenizer_name": "gpt2",
    "dataset_name": "wikitext",
    "dataset_config_name": "wikitext-103-v1",
    "do_train": True,
    "do_eval": False,
    "num_train_epochs": 10,
    "block_size": 512,
    "overwrite_output_dir": True,
    "save_strategy": "no",
    "evaluation_strategy": "no",
    "logging_strategy": "epoch",
    "output_dir": "/opt/ml/model",
    "dataloader_drop_last": True,
    "preprocessing_num_workers": 12,
}


# Shipped scripts with all that an estimate asks for.
SQUAD = st.JobSpec(
    name="squad",
    script=st.Script("train_question_answering.py"),
    framework=st.PyTorch("2.8.0", python="py312"),
    compute=st.Compute("ml.p4d.24xlarge"),
    distribution=st.TorchDistributed(),
    hyperparameters={
        "model_name_or_path": "bert-large-uncased",
        "per_device_train_batch_size": 32,
        "max_seq_length": 384,
        "num_train_epochs": 2,
        "dataset_name": "squad",
    },
)
LLAMA = st.JobSpec(
    name="llama",
    script=st.Script("finetune.py"),
    framework=st.NeuronX("2.9.0"),
    compute=st.Compute("ml.trn1.32xlarge"),
    distribution=st.TorchDistributed(),
    neuron=st.specs.NeuronOptions(tensor_parallel=8, zero_1=True),
    hyperparameters={
        "model_name_or_path": "meta-llama/Llama-2-7b-hf",
        "gradient_accumulation_steps": 16,
        "dataset_name": "dolly",
        "block_size": 2048,
        "num_train_epochs": 1,
        "gradient_checkpointing": True,
    },
)


def job_of(folder: Path, text: str, **parts: Any) -> st.JobSpec:
    """A job of one small machine whose script is this text, written into ``folder``; ``parts`` stand in place of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    job = st.JobSpec(
        name="plain",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.8.0", python="py312"),
        compute=st.Compute("ml.c5.xlarge"),
        max_run_s=600,
    )
    return job.replace(**parts)


def hyperparameters(batch: int) -> dict[str, str | int | float | bool]:
    return {**GPT2, "per_device_train_batch_size": batch, "learning_rate": 5e-5 / 32 * batch}


def smddp(source_dir: str) -> st.JobSpec:
    """(a) PyTorch 1.11 on two p4d with SageMaker's data-parallel library."""
    return st.JobSpec(
        name="gpt2-smddp",
        script=st.Script("run_clm.py", source_dir=source_dir),
        framework=st.PyTorch("1.11", python="py38"),
        compute=st.Compute("ml.p4d.24xlarge", count=2, volume_gb=512),
        distribution=st.SMDataParallel(),
        hyperparameters=hyperparameters(13),
    )


def compiled(source_dir: str) -> st.JobSpec:
    """(b) the same with the Training Compiler in the Hugging Face container."""
    return smddp(source_dir).replace(
        name="gpt2-trcomp",
        framework=st.HuggingFace("4.21", pytorch="1.11", python="py38"),
        compiler=st.TrainingCompiler(),
        distribution=st.PyTorchXLA(),
        hyperparameters=hyperparameters(25),
    )


def trainium(source_dir: str) -> st.JobSpec:
    """(c) one trn1.32xlarge with torchrun on a current Neuron image."""
    return st.JobSpec(
        name="gpt2-trn1",
        script=st.Script("run_clm.py", source_dir=source_dir),
        framework=st.NeuronX("2.9.0"),
        compute=st.Compute("ml.trn1.32xlarge"),
        distribution=st.TorchDistributed(),
        hyperparameters=hyperparameters(13),
        inputs={"train": "s3://a-bucket/wikitext"},
    )


def spot(source_dir: str) -> st.JobSpec:
    """(d) the same on managed spot with checkpoints."""
    return trainium(source_dir).replace(
        name="gpt2-spot", spot=st.Spot(max_wait_s=90_000, checkpoint_s3_uri="s3://a-bucket/checkpoints/gpt2")
    )


CONFIGURATIONS = {"a": smddp, "b": compiled, "c": trainium, "d": spot}
