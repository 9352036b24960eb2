"""The classic notebook on GPT-2, cell by cell, with SageMaker SDK v2's own classes: SMDDP against the Training Compiler.

Run as ``python gpt2_notebook.py SCRIPTS INSTANCES`` with SCRIPTS the folder of the entry scripts, whose language model is a real
Hugging Face Trainer script. Nothing of ours is named below ``cells``; the SDK asks STS at an address of AWS's whatever the
environment says, which is why the cells run in ``mocked()``. Prints one JSON document, the last line.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from ast import literal_eval
from typing import Any

WAIT = {"Delay": 1, "MaxAttempts": 240}


def cells(scripts: str, instances: int) -> dict[str, Any]:
    # --- environment ---
    import boto3
    import pandas as pd
    import sagemaker

    session = sagemaker.Session()
    bucket = session.default_bucket()
    role = sagemaker.get_execution_role()
    session = sagemaker.Session(default_bucket=bucket)

    # --- what both jobs share ---
    estimator_args: dict[str, Any] = {
        "entry_point": "train_language_model.py",
        "source_dir": scripts,
        "instance_type": "ml.p4d.24xlarge",
        "instance_count": instances,
        "role": role,
        "py_version": "py38",
        "volume_size": 512,
        "disable_profiler": True,
        "debugger_hook_config": False,
        "base_job_name": "trcomp-pt-example",
        "sagemaker_session": session,
        "metric_definitions": [
            {"Name": "summary_train_runtime", "Regex": "'train_runtime': '?([0-9.]*)"},
            {"Name": "summary_train_samples_per_second", "Regex": "'train_samples_per_second': '?([0-9.]*)"},
            {"Name": "train_loss", "Regex": "'loss': '?([0-9.]*)"},
        ],
    }
    hyperparameters: dict[str, Any] = {
        "model_type": "tiny-gpt2",
        "dataset_name": "sample",
        "do_train": True,
        "do_eval": False,
        "num_train_epochs": 2,
        "block_size": 32,
        "max_train_samples": 16,
        "overwrite_output_dir": True,
        "save_strategy": "no",
        "evaluation_strategy": "no",
        "logging_strategy": "epoch",
        "output_dir": "/opt/ml/model",
        "dataloader_drop_last": True,
        "preprocessing_num_workers": 12,
    }

    # --- native ---
    from sagemaker.pytorch import PyTorch

    hyperparameters["per_device_train_batch_size"] = 2
    hyperparameters["learning_rate"] = float("5e-5") / 32 * hyperparameters["per_device_train_batch_size"]
    native = PyTorch(
        **estimator_args,
        framework_version="1.11",
        hyperparameters=hyperparameters,
        distribution={"smdistributed": {"dataparallel": {"enabled": True}}},
    )
    native.fit(wait=False)

    # --- compiled ---
    from sagemaker.huggingface import HuggingFace, TrainingCompilerConfig

    hyperparameters["per_device_train_batch_size"] = 4
    hyperparameters["learning_rate"] = float("5e-5") / 32 * hyperparameters["per_device_train_batch_size"]
    optimized = HuggingFace(
        compiler_config=TrainingCompilerConfig(),
        transformers_version="4.21",
        pytorch_version="1.11",
        hyperparameters=hyperparameters,
        distribution={"pytorchxla": {"enabled": True}},
        **estimator_args,
    )
    optimized.fit(wait=False)

    # --- wait, and lose the kernel ---
    names = {"native": native.latest_training_job.name, "optimized": optimized.latest_training_job.name}
    for estimator, name in zip((native, optimized), names.values(), strict=True):
        waiter = estimator.sagemaker_session.sagemaker_client.get_waiter("training_job_completed_or_stopped")
        waiter.wait(TrainingJobName=name, WaiterConfig=WAIT)
    attached = HuggingFace.attach(names["optimized"], sagemaker_session=session)

    # --- logs, as %%capture has them ---
    found: dict[str, dict[str, Any]] = {}
    for word, name in names.items():
        captured = io.StringIO()
        with contextlib.redirect_stdout(captured):
            attached.sagemaker_session.logs_for_job(name)
        found[word] = summarize(captured.getvalue())

    # --- analysis ---
    stats = pd.DataFrame([rows["summary"] for rows in found.values()], index=list(found))
    client = attached.sagemaker_session.sagemaker_client
    billable = {
        word: client.describe_training_job(TrainingJobName=name)["BillableTimeInSeconds"]
        for word, name in names.items()
    }
    frame = pd.DataFrame(billable, index=["BillableSecs"])
    metrics = sagemaker.TrainingJobAnalytics(names["native"], metric_names=["train_loss"]).dataframe()

    # --- clean up ---
    sm = boto3.client("sagemaker")
    statuses = {
        word: sm.describe_training_job(TrainingJobName=name)["TrainingJobStatus"] for word, name in names.items()
    }
    for word, name in names.items():
        if statuses[word] == "InProgress":
            sm.stop_training_job(TrainingJobName=name)
    return {
        "names": names,
        "role": role,
        "statuses": statuses,
        "throughput": {word: float(value) for word, value in stats["train_samples_per_second"].items()},
        "losses": {word: [float(row["loss"]) for row in rows["train"]] for word, rows in found.items()},
        "epochs": {word: [float(row["epoch"]) for row in rows["train"]] for word, rows in found.items()},
        "billable": {word: int(frame[word]["BillableSecs"]) for word in names},
        "metrics": len(metrics),
        "tags": {
            word: [tag["Value"] for tag in sm.list_tags(ResourceArn=client.describe_training_job(TrainingJobName=name)[
                "TrainingJobArn"])["Tags"] if tag["Key"] == "sm_trn:substituted"]
            for word, name in names.items()
        },
    }  # fmt: skip


def summarize(text: str) -> dict[str, Any]:
    """The dictionaries of a Trainer's log: one a logging step, one at the end."""
    final: dict[str, Any] = {"train": [], "summary": {}}
    for line in text.split("\n"):
        if "{" in line and "}" in line:
            with contextlib.suppress(ValueError, SyntaxError):
                row = literal_eval(line[line.index("{") : line.index("}") + 1])
                if isinstance(row, dict) and "loss" in row:
                    final["train"].append(row)
                elif isinstance(row, dict) and "train_runtime" in row:
                    final["summary"].update(row)
    return final


def main(scripts: str, instances: int) -> dict[str, Any]:
    from moto import mock_aws

    from sm_trn.emulator import Options, mocked

    with mock_aws(), mocked(region="us-east-1", options=Options(start_delay_s=0.05, max_jobs=2)):
        return cells(scripts, instances)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
