"""Problems in a notebook: a table, errors as they come. Each ends with what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.formatting.markup import Cell, block, escaped, grid
from ...core.specs.problems import Severity

if TYPE_CHECKING:
    from ...core.specs.problems import Problem, Problems

_ROLES = {Severity.ERROR: "err", Severity.WARNING: "warn", Severity.INFO: "info"}
_WORDS = ("Field", "What is wrong", "Fix")


def problems_card(problems: Problems) -> str:
    """Nothing wrong is a sentence; else the counts, and a row a problem."""
    if not problems:
        return block('<p class="title"><span class="ok">✓ No problems</span></p>')
    errors = any(problem.severity is Severity.ERROR for problem in problems)
    verdict = "Not launchable." if errors else "Launchable."
    rows = (_row(problem) for problem in problems)
    return block(
        f'<p class="title">{escaped(problems.counted())}. {verdict}</p>' + grid(("Rule", *_WORDS), rows, words=_WORDS)
    )


def _row(problem: Problem) -> tuple[str | Cell, ...]:
    detail = ", ".join(f"{name} {text}" for name, text in (("got", problem.got), ("wanted", problem.wanted)) if text)
    what = "; ".join(text for text in (problem.what, problem.consequence, detail) if text)
    severity = problem.severity
    return (
        Cell(f"{severity.glyph} {severity.word} {problem.id}", _ROLES[severity]),
        Cell(problem.where, "code"),
        what,
        problem.fix,
    )
