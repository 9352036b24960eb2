"""A whole job by SageMaker SDK v2, which knows nothing of us: fit, logs, attach, metrics, deploy, predict.

Run as ``python sdk_v2.py FOLDER wait|nowait ROLE BUCKET``: with ``wait`` every wait is the SDK's own (every 10 to 30 s), else boto3's
waiters stand in for them. Prints one JSON document, the last line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import sagemaker
from sagemaker.analytics import TrainingJobAnalytics
from sagemaker.deserializers import JSONDeserializer
from sagemaker.pytorch import PyTorch
from sagemaker.serializers import JSONSerializer

SCRIPT = """
import json, os, pathlib

def model_fn(folder):
    return float(pathlib.Path(folder, "factor.txt").read_text())

def input_fn(body, kind):
    return json.loads(body)

def predict_fn(value, factor):
    return value * factor

if __name__ == "__main__":
    train = pathlib.Path(os.environ["SM_CHANNEL_TRAIN"])
    print("rows", len((train / "rows.txt").read_text().split()))
    for step, loss in enumerate((0.5, 0.25)):
        print(f"loss={loss}; step={step}")
    pathlib.Path(os.environ["SM_MODEL_DIR"], "factor.txt").write_text("2")
"""


def main(folder: Path, wait: bool) -> dict[str, Any]:
    (folder / "source").mkdir()
    (folder / "source/train.py").write_text(SCRIPT)
    (folder / "rows.txt").write_text("1\n2\n3\n")
    session = sagemaker.Session(default_bucket=sys.argv[4])
    client = session.sagemaker_client
    estimator = PyTorch(
        entry_point="train.py",
        source_dir=str(folder / "source"),
        role=sys.argv[3],
        framework_version="2.6.0",
        py_version="py312",
        instance_type="ml.c5.xlarge",
        instance_count=1,
        base_job_name="sdk-v2",
        metric_definitions=[{"Name": "loss", "Regex": "loss=([0-9.]+)"}],
        sagemaker_session=session,
    )
    data = session.upload_data(str(folder / "rows.txt"), key_prefix="sdk-v2/train")
    estimator.fit({"train": data}, logs="All", wait=wait)
    name = estimator.latest_training_job.name
    client.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 120}
    )
    attached = PyTorch.attach(name, sagemaker_session=session)
    session.logs_for_job(name, wait=True, log_type="All")
    frame = TrainingJobAnalytics(name, metric_names=["loss"], sagemaker_session=session).dataframe()
    predictor = attached.deploy(
        1, "ml.c5.xlarge", serializer=JSONSerializer(), deserializer=JSONDeserializer(), wait=wait, entry_point="train.py",
        source_dir=str(folder / "source"),
    )  # fmt: skip
    client.get_waiter("endpoint_in_service").wait(
        EndpointName=predictor.endpoint_name, WaiterConfig={"Delay": 1, "MaxAttempts": 120}
    )
    predicted = predictor.predict(21)
    predictor.delete_endpoint()
    return {
        "name": name,
        "model": attached.model_data,
        "hyperparameters": attached.hyperparameters(),
        "metrics": [[row.metric_name, float(row.value)] for row in frame.itertuples()],
        "predicted": predicted,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2] == "wait")))
