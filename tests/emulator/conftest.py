"""Fixtures of the emulator's own tests."""

from __future__ import annotations

import pytest
from emulator.bench import Bench, Client

from sm_trn.emulator import Endpoint


@pytest.fixture(scope="session")
def bench(emulator: Endpoint, aws: Client) -> Bench:
    return Bench(emulator, aws)
