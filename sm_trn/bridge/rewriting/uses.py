"""What a program asks of an estimator, or of a job it has attached to, and how SDK v3's objects are asked the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

JOB: Final = "_latest_training_job"  # ModelTrainer has no public name for the job that it started
# Of an estimator: from an attribute of SDK v2 to the attributes of ModelTrainer.
ESTIMATOR: Final[Mapping[str, str]] = {
    "latest_training_job": JOB,
    "model_data": f"{JOB}.model_artifacts.s3_model_artifacts",
    "_current_job_name": f"{JOB}.training_job_name",
    "image_uri": "training_image",
    "instance_type": "compute.instance_type",
    "instance_count": "compute.instance_count",
    "volume_size": "compute.volume_size_in_gb",
    "max_run": "stopping_condition.max_runtime_in_seconds",
    "output_path": "output_data_config.s3_output_path",
    "source_dir": "source_code.source_dir",
    "entry_point": "source_code.entry_script",
    "input_mode": "training_input_mode",
}
SAME: Final = frozenset({"role", "base_job_name", "environment", "sagemaker_session"})  # of both classes alike
# Of the job that an estimator has started.
STARTED: Final[Mapping[str, str]] = {
    "name": "training_job_name",
    "job_name": "training_job_name",
    "wait": "wait",
    "stop": "stop",
}
# Of a job that the program has attached to: an estimator in SDK v2, a TrainingJob in SDK v3.
ATTACHED: Final[Mapping[str, str]] = {
    "model_data": "model_artifacts.s3_model_artifacts",
    "_current_job_name": "training_job_name",
    "role": "role_arn",
}
INSTEAD: Final[Mapping[str, str]] = {
    "deploy": "SDK v3 deploys by sagemaker.serve.ModelBuilder, whose arguments are others",
    "register": "SDK v3 registers by sagemaker.serve.ModelBuilder",
    "create_model": "SDK v3 makes models by sagemaker.serve.ModelBuilder",
    "transformer": "SDK v3 transforms by sagemaker.core.transformer.Transformer of a model",
    "describe": "SDK v3 answers with an object, not with the dictionary that the program goes on with",
}
