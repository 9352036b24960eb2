"""This module answers ListTrainingJobs and Search: it filters, sorts and pages. It is pure and must not read the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..api.paging import page
from ..errors import validation
from .describe import summary
from .warm_pool import pool_of

if TYPE_CHECKING:
    from .job import Job

_SORT_KEYS: Mapping[str, Callable[[Job], Any]] = {
    "Name": lambda job: job.name,
    "CreationTime": lambda job: job.state.created,
    "Status": lambda job: job.state.status,
}


def list_jobs(jobs: Sequence[Job], body: Mapping[str, Any], now: float) -> dict[str, Any]:
    """List the newest first unless asked otherwise; StatusEquals thins a page after it was cut, as the service documents."""
    found = [job for job in jobs if _wanted(job, body, now)]
    key = _SORT_KEYS[body.get("SortBy", "CreationTime")]
    found.sort(key=lambda job: (key(job), job.name), reverse=body.get("SortOrder", "Descending") == "Descending")
    rows, token = page(found, body, 10)
    status = body.get("StatusEquals")
    answer: dict[str, Any] = {
        "TrainingJobSummaries": [summary(job, now) for job in rows if status is None or job.state.status == status]
    }
    return answer | ({"NextToken": token} if token else {})


def search(jobs: Sequence[Job], body: Mapping[str, Any], render: Callable[[Job], dict[str, Any]]) -> dict[str, Any]:
    """Search(Resource=TrainingJob): filters over the describe answer and the tags, joined by And or Or."""
    expression = body.get("SearchExpression", {})
    if expression.get("NestedFilters") or expression.get("SubExpressions"):
        raise validation("SearchExpression: the emulator knows Filters only, no NestedFilters or SubExpressions")
    tests = [_filter(entry) for entry in expression.get("Filters", ())]
    join = any if expression.get("Operator") == "Or" and tests else all
    found = [(job, render(job)) for job in jobs]
    found = [(job, row) for job, row in found if join(test(job, row) for test in tests)]
    by = body.get("SortBy", "CreationTime")
    found.sort(
        key=lambda pair: (str(type(pair[1].get(by))), pair[1].get(by)), reverse=body.get("SortOrder") != "Ascending"
    )
    shown, token = page(found, body, 10)
    rows = [
        {"TrainingJob": {**row, "Tags": [{"Key": k, "Value": v} for k, v in job.tags.items()]}} for job, row in shown
    ]
    return {"Results": rows} | ({"NextToken": token} if token else {})


def _wanted(job: Job, body: Mapping[str, Any], now: float) -> bool:
    state, pool = job.state, body.get("WarmPoolStatusEquals")
    plan = (job.request.get("ResourceConfig") or {}).get("TrainingPlanArn")
    return (
        body.get("NameContains", "").lower() in job.name.lower()
        and _after(state.created, body.get("CreationTimeAfter"))
        and _before(state.created, body.get("CreationTimeBefore"))
        and _after(state.modified, body.get("LastModifiedTimeAfter"))
        and _before(state.modified, body.get("LastModifiedTimeBefore"))
        and (pool is None or getattr(pool_of(job, now), "status", None) == pool)
        and body.get("TrainingPlanArnEquals") in {None, plan}
    )


def _after(moment: float, limit: float | None) -> bool:
    return limit is None or moment > float(limit)


def _before(moment: float, limit: float | None) -> bool:
    return limit is None or moment < float(limit)


def _filter(entry: Mapping[str, Any]) -> Callable[[Job, Mapping[str, Any]], bool]:
    name, operator, wanted = entry["Name"], entry.get("Operator", "Equals"), entry.get("Value", "")
    tests: Mapping[str, Callable[[Any], bool]] = {
        "Equals": lambda got: str(got) == wanted,
        "NotEquals": lambda got: str(got) != wanted,
        "Contains": lambda got: got is not None and wanted.lower() in str(got).lower(),
        "Exists": lambda got: got is not None,
        "NotExists": lambda got: got is None,
        "In": lambda got: str(got) in wanted.split(","),
        "GreaterThan": lambda got: _number(got) is not None and _number(got) > _bound(wanted),
        "GreaterThanOrEqualTo": lambda got: _number(got) is not None and _number(got) >= _bound(wanted),
        "LessThan": lambda got: _number(got) is not None and _number(got) < _bound(wanted),
        "LessThanOrEqualTo": lambda got: _number(got) is not None and _number(got) <= _bound(wanted),
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


def _number(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _bound(text: str) -> float:
    number = _number(text)
    if number is None:
        raise validation(f"SearchExpression: {text!r} is not a number")
    return float(number)
