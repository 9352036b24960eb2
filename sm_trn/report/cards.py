"""What values look like in a notebook: static HTML in one scoped block, no script, no id, every fact in words. Asks nothing.

A value that inherits ``HasCard`` is looked up here when a notebook shows it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import singledispatch
from html import escape
from typing import Any

from ..core.formatting import numbers as fmt
from ..core.formatting.html import TAG, WIDE, block, facts, html_table, text, title
from ..core.formatting.table import Align, Cell, Column, Row, Table
from ..core.pricing.book import price_sources
from ..core.pricing.cost import JobCost
from ..core.render.differences import Diff
from ..core.session.handles import TrainingJob
from ..core.specs.job import JobSpec
from ..core.specs.problems import Problems, Severity
from .columns import jobs_table
from .comparison.compare import Comparison
from .comparison.tables import REHEARSED, compared_table
from .fleets.fleet import Fleet
from .fleets.rows import IN_PAGE, SHOWN, group_table
from .sections.findings import Kind, section_findings

_SHOWN = 12  # entries of a mapping; the rest is counted
_ROLES = {Severity.ERROR: "err", Severity.WARNING: "warn", Severity.INFO: "info"}


@singledispatch
def card(value: object) -> str:
    """The HTML of a value: its text, for one that has no card of its own here."""
    lines = ["".join(letter if letter.isprintable() else " " for letter in line) for line in str(value).split("\n")]
    words = escape("\n".join(lines))
    return block(f"<pre>{words}</pre>")


def _block(first: str, lines: Sequence[str] = (), *tables: Table) -> str:
    """``first``, which is HTML, as the title; then sentences and tables."""
    paragraphs = "".join(f"<p>{text(line)}</p>" for line in lines)
    return block(f'<p class="title">{first}</p>{paragraphs}{"".join(map(_wide, tables))}')


def _wide(table: Table) -> str:
    return f"{WIDE}{html_table(table)}</div>" if table.rows else ""


def _words(name: str, heading: str) -> Column:
    return Column(name=name, heading=heading, align=Align.LEFT)


@card.register
def _comparison(item: Comparison) -> str:
    """Sections, tables and findings; rehearsals after the measured jobs."""
    blocks = []
    for section in item.sections:
        pair = section.base is not None and len(section.rows) > 1 and section.sweep is None
        caption = f"Baseline {section.base.label}." if pair and section.base is not None else ""
        findings = [finding for finding in section_findings(section) if finding.kind is not Kind.NOTE]
        lines = "".join(f"<p>{text(finding.text)}</p>" for finding in findings)
        tag, caption = (f"{TAG} ", REHEARSED) if section.emulated else ("", caption)
        table = _wide(compared_table(section, caption))
        blocks.append(f'<p class="title">{tag}{text(section.workload or "Jobs")}</p>{table}{lines}')
    return block("".join(blocks))


@card.register
def _fleet(item: Fleet) -> str:
    """The sums by instance, what they leave out, and the newest jobs."""
    more = f" {len(item.rows) - SHOWN} more jobs are not listed." if len(item.rows) > SHOWN else ""
    sums = group_table(item.by("instance"), "instance", "Sums by instance")
    jobs = jobs_table(item.rows[:SHOWN], IN_PAGE, title=f"Jobs, newest first.{more}")
    return _block(text(item.title), list(item.findings()), sums, jobs)


@card.register
def _problems(problems: Problems) -> str:
    """Nothing wrong is a sentence; else the counts, and a row a problem."""
    if not problems:
        return _block('<span class="ok">✓ No problems</span>')
    errors = any(problem.severity is Severity.ERROR for problem in problems)
    rows = []
    for problem in problems:
        named = (("got", problem.got), ("wanted", problem.wanted))
        detail = ", ".join(f"{name} {words}" for name, words in named if words)
        what = "; ".join(words for words in (problem.what, problem.consequence, detail) if words)
        severity = problem.severity
        cells = {"where": Cell(problem.where, role="code"), "what": Cell(what), "fix": Cell(problem.fix)}
        rows.append(Row(name=f"{severity.glyph} {severity.word} {problem.id}", role=_ROLES[severity], cells=cells))
    columns = _words("where", "Field"), _words("what", "What is wrong"), _words("fix", "Fix")
    verdict = "Not launchable." if errors else "Launchable."
    return _block(
        f"{text(problems.counted())}. {verdict}", (), Table(columns=columns, rows=tuple(rows), rows_are="Rule")
    )


@card.register
def _diff(diff: Diff) -> str:
    """Both values of each field as JSON; ``absent`` where a job does not have the field."""
    if not diff:
        return _block(text(str(diff)))
    rows = []
    for item in diff.differences:
        sides = [Cell(side, role="code") if side else Cell("absent", role="ink3") for side in item.sides()]
        rows.append(Row(name=item.field, role="code", cells=dict(zip(("before", "after"), sides, strict=True))))
    columns = _words("before", diff.before), _words("after", diff.after)
    table = Table(columns=columns, rows=tuple(rows), rows_are="Field")
    return block(f'<div class="sides">{_wide(table)}</div>')


@card.register
def _job_cost(cost: JobCost) -> str:
    """The dollars, then seconds × instances × price."""
    rows = [
        ("billable", f"{cost.billable_s:,.0f} s on each of {fmt.counted(cost.instances, 'instance')}"),
        ("price", f"{cost.price.instance} {cost.price}"),
        ("source", price_sources().get(cost.price.source, cost.price.source)),
    ]
    if cost.spot_saving is not None:
        rows.append(("spot", f"{100 * cost.spot_saving:.1f} % of the training time was not billed"))
    return block(title(f"${cost.rounded:,}", "billable seconds × instances × price") + facts(rows))


@card.register
def _job_spec(job: JobSpec) -> str:
    """The spec's fields that say something; defaults are left out."""
    compute = job.compute
    machines = " + ".join(compute.instances) + (f" × {compute.hosts}" if compute.hosts > 1 else "")
    rows = []
    for field in dataclasses.fields(job):
        value = getattr(job, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if field.name in {"name", "compute"} or not value or value == default:
            continue
        if isinstance(value, Mapping):
            # of the environment names only: values may be secrets
            pairs = [
                key if field.name == "environment" else f"{key} = {_own_words(each)}" for key, each in value.items()
            ]
            more = [f"and {len(pairs) - _SHOWN} more"] if len(pairs) > _SHOWN else []
            rows.append((field.name, ", ".join([*pairs[:_SHOWN], *more])))
        else:
            rows.append((field.name, _own_words(value)))
    return block(title(job.name, f"a job for {machines}, not launched by being shown") + facts(rows))


def _own_words(value: Any) -> str:
    """A value's class, and the fields that differ from their defaults."""
    if not dataclasses.is_dataclass(value):
        return str(value)
    given = [
        f"{field.name}={getattr(value, field.name)!r}"
        for field in dataclasses.fields(value)
        if getattr(value, field.name) not in (field.default, None)
    ]
    return f"{type(value).__name__}({', '.join(given)})"


@card.register
def _job(job: TrainingJob) -> str:
    """What a handle knows without asking: the job's name and, of one that it submitted, the machines; then what to type next."""
    compute = job.asked.compute if job.asked is not None else None
    machine = fmt.instances(" + ".join(compute.instances), compute.hosts) if compute is not None else ""
    if machine and job.session.emulated:
        machine = f"for {machine}"
    head = title(job.name, machine, emulated=job.session.emulated)
    return block(f'{head}<p class="ink3">Not asked for its status: <code>.wait()</code> watches it.</p>')
