"""What holds between the values of one answer, or between an answer and what was asked: placeholders hide the values, so this is kept.

A value in the wrong unit, an end before its start and an echo of another request show here alone. It must not know who answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from ...core.specs.json import Json, Object

_DAY_S: Final = 86_400.0
_NEAR_S: Final = 1.0  # whole seconds are counted, so one more or less is none
# Moments of one thing, in the order in which they come.
_ORDER: Final = (
    ("CreationTime", "TrainingStartTime", "TrainingEndTime", "LastModifiedTime"),
    ("StartTime", "EndTime"),
    ("firstEventTimestamp", "lastEventTimestamp"),
)
_SECONDS: Final = (
    "CreationTime",
    "TrainingStartTime",
    "TrainingEndTime",
    "LastModifiedTime",
    "StartTime",
    "EndTime",
    "LastModified",
)
_MILLISECONDS: Final = (
    "timestamp",
    "ingestionTime",
    "creationTime",
    "firstEventTimestamp",
    "lastEventTimestamp",
    "lastIngestionTime",
)


def relations(request: Object, answer: Object, asked: Object, now: float) -> dict[str, bool]:
    """Each relation that the answer can show, and whether it holds. ``asked`` is the request that made what is described, if one did.

    >>> relations({}, {"StartTime": 7.0, "EndTime": 5.0}, {}, 7.0)["moments in order"]
    False
    """
    found = dict[str, bool]()
    for name, holds in (
        *_between(request, answer, asked),
        *(each for part in _parts(answer) for each in _inside(part, now)),
    ):
        found[name] = found.get(name, True) and holds
    return found


def _between(request: Object, answer: Object, asked: Object) -> Iterator[tuple[str, bool]]:
    for name in ("StoppingCondition", "ResourceConfig"):
        echo, given = answer.get(name), asked.get(name)
        if isinstance(echo, Mapping) and isinstance(given, Mapping):
            yield (
                f"{name} as asked",
                all(echo.get(key) == value for key, value in given.items() if key != "KeepAlivePeriodInSeconds"),
            )
    token = request.get("nextToken")
    if token and answer.get("events") == []:
        yield "nextForwardToken at the end as sent", answer.get("nextForwardToken") == token


def _inside(part: Object, now: float) -> Iterator[tuple[str, bool]]:
    for names in _ORDER:
        moments = _numbers(part, names)
        if len(moments) > 1:
            yield "moments in order", moments == sorted(moments)
    for members, unit, word in ((_SECONDS, 1.0, "seconds"), (_MILLISECONDS, 1000.0, "milliseconds")):
        moments = _numbers(part, members)
        if moments:
            yield f"moments in {word}", all(abs(moment / unit - now) < _DAY_S for moment in moments)
    yield from _billed(part)
    rows = part.get("SecondaryStatusTransitions")
    starts = (
        [_number(row.get("StartTime")) or 0.0 for row in rows if isinstance(row, Mapping)]
        if isinstance(rows, list)
        else []
    )
    if starts:
        yield "phases in order", all(one <= other for one, other in pairwise(starts))
    etag = part.get("ETag")
    if isinstance(etag, str):
        yield "ETag in quotes", len(etag) > 1 and etag[0] == etag[-1] == '"'


def _billed(part: Object) -> Iterator[tuple[str, bool]]:
    """Wall seconds of the job: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeTrainingJob.html"""
    billed, trained = _number(part.get("BillableTimeInSeconds")), _number(part.get("TrainingTimeInSeconds"))
    start, end = _number(part.get("TrainingStartTime")), _number(part.get("TrainingEndTime"))
    if billed is not None and trained is not None:
        yield "billed no more than trained", billed <= trained + _NEAR_S
    if trained is not None and start is not None and end is not None:
        yield "trained no more than from start to end", trained <= end - start + _NEAR_S


def _parts(value: Json) -> Iterator[Object]:
    """Every structure in an answer."""
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, Mapping):
            yield each
            todo.extend(each.values())
        elif isinstance(each, Sequence) and not isinstance(each, str):
            todo.extend(each)


def _numbers(part: Object, names: Sequence[str]) -> list[float]:
    return [number for name in names if (number := _number(part.get(name))) is not None]


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
