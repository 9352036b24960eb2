"""These functions answer SageMaker's operations on processing jobs.

It checks and records; the runner does the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ..api.paging import ListRequest
from ..api.tags import tags_of
from ..errors import AwsError, validation
from ..s3.object_store import parse_s3_uri
from ..state.resources import Resource, Resources, row
from .request import ProcessingRequest, inputs_of, outputs_of

if TYPE_CHECKING:
    from ..s3.object_store import ObjectStore

KIND: Final = "processing-job"
FOLDER: Final = "/opt/ml/processing"  # the only one whose paths may be inputs and outputs
_DAY: Final = 86_400  # the default of MaxRuntimeInSeconds
_HOSTS: Final = 16


class Runner(Protocol):
    """Whoever runs the jobs is asked by these names."""

    def start(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...


class ProcessingApi:
    """The operations on processing jobs. Every one raises AwsError."""

    def __init__(self, resources: Resources, objects: ObjectStore, runner: Runner) -> None:
        self._resources = resources
        self._objects = objects
        self._runner = runner

    def create(self, body: ProcessingRequest) -> dict[str, str]:
        """Answer CreateProcessingJob. Raises AwsError for what is not processed here."""
        self._check(body)
        tags = tags_of(body.pop("Tags", []))
        resource = self._resources.add(KIND, body["ProcessingJobName"], body, tags=tags, status="InProgress")
        self._runner.start(resource.name)
        return {"ProcessingJobArn": resource.arn}

    def describe(self, body: ProcessingRequest) -> dict[str, object]:
        resource = self._get(body)
        limits = {"MaxRuntimeInSeconds": _DAY, **resource.request.get("StoppingCondition", {})}
        return {**resource.request, "StoppingCondition": limits, **row(resource)}

    def listed(self, body: ListRequest) -> dict[str, object]:
        """Answer ListProcessingJobs. Raises AwsError for a token that is none."""
        return self._resources.listed(KIND, body)

    def stop(self, body: ProcessingRequest) -> dict[str, str]:
        """Answer StopProcessingJob. Raises AwsError for a job that has ended."""
        resource = self._get(body)
        if resource.status not in {"InProgress", "Stopping"}:
            raise validation(f"The request was rejected because the processing job is in status {resource.status}.")
        self._runner.stop(resource.name)
        return {}

    def delete(self, body: ProcessingRequest) -> dict[str, str]:
        """Answer DeleteProcessingJob. Raises AwsError for a job that still runs."""
        resource = self._get(body)
        if resource.status in {"InProgress", "Stopping"}:
            raise AwsError(
                "ResourceInUse", f"The request was rejected because the processing job is in status {resource.status}."
            )
        self._resources.remove(KIND, resource.name)
        return {}

    def _check(self, body: ProcessingRequest) -> None:
        cluster = body["ProcessingResources"]["ClusterConfig"]
        if not cluster.get("InstanceCount") or not cluster.get("InstanceType"):
            raise validation("ProcessingResources.ClusterConfig: wanted InstanceCount, at least 1, and InstanceType")
        count = cluster["InstanceCount"]
        if count > _HOSTS:
            raise AwsError(
                "ResourceLimitExceeded", f"the emulator runs at most {_HOSTS} hosts on one machine, got {count}"
            )
        outputs = body.get("ProcessingOutputConfig") or {}
        others = [each["InputName"] for each in body.get("ProcessingInputs") or () if "S3Input" not in each]
        others += [each["OutputName"] for each in outputs.get("Outputs") or () if "S3Output" not in each]
        if others:
            raise validation(f"the emulator processes data of S3 only, got {', '.join(others)}")
        for path in (each.get("LocalPath") or "" for each in (*inputs_of(body), *outputs_of(body))):
            if not f"{path}/".startswith(f"{FOLDER}/") or ".." in path.split("/"):
                raise validation(f"LocalPath: got {path!r}, wanted a path below {FOLDER}")
        self._check_inputs(body)

    def _check_inputs(self, body: ProcessingRequest) -> None:
        for asked in inputs_of(body):
            if asked.get("S3InputMode") == "Pipe":
                raise validation("S3InputMode: the emulator copies inputs (File), it has no Pipe")
            bucket, key = parse_s3_uri(asked["S3Uri"])
            self._objects.ready.wait()
            if not self._objects.keys(bucket, key):
                raise validation(f'No S3 objects found under S3 URL "{asked["S3Uri"]}" given in input data source.')

    def _get(self, body: ProcessingRequest) -> Resource:
        return self._resources.get(KIND, body["ProcessingJobName"])
