"""A table is a value: three writers show the same words, and none of them identifies a column by what it is called."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import datetime, timezone
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.formatting import numbers as fmt
from sm_trn.core.formatting.html import html_table
from sm_trn.core.formatting.missing import Missing, missing_cost, no_price_for
from sm_trn.core.formatting.table import Align, Cell, Column, Mark, Row, Table, csv_text, frame, reasons, records
from sm_trn.core.formatting.text import Layout, Screen, columns_shown, table_lines

COST = Column(name="cost_usd", heading="Cost", unit="USD", short="USD", form=fmt.usd_cell)
LOSS = Column(name="loss", heading="Final loss", form=fmt.loss, rank=1)
STATUS = Column(name="status", heading="Status", align=Align.LEFT)


def table(*rows: Row, columns: tuple[Column, ...] = (COST, LOSS), **more: object) -> Table:
    return Table(columns=columns, rows=rows, **more)  # type: ignore[arg-type]  # what a test varies


def row(name: str, cost: object = Decimal("41.43"), loss: object = 0.25, **more: object) -> Row:
    return Row(name=name, cells={"cost_usd": Cell(cost), "loss": Cell(loss)}, **more)  # type: ignore[arg-type]  # as above


class Read(HTMLParser):
    """Tags, and the text of each cell."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's signature
        self.tags.append(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


@pytest.mark.parametrize(
    ("emulated", "billed", "in_tokens", "reason"),
    [
        (True, True, False, Missing.EMULATED),
        (False, False, False, Missing.NOT_BILLED_YET),
        (False, True, False, Missing.NO_PRICE),
        (False, True, True, Missing.IN_TOKENS),
    ],
)
def test_a_cost_is_missing_for_one_reason(emulated: bool, billed: bool, in_tokens: bool, reason: Missing) -> None:
    assert reason is missing_cost(emulated=emulated, billed=billed, in_tokens=in_tokens)


def test_a_reason_writes_itself() -> None:
    assert "no price" == str(Missing.NO_PRICE) == f"{Missing.NO_PRICE}"
    assert "no price for ml.x in eu-west-1" == no_price_for("ml.x", "eu-west-1")


def test_no_two_reasons_have_one_word() -> None:
    assert len(Missing) == len({str(reason) for reason in Missing})


@pytest.mark.parametrize("reason", list(Missing))
def test_every_writer_says_the_same_word_and_machines_get_none(reason: Missing) -> None:
    made = table(row("a", cost=reason))
    assert str(reason) in table_lines(made, Screen())[1]
    assert str(reason) in Read(html_table(made)).cells
    assert {"cost_usd": None, "loss": 0.25} == records(made)[0]
    assert ({} if reason is Missing.NOTHING else {"cost_usd": str(reason)}) == reasons(made)[0]
    assert math.isnan(frame(made)["cost_usd"][0])


def test_a_value_is_written_by_its_column_and_kept_for_machines() -> None:
    made = table(row("a"))
    assert ["JOB    USD  FINAL LOSS", "a    41.43       0.250"] == table_lines(made, Screen())
    assert {"cost_usd": 41.43, "loss": 0.25} == json.loads(json.dumps(records(made)[0]))


def test_a_change_stands_below_its_value_with_a_sign_in_terminals_and_in_words_on_pages() -> None:
    cells = {"cost_usd": Cell(Decimal(1), change_pct=-9.94), "loss": Cell(0.1, change_pct=0.04)}
    made = table(Row(name="a", cells=cells))
    assert "-9.9 %" == table_lines(made, Screen())[2].strip()  # what rounds to 0.0 % is no change
    assert "9.9\u00a0% less" in html_table(made)


@given(some.integers(10, 80), some.lists(some.text("abc-", min_size=1, max_size=60), min_size=1, max_size=5))
def test_no_line_is_wider_than_the_screen_and_columns_of_rank_0_stay(width: int, names: list[str]) -> None:
    layout = Layout(least=4)
    made = table(*(row(name) for name in names))
    lines = table_lines(made, Screen(width=max(width, 20)), layout)
    assert max(map(len, lines)) <= max(width, 20)
    assert "cost_usd" in columns_shown(made, Screen(width=width), layout)


def test_columns_of_the_highest_rank_go_first() -> None:
    made = table(row("a" * 20))
    assert ("cost_usd", "loss") == columns_shown(made, Screen(width=80))
    assert ("cost_usd",) == columns_shown(made, Screen(width=30))


def test_what_all_names_begin_with_is_said_once() -> None:
    made = table(row("sweep-lr1"), row("sweep-lr2"))
    first, *others = table_lines(made, Screen(), Layout(share=True, longest=40))
    assert first.startswith("JOB, sweep-…")
    assert [["lr1"], ["lr2"]] == [line.split()[:1] for line in others]


def test_ranks_stand_before_names() -> None:
    made = table(row("a", rank=1), row("b"), ranked=True)
    assert ["1 a", "- b"] == [line[:3] for line in table_lines(made, Screen())[1:]]
    assert "1. a" not in html_table(made)  # a name without a mark has no rank on a page
    marked = table(row("a", rank=1, mark=Mark(slot=0)), ranked=True)
    assert "1. a" in html_table(marked)


def test_colour_touches_the_words_of_a_status_only() -> None:
    made = table(Row(name="a", cells={"status": Cell("failed", role="err")}), columns=(STATUS,))
    plain, painted = (table_lines(made, Screen(color=color))[1] for color in (False, True))
    assert plain == painted.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert "\x1b[31mfailed\x1b[0m" in painted


@given(some.text(), some.text(), some.text())
def test_foreign_text_never_becomes_markup(name: str, word: str, heading: str) -> None:
    hostile = f"{word}<script>alert(1)</script>"
    columns = (Column(name="x", heading=f"{heading}<b>", unit=hostile),)
    made = Table(
        columns=columns,
        rows=(Row(name=f"{name}<img src=x>", cells={"x": Cell(hostile, under=hostile)}),),
        title=hostile,
    )
    known = {"table", "caption", "thead", "tbody", "tr", "th", "td", "small", "span", "wbr"}
    assert set(Read(html_table(made)).tags) <= known
    assert "\x1b" not in html_table(made) + "".join(table_lines(made, Screen()))


def test_a_column_is_known_by_its_name_however_it_is_called() -> None:
    twice = (COST, Column(name="usd_per_epoch", heading="Cost", unit="USD", form=fmt.usd_cell))
    made = Table(columns=twice, rows=(Row(name="a", cells={"cost_usd": Cell(2), "usd_per_epoch": Cell(1)}),))
    assert ("2.00", "1.00") == (made.words(made.rows[0], "cost_usd"), made.words(made.rows[0], "usd_per_epoch"))
    with pytest.raises(KeyError):
        made.column("Cost")


def test_a_spreadsheet_runs_nothing_and_sees_an_empty_cell_where_a_value_is_missing() -> None:
    columns = (Column(name="job"), COST)
    made = Table(
        columns=columns, rows=(Row(name="a", cells={"job": Cell("=1+1"), "cost_usd": Cell(Missing.EMULATED)}),)
    )
    assert "job,cost_usd\n'=1+1,\n" == csv_text(["job", "cost_usd"], records(made))


def test_frames_keep_times_texts_and_numbers() -> None:
    now = datetime(2026, 11, 24, tzinfo=timezone.utc)
    columns = (Column(name="at"), Column(name="text"), Column(name="number"), Column(name="count", dtype="int64"))
    cells = {"at": Cell(now), "text": Cell("a"), "number": Cell(Missing.NOT_LOGGED), "count": Cell(3)}
    made = frame(Table(columns=columns, rows=(Row(name="a", cells=cells),)))
    assert ["float64", "int64"] == [str(made[name].dtype) for name in ("number", "count")]
    assert "datetime64" in str(made["at"].dtype)
    assert "a" == made["text"][0]


def test_a_table_loads_no_library_before_it_is_written() -> None:
    modules = ("html", "missing", "printable", "table", "text")
    heavy = ("pandas", "numpy", "matplotlib", "jinja2")
    code = f"import sys\nfrom sm_trn.core.formatting import {', '.join(modules)}\nprint([n for n in {heavy} if n in sys.modules])"
    assert (
        "[]" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    )
