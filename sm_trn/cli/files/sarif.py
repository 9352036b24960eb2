"""Problems as a SARIF log, which code scanning of GitHub, GitLab and editors read.

Source: OASIS, SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ...core import __version__
from ...core.jobfile.faults import Fault
from ...core.jobfile.places import Place
from ...core.specs.json import Json
from ...core.specs.problems import Severity
from . import problems
from .problems import Located
from .rules import catalogue

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
FILE_RULE = "JOBFILE"  # what makes a file no job file


def log(found: Sequence[Located], faults: Sequence[Fault]) -> dict[str, Json]:
    """A log of one run: the rules that found something, and each problem with its place."""
    ids = {item.problem.id for item in found}
    rules: list[Json] = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.evidence or rule.why},
        }
        for rule in catalogue()
        if rule.id in ids
    ]
    if faults:
        rules.append({"id": FILE_RULE, "shortDescription": {"text": "a file that is no job file"}})
    results: list[Json] = [_problem(item) for item in found]
    results += [_result(FILE_RULE, "error", problems.said_of(fault), fault.file, fault.place) for fault in faults]
    driver: dict[str, Json] = {"name": "sm-trn", "version": __version__, "rules": rules}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _problem(item: Located) -> dict[str, Json]:
    problem = item.problem
    got = [f"{word} {text}" for word, text in (("got", problem.got), ("wanted", problem.wanted)) if text]
    parts = [problem.what, problem.consequence, ", ".join(got), item.fix and f"fix: {item.fix}"]
    text = "; ".join(part for part in parts if part)
    return _result(problem.id, LEVELS[problem.severity], text, item.file, item.place)


def _result(rule: str, level: str, text: str, file: str, place: Place | None) -> dict[str, Json]:
    where: dict[str, Json] = {"artifactLocation": {"uri": Path(file).as_posix()}}
    if place is not None:
        start = place.column + 1
        where["region"] = {"startLine": place.line, "startColumn": start, "endColumn": start + max(1, place.width)}
    print_ = hashlib.sha256(f"{rule} {file} {text}".encode()).hexdigest()
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"problem/v1": print_},
    }
