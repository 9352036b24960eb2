"""Target ``request``: the CreateTrainingJob request, field for field what SDK v2 sends for the same wish."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..catalog import image_uri
from ..specs import Destination, HyperValue, JobSpec
from ..strategies import plan

CONTAINER_LOG_LEVEL = 20  # logging.INFO, as the SDK sends


def render(job: JobSpec, at: Destination) -> dict[str, Any]:
    """The request as a dict. Raises UnknownName when no image fits the framework or the region."""
    request: dict[str, Any] = {
        "TrainingJobName": at.named(job),
        "AlgorithmSpecification": _algorithm(job, at),
        "RoleArn": at.role,
        "OutputDataConfig": {"S3OutputPath": f"s3://{at.bucket}/"},
        "ResourceConfig": {
            "InstanceCount": job.compute.count,
            "InstanceType": job.compute.instance,
            "VolumeSizeInGB": job.compute.volume_gb,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": job.max_run_s},
        "HyperParameters": encode({**job.hyperparameters, **toolkit_hyperparameters(job, at)}),
        "ProfilerConfig": {"DisableProfiler": True},
    }
    if job.inputs:
        request["InputDataConfig"] = [_channel(name, uri) for name, uri in job.inputs.items()]
    if job.spot is not None:
        request["EnableManagedSpotTraining"] = True
        request["StoppingCondition"]["MaxWaitTimeInSeconds"] = job.spot.max_wait_s
        if job.spot.checkpoint_s3_uri:
            request["CheckpointConfig"] = {"S3Uri": job.spot.checkpoint_s3_uri}
            if job.spot.checkpoint_local_path:
                request["CheckpointConfig"]["LocalPath"] = job.spot.checkpoint_local_path
    if job.environment:
        request["Environment"] = dict(job.environment)
    if job.tags:
        request["Tags"] = [{"Key": key, "Value": value} for key, value in job.tags.items()]
    return request


def encode(hyperparameters: Mapping[str, HyperValue]) -> dict[str, str]:
    """Every value as JSON text, which is how SDK v2 sends it and how the toolkit in the container reads it."""
    return {str(key): json.dumps(value) for key, value in hyperparameters.items()}


def toolkit_hyperparameters(job: JobSpec, at: Destination) -> dict[str, HyperValue]:
    """What the training toolkit in the container needs beside the user's own hyperparameters."""
    own: dict[str, HyperValue] = dict(plan(job).toolkit)
    if job.compiler is not None and job.compiled:
        own["sagemaker_training_compiler_enabled"] = True
        own["sagemaker_training_compiler_debug_mode"] = job.compiler.debug
    return own | {
        "sagemaker_submit_directory": at.source(job),
        "sagemaker_program": job.script.entry,
        "sagemaker_container_log_level": CONTAINER_LOG_LEVEL,
        "sagemaker_job_name": at.named(job),
        "sagemaker_region": at.region,
    }


def _algorithm(job: JobSpec, at: Destination) -> dict[str, Any]:
    algorithm: dict[str, Any] = {
        "TrainingImage": image_uri(job, at.region),
        "TrainingInputMode": "File",
        "EnableSageMakerMetricsTimeSeries": True,
    }
    if job.metrics:
        algorithm["MetricDefinitions"] = [{"Name": rule.name, "Regex": rule.regex} for rule in job.metrics]
    return algorithm


def _channel(name: str, uri: str) -> dict[str, Any]:
    source = {"S3DataType": "S3Prefix", "S3Uri": uri, "S3DataDistributionType": "FullyReplicated"}
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}}
