"""Watching: what is worth a line, what the table says, where it is drawn."""

from __future__ import annotations

import dataclasses
import io
import re
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_jobs import START, describe, step_lines, transitions

from sm_trn.core.ports import StoredObjects
from sm_trn.core.pricing import snapshot_book
from sm_trn.core.specs import parse_snapshot
from sm_trn.core.specs.units import WallSeconds
from sm_trn.report import (
    Display,
    LineDisplay,
    NotebookDisplay,
    TerminalDisplay,
    WatchRow,
    display_for,
    watch_html,
    watch_lines,
    watch_text,
)
from sm_trn.report.watch.text import SHOWN

NOW = datetime.fromtimestamp(START + 1500, timezone.utc)
RATE = 6.6
BEFORE_TRAINING = (("Starting", 236.0), ("Downloading", 192.0))


def row(
    name: str = "bert", phase: str = "Training", *, steps: int = 0, total: int | None = None, **changes: Any
) -> WatchRow:
    """A job in ``phase`` now; ``steps`` of its log are seen."""
    ended = phase in {"Completed", "Failed", "Stopped"}
    last = (("Training", 600.0), (phase, 0.0)) if ended else ((phase, -1.0),)
    earlier = BEFORE_TRAINING if phase not in {"Starting", "Pending"} else ()
    answer = describe(name, TrainingJobStatus=phase if ended else "InProgress", SecondaryStatus=phase,
                      SecondaryStatusTransitions=transitions(*earlier, *last), **changes)  # fmt: skip
    if not ended:
        for key in ("BillableTimeInSeconds", "TrainingTimeInSeconds", "TrainingEndTime"):
            answer.pop(key)
    if phase == "Starting":
        answer.pop("TrainingStartTime")
    snapshot = parse_snapshot(answer)
    points = step_lines(steps, 50, rate=RATE, batch=8, first_s=428, epochs=3, final=0.08) if steps else []
    return WatchRow(
        snapshot=snapshot,
        points=tuple(points),
        price=snapshot_book().find(snapshot.instance, snapshot.region),
        total_steps=total,
    )


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize(
    ("word", "glyph", "role", "phase"),
    [
        ("starting", "○", "ink3", "Starting"),
        ("pending", "·", "ink3", "Pending"),
        ("downloading", "↓", "info", "Downloading"),
        ("training", "●", "info", "Training"),
        ("uploading", "↑", "info", "Uploading"),
        ("interrupted", "!", "warn", "Interrupted"),
        ("completed", "✓", "ok", "Completed"),
        ("failed", "✗", "err", "Failed"),
        ("Rebalancing", "?", "ink2", "Rebalancing"),
    ],
)
def test_status_has_word_glyph_and_colour(word: str, glyph: str, role: str, phase: str) -> None:
    look = row(phase=phase).look
    assert (word, glyph, role) == (look.word, look.glyph, look.role)


def test_change_of_status_names_the_time_of_the_phase_before() -> None:
    assert watch_lines([row(phase="Downloading")], [row()], NOW) == ["2023-11-14T22:38:20Z bert training after 3m12s"]


def test_each_tenth_of_the_steps_is_a_line() -> None:
    (line,) = watch_lines([row(steps=350, total=1000)], [row(steps=400, total=1000)], NOW)
    assert re.fullmatch(r"2023-11-14T22:38:20Z bert training step 400 of 1,000, 6\.\d\d it/s, loss 0\.\d{3}", line)


def test_end_names_billable_and_cost() -> None:
    done = row(phase="Completed", ResourceConfig={"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2})
    assert watch_lines([row()], [done], NOW) == ["2023-11-14T22:38:20Z bert completed, billed 600 s × 2, $8.42"]


def test_failure_names_its_reason_without_escapes() -> None:
    failed = row(phase="Failed", FailureReason="AlgorithmError: \x1b[31mboom\x1b[0m\nline two")
    assert "bert failed: AlgorithmError: boom line two, billed 600 s, $4.21" in watch_lines([], [failed], NOW)[0]


def test_time_left_is_remaining_steps_at_the_recent_rate() -> None:
    assert pytest.approx(row(steps=1000, total=10_000).left_s, rel=0.03) == 9000 / RATE


def test_cost_so_far_is_time_since_billing_began() -> None:
    assert Decimal("9.82") == (row().usd(NOW) or Decimal(0)).quantize(Decimal("0.01"))
    assert [row(phase="Starting").usd(NOW), row(emulated=True).usd(NOW)] == [None, None]


ALL = (
    row("bert-trn1-seed1", steps=6000, total=34200),
    row("bert-trn1-seed2", "Interrupted", steps=2000, total=34200, EnableManagedSpotTraining=True),
    row("gpt2-smddp-b25", "Failed", FailureReason="CUDA out of memory"),
    row("bert-p4d-seed2", "Starting"),
    row("bert-p4d", "Completed", steps=34200, total=34200),
    row("bert-trn1-spot", steps=300, total=400, emulated=True),
    row("bert-trn2", ResourceConfig={"InstanceType": "ml.trn9.huge", "InstanceCount": 1}),
)


def test_what_needs_you_comes_first() -> None:
    lines = watch_text(ALL, NOW).splitlines()
    start = next(place for place, line in enumerate(lines) if "STATUS" in line)
    assert [line[0] for line in lines[start + 1 : start + 8]] == ["✗", "!", "●", "●", "●", "○", "✓"]


def test_emulated_rate_is_not_shown() -> None:
    fast = row("bert", steps=300, total=400, emulated=True)
    assert "it/s" not in watch_text([fast], NOW) + watch_text([fast, fast], NOW) + watch_html([fast, fast], NOW)
    assert watch_lines([], [fast], NOW)[1].endswith("training step 300 of 400, loss 0.120")


def test_table_names_what_is_missing() -> None:
    text = watch_text(ALL, NOW)
    assert re.search(r"bert-trn2 .* no price", text)
    assert re.search(r"bert-trn1-spot .* emu", text)
    assert "EMULATED" in text
    assert "gpt2-smddp-b25: CUDA out of memory. Next: sm-trn why gpt2-smddp-b25" in text


@settings(max_examples=30)
@given(st.integers(56, 200), st.permutations(ALL), st.booleans())
def test_no_line_is_wider_than_the_terminal(width: int, rows: list[WatchRow], one: bool) -> None:
    assert max(map(len, watch_text(rows[:1] if one else rows, NOW, width).splitlines())) <= width


@settings(max_examples=30)
@given(st.permutations(ALL), st.sets(st.integers(0, 6), min_size=2), st.integers(10, 40))
def test_printed_dollars_add_up_to_the_total(rows: list[WatchRow], kept: set[int], height: int) -> None:
    shown = [rows[number] for number in kept]
    text = watch_text(shown, NOW, 100, height=height)
    table = [line for line in text.splitlines() if line[:1] in "✗!●○✓…"]
    cells = [
        Decimal(found.replace(",", ""))
        for line in table
        for found in re.findall(r"[ ≤$](\d[\d,]*\.\d\d)(?: +[\d-]+$| so far)", line)
    ]
    head = re.search(r"\$([\d,.]+) so far", text.partition("STATUS")[0].replace("\n", " "))
    assert (Decimal(head[1].replace(",", "")) if head else Decimal(0)) == sum(cells, Decimal(0))


def test_single_job_is_shown_in_detail() -> None:
    text = watch_text(ALL[:1], NOW)
    assert "starting 3m56s" in text
    assert "6,000 of 34,200" in text
    assert "$9.82 so far ($25.25/h, 2026-09-01, inferred)" in text


def test_colour_and_ascii_change_no_word() -> None:
    assert watch_text(ALL, NOW) == plain(watch_text(ALL, NOW, color=True))
    assert watch_text(ALL, NOW, ascii_only=True).isascii()


def test_hostile_log_and_names_are_harmless() -> None:
    bad = row("x\x1b[2J<script>alert(1)</script>", "Failed", FailureReason="<img src=x onerror=y>\x1b]0;t\x07")
    assert "\x1b" not in watch_text([bad, bad], NOW)
    html = watch_html([bad], NOW) + watch_html([bad, bad], NOW)
    assert "<script" not in html
    assert "<img" not in html
    assert "\x1b" not in html


def test_html_says_what_the_text_says() -> None:
    html = watch_html(ALL, NOW).replace("\u00a0", " ")
    for word in (
        "✗ failed",
        "! interrupted",
        "no price",
        "≤ 9.82",
        "EMULATED",
        "34,200 of 34,200",
        "CUDA out of memory",
    ):
        assert word in html
    assert " id=" not in html


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_pipe_gets_lines_without_colour() -> None:
    stream = io.StringIO()
    display = LineDisplay(stream)
    display.show([row(phase="Starting")], NOW)
    display.show([row(phase="Starting")], NOW + timedelta(seconds=20))
    display.show([row()], NOW + timedelta(seconds=40))
    display.close()
    assert [line.split(" ")[2] for line in stream.getvalue().splitlines()] == ["starting", "training"]
    assert "\x1b" not in stream.getvalue()


def test_terminal_draws_a_new_status_at_once_and_the_last_state_on_close() -> None:
    stream = Terminal()
    display = TerminalDisplay(stream, environ={"NO_COLOR": "1"}, size=(80, 24))
    display.show([row(phase="Starting")], NOW)
    display.show([row(steps=100)], NOW + timedelta(milliseconds=100))
    assert "● training" in stream.getvalue()
    display.show([row(steps=150)], NOW + timedelta(milliseconds=200))
    assert "150" not in stream.getvalue()
    display.close()
    assert "150" in stream.getvalue()


@pytest.mark.parametrize(
    ("kind", "terminal", "notebook", "environ"),
    [
        (TerminalDisplay, True, None, {"TERM": "xterm"}),
        (LineDisplay, False, None, {"TERM": "xterm"}),
        (LineDisplay, True, None, {"TERM": "dumb"}),
        (NotebookDisplay, True, True, {}),
        (LineDisplay, False, False, {}),
    ],
)
def test_display_for_takes_what_fits(
    kind: type[Display], terminal: bool, notebook: bool | None, environ: dict[str, str]
) -> None:
    assert kind is type(display_for(Terminal() if terminal else io.StringIO(), notebook, environ=environ))


SAVED = StoredObjects(uri="s3://b/c", size_bytes=1, count=12, newest=NOW - timedelta(seconds=190))


def test_the_age_of_the_newest_checkpoint_has_a_column_only_when_it_is_known() -> None:
    rows = [row(name="a"), dataclasses.replace(row(name="b"), checkpoints=SAVED)]
    assert "CKPT" not in watch_text(rows[:1] * 2, NOW)
    head, *lines = [line for line in watch_text(rows, NOW, 120).splitlines() if line.startswith(("  JOB", "●"))]
    assert "CKPT" in head
    assert ["-", "3m"] == [line.split()[-2] for line in sorted(lines)]


def test_the_detail_says_how_old_the_newest_checkpoint_is_or_that_there_is_none() -> None:
    one = dataclasses.replace(row(), checkpoints=SAVED)
    assert "checkpoint  newest 3m10s old, 12 objects" in watch_text([one], NOW)
    none = dataclasses.replace(row(), checkpoints=StoredObjects(uri="s3://b/c", size_bytes=1, count=0, newest=None))
    assert "checkpoint  none yet" in watch_text([none], NOW)


def test_a_note_stays_above_the_table_which_is_drawn_again() -> None:
    out = io.StringIO()
    display = TerminalDisplay(out, environ={}, size=(100, 30))
    display.show([row()], NOW)
    table = out.getvalue()
    display.note("said", NOW)
    after = out.getvalue()[len(table) :]
    assert after.startswith(f"\x1b[{table.count(chr(10))}F\x1b[Jsaid\n")
    assert after.endswith(table)


def test_a_note_in_a_notebook_stands_below_the_rows_and_is_escaped() -> None:
    shown: list[dict[str, str]] = []

    class Handle:
        def update(self, bundle: dict[str, str], **_options: Any) -> None:
            shown.append(bundle)

    def show(bundle: dict[str, str], **_options: Any) -> Handle:
        shown.append(bundle)
        return Handle()

    display = NotebookDisplay(display=show)
    display.show([row()], NOW)
    display.note("<b>said</b>", NOW)
    assert "&lt;b&gt;said&lt;/b&gt;" in shown[-1]["text/html"]
    assert shown[-1]["text/plain"].endswith("<b>said</b>")


def test_a_running_job_is_billed_up_to_now_and_not_up_to_the_last_answer() -> None:
    running = row()
    told = dataclasses.replace(running, snapshot=dataclasses.replace(running.snapshot, billable_s=WallSeconds(1.0)))
    assert running.billed_s(NOW) == told.billed_s(NOW)
    assert (running.billed_s(NOW) or 0) > 1
    ended = row(phase="Completed")
    assert ended.billed_s(NOW) == ended.snapshot.billable_s


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
        saved = (
            StoredObjects(uri="s3://b/c", size_bytes=1, count=4, newest=NOW - timedelta(minutes=4))
            if place % 2
            else None
        )
        found.append(dataclasses.replace(made, checkpoints=saved))
    return found


MANY = jobs(50)


@settings(max_examples=60)
@given(st.integers(0, 50), st.integers(40, 200), st.integers(5, 60))
def test_a_watch_is_never_higher_than_its_screen(number: int, width: int, height: int) -> None:
    assert height >= len(watch_text(MANY[:number], NOW, width, height=height).split("\n"))


def test_without_a_screen_a_table_of_many_jobs_is_folded_too() -> None:
    """A notebook, and whoever prints it."""
    text, page = watch_text(MANY * 20, NOW, 80), watch_html(MANY * 20, NOW)
    assert len(text.split("\n")) < 150
    assert page.count("<tr") < 150
    for shown in (text, page):
        folded = sum(int(number.replace(",", "")) for number in re.findall(r"… ([\d,]+) more", shown))
        assert 1000 == folded + SHOWN


def test_a_failure_of_many_is_said_once_with_what_to_type() -> None:
    text = " ".join(watch_text(MANY, NOW, 160, height=40).split())
    assert 1 == text.count("CUDA out of memory")
    assert "and 3 more" in text
    assert "Next: sm-trn why bert-" in text


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


@pytest.mark.parametrize("height", [12, 23, 39, 70])
def test_every_job_is_on_the_screen_or_among_the_folded(height: int) -> None:
    lines = watch_text(MANY, NOW, 120, height=height).split("\n")
    assert len(lines) <= height
    folded = [int(found[1]) for line in lines if (found := re.match(r"… (\d+) more: ", line))]
    shown = [line for line in lines if re.search(r"seed\d+ +(failed|training|downloading|starting|completed) ", line)]
    assert 50 == sum(folded) + len(shown)
