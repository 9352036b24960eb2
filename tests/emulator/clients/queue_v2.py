"""A launcher of SageMaker SDK v2 that puts its jobs into a training queue. It knows nothing of an emulator: the environment says where."""

import json
import sys

from sagemaker.aws_batch.training_queue import TrainingQueue
from sagemaker.estimator import Estimator
from sagemaker.huggingface import HuggingFace
from sagemaker.pytorch import PyTorch

role, folder, bucket, queue_name = sys.argv[1:]
cluster = {"role": role, "instance_type": "ml.m5.large", "instance_count": 1}
script = {"entry_point": "train.py", "source_dir": folder, "disable_profiler": True, "debugger_hook_config": False}
pytorch = PyTorch(**cluster, **script, framework_version="2.6", py_version="py312", hyperparameters={"epochs": 1})
hugging_face = HuggingFace(
    **{**cluster, "instance_type": "ml.g5.xlarge"},
    **script,
    transformers_version="4.49.0",
    pytorch_version="2.5.1",
    py_version="py311",
    base_job_name="bert",
)
plain = Estimator(
    **cluster,
    image_uri=pytorch.training_image_uri(),
    container_entry_point=["/bin/sh", "-c", "echo plain; exit 0"],
    base_job_name="plain",
)
queue = TrainingQueue(queue_name)
retry = {"attempts": 2, "evaluateOnExit": [{"action": "EXIT", "onStatusReason": "*"}]}
jobs = [
    queue.submit(pytorch, None, "pytorch-1", retry, 5, "research", {"attemptDurationSeconds": 600}, {"team": "a"}),
    queue.submit(training_job=hugging_face, inputs=None, share_identifier="product"),
    *queue.map(plain, [None, f"s3://{bucket}/data"], ["plain-1", "plain-2"], priority=3, share_identifier="research"),
]
done = [job.wait(timeout=90) for job in jobs]
estimator = jobs[0].get_estimator()
print(
    json.dumps(
        {
            "status": [each["status"] for each in done],
            "named": [job.job_name for job in queue.list_jobs(status="SUCCEEDED")],
            "one": queue.get_job("plain-2").job_name,
            "attached": estimator.latest_training_job.name,
            "epochs": estimator.hyperparameters().get("epochs"),
        }
    )
)
