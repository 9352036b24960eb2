"""``sm-trn conformance`` as a person meets it: the plan, what it refuses, and how a comparison reads."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from command import sm_trn
from wired import RECORDS

from sm_trn.account.conformance.answers import Answered, Answers, Step, load_answers, read_answers
from sm_trn.account.conformance.differences import Differences, Kind, differences, timing
from sm_trn.account.conformance.jobs import INSTANCE, JOBS
from sm_trn.account.conformance.plan import make_plan
from sm_trn.account.conformance.probe import BATTERIES
from sm_trn.account.conformance.probes import PROBES
from sm_trn.account.policies.conformance import CONFORMANCE
from sm_trn.core.errors import SmTrnError
from sm_trn.core.pricing.book import snapshot_book

KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-west-2"}


def record(step: Step, source: str = "aws") -> Answers:
    probes = (Answered(probe="a probe", battery="storage", steps=(step,)),)
    return Answers(source=source, date="2026-11-23", region="us-west-2", versions={}, probes=probes)


def compared(one: Step, other: Step) -> Differences:
    return differences(record(one), record(other, "emulator"))


# --- the plan ---


def test_the_plan_sends_nothing_at_all() -> None:
    """Not to the account, and not to ask who one is."""
    calls = list[object]()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_count, args=(server, calls), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        done = sm_trn("conformance", "--plan", environment={**KEYS, "AWS_ENDPOINT_URL": url})
    assert 0 == done.returncode, done.stderr
    assert [] == calls
    assert "Nothing was sent." in done.stdout


def _count(server: socket.socket, calls: list[object]) -> None:
    with contextlib.suppress(OSError):  # it is closed when nobody can call any more
        while True:
            calls.append(server.accept())


def test_the_worst_case_is_at_most_a_dollar_and_the_sum_of_its_lines() -> None:
    found = json.loads(sm_trn("conformance", "--plan", "--json").stdout)
    assert Decimal(found["most_usd"]) <= 1
    assert len(PROBES) == sum(row["probes"] for row in found["batteries"])
    assert len(JOBS) == sum(row["jobs"] for row in found["batteries"])


def test_the_worst_case_counts_the_limit_the_stop_and_the_pool_of_every_job() -> None:
    price = snapshot_book().find(INSTANCE, "us-west-2")
    assert price is not None
    seconds = sum(plan.limit_s + 300 + plan.keep_alive_s for plan in JOBS.values())
    plan = make_plan(PROBES, "us-west-2", price)
    assert plan.most_usd is not None
    assert abs(plan.most_usd - price.usd_per_hour * seconds / 3600 - Decimal("0.01")) <= Decimal("0.01")


def test_a_battery_alone_pays_for_the_jobs_that_it_needs() -> None:
    plan = make_plan(
        [p for p in PROBES if p.battery == "storage"], "us-west-2", snapshot_book().find(INSTANCE, "us-west-2")
    )
    assert [("storage", ("plain",))] == [(each.name, tuple(job.key for job in each.jobs)) for each in plan.batteries]
    assert plan.most_usd is not None
    assert plan.most_usd > Decimal("0.07")


def test_every_probe_names_a_battery_and_jobs_that_exist() -> None:
    assert {probe.battery for probe in PROBES} <= set(BATTERIES)
    assert {key for probe in PROBES for key in probe.jobs} == set(JOBS)
    assert len(PROBES) == len({probe.name for probe in PROBES})


# --- what is refused ---


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "allow it with --max-usd"),
        (("--max-usd", "0.1"), "--max-usd: got 0.1, wanted at least the worst case"),
        (("--max-usd", "1"), "add --yes"),
        (("--max-usd", "1", "--yes", "--region", "eu-south-2"), "the worst case is unknown"),
    ],
)
def test_a_run_that_is_not_allowed_says_why_and_sends_nothing(arguments: tuple[str, ...], said: str) -> None:
    done = sm_trn("conformance", *arguments, environment={**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
    assert (2, "") == (done.returncode, done.stdout)
    assert said in done.stderr
    assert "Nothing was sent" in done.stderr


def test_a_file_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", "utf-8")
    done = sm_trn("conformance", "--diff", str(tmp_path / "x.json"))
    assert (1, "") == (done.returncode, done.stdout)
    assert "x.json: not a record" in done.stderr


@pytest.mark.parametrize("text", ["", "[]", "7", '{"format": 99}', '{"format": 1, "probes": 3}', '{"format": 1}'])
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(SmTrnError, match=r"record|format"):
        load_answers(text)


@pytest.mark.parametrize("kind", CONFORMANCE)
def test_the_policies_need_no_job_file(kind: str) -> None:
    assert "2012-10-17" == json.loads(sm_trn("policy", "--for", kind).stdout)["Version"]


def test_other_policies_still_need_one() -> None:
    assert 2 == sm_trn("policy", "--for", "launch").returncode


# --- how a comparison reads ---


def test_a_record_agrees_with_itself() -> None:
    answers = read_answers(RECORDS / "emulator.json")
    assert () == differences(answers, answers).found


@pytest.mark.parametrize(
    ("one", "other", "kind", "field"),
    [
        ({"A": 1}, {}, Kind.PRESENCE, "A"),
        ({}, {"A": 1}, Kind.PRESENCE, "A"),
        ({"A": {"B": 1}}, {"A": {"B": "1"}}, Kind.TYPE, "A.B"),
        ({"A": 1}, {"A": True}, Kind.TYPE, "A"),
        ({"A": "<time>"}, {"A": "<number>"}, Kind.VALUE, "A"),
        ({"A": "<time>"}, {"A": "soon"}, Kind.TYPE, "A"),
        ({"A": "B"}, {"A": "C"}, Kind.VALUE, "A"),
        ({"A": "it stopped"}, {"A": "it ended"}, Kind.TEXT, "A"),
        ({"A": [1, 2]}, {"A": [2, 1]}, Kind.ORDER, "A"),
        ({"A": [1, 2]}, {"A": [1]}, Kind.PRESENCE, "A[1]"),
        ({"A": [{"B": 1}, 2]}, {"A": [{"B": 3}, 2]}, Kind.VALUE, "A[0].B"),
        ({"A": None}, {"A": []}, Kind.TYPE, "A"),
    ],
)
def test_a_difference_is_of_its_kind_and_field(one: object, other: object, kind: Kind, field: str) -> None:
    (found,) = compared(Step(call="s:X", answer=one), Step(call="s:X", answer=other)).found  # type: ignore[arg-type]  # of any JSON
    assert (kind, field) == (found.kind, found.field)


def test_names_that_are_numbered_otherwise_do_not_differ() -> None:
    one, other = (
        Step(call="s:X", answer=["<name-1>", "<name-2> x"]),
        Step(call="s:X", answer=["<name-4>", "<name-1> x"]),
    )
    assert () == compared(one, other).found


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [(0.1, 4.0, False), (4.9, 5.2, False), (1.0, 70.0, True), (40.0, 400.0, True), (50, 160, False)],
)
def test_times_differ_by_class_and_not_at_its_border(one: float, other: float, differs: bool) -> None:
    found = compared(Step(call="s:X", answer={}, seconds=one), Step(call="s:X", answer={}, seconds=other)).found
    assert [Kind.TIMING] * differs == [each.kind for each in found]
    assert not compared(Step(call="s:X", seconds=one, paced=True), Step(call="s:X", seconds=other, paced=True)).found


def test_the_classes_of_times() -> None:
    assert ["at once", "seconds", "a minute", "minutes"] == [timing(each) for each in (0, 5, 45, 150)]


def test_an_error_is_compared_by_code_then_by_text() -> None:
    one = Step(call="s:X", code="ValidationException", message="at most 100", status=400)
    (code,) = compared(one, Step(call="s:X", code="ResourceNotFound", message="none", status=400)).found
    (text,) = compared(one, Step(call="s:X", code="ValidationException", message="less than 100", status=400)).found
    assert (Kind.CODE, Kind.TEXT) == (code.kind, text.kind)
    shown = str(compared(one, Step(call="s:X", code="ValidationException", message="less than 100", status=400)))
    assert 'aws: "at most 100"' in shown
    assert 'emulator: "less than 100"' in shown
    assert shown.startswith("0 of 1 agree. 1 differs:")


def test_a_probe_that_was_not_answered_is_told_and_not_compared() -> None:
    one = Answers(
        source="aws",
        date="2026-11-23",
        region="us-west-2",
        versions={},
        probes=(Answered(probe="a probe", battery="storage", steps=(), unanswered="AccessDenied"),),
    )
    found = differences(one, record(Step(call="s:X"), "emulator"))
    assert (0, ()) == (found.compared, found.found)
    assert "a probe: not compared: AccessDenied" in str(found)


def test_the_same_difference_of_one_operation_is_shown_once() -> None:
    steps = tuple(Step(call="s:X", title=str(n), answer={"A": 1}) for n in range(3))
    others = tuple(Step(call="s:X", title=str(n), answer={}) for n in range(3))
    one, other = (
        Answers(
            source=source,
            date="2026-11-23",
            region="r",
            versions={},
            probes=(Answered(probe="p", battery="b", steps=kept),),
        )
        for source, kept in (("aws", steps), ("emulator", others))
    )
    found = differences(one, other)
    assert 3 == len(found.found)
    assert 1 == str(found).count("absent")
    assert "and 2 more steps" in str(found)
