"""This module answers ListTrainingJobs and Search: it filters, sorts and pages. It is pure and must not read the registry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..api.paging import ListRequest, page, select
from ..errors import validation
from .describe import summary
from .warm_pool import pool_of

if TYPE_CHECKING:
    from .job import Job
    from .request import SearchRequest


def list_jobs(jobs: Sequence[Job], body: ListRequest, now: float) -> dict[str, Any]:
    """List jobs; StatusEquals thins a page after it was cut, as the service documents. Raises AwsError."""
    rows, more = select([job for job in jobs if _wanted(job, body, now)], body)
    status = body.get("StatusEquals")
    return {"TrainingJobSummaries": [summary(job, now) for job in rows if status in {None, job.status}], **more}


def search(jobs: Sequence[Job], body: SearchRequest, render: Callable[[Job], Mapping[str, Any]]) -> dict[str, Any]:
    """Search(Resource=TrainingJob): filters over the describe answer and the tags, joined by And or Or. Raises AwsError."""
    expression = body.get("SearchExpression", {})
    if expression.get("NestedFilters") or expression.get("SubExpressions"):
        raise validation("SearchExpression: the emulator knows Filters only, no NestedFilters or SubExpressions")
    tests = [_filter(entry) for entry in expression.get("Filters", ())]
    join = any if expression.get("Operator") == "Or" and tests else all
    rows = {job.name: render(job) for job in jobs}
    found = [job for job in jobs if join(test(job, rows[job.name]) for test in tests)]
    by = {job.name: _field(job, rows[job.name], body.get("SortBy", "CreationTime")) for job in found}
    found.sort(key=lambda job: (str(type(by[job.name])), by[job.name]), reverse=body.get("SortOrder") != "Ascending")
    shown, more = page(found, body.get("NextToken"), body.get("MaxResults"))
    tags = {job.name: [{"Key": key, "Value": value} for key, value in job.tags.items()] for job in shown}
    return {"Results": [{"TrainingJob": {**rows[job.name], "Tags": tags[job.name]}} for job in shown], **more}


def _wanted(job: Job, body: ListRequest, now: float) -> bool:
    pool, plan = body.get("WarmPoolStatusEquals"), (job.request.get("ResourceConfig") or {}).get("TrainingPlanArn")
    return (pool is None or getattr(pool_of(job, now), "status", None) == pool) and body.get(
        "TrainingPlanArnEquals"
    ) in {None, plan}


def _filter(entry: Mapping[str, str]) -> Callable[[Job, Mapping[str, Any]], bool]:
    name, operator, wanted = entry["Name"], entry.get("Operator", "Equals"), entry.get("Value", "")
    tests: Mapping[str, Callable[[Any], bool]] = {
        "Equals": lambda got: str(got) == wanted,
        "NotEquals": lambda got: str(got) != wanted,
        "Contains": lambda got: got is not None and wanted.lower() in str(got).lower(),
        "Exists": lambda got: got is not None,
        "NotExists": lambda got: got is None,
        "In": lambda got: str(got) in wanted.split(","),
        "GreaterThan": lambda got: _number(got) > _bound(wanted),
        "GreaterThanOrEqualTo": lambda got: _number(got) >= _bound(wanted),
        "LessThan": lambda got: _number(got) < _bound(wanted),
        "LessThanOrEqualTo": lambda got: _number(got) <= _bound(wanted),
    }
    return lambda job, row: tests[operator](_field(job, row, name))


def _field(job: Job, row: Mapping[str, Any], name: str) -> Any:
    if name.startswith("Tags."):
        return job.tags.get(name.removeprefix("Tags."))
    if name.startswith("Metrics."):
        return next((m.value for m in job.metrics if m.name == name.removeprefix("Metrics.")), None)
    found: Any = row
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _number(value: Any) -> float:
    """What is no number is neither less nor greater than any: not a number, in IEEE's words."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _bound(text: str) -> float:
    number = _number(text)
    if math.isnan(number):
        raise validation(f"SearchExpression: {text!r} is not a number")
    return number
