"""Dumps of PyTorch's flight recorder, one file per rank: which rank came to which collective, and who did not come.

Format: torch 2.13, torch/distributed/flight_recorder/components: a pickle of plain values; the name of the file ends with the rank.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from .cause import Cause, Confidence, Diagnosis, Evidence
from .entries import entry
from .fix import fix_of

MOST_BYTES = 200_000_000  # of a dump: the recorder keeps some thousand entries
_NAME = re.compile(r"[\w.-]{0,200}?(\d{1,6})$")
_OWN_SIZES = ("all_to_all", "alltoall", "gather", "scatter", "send", "recv")  # ranks may give these different shapes
_LIBRARY = ("site-packages", "dist-packages", "/lib/python", "<")


@dataclass(frozen=True, slots=True)
class Collective:
    """One entry of a rank: what it called, with which shapes, whether it came to an end, and from where."""

    name: str
    sizes: str
    state: str
    place: str


Calls = dict[int, Collective]  # of one rank in one group, by their place in its order


class _Plain(pickle.Unpickler):
    """Reads plain values alone: a dump comes from a job, and may hold anything."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"a dump holds no {module}.{name}")


def why_dumps(folder: Path) -> Diagnosis | None:
    """Why ranks waited for one another, from the dumps in a folder; None where no file is one, or all came to the end."""
    groups: dict[str, dict[int, Calls]] = {}
    for rank, group, members, calls in _dumps(folder):
        ranks = groups.setdefault(group, {each: {} for each in members})  # a rank without a dump called nothing
        ranks[rank] = calls
    causes = (_cause(group, ranks) for group, ranks in sorted(groups.items()))
    found = next((cause for cause in causes if cause is not None), None)
    return Diagnosis(name=folder.name, cause=found) if found is not None else None


def _dumps(folder: Path) -> Iterator[tuple[int, str, list[int], Calls]]:
    """Of each dump and each process group in it: the rank, the group, its members, and what the rank called there."""
    for path in sorted(folder.iterdir()):
        named = _NAME.fullmatch(path.name)
        if named is None or not path.is_file() or path.stat().st_size > MOST_BYTES:
            continue
        try:
            with path.open("rb") as file:
                dump = _Plain(file).load()
            for group, configured in dump["pg_config"].items():
                members = [int(each) for each in re.findall(r"\d+", str(configured["ranks"]))]
                yield int(named[1]), str(group), members, _calls(dump["entries"], str(group))
        except Exception:  # noqa: BLE001, S112 - an odd pickle raises anything, and holds anything
            continue


def _calls(entries: list[Any], group: str) -> Calls:
    return {
        each["collective_seq_id"]: Collective(
            str(each["profiling_name"]).removeprefix("nccl:"),
            str(each["input_sizes"]),
            str(each["state"]),
            _place(each.get("frames", ())),
        )
        for each in entries
        if str(each["process_group"][0]) == group and not each.get("is_p2p", False)
    }


def _place(frames: list[Any]) -> str:
    """The innermost line of the user's own code, as ``train.py:21``."""
    for frame in frames:
        file = str(frame.get("filename", ""))
        if file and not any(mark in file for mark in _LIBRARY):
            return f"{file.rsplit('/', 1)[-1]}:{frame.get('line', 0)}"
    return ""


def _cause(group: str, ranks: Mapping[int, Calls]) -> Cause | None:
    """The cause in one group: the first collective that ranks did not call alike, else that to which some did not come, or none ended."""
    last = {rank: max(calls, default=-1) for rank, calls in ranks.items()}
    for number in sorted(set().union(*ranks.values())):
        called = {rank: calls[number] for rank, calls in ranks.items() if number in calls}
        first = next(iter(called.values()))
        if any(_differ(first, each) for each in called.values()):
            lines = [f"rank {rank} called {each.name} of {each.sizes}" for rank, each in called.items()]
            return _made("dist.desync", group, number, lines, first.place)
    top = max(last.values(), default=-1)
    waiting = {rank: ranks[rank][top] for rank in ranks if top in ranks[rank]}
    absent = [rank for rank in ranks if last[rank] < top]
    if absent and waiting:
        name, place = next((each.name, each.place) for each in waiting.values())
        said = ", ".join(f"rank {rank}" for rank in absent)
        return _made("dist.slow_rank", group, top, [f"{said} never called {name}"], place, absent[0])
    open_ = [each for each in waiting.values() if each.state != "completed"]
    if open_:
        return _made("dist.nccl_timeout", group, top, [f"all ranks called {open_[0].name}"], open_[0].place)
    return None


def _differ(one: Collective, other: Collective) -> bool:
    sized = not any(word in one.name for word in _OWN_SIZES)
    return one.name != other.name or (sized and one.sizes != other.sizes)


def _made(name: str, group: str, number: int, lines: list[str], place: str, rank: int | None = None) -> Cause:  # noqa: PLR0917 - parts of a cause
    row = entry(name)
    evidence = tuple(
        Evidence(text=f"collective {number} of group {group}: {line}", stream="dump") for line in lines[:8]
    )
    return Cause(
        id=name,
        what=row.what,
        confidence=Confidence.CERTAIN,
        fix=fix_of(name, row.fix, None, {}),
        source=row.source,
        place=place,
        rank=rank,
        evidence=evidence,
    )
