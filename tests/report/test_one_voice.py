"""One fact, one wording: each fact is asked on every surface that shows it, and the same words come back."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from report_jobs import START, describe, gpt2_pair, transitions

import sm_trn
from sm_trn.cli.jobs import facts
from sm_trn.cli.jobs.listing import job_table as listed_jobs
from sm_trn.core.formatting.html import html_table
from sm_trn.core.formatting.missing import EMULATED_COST, Missing
from sm_trn.core.formatting.table import csv_text
from sm_trn.core.formatting.text import NAMES, WIDE, Screen, table_lines
from sm_trn.core.pricing import snapshot_book
from sm_trn.core.specs import JobRecord, JobSnapshot, JobStatus, parse_snapshot, record
from sm_trn.core.status import LOOKS, Texture, next_command, next_steps
from sm_trn.hosting.table import EndpointRow, endpoint_table
from sm_trn.report import WatchRow, compare, fleet, watch_html, watch_text
from sm_trn.report.cards.handles import endpoints_card
from sm_trn.report.commands.cost import cost_line
from sm_trn.report.comparison.page import page
from sm_trn.report.figures import cost, throughput
from sm_trn.report.fleets.page import fleet_page
from sm_trn.report.ui.details import detail_json
from sm_trn.report.ui.lines import Lines
from sm_trn.report.ui.rows import Shown, needs, row_json
from sm_trn.report.ui.series import Curves

NOW = datetime.fromtimestamp(START + 1500, timezone.utc)
ROOT = Path(sm_trn.__file__).parent


def snapshot(name: str = "job", *, billed: bool = True, **changes: Any) -> JobSnapshot:
    """A job that ran; ``billed`` False: it waits for its instances."""
    phases = (("Starting", 100.0), ("Training", 600.0), ("Completed", 0.0)) if billed else (("Starting", -1.0),)
    answer = describe(name, SecondaryStatusTransitions=transitions(*phases), **changes)
    if not billed:
        answer |= {"TrainingJobStatus": "InProgress", "SecondaryStatus": "Starting"}
        for key in ("BillableTimeInSeconds", "TrainingTimeInSeconds", "TrainingStartTime", "TrainingEndTime"):
            answer.pop(key)
    return parse_snapshot(answer)


def watched(job: JobSnapshot) -> WatchRow:
    price = None if job.emulated else snapshot_book().find(job.instance, job.region)
    return WatchRow(snapshot=job, label=job.name, price=price)


def beside(*records: JobRecord) -> tuple[JobRecord, ...]:
    """With another job of the same work, so that there is something to compare."""
    return (*records, dataclasses.replace(gpt2_pair()[0], workload=records[0].workload))


def plain(html: str) -> str:
    """The words of a page, without its style."""
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", body)).replace("\xa0", " ")


def cell(html: str, label: str) -> str:
    """The words of the last cell below a heading."""
    return plain(re.findall(rf'<td data-label="{label}[^"]*"[^>]*>(.*?)</td>', html)[-1])


def detail(row: WatchRow) -> Mapping[str, Any]:
    return detail_json(row, Curves(), Lines(), now=NOW, ready=True, problem="", options="")


def named(found: Mapping[str, Any], name: str) -> str:
    return next(str(value) for key, value, _ in found["facts"] if key == name)


def endpoint(*, emulated: bool) -> EndpointRow:
    return EndpointRow(
        name="e", status="InService", instance="ml.g5.xlarge", count=1, created=NOW, hours=1.0, price=None,
        usd_per_hour=None, expires=None, overdue=False, job="", emulated=emulated,
    )  # fmt: skip


def costs_of(job: JobSnapshot) -> dict[str, str]:
    """What each surface says where the job's cost would stand."""
    row, item = watched(job), fleet([job])
    compared = compare([record(job, [], workload="w")])
    (entry,) = json.loads(compared.to_json())["jobs"]
    (listed,) = json.loads(item.to_json())["jobs"]
    said = {
        "watch, a table in the terminal": watch_text([row, row], NOW, 160),
        "watch, one job in the terminal": dict(re.findall(r"^  (\w+) +(.*)$", watch_text([row], NOW), re.MULTILINE))[
            "cost"
        ],
        "watch, a notebook's table": cell(watch_html([row, row], NOW), "USD"),
        "watch, a notebook's card": plain(watch_html([row], NOW)),
        "live page, the list": str(row_json(Shown(row, {}), NOW)["cost"]),
        "live page, one job": named(detail(row), "Cost"),
        "fleet, terminal": item.text(),
        "fleet, page": cell(fleet_page(item, by="instance", now=None), "Cost, USD"),
        "fleet, card": cell(item._repr_html_(), "Cost, USD"),
        "fleet, JSON": listed["missing"]["cost_usd"],
        "comparison, page": cell(page(compared, [], now=None), "Cost"),
        "comparison, card": cell(compared._repr_html_(), "Cost"),
        "comparison, JSON": entry["missing"]["cost_usd"],
        "cost, the command": cost_line(job, None),
    }
    if not job.emulated:  # a rehearsal has no column of money in a terminal, and says so in a sentence
        said["comparison, terminal"] = compared.text(160)
        said["comparison, figure"] = cost.chart(compared.sections[0]).alt
    return said


COSTS = {
    Missing.EMULATED: snapshot(emulated=True),
    Missing.NO_PRICE: snapshot(ResourceConfig={"InstanceType": "ml.trn9.huge", "InstanceCount": 1}),
    Missing.NOT_BILLED_YET: snapshot(billed=False),
    Missing.IN_TOKENS: snapshot(ServerlessJobConfig={"BaseModelArn": "arn:a", "JobType": "FineTuning"}),
}


@pytest.mark.parametrize("reason", list(COSTS))
def test_a_missing_cost_is_said_in_one_word_on_every_surface(reason: Missing) -> None:
    said = costs_of(COSTS[reason])
    assert {} == {surface: text for surface, text in said.items() if str(reason) not in text}
    others = {str(other) for other in COSTS} - {str(reason)}
    assert {} == {
        surface: text for surface, text in said.items() if any(re.search(rf"\b{one}\b", text) for one in others)
    }


@pytest.mark.parametrize("reason", list(COSTS))
def test_machines_get_none_where_people_read_the_reason(reason: Missing) -> None:
    compared, item = compare([record(COSTS[reason], [], workload="w")]), fleet([COSTS[reason]])
    (entry,) = json.loads(compared.to_json())["jobs"]
    assert (None, None) == (entry["cost_usd"], json.loads(item.to_json())["jobs"][0]["cost_usd"])
    assert compared.frame["cost_usd"].isna().all()
    assert item.frame["cost_usd"].isna().all()
    head, line = csv_text(compared.columns, compared.cells()).splitlines()
    assert "" == line.split(",")[head.split(",").index("cost_usd")]


@pytest.mark.parametrize(("emulated", "reason"), [(True, Missing.EMULATED), (False, Missing.NO_PRICE)])
def test_an_endpoint_without_a_cost_says_the_same_words(emulated: bool, reason: Missing) -> None:
    rows = [endpoint(emulated=emulated)]
    for text in (
        "\n".join(table_lines(endpoint_table(rows), Screen(width=WIDE), NAMES)),
        plain(html_table(endpoint_table(rows))),
        plain(endpoints_card(rows, None)),
    ):
        assert 2 == len(re.findall(rf"\b{reason}\b(?! for)", text))


def test_sentences_about_emulated_jobs_begin_alike() -> None:
    chart = cost.chart(compare([record(snapshot(emulated=True), [], workload="w")]).sections[0])
    assert chart.title.startswith(EMULATED_COST)


def test_a_loss_that_was_not_logged_is_said_in_one_word_on_every_surface() -> None:
    job = snapshot()
    row, logged = watched(job), str(Missing.NOT_LOGGED)
    compared = compare(beside(record(job, [], workload="w")))
    (entry,) = [each for each in json.loads(compared.to_json())["jobs"] if each["job"] == "job"]
    line = next(line for line in compared.text(160).splitlines() if line.startswith(("■ job", "● job")))
    table = next(line for line in watch_text([row, row], NOW, 160).splitlines() if " job " in line)
    said = {
        "comparison, terminal": line,
        "comparison, page": plain(page(compared, [], now=None)),
        "comparison, card": plain(compared._repr_html_()),
        "comparison, JSON": entry["missing"]["final_loss"],
        "comparison, throughput's figure": throughput.chart(compared.sections[0]).alt,
        "watch, a table in the terminal": table,
        "watch, one job in the terminal": watch_text([row], NOW),
        "watch, a notebook's table": plain(watch_html([row, row], NOW)),
        "watch, a notebook's card": plain(watch_html([row], NOW)),
        "live page, the list": str(row_json(Shown(row, {}), NOW)["loss"]),
        "live page, one job": named(detail(row), "Loss"),
    }
    assert {} == {surface: text for surface, text in said.items() if logged not in text}


def test_a_log_that_was_not_read_is_not_said_to_lack_a_number() -> None:
    row = dataclasses.replace(watched(snapshot()), log_read=False)
    shown = row_json(Shown(row, {}), NOW)
    assert {"-"} == {shown["loss"], shown["rate"], shown["step"]}
    assert str(Missing.NOT_LOGGED) not in watch_text([row, row], NOW, 160) + watch_html([row, row], NOW)


def test_a_failed_job_has_one_next_step_on_every_surface() -> None:
    job = snapshot("a job", TrainingJobStatus="Failed", SecondaryStatus="Failed", FailureReason="CUDA out of memory")
    row, command = watched(job), "sm-trn why 'a job'"
    (need,) = needs([row], NOW, "")
    steps = detail(row)["next"]
    said = {
        "watch, a table in the terminal": watch_text([row, row], NOW, 160),
        "watch, one job in the terminal": watch_text([row], NOW, 160),
        "watch, a notebook's card": plain(watch_html([row], NOW)),
        "watch, a notebook's table": plain(watch_html([row, row], NOW)),
        "live page, what needs you": need["command"],
        "live page, one job": steps[0][1],
        "list NAME": "\n".join(facts.lines(job)),
    }
    assert {} == {surface: text for surface, text in said.items() if command not in str(text)}
    assert command == next_command("a job", JobStatus.FAILED)


@pytest.mark.parametrize("status", list(JobStatus))
def test_every_status_has_a_next_step(status: JobStatus) -> None:
    assert all(step.command.startswith("sm-trn ") and step.words for step in next_steps("a", status))


def test_a_job_that_was_stopped_is_stopped_on_every_surface() -> None:
    job = snapshot(TrainingJobStatus="Stopped", SecondaryStatus="Stopped")
    row, item = watched(job), fleet([job])
    compared = compare([record(job, [], workload="w")])
    word, glyph = LOOKS["Stopped"].word, LOOKS["Stopped"].glyph
    pages = {
        "watch, one job": watch_text([row], NOW),
        "watch, a notebook's table": plain(watch_html([row, row], NOW)),
        "watch, a notebook's card": plain(watch_html([row], NOW)),
        "fleet, page": plain(fleet_page(item, by="instance", now=None)),
        "comparison, page": plain(page(compared, [], now=None)),
        "comparison, card": plain(compared._repr_html_()),
    }
    assert {} == {surface: text for surface, text in pages.items() if f"{glyph} {word}" not in text}
    shown = row_json(Shown(row, {}), NOW)
    assert (glyph, word) == (shown["glyph"], shown["word"])
    words = {
        "watch, a table": watch_text([row, row], NOW),
        "fleet, terminal": item.text(),
        "comparison, JSON": json.loads(compared.to_json())["jobs"][0]["status"],
        "list": "\n".join(table_lines(listed_jobs([job]), Screen())),
        "list NAME": "\n".join(facts.lines(job)),
        "live page, one job": detail(row)["sentence"],
    }
    assert {} == {surface: text for surface, text in words.items() if not re.search(rf"\b{word}\b", text)}


def test_a_phase_has_one_name_and_one_texture() -> None:
    loading = transitions(("Starting", 100.0), ("DownloadingTrainingImage", 50.0), ("Training", -1.0))
    answer = describe(
        "job", TrainingJobStatus="InProgress", SecondaryStatus="Training", SecondaryStatusTransitions=loading
    )
    row = watched(parse_snapshot(answer))
    names = ["starting", "downloading", "training"]
    assert names == [name for name, _, _ in detail(row)["phases"]]
    assert all(name in watch_text([row], NOW) and name in watch_html([row], NOW) for name in names)
    styles = [texture.style for texture in (Texture.WAITING, Texture.TRANSFER, Texture.TRAINING)]
    assert styles == [style for _, style, _ in detail(row)["phases"]]
    assert styles == [style for style in re.findall(r'<i class="(\w+)"', watch_html([row], NOW)) if style != "left"]
    assert all(
        texture.letter in watch_text([row], NOW) for texture in (Texture.WAITING, Texture.TRANSFER, Texture.TRAINING)
    )


# Words that are plain English inside a longer sentence are looked for as whole texts only.
PHRASES = ("not billed yet", "nothing billed yet", "not logged", "no reason given", EMULATED_COST)
UNPRICED = re.compile(r"\bno price\b(?=$|[,;:]| for| in | of | is known)")
WHOLE = {"none, emu", "none: emulated", "emulated, not billed", "price not known", str(Missing.TOO_SHORT)}
COMMAND = "sm-trn why "
HOMES = {"core/formatting/missing.py", "core/status.py"}
SESSION = "core/session/"  # its messages of a budget and of a failure have words of their own so far


def texts_of(path: Path) -> list[str]:
    """Every text of a module that is no docstring."""
    tree = ast.parse(path.read_text("utf-8"))
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, described) and node.body and isinstance(node.body[0], ast.Expr)
    }
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
    return [node.value for node in constants if isinstance(node.value, str)]


def spelled(text: str) -> bool:
    phrase = UNPRICED.search(text) or any(re.search(rf"\b{re.escape(each)}\b", text) for each in PHRASES)
    return bool(phrase) or text in WHOLE or (text.endswith(COMMAND) or f"{COMMAND}{{" in text)


def test_no_module_outside_their_home_spells_the_words() -> None:
    modules = [path for path in sorted(ROOT.rglob("*.py")) if str(path.relative_to(ROOT)) not in HOMES]
    found = {
        str(path.relative_to(ROOT)): [text for text in texts_of(path) if spelled(text)]
        for path in modules
        if not str(path.relative_to(ROOT)).startswith(SESSION)
    }
    assert {} == {name: texts for name, texts in found.items() if texts}


def test_the_live_page_spells_no_reason_and_no_texture() -> None:
    for path in (ROOT / "report/ui/static").glob("*.js"):
        text = path.read_text("utf-8")
        assert [] == [
            each for each in (*PHRASES, *(texture.words for texture in Texture)) if f'"{each}"' in text and " " in each
        ]


@pytest.mark.parametrize("text", ["no price", "no price for ml.x", "not billed yet", "no reason given", "sm-trn why "])
def test_a_word_that_is_spelled_elsewhere_is_seen(text: str) -> None:
    assert spelled(text)
