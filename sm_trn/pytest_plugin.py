"""Fixtures for projects that launch jobs: a session on an emulator of their own, and faults on demand.

Installed with the package. It must import nothing of the emulator, nor of boto3, before a test asks for a fixture.

    def test_my_launcher_survives_throttling(sm_trn_session, sm_trn_faults):
        sm_trn_faults("throttling", operation="CreateTrainingJob", times=3)
        assert my_launcher(sm_trn_session).wait().status.terminal
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .emulator.options import Endpoint
    from .session.handles import Session


@pytest.fixture(scope="session")
def sm_trn_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A fresh emulator in a temporary folder, for all tests of the run; ended, with all it started, after the last."""
    from . import emulator  # noqa: PLC0415 - loaded only by who uses it

    state = tmp_path_factory.mktemp("sm_trn")
    try:
        yield emulator.up(state, options=emulator.Options(start_delay_s=0.05, stop_grace_s=5.0))
    finally:
        emulator.down(state)


@pytest.fixture
def sm_trn_session(sm_trn_emulator: Endpoint) -> Iterator[Session]:
    """A session on the emulator. After the test no job of it runs, no endpoint answers, no fault is left; what had ended
    stays, under names that no other test has.
    """
    from . import emulator  # noqa: PLC0415 - loaded only by who uses it
    from .session.connection import connect  # noqa: PLC0415 - as above

    session = connect("emulator", state=sm_trn_emulator.state)
    try:
        yield session
    finally:
        emulator.clear_faults(sm_trn_emulator.state)
        session.stop_all(containing="")
        session.endpoints().delete_all()


@pytest.fixture
def sm_trn_faults(sm_trn_emulator: Endpoint) -> Iterator[Callable[..., None]]:
    """``sm_trn_faults("throttling", operation="CreateTrainingJob", times=3)``: the fields of ``sm_trn.emulator.Fault``.

    All faults are taken back after the test.
    """
    from . import emulator  # noqa: PLC0415 - loaded only by who uses it

    def add(kind: str, **options: Any) -> None:
        emulator.add_fault(emulator.Fault(kind=kind, **options), sm_trn_emulator.state)

    try:
        yield add
    finally:
        emulator.clear_faults(sm_trn_emulator.state)


@pytest.fixture
def sm_trn_mocked() -> Iterator[Endpoint]:
    """For tests under moto's ``mock_aws``: plain boto3 clients made in the test get a fresh emulated SageMaker, and its S3."""
    from . import emulator  # noqa: PLC0415 - loaded only by who uses it

    with emulator.mocked() as endpoint:
        yield endpoint
