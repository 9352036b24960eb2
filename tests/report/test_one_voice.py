"""One fact, one word: a cost, a missing value, a status and a next step are the same on every surface."""

from __future__ import annotations

import dataclasses
import json
import re
from datetime import datetime, timezone
from html import unescape
from typing import Any

import pytest
from report_jobs import START, describe, transitions

from sm_trn.cli.jobs import facts
from sm_trn.core.formatting.missing import Missing
from sm_trn.core.formatting.table import csv_text
from sm_trn.core.pricing import job_cost, snapshot_book
from sm_trn.core.specs import JobSnapshot, JobStatus, parse_snapshot
from sm_trn.core.specs.record import record
from sm_trn.core.status import LOOKS, limit_of, next_command
from sm_trn.report import WatchRow, compare, fleet, watch_html, watch_text
from sm_trn.report.columns import COLUMNS
from sm_trn.report.commands.cost import cost_line
from sm_trn.report.ui.watcher import list_piece

NOW = datetime.fromtimestamp(START + 1500, timezone.utc)


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


def plain(html: str) -> str:
    """The words of a page, without its style."""
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body)).replace("\xa0", " "))


def cell(html: str, label: str) -> str:
    """The words of the last cell below a heading."""
    return plain(re.findall(rf'<td data-label="{label}[^"]*"[^>]*>(.*?)</td>', html)[-1])


def costs_of(job: JobSnapshot) -> dict[str, str]:
    """What each surface says where the job's cost would stand."""
    row, item = watched(job), fleet([job])
    compared = compare([record(job, [], workload="w")])
    said = {
        "watch, a table": watch_text([row, row], NOW, 160),
        "watch, one job": dict(re.findall(r"^  (\w+) +(.*)$", watch_text([row], NOW), re.MULTILINE))["cost"],
        "watch, a notebook's table": cell(watch_html([row, row], NOW), "Cost"),
        "watch, a notebook's card": plain(watch_html([row], NOW)),
        "live page, the list": cell(list_piece([row], NOW), "Cost"),
        "fleet, terminal": item.text(),
        "fleet, page": cell(item.page(by="instance", now=None), "Cost"),
        "fleet, card": cell(item._repr_html_(), "Cost"),
        "comparison, page": cell(compared.page(), "Cost"),
        "comparison, card": cell(compared._repr_html_(), "Cost"),
        "cost, the command": cost_line(job, job_cost(job, row.price)),
    }
    if not job.emulated:  # a rehearsal has no column of money in a terminal, and says so in a sentence
        said["comparison, terminal"] = compared.text(160)
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
    compared, item = compare([record(COSTS[reason], [], workload="w")]), fleet([COSTS[reason]])
    for body in (json.loads(compared.to_json()), json.loads(item.to_json())):
        assert (None, str(reason)) == (body["jobs"][0]["cost_usd"], body["jobs"][0]["missing"]["cost_usd"])
    assert compared.frame["cost_usd"].isna().all()
    assert item.frame["cost_usd"].isna().all()
    head, line = csv_text(COLUMNS, compared.cells()).splitlines()
    assert "" == line.split(",")[head.split(",").index("cost_usd")]


@pytest.mark.parametrize("seconds", [1, 601, 9_999])
def test_a_cost_is_the_same_to_the_cent_on_every_surface(seconds: int) -> None:
    job = snapshot(BillableTimeInSeconds=seconds)
    cost = job_cost(job, watched(job).price)
    assert cost is not None
    said = costs_of(job)
    assert {} == {surface: text for surface, text in said.items() if f"{cost.rounded:,}" not in text}
    exact = [compare([record(job, [], workload="w")]).frame["cost_usd"][0], fleet([job]).frame["cost_usd"][0]]
    assert [float(cost.usd)] * 2 == exact


def test_a_loss_that_was_not_logged_is_said_in_one_word_and_one_that_nobody_read_is_not() -> None:
    job, logged = snapshot(), str(Missing.NOT_LOGGED)
    for read in (True, False):
        row = dataclasses.replace(watched(job), log_read=read)
        texts = [
            watch_text([row, row], NOW, 160),
            watch_text([row], NOW, 160),
            watch_html([row], NOW),
            list_piece([row], NOW),
        ]
        assert [read] * len(texts) == [logged in text.replace("\xa0", " ") for text in texts]


def test_a_failed_job_has_one_next_step_on_every_surface() -> None:
    job = snapshot("a job", TrainingJobStatus="Failed", SecondaryStatus="Failed", FailureReason="CUDA out of memory")
    row, command = watched(job), "sm-trn why 'a job'"
    said = [
        watch_text([row, row], NOW, 160),
        watch_text([row], NOW, 160),
        plain(watch_html([row], NOW)),
        plain(watch_html([row, row], NOW)),
        plain(list_piece([row], NOW)),
        "\n".join(facts.lines(job)),
    ]
    assert [] == [text for text in said if command not in text]
    assert command == next_command("a job", JobStatus.FAILED)


@pytest.mark.parametrize(("seconds", "limit"), [(3_600, "MaxRuntimeExceeded"), (3_599, "")])
def test_a_job_that_was_stopped_after_its_longest_time_was_stopped_by_that(seconds: int, limit: str) -> None:
    stopped: dict[str, Any] = {"TrainingJobStatus": "Stopped", "SecondaryStatus": "Stopped"}
    most = {"MaxRuntimeInSeconds": 3_600}
    assert limit == limit_of(snapshot(TrainingTimeInSeconds=seconds, StoppingCondition=most, **stopped))


def test_a_job_that_was_stopped_is_stopped_on_every_surface() -> None:
    job = snapshot(TrainingJobStatus="Stopped", SecondaryStatus="Stopped")
    row, item = watched(job), fleet([job])
    compared = compare([record(job, [], workload="w")])
    state = f"{LOOKS['Stopped'].glyph} {LOOKS['Stopped'].word}"
    said = [
        watch_text([row], NOW),
        plain(watch_html([row, row], NOW)),
        plain(watch_html([row], NOW)),
        plain(list_piece([row], NOW)),
        plain(item.page(by="instance", now=None)),
        plain(compared.page()),
        plain(compared._repr_html_()),
    ]
    assert [] == [text for text in said if state not in text]
    assert LOOKS["Stopped"].word == json.loads(compared.to_json())["jobs"][0]["status"]


def test_a_phase_has_one_name() -> None:
    loading = transitions(("Starting", 100.0), ("DownloadingTrainingImage", 50.0), ("Training", -1.0))
    changes = {"TrainingJobStatus": "InProgress", "SecondaryStatus": "Training", "SecondaryStatusTransitions": loading}
    row = watched(parse_snapshot(describe("job", **changes)))
    for words in (watch_text([row], NOW), watch_html([row], NOW)):
        assert all(name in words for name in ("starting", "downloading", "training"))
