"""A long transfer is one line that counts; a short one, a pipe and a file see nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.report.watch.transfers import QUIET_BYTES, TransferLine, transfer_line, transfer_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_upload_is_one_line_that_is_drawn_at_each_percent() -> None:
    stream = Terminal()
    line = TransferLine(stream)
    whole = 100 * QUIET_BYTES
    for done in range(0, whole + 1, QUIET_BYTES // 4):
        line("uploading train.csv", done, whole)
    assert 101 == stream.getvalue().count("\r")
    assert stream.getvalue().endswith("uploading train.csv  800 MB of 800 MB  100%\x1b[K\n")
    assert 1 == stream.getvalue().count("\n")


def test_a_short_one_is_not_worth_a_line() -> None:
    stream = Terminal()
    TransferLine(stream)("uploading a.py", 10, QUIET_BYTES - 1)
    assert "" == stream.getvalue()


def test_a_notebook_updates_one_output() -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bundle: dict[str, str], **_: Any) -> None:
            shown[-1] = bundle["text/plain"]

    def display(bundle: dict[str, str], **_: Any) -> Handle:
        shown.append(bundle["text/plain"])
        return Handle()

    line = TransferLine(display=display)
    for what in ("downloading the model", "uploading the model with its code"):
        for part in (1, 2, 3, 4):
            line(what, part * QUIET_BYTES, 4 * QUIET_BYTES)
    assert [
        "downloading the model  32 MB of 32 MB  100%",
        "uploading the model with its code  32 MB of 32 MB  100%",
    ] == shown


@pytest.mark.parametrize("environ", [{}, {"TERM": "dumb"}])
def test_nothing_is_drawn_where_nothing_can_be_drawn_again(environ: dict[str, str]) -> None:
    assert transfer_line(io.StringIO(), environ={}) is None
    assert (environ == {}) is (transfer_line(Terminal(), environ=environ) is not None)


@given(some.text(max_size=200), some.integers(0, 10**13), some.integers(0, 10**13))
def test_a_line_fits_a_terminal_and_cannot_move_its_cursor(what: str, done: int, whole: int) -> None:
    text = transfer_text(what, min(done, whole), whole)
    assert len(text) <= 79
    assert "\x1b" not in text
    assert "\n" not in text
