"""These functions answer SageMaker's operations on experiments, their trials and the trials' components.

They are records only: nothing of them runs.
"""

from __future__ import annotations

import math
import statistics
import threading
from typing import TYPE_CHECKING, Final, cast

from ..api import shapes
from ..api.paging import ListRequest, select
from ..api.search import Row, search
from ..api.tags import tag_list
from ..errors import AwsError, validation
from ..state.resources import KINDS, Resource, Resources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..api.search import SearchRequest
    from .request import ExperimentListRequest, ExperimentRequest, MetricsRequest

EXPERIMENT: Final = "experiment"
TRIAL: Final = "experiment-trial"
COMPONENT: Final = "experiment-trial-component"
SEARCHED: Final = {"Experiment": EXPERIMENT, "ExperimentTrial": TRIAL, "ExperimentTrialComponent": COMPONENT}
_MAPS: Final = ("Parameters", "InputArtifacts", "OutputArtifacts")  # an update adds to them, key by key


class ExperimentsApi:
    """The operations on experiments. Every one raises AwsError. ``kind`` is one of the three above."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._lock = threading.Lock()  # what is changed is read first

    # --- create, update, delete ---

    def create(self, kind: str, body: ExperimentRequest) -> dict[str, str]:
        """Answer the Create of a kind. Raises AwsError for a name that is taken, and for a trial of no experiment."""
        if kind == TRIAL:
            self._get(EXPERIMENT, body["ExperimentName"])
        tags = {tag["Key"]: tag["Value"] for tag in body.pop("Tags", [])}
        return _arns(self._resources.add(kind, _name(kind, body), body, tags=tags))

    def update(self, kind: str, body: ExperimentRequest) -> dict[str, str]:
        """Answer the Update of a kind: what is not named stays. Raises AwsError."""
        with self._lock:
            resource = self._get(kind, _name(kind, body))
            request = {**resource.request, **{name: value for name, value in body.items() if "ToRemove" not in name}}
            for name in _MAPS:
                gone = cast("list[str]", body.get(f"{name}ToRemove", []))
                kept = {**resource.request.get(name, {}), **cast("dict[str, object]", body.get(name, {}))}
                if kept:
                    request[name] = {key: value for key, value in kept.items() if key not in gone}
            self._resources.change(kind, resource.name, request=request)
        return _arns(resource)

    def delete(self, kind: str, body: ExperimentRequest) -> dict[str, str]:
        """Answer the Delete of a kind. Raises AwsError for what still has, or is, a part of something."""
        resource = self._get(kind, _name(kind, body))
        if kind == EXPERIMENT and self._trials(resource.name):
            raise validation(f"Experiment '{resource.name}' has trials; delete them first.")
        if kind == TRIAL and self._components(resource.name):
            raise validation(f"Trial '{resource.name}' has trial components; disassociate them first.")
        if kind == COMPONENT and _trials_of(resource):
            raise validation(f"Trial component '{resource.name}' is associated with trials; disassociate it first.")
        self._resources.remove(kind, resource.name)
        return _arns(resource)

    def associate(self, body: ExperimentRequest) -> dict[str, str]:
        return self._link(body, lambda trials, name: [*trials, name] if name not in trials else trials)

    def disassociate(self, body: ExperimentRequest) -> dict[str, str]:
        return self._link(body, lambda trials, name: [each for each in trials if each != name])

    def _link(self, body: ExperimentRequest, change: Callable[[list[str], str], list[str]]) -> dict[str, str]:
        with self._lock:
            component, trial = self._get(COMPONENT, body["TrialComponentName"]), self._get(TRIAL, body["TrialName"])
            facts = {**component.facts, "trials": change(_trials_of(component), trial.name)}
            self._resources.change(COMPONENT, component.name, facts=facts)
        return {**_arns(component), **_arns(trial)}

    def put_metrics(self, body: MetricsRequest) -> dict[str, object]:
        """Answer BatchPutMetrics: every value is kept, for a describe sums them up. Raises AwsError for no such component."""
        shapes.check("BatchPutMetrics", body, "sagemaker-metrics")
        with self._lock:
            component = self._get(COMPONENT, body["TrialComponentName"])
            kept = {name: list(values) for name, values in component.facts.get("metrics", {}).items()}
            for each in body["MetricData"]:
                kept.setdefault(each["MetricName"], []).append([each["Timestamp"], each["Value"]])
            self._resources.change(COMPONENT, component.name, facts={**component.facts, "metrics": kept})
        return {"Errors": []}

    # --- describe, list, search, tags ---

    def describe(self, kind: str, body: ExperimentRequest) -> dict[str, object]:
        return _described(self._get(kind, _name(kind, body)))

    def listed(self, kind: str, body: ExperimentListRequest) -> dict[str, object]:
        """Answer the List of a kind. Raises AwsError for a token that is none, and for parents that do not exist."""
        within = cast("ListRequest", body)
        if "CreatedAfter" in body:
            within = {**within, "CreationTimeAfter": body["CreatedAfter"]}
        if "CreatedBefore" in body:
            within = {**within, "CreationTimeBefore": body["CreatedBefore"]}
        found, more = select(self._asked(kind, body), within)
        rows = KINDS[kind].rows
        members = shapes.service_model().shape_for(rows.replace("Summaries", "Summary")).members
        shown = [{name: value for name, value in _described(each).items() if name in members} for each in found]
        return {rows: shown, **more}

    def _asked(self, kind: str, body: ExperimentListRequest) -> list[Resource]:
        """Those of a kind that belong to whatever the request names."""
        found = self._resources.all(kind)
        if "SourceArn" in body:  # of components only: none here has another thing as its source
            return []
        if kind != EXPERIMENT and "ExperimentName" in body:
            trials = {each.name for each in self._trials(self._get(EXPERIMENT, body["ExperimentName"]).name)}
            found = [each for each in found if trials & ({each.name} if kind == TRIAL else {*_trials_of(each)})]
        if kind == COMPONENT and "TrialName" in body:
            trial = self._get(TRIAL, body["TrialName"]).name
            found = [each for each in found if trial in _trials_of(each)]
        if kind == TRIAL and "TrialComponentName" in body:
            named = _trials_of(self._get(COMPONENT, body["TrialComponentName"]))
            found = [each for each in found if each.name in named]
        return found

    def search(self, body: SearchRequest) -> dict[str, object]:
        """Search among those of a kind. Raises AwsError for an expression or a token that is none."""
        kind = SEARCHED[body["Resource"]]
        rows = [
            Row(each.name, {**_described(each), **self._around(each)}, each.tags) for each in self._resources.all(kind)
        ]
        word = KINDS[kind].word
        found, more = search(rows, body, shapes.service_model().shape_for(word).members)
        return {"Results": [{word: {**row.document, "Tags": tag_list(row.tags)}} for row in found], **more}

    def _around(self, resource: Resource) -> dict[str, object]:
        """What a search says more than a describe: the components of a trial, the parents of a component."""
        if resource.kind == TRIAL:
            parts = self._components(resource.name)
            return {"TrialComponentSummaries": [{"TrialComponentName": each.name, **_arns(each)} for each in parts]}
        if resource.kind == COMPONENT:
            found = (self._resources.find(TRIAL, name) for name in _trials_of(resource))
            parents = [
                {"TrialName": each.name, "ExperimentName": each.request["ExperimentName"]} for each in found if each
            ]
            return {"Parents": parents}
        return {}

    def no_associations(self, _body: object) -> dict[str, object]:
        """ListAssociations, of lineage: none can be made here, so there are none."""
        return {"AssociationSummaries": []}

    def _trials(self, experiment: str) -> list[Resource]:
        return [each for each in self._resources.all(TRIAL) if each.request["ExperimentName"] == experiment]

    def _components(self, trial: str) -> list[Resource]:
        return [each for each in self._resources.all(COMPONENT) if trial in _trials_of(each)]

    def _get(self, kind: str, name: str) -> Resource:
        found = self._resources.find(kind, name)
        if found is None:
            raise AwsError("ResourceNotFound", f"{KINDS[kind].noun.capitalize()} '{name}' does not exist.")
        return found


def _described(resource: Resource) -> dict[str, object]:
    word = KINDS[resource.kind].word
    by: Mapping[str, object] = {"CreatedBy": {}, "LastModifiedBy": {}}  # nobody of a Studio domain
    times = {"CreationTime": resource.created, "LastModifiedTime": resource.modified}
    answer = {
        "DisplayName": resource.name,
        **resource.request,
        **_arns(resource),
        f"{word}Name": resource.name,
        **times,
        **by,
    }
    if resource.kind == COMPONENT:
        answer["Metrics"] = [_summary(resource.arn, *each) for each in resource.facts.get("metrics", {}).items()]
    return answer


def _summary(arn: str, name: str, values: list[list[float]]) -> dict[str, object]:
    """TrialComponentMetricSummary; the standard deviation is that of all values, not an estimate from a sample."""
    numbers = [value for _, value in values]
    return {
        "MetricName": name,
        "SourceArn": arn,
        "TimeStamp": values[-1][0],
        "Max": max(numbers),
        "Min": min(numbers),
        "Last": numbers[-1],
        "Count": len(numbers),
        "Avg": math.fsum(numbers) / len(numbers),
        "StdDev": statistics.pstdev(numbers),
    }


def _arns(resource: Resource) -> dict[str, str]:
    return {f"{KINDS[resource.kind].word}Arn": resource.arn}


def _name(kind: str, body: ExperimentRequest) -> str:
    return cast("Mapping[str, str]", body)[f"{KINDS[kind].word}Name"]


def _trials_of(component: Resource) -> list[str]:
    return list(component.facts.get("trials", ()))
