"""A whole job by SageMaker SDK v3's ModelTrainer, which knows nothing of us: train with its own wait and logs.

Run as ``python sdk_v3.py FOLDER ROLE BUCKET`` by an interpreter that has SDK v3. Prints one JSON document, the last line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import boto3
from sagemaker.core.helper.session_helper import Session
from sagemaker.core.resources import TrainingJob
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, InputData, OutputDataConfig, SourceCode, StoppingCondition
from sagemaker.train.distributed import Torchrun

SCRIPT = """
import json, os, pathlib, sys
print("rows " + str(len(pathlib.Path(os.environ["SM_CHANNEL_TRAIN"], "rows.txt").read_text().split())))
print("arguments " + " ".join(sorted(sys.argv[1:])) + " rank " + os.environ["RANK"])
pathlib.Path(os.environ["SM_MODEL_DIR"], "done.txt").write_text("yes")
"""


def main(folder: Path, role: str, bucket: str) -> dict[str, Any]:
    (folder / "source").mkdir()
    (folder / "source/train.py").write_text(SCRIPT)
    (folder / "data").mkdir()
    (folder / "data/rows.txt").write_text("1\n2\n3\n")
    session = Session(boto_session=boto3.Session(), default_bucket=bucket)
    trainer = ModelTrainer(
        training_image="763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:2.6.0-cpu-py312",
        source_code=SourceCode(source_dir=str(folder / "source"), entry_script="train.py"),
        distributed=Torchrun(),
        compute=Compute(instance_type="ml.c5.xlarge", instance_count=1, volume_size_in_gb=10),
        stopping_condition=StoppingCondition(max_runtime_in_seconds=300),
        hyperparameters={"epochs": 3},
        output_data_config=OutputDataConfig(s3_output_path=f"s3://{bucket}/v3/out", compression_type="GZIP"),
        base_job_name="sdk-v3",
        role=role,
        sagemaker_session=session,
    )
    trainer.train(
        input_data_config=[InputData(channel_name="train", data_source=str(folder / "data"))], wait=True, logs=True
    )
    name = trainer._latest_training_job.training_job_name  # the SDK offers no other way to its name
    job = TrainingJob.get(name)
    return {
        "name": name,
        "status": job.training_job_status,
        "model": job.model_artifacts.s3_model_artifacts,
        "billable": job.billable_time_in_seconds,
        "listed": name in [each.training_job_name for each in TrainingJob.get_all(name_contains="sdk-v3")],
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])))
