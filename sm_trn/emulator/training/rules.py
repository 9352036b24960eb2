"""These are the rules of CreateTrainingJob that need more than one member or more than the shape.

Texts marked (verbatim) are the service's own; the others say the same in our words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.catalog import images, limits
from ...core.catalog.instances import find_instance
from ...core.specs.framework import TorchNeuron
from ..api.shapes import Body
from ..errors import AwsError, validation
from ..objects import parse_s3_uri

_DAY = 86_400


def check_request(body: Body, has_objects: Callable[[str, str], bool], region: str) -> None:
    """Raise the AwsError that the service would answer with. ``has_objects(bucket, prefix)`` looks into S3."""
    _check_algorithm(body.get("AlgorithmSpecification"))
    _check_resources(body.get("ResourceConfig"))
    _check_times(body)
    _check_channels(body, has_objects, region)
    local = (body.get("TensorBoardOutputConfig") or {}).get("LocalPath") or ""
    if local.startswith(limits.RESERVED):
        raise validation(limits.RESERVED_PATH)


def _check_algorithm(algorithm: Body | None) -> None:
    if algorithm is None:
        raise validation("AlgorithmSpecification: missing; the emulator runs training images only, no serverless jobs")
    if bool(algorithm.get("TrainingImage")) == bool(algorithm.get("AlgorithmName")):
        raise validation("AlgorithmSpecification: give exactly one of TrainingImage and AlgorithmName")
    _check_image(algorithm.get("TrainingImage", ""))


def _check_image(uri: str) -> None:
    """Refuse an image of AWS's own whose version or Python was never published; any other image is taken at its word."""
    framework = images.recognise(uri)
    if framework is None or isinstance(framework, TorchNeuron):  # of whose images no page read here has a list
        return
    repository = uri.partition("/")[2].partition(":")[0]
    published = [
        row
        for family in images.families()
        for row in images.rows(family)
        if row.repository == repository
        and images.minor(row.pytorch) == images.minor(framework.pytorch)
        and framework.python in {row.python, None}
    ]
    if not published:
        raise validation(
            f"The requested image does not exist: {uri}. Please ensure that the repository has the tag; AWS's own images are "
            "listed by 'sm-trn catalog images', and newer ones can be added to the file that SM_TRN_CATALOG names."
        )


def _check_resources(resources: Body | None) -> None:
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


def _check_groups(resources: Body, groups: Sequence[Body]) -> None:
    """In a heterogeneous cluster InstanceType and InstanceCount belong to the groups, whose names differ."""
    alone = {"InstanceType": resources.get("InstanceType"), "InstanceCount": resources.get("InstanceCount")}
    both = [name for name, value in alone.items() if value]
    if both:
        raise validation(f"ResourceConfig: got InstanceGroups and {', '.join(both)}, wanted one or the other")
    names = [group["InstanceGroupName"] for group in groups]
    if len(set(names)) < len(names):
        raise validation(f"ResourceConfig.InstanceGroups: names must be unique, got {names}")


def _check_times(body: Body) -> None:
    times = body.get("StoppingCondition", {})
    longest, wait = times.get("MaxRuntimeInSeconds", _DAY), times.get("MaxWaitTimeInSeconds")
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


def _check_channels(body: Body, has_objects: Callable[[str, str], bool], region: str) -> None:
    names = [channel["ChannelName"] for channel in body.get("InputDataConfig") or ()]
    if len(set(names)) < len(names):
        raise validation(f"InputDataConfig: channel names must be unique, got {names}")
    groups = {group["InstanceGroupName"] for group in body["ResourceConfig"].get("InstanceGroups") or ()}
    assigned = [
        channel["ChannelName"]
        for channel in body.get("InputDataConfig") or ()
        if (channel["DataSource"].get("S3DataSource") or {}).get("InstanceGroupNames")
    ]
    others = [name for name in names if name not in assigned]
    if assigned and others:
        raise validation(limits.MIXED_CHANNELS.format(assigned=", ".join(assigned), others=", ".join(others)))
    instance = find_instance(str(body["ResourceConfig"].get("InstanceType")))
    if body["ResourceConfig"].get("VolumeKmsKeyId") and instance is not None and instance.nvme:
        raise validation(limits.LOCAL_DISKS.format(instance=instance.name))
    for channel in body.get("InputDataConfig") or ():
        source = channel["DataSource"].get("S3DataSource")
        if source is None:
            continue  # refused with a reason when the job starts: the request itself is legal
        unknown = sorted(set(source.get("InstanceGroupNames") or ()) - groups)
        if unknown:
            raise validation(
                f"channel {channel['ChannelName']!r}: InstanceGroupNames: got {unknown}, wanted names of ResourceConfig.InstanceGroups"
            )
        bucket, key = parse_s3_uri(source["S3Uri"])
        if not has_objects(bucket, key):
            raise validation(  # verbatim
                f'No S3 objects found under S3 URL "{source["S3Uri"]}" given in input data source. Please ensure that '
                f"the bucket exists in the selected region ({region}), that objects exist under that S3 prefix, and "
                f'that the role "{body["RoleArn"]}" has "s3:ListBucket" permissions on bucket "{bucket}".'
            )
