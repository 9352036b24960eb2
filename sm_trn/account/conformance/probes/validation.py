"""Requests that the service refuses before it makes anything: what it says then. Every one would run a minute if it were taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from ....core.specs.json import Json
from ..bench import Bench
from ..jobs import JOBS, Place, channel, request_of
from ..journal import TAG
from ..probe import VALIDATION, Probe

Change = Callable[[dict[str, Json], Place], Mapping[str, Json]]
_MINUTE = {"MaxRuntimeInSeconds": 60}
_CREATE = ("sagemaker:CreateTrainingJob", "sagemaker:StopTrainingJob")


def _resources(**changed: Json) -> Change:
    def change(request: dict[str, Json], _place: Place) -> Mapping[str, Json]:
        known = request["ResourceConfig"]
        return {"ResourceConfig": {**known, **changed} if isinstance(known, Mapping) else changed}

    return change


def _member(name: str, value: Json) -> Change:
    return lambda _request, _place: {name: value}


def _spot(limits: Mapping[str, Json]) -> Change:
    return lambda _request, _place: {"EnableManagedSpotTraining": True, "StoppingCondition": {**_MINUTE, **limits}}


def _both_programs(request: dict[str, Json], _place: Place) -> Mapping[str, Json]:
    known = request["AlgorithmSpecification"]
    return {"AlgorithmSpecification": {**known, "AlgorithmName": "conformance"} if isinstance(known, Mapping) else {}}


def _metrics(request: dict[str, Json], _place: Place) -> Mapping[str, Json]:
    known, many = request["AlgorithmSpecification"], [{"Name": "loss", "Regex": "loss ([0-9]+)"}] * 41
    return {"AlgorithmSpecification": {**known, "MetricDefinitions": many} if isinstance(known, Mapping) else {}}


def _tags(*keys: str) -> Change:
    return lambda _request, place: {"Tags": [{"Key": key, "Value": place.run} for key in (TAG, *keys)]}


def _kept_on_spot(request: dict[str, Json], place: Place) -> Mapping[str, Json]:
    kept = _resources(KeepAlivePeriodInSeconds=60)(request, place)
    return {**kept, **_spot({"MaxWaitTimeInSeconds": 60})(request, place)}


# What is changed in a legal request. Each breaks what the model or the documentation of CreateTrainingJob states:
# https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateTrainingJob.html
CHANGES: Final[Mapping[str, Change]] = {
    "a name with an underscore": lambda request, _place: {"TrainingJobName": f"{request['TrainingJobName']}_"},
    "a name of 64 characters": lambda request, _place: {
        "TrainingJobName": f"{request['TrainingJobName']}".ljust(64, "x")
    },
    "an instance type that does not exist": _resources(InstanceType="ml.none.large"),
    "no instance": _resources(InstanceCount=0),
    "a volume key of 2049 characters": _resources(VolumeKmsKeyId="a" * 2049),
    "a warm pool of 21601 seconds": _resources(KeepAlivePeriodInSeconds=21601),
    "a warm pool on spot": _kept_on_spot,
    "no time to run": _member("StoppingCondition", {"MaxRuntimeInSeconds": 0}),
    "a time to wait without spot": _member("StoppingCondition", {**_MINUTE, "MaxWaitTimeInSeconds": 120}),
    "spot without a time to wait": _spot({}),
    "spot with less time to wait than to run": _spot({"MaxWaitTimeInSeconds": 30}),
    "a role that is no ARN": _member("RoleArn", "conformance-role-without-arn"),
    "an image and an algorithm": _both_programs,
    "41 metrics": _metrics,
    "a hyperparameter of 2501 characters": _member("HyperParameters", {"line": "x" * 2501}),
    "101 hyperparameters": _member("HyperParameters", {f"a{n}": "1" for n in range(101)}),
    "an environment variable that begins with a digit": _member("Environment", {"1A": "1"}),
    "the same tag twice": _tags("line", "line"),
    "a tag of AWS's own": _tags("aws:line"),
    "the same channel twice": lambda _request, place: {
        "InputDataConfig": [channel("training", place.uri("none/")), channel("training", place.uri("none/"))]
    },
    "a channel without objects": lambda _request, place: {
        "InputDataConfig": [channel("training", place.uri("none/"))]
    },
}  # fmt: skip


def request_with(at: int, change: Change, place: Place) -> dict[str, Json]:
    """A request that is legal but for one change."""
    plain = request_of(JOBS["early"], place)
    request: dict[str, Json] = {**plain, "TrainingJobName": place.name(f"refused-{at}"), "StoppingCondition": _MINUTE}
    return {**request, **change(request, place)}


def _send(at: int, name: str, bench: Bench) -> None:
    bench.refused(name, request_with(at, CHANGES[name], bench.place))


def _absent(call: str, members: Mapping[str, Json], bench: Bench) -> None:
    bench.ask(call, {"TrainingJobName": bench.name("absent"), **members}, "a job that does not exist")


_ABSENT: Final[Mapping[str, Mapping[str, Json]]] = {
    "DescribeTrainingJob": {},
    "StopTrainingJob": {},
    "DeleteTrainingJob": {},
    "UpdateTrainingJob": {"ResourceConfig": {"KeepAlivePeriodInSeconds": 0}},
}

PROBES: Final = (
    *(
        Probe(name=f"create with {name}", battery=VALIDATION, sends=_CREATE, send=partial(_send, at, name))
        for at, name in enumerate(CHANGES)
    ),
    *(
        Probe(
            name=f"{name} of no job",
            battery=VALIDATION,
            sends=(f"sagemaker:{name}",),
            send=partial(_absent, f"sagemaker:{name}", members),
        )
        for name, members in _ABSENT.items()
    ),
)
