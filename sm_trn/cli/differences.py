"""What differs between two requests, field by field. Knows requests and describe answers as plain dicts; reads nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..catalog import limits
from ..specs import Destination, JobSpec

# Lists whose entries have a name: an entry that only moved has not changed.
NAMED = {
    "MetricDefinitions": "Name",
    "InputDataConfig": "ChannelName",
    "Tags": "Key",
    "InstanceGroups": "InstanceGroupName",
}
# What the service writes into its answer for a field that was not sent.
ABSENT: tuple[Any, ...] = (None, False, "", "None", "GZIP", [], {})
UPLOADED = "/sm_trn/inputs/"  # where submit puts local data, under the hash of its content
FOLLOWS_THE_NAME = "HyperParameters.sagemaker_job_name"
NAME = "TrainingJobName"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field whose values differ; None where it is absent."""

    field: str
    before: Any
    after: Any


def fields(request: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that CreateTrainingJob has, each by its path; hyperparameters as the values that their JSON stands for."""
    known = limits.shapes()["CreateTrainingJobRequest"]["members"]
    return dict(_walk("", {name: value for name, value in request.items() if name in known}))


def differences(before: Mapping[str, Any], after: Mapping[str, Any], *, names_matter: bool) -> list[Difference]:
    """Every field that differs, in the order of the first request. A service default equals an absent field."""
    one, two = fields(before), fields(after)
    ignored = {FOLLOWS_THE_NAME} if names_matter else {FOLLOWS_THE_NAME, NAME}
    return [
        Difference(field=name, before=one.get(name), after=two.get(name))
        for name in dict.fromkeys((*one, *two))
        if name not in ignored and not _same(one.get(name), two.get(name))
    ]


def destination_of(job: JobSpec) -> Destination:
    """Where a spec goes when it is compared with another spec: two sources differ when their folders or commits do."""
    git = job.script.git
    source = f"{git.repo}@{git.commit or git.branch or 'HEAD'}:" if git else ""
    return Destination(source_uri=f"{source}{job.script.source_dir or 'shipped scripts'}")


def destination_from(answer: Mapping[str, Any]) -> Destination:
    """Where the job of a describe answer went: a spec that is rendered for the same place differs in what was asked only."""
    sent = {name: _decoded(value) for name, value in answer.get("HyperParameters", {}).items()}
    output = str(answer.get("OutputDataConfig", {}).get("S3OutputPath", ""))
    return Destination(
        role=str(answer.get("RoleArn", "")),
        region=str(answer["TrainingJobArn"]).split(":")[3],
        bucket=output.removeprefix("s3://").split("/")[0],
        job_name=str(answer["TrainingJobName"]),
        source_uri=str(sent.get("sagemaker_submit_directory", "")) or None,
    )


def placed_as(job: JobSpec, answer: Mapping[str, Any]) -> JobSpec:
    """``job`` with its local data where the job of the answer has the data that was uploaded for it."""
    sent = {
        item["ChannelName"]: item["DataSource"].get("S3DataSource", {}) for item in answer.get("InputDataConfig", ())
    }
    uris = {name: str(source.get("S3Uri", "")) for name, source in sent.items()}
    inputs = {
        name: dataclasses.replace(channel, uri=uris[name])
        if UPLOADED in uris.get(name, "") and "://" not in channel.uri
        else channel
        for name, channel in job.channels.items()
    }
    return job.replace(inputs=inputs)


def _same(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one in ABSENT and two in ABSENT
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _walk(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    name = path.rpartition(".")[2]
    if name == "HyperParameters":
        yield from ((f"{path}.{key}", _decoded(text)) for key, text in value.items())
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(f"{path}.{key}".lstrip("."), item)
    elif name in NAMED and isinstance(value, list):
        for item in value:
            rest = {key: part for key, part in item.items() if key != NAMED[name]}
            alone = next(iter(rest.values())) if len(rest) == 1 else rest
            yield from _walk(f"{path}[{item[NAMED[name]]}]", rest if isinstance(alone, Mapping) else alone)
    else:
        yield path, value


def _decoded(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text
