"""These are the rules of CreateTrainingJob, and of UpdateTrainingJob, that need more than one member or more than the shape.

Texts marked (verbatim) are the service's own; the others say the same in our words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import AwsError, validation
from ..s3.object_store import parse_s3_uri
from .warm_pool import pool_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..container.cluster import Channel, S3Source
    from .job import Job
    from .request import Algorithm, InstanceGroup, Resources, TrainingRequest

_DAY = 86_400
_REMOTE_DEBUG = ("Downloading", "Training")  # the API reference of UpdateTrainingJob


def check_request(body: TrainingRequest, has_objects: Callable[[str, str], bool], region: str) -> None:
    """Raise the AwsError that the service would answer with. ``has_objects(bucket, prefix)`` looks into S3."""
    _check_algorithm(body.get("AlgorithmSpecification"))
    _check_resources(body.get("ResourceConfig"))
    _check_warm_pool(body)
    _check_times(body)
    _check_channels(body, has_objects, region)


def _check_algorithm(algorithm: Algorithm | None) -> None:
    if algorithm is None:
        raise validation("AlgorithmSpecification: missing; the emulator runs training images only, no serverless jobs")
    if bool(algorithm.get("TrainingImage")) == bool(algorithm.get("AlgorithmName")):
        raise validation("AlgorithmSpecification: give exactly one of TrainingImage and AlgorithmName")


def _check_resources(resources: Resources | None) -> None:
    if not resources:
        raise validation("ResourceConfig: missing; wanted InstanceType, InstanceCount and VolumeSizeInGB")
    if resources.get("InstancePreferences"):
        raise validation(
            "ResourceConfig.InstancePreferences: the emulator does not choose among instance types; give InstanceType"
        )
    groups = resources.get("InstanceGroups")
    if groups:
        _check_groups(resources, groups)
    elif not resources.get("InstanceType"):
        raise validation("ResourceConfig.InstanceType: missing")
    counts = {f"instanceGroups.{n}.member.": group.get("InstanceCount") for n, group in enumerate(groups or (), 1)}
    for at, count in (counts or {"": resources.get("InstanceCount")}).items():
        if not count or count < 1:
            raise validation(
                f"1 validation error detected: Value '{count}' at 'resourceConfig.{at}instanceCount' failed to satisfy "
                "constraint: Member must have value greater than or equal to 1"
            )
    whole = sum(group["InstanceCount"] for group in groups) if groups else resources["InstanceCount"]
    if whole > 16:
        raise AwsError("ResourceLimitExceeded", f"the emulator runs at most 16 hosts on one machine, got {whole}")


def _check_groups(resources: Resources, groups: Sequence[InstanceGroup]) -> None:
    """In a heterogeneous cluster InstanceType and InstanceCount belong to the groups, whose names differ."""
    alone = {"InstanceType": resources.get("InstanceType"), "InstanceCount": resources.get("InstanceCount")}
    both = [name for name, value in alone.items() if value]
    if both:
        raise validation(f"ResourceConfig: got InstanceGroups and {', '.join(both)}, wanted one or the other")
    names = [group["InstanceGroupName"] for group in groups]
    if len(set(names)) < len(names):
        raise validation(f"ResourceConfig.InstanceGroups: names must be unique, got {names}")


def _check_warm_pool(body: TrainingRequest) -> None:
    # https://docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools.html: no managed spot training
    if body["ResourceConfig"].get("KeepAlivePeriodInSeconds") and body.get("EnableManagedSpotTraining"):
        raise validation("KeepAlivePeriodInSeconds: managed spot training has no warm pools; leave out one of the two")


def _check_times(body: TrainingRequest) -> None:
    limits = body.get("StoppingCondition", {})
    longest, wait = limits.get("MaxRuntimeInSeconds", _DAY), limits.get("MaxWaitTimeInSeconds")
    if longest > 28 * _DAY:
        raise validation(f"MaxRuntimeInSeconds: got {longest}, wanted at most {28 * _DAY} (28 days)")
    if not body.get("EnableManagedSpotTraining"):
        if wait is not None:
            raise validation("MaxWaitTimeInSeconds: only allowed when EnableManagedSpotTraining is true")
        return
    if wait is None:
        raise validation("MaxWaitTimeInSeconds: missing; managed spot training needs it")
    if wait < longest:
        raise validation(
            f"Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal to "
            f"MaxRuntimeInSeconds; got {wait}, wanted at least {longest}"
        )


def _check_channels(body: TrainingRequest, has_objects: Callable[[str, str], bool], region: str) -> None:
    names = [channel["ChannelName"] for channel in body.get("InputDataConfig") or ()]
    if len(set(names)) < len(names):
        raise validation(f"InputDataConfig: channel names must be unique, got {names}")
    groups = {group["InstanceGroupName"] for group in body["ResourceConfig"].get("InstanceGroups") or ()}
    for channel in body.get("InputDataConfig") or ():
        source = channel["DataSource"].get("S3DataSource")
        if source is None:
            continue  # refused with a reason when the job starts: the request itself is legal
        _check_source(channel, source, groups, body)
        bucket, key = parse_s3_uri(source["S3Uri"])
        if not has_objects(bucket, key):
            raise validation(  # verbatim
                f'No S3 objects found under S3 URL "{source["S3Uri"]}" given in input data source. Please ensure that '
                f"the bucket exists in the selected region ({region}), that objects exist under that S3 prefix, and "
                f'that the role "{body["RoleArn"]}" has "s3:ListBucket" permissions on bucket "{bucket}".'
            )


def _check_source(channel: Channel, source: S3Source, groups: set[str], body: TrainingRequest) -> None:
    name = channel["ChannelName"]
    unknown = sorted(set(source.get("InstanceGroupNames") or ()) - groups)
    if unknown:
        raise validation(
            f"channel {name!r}: InstanceGroupNames: got {unknown}, wanted names of ResourceConfig.InstanceGroups"
        )
    mode = channel.get("InputMode") or body["AlgorithmSpecification"]["TrainingInputMode"]
    if source["S3DataType"] == "AugmentedManifestFile" and mode != "Pipe":  # the API reference of S3DataType
        raise validation(f"channel {name!r}: AugmentedManifestFile needs the input mode Pipe, got {mode}")


def updated(job: Job, body: TrainingRequest, now: float) -> tuple[TrainingRequest, float | None]:
    """Return the job's request after the change, and when its warm pool ends if the change ends it. Raises AwsError."""
    request, pool_end = job.request.copy(), None
    profiler, rules = body.get("ProfilerConfig"), body.get("ProfilerRuleConfigurations")
    if (profiler or rules) and job.state.terminal:
        name = "ProfilerConfig" if profiler else "ProfilerRuleConfigurations"
        raise validation(f"{name}: the training job is in status {job.status}; its profiling is over")
    if profiler:
        request["ProfilerConfig"] = {**request.get("ProfilerConfig", {}), **profiler}
    if rules:
        request["ProfilerRuleConfigurations"] = rules
    if body.get("RemoteDebugConfig"):
        if job.state.secondary not in _REMOTE_DEBUG:
            raise validation(
                f"RemoteDebugConfig: got a training job in {job.state.secondary}, wanted one in {' or '.join(_REMOTE_DEBUG)}"
            )
        request["RemoteDebugConfig"] = body["RemoteDebugConfig"]
    if body.get("ResourceConfig"):
        pool = pool_of(job, now)
        if pool is None or pool.status not in {"InUse", "Available"}:
            raise validation(
                f"ResourceConfig.KeepAlivePeriodInSeconds: the training job's warm pool is {pool.status if pool else 'absent'}; "
                "wanted one that is InUse or Available"
            )
        request["ResourceConfig"] = {**request["ResourceConfig"], **body["ResourceConfig"]}
        pool_end = None if body["ResourceConfig"]["KeepAlivePeriodInSeconds"] else now
    return request, pool_end
