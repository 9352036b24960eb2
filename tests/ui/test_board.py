"""What tabs know: whoever asks now and then knows what is known, and nobody is woken for nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from sm_trn.report.ui.board import Board

PIECES = some.dictionaries(some.sampled_from(["seen", "jobs"]), some.text("ab", max_size=2), min_size=2)
STEPS = some.lists(some.tuples(PIECES, some.text("ab", max_size=2), some.booleans()), max_size=20)


@given(STEPS)
def test_a_tab_that_asks_now_and_then_knows_what_is_known(steps: list[tuple[dict[str, str], str, bool]]) -> None:
    board = Board()
    version = 0
    shown: dict[str, str] = {}
    woken: list[int] = []
    with board.listening(lambda: woken.append(1), "a"):
        for pieces, detail, asks in steps:
            board.publish(pieces, {"a": {"job": detail}, "b": {"job": "of another tab"}})
            before = len(woken)
            board.publish(dict(pieces), {"a": {"job": detail}, "b": {"job": "of another tab"}})
            assert before == len(woken)
            if asks:
                version, news = board.since(version, "a")
                shown |= news
                assert {**pieces, "job": detail} == shown
                assert (version, {}) == board.since(version, "a")


def test_a_board_that_closes_wakes_everybody_and_knows_who_looks() -> None:
    board = Board()
    changes: list[tuple[bool, tuple[str, ...]]] = []
    board.changed = lambda: changes.append((board.watched, board.opened))
    woken: list[str] = []
    with board.listening(lambda: woken.append("one"), "job"), board.listening(lambda: woken.append("two"), "job"):
        board.close()
    assert ["one", "two"] == woken
    assert [(True, ("job",)), (True, ("job",)), (True, ("job",)), (False, ())] == changes
