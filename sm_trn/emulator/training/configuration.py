"""What a training container is told of its job: the files of /opt/ml/input/config, and the variables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.catalog.toolkit import shell_reads_in
from ..api.shapes import given
from ..container import twins
from ..container.layout import ML, base_environment, localized

if TYPE_CHECKING:
    from ..api.shapes import Body
    from ..container.cluster import Plan
    from ..container.context import RunContext
    from ..container.layout import Where
    from ..iam.keys import Key
    from .job import Job


def write_configuration(where: Where, plan: Plan, request: Body) -> None:
    """hyperparameters.json, resourceconfig.json, inputdataconfig.json and checkpointconfig.json."""
    group = plan.group_of(where.name)
    documents: dict[str, Any] = {
        "hyperparameters": {
            name: localized(value, where) for name, value in (request.get("HyperParameters") or {}).items()
        },
        "resourceconfig": {
            "current_host": where.name,
            "current_instance_type": group.instance_type,
            "current_group_name": group.name,
            "hosts": list(plan.hosts),
            "network_interface_name": "lo",
            "instance_groups": [
                {"instance_group_name": each.name, "instance_type": each.instance_type, "hosts": list(each.hosts)}
                for each in plan.groups
            ],
        },
        "inputdataconfig": {
            channel["ChannelName"]: _channel(channel, request)
            for channel in request.get("InputDataConfig") or ()
            if where.name in plan.hosts_of(channel)
        },
    }
    checkpoint = request.get("CheckpointConfig")
    if checkpoint:
        documents["checkpointconfig"] = {
            "LocalPath": localized(checkpoint.get("LocalPath", f"{ML}/checkpoints"), where)
        }
    for name, document in documents.items():
        (where.ml / "input/config" / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def environment(where: Where, plan: Plan, job: Job, context: RunContext, key: Key, *, port: int) -> dict[str, str]:
    """Return the job's whole environment, built from nothing."""
    given = base_environment(where, context, key, job.request.get("Environment") or {})
    variables = twins.variables(where, context.shared.root, given)
    variables |= {
        "SAGEMAKER_TRAINING_MODULE": variables.get(
            "SAGEMAKER_TRAINING_MODULE", "sagemaker_pytorch_container.training:main"
        ),
        "TRAINING_JOB_NAME": job.name,
        "TRAINING_JOB_ARN": job.arn,
        "CURRENT_HOST": where.name,
        "SM_TRN_MASTER_PORT": str(port),
    }
    if plan.distributed:
        variables["SM_TRN_WORKERS"] = str(plan.group_of(where.name).workers)
    if shell_reads_in(job.request["AlgorithmSpecification"].get("TrainingImage", "")):
        variables["SM_TRN_SHELL"] = "1"
    if any(input_mode(channel, job.request) == "FastFile" for channel in job.request.get("InputDataConfig") or ()):
        variables["SM_TRN_READ_ONLY"] = "1"
    if where.seen_ml != ML:
        variables["SM_STUDIO_LOCAL_MODE"] = "true"
    return variables


def input_mode(channel: Body, request: Body) -> str:
    """Return how a channel's data come to the job: File, FastFile or Pipe."""
    return str(channel.get("InputMode") or request["AlgorithmSpecification"]["TrainingInputMode"])


def _channel(channel: Body, request: Body) -> dict[str, str]:
    return given(
        TrainingInputMode=input_mode(channel, request),
        S3DistributionType=channel["DataSource"]["S3DataSource"].get("S3DataDistributionType", "FullyReplicated"),
        RecordWrapperType=channel.get("RecordWrapperType", "None"),
        ContentType=channel.get("ContentType"),
    )
