"""The upload of what a training job leaves: its model and its output data, of all hosts merged."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from ..container import transfer
from ..errors import AwsError
from ..objects import parse_s3_uri

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..container.layout import Where
    from .job import Job
    from .jobs import TrainingContext

    Roots = list[tuple[str, Path]]

_VOLUME_GB = 1024  # of an instance that brings its own disk


def upload(
    context: TrainingContext, job: Job, places: list[Where], *, model: bool, note: Callable[[str], None]
) -> None:
    """Both, or without ``model`` only the output data; the job then knows where its model is. Raises TransferError."""
    output = job.request["OutputDataConfig"]
    bucket, prefix = parse_s3_uri(output["S3OutputPath"].rstrip("/") + "/" + job.name + "/output")
    models = [(where.name, where.ml / "model") for where in places]
    data = [(where.name, where.ml / "output/data") for where in places]
    volume = job.request["ResourceConfig"].get("VolumeSizeInGB") or _VOLUME_GB
    transfer.check_volume([root for _, root in (*models, *data)], int(volume))
    try:
        if model and output.get("CompressionType") == "NONE":
            for name, path in transfer.merged(models):
                context.shared.objects.put_file(bucket, f"{prefix}/model/{name}", path)
            context.jobs.change(job.name, model_uri=f"s3://{bucket}/{prefix}/model/")
        elif model:
            _put_archive(context, bucket, f"{prefix}/model.tar.gz", models, note)
            context.jobs.change(job.name, model_uri=f"s3://{bucket}/{prefix}/model.tar.gz")
        if any(root.is_dir() and any(root.iterdir()) for _, root in data):
            _put_archive(context, bucket, f"{prefix}/output.tar.gz", data, note)
    except KeyError as error:
        raise transfer.TransferError(
            f"ClientError: Artifact upload failed: the bucket {bucket!r} does not exist"
        ) from error
    except AwsError as fault:
        raise transfer.TransferError(f"ClientError: Artifact upload failed: {fault.message}") from fault


def _put_archive(context: TrainingContext, bucket: str, key: str, roots: Roots, note: Callable[[str], None]) -> None:
    with tempfile.TemporaryFile(dir=context.state / "tmp") as out:
        transfer.archive(out, roots, note)
        out.seek(0)
        context.shared.objects.put_file(bucket, key, out)
