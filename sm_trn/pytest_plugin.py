"""Fixtures for projects that launch jobs: a session on an emulator of their own, and faults on demand.

Installed with the package. It must import nothing of the emulator, nor of boto3, before a test asks for a fixture.

    def test_my_launcher_survives_throttling(sm_trn_session, sm_trn_faults):
        sm_trn_faults("throttling", operation="CreateTrainingJob", times=3)
        assert my_launcher(sm_trn_session).wait().status.terminal

With ``--sm-trn-everywhere`` tests that know nothing of this package meet an emulator too: every AWS client of the run, in the tests, in
what they start, and in the workers of pytest-xdist.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from .core.session.handles import Session
    from .emulator.options import Endpoint, Options

_WORKER: Final = "PYTEST_XDIST_WORKER"  # set in a worker before its plugins are loaded
_STATE: Final = "SM_TRN_STATE"


def pytest_addoption(parser: pytest.Parser) -> None:
    """pytest's hook: the options of ``--sm-trn-everywhere``, on the command line and in the ini file."""
    group = parser.getgroup("sm_trn", "an emulated SageMaker for this run")
    shown = {
        "everywhere": "let a fresh emulator answer every AWS client of this run",
        "region": "the region of its clients (default: AWS_DEFAULT_REGION, else us-east-1)",
    }
    group.addoption("--sm-trn-everywhere", action="store_true", help=shown["everywhere"])
    group.addoption("--sm-trn-region", metavar="NAME", help=shown["region"])
    group.addoption(
        "--sm-trn-role",
        metavar="NAME",
        action="append",
        default=[],
        help="an IAM role that the tests name; may be repeated",
    )
    parser.addini("sm_trn_everywhere", f"{shown['everywhere']} (--sm-trn-everywhere)", type="bool", default=False)
    parser.addini("sm_trn_region", f"{shown['region']} (--sm-trn-region)")
    parser.addini("sm_trn_roles", "IAM roles that the tests name (--sm-trn-role)", type="args", default=[])


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """pytest's hook: before a conftest.py is read, for many make clients or look for a region when they are imported."""
    known = early_config.known_args_namespace
    if known.sm_trn_everywhere or early_config.getini("sm_trn_everywhere"):
        everywhere = _Everywhere(
            region=known.sm_trn_region or early_config.getini("sm_trn_region"),
            roles=(*known.sm_trn_role, *early_config.getini("sm_trn_roles")),
        )
        early_config.pluginmanager.register(everywhere, "sm_trn_everywhere")


class _Everywhere:
    """A plugin for a whole run: it starts an emulator, turns all clients to it, and says at the end what it does not have."""

    def __init__(self, region: str, roles: tuple[str, ...]) -> None:
        from . import emulator  # noqa: PLC0415 - loaded only by who uses it

        self._undo = ExitStack()
        atexit.register(self._undo.close)  # a wrong option ends pytest without a word to its plugins
        if _WORKER in os.environ:
            endpoint = emulator.find(Path(os.environ[_STATE]))
            if endpoint is None:
                raise pytest.UsageError(f"sm_trn: the emulator in {os.environ[_STATE]} has ended before its tests")
        else:
            endpoint = self._started(region or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1")
        self.endpoint: Final = endpoint
        self._undo.enter_context(emulator.redirected(endpoint))
        if _WORKER not in os.environ:
            _create_roles(endpoint, roles)

    def _started(self, region: str) -> Endpoint:
        from . import emulator  # noqa: PLC0415 - as above

        state = Path(tempfile.mkdtemp(prefix="sm_trn-"))
        self._undo.callback(shutil.rmtree, state, ignore_errors=True)
        self._undo.callback(emulator.down, state)
        endpoint = emulator.up(state, region=region, options=_options())
        self._undo.enter_context(emulator.environment(endpoint.environment()))
        return endpoint

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """pytest's hook: tell what the tests asked for and the emulator does not have."""
        from . import emulator  # noqa: PLC0415 - as above

        refused = emulator.status(self.endpoint.state).refused
        if refused and _WORKER not in os.environ:
            terminalreporter.section("sm_trn: operations that the emulator does not have")
            for name, number in refused.items():
                terminalreporter.write_line(f"{number:>6}  {name}")

    def pytest_unconfigure(self) -> None:
        """pytest's hook: end what was started, and leave the environment as it was."""
        self._undo.close()


def _options() -> Options:
    """How an emulator of tests behaves: it starts jobs at once, and ends with the tests."""
    from . import emulator  # noqa: PLC0415 - as above

    return emulator.Options(start_delay_s=0.05, stop_grace_s=5.0, parent_pid=os.getpid())


def _create_roles(endpoint: Endpoint, names: tuple[str, ...]) -> None:
    import boto3  # noqa: PLC0415 - loaded only by who uses it

    if names:
        iam = boto3.client("iam", region_name=endpoint.region)
        for name in dict.fromkeys(names):
            iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}", MaxSessionDuration=43_200)


@pytest.fixture(scope="session")
def sm_trn_emulator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A fresh emulator in a temporary folder, for all tests of the run; ended, with all it started, after the last.

    With ``--sm-trn-everywhere`` it is the one of the run.
    """
    from . import emulator  # noqa: PLC0415 - loaded only by who uses it

    everywhere = request.config.pluginmanager.get_plugin("sm_trn_everywhere")
    if everywhere is not None:
        yield everywhere.endpoint
        return
    state = tmp_path_factory.mktemp("sm_trn")
    try:
        yield emulator.up(state, options=_options())
    finally:
        emulator.down(state)


@pytest.fixture
def sm_trn_session(sm_trn_emulator: Endpoint) -> Iterator[Session]:
    """A session on the emulator. After the test no job of it runs, no endpoint answers, no fault is left; what had ended
    stays, under names that no other test has.
    """
    from . import emulator  # noqa: PLC0415 - loaded only by who uses it
    from .wiring import connect  # noqa: PLC0415 - as above

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
    """A fresh emulated SageMaker, and its S3, for plain boto3 clients made in the test, with region and credentials in the environment.

    moto's ``mock_aws`` beside it answers all other services.
    """
    from . import emulator  # noqa: PLC0415 - loaded only by who uses it

    with emulator.mocked(region=os.environ.get("AWS_DEFAULT_REGION") or "us-east-1") as endpoint:
        yield endpoint
