"""Which jobs a fleet is about, over a simulated account; and the shell's sums."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn
from fakes.simulated_wire import World

import sm_trn as st
from sm_trn.report.fleets.search import moment


@pytest.mark.parametrize(
    ("given", "end", "wanted"),
    [
        ("2026-11-20", False, datetime(2026, 11, 20, tzinfo=timezone.utc)),
        (date(2026, 11, 20), True, datetime(2026, 11, 20, 23, 59, 59, 999_999, tzinfo=timezone.utc)),
        ("2026-11-20T08:30Z", True, datetime(2026, 11, 20, 8, 30, tzinfo=timezone.utc)),
        (datetime(2026, 11, 20, 8), False, datetime(2026, 11, 20, 8, tzinfo=timezone.utc)),  # noqa: DTZ001 - taken as UTC
        (None, False, None),
    ],
)
def test_a_day_is_its_first_or_last_moment(given: Any, end: bool, wanted: datetime | None) -> None:
    assert wanted == moment(given, end=end)


def test_a_date_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="date: got 'soon', wanted ISO text"):
        moment("soon")


def test_jobs_are_found_by_name_and_tag_and_counted_once(here: World, spec: st.JobSpec) -> None:
    here.session.submit_all([spec.replace(name=f"bert-{n}", tags={"team": "nlp"}) for n in range(3)])
    here.session.submit_all([spec.replace(name=f"gpt-{n}", tags={"team": "lm"}) for n in range(4)])
    assert (7, 3, 4) == (
        len(here.session.fleet().rows),
        len(here.session.fleet("bert").rows),
        len(here.session.fleet(tag=("team", "lm")).rows),
    )
    assert {"nlp", "lm"} == {group.name for group in here.session.fleet(tags=True).by("tag:team")}
    with pytest.raises(st.SmTrnError, match=r"fleet\(tags=True\) reads them"):
        here.session.fleet().by("tag:team")
    assert "Jobs with 'bert' in their name" == here.session.fleet("bert").title
    assert 2 == len(here.session.fleet(limit=2).rows)


def test_a_fleet_asks_once_a_job_and_page(here: World, spec: st.JobSpec) -> None:
    here.session.submit_all([spec.replace(name=f"bert-{n}") for n in range(5)])
    here.wire.calls.clear()
    here.session.fleet()
    assert {"ListTrainingJobs": 1, "DescribeTrainingJob": 5} == dict(here.wire.calls)


@pytest.mark.local
def test_the_shell_sums_a_search(emulator: Any, tmp_path: Path) -> None:
    where = ("--backend", "emulator", "--state", str(emulator.state))
    shown = sm_trn("cost", "--all", "--by", "month", "--json", "--output", str(tmp_path / "out"), *where)
    assert 0 == shown.returncode, shown.stderr
    body = json.loads(shown.stdout)
    assert ("month", True) == (body["by"], all(job["cost_usd"] is None for job in body["jobs"]))
    assert (tmp_path / "out" / "fleet.html").is_file()
    assert 0 == sm_trn("cost", "--since", "2020-01-01", *where).returncode


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "wanted either NAMES or a search"),
        (("a-job", "--all"), "wanted either NAMES or a search"),
        (("--tag", "team"), "wanted KEY=VALUE"),
        (("--since", "soon"), "wanted ISO text"),
    ],
)
def test_a_search_that_makes_no_sense_is_a_usage_error(arguments: tuple[str, ...], words: str) -> None:
    refused = sm_trn("cost", *arguments)
    assert (2, True) == (refused.returncode, words in refused.stderr)
