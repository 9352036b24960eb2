"""Differences between two jobs, field by field of their requests. Knows specs, and requests and describe answers as plain dicts."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import fields as table
from ..catalog import limits
from ..formatting.cards import HasCard
from ..specs.data import Source
from ..specs.destination import Destination
from ..specs.job import JobSpec, expect_spec
from ..specs.json import Json
from . import request as target
from .from_describe import decoded, destination_of
from .keeping import NAMED

# What the service writes into its answer for a field that was not sent.
ABSENT: tuple[Any, ...] = (None, False, "", "None", "GZIP", [], {})
UPLOADED = "/sm_trn/inputs/"  # where submit puts local data, under the hash of its content
FOLLOWS_THE_NAME = "HyperParameters.sagemaker_job_name"
NAME = "TrainingJobName"
OF_THE_LAUNCH = "Tags[sm_trn:launch]"  # two launches of one spec differ in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field whose values differ; None where it is absent."""

    field: str
    before: Any
    after: Any

    def sides(self) -> tuple[str, str]:
        """Both values as JSON; nothing for what is absent."""
        before, after = (
            "" if value is None else json.dumps(value, ensure_ascii=False) for value in (self.before, self.after)
        )
        return before, after


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff(HasCard):
    """Every difference between two jobs, in the order of the first one's request; false when there is none."""

    before: str
    after: str
    differences: tuple[Difference, ...]

    def __len__(self) -> int:
        return len(self.differences)

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __str__(self) -> str:
        if not self.differences:
            return f"No difference between {self.before} and {self.after}."
        lines = [f"--- {self.before}", f"+++ {self.after}"]
        for item in self.differences:
            lines.append(item.field)
            lines += [f"{sign} {shown}" for sign, shown in zip("-+", item.sides(), strict=True) if shown]
        several = len(self.differences) > 1
        return "\n".join([*lines, f"{len(self.differences)} field{'s' * several} differ{'' if several else 's'}."])


def diff(
    before: JobSpec | Mapping[str, Json], after: JobSpec | Mapping[str, Json], *, names: tuple[str, str] | None = None
) -> Diff:
    """Compare what two jobs ask for. Each is a spec, a request, or a describe answer (with its Tags).

    A spec is compared with a request as if it had gone to the same account and bucket; what is in its source and local data
    is not compared. Two specs are compared by their sources' places too, and by their names.
    """
    for side in (before, after):
        if not isinstance(side, Mapping):
            expect_spec(side)
    sent = [side for side in (before, after) if not isinstance(side, JobSpec)]
    one, two = (_request(side, sent[0] if sent else None) for side in (before, after))
    titles = names or (_title(before), _title(after))
    return Diff(before=titles[0], after=titles[1], differences=tuple(differences(one, two, names_matter=not sent)))


def _request(side: JobSpec | Mapping[str, Json], sent: Mapping[str, Json] | None) -> Mapping[str, Json]:
    if not isinstance(side, JobSpec):
        return side
    if sent is None:
        return target.render(side, symbolic_destination(side))
    return target.render(placed_as(side, sent), destination_of(sent))


def _title(side: JobSpec | Mapping[str, Json]) -> str:
    return side.name if isinstance(side, JobSpec) else str(side.get(NAME, "request"))


def fields(request: Mapping[str, Json]) -> dict[str, Json]:
    """The fields that CreateTrainingJob has, each by its path; hyperparameters as the values that their JSON stands for."""
    known = {*limits.shapes()["CreateTrainingJobRequest"]["members"], *table.members()}
    return dict(_walk("", {name: value for name, value in request.items() if name in known}))


def differences(before: Mapping[str, Json], after: Mapping[str, Json], *, names_matter: bool) -> list[Difference]:
    """Every field that differs, in the order of the first request. A service default equals an absent field."""
    one, two = fields(before), fields(after)
    ignored = {FOLLOWS_THE_NAME, OF_THE_LAUNCH, *([] if names_matter else [NAME])}
    return [
        Difference(field=name, before=one.get(name), after=two.get(name))
        for name in dict.fromkeys((*one, *two))
        if name not in ignored and not _same(one.get(name), two.get(name))
    ]


def symbolic_destination(job: JobSpec) -> Destination:
    """Where a spec goes when it is compared with another spec: two sources differ when their folders or commits do."""
    script = job.script
    if script is None:
        return Destination()
    source = f"{script.git.repo}@{script.git.commit or script.git.branch or 'HEAD'}:" if script.git else ""
    beside = "".join(f" + {path}" for path in script.dependencies)
    return Destination(source_uri=f"{source}{script.source_dir or 'shipped scripts'}{beside}")


def placed_as(job: JobSpec, answer: Mapping[str, Any]) -> JobSpec:
    """``job`` with its local data where the job of the answer has the data that was uploaded for it."""
    sent = {
        item["ChannelName"]: (item.get("DataSource") or {}).get("S3DataSource") or {}
        for item in answer.get("InputDataConfig") or ()
    }
    uris = {name: str(source.get("S3Uri", "")) for name, source in sent.items()}
    inputs: dict[str, str | Source] = dict(job.inputs)
    for name, channel in job.channels.items():
        if UPLOADED in uris.get(name, "") and "://" not in channel.uri:
            plain = isinstance(inputs[name], str)
            inputs[name] = uris[name] if plain else dataclasses.replace(channel, uri=uris[name])
    return job.replace(inputs=inputs)


def _same(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one in ABSENT and two in ABSENT
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _walk(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    name = path.rpartition(".")[2]
    if name == "HyperParameters":
        yield from ((f"{path}.{key}", decoded(text)) for key, text in value.items())
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
