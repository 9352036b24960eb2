"""The training jobs of a run: one tiny script each, a limit of time, and the request that starts it. It must not send anything."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from ...core.catalog.images import image_uri
from ...core.pricing.book import Price
from ...core.pricing.cost import usd_for
from ...core.specs.compute import Compute
from ...core.specs.framework import PyTorch
from ...core.specs.job import JobSpec, Script
from ...core.specs.json import Json, Object
from ...core.specs.units import Usd, WallSeconds
from ..policies.conformance import PREFIX
from .journal import TAG

INSTANCE: Final = "ml.m5.xlarge"
MAX_RUN_S: Final = 900
# A stop waits up to 120 s for the script, then uploads: https://docs.aws.amazon.com/sagemaker/latest/dg/how-it-works-training.html
STOP_S: Final = 300
FRAMEWORK: Final = PyTorch("1.13.1", python="py39")
KEEP_ALIVE_S: Final = 60
_WAITS = "echo conformance ready; trap 'echo conformance stopped; exit 0' TERM; sleep 3000 & wait"
# A traceback in one write: the toolkit quotes it by the pieces in which it arrives, which is chance.
_RAISES = """import os, sys
print("conformance line 1", flush=True)
os.write(2, b"Traceback (most recent call last):\\nValueError: nothing to read\\n")
sys.exit(1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """One job of a run. ``script`` is a line of the shell, or with ``toolkit`` a Python script that the toolkit starts.

    ``limit_s`` is MaxRuntimeInSeconds, ``short_limit_s`` the same where nothing has to be pulled first; ``members`` are added to
    the request as they are.
    """

    key: str
    battery: str
    script: str
    toolkit: bool = False
    limit_s: int = MAX_RUN_S
    short_limit_s: int = MAX_RUN_S
    spot: bool = False
    keep_alive_s: int = 0
    with_input: bool = False
    members: Mapping[str, Json] = field(default_factory=dict)

    @property
    def most_billed_s(self) -> WallSeconds:
        """Seconds that can be billed at most: the limit, a stop, and the time that the machine is kept."""
        return WallSeconds(self.limit_s + STOP_S + self.keep_alive_s)

    def most_usd(self, price: Price) -> Usd:
        """What it costs at most. Spot is counted as on demand."""
        return usd_for(self.most_billed_s, 1, price.usd_per_hour)


JOBS: Final[Mapping[str, JobPlan]] = MappingProxyType({
    plan.key: plan
    for plan in (
        JobPlan(
            key="plain",
            battery="life of a job",
            script="echo conformance line 1; echo conformance loss 0.5; cat /opt/ml/input/data/training/*; "
            "echo conformance line 3; echo model > /opt/ml/model/model.txt",
            with_input=True,
            members={"HyperParameters": {"epoch": "1"}, "Environment": {"CONFORMANCE": "1"}},
        ),
        JobPlan(
            key="failing",
            battery="life of a job",
            script="echo conformance line 1; echo file is missing > /opt/ml/output/failure; exit 3",
        ),
        JobPlan(
            key="script",
            battery="life of a job",
            script=_RAISES,
            toolkit=True,
        ),
        JobPlan(key="stopped", battery="life of a job", script=_WAITS),
        JobPlan(key="early", battery="spot, limits, stop", script=_WAITS),
        JobPlan(key="overlong", battery="spot, limits, stop", script=_WAITS, limit_s=300, short_limit_s=3),
        JobPlan(
            key="spot",
            battery="spot, limits, stop",
            script="echo saved > /opt/ml/checkpoints/epoch-1.txt; echo conformance line 1; echo model > /opt/ml/model/model.txt",
            spot=True,
        ),
        JobPlan(key="kept", battery="spot, limits, stop", script="echo conformance line 1", keep_alive_s=KEEP_ALIVE_S),
    )
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a run's requests point to: ``root`` is the run's own prefix in the bucket, without a slash at its end."""

    run: str
    region: str
    role: str
    bucket: str
    emulated: bool

    @property
    def root(self) -> str:
        return f"{PREFIX}/{self.run}"

    def name(self, key: str) -> str:
        """The name of the run's job ``key``."""
        return f"{PREFIX}-{self.run}-{key}"

    def uri(self, path: str) -> str:
        return f"s3://{self.bucket}/{self.root}/{path}"


def image(region: str, instance: str = INSTANCE) -> str:
    """The image of the jobs in a region. Raises UnknownName where AWS has none there."""
    spec = JobSpec(
        name="conformance", script=Script("train.py", source_dir="."), framework=FRAMEWORK, compute=Compute(instance)
    )
    return image_uri(spec, region)


def request_of(plan: JobPlan, place: Place) -> dict[str, Json]:
    """The CreateTrainingJob request, tagged with the run."""
    limit = plan.short_limit_s if place.emulated else plan.limit_s
    limits = {"MaxRuntimeInSeconds": limit} | ({"MaxWaitTimeInSeconds": limit + 600} if plan.spot else {})
    request: dict[str, Json] = {
        "TrainingJobName": place.name(plan.key),
        "RoleArn": place.role,
        "AlgorithmSpecification": _algorithm(plan, place),
        "OutputDataConfig": {"S3OutputPath": place.uri("out")},
        "ResourceConfig": {
            "InstanceType": INSTANCE,
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
            **({"KeepAlivePeriodInSeconds": plan.keep_alive_s} if plan.keep_alive_s else {}),
        },
        "StoppingCondition": limits,
        "Tags": [{"Key": TAG, "Value": place.run}],
        **plan.members,
    }
    if plan.toolkit:
        request["HyperParameters"] = _toolkit(plan, place)
    if plan.spot:
        request["EnableManagedSpotTraining"] = True
        request["CheckpointConfig"] = {"S3Uri": place.uri("checkpoints")}
    if plan.with_input:
        request["InputDataConfig"] = [channel("training", place.uri("input/"))]
    return request


def channel(name: str, uri: str) -> Object:
    """A channel of files."""
    source = {"S3DataType": "S3Prefix", "S3Uri": uri, "S3DataDistributionType": "FullyReplicated"}
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}}


def files_of(plan: JobPlan, place: Place) -> Mapping[str, bytes]:
    """The objects that must be in the bucket before the job starts, by their keys."""
    found = {f"{place.root}/input/lines.txt": b"conformance line 2\n"} if plan.with_input else {}
    return found | ({f"{place.root}/{plan.key}/sourcedir.tar.gz": _packed(plan.script)} if plan.toolkit else {})


def usd(plans: tuple[JobPlan, ...], price: Price) -> Usd:
    """What jobs cost together at most."""
    return sum((plan.most_usd(price) for plan in plans), Decimal(0))


def _algorithm(plan: JobPlan, place: Place) -> Object:
    shell = {} if plan.toolkit else {"ContainerEntrypoint": ["/bin/sh", "-c", plan.script]}
    return {
        "TrainingImage": image(place.region),
        "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": "loss ([0-9.]+)"}],
        **shell,
    }


def _toolkit(plan: JobPlan, place: Place) -> Object:
    given = {
        "sagemaker_program": "train.py",
        "sagemaker_submit_directory": place.uri(f"{plan.key}/sourcedir.tar.gz"),
        "sagemaker_job_name": place.name(plan.key),
        "sagemaker_container_log_level": 20,
        "sagemaker_region": place.region,
    }
    return {name: json.dumps(value) for name, value in given.items()}


def _packed(script: str) -> bytes:
    out, text = io.BytesIO(), script.encode()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        member = tarfile.TarInfo("train.py")
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
    return out.getvalue()
