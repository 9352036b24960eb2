"""Many jobs' costs: sums that hold only what was billed at a known price, by any key, in text, files and HTML."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from many_jobs import november
from report_jobs import START, describe

from sm_trn.core.errors import SmTrnError, UnknownName
from sm_trn.core.specs import JobSnapshot, parse_snapshot
from sm_trn.report import FLEET_COLUMNS, Fleet, fleet

P4D, G5 = "ml.p4d.24xlarge", "ml.g5.xlarge"


def job(name: str, instance: str = P4D, count: int = 1, *, billable: int | None = 3600, **changes: Any) -> JobSnapshot:
    answer = describe(name, ResourceConfig={"InstanceType": instance, "InstanceCount": count}, **changes)
    answer["BillableTimeInSeconds"] = billable
    return parse_snapshot({key: value for key, value in answer.items() if value is not None})


def mixed() -> Fleet:
    return fleet(
        [
            (job("gpt2-261101-101010-0a1b2c", count=2), {"team": "nlp"}),
            (job("gpt2-261102-101010-0a1b2d", TrainingJobStatus="Failed", created=START + 10), {"team": "nlp"}),
            (
                job("small", G5, created=START + 20, EnableManagedSpotTraining=True, TrainingTimeInSeconds=7200),
                {"team": "cv"},
            ),
            job("rare", "ml.m4.xlarge", created=START + 30),
            job("rehearsed", emulated=True, created=START + 40),
            job("queued", billable=None, TrainingJobStatus="InProgress", created=START + 50),
        ]
    )


def test_the_sum_holds_what_was_billed_at_a_known_price_only() -> None:
    item = mixed()
    hour = Decimal("25.251286")
    small = next(row.cost.usd for row in item.rows if row.cost and row.snapshot.instance == G5)
    assert 3 * hour + small == item.usd


def test_what_is_in_no_sum_is_named() -> None:
    said = " ".join(mixed().findings())
    for words in ("3 jobs cost $77.16 in all at prices of 2026-09-01.",
                  "1 job failed and cost $25.25, 32.7 % of all.", "No price is known for ml.m4.xlarge: 1 job",
                  "1 job not billed yet", "1 job EMULATED", "Spot took $1.41 off"):  # fmt: skip
        assert words in said


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("instance", [P4D, G5, "ml.m4.xlarge"]),
        ("status", ["Completed", "Failed", "InProgress"]),
        ("name", ["gpt2", "small", "queued", "rare", "rehearsed"]),
        ("tag:team", ["nlp", "cv", "no team"]),
        ("month", ["2023-11"]),
        ("day", ["2023-11-14"]),
    ],
)
def test_sums_by_a_key_dearest_first(key: str, names: list[str]) -> None:
    groups = mixed().by(key)
    assert names == [group.name for group in groups]
    assert mixed().usd == sum(group.usd for group in groups)
    assert len(mixed().rows) == sum(group.jobs for group in groups)


def test_an_unknown_key_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean 'instance'"):
        mixed().by("instanse")


@given(
    some.lists(
        some.tuples(some.sampled_from([P4D, G5, "ml.unknown"]), some.integers(1, 8), some.integers(0, 90_000)),
        max_size=8,
    )
)
def test_no_key_loses_or_invents_money(jobs: list[tuple[str, int, int]]) -> None:
    item = fleet([(job(f"j{n}", name, count, billable=seconds), {}) for n, (name, count, seconds) in enumerate(jobs)])
    for key in ("instance", "status", "month", "name", "tag:none"):
        assert abs(item.usd - sum((group.usd for group in item.by(key)), Decimal(0))) < Decimal("1e-20")


def test_jobs_are_newest_first_and_the_frame_has_its_columns() -> None:
    frame = mixed().frame
    assert list(FLEET_COLUMNS) == list(frame.columns)
    assert "queued" == frame["job"][0]
    assert math.isnan(frame["cost_usd"][1])  # emulated: missing, not zero


def test_jobs_that_have_no_cost_are_not_said_to_cost_nothing() -> None:
    assert not any("$0.00" in finding for finding in fleet([job("a", emulated=True)]).findings())


@pytest.mark.parametrize("width", [80, 160])
def test_text_fits_its_width(width: int) -> None:
    text = mixed().text(width, by="tag:team")
    table = text.split("\n\n")
    assert max(len(line) for block in table[:-1] for line in block.split("\n")) <= width
    assert "no price" in table[1].partition("JOB ")[0]  # a group without any cost
    assert "emulated" in text


def test_files_agree(tmp_path: Path) -> None:
    paths = mixed().save(tmp_path / "made", by="tag:team")
    body = json.loads(paths[2].read_text())
    assert ["fleet.html", "fleet.csv", "fleet.json"] == [path.name for path in paths]
    assert ("tag:team", 6, 6) == (body["by"], len(body["jobs"]), len(paths[1].read_text().splitlines()) - 1)
    page = paths[0].read_text()
    for words in ("3 jobs cost $77.16 in all at prices of 2026-09-01.", "EMULATED", "2026-09-01", '<html lang="en">'):
        assert words in page
    assert "http" not in page.replace("http://www.w3.org", "")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.names.append(tag)


def test_foreign_names_cannot_inject(tmp_path: Path) -> None:
    hostile = fleet([(job("<script>alert(1)</script>"), {"team": "=HYPERLINK(1)\x1b[2J<img src=x>"})])
    for html in (hostile._repr_html_(), hostile.save(tmp_path, by="tag:team")[0].read_text()):
        parser = Tags()
        parser.feed(html)
        assert not {"script", "img"} & set(parser.names)
    assert "\x1b" not in hostile.text(by="tag:team")
    assert "'=cmd" in fleet([job("=cmd")]).save(tmp_path)[1].read_text()


def pooled(name: str, retained_s: int | None, **changes: Any) -> JobSnapshot:
    """A job whose machines were kept for so long after it."""
    return job(
        name, WarmPoolStatus={"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": retained_s}, **changes
    )


def test_a_warm_pool_is_idle_spend_and_in_no_jobs_cost() -> None:
    item = fleet([pooled("a", 1800, count=2), job("b"), pooled("c", None), pooled("d", 600, emulated=True)])
    hour = Decimal("25.251286")
    assert (4 * hour, hour) == (item.usd, item.idle_usd)
    assert hour == item.by("instance")[0].idle_usd
    assert "Warm pools of 1 job stood idle for $25.25" in " ".join(item.findings())
    assert [1, 0] == [sum(value > 0 for value in item.frame["idle_usd"].dropna()), int(item.frame["idle_usd"][1] > 0)]


def test_sums_by_a_tag_that_nobody_read_are_refused(tmp_path: Path) -> None:
    """'no team: all' would be untrue."""
    unread = fleet([snapshot for snapshot, _ in november(8)])
    for use in (unread.by, lambda by: unread.save(tmp_path, by=by), lambda by: unread.text(by=by)):
        with pytest.raises(SmTrnError, match=r"by: got 'tag:team', .*fleet\(tags=True\)"):
            use("tag:team")
    assert [] == list(tmp_path.iterdir())
    assert ["no team"] == [group.name for group in fleet([(job("a"), {})]).by("tag:team")]
    assert () == fleet([]).by("tag:team")
