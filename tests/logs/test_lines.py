"""Lines as people see and select them."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.errors import SmTrnError
from sm_trn.core.logs import LogEvent, LogFilter, printable, shown, since_s


@pytest.mark.parametrize(
    ("text", "rank", "message"),
    [
        ("[1,3]<stdout>:hello", 3, "hello"),
        ("[1,mpirank:12,algo-2]<stderr>: hello", 12, "hello"),
        ("[rank7]: Traceback", 7, "Traceback"),
        ("[0]:hello", 0, "hello"),
        ("[default1]:hello", 1, "hello"),
        ("\x1b[34m[1,0]<stdout>:hello\x1b[0m", 0, "hello\x1b[0m"),
        ("[0]#011train-rmse:1.5", None, "[0]#011train-rmse:1.5"),
        ("[INFO|trainer.py:33] x", None, "[INFO|trainer.py:33] x"),
        ("[notice] x", None, "[notice] x"),
        ("plain", None, "plain"),
        ("", None, ""),
    ],
)
def test_launchers_prefixes_name_the_rank(text: str, rank: int | None, message: str) -> None:
    event = LogEvent(0.0, "algo-1", text)
    assert (rank, message) == (event.rank, event.message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#015 0%|  |#015 50%|# |#015100%|##|", "100%|##|"),
        ("a\rb\r", "b"),
        ("1/2 loss 0.5#010#010#0102/2 loss 0.4", "2/2 loss 0.4"),
        ("a#011b", "a\tb"),
        ("#033[31mred#033[0m", "red"),
        ("colour #011f3d and issue #0427", "colour \tf3d and issue #0427"),
        ("plain", "plain"),
    ],
)
def test_of_a_progress_bar_the_last_state_is_shown(text: str, expected: str) -> None:
    assert expected == shown(text)


@given(some.text())
def test_what_is_shown_is_printable(text: str) -> None:
    assert printable(shown(text)) == shown(text)


EVENT = LogEvent(0.0, "algo-2", "[1,5]<stdout>:loss 0.5")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (LogFilter(), True),
        (LogFilter(host="algo-2", rank=5, matching=r"loss \d"), True),
        (LogFilter(host="algo-1"), False),
        (LogFilter(rank=0), False),
        (LogFilter(matching="acc"), False),
    ],
)
def test_a_filter_wants_what_meets_every_wish(wanted: LogFilter, *, expected: bool) -> None:
    assert expected is wanted.wants(EVENT)


def test_a_wrong_expression_is_refused_at_once_and_an_endless_one_soon() -> None:
    with pytest.raises(SmTrnError, match="wanted a regular expression"):
        LogFilter(matching="(")
    began = time.monotonic()
    with pytest.raises(SmTrnError, match="without nested repetition"):
        LogFilter(matching=r"(a|aa)+$").wants(LogEvent(0.0, "", "a" * 100 + "!"))
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("90s", 10.0), ("1m", 40.0), ("0.5m", 70.0), ("1970-01-01T00:00:30Z", 30.0), ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01", 0.0), (datetime(1970, 1, 1, 0, 1, tzinfo=timezone.utc), 60.0),
    ],
)  # fmt: skip
def test_since_is_an_age_or_a_time(since: str | datetime, expected: float) -> None:
    assert expected == since_s(since, 100.0)


def test_since_that_is_neither_is_refused() -> None:
    with pytest.raises(SmTrnError, match="wanted an age such as 5m"):
        since_s("five minutes", 0.0)
