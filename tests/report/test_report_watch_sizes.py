"""The watch on screens of many sizes: one job, ten and fifty fit, say what was folded, and are drawn again in their place."""

from __future__ import annotations

import dataclasses
import io
import re
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from test_report_watch import NOW, row

from sm_trn.core.status import StatusLook, status_look
from sm_trn.report import TerminalDisplay, WatchRow, watch_text
from sm_trn.report.watch.card import watch_html
from sm_trn.report.watch.rows import Checkpoints
from sm_trn.report.watch.table import SHOWN

_PAINT = re.compile(r"\x1b\[[0-9;]*m")
MEMORY = "AlgorithmError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 39.59 GiB total capacity)"


def jobs(number: int) -> list[WatchRow]:
    """Of ten, one failed, five training, one downloading, one starting, two completed."""
    kinds = ["Failed", "Starting", "Downloading", "Completed", "Completed", *["Training"] * 5]
    found = []
    for place in range(number):
        kind = kinds[(place + 5) % 10]
        name = f"bert-lr{place % 5 + 1}e-5-wd{place % 3}-seed{place}"
        steps = {"Training": 400 + 37 * place, "Failed": 200, "Completed": 2000}.get(kind, 0)
        changes = {"FailureReason": MEMORY} if kind == "Failed" else {}
        made = row(name, kind, steps=steps, total=4000 if kind == "Training" else steps or None, **changes)
        saved = Checkpoints(count=4, newest=NOW - timedelta(minutes=4)) if place % 2 else None
        found.append(dataclasses.replace(made, checkpoints=saved))
    return found


MANY = jobs(50)


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize("number", [1, 10, 50])
def test_a_watch_fits_a_screen_of_24_lines(number: int, width: int) -> None:
    lines = watch_text(MANY[:number], NOW, width, height=23).split("\n")
    assert 23 >= len(lines)
    assert width >= max(map(len, lines))


@settings(max_examples=60)
@given(some.integers(0, 50), some.integers(40, 200), some.integers(5, 60))
def test_a_watch_is_never_higher_than_its_screen(number: int, width: int, height: int) -> None:
    assert height >= len(watch_text(MANY[:number], NOW, width, height=height).split("\n"))


class Looked(WatchRow):
    """A row that counts how often its status is asked for."""

    asked = 0

    @property
    def look(self) -> StatusLook:
        type(self).asked += 1
        return status_look(self.snapshot, self.health.verdict if self.health is not None else None)


def test_a_table_of_many_jobs_asks_each_as_often_as_one_of_few() -> None:
    each = []
    for number in (200, 1000):
        Looked.asked = 0
        rows = [
            Looked(**{field.name: getattr(one, field.name) for field in dataclasses.fields(one)})
            for one in MANY * (number // 50)
        ]
        assert 40 == len(watch_text(rows, NOW, 120, height=40).split("\n"))
        each.append(Looked.asked / number)
    assert each[1] <= each[0]


def test_without_a_screen_a_table_of_many_jobs_is_folded_too() -> None:
    """A notebook, and whoever prints it."""
    text, page = watch_text(MANY * 20, NOW, 80), watch_html(MANY * 20, NOW)
    assert len(text.split("\n")) < 150
    assert page.count("<tr") < 150
    for shown in (text, page):
        folded = sum(int(number.replace(",", "")) for number in re.findall(r"… ([\d,]+) more", shown))
        assert 1000 == folded + SHOWN


def test_fifty_jobs_are_shown_or_counted() -> None:
    text = watch_text(MANY, NOW, 80, height=23)
    shown = len([line for line in text.split("\n") if re.match(r"[✗●○↓✓] lr", line)])
    folded = sum(int(number) for number in re.findall(r"^… (\d+) more", text, re.MULTILINE))
    assert 50 == shown + folded
    assert shown >= 10


def test_what_needs_somebody_comes_first_and_what_has_ended_is_folded() -> None:
    lines = watch_text(MANY, NOW, 80, height=23).split("\n")
    table = [line for line in lines if line[:1] in "✗●○↓✓…" and line[2:4] == "lr"]
    assert ["✗"] * 5 == [line[0] for line in table[:5]]
    assert not any(line.startswith("✓") for line in table)
    assert any(line.startswith("… 10 more, completed") for line in lines)


def test_machines_that_are_not_known_yet_are_not_counted() -> None:
    known, other = MANY[:2]
    unknown = dataclasses.replace(other, snapshot=dataclasses.replace(other.snapshot, instance=""))
    lines = watch_text([known, unknown], NOW, 160, height=23).split("\n")
    assert 1 == sum(" × " in line for line in lines)


def test_names_are_read_in_full_at_80_columns() -> None:
    text = watch_text(MANY[:10], NOW, 80, height=23)
    assert all(one.name.removeprefix("bert-") in text for one in MANY[:10])


def test_a_failure_of_many_is_said_once_with_what_to_type() -> None:
    text = " ".join(watch_text(MANY, NOW, 160, height=40).split())
    assert 1 == text.count("CUDA out of memory")
    assert "and 3 more" in text
    assert "Next: sm-trn why bert-" in text


def test_one_job_shows_its_phases_loss_and_checkpoint() -> None:
    text = watch_text(MANY[1:2], NOW, 80, height=23)
    for word in ("starting 3m56s", "loss", "since the beginning", "left", "cost", "newest 4m00s old"):
        assert word in text


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Screen:
    """What a terminal of ``height`` lines shows after the writes: enough of one to see what is left over."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height, self.lines, self.at, self.line = width, height, [""], 0, ""

    def write(self, text: str) -> None:
        for part in re.split(r"(\x1b\[\d*[A-Za-z]|\n)", _PAINT.sub("", text)):
            if part == "\n":
                self.at += 1
                self.line = ""
                if self.at == len(self.lines):
                    self.lines.append("")
            elif part.endswith("F") and part.startswith("\x1b"):
                up = int(part[2:-1])
                assert up < self.height, "what has scrolled away cannot be drawn again"
                self.at -= up
            elif part == "\x1b[K":
                self.lines[self.at] = self.line
            elif part == "\x1b[J":
                del self.lines[self.at + 1 :]
                self.lines[self.at] = ""
            elif part:
                self.line = part


@pytest.mark.parametrize("number", [1, 10, 50])
def test_a_redraw_leaves_nothing_of_what_was_there(number: int) -> None:
    stream = Terminal()
    display = TerminalDisplay(stream, environ={"NO_COLOR": "1"}, size=(80, 24))
    for second, count in ((0, number), (5, max(1, number // 2)), (10, number)):
        display.show(MANY[:count], NOW + timedelta(seconds=second))
    screen = Screen(80, 24)
    screen.write(stream.getvalue())
    wanted = watch_text(MANY[:number], NOW + timedelta(seconds=10), 80, height=23).split("\n")
    assert [line.rstrip() for line in wanted] == [line.rstrip() for line in screen.lines[:-1]]


def test_nothing_is_cleared_before_the_new_text_is_there() -> None:
    stream = Terminal()
    display = TerminalDisplay(stream, environ={"NO_COLOR": "1"}, size=(80, 24))
    display.show(MANY[:10], NOW)
    display.show(MANY[:10], NOW + timedelta(seconds=5))
    assert stream.getvalue().endswith("\x1b[J")
    assert "F\x1b[J" not in stream.getvalue()


def test_a_terminal_that_became_narrower_is_cleared_to_where_the_table_began() -> None:
    stream = Terminal()
    display = TerminalDisplay(stream, environ={"NO_COLOR": "1"}, size=(160, 40))
    display.show(MANY[:10], NOW)
    first = watch_text(MANY[:10], NOW, 160, height=39).split("\n")
    display._size = (80, 40)
    display.show(MANY[:10], NOW + timedelta(seconds=5))
    rows = sum(max(1, -(-len(line) // 80)) for line in first)
    assert f"\x1b[{rows}F" in stream.getvalue()


def test_parting_words_stand_below_a_table_that_fills_the_screen() -> None:
    stream = Terminal()
    display = TerminalDisplay(stream, environ={"NO_COLOR": "1"}, size=(80, 24))
    display.show(MANY, NOW)
    display.close("Stopped watching. They go on.")
    assert stream.getvalue().endswith("Stopped watching. They go on.\n")


@pytest.mark.parametrize("height", range(9, 40))
def test_every_job_is_on_the_screen_or_among_the_folded(height: int) -> None:
    lines = watch_text(MANY, NOW, 120, height=height).split("\n")
    assert len(lines) <= height
    folded = [int(found[1]) for line in lines if (found := re.match(r"… (\d+) more, ", line))]
    shown = [line for line in lines if re.search(r"seed\d+ +(failed|training|downloading|starting|completed) ", line)]
    assert 50 == sum(folded) + len(shown)
