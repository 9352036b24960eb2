"""Rules of CreateTrainingJob that need more than one member or more than the shape: spot, counts, inputs.

Texts marked (verbatim) are the service's own; the others say the same in our words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sm_trn.emulator.faults import AwsFault, validation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DAY = 86_400


def check_request(body: Mapping[str, Any], has_objects: Callable[[str, str], bool], region: str) -> None:
    """Raise the fault the service would answer with. ``has_objects(bucket, prefix)`` looks into S3."""
    _check_algorithm(body.get("AlgorithmSpecification"))
    _check_resources(body.get("ResourceConfig"))
    _check_times(body)
    _check_channels(body, has_objects, region)


def parse_s3_uri(uri: str) -> tuple[str, str]:
    """Bucket and key of ``s3://bucket/key``; an HTTPS form is refused."""
    if not uri.startswith("s3://"):
        raise validation(f"got {uri!r}, wanted a URI of the form s3://bucket/key")
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def _check_algorithm(algorithm: Mapping[str, Any] | None) -> None:
    if algorithm is None:
        raise validation("AlgorithmSpecification: missing; the emulator runs training images only, no serverless jobs")
    if bool(algorithm.get("TrainingImage")) == bool(algorithm.get("AlgorithmName")):
        raise validation("AlgorithmSpecification: give exactly one of TrainingImage and AlgorithmName")


def _check_resources(resources: Mapping[str, Any] | None) -> None:
    if not resources:
        raise validation("ResourceConfig: missing; wanted InstanceType, InstanceCount and VolumeSizeInGB")
    if resources.get("InstanceGroups"):
        raise validation("ResourceConfig.InstanceGroups: the emulator runs homogeneous clusters only")
    count = resources.get("InstanceCount")
    if not count or count < 1:
        raise validation(
            f"1 validation error detected: Value '{count}' at 'resourceConfig.instanceCount' failed to satisfy "
            "constraint: Member must have value greater than or equal to 1"
        )
    if not resources.get("InstanceType"):
        raise validation("ResourceConfig.InstanceType: missing")
    if count > 16:
        raise AwsFault("ResourceLimitExceeded", f"the emulator runs at most 16 hosts on one machine, got {count}")


def _check_times(body: Mapping[str, Any]) -> None:
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


def _check_channels(body: Mapping[str, Any], has_objects: Callable[[str, str], bool], region: str) -> None:
    names = [channel["ChannelName"] for channel in body.get("InputDataConfig") or ()]
    if len(set(names)) < len(names):
        raise validation(f"InputDataConfig: channel names must be unique, got {names}")
    for channel in body.get("InputDataConfig") or ():
        source = channel["DataSource"].get("S3DataSource")
        if source is None:
            continue  # refused with a reason when the job starts: the request itself is legal
        bucket, key = parse_s3_uri(source["S3Uri"])
        if not has_objects(bucket, key):
            raise validation(  # verbatim
                f'No S3 objects found under S3 URL "{source["S3Uri"]}" given in input data source. Please ensure that '
                f"the bucket exists in the selected region ({region}), that objects exist under that S3 prefix, and "
                f'that the role "{body["RoleArn"]}" has "s3:ListBucket" permissions on bucket "{bucket}".'
            )
