"""What a reading says against what SDK v2 sends: the launcher's own statements are run against the recorder, and each launch
is compared field by field with the request that was recorded at its line.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ...core.errors import SmTrnError
from ...core.specs.json import Json
from ..launchers.language.nodes import TIME
from ..launchers.launches import Ending, Launch, Launchers
from ..launchers.read import read_launchers
from ..launchers.slice import sliced
from ..launchers.source import Cell, Unread, cells, parsed
from ..launchers.values import Given, Place
from . import answers
from .recording import LAUNCHING, Recorded, RecordedCall, without_secrets
from .run import REGION, record

GIVEN: Final[Mapping[str, object]] = {
    "role": answers.ROLE,
    "account": answers.ACCOUNT,
    "bucket": f"sagemaker-{REGION}-{answers.ACCOUNT}",
    "region": REGION,
}
# What items of a list are named by: SDK v2 sends tensor collections in no order.
_NAMES: Final = ("ChannelName", "Name", "Key", "InstanceGroupName", "CollectionName", "RuleConfigurationName")
_STAMP: Final = re.compile(r"-\d{4}(-\d\d){5}-\d{3}$")


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that was read as one value and sent as another; None is absent."""

    field: str
    read: Any
    sent: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """One launch: how many fields are equal, and which differ. ``fields`` 0: it was not reached by the run."""

    launch: Launch
    fields: int = 0
    differences: tuple[FieldDifference, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether it was reached, and every field is equal."""
        return self.fields > 0 and not self.differences


def verify(
    path: Path,
    *,
    given: Mapping[str, object] = MappingProxyType({}),
    arguments: Sequence[str] = (),
    timeout_s: float = 120.0,
    isolation: str = "auto",
) -> tuple[Launchers, list[Verified], Recorded]:
    """Read the launcher, run the slice of it that its launches depend on, with ``arguments`` as its command line, and compare the two,
    each launch at its own line.

    Raises SmTrnError as ``read_launchers`` and ``record`` do.
    """
    values = Given({**GIVEN, **given}, getattr(given, "texts", {}))
    found = read_launchers(path, given=values)
    regions = {job.at.region for launch in found.launches for job in launch.jobs}
    if len(regions) == 1 and regions != {REGION}:  # the launcher chose another one
        values["bucket"] = given.get("bucket", f"sagemaker-{regions.pop()}-{answers.ACCOUNT}")
        found = read_launchers(path, given=values)
    code = cells(path.name, path.read_text("utf-8-sig", errors="replace").replace("\r\n", "\n"))
    places = [place for launch in found.launches for place in (launch.place, launch.started) if place is not None]
    recorded = record(
        [path.name, *arguments], folder=path.parent, timeout_s=timeout_s, code=sliced(code, places), isolation=isolation
    )
    return found, list(compared(found, recorded, _ends(code))), recorded


def compared(found: Launchers, recorded: Recorded, ends: Mapping[tuple[int | None, int], int]) -> Iterator[Verified]:
    """Each complete launch with what was sent from its statement; several from one are taken in their order. ``ends`` has the
    last line of the statement at a cell and line.
    """
    taken: set[int] = set()
    for launch in found.launches:
        if launch.ending is not Ending.JOB or not launch.complete or launch.started is None:
            continue
        sent = [
            (number, call)
            for number, call in enumerate(recorded.jobs)
            if number not in taken and _from(call, launch.started, ends)
        ]
        results = [(number, field_differences(job.request, call)) for number, call in sent for job in launch.jobs]
        if not results:
            yield Verified(launch=launch)
            continue
        number, (fields, differences) = min(results[: len(launch.jobs)], key=lambda result: len(result[1][1]))
        taken.add(number)
        yield Verified(launch=launch, fields=fields, differences=differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Launches of a file that the run sent a job from, and those that it did not come to, each as its class and place."""

    reached: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()


def reached(path: Path | None, recorded: Recorded) -> Reached:
    """Which of the launches that stand in the file the run reached; none are known of a file that cannot be read."""
    if path is None:
        return Reached()
    try:
        found = read_launchers(path)
        code = cells(path.name, path.read_text("utf-8-sig", errors="replace").replace("\r\n", "\n"))
    except (SmTrnError, OSError):
        return Reached()
    ends = _ends(code)
    hits, misses = list[str](), list[str]()
    for launch in found.launches:
        place = launch.started or launch.place
        calls = [call for call in recorded.calls if call.operation in LAUNCHING and _in_file(call, path)]
        came = any(_from(call, place, ends) for call in calls)
        if launch.started is None:  # its start is taken to be in the function or class that makes the estimator
            lines = _definition(code, place)
            came = came or any(each.cell == place.cell and each.line in lines for call in calls for each in call.places)
        (hits if came else misses).append(f"{launch.cls}, {place}")
    return Reached(reached=tuple(hits), missed=tuple(misses))


def _in_file(call: RecordedCall, path: Path) -> bool:
    return any(place.cell is not None or Path(place.file).name == path.name for place in call.places)


def _from(call: RecordedCall, started: Place, ends: Mapping[tuple[int | None, int], int]) -> bool:
    last = ends.get((started.cell, started.line), started.line)
    return any((place.cell or None) == started.cell and started.line <= place.line <= last for place in call.places)


def _definition(code: Iterable[Cell], place: Place) -> range:
    """The lines of the function or class of a file in which a place is; none where it is in none."""
    for cell in code:
        tree = parsed(cell)
        for node in () if isinstance(tree, Unread) or cell.number != place.cell else tree.body:
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and place.line in lines:
                return lines
    return range(0)


def _ends(code: Iterable[Cell]) -> dict[tuple[int | None, int], int]:
    """The last line of each call, by its cell and first line: a traceback names any line of a call that has several."""
    found: dict[tuple[int | None, int], int] = {}
    for cell in code:
        tree = parsed(cell)
        for node in () if isinstance(tree, Unread) else ast.walk(tree):
            if isinstance(node, ast.Call):
                at = (cell.number, node.lineno)
                found[at] = max(found.get(at, 0), node.end_lineno or node.lineno)
    return found


def field_differences(read: Mapping[str, Json], call: RecordedCall) -> tuple[int, tuple[FieldDifference, ...]]:
    """How many fields the two have together, and those that differ. A name that the SDK has stamped is that which was read."""
    sent = dict(call.request)
    read, _ = without_secrets(read)  # as the recorder does
    name, told = str(sent.get("TrainingJobName", "")), str(read.get("TrainingJobName", ""))
    if _named_so(_STAMP.sub("", name), told) or re.fullmatch(_pattern(told), name):
        sent = _renamed(sent, name, told)
    one, two = dict(_flat(read, "")), dict(_flat(sent, ""))
    fields = list(dict.fromkeys((*one, *two)))
    return len(fields), tuple(
        FieldDifference(field, one.get(field), two.get(field))
        for field in fields
        if not _same(one.get(field), two.get(field))
    )


def _named_so(base: str, told: str) -> bool:
    """Whether a base name is what was read of it; the SDK cuts it after 39 characters, also inside a moment."""
    if base == told or TIME not in told:
        return base == told
    return any(
        re.fullmatch(_pattern(told[:end]), base)
        for end in (len(told), *range(len(told) - 1, told.index(TIME), -1))
        if len(base) == 39 or end == len(told)
    )


def _renamed(value: Any, name: str, told: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(item, name, told) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, name, told) for item in value]
    return value.replace(name, told) if isinstance(value, str) else value


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        words = [_word(item, str(index)) for index, item in enumerate(value)]
        twice = {word for word in words if words.count(word) > 1}  # told apart by what they hold
        for word, item in zip(words, value, strict=True):
            more = f" {json.dumps(item, sort_keys=True, default=str)}" if word in twice else ""
            yield from _flat(item, f"{path}[{word}{more}]")
    else:
        yield path, value


def _word(item: object, index: str) -> str:
    return next((str(item[key]) for key in _NAMES if key in item), index) if isinstance(item, Mapping) else index


def _pattern(text: str) -> str:
    return ".+".join(re.escape(part) for part in text.split(TIME))


def _same(read: Any, sent: Any) -> bool:
    if isinstance(read, str) and isinstance(sent, str) and TIME in read:
        return re.fullmatch(_pattern(read), sent, re.DOTALL) is not None
    return type(read) is type(sent) and bool(read == sent)
