"""The core works without the parts: its own tests, the shell's own commands and a launch run from a copy that has nothing else."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from measure import ROOT

import sm_trn as st

TESTS = ROOT / "tests"
PARTS = (
    "account",
    "bridge",
    "capacity",
    "diagnosis",
    "emulator",
    "forecast",
    "hosting",
    "images",
    "report",
    "scripts",
    "templates",
    "tuning",
)
FOLDERS = ("aws", "catalog", "jobfile", "logs", "preflight", "pricing", "render", "session", "specs", "strategies")
QUICK = ("catalog", "pricing", "session", "specs", "strategies")  # unless SM_TRN_CORE=all
ELSEWHERE = ("moto", "pandas", "sagemaker", "torch")  # libraries that the core does without
# What a test of a core's folder needs of the whole checkout, each with its reason.
NOT_FROM_A_COPY = {
    "jobfile/test_json_schema.py": "it asks the shell through a process that has loaded the parts",
    "preflight/test_cases.py": "its cases are of every rule, those of scripts too",
    "preflight/test_jobs_that_run.py": "its jobs are held against every rule, those of forecasts too",
    "session/test_on_the_emulator.py": "it asks an emulator",
}
# A composition of the core alone. The package's own joins the parts too.
WIRING = """
from .core.preflight import RULES, check
from .core.session.connection import connect
from .core.session.handles import Session, TrainingJob


def estimated_cost(job, prices, region):
    return ""
"""
ERRORS = """
from .core.errors import *
from .core.session.budget import OverBudget
from .core.session.launches import LaunchInterrupted, PartialLaunch
"""
CONFTEST = """
import os
from hypothesis import HealthCheck, settings

settings.register_profile("few", derandomize=True, deadline=None, max_examples=5, suppress_health_check=list(HealthCheck))
settings.load_profile("few")
os.environ["SM_TRN_CATALOG"] = "/nonexistent/catalog.json"
"""
LAUNCH = """
import io
from pathlib import Path
from pytest import MonkeyPatch
import sm_trn as st
from fakes.simulated_wire import world

patch = MonkeyPatch()
here = world(patch, Path("."))
job = st.JobSpec(
    name="alone", script=st.Script("train.py", source_dir="src"), framework=st.PyTorch("2.1", python="py310"),
    compute=st.Compute("ml.p4d.24xlarge", count=2), distribution=st.TorchDistributed(), max_run_s=3600,
)
made = here.session.submit(job)
shown = io.StringIO()
final = made.wait(stream=shown)
again = here.session.attach(made.name)
print(final.status_word, len(shown.getvalue().splitlines()) > 2, again.spec.compute == job.compute, again.request() == made.request())
"""


@cache
def needs(file: Path) -> str:
    """What a test file, or one that it imports, needs beside the core; empty where it needs nothing."""
    for name in imported(file):
        room = re.match(r"sm_trn\.(\w+)", name)
        if (room and room[1] in PARTS) or name.split(".")[0] in ELSEWHERE:
            return name
        beside = beside_tests(name, file)
        if beside is not None and beside != file and (more := needs(beside)):
            return f"{beside.name}: {more}"
    return ""


def imported(file: Path) -> Iterator[str]:
    """The modules that a file imports, and the homes of the names of ``st`` that it uses."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "st":
            yield f"sm_trn{st.HOMES.get(node.attr, '')}"
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "st.results":
            yield getattr(st.results, node.attr).__module__


def beside_tests(name: str, file: Path) -> Path | None:
    """The module of the tests that an import in ``file`` names."""
    path = Path(*name.split(".")).with_suffix(".py")
    return next((folder / path for folder in (file.parent, TESTS) if (folder / path).is_file()), None)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the core, the shell, and the tests that need no more."""
    folder = tmp_path_factory.mktemp("alone")
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
    for room in ("core", "cli"):
        shutil.copytree(ROOT / "sm_trn" / room, folder / "sm_trn" / room, ignore=unwanted)
    shutil.copy(ROOT / "sm_trn" / "__init__.py", folder / "sm_trn")
    (folder / "sm_trn" / "wiring.py").write_text(WIRING)
    (folder / "sm_trn" / "rules.py").write_text(
        "from .core.preflight import RULES, check\n\ndef check_sweep_file(path, region):\n    return None\n"
    )
    (folder / "sm_trn" / "errors.py").write_text(ERRORS)
    shutil.copy(ROOT / "sm_trn" / "specs.py", folder / "sm_trn")
    shutil.copytree(ROOT / "entry_scripts", folder / "entry_scripts", ignore=unwanted)
    tests = folder / "tests"
    shutil.copytree(TESTS, tests, ignore=shutil.ignore_patterns("__pycache__", "test_*.py", "conftest.py"))
    (tests / "conftest.py").write_text(CONFTEST)
    for file in core_tests():
        shutil.copy(file, tests / file.relative_to(TESTS))
    (folder / "pytest.ini").write_text(
        "[pytest]\npythonpath = . tests\naddopts = --import-mode=importlib\nmarkers = local\n sdk\n"
    )
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text("print('trained')\n")
    return folder


def core_tests() -> list[Path]:
    files = [file for name in FOLDERS for file in sorted((TESTS / name).glob("test_*.py"))]
    return [file for file in files if not needs(file) and str(file.relative_to(TESTS)) not in NOT_FROM_A_COPY]


def run(folder: Path, *command: str) -> str:
    """What a command of Python prints in ``folder``, with the package that lies there."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SM_TRN", "PYTEST"))
    }
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={
            **environment,
            "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'tests'}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=1500 if os.environ.get("SM_TRN_CORE") == "all" else 280,
        check=False,
    )
    assert 0 == done.returncode, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.timeout(1600)
def test_the_cores_own_tests_pass_without_the_parts(alone: Path) -> None:
    folders = FOLDERS if os.environ.get("SM_TRN_CORE") == "all" else QUICK
    places = [f"tests/{name}" for name in folders]
    told = run(alone, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not local and not sdk", *places)
    passed = re.search(r"(\d+) passed", told)
    assert passed
    assert int(passed[1]) > 20 * len(folders)


def test_most_of_the_cores_tests_need_nothing_else() -> None:
    """Else the test above would pass by having nothing to run."""
    of_the_core = core_tests()
    assert 35 < len(of_the_core)
    assert {*FOLDERS} == {file.parent.name for file in of_the_core}


def test_a_job_is_launched_watched_and_attached_without_the_parts(alone: Path) -> None:
    assert "Completed True True True" == run(alone, "-c", LAUNCH).splitlines()[-1]


def test_the_shells_own_commands_work_without_the_parts(alone: Path) -> None:
    (alone / "job.toml").write_text(
        st.dump_job(
            st.JobSpec(
                name="alone",
                script=st.Script("train.py", source_dir="src"),
                framework=st.PyTorch("2.1", python="py310"),
                compute=st.Compute("ml.p4d.24xlarge"),
                distribution=st.TorchDistributed(),
                max_run_s=3600,
            ),
            "toml",
        )
    )
    assert "note[IMG008]" in run(alone, "-m", "sm_trn.cli", "check", "job.toml")
    assert '"TrainingJobName"' in run(alone, "-m", "sm_trn.cli", "render", "job.toml")
    assert "check" in run(alone, "-m", "sm_trn.cli", "--help")


def test_the_exceptions_are_needed() -> None:
    for name in NOT_FROM_A_COPY:
        assert (TESTS / name).is_file(), name
        assert not needs(TESTS / name), name
