"""A DescribeTrainingJob answer as the request it was made of, and where that request went. Knows no spec.

What the service adds is left out: status, times, ARNs, and the defaults that it writes into fields nobody sent. Where a
sent value equals such a default the two cannot be told apart; they mean the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from .. import fields
from ..catalog import limits
from ..specs.destination import Destination

OWN_TAGS: Final = (
    "sm_trn:",
    "aws:",
)  # written on the job by submit, by the emulator, by AWS: no part of what was asked
CODE_CHANNEL: Final = "code"  # how the source reaches a container that has no network
CODE_IN_CONTAINER: Final = "/opt/ml/input/data/code/sourcedir.tar.gz"

# What the service writes where nothing was sent. Source: describes of jobs whose requests are known, 2018 to 2026.
_DEFAULTS: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "CreateTrainingJobRequest": {
        "EnableNetworkIsolation": (False,),
        "EnableInterContainerTrafficEncryption": (False,),
        "EnableManagedSpotTraining": (False,),
    },
    "AlgorithmSpecification": {"EnableSageMakerMetricsTimeSeries": (False,)},
    "OutputDataConfig": {"KmsKeyId": ("",), "CompressionType": ("GZIP",)},
    "Channel": {"CompressionType": ("None",), "RecordWrapperType": ("None",)},
    "ResourceConfig": {"VolumeKmsKeyId": ("",), "InstanceCount": (0,), "VolumeSizeInGB": (0,)},
    "DebugRuleConfiguration": {"VolumeSizeInGB": (0,)},
    "ProfilerRuleConfiguration": {"VolumeSizeInGB": (0,)},
}
_ANSWERS: Final = {"ResourceConfig": frozenset({"SelectedInstanceType", "SelectedInstanceCount"})}  # not asked, told
_EMPTY_MEANS_ABSENT: Final = frozenset({"ResourceConfig", "HyperParameters", "Environment", "InputDataConfig"})


def as_request(answer: Mapping[str, Any], tags: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The CreateTrainingJob request behind a describe answer. ``tags`` are those of ListTags: no describe holds them."""
    model = limits.shapes()["CreateTrainingJobRequest"]["members"]
    newer = {name: answer[name] for name in fields.members() if name in answer and name not in model}
    request: dict[str, Any] = _cleaned("CreateTrainingJobRequest", answer) | newer
    own = {key: value for key, value in (tags or {}).items() if not key.startswith(OWN_TAGS)}
    listed = [item for item in request.pop("Tags", []) if not str(item.get("Key")).startswith(OWN_TAGS)]
    sent_tags = [{"Key": key, "Value": value} for key, value in own.items()] if tags is not None else listed
    return {**request, "Tags": sent_tags} if sent_tags else request


def destination_of(request: Mapping[str, Any], *, region: str | None = None) -> Destination:
    """Where a request, or a describe answer, was sent: a spec that is rendered for the same place differs in what was asked only.

    Without ``region`` it is the ARN's, the one the training toolkit was told, or that of the image's registry.
    """
    output = str((request.get("OutputDataConfig") or {}).get("S3OutputPath", ""))
    return Destination(
        role=str(request.get("RoleArn", "")),
        region=region or _region(request),
        bucket=output.removeprefix("s3://").split("/")[0],
        job_name=str(request["TrainingJobName"]),
        source_uri=source_of(request),
    )


def source_of(request: Mapping[str, Any]) -> str | None:
    """Where the job's source lies; None for a job that runs its image's own program."""
    place = decoded((request.get("HyperParameters") or {}).get("sagemaker_submit_directory"))
    if place != CODE_IN_CONTAINER:
        return place if isinstance(place, str) and place else None
    channels = request.get("InputDataConfig") or [{}]
    source = (channels[-1].get("DataSource") or {}).get("S3DataSource") or {}
    last = channels[-1].get("ChannelName") == CODE_CHANNEL
    return str(source["S3Uri"]) if last and source.get("S3Uri") else None


def decoded(text: Any) -> Any:
    """A hyperparameter as the training toolkit reads it: the value of its JSON, or else the text itself."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text


def _region(request: Mapping[str, Any]) -> str:
    arn = str(request.get("TrainingJobArn", "")).split(":")
    named = decoded((request.get("HyperParameters") or {}).get("sagemaker_region"))
    image = str((request.get("AlgorithmSpecification") or {}).get("TrainingImage", "")).partition("/")[0].split(".")
    if len(arn) > 5:
        return arn[3]
    if isinstance(named, str) and named:
        return named
    return image[3] if len(image) > 4 and image[1:3] == ["dkr", "ecr"] else Destination().region


def _cleaned(name: str, value: Any) -> Any:
    """``value`` with what its shape in CreateTrainingJob has, and without the service's own defaults."""
    shape = limits.shapes()[name]
    if shape["type"] == "list" and isinstance(value, (list, tuple)):
        return [_cleaned(shape["member"]["shape"], item) for item in value]
    if shape["type"] != "structure" or not isinstance(value, Mapping):
        return dict(value) if isinstance(value, Mapping) else value
    cleaned = {}
    for key, member in shape["members"].items():
        part = _cleaned(member["shape"], value[key]) if value.get(key) is not None else None
        defaults = _DEFAULTS.get(name, {}).get(key, ())
        if part is None or any(part == default and type(part) is type(default) for default in defaults):
            continue
        if key in _ANSWERS.get(name, ()):
            continue
        if part in ({}, []) and key in _EMPTY_MEANS_ABSENT:
            continue
        cleaned[key] = part
    return cleaned
