"""Launchers as the command line shows them, for people and as JSON."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from ...core.formatting import numbers as fmt
from ...core.specs.json import Json
from ...core.specs.problems import Problem, Severity
from ..launchers.launches import Ending, Launch, LauncherJob, Launchers
from ..launchers.values import Place, Unresolved

if TYPE_CHECKING:
    from ..recorder import Recorded
    from ..recorder.verify import Verified

LONGEST = 100  # characters of a file's name
SHOWN = 12  # things seen beside the launches


def file_name(name: str) -> str:
    """The name of a file for a job's name, which may hold anything: it leads nowhere else."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip(".-")[:LONGEST] or "job"


def report(found: Launchers) -> str:
    """The whole file: a head, each launch, what was seen, what was assumed, what could not be read."""
    parts = [_head(found)]
    parts += [_launch(number, launch) for number, launch in enumerate(found.launches, start=1)]
    seen = list(
        dict.fromkeys(
            f"·  {item.what}, {_short(item.place)}: {item.kind}, seen and not converted" for item in found.seen
        )
    )
    if seen:
        more = [f"·  and {len(seen) - SHOWN} more: --json lists them"] if len(seen) > SHOWN else []
        parts.append("\n".join(seen[:SHOWN] + more))
    if found.assumed:
        parts.append(
            "Assumed\n" + "\n".join(dict.fromkeys(f"   {_short(item.place)}: {item.what}" for item in found.assumed))
        )
    if found.unread:
        parts.append("Not read\n" + "\n".join(f"   {_short(place)}: {why}" for place, why in found.unread))
    parts.append(_summary(found))
    return "\n\n".join(parts)


def _head(found: Launchers) -> str:
    jobs = sum(len(launch.jobs) for launch in found.launches)
    return f"{found.file}: {fmt.counted(len(found.launches), 'launch', 'launches')}, {fmt.jobs(jobs)}. Read, not run."


def _launch(number: int, launch: Launch) -> str:
    lines = [f"{number}  {launch.cls}(…), {_short(launch.place)}: {_state(launch)}"]
    lines += [f"   hole     {hole.expression}, {_short(hole.place)}\n            {_why(hole)}" for hole in launch.holes]
    lines += [indent(_job(job), "   ") for job in launch.jobs]
    lines += [f"   note     {remark}" for remark in launch.remarks]
    if launch.placeholders:
        lines.append(f"   placeholders: {', '.join(launch.placeholders)} (--set {launch.placeholders[0]}=… gives one)")
    return "\n".join(lines)


def _state(launch: Launch) -> str:
    if launch.ending is Ending.LOCAL:
        return "local mode, no job is sent"
    holes = len(launch.holes)
    told = fmt.counted(holes, "hole") if holes else "complete"
    if launch.ending is Ending.HANDED:
        return f"{told}; started by {launch.within}"
    return f"{told}; never started here" if launch.ending is Ending.UNUSED else told


def _why(hole: Unresolved) -> str:
    detail = f": {hole.detail}" if hole.detail else ""
    give = f" Give it: --set {hole.give}=…" if hole.give else ""
    return f"{hole.reason.value}{detail}.{give}"


def _job(job: LauncherJob) -> str:
    spec = job.spec
    machines = " + ".join(f"{count} × {name}" for name, count in spec.compute.machines)
    branch = "".join(f", where {label} is {'true' if taken else 'false'}" for label, taken in job.branch)
    lines = [f"job      {spec.name}: {machines}{branch}"]
    if job.search is not None:
        sweep = job.search.sweep
        ranges = ", ".join(sweep.space) or "ranges that the service chooses"
        lines.append(
            f"sweep    {fmt.counted(sweep.jobs, 'training job')}, {sweep.parallel} at a time: {ranges}; {sweep.objective.name}"
        )
    lines += [_problem(problem) for problem in job.problems if problem.severity is not Severity.INFO]
    return "\n".join(lines)


def _problem(problem: Problem) -> str:
    fix = f"\n           = fix: {problem.fix}" if problem.fix else ""
    got = ", ".join(f"{word} {text}" for word, text in (("got", problem.got), ("wanted", problem.wanted)) if text)
    return f"  {problem.severity.word}[{problem.id}] {problem.where}: {problem.what}{'; ' + got if got else ''}{fix}"


def _summary(found: Launchers) -> str:
    if not found.launches:
        return "No launch was found: no estimator, trainer or create_training_job. Nothing was written."
    whole = sum(launch.complete for launch in found.launches)
    left = len(found.launches) - whole
    all_of_them = fmt.counted(len(found.launches), "launch", "launches")
    told = f"{fmt.count(whole)} of {all_of_them} {'is' if whole == 1 else 'are'} complete"
    with_holes = f", {fmt.count(left)} {'has' if left == 1 else 'have'} holes" if left else ""
    return f"{told}{with_holes}. Nothing was written."


def _short(place: Place) -> str:
    return str(place).partition(", ")[2] if place.cell is not None or place.file.endswith(".ipynb") else str(place)


def verified(found: Launchers, results: Sequence[Verified], recorded: Recorded) -> str:
    """A line for each launch: equal, different with both values, or not reached by the run; and each cell that failed in it."""
    lines = [f"{found.file}: read, and run against the recorder. Nothing was started."]
    for each in results:
        head = f"{each.launch.cls}(…), {_short(each.launch.place)}"
        if each.equal:
            lines.append(f"✓ {head}: equal to what SDK v2 sends, {fmt.counted(each.fields, 'field')}")
        elif not each.fields:
            lines.append(f"· {head}: the run did not reach it, so nothing is proven")
        else:
            lines.append(f"✗ {head}: differs in {len(each.differences)} of {fmt.counted(each.fields, 'field')}")
            lines += [f"    {item.field}: read {item.read!r}, sent {item.sent!r}" for item in each.differences]
    left = [launch for launch in found.launches if launch.holes]
    lines += [f"· {launch.cls}(…), {_short(launch.place)}: has holes, not compared" for launch in left]
    lines += [f"✗ {failure}" for failure in recorded.failures]
    if any(not each.fields for each in results) and recorded.output and not recorded.failures:
        lines.append("The run's last line: " + recorded.output.strip().rpartition("\n")[2][:200])
    return "\n".join(lines)


def verified_json(found: Launchers, results: Sequence[Verified], recorded: Recorded) -> dict[str, Json]:
    """The same, for machines."""
    return {
        "file": found.file,
        "launches": [
            {
                **_place(each.launch.place),
                "fields": each.fields,
                "equal": each.equal,
                "differences": [dataclasses.asdict(item) for item in each.differences],
            }
            for each in results
        ],
        "failures": [dataclasses.asdict(failure) for failure in recorded.failures],
    }


def as_json(found: Launchers) -> dict[str, Json]:
    """Everything of a reading, for machines."""
    return {
        "file": found.file,
        "launches": [_launch_json(launch) for launch in found.launches],
        "seen": [{**_place(item.place), "what": item.what, "kind": item.kind} for item in found.seen],
        "assumed": [{**_place(item.place), "what": item.what} for item in found.assumed],
        "unread": [{**_place(place), "why": why} for place, why in found.unread],
    }


def _place(place: Place) -> dict[str, Json]:
    return {"file": place.file, "cell": place.cell, "line": place.line}


def _launch_json(launch: Launch) -> dict[str, Json]:
    return {
        **_place(launch.place),
        "class": launch.cls,
        "ending": launch.ending.value,
        "within": launch.within,
        "complete": launch.complete,
        "holes": [
            {
                **_place(hole.place),
                "expression": hole.expression,
                "reason": hole.reason.value,
                "detail": hole.detail,
                "give": hole.give,
            }
            for hole in launch.holes
        ],
        "jobs": [
            {
                "name": job.spec.name,
                "branch": [[label, taken] for label, taken in job.branch],
                "wait": job.wait,
                "request": job.request,
                "tuning_request": None if job.search is None else dict(job.search.request),
                "problems": [
                    {"id": each.id, "severity": each.severity.value, "where": each.where, "what": each.what}
                    for each in job.problems
                ],
            }
            for job in launch.jobs
        ],
        "placeholders": list(launch.placeholders),
        "remarks": list(launch.remarks),
    }
