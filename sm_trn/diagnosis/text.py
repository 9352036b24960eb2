"""A diagnosis as text for people: the cause, where it began, what followed, what to change."""

from __future__ import annotations

import math
import textwrap
from datetime import datetime, timezone

from ..core.formatting import numbers as fmt
from ..core.formatting.printable import printable
from ..core.specs.problems import AnyOf
from .causes.cause import Cause, Confidence, Diagnosis

WIDTH = 80
_LABEL = 8


def diagnosis_text(found: Diagnosis, *, job: str = "", cost: str = "", width: int = WIDTH) -> str:
    """Return the diagnosis as lines of at most ``width`` columns. ``job`` is a real job's name: then commands follow."""
    cause = found.cause
    if cause is None:
        state = f"{found.health.verdict.word}, {found.health.what}; " if found.health is not None else ""
        return printable(f"✓ {found.name}: {state}nothing says that anything went wrong")
    lines = [_title(found, cause, width)]
    if cause.confidence is Confidence.UNKNOWN:
        lines += _unknown(found)
    else:
        lines += [line for label, text in _facts(found, cause) for line in _row(label, text, width)]
    if cost:
        lines += _row("cost", cost, width)
    choices = cause.fix.choices if isinstance(cause.fix, AnyOf) else (cause.fix,)
    lines += [line for at, each in enumerate(choices) for line in _row("or" if at else "fix", str(each), width)]
    if job:
        around = f" --rank {cause.rank}" if cause.rank is not None else f" --host {cause.host}" if cause.host else ""
        lines += ["", f"Evidence: sm-trn logs {job}{around}"]
    return "\n".join(printable(line) for line in lines)


def cause_line(found: Diagnosis) -> str:
    """Return the cause in one line: ``CUDA out of memory (certain), rank 3 on algo-1, train.py:21``; empty where it is unknown."""
    cause = found.cause
    if cause is None or cause.confidence is Confidence.UNKNOWN:
        return ""
    places = [part for part in (_who(cause), cause.place) if part]
    return printable(", ".join([f"{cause.what} ({cause.confidence.value}, {cause.id})", *places]))


def _title(found: Diagnosis, cause: Cause, width: int) -> str:
    what = cause.what if cause.confidence is not Confidence.UNKNOWN else "No cause known."
    verdict = found.health.verdict if found.health is not None and found.status != "Failed" else None
    if verdict is not None and verdict.sick and not what.startswith(verdict.word):
        what = f"{verdict.word}, {what}"
    head = f"✗ {found.name}: {what}"
    return f"{head}{cause.confidence.value:>{max(2 + len(cause.confidence.value), width - len(head))}}"


def _facts(found: Diagnosis, cause: Cause) -> list[tuple[str, str]]:
    when = fmt.iso(datetime.fromtimestamp(cause.time_s, tz=timezone.utc)) if math.isfinite(cause.time_s) else ""
    first = ", ".join(part for part in (_who(cause), when) if part)
    names = ", ".join(f"{name} {value}" for name, value in cause.facts.items())
    said = cause.evidence[0].text if cause.evidence else ""
    rows = [
        ("cause", cause.id),
        ("first", first),
        ("error", cause.error or said),
        ("at", f"{cause.place}  {cause.code}".rstrip()),
        ("names", names),
    ]
    if found.consequences:
        rows.append(("then", "; ".join(each.what for each in found.consequences) + ". Not causes."))
    return [(label, text) for label, text in rows if text]


def _who(cause: Cause) -> str:
    rank = f"rank {cause.rank}" if cause.rank is not None else ""
    return " on ".join(part for part in (rank, cause.host) if part)


def _unknown(found: Diagnosis) -> list[str]:
    said = [each.text for each in (found.cause.evidence if found.cause is not None else ())]
    head = [f"  AWS says {line[:400]}" for line in said if line]
    return [
        *head,
        *(["  The last lines:"] if found.tail else []),
        *(f"    {each.stream}  {each.text[:200]}" for each in found.tail),
    ]


def _row(label: str, text: str, width: int) -> list[str]:
    flat = " ".join(text.split())
    body = textwrap.wrap(flat, max(20, width - _LABEL - 2), break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {label if at == 0 else '':<{_LABEL}}{line}" for at, line in enumerate(body)]
