"""The page and the notebook card: self-contained, escaped, complete for those who cannot see it."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_jobs import describe, emulated_job, gpt2_pair

from sm_trn.core.formatting.table import csv_text
from sm_trn.core.specs import JobRecord, parse_snapshot
from sm_trn.core.specs.record import record
from sm_trn.report import COLUMNS, Comparison, compare, published_record

NOW = datetime(2026, 11, 20, 16, 42, tzinfo=timezone.utc)
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\x1b[31m'
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags with their attributes, words, and whether every tag was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.unclosed.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\u00a0", " ").split())

    def named(self, tag: str) -> Iterator[dict[str, str]]:
        return (attrs for name, attrs in self.tags if name == tag)


def pair() -> list[JobRecord]:
    return [item for name in ("bert-p4d", "bert-trn1") if (item := published_record(f"published/{name}")) is not None]


def hostile() -> list[JobRecord]:
    bad = describe(
        "x",
        TrainingJobStatus="Failed",
        SecondaryStatus=HOSTILE,
        FailureReason=HOSTILE,
        HyperParameters={HOSTILE: HOSTILE},
    )
    bad["ResourceConfig"] = {"InstanceType": HOSTILE, "InstanceCount": 1}
    measured = record(parse_snapshot(bad), gpt2_pair()[0].points, label=HOSTILE + "1", workload=HOSTILE)
    fine = record(
        parse_snapshot(describe("y", HyperParameters={"a": HOSTILE})),
        gpt2_pair()[0].points,
        label=HOSTILE + "2",
        workload=HOSTILE,
    )
    rehearsal = dataclasses.replace(emulated_job("z", workload=HOSTILE), label=HOSTILE + "3", notes=(HOSTILE,))
    return [dataclasses.replace(measured, source=HOSTILE, notes=(HOSTILE,)), fine, rehearsal]


def written(item: Comparison, directory: Path) -> str:
    return item.save(directory, now=NOW)[0].read_text("utf-8")


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    rehearsal = emulated_job("bert-trn1-spot", interrupted=True, workload=pair()[0].workload)
    return written(compare([*pair(), *gpt2_pair(), rehearsal], baseline=None), tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_page_loads_nothing(html: str, page: Page) -> None:
    assert not [tag for tag, _ in page.tags if tag in {"script", "link", "iframe", "object", "embed", "img"}]
    loads = [
        value
        for _, attrs in page.tags
        for key, value in attrs.items()
        if key in {"src", "href", "xlink:href", "srcset", "data", "action"}
    ]
    assert [value for value in loads if not value.startswith("#")] == []
    assert "@import" not in html
    assert "http" not in html
    assert "url(#" in html
    assert html.count("url(") == html.count("url(#")


def test_every_inner_link_has_its_target_and_ids_are_unique(page: Page) -> None:
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    wanted = {value[1:] for _, attrs in page.tags for key, value in attrs.items() if key in {"href", "xlink:href"}}
    assert wanted <= set(ids)


def test_every_tag_is_closed(page: Page) -> None:
    assert (page.unclosed, page.open) == ([], [])


def test_headline_is_the_finding(page: Page) -> None:
    assert "bert-trn1 cost 9.9 % less than bert-p4d, at prices of 2025-11-30 and 2026-09-01" in page.text
    assert "bert-trn1 cost 9.9 % less than bert-p4d ($41.43 against $45.96), at prices of" in page.text
    assert "The order flips if ml.p4d.24xlarge falls below $22.76/h" in page.text
    assert "2026-11-20 16:42 UTC" in page.text


def test_skip_link_language_and_themes(html: str, page: Page) -> None:
    assert next(page.named("a"))["class"] == "skip"
    assert next(page.named("html"))["lang"] == "en"
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    assert "VARIABLES" not in html


def test_figures_speak(page: Page) -> None:
    drawn = [attrs for attrs in page.named("svg") if attrs.get("role") == "img"]
    assert drawn
    assert all(attrs["aria-label"] for attrs in drawn)
    assert any("bert-trn1 6.64 it/s" in attrs["aria-label"] for attrs in drawn)
    assert {"wide", "slim"} == {attrs["class"] for attrs in drawn}


def test_emulated_jobs_have_their_own_section_without_money(page: Page, html: str) -> None:
    rehearsal = Page(html[html.index('class="rehearsal"') : html.index('<section id="method"')]).text
    assert "EMULATED" in rehearsal
    assert "Billable, s emu" in rehearsal
    assert "$" not in rehearsal
    assert "%" not in rehearsal


def test_prices_are_listed_in_full(page: Page) -> None:
    assert "25.251286" in page.text
    assert "24.725" in page.text
    assert "37.69" in page.text


@pytest.mark.parametrize("kind", ["page", "card"])
def test_foreign_text_is_escaped(kind: str, tmp_path: Path) -> None:
    item = compare(hostile())
    text = written(item, tmp_path) if kind == "page" else item._repr_html_()
    found = Page(text)
    assert not [tag for tag, _ in found.tags if tag in {"script", "img"}]
    assert not [key for _, attrs in found.tags for key in attrs if key.startswith("on")]
    assert "\x1b" not in text
    assert "<script>alert(1)</script>" in "".join(found.words)


def test_a_saved_page_is_dated_with_the_time_it_is(tmp_path: Path) -> None:
    before = datetime.now(timezone.utc).replace(second=0, microsecond=0)
    said = re.search(
        r"written (\d{4}-\d\d-\d\d \d\d:\d\d) UTC", Page(compare(pair()).save(tmp_path)[0].read_text("utf-8")).text
    )
    assert said is not None
    assert before <= datetime.fromisoformat(f"{said[1]}+00:00") <= datetime.now(timezone.utc)


def test_same_comparison_gives_the_same_bytes(tmp_path: Path) -> None:
    first = {path.name: path.read_bytes() for path in compare(gpt2_pair()).save(tmp_path / "a", now=NOW)}
    second = {path.name: path.read_bytes() for path in compare(gpt2_pair()).save(tmp_path / "b", now=NOW)}
    assert first == second


def test_card_is_scoped_static_and_says_the_findings() -> None:
    item = compare([*pair(), emulated_job("emu", workload=pair()[0].workload)])
    card = Page(item._repr_html_())
    assert not [attrs for _, attrs in card.tags if "id" in attrs]
    assert not list(card.named("script"))
    assert "bert-trn1 ran 22.1 % more iterations per second than bert-p4d (6.64 against 5.44 it/s)." in card.text
    assert "EMULATED" in card.text
    (style,) = [word for word in card.words if word.startswith(".smtrn")]
    assert all(".smtrn" in rule for rule in style.split("}")[:-1])


def test_csv_starts_no_formula() -> None:
    risky = dataclasses.replace(pair()[0], label="=cmd|' /C calc'!A0")
    (row,) = csv.DictReader(io.StringIO(csv_text(COLUMNS, compare([risky]).cells())))
    assert row["job"].startswith("'=")
