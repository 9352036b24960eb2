"""What tabs know: a tab is woken by news, and the poller knows whether anybody looks."""

from __future__ import annotations

from sm_trn.report.ui.board import Board


def test_a_board_wakes_everybody_and_knows_whether_anybody_looks() -> None:
    changes: list[bool] = []
    board = Board(lambda: changes.append(board.watched))
    woken: list[str] = []
    with board.listening(lambda: woken.append("one")), board.listening(lambda: woken.append("two")):
        board.publish({"jobs": "<p>1</p>"})
        board.close()
    board.publish({})
    assert ["one", "two", "one", "two"] == woken
    assert [True, True, True, False] == changes
    assert (True, {}) == (board.closed, board.pieces)
