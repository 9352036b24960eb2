"""Makes SDK v3's own ModelTrainer from a rendered call. The environment is another than SDK v2's: both are ``sagemaker``.

It must not know specs' rules; it only builds what ``render`` returned.
"""

from __future__ import annotations

from typing import Any

import boto3

from ..render import render
from ..specs.destination import Destination
from ..specs.job import JobSpec
from .estimators import QUIET_CONFIG, build, contained, load


def trainer_session(*, boto_session: Any = None, region: str | None = None, bucket: str | None = None) -> Any:
    """SDK v3's ``Session`` without usage reports. ``bucket`` None leaves the choice to the SDK."""
    cls = load("sagemaker.core.helper.session_helper.Session")
    with contained():
        return cls(
            boto_session=boto_session or boto3.Session(region_name=region),
            default_bucket=bucket,
            sagemaker_config=QUIET_CONFIG,
        )


def model_trainer(job: JobSpec, *, role: str, bucket: str | None = None, session: Any = None) -> Any:
    """The ``sagemaker.train.ModelTrainer`` of ``job``; train it with ``built(render(job, "model-trainer-v3").fit)``.

    ``session`` is SDK v3's; None makes one from boto3's own configuration. Raises InvalidJob when SDK v3 cannot say what
    the job asks for, NotConfigured without SDK v3, UnknownName when no image fits.
    """
    session = session or trainer_session(bucket=bucket)
    at = Destination(role=role, region=session.boto_region_name, bucket=bucket or session.default_bucket())
    return build(render(job, "model-trainer-v3", at=at), sagemaker_session=session)
