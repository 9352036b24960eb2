"""The state folder: read as it was written, refused by name where it cannot be."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sm_trn import emulator as embedded
from sm_trn.core.errors import EmulatorError
from sm_trn.emulator.state.store import Store


def test_a_store_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "emulator.db"
    Store(file).close()
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(EmulatorError, match=r"got schema 99, wanted .*sm-trn local reset"):
        embedded.up(tmp_path)
    assert 99 == sqlite3.connect(file).execute("PRAGMA user_version").fetchone()[0]


def test_a_damaged_store_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "emulator.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(EmulatorError, match=r"damaged: .*sm-trn local reset"):
        embedded.up(tmp_path)
