"""Where a spec is sent, and which region is meant where a call names none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .job import JobSpec

DEFAULT_REGION = "us-west-2"  # of most rows of the shipped prices
REGION_VARIABLES = ("SM_TRN_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")


def region_named(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """The first variable that names a region, and the region; None where none does."""
    return next(((name, environment[name]) for name in REGION_VARIABLES if environment.get(name)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a spec is sent: what the account and the moment add to it. Defaults make a preview, not a launchable job.

    ``host`` is the instance type that answers with the trained model, for the targets that deploy it.

    >>> st.specs.Destination(region="us-east-1", bucket="my-bucket").host
    'ml.c5.xlarge'
    """

    role: str = "arn:aws:iam::111122223333:role/service-role/YOUR-ROLE"
    region: str = DEFAULT_REGION
    bucket: str = "YOUR-BUCKET"
    job_name: str | None = None
    source_uri: str | None = None
    host: str = "ml.c5.xlarge"

    def named(self, job: JobSpec) -> str:
        return self.job_name or job.name

    def source(self, job: JobSpec) -> str:
        folder = job.script.source_dir if job.script is not None else None
        there = folder if folder is not None and folder.startswith("s3://") else None
        return self.source_uri or there or f"s3://{self.bucket}/{self.named(job)}/source/sourcedir.tar.gz"


def spec_key(job_name: str) -> str:
    """Where in the bucket the spec of a job lies."""
    return f"sm_trn/jobs/{job_name}/spec.json"
