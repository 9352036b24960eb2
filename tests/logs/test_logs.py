"""Lines and the numbers in them."""

from __future__ import annotations

import math
from ast import literal_eval

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.logs import LogEvent, host_of, merge, numbers, points, printable, throughput
from sm_trn.core.specs import MetricPoint

EVENTS = some.lists(
    some.builds(LogEvent, some.floats(0, 2e9), some.sampled_from(["algo-1", "algo-2"]), some.text(max_size=5)),
    max_size=8,
)


@given(some.lists(EVENTS.map(lambda events: sorted(events, key=lambda event: event.time_s)), max_size=4))
def test_merging_loses_and_invents_nothing_and_is_in_order(streams: list[list[LogEvent]]) -> None:
    merged = list(merge(streams))
    assert sorted(map(repr, (event for stream in streams for event in stream))) == sorted(map(repr, merged))
    assert [event.time_s for event in merged] == sorted(event.time_s for event in merged)


def test_merging_keeps_a_streams_order_when_times_tie() -> None:
    stream = [LogEvent(1.0, "algo-1", text) for text in "cab"]
    assert "cab" == "".join(
        event.text for event in merge([stream, [LogEvent(1.0, "algo-2", "x")]]) if event.host == "algo-1"
    )


@given(
    some.dictionaries(
        some.from_regex(r"[a-z_]{1,8}", fullmatch=True),
        some.floats(allow_nan=False, allow_infinity=False),
        min_size=1,
        max_size=5,
    )
)
def test_a_trainer_line_is_read_as_python_would(pairs: dict[str, float]) -> None:
    line = f"[1,mpirank:0,algo-1]<stdout>:{pairs!r}"
    assert literal_eval(repr(pairs)) == numbers(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{'loss': 5e-05, 'epoch': 1.0}", {"loss": 5e-05, "epoch": 1.0}),
        ("{'loss': inf, 'grad_norm': -inf}", {"loss": math.inf, "grad_norm": -math.inf}),
        ('{"loss": "0.5", "epoch": "2"}', {"loss": 0.5, "epoch": 2.0}),
        ("{'eval': {'loss': 1.0, 'f1': 0.5}, 'loss': 2.0}", {"f1": 0.5, "loss": 2.0, "eval/loss": 1.0}),
        ("finance: {'name': 'nan', 'banana': 1}", {"name": math.nan, "banana": 1.0}),
        ("no numbers {here}", {}),
        ("{" * 5000, {}),
        ("__import__('os').system('true') {'loss': __import__('os')}", {}),
    ],
)
def test_odd_lines(line: str, expected: dict[str, float]) -> None:
    assert repr(dict(sorted(expected.items()))) == repr(dict(sorted(numbers(line).items())))


def test_points_carry_step_epoch_time_and_host() -> None:
    (loss,) = points([LogEvent(7.0, "algo-1", "{'loss': 0.5, 'epoch': 1.0, 'step': 10}")])
    assert MetricPoint("loss", 0.5, step=10, epoch=1.0, time_s=7.0, host="algo-1") == loss


def test_the_same_line_from_several_ranks_counts_once() -> None:
    lines = [
        LogEvent(1.0 + rank, f"algo-{rank + 1}", f"[1,{rank}]<stdout>:{{'loss': 0.5, 'epoch': 1.0}}")
        for rank in range(4)
    ]
    assert 1 == len(list(points(lines)))


def window(value: float) -> MetricPoint:
    return MetricPoint("steps_per_second", value)


def test_steady_throughput_leaves_the_first_window_out() -> None:
    found = throughput([window(0.1), window(6.0), window(7.0), window(8.0)], unit="it/s")
    assert found is not None
    assert (7.0, 3) == (found.median, found.windows)


def test_only_an_average_is_an_average_without_whiskers() -> None:
    found = throughput([MetricPoint("train_steps_per_second", 6.64)], unit="it/s")
    assert found is not None
    assert (6.64, None, None, 0) == (found.median, found.low, found.high, found.windows)


def test_no_rate_is_none() -> None:
    assert throughput([MetricPoint("loss", 1.0)], unit="samples/s") is None


@pytest.mark.parametrize(
    ("stream", "host"), [("job-1/algo-2-1668112345", "algo-2"), ("job/algo-10-1", "algo-10"), ("odd", "odd")]
)
def test_host_of_a_stream(stream: str, host: str) -> None:
    assert host == host_of(stream)


@given(some.text())
def test_nothing_printable_can_move_the_cursor(text: str) -> None:
    assert not any(ord(character) < 0x20 and character not in "\t\n" for character in printable(text))
    assert "\x9b" not in printable(text)


@pytest.mark.parametrize(
    "hostile",
    ["\x1b[2Jx", "\x9b2Jx", "\x1b]8;;http://a\x1b\\x\x1b]8;;\x07", "\x9d8;;http://a\x9cx", "\u202ex", "\u2067x\u2069", "a\u2028x",
     "\x1bP1$r\x1b\\x", "\x1b_x\x1b\\", "\ud800x", "\x07\x08x", "\x1b[>0;276;0cx"],
)  # fmt: skip
def test_a_line_of_a_job_can_neither_draw_nor_link_nor_turn_around(hostile: str) -> None:
    left = printable(hostile)
    assert "x" in left
    assert left.isprintable()
    left.encode()


def test_escape_sequences_are_taken_out() -> None:
    assert "red plain" == printable("\x1b[31mred\x1b[0m \x1b]0;title\x07plain\r")
