"""Whatever is published and whenever a tab asks: what the tab has put together is what is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from sm_trn.report.ui.board import Board

NAMES = some.sampled_from(["a", "b", "c", "d"])
ROWS = some.dictionaries(NAMES, some.integers(0, 2))
STEPS = some.lists(
    some.tuples(ROWS, some.integers(0, 2), some.dictionaries(NAMES, some.integers(0, 2)), some.booleans()), max_size=12
)


class Tab:
    """What ui/static/live.js keeps."""

    def __init__(self, board: Board, opened: str) -> None:
        self.board = board
        self.opened = opened
        self.version = 0
        self.rows: dict[str, object] = {}
        self.head: object = None
        self.detail: object = None

    def ask(self) -> bool:
        update = self.board.since(self.version, self.opened)
        if update is None:
            return False
        self.version, self.head = update.version, update.head
        if update.whole:
            self.rows = {}
        self.rows |= {str(row["name"]): row["value"] for row in update.rows}
        for name in update.gone:
            self.rows.pop(name, None)
        if update.detail is not None:
            self.detail = update.detail["value"]
        return True


@given(STEPS)
def test_a_tab_that_asks_now_and_then_knows_what_is_known(
    steps: list[tuple[dict[str, int], int, dict[str, int], bool]],
) -> None:
    board = Board()
    tab = Tab(board, "a")
    with board.listening(lambda: None, "a"):
        for rows, head, details, asks in steps:
            board.publish(
                {name: {"name": name, "value": value} for name, value in rows.items()},
                {"head": head},
                {name: {"value": value} for name, value in details.items()},
            )
            before = (tab.rows, tab.head)
            if asks:
                asked = tab.ask()
                assert (rows, {"head": head}) == (tab.rows, tab.head)
                assert details.get("a", tab.detail) == tab.detail
                assert asked or before == (tab.rows, tab.head)
                assert not tab.ask()
    late = Tab(board, "a")
    late.ask()
    if steps:
        assert steps[-1][0] == late.rows


@given(STEPS)
def test_nobody_is_woken_when_nothing_is_new(steps: list[tuple[dict[str, int], int, dict[str, int], bool]]) -> None:
    board = Board()
    woken: list[int] = []
    with board.listening(lambda: woken.append(1)):
        for rows, head, details, _ in steps:
            shown = {name: {"name": name, "value": value} for name, value in rows.items()}
            opened = {name: {"value": value} for name, value in details.items()}
            board.publish(shown, {"head": head}, opened)
            told = len(woken)
            board.publish(dict(shown), {"head": head}, dict(opened))
            assert told == len(woken)


def test_a_board_that_closes_wakes_everybody_and_knows_who_looks() -> None:
    board = Board()
    changes: list[tuple[bool, tuple[str, ...]]] = []
    board.changed = lambda: changes.append((board.watched, board.opened))
    woken: list[str] = []
    with board.listening(lambda: woken.append("one"), "job"), board.listening(lambda: woken.append("two"), "job"):
        board.close()
    assert ["one", "two"] == woken
    assert [(True, ("job",)), (True, ("job",)), (True, ("job",)), (False, ())] == changes
