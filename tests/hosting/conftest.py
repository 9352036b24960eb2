"""Fixtures of the tests of hosting."""

from __future__ import annotations

from typing import Any

import pytest

import sm_trn as st


@pytest.fixture(scope="module")
def session(emulator: Any) -> st.Session:
    return st.connect("emulator", state=emulator.state)
