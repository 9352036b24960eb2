"""Log streams: what CloudWatch's readers rely on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm_trn.emulator.container.host import LineSplitter
from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.telemetry.log_store import MAX_EVENT, LogLines
from sm_trn.emulator.telemetry.logs import GROUP, answer

STREAM = f"{GROUP}:job/algo-1-1"


@pytest.fixture
def lines(tmp_path: Path) -> LogLines:
    return LogLines(tmp_path)


def ask(lines: LogLines, operation: str, **asked: Any) -> dict[str, Any]:
    said = answer(lines, "us-west-2", operation, {"logGroupName": GROUP, **asked})
    assert said is not None
    return said


def get(lines: LogLines, **asked: Any) -> dict[str, Any]:
    return ask(lines, "GetLogEvents", **{"logStreamName": "job/algo-1-1", **asked})


def fill(lines: LogLines, count: int, stream: str = "job/algo-1-1", first: int = 0) -> None:
    for index in range(first, first + count):
        lines.append(f"{GROUP}:{stream}", 1000 + index, f"line {index}")


def test_reading_forward_gives_every_line_once_and_then_the_same_token(lines: LogLines) -> None:
    fill(lines, 25)
    seen, token = [], None
    while True:
        page = get(lines, startFromHead=True, limit=10, **({"nextToken": token} if token else {}))
        seen += [event["message"] for event in page["events"]]
        if page["nextForwardToken"] == token:
            break
        token = page["nextForwardToken"]
    assert [f"line {index}" for index in range(25)] == seen


def test_a_token_at_the_end_finds_what_is_written_later(lines: LogLines) -> None:
    fill(lines, 3)
    token = get(lines, startFromHead=True)["nextForwardToken"]
    fill(lines, 2, first=3)
    page = get(lines, startFromHead=True, nextToken=token)
    assert ["line 3", "line 4"] == [event["message"] for event in page["events"]]


def test_times_bound_a_reading_from_inclusive_to_exclusive(lines: LogLines) -> None:
    fill(lines, 10)
    page = get(lines, startFromHead=True, startTime=1002, endTime=1005)
    assert ["line 2", "line 3", "line 4"] == [event["message"] for event in page["events"]]


def test_streams_are_listed_by_prefix_in_pages(lines: LogLines) -> None:
    for number in range(3):
        fill(lines, 1, f"job/algo-{number}-1")
    fill(lines, 1, "other/algo-1-1")
    first = ask(lines, "DescribeLogStreams", logStreamNamePrefix="job/", limit=2)
    rest = ask(lines, "DescribeLogStreams", logStreamNamePrefix="job/", nextToken=first["nextToken"])
    names = [stream["logStreamName"] for stream in first["logStreams"] + rest["logStreams"]]
    assert ["job/algo-0-1", "job/algo-1-1", "job/algo-2-1"] == names
    assert "nextToken" not in rest


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        ("GetLogEvents", {"logStreamName": "job/algo-1-1", "limit": 0}),
        ("GetLogEvents", {"logStreamName": "job/algo-1-1", "limit": 10_001}),
        ("GetLogEvents", {"logStreamName": "job/algo-1-1", "startTime": -1}),
        ("DescribeLogStreams", {"limit": 51}),
        ("DescribeLogStreams", {"orderBy": "Size"}),
        ("DescribeLogStreams", {"orderBy": "LastEventTime", "logStreamNamePrefix": "job/"}),
    ],
)
def test_what_cloudwatch_refuses_is_refused(lines: LogLines, operation: str, asked: dict[str, Any]) -> None:
    fill(lines, 3)
    with pytest.raises(AwsError, match="InvalidParameterException"):
        ask(lines, operation, **asked)


def test_a_message_beyond_the_limit_becomes_several(lines: LogLines) -> None:
    lines.append(STREAM, 1, "x" * (2 * MAX_EVENT + 5))
    assert [MAX_EVENT, MAX_EVENT, 5] == [len(line.message) for line in lines.read(STREAM, 0, 9)]


def test_streams_survive_a_restart_and_a_torn_last_line(tmp_path: Path) -> None:
    first = LogLines(tmp_path)
    fill(first, 3)
    file = next(tmp_path.glob("*.jsonl"))
    file.write_bytes(file.read_bytes() + b'{"t": 1, "i"')
    again = LogLines(tmp_path)
    fill(again, 1, first=3)
    assert [f"line {index}" for index in range(4)] == [line.message for line in again.read(STREAM, 0, 99)]
    assert 4 == len(LogLines(tmp_path).stamps(STREAM) or ())


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=9)), st.data())
def test_lines_do_not_depend_on_how_the_bytes_arrive(texts: list[str], data: st.DataObject) -> None:
    raw = "\n".join(texts).encode()
    splitter, found, at = LineSplitter(), [], 0
    while at < len(raw):
        size = data.draw(st.integers(1, 7))
        found += splitter.feed(raw[at : at + size])
        at += size
    assert [text for text in texts if text.encode().strip()] == found + splitter.end()
