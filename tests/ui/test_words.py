"""What a row and a view say of a job: causes, sums, and nothing that an emulated job or a running one has not got."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest
from report_jobs import START, describe, transitions

from sm_trn.core.formatting import numbers as fmt
from sm_trn.core.logs import LogEvent
from sm_trn.core.pricing import snapshot_book
from sm_trn.core.specs import JobSnapshot, WallSeconds, parse_snapshot
from sm_trn.report import WatchRow, fleet
from sm_trn.report.ui.details import detail_json
from sm_trn.report.ui.lines import Lines
from sm_trn.report.ui.rows import Shown, cause_of, headline, needs, result_of, row_json
from sm_trn.report.ui.series import Curves
from sm_trn.report.ui.spending import spending
from sm_trn.results import Health, Verdict

NOW = datetime.fromtimestamp(START, tz=timezone.utc) + timedelta(minutes=30)
TOOLKIT = 'AlgorithmError: ExecuteUserScriptError: ExitCode 1 ErrorMessage "{}" Command "python train.py --lr 1", exit code: 1'


def row(name: str, *, status: str = "InProgress", emulated: bool = False, **more: object) -> WatchRow:
    """A job that was submitted half an hour ago, on one trn1."""
    ended = status != "InProgress"
    answer = describe(
        name,
        emulated=emulated,
        ResourceConfig={"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 1},
        TrainingJobStatus=status,
        SecondaryStatus=status if ended else "Training",
        SecondaryStatusTransitions=transitions(("Starting", 120.0), ("Training", -1.0)),
    )
    answer |= more
    if not ended:
        answer.pop("BillableTimeInSeconds", None)
        answer.pop("TrainingEndTime", None)
    price = snapshot_book().find("ml.trn1.32xlarge", "us-west-2")
    return WatchRow(snapshot=parse_snapshot(answer), label=name, price=price)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (TOOLKIT.format("ValueError: no column 'label'"), "ValueError: no column 'label'"),
        (TOOLKIT.format('if x: raise ValueError("bad") ^^^^^ ValueError: bad'), "ValueError: bad"),
        (
            TOOLKIT.format("torch.cuda.OutOfMemoryError: CUDA out of memory."),
            "torch.cuda.OutOfMemoryError: CUDA out of memory.",
        ),
        (TOOLKIT.format("it ended"), "it ended"),
        (TOOLKIT.format("KeyError").replace('" Command', '" ExtraInfo "x" Command'), "KeyError"),
        ("ClientError: Data download failed: AccessDenied", "ClientError: Data download failed: AccessDenied"),
        ("", ""),
    ],
)
def test_the_cause_of_a_failure_is_the_scripts_own_exception(reason: str, cause: str) -> None:
    assert cause == cause_of(reason)


def test_the_view_of_a_failed_job_says_the_cause_in_one_line() -> None:
    lines = Lines()
    said = (
        "Traceback (most recent call last):",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    )
    lines.add(LogEvent(float(at), "algo-1", text) for at, text in enumerate(said))
    views = [
        detail_json(row("job", status=status), Curves(), lines, now=NOW, ready=True, problem="", options="")
        for status in ("Failed", "Completed")
    ]
    assert ["the GPU's memory is full (certain, mem.cuda_oom), algo-1", ""] == [view["cause"] for view in views]


def test_a_cause_that_jobs_share_is_said_once_though_their_commands_differ() -> None:
    failed = [
        row(f"job-{n}", status="Failed", FailureReason=TOOLKIT.format("KeyError: 'x'").replace("--lr 1", f"--lr {n}"))
        for n in range(5)
    ]
    (said,) = needs(failed, NOW, " --region us-west-2")
    assert (5, "KeyError: 'x'", ["job-0", "job-1", "job-2"]) == (said["count"], said["cause"], said["names"])
    assert "sm-trn why job-0 --region us-west-2" == said["command"]


def test_a_failure_of_last_week_needs_nobody() -> None:
    failed = row("job", status="Failed")
    assert needs([failed], NOW, "")
    assert [] == needs([failed], NOW + timedelta(days=7), "")


def test_a_spot_interruption_needs_nobody() -> None:
    interrupted = row("job", SecondaryStatus="Interrupted", EnableManagedSpotTraining=True)
    assert "interrupted" == interrupted.look.word
    assert [] == needs([interrupted], NOW, "")


def test_a_name_in_a_command_cannot_end_it() -> None:
    (said,) = needs([row("a; rm -rf ~", status="Failed")], NOW, "")
    assert "sm-trn why 'a; rm -rf ~'" == said["command"]


def test_emulated_jobs_have_no_cost_no_rate_and_say_what_they_are() -> None:
    emulated = [row("a", emulated=True), row("b", emulated=True, status="Completed")]
    sentence, below = headline(emulated, NOW)
    assert "1 job runs on this machine" == sentence
    assert "EMULATED" in below
    assert "$" not in sentence + below
    drawn = row_json(Shown(emulated[0], {}), NOW)
    assert (True, None, "emulated", "emulated", []) == tuple(
        drawn[key] for key in ("emulated", "usd", "cost", "rate", "rates")
    )
    assert "emu" in str(drawn["billed"])
    shown = spending([(one.snapshot, {}) for one in emulated], snapshot_book())
    assert (True, "seconds of this machine") == (shown["emulated"], shown["unit"])
    assert "cost nothing" in str(shown["title"])


def test_the_sum_below_the_first_sentence_is_the_fleets_however_small_the_jobs_are() -> None:
    """Sums are of what was paid: cents that are rounded job by job would be another sum."""
    rows = [row(f"job-{n}", status="Completed", BillableTimeInSeconds=1 + n) for n in range(300)]
    item = fleet([one.snapshot for one in rows], book=snapshot_book())
    _, below = headline(rows, NOW)
    assert f" {fmt.usd(item.usd)} so far" in below
    assert fmt.usd(item.usd) in str(spending([(one.snapshot, {}) for one in rows], snapshot_book())["title"])


def test_days_without_a_job_keep_their_place_and_earlier_ones_are_said() -> None:
    first = row("a", status="Completed", BillableTimeInSeconds=100).snapshot

    def on(day: int) -> tuple[JobSnapshot, dict[str, str]]:
        assert first.created is not None
        return dataclasses.replace(first, created=first.created + timedelta(days=day)), {}

    days = spending([on(0), on(3)], snapshot_book())["days"]
    assert isinstance(days, list)
    assert [1, 0, 0, 1] == [day["jobs"] for day in days]
    shown = spending([on(0), on(100)], snapshot_book())
    days, findings = shown["days"], shown["findings"]
    assert isinstance(days, list)
    assert isinstance(findings, list)
    assert 62 == len(days)
    assert "1 job of earlier days is in the sums, and not in the days below." in findings


def test_a_page_that_shows_only_the_newest_says_that_no_sum_is_whole() -> None:
    one = row("a", status="Completed", BillableTimeInSeconds=100).snapshot
    assert "only the 1 newest were looked at" in str(spending([(one, {})], snapshot_book(), cut=1)["findings"])


def test_seconds_of_the_title_are_those_of_the_days() -> None:
    machines = {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 2}
    two = row("a", status="Completed", emulated=True, BillableTimeInSeconds=100, ResourceConfig=machines).snapshot
    shown = spending([(two, {})], snapshot_book())
    days = shown["days"]
    assert isinstance(days, list)
    assert fmt.duration(100 * two.count) in str(shown["title"])
    assert [100 * two.count] == [day["done"] for day in days]


def test_a_running_spot_job_costs_at_most_what_it_shows() -> None:
    spot = row("spot", EnableManagedSpotTraining=True)
    drawn = row_json(Shown(spot, {}), NOW)
    assert (True, True) == (drawn["at_most"], str(drawn["cost"]).startswith("≤ "))
    sentence, below = headline([spot], NOW)
    assert "at most $" in sentence
    assert "at most $" in below


def test_the_costs_are_the_fleets_to_the_cent() -> None:
    rows = [row(f"run-{n}", status="Completed", BillableTimeInSeconds=601 + n) for n in range(7)]
    jobs: list[tuple[JobSnapshot, dict[str, str]]] = [(one.snapshot, {}) for one in rows]
    assert str(spending(jobs, snapshot_book())["title"]).endswith(fmt.usd(fleet(jobs, book=snapshot_book()).usd))


def test_groups_of_the_costs_add_up_whatever_the_key() -> None:
    rows = [
        row(f"run-{n:02d}", status="Failed" if n % 3 == 0 else "Completed", BillableTimeInSeconds=600 + n)
        for n in range(20)
    ]
    tagged = [(one.snapshot, {"team": "nlp" if n % 2 else "lm"}) for n, one in enumerate(rows)]
    shown = spending(tagged, snapshot_book())
    whole = float(sum((one.usd(NOW) or Decimal(0) for one in rows), Decimal(0)))
    by: object = shown["by"]
    assert isinstance(by, list)
    assert ["By instance", "By tag team"] == [one["title"] for one in by]  # every name is another: no sums by name
    for one in (*by, {"groups": shown["days"]}):
        assert whole == pytest.approx(
            sum(group["done"] + group["failed"] + group["stopped"] for group in one["groups"])
        )


@pytest.mark.parametrize("emulated", [False, True])
def test_a_job_that_runs_is_in_no_sum_of_the_costs_and_that_is_said(emulated: bool) -> None:
    """The emulator tells the seconds of a job that runs, too."""
    running = row("runs", emulated=emulated)
    running = dataclasses.replace(running, snapshot=dataclasses.replace(running.snapshot, billable_s=WallSeconds(7.0)))
    ended = row("ended", emulated=emulated, status="Completed", BillableTimeInSeconds=100)
    shown = spending([(one.snapshot, {}) for one in (running, ended)], snapshot_book())
    days, findings = shown["days"], shown["findings"]
    assert isinstance(days, list)
    assert isinstance(findings, list)
    assert [1] == [day["jobs"] for day in days]
    said = " ".join(findings)
    assert "1 job still runs" in said
    assert emulated is not ("cost so far" in said)


def test_a_job_that_ended_badly_whatever_its_status_says_is_no_best_one() -> None:
    ended = row(
        "job", status="Completed", FinalMetricDataList=[{"MetricName": "eval_accuracy", "Value": 0.9, "Timestamp": NOW}]
    )
    found = result_of(ended)
    assert found is not None
    assert ("eval_accuracy", 0.9) == (found["metric"], found["value"])
    assert (
        result_of(dataclasses.replace(ended, health=Health(verdict=Verdict.NOT_FINITE, what="the loss is no number")))
        is None
    )
    assert result_of(row("job")) is None
