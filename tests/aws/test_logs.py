"""Reading a job's log out of CloudWatch: every line of every host once, in order, whatever happens in between."""

from __future__ import annotations

import os
import random

import pytest

pytest.importorskip("boto3")

from fakes.log_service import BROKEN, THROTTLED, LogService
from hypothesis import given, settings
from hypothesis import strategies as some

from sm_trn.core.aws.logs import SELDOM, CloudWatchLogs
from sm_trn.core.errors import CloudError, SmTrnError
from sm_trn.core.logs import LogEvent
from sm_trn.core.ports import LogCursor, StreamPlace, dump_cursor, parse_cursor


def filled(hosts: int, lines: int, page: int = 10_000) -> LogService:
    """Every host says a line each second, one after another within the second."""
    service = LogService(page)
    for host in range(1, hosts + 1):
        service.streams[f"job/algo-{host}-1"] = [
            (1000 * second + host, f"h{host} l{second}") for second in range(1, lines + 1)
        ]
    return service


def said(service: LogService) -> list[str]:
    every = [event for events in service.streams.values() for event in events]
    return [text for _, text in sorted(every)]


def texts(events: list[LogEvent]) -> list[str]:
    return [event.text for event in events]


def read_through(service: LogService, cursor: LogCursor | None = None) -> tuple[list[LogEvent], int]:
    """Read to the end; after a fault go on at the saved text of the last cursor."""
    found: list[LogEvent] = []
    source, kept = CloudWatchLogs(service.session()), dump_cursor(cursor or LogCursor())
    for faults in range(1000):
        try:
            for batch in source.stream_events("job", parse_cursor(kept)):
                found.extend(batch.events)
                kept = dump_cursor(batch.cursor)
        except CloudError:
            continue
        return found, faults
    raise AssertionError("never ended")


def test_more_than_fifty_streams_are_all_read_in_time_order() -> None:
    service = filled(hosts=70, lines=3)
    events, _ = CloudWatchLogs(service.session()).fetch_events("job", LogCursor())
    assert said(service) == texts(events)
    assert 2 == service.calls["DescribeLogStreams"]


def test_pages_of_unequal_streams_are_interleaved_by_time() -> None:
    service = filled(hosts=2, lines=40, page=7)
    service.streams["job/algo-2-1"] = service.streams["job/algo-2-1"][::9]
    assert said(service) == texts(read_through(service)[0])


def test_what_is_held_is_a_page_a_stream_not_the_log() -> None:
    service = filled(hosts=3, lines=500, page=10)
    sizes = [len(batch.events) for batch in CloudWatchLogs(service.session()).stream_events("job", LogCursor())]
    assert 1500 == sum(sizes)
    assert max(sizes) <= 30


@settings(max_examples=25)
@given(
    some.integers(1, 4),
    some.integers(0, 25),
    some.integers(1, 9),
    some.integers(0, 2),
    some.sets(some.integers(0, 120)),
)
def test_no_line_is_lost_or_doubled_under_faults_between_pages(
    hosts: int, lines: int, page: int, blanks: int, bad: set[int]
) -> None:
    service = filled(hosts, lines, page)
    service.empty_pages = blanks
    service.fault = lambda call: (THROTTLED if call % 2 else BROKEN) if call in bad else None
    events, _ = read_through(service)
    assert sorted(said(service)) == sorted(texts(events))
    for host in range(1, hosts + 1):
        own = [event.text for event in events if event.host == f"algo-{host}"]
        assert [text for _, text in service.streams[f"job/algo-{host}-1"]] == own


def test_an_empty_page_is_not_the_end() -> None:
    service = filled(hosts=1, lines=5, page=2)
    service.empty_pages = 3
    for asked in ({}, {"streams": 1}):
        events, _ = CloudWatchLogs(service.session()).fetch_events("job", LogCursor(), **asked)
        assert ["h1 l1", "h1 l2"] == texts(events)[:2]


def test_following_reads_only_what_is_new() -> None:
    service = filled(hosts=2, lines=3)
    source = CloudWatchLogs(service.session())
    first, cursor = source.fetch_events("job", LogCursor())
    nothing, cursor = source.fetch_events("job", cursor)
    service.streams["job/algo-1-1"].append((9000, "late"))
    service.streams["job/algo-2-1"].append((3500, "later still, but older"))
    news, _ = source.fetch_events("job", cursor)
    assert (6, 0) == (len(first), len(nothing))
    assert ["later still, but older", "late"] == texts(news)


def test_a_line_with_an_older_time_than_the_last_is_delivered_and_breaks_no_order_of_its_stream() -> None:
    service = filled(hosts=2, lines=4)
    service.streams["job/algo-1-1"].append((500, "clock went back"))
    service.streams["job/algo-1-1"].append((9000, "and forth"))
    own = [event.text for event in read_through(service)[0] if event.host == "algo-1"]
    assert [text for _, text in service.streams["job/algo-1-1"]] == own


def test_streams_are_listed_until_the_expected_ones_are_known_and_then_seldom() -> None:
    service = filled(hosts=1, lines=1)
    source, cursor = CloudWatchLogs(service.session()), LogCursor()
    for _ in range(3):
        _, cursor = source.fetch_events("job", cursor, streams=2)
    assert 3 == service.calls["DescribeLogStreams"]
    service.streams["job/algo-2-7"] = [(5000, "second host")]
    found = []
    for _ in range(20):
        events, cursor = source.fetch_events("job", cursor, streams=2)
        found += texts(events)
    assert (["second host"], 4) == (found, service.calls["DescribeLogStreams"])
    for _ in range(SELDOM):
        _, cursor = source.fetch_events("job", cursor, streams=2)
    assert 5 == service.calls["DescribeLogStreams"]


def test_a_restart_is_a_new_stream_and_is_found_at_once() -> None:
    service = filled(hosts=1, lines=2)
    source = CloudWatchLogs(service.session())
    _, cursor = source.fetch_events("job", LogCursor(), streams=1)
    service.streams["job/algo-1-9"] = [(9000, "again")]
    news, _ = source.fetch_events("job", cursor, streams=2)
    assert [("algo-1", "again")] == [(event.host, event.text) for event in news]


def test_a_quiet_look_costs_one_call_a_stream() -> None:
    service = filled(hosts=2, lines=3)
    source = CloudWatchLogs(service.session())
    _, cursor = source.fetch_events("job", LogCursor(), streams=2)
    service.calls.clear()
    source.fetch_events("job", cursor, streams=2)
    assert {"GetLogEvents": 2} == dict(service.calls)


def test_a_quick_look_leaves_to_the_next_what_it_did_not_see() -> None:
    service = filled(hosts=2, lines=30, page=4)
    source, cursor, found = CloudWatchLogs(service.session()), LogCursor(), []
    for _ in range(40):
        events, cursor = source.fetch_events("job", cursor, streams=2)
        found += texts(events)
    assert sorted(said(service)) == sorted(found)


def test_a_cursor_whose_tokens_have_expired_goes_on_by_time() -> None:
    service = filled(hosts=2, lines=6, page=5)
    for stream in service.streams.values():
        stream.insert(3, (stream[2][0], "same millisecond"))
    source = CloudWatchLogs(service.session())
    batches = source.stream_events("job", LogCursor())
    first = next(batches)
    service.lifetime += 1
    rest, _ = read_through(service, first.cursor)
    assert sorted(said(service)) == sorted(texts([*first.events, *rest]))


@pytest.mark.parametrize("seed", range(int(os.environ.get("SM_TRN_ROUNDS", "20"))))
def test_no_line_is_lost_or_doubled_where_tokens_expire_and_pages_are_empty(seed: int) -> None:
    """Tokens expire at any call; many lines have one time; empty pages stand before every page."""
    chance = random.Random(seed)
    service = LogService(page=chance.randint(1, 6))
    for host in range(1, chance.randint(1, 3) + 1):
        at = 1000
        service.streams[f"job/algo-{host}-1"] = lines = []
        for number in range(chance.randint(1, 40)):
            at += chance.choice([0, 0, 0, 1, 5])
            lines.append((at, f"h{host} l{number}"))
    service.empty_pages = chance.randint(0, 2)

    def fault(_call: int) -> tuple[int, dict[str, str]] | None:
        service.lifetime += service.lifetime < 6 and chance.random() < 0.2
        return THROTTLED if chance.random() < 0.1 else None

    service.fault = fault
    events, _ = read_through(service)
    for stream, lines in service.streams.items():
        host = stream.split("/")[1].rsplit("-", 1)[0]  # type: ignore[assignment]  # another of its kind
        assert [text for _, text in lines] == [event.text for event in events if event.host == host], seed  # type: ignore[comparison-overlap]  # numbers of several kinds


def test_since_leaves_out_what_is_older() -> None:
    service = filled(hosts=1, lines=5)
    events, cursor = CloudWatchLogs(service.session()).fetch_events("job", LogCursor(since_ms=4000))
    assert ["h1 l4", "h1 l5"] == texts(events)
    assert cursor.since_ms == 4000


def test_throttles_are_met_by_botocores_own_retries() -> None:
    service = filled(hosts=1, lines=2)
    service.fault = lambda call: THROTTLED if call == 1 else None
    assert said(service) == texts(CloudWatchLogs(service.session(attempts=3)).fetch_events("job", LogCursor())[0])


def test_a_job_that_never_logged_and_a_stream_that_was_deleted_are_empty() -> None:
    assert [] == CloudWatchLogs(LogService().session()).fetch_events("job", LogCursor())[0]
    gone = LogCursor((StreamPlace(stream="job/algo-1-1", token="0/3/0"),))
    assert [] == CloudWatchLogs(LogService().session()).fetch_events("job", gone)[0]


PLACES = some.builds(
    StreamPlace,
    stream=some.text(min_size=1),
    token=some.none() | some.text(),
    skip=some.integers(0, 10_000),
    at_ms=some.none() | some.integers(0, 2**53),
    same=some.integers(0, 9),
)


@given(some.builds(LogCursor, some.lists(PLACES).map(tuple), some.integers(0, 99), some.none() | some.integers(0, 9)))
def test_a_cursor_is_text_and_back(cursor: LogCursor) -> None:
    assert cursor == parse_cursor(dump_cursor(cursor))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"places": [{"x": 1}]}', '{"places": 3}'])
def test_text_that_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(SmTrnError, match="wanted the text of a saved LogCursor"):
        parse_cursor(text)
