"""What values look like in a notebook: hostile names stay words, nothing is asked, and without HTML there is text."""

from __future__ import annotations

import dataclasses
import html.parser
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.formatting.cards import CARDS, HasCard
from sm_trn.core.formatting.html import CSS, escaped
from sm_trn.core.formatting.theme import PALETTES
from sm_trn.core.specs import WallSeconds
from sm_trn.hosting.endpoints import Endpoint, EndpointRow, Endpoints
from sm_trn.report import cards as registry

EVIL = "<script>alert('1')</script><img src=x onerror=\"y\">&lt;\u202eb\x1b[2J"
PRICE = st.results.Price(
    instance="ml.g5.xlarge", region="us-east-1", usd_per_hour=Decimal("1.44"), as_of="2025-04", component="Hosting", source=EVIL
)  # fmt: skip


class Untouchable:
    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


def session(*, emulated: bool = False) -> st.Session:
    nobody: Any = Untouchable()
    return st.Session(
        backend=nobody, logs=nobody, storage=nobody, role="r", bucket="b", region="us-east-1", emulated=emulated, announcement=""
    )  # fmt: skip


def spec() -> st.JobSpec:
    return st.JobSpec(
        name=EVIL,
        script=st.Script(EVIL, source_dir=EVIL),
        framework=st.NeuronX("2.9.0"),
        compute=st.Compute("ml.trn1.32xlarge", count=2),
        hyperparameters={EVIL: EVIL, **{f"h{number}": number for number in range(20)}},
        inputs={"train": EVIL},
        environment={"SECRET": "hunter2", EVIL: "x"},
        tags={EVIL: EVIL},
        spot=st.Spot(max_wait_s=90_000),
        image_uri=EVIL,
    )


def problem(severity: st.Severity) -> st.specs.Problem:
    return st.specs.Problem(id="X001", severity=severity, where=EVIL, what=EVIL, got=EVIL, wanted=EVIL, fix=EVIL)


def endpoint_row(*, emulated: bool, overdue: bool = False) -> EndpointRow:
    now = datetime(2026, 11, 21, tzinfo=timezone.utc)
    return EndpointRow(
        name=EVIL, status="InService", instance=EVIL, count=2, created=now, hours=2.0, price=None,
        usd_per_hour=Decimal(0) if emulated else None, expires=now, overdue=overdue, job="j", emulated=emulated,
    )  # fmt: skip


VALUES: dict[str, Callable[[], Any]] = {
    "spec": spec,
    "problems": lambda: st.specs.Problems([problem(severity) for severity in st.Severity]),
    "no problems": st.specs.Problems,
    "job": lambda: st.TrainingJob(name=EVIL, session=session(), spec=spec()),
    "job cost": lambda: st.results.JobCost(
        usd=Decimal("12.345"), billable_s=WallSeconds(30_000), instances=2, price=PRICE, spot_saving=0.7
    ),
    "endpoint": lambda: Endpoint(name=EVIL, session=session(emulated=True)),
    "endpoints": lambda: Endpoints(rows=(endpoint_row(emulated=False, overdue=True),), session=session()),
    "emulated endpoints": lambda: Endpoints(rows=(endpoint_row(emulated=True),), session=session(emulated=True)),
    "no endpoints": lambda: Endpoints(rows=(), session=session()),
    "diff": lambda: st.diff(spec().replace(name="a", image_uri=None), spec().replace(name="a", image_uri=EVIL)),
    "comparison": lambda: st.compare(["published/bert-p4d", "published/bert-trn1"]),
}  # fmt: skip
each_value = pytest.mark.parametrize("name", VALUES)


class Outline(html.parser.HTMLParser):
    """Tags that are opened and closed, attributes, and words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.heads: list[dict[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes |= {name for name, _ in attrs}
        if tag == "th":
            self.heads.append(dict(attrs))
        if tag in {"script", "img", "iframe", "link"}:
            self.wrong.append(tag)
        if tag not in {"path", "circle", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"path", "circle"}:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


@each_value
def test_a_card_is_well_formed_and_holds_no_foreign_markup_no_script_no_id(name: str) -> None:
    page = Outline(VALUES[name]()._repr_html_())
    assert [] == page.wrong
    assert [] == page.open
    assert not page.attributes & {"id", "onerror", "src", "href"}
    assert all(head.get("scope") in {"row", "col"} for head in page.heads)
    assert all(letter.isprintable() for letter in "".join(page.words).replace("\n", "").replace("\xa0", ""))


@each_value
def test_a_card_survives_without_its_attributes_because_every_fact_is_a_word(name: str) -> None:
    words = " ".join(Outline(VALUES[name]()._repr_html_()).words)
    assert len(words.split()) >= 2


@each_value
def test_without_html_there_is_text_and_it_never_fails(name: str) -> None:
    value = VALUES[name]()
    assert repr(value)
    assert str(value)


def test_a_spec_shows_the_names_of_its_environment_and_not_the_values() -> None:
    for shown in (spec()._repr_html_(), str(spec()), repr([spec()])):
        assert "SECRET" in shown
        assert "hunter2" not in shown


def test_a_spec_shows_what_is_set_and_no_defaults() -> None:
    bare = st.JobSpec(name="a", framework=st.NeuronX("2.9.0"), compute=st.Compute("ml.trn1.2xlarge"))
    assert ["name", "framework", "compute"] == [line.split("=")[0].strip() for line in str(bare).splitlines()[1:]]
    assert "\n  max_run_s=60\n  tags={'team': 'x'}" in str(bare.replace(tags={"team": "x"}, max_run_s=60))


def test_problems_are_a_list_to_whoever_uses_them_and_text_to_whoever_reads() -> None:
    found = st.check(spec().replace(image_uri=None, framework=st.PyTorch("1.11", python="py38")))
    assert isinstance(found, list)
    assert [] == st.specs.Problems()
    assert "No problems." == repr(st.specs.Problems())
    assert repr(found).splitlines()[0].endswith(":")
    assert len(found) == len(repr(found).splitlines()) - 1


@given(some.text(max_size=80))
def test_escaped_text_is_one_printable_line_without_markup(text: str) -> None:
    shown = escaped(text)
    assert not set("<>\"'\n\r") & set(shown)
    assert all(letter.isprintable() for letter in shown)


def test_every_colour_of_a_card_is_one_of_both_palettes() -> None:
    assert PALETTES["light"].keys() == PALETTES["dark"].keys()
    assert all(f"--{name}:" in CSS for name in PALETTES["light"])


def test_a_frozen_spec_still_is_a_value() -> None:
    assert dataclasses.replace(spec()) == spec()


def test_a_value_without_a_card_shows_its_text() -> None:
    class Stranger(HasCard):
        """Nobody made a card for it."""

        def __str__(self) -> str:
            return "<b>a line\nanother"

    assert "<pre>&lt;b&gt;a line\nanother</pre>" in Stranger()._repr_html_()
    assert CARDS == registry.__name__


def test_a_value_is_shown_without_pandas_and_matplotlib() -> None:
    code = "import sys, sm_trn as st; st.specs.Problems()._repr_html_(); print(*{'pandas', 'matplotlib', 'boto3'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "" == done.stdout.strip()
