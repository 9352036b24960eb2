"""Where a spec is sent."""

from __future__ import annotations

from dataclasses import dataclass

from .job import JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a spec is sent: what the account and the moment add to it. Defaults make a preview, not a launchable job.

    ``host`` is the instance type that answers with the trained model, for the targets that deploy it.

    >>> st.Destination(region="us-east-1", bucket="my-bucket").host
    'ml.c5.xlarge'
    """

    role: str = "arn:aws:iam::111122223333:role/service-role/YOUR-ROLE"
    region: str = "us-west-2"
    bucket: str = "YOUR-BUCKET"
    job_name: str | None = None
    source_uri: str | None = None
    host: str = "ml.c5.xlarge"

    def named(self, job: JobSpec) -> str:
        return self.job_name or job.name

    def source(self, job: JobSpec) -> str:
        asked = job.script.source_dir if job.script is not None else None
        there = asked if asked is not None and asked.startswith("s3://") else None
        return self.source_uri or there or f"s3://{self.bucket}/{self.named(job)}/source/sourcedir.tar.gz"
