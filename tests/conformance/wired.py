"""What the tests of conformance share: an emulator as the account, a clock that can be moved, and hands on the wire."""

from __future__ import annotations

import fnmatch
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sm_trn.account.conformance.answers import Answered, Answers, Step
from sm_trn.account.conformance.differences import Kind
from sm_trn.account.conformance.target import Target, find_target
from sm_trn.account.policies.parts import Policy
from sm_trn.core.aws.endpoint import EndpointSession
from sm_trn.core.specs.destination import Destination
from sm_trn.emulator import Endpoint

RECORDS = Path(__file__).parents[1] / "records"
# What steers a probe: with another value it would ask other things.
STEERING = frozenset({
    "TrainingJobStatus", "SecondaryStatus", "NextToken", "WarmPoolStatus", "FinalMetricDataList", "TrainingJobArn", "Tags", "Results",
    "logStreams", "events", "nextForwardToken",
})  # fmt: skip
ENDED = frozenset({"Completed", "Failed", "Stopped"})


class MovedClock:
    """Wall time, and what was added to it."""

    def __init__(self) -> None:
        self.added = 0.0

    def now(self) -> float:
        return time.time() + self.added

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class QuickClock:
    """A clock that sleeps by being moved."""

    def __init__(self) -> None:
        self._now = 1_700_000_000.0

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


def session_of(endpoint: Endpoint) -> EndpointSession:
    return EndpointSession(
        url=endpoint.url, access_key=endpoint.access_key, secret_key=endpoint.secret_key, region=endpoint.region
    )


def target_of(endpoint: Endpoint, session: EndpointSession | None = None) -> Target:
    return find_target(
        session or session_of(endpoint), region=endpoint.region, role=endpoint.role_arn, bucket=endpoint.bucket
    )


# --- calls, and what of IAM each needs ---

_LOGS = "arn:aws:logs:{region}:{account}:log-group:{group}:"
_S3 = {
    "PutObject": "PutObject", "GetObject": "GetObject", "HeadObject": "GetObject", "DeleteObject": "DeleteObject",
    "ListObjectsV2": "ListBucket", "DeleteObjects": "DeleteObject", "HeadBucket": "ListBucket",
}  # fmt: skip


def grants(policy: Policy) -> Iterator[tuple[str, str]]:
    """Every action with every pattern of a resource that it is allowed on."""
    for statement in policy["Statement"]:
        yield from itertools.product(statement["Action"], statement["Resource"])


@dataclass(frozen=True, slots=True)
class Used:
    """Actions and their resources, as the service authorization reference has them."""

    target: Target
    found: set[tuple[str, str]] = field(default_factory=set)

    def note(self, params: Mapping[str, Any], model: Any, **_event: Any) -> None:
        self.found.update(self._rights(model.service_model.service_name, model.name, params))

    def place(self) -> Destination:
        return Destination(role=self.target.role, bucket=self.target.bucket, region=self.target.region)

    def beyond(self, policy: Policy) -> list[tuple[str, str]]:
        """What was used and is not allowed."""
        allowed = list(grants(policy))
        return sorted(
            (action, resource)
            for action, resource in self.found
            if not any(action == a and fnmatch.fnmatchcase(resource, pattern) for a, pattern in allowed)
        )

    def _rights(self, service: str, operation: str, params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        here, account = self.target.region, self.target.account
        if service == "sts":
            return  # GetCallerIdentity needs no permission
        if service == "s3":
            bucket, action = params["Bucket"], f"s3:{_S3[operation]}"
            keys = [each["Key"] for each in params["Delete"]["Objects"]] if "Delete" in params else [params.get("Key")]
            yield from ((action, f"arn:aws:s3:::{bucket}/{key}" if key else f"arn:aws:s3:::{bucket}") for key in keys)
        elif service == "logs":
            place = _LOGS.format(region=here, account=account, group=params["logGroupName"])
            yield f"logs:{operation}", place + f"log-stream:{params.get('logStreamName', '')}".rstrip(":")
        elif operation in {"ListTrainingJobs", "Search"}:
            yield f"sagemaker:{operation}", "*"
        else:
            members = {"EndpointName": "endpoint", "EndpointConfigName": "endpoint-config", "ModelName": "model"}
            wanted = {operation.removeprefix(verb) + "Name" for verb in ("Create", "Describe", "Delete", "Invoke")}
            kinds = [
                (kind, params[member]) for member, kind in members.items() if member in params and member in wanted
            ]
            kind, name = kinds[0] if kinds else ("training-job", params.get("TrainingJobName", ""))
            arn = f"arn:aws:sagemaker:{here}:{account}:{kind}/{name}"
            yield f"sagemaker:{operation}", params.get("ResourceArn", arn)
            if operation.startswith("Create"):
                yield "sagemaker:AddTags", arn
                if operation in {"CreateTrainingJob", "CreateModel"}:
                    yield "iam:PassRole", self.target.role


# --- differences, planted on the wire ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """One difference: in which probe and operation, and what a comparison must say of it. ``path`` is where it is put."""

    probe: str
    operation: str
    phase: str
    what: str
    path: tuple[str, ...]
    kind: Kind
    field: str

    @property
    def expected(self) -> tuple[str, Kind, str]:
        return self.probe, self.kind, self.field


def plants(answers: Answers, seed: int, count: int) -> list[Plant]:
    """``count`` differences, each in a probe of its own, drawn over everything that was answered."""
    dice = random.Random(seed)
    found = [plant for answered in answers.probes if (plant := _plant(answered, dice)) is not None]
    dice.shuffle(found)
    return found[:count]


def _plant(answered: Answered, dice: random.Random) -> Plant | None:
    choices = [choice for step in answered.steps if not step.optional for choice in _choices(step)]
    kinds = sorted({kind.value for _, _, _, kind, _ in choices})
    if not kinds:
        return None
    wanted = dice.choice(kinds)
    step, what, path, kind, where = dice.choice([each for each in choices if each[3].value == wanted])
    phase = step.title.rpartition(", ")[2] if step.call.endswith("DescribeTrainingJob") else ""
    operation = step.call.partition(":")[2]
    return Plant(probe=answered.probe, operation=operation, phase=phase, what=what, path=path, kind=kind, field=where)


_Choice = tuple[Step, str, tuple[str, ...], Kind, str]


def _choices(step: Step) -> Iterator[_Choice]:
    # A describe is asked again and again until a job ends: late answers would be a job that does not.
    if not step.paced and step.call not in {"s3:presigned", "sagemaker:DescribeTrainingJob"}:
        yield step, "delay", (), Kind.TIMING, "time"
    if step.call.startswith("s3"):
        return
    if step.code:
        yield step, "code", (), Kind.CODE, "error code"
        yield step, "text", (), Kind.TEXT, "message"
    elif isinstance(step.answer, Mapping):
        for path, value in _paths(step.answer):
            where = ".".join(path)
            yield step, "missing", path, Kind.PRESENCE, where
            yield step, "type", path, Kind.TYPE, where
            yield step, "extra", path, Kind.PRESENCE, ".".join([*path[:-1], "Extra"])
            if isinstance(value, str) and not value.startswith("<"):
                yield step, "words", path, Kind.TEXT, where
        for name in ("SecondaryStatusTransitions", "events"):
            rows = step.answer.get(name)
            if isinstance(rows, Sequence) and len({json.dumps(row) for row in rows}) > 1:
                yield step, "order", (name,), Kind.ORDER, name


def _paths(value: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in value.items():
        if name in STEERING or name.startswith("<"):
            continue
        yield (*above, name), inner
        if isinstance(inner, Mapping):
            yield from _paths(inner, (*above, name))


class Planter:
    """Changes answers on their way: those of the probe that is sent now, as ``tell`` hears it."""

    def __init__(self, session: EndpointSession, planted: Sequence[Plant], clock: MovedClock) -> None:
        self._plants = {plant.probe: plant for plant in planted}
        self._clock = clock
        self._probe = ""
        session.events.register("before-parse", self._change)

    def tell(self, line: str) -> None:
        self._probe = line.partition("  ")[2]

    def _change(self, operation_model: Any, response_dict: dict[str, Any], **_event: Any) -> None:
        plant = self._plants.get(self._probe)
        if plant is None or operation_model.name != plant.operation:
            return
        if plant.what == "delay":
            self._clock.added += 60
            return
        body = json.loads(response_dict["body"])
        if not plant.phase or body.get("SecondaryStatus") == plant.phase or plant.phase not in _PHASES:
            CHANGES[plant.what](body, plant.path)
            response_dict["body"] = json.dumps(body).encode()


_PHASES = {"Training", "Completed", "Failed", "Stopped", "MaxRuntimeExceeded"}


def _inside(body: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    for name in path[:-1]:
        body = body.get(name, {})
    return body


def _delete(body: dict[str, Any], path: Sequence[str]) -> None:
    _inside(body, path).pop(path[-1], None)


def _add(body: dict[str, Any], path: Sequence[str]) -> None:
    _inside(body, path)["Extra"] = 1


def _retype(body: dict[str, Any], path: Sequence[str]) -> None:
    place = _inside(body, path)
    number = isinstance(place.get(path[-1]), (int, float)) and not isinstance(place[path[-1]], bool)
    place[path[-1]] = "text" if number else 7


def _reword(body: dict[str, Any], path: Sequence[str]) -> None:
    place = _inside(body, path)
    place[path[-1]] = f"{place.get(path[-1])} planted"


def _reverse(body: dict[str, Any], path: Sequence[str]) -> None:
    body[path[0]] = body[path[0]][::-1]


def _recode(body: dict[str, Any], _path: Sequence[str]) -> None:
    body["__type"] = "PlantedException"


def _resay(body: dict[str, Any], _path: Sequence[str]) -> None:
    for name in ("message", "Message"):
        if name in body:
            body[name] += " planted"


CHANGES: Mapping[str, Callable[[dict[str, Any], Sequence[str]], None]] = {
    "missing": _delete, "extra": _add, "type": _retype, "words": _reword, "order": _reverse, "code": _recode, "text": _resay,
}  # fmt: skip
