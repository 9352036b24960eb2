"""The classic notebook on GPT-2 with SageMaker SDK v2's own classes: SMDDP against the Training Compiler.

Run as ``python gpt2_notebook.py SCRIPTS INSTANCES`` with SCRIPTS the folder of the entry scripts, whose language model is a real
Hugging Face Trainer script. Nothing of ours is named in ``cells``; the SDK asks STS at an address of AWS's whatever the
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
    import sagemaker
    from sagemaker.huggingface import HuggingFace, TrainingCompilerConfig
    from sagemaker.pytorch import PyTorch

    session = sagemaker.Session(default_bucket=sagemaker.Session().default_bucket())
    shared: dict[str, Any] = {
        "entry_point": "train_language_model.py",
        "source_dir": scripts,
        "instance_type": "ml.p4d.24xlarge",
        "instance_count": instances,
        "role": sagemaker.get_execution_role(),
        "py_version": "py38",
        "disable_profiler": True,
        "debugger_hook_config": False,
        "sagemaker_session": session,
        "metric_definitions": [{"Name": "train_loss", "Regex": "'loss': '?([0-9.]*)"}],
        "hyperparameters": {
            "model_type": "tiny-gpt2",
            "dataset_name": "sample",
            "do_train": True,
            "do_eval": False,
            "num_train_epochs": 2,
            "block_size": 32,
            "max_train_samples": 16,
            "per_device_train_batch_size": 2,
            "save_strategy": "no",
            "logging_strategy": "epoch",
            "output_dir": "/opt/ml/model",
        },
    }
    data_parallel = {"smdistributed": {"dataparallel": {"enabled": True}}}
    native = PyTorch(**shared, framework_version="1.11", distribution=data_parallel)
    native.fit(wait=False)
    optimized = HuggingFace(
        **shared,
        compiler_config=TrainingCompilerConfig(),
        transformers_version="4.21",
        pytorch_version="1.11",
        distribution={"pytorchxla": {"enabled": True}},
    )
    optimized.fit(wait=False)
    names = {"native": native.latest_training_job.name, "optimized": optimized.latest_training_job.name}
    client = session.sagemaker_client
    for name in names.values():
        client.get_waiter("training_job_completed_or_stopped").wait(TrainingJobName=name, WaiterConfig=WAIT)
    attached = HuggingFace.attach(names["optimized"], sagemaker_session=session)
    losses = {}
    for word, name in names.items():
        captured = io.StringIO()
        with contextlib.redirect_stdout(captured):
            attached.sagemaker_session.logs_for_job(name)
        losses[word] = losses_of(captured.getvalue())
    answers = {word: client.describe_training_job(TrainingJobName=name) for word, name in names.items()}
    tags = {word: client.list_tags(ResourceArn=each["TrainingJobArn"])["Tags"] for word, each in answers.items()}
    return {
        "role": shared["role"],
        "statuses": {word: each["TrainingJobStatus"] for word, each in answers.items()},
        "billable": {word: each["BillableTimeInSeconds"] for word, each in answers.items()},
        "losses": losses,
        "metrics": len(sagemaker.TrainingJobAnalytics(names["native"], metric_names=["train_loss"]).dataframe()),
        "tags": {word: {tag["Key"]: tag["Value"] for tag in each} for word, each in tags.items()},
    }


def losses_of(text: str) -> list[float]:
    """The losses of a Trainer's log, one a logging step."""
    losses = []
    for line in text.split("\n"):
        with contextlib.suppress(ValueError, SyntaxError):
            row = literal_eval(line[line.index("{") : line.index("}") + 1])
            losses += [float(row["loss"])] if isinstance(row, dict) and "loss" in row else []
    return losses


if __name__ == "__main__":
    from moto import mock_aws

    from sm_trn.emulator import Options, mocked

    with mock_aws(), mocked(region="us-east-1", options=Options(max_jobs=2)):
        print(json.dumps(cells(sys.argv[1], int(sys.argv[2]))))
