"""What a training host is given – its configuration, its variables, the script's source – and the upload of what it leaves."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..api.shapes import Body, given
from ..container import transfer, twins
from ..container.archive import UnsafeArchive, unpack
from ..container.context import Context
from ..container.layout import INSIDE, ML, Where, base_environment, localized
from ..container.transfer import TransferError
from ..errors import AwsError
from ..iam.keys import Key
from ..objects import Objects, parse_s3_uri
from .jobs import Job
from .plan import Plan, input_mode

_VOLUME_GB = 1024  # of an instance that brings its own disk


def write_configuration(where: Where, plan: Plan, request: Body) -> None:
    """Write hyperparameters.json, resourceconfig.json, inputdataconfig.json and checkpointconfig.json."""
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
            channel["ChannelName"]: given(
                TrainingInputMode=input_mode(channel, request),
                S3DistributionType=channel["DataSource"]["S3DataSource"].get(
                    "S3DataDistributionType", "FullyReplicated"
                ),
                RecordWrapperType=channel.get("RecordWrapperType", "None"),
                ContentType=channel.get("ContentType"),
            )
            for channel in request.get("InputDataConfig") or ()
            if where.name in plan.hosts_of(channel)
        },
    }
    checkpoint = request.get("CheckpointConfig")
    if checkpoint:
        local = checkpoint.get("LocalPath", f"{ML}/checkpoints")
        documents["checkpointconfig"] = {"LocalPath": localized(local, where)}
    for name, document in documents.items():
        (where.ml / "input/config" / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def environment(where: Where, plan: Plan, job: Job, context: Context, key: Key, *, port: int) -> dict[str, str]:
    """Return the whole environment of a host: nothing of the caller's but what is allowed."""
    variables = base_environment(where, context, key, job.request.get("Environment") or {})
    variables = twins.variables(where, context.root, variables)
    variables.setdefault("SAGEMAKER_TRAINING_MODULE", "sagemaker_pytorch_container.training:main")
    variables |= {
        "TRAINING_JOB_NAME": job.name,
        "TRAINING_JOB_ARN": job.arn,
        "CURRENT_HOST": where.name,
        "SM_TRN_MASTER_PORT": str(port),
    }
    if plan.neuron:
        library = context.root / "neuron"  # built once for all jobs
        library.mkdir(exist_ok=True)
        variables |= {"SM_TRN_NEURON": str(library), "CUDA_VISIBLE_DEVICES": ""}
        variables["PYTHONPATH"] = f"{INSIDE / 'neuron'}:{variables['PYTHONPATH']}"
    if plan.distributed:
        variables["SM_TRN_WORKERS"] = str(plan.group_of(where.name).workers)
    if any(input_mode(channel, job.request) == "FastFile" for channel in job.request.get("InputDataConfig") or ()):
        variables["SM_TRN_READ_ONLY"] = "1"
    if where.seen_ml != ML:
        variables["SM_STUDIO_LOCAL_MODE"] = "true"
    return variables


def unpack_source(objects: Objects, request: Body, places: Sequence[Where]) -> None:
    """Bring the job's code to /opt/ml/code of every host, as the toolkit does by itself. Raises TransferError."""
    text = (request.get("HyperParameters") or {}).get("sagemaker_submit_directory", '""')
    try:
        uri = str(json.loads(text))
    except ValueError:
        uri = text
    if not uri.startswith("s3://"):
        return
    try:
        for where in places:
            with objects.open(*parse_s3_uri(uri)) as packed:
                unpack(packed, where.ml / "code")
    except KeyError as error:
        raise TransferError(f"ClientError: the source {uri!r} does not exist") from error
    except UnsafeArchive as error:
        raise TransferError(f"ClientError: the source {uri!r} cannot be unpacked: {error}") from error


def upload(context: Context, job: Job, places: list[Where], *, model: bool, note: Callable[[str], None]) -> str | None:
    """Upload the model and the output data, all hosts merged; without ``model`` the output data only.

    Return where the model is. Raises TransferError.
    """
    output = job.request["OutputDataConfig"]
    bucket, prefix = parse_s3_uri(output["S3OutputPath"].rstrip("/") + "/" + job.name + "/output")
    models = [(where.name, where.ml / "model") for where in places]
    data = [(where.name, where.ml / "output/data") for where in places]
    volume = int(job.request["ResourceConfig"].get("VolumeSizeInGB") or _VOLUME_GB)
    transfer.check_volume([root for _, root in (*models, *data)], volume)

    def put_archive(key: str, roots: list[tuple[str, Path]]) -> None:
        with tempfile.TemporaryFile(dir=context.root / "tmp") as out:
            transfer.archive(out, roots, note)
            out.seek(0)
            context.objects.put_file(bucket, key, out)

    uri = None
    try:
        if model and output.get("CompressionType") == "NONE":
            for name, path in transfer.merged(models):
                context.objects.put_file(bucket, f"{prefix}/model/{name}", path)
            uri = f"s3://{bucket}/{prefix}/model/"
        elif model:
            put_archive(f"{prefix}/model.tar.gz", models)
            uri = f"s3://{bucket}/{prefix}/model.tar.gz"
        if any(root.is_dir() and any(root.iterdir()) for _, root in data):
            put_archive(f"{prefix}/output.tar.gz", data)
    except KeyError as error:
        raise TransferError(f"ClientError: Artifact upload failed: the bucket {bucket!r} does not exist") from error
    except AwsError as fault:
        raise TransferError(f"ClientError: Artifact upload failed: {fault.message}") from fault
    return uri
