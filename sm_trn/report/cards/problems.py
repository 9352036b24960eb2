"""Problems in a notebook: a table, errors as they come. Each ends with what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.formatting.html import WIDE, block, html_table, text
from ...core.formatting.table import Align, Cell, Column, Row, Table
from ...core.specs.problems import Severity

if TYPE_CHECKING:
    from ...core.specs.problems import Problem, Problems

_ROLES = {Severity.ERROR: "err", Severity.WARNING: "warn", Severity.INFO: "info"}
_COLUMNS = (
    Column(name="where", heading="Field", align=Align.LEFT),
    Column(name="what", heading="What is wrong", align=Align.LEFT),
    Column(name="fix", heading="Fix", align=Align.LEFT),
)


def problems_card(problems: Problems) -> str:
    """Nothing wrong is a sentence; else the counts, and a row a problem."""
    if not problems:
        return block('<p class="title"><span class="ok">✓ No problems</span></p>')
    errors = any(problem.severity is Severity.ERROR for problem in problems)
    verdict = "Not launchable." if errors else "Launchable."
    table = Table(columns=_COLUMNS, rows=tuple(map(_row, problems)), rows_are="Rule")
    return block(
        f'<p class="title">{text(problems.counted())}. {verdict}</p>{WIDE}{html_table(table, folding=False)}</div>'
    )


def _row(problem: Problem) -> Row:
    detail = ", ".join(f"{name} {words}" for name, words in (("got", problem.got), ("wanted", problem.wanted)) if words)
    what = "; ".join(words for words in (problem.what, problem.consequence, detail) if words)
    severity = problem.severity
    cells = {"where": Cell(problem.where, role="code"), "what": Cell(what), "fix": Cell(problem.fix)}
    return Row(name=f"{severity.glyph} {severity.word} {problem.id}", role=_ROLES[severity], cells=cells)
