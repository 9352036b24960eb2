"""Fixtures every folder of tests may use: an emulator of its own, and AWS clients that talk to it."""

from __future__ import annotations

import functools
import gc
import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from sm_trn import emulator as embedded
from sm_trn.emulator import Endpoint, Options
from sm_trn.wiring import Session, connect

# The same examples each time, so that a red run is the change's own doing; new ones: --hypothesis-profile=random
_PROFILE = settings(deadline=None, suppress_health_check=list(HealthCheck))  # machines are slow, fixtures shared
settings.register_profile("repeatable", _PROFILE, derandomize=True)
settings.register_profile("random", _PROFILE)
settings.load_profile("repeatable")
# A shell starts what it puts in the background deaf to Ctrl-C, and every child of ours would be.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The tables that ship, whatever the person who runs the tests keeps in a file of facts.
os.environ["SM_TRN_CATALOG"] = "/nonexistent/catalog.json"
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="sm-trn-state-")  # launches that a test interrupts
# Before torch is loaded: several tests and jobs share the machine's cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A worker loads libraries of a gigabyte and keeps them: until all is collected there is no garbage to look for.
gc.disable()
_NEEDED = ("boto3", "moto", "flask_cors", "sagemaker_training")
# Files that train, first: side by side, nobody waits at the end for one of them alone.
_LONG = (
    "test_script_glue.py", "test_spot_stops.py", "test_script_faults.py", "test_script_interruptions.py", "test_ordinary_changes.py",
    "test_missing_libraries.py", "test_second_process.py", "test_pytest_plugin.py", "test_watching.py", "test_script_llama.py",
    "test_figures_of_many_jobs.py", "test_guides.py", "test_kit_data.py", "test_run.py", "test_init.py", "test_hostile.py",
    "test_script_training.py", "test_script_language.py", "test_script_models.py", "test_deploying.py", "test_local.py",
    "test_sdk_v2_models.py", "test_rehearsal.py", "test_lifecycle.py", "test_launcher.py", "test_isolation.py", "test_kills.py",
    "test_skill.py", "test_foreign_answers.py", "test_interrupted.py", "test_survival.py", "test_situations.py",
    "test_every_request.py", "test_script_waves.py", "test_cli_attach.py", "test_job_logs.py",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_default_session() -> None:
    """boto3's default session keeps the keys that the environment had first: those of an earlier test's emulator."""
    if "boto3" in sys.modules:
        sys.modules["boto3"].DEFAULT_SESSION = None  # type: ignore[attr-defined]


def pytest_configure() -> None:
    """What the libraries read again and again and never change is read once a process: half of some files' time goes there."""
    if importlib.util.find_spec("botocore") is not None:
        _models_once()
    if importlib.util.find_spec("sagemaker") is not None:
        _schema_checked_once()


def _models_once() -> None:
    """Each of botocore's sessions reads its table of endpoints and the models of its services, megabytes, anew."""
    from botocore.loaders import JSONFileLoader, Loader

    load, reader, botocore_data = JSONFileLoader.load_file, JSONFileLoader(), Loader.BUILTIN_DATA_PATH

    @functools.cache
    def kept(file_path: str) -> Any:
        return load(reader, file_path)

    def loaded(self: JSONFileLoader, file_path: str) -> Any:
        known = file_path.startswith(botocore_data)  # which nobody writes to
        return kept(file_path) if known else load(self, file_path)

    setattr(JSONFileLoader, "load_file", loaded)  # noqa: B010 - mypy: a method


def _schema_checked_once() -> None:
    """SDK v2 holds its own schema against the metaschema at each look-up of a default, some twenty times a job."""
    from jsonschema import Draft202012Validator

    check, held = Draft202012Validator.check_schema, dict[int, Any]()

    def once(schema: Any, *more: Any, **named: Any) -> None:
        if id(schema) not in held:
            check(schema, *more, **named)
            held[id(schema)] = schema  # kept, so that no other one gets its id

    Draft202012Validator.check_schema = staticmethod(once)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The README's command keeps this order: a file goes to the worker that is free."""
    items.sort(key=lambda item: _LONG.index(item.path.name) if item.path.name in _LONG else len(_LONG))


def pytest_collection_finish() -> None:
    """The collector leaves out what stays, and looks less often: it took a seventh of the processor's time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    gc.enable()


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A fresh emulator for the whole session, ended with it."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the emulator needs sm_trn[local]; missing: {', '.join(missing)}")
    state = tmp_path_factory.mktemp("emulator")
    try:
        yield embedded.up(
            state, options=Options(start_delay_s=0.05, stop_grace_s=5.0, max_jobs=2, parent_pid=os.getpid())
        )
    finally:
        embedded.down(state)


@pytest.fixture(scope="module")
def session(emulator: Endpoint) -> Session:
    """A session with that emulator."""
    return connect("emulator", state=emulator.state)


@pytest.fixture(scope="session")
def aws(emulator: Endpoint) -> Callable[[str], Any]:
    """``aws("s3")``: a boto3 client of the emulator, retries off."""
    from emulator.bench import client_of

    def client(service: str) -> Any:
        made = client_of(emulator, service)
        if service == "sagemaker":
            made.meta.events.register("before-parse.sagemaker", _held_against_the_model)
        return made

    return client


def _held_against_the_model(operation_model: Any, response_dict: dict[str, Any], **_more: Any) -> None:
    """Every answer that any test gets: nothing that the service model lacks, and all that it requires."""
    from emulator.contract import misfits

    if response_dict["status_code"] == 200:
        wrong = misfits(operation_model.output_shape, json.loads(response_dict["body"] or b"{}"))
        assert not wrong, f"{operation_model.name}: {'; '.join(wrong)}"
