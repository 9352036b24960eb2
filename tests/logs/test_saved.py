"""Logs that were saved as text come back as events and metrics."""

from __future__ import annotations

import gc
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.logs import LogEvent, MetricReader, SavedLog, parse_log, saved_line

TEXT = some.text(some.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=60)
EVENTS = some.lists(
    some.builds(
        LogEvent, some.integers(0, 2_000_000_000).map(float), some.sampled_from(["algo-1", "algo-2"]),
        TEXT | some.sampled_from(["{'loss': 0.5, 'step': 1}", "[1,1]<stdout>:{'loss': 0.5, 'step': 1}", "{'loss': nan}"]),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@given(EVENTS)
def test_what_is_saved_comes_back(events: list[LogEvent]) -> None:
    saved = parse_log("".join(map(saved_line, events)))
    assert events == list(saved.events())
    assert repr(list(MetricReader().lines(events))) == repr(list(saved.lines()))


@given(EVENTS)
def test_json_lines_come_back(events: list[LogEvent]) -> None:
    lines = [json.dumps({"time_s": e.time_s, "host": e.host, "rank": e.rank, "text": e.text}) for e in events]
    assert events == list(parse_log("\n".join(lines)).events())


def test_line_breaks_inside_a_line_are_kept_in_octal() -> None:
    (event,) = parse_log(saved_line(LogEvent(1.5, "algo-1", "a\r b\nc"))).events()
    assert LogEvent(1.5, "algo-1", "a#015 b#012c") == event


FIT = (
    "2024-05-31 01:05:00 Starting - Starting the training job...ProfilerReport-1: InProgress\n......\n"
    "2024-05-31 01:06:00 Training - Training image download completed. Training in progress..\x1b[34mSM_CURRENT_HOST=algo-2\x1b[0m\n"
    "\x1b[35mSM_CURRENT_HOST=algo-1\x1b[0m\n"
    "\x1b[34m{'loss': 1.0, 'epoch': 1.0}\x1b[0m\n\x1b[35m{'loss': 2.0, 'epoch': 1.0}\x1b[0m\n"
    "\n2024-05-31 01:11:36 Uploading - Uploading generated training model2024-05-31 01:11:36,332 toolkit INFO done\n"
    "2024-05-31 01:12:00 Failed - Something that AWS says only since yesterday...\n"
    "..Training seconds: 666\nBillable seconds: 200\nManaged Spot Training savings: 70.0%\n"
    "UnexpectedStatusException: Error for Training job x-1: Failed. Reason: AlgorithmError: ExecuteUserScriptError:\nExitCode 1\n"
)


def test_output_of_a_notebook_cell_is_told_apart_line_by_line() -> None:
    log = parse_log(FIT)
    assert [(1.0, "algo-2"), (2.0, "algo-1")] == [(line.values["loss"], line.host) for line in log.lines()]
    assert ["Starting", "Training", "Uploading", "Failed"] == [line.status for line in log.status_lines]
    assert "Something that AWS says only since yesterday" == log.status_lines[-1].message
    texts = [event.text for event in log.events()]
    assert "2024-05-31 01:11:36,332 toolkit INFO done" in texts
    assert "SM_CURRENT_HOST=algo-2" in texts
    assert not any(word in text for text in texts for word in ("Uploading gen", "Billable", "\x1b"))
    assert all(math.isnan(event.time_s) for event in log.events())
    assert [None] == list({point.time_s for point in log.points()})


def test_the_sdks_last_words_are_read() -> None:
    ending = parse_log(FIT).ending
    assert (666, 200, 70.0, 1) == (ending.training, ending.billable, ending.savings_percent, ending.exit_code)  # type: ignore[comparison-overlap]  # numbers of several kinds
    assert ending.failure_reason.startswith("AlgorithmError: ExecuteUserScriptError:\nExitCode 1")


def test_a_text_without_any_of_it_has_no_ending() -> None:
    ending = parse_log("hello\n").ending
    assert (None, None, None, None, "") == (
        ending.training, ending.billable, ending.savings_percent, ending.exit_code, ending.failure_reason,
    )  # fmt: skip


def test_a_file_is_read_whatever_its_bytes_are(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xff\xfe{'loss': 1.0}\n\x00{'loss': 2.0}\xc3")
    assert [1.0, 2.0] == [point.value for point in st.read_log(path).points()]


def test_the_metrics_of_a_text_are_those_of_its_events() -> None:
    events = list(parse_log(FIT).events())
    assert [line.values for line in MetricReader().lines(events)] == [line.values for line in parse_log(FIT).lines()]


def test_the_collector_works_again_once_a_log_was_read_or_could_not_be(tmp_path: Path) -> None:
    assert 1 == len(parse_log("{'loss': 1}").metrics().lines)
    with pytest.raises(FileNotFoundError):
        SavedLog(path=tmp_path / "none").metrics()
    assert gc.isenabled()


def test_rules_of_ones_own_find_numbers_in_a_saved_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("step 1 loss=0.64\n{'loss': 0.5}\nstep 2 loss=5.8e-1\n")
    rules = [st.MetricRule("own_loss", r"loss=([0-9.eE+-]+)")]
    assert [("own_loss", 0.64), ("loss", 0.5), ("own_loss", 0.58)] == [
        (point.name, point.value) for point in st.read_log(path, rules=rules).points()
    ]
    with pytest.raises(st.SmTrnError, match="rules: 'loss' is not a regular expression"):
        st.read_log(path, rules=[st.MetricRule("loss", "(")])
