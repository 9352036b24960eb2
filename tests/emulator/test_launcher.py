"""Jobs where the training toolkit cannot be installed: the same script, variables, arguments and failures."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from emulator.bench import Bench, running

from sm_trn.emulator.container.inside import launch

pytest.importorskip("moto")

TELL = """
    import json, os, sys
    told = {name: value for name, value in os.environ.items() if name.startswith("SM_") and not name.startswith("SM_TRN")}
    print("told " + json.dumps({"argv": sys.argv[1:], "cwd": os.path.basename(os.getcwd()), "variables": told}, sort_keys=True))
"""
HYPERPARAMETERS = {"epochs": 3, "a": "x y", "flag": True, "nested": {"b": 1, "a": 2}, "list": [1, 2], "nothing": None}


def without_toolkit(folder: Path) -> str:
    """An interpreter that finds what ours finds, save the toolkit."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("sagemaker_training", "__pycache__")) and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    python = without_toolkit(tmp_path_factory.mktemp("plain"))
    with running(tmp_path_factory.mktemp("state"), stop_grace_s=5.0, max_jobs=2, job_python=python) as bench:
        yield bench


def told(bench: Bench) -> dict[str, Any]:
    name = bench.submit(TELL, HYPERPARAMETERS)
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)
    line = next(line for line in bench.lines(name) if line.startswith("told "))
    found: dict[str, Any] = json.loads(line.removeprefix("told ").replace(name, "NAME"))
    return found


def test_a_script_is_told_what_the_toolkit_tells_it(plain: Bench, bench: Bench) -> None:
    pytest.importorskip("sagemaker_training")
    ours, theirs = told(plain), told(bench)
    assert theirs["argv"] == ours["argv"]
    assert theirs["cwd"] == ours["cwd"]
    assert set() == set(ours["variables"]) - set(theirs["variables"])
    differs = {
        name
        for name, value in ours["variables"].items()
        if value.replace(plain.endpoint.bucket, "BUCKET")
        != theirs["variables"][name].replace(bench.endpoint.bucket, "BUCKET")
    }
    assert set() == differs, {name: (ours["variables"][name], theirs["variables"][name]) for name in differs}


def test_a_script_that_fails_says_why(plain: Bench) -> None:
    reason = plain.finished(plain.submit("raise ValueError('boom')"))["FailureReason"]
    assert reason.startswith('AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage "Traceback')
    assert "ValueError: boom" in reason
    assert reason.endswith(", exit code: 1")


def test_a_stop_is_told_to_the_script_which_may_still_save(plain: Bench) -> None:
    name = plain.submit(
        """
        import os, signal, sys, time
        def save(*_):
            open(os.environ["SM_MODEL_DIR"] + "/saved", "w").write("1")
            sys.exit(0)
        signal.signal(signal.SIGTERM, save)
        print("ready")
        time.sleep(300)
        """
    )
    plain.said(name, "ready")
    plain.sagemaker.stop_training_job(TrainingJobName=name)
    assert "Stopped" == plain.finished(name)["TrainingJobStatus"]
    assert {"saved": b"1"} == plain.model(name)


@pytest.mark.parametrize("script", ["", "-c", "../x.py", "a/../../x.py"])
def test_what_is_no_script_is_refused(script: str) -> None:
    with pytest.raises(ValueError, match="wanted the name of a script"):
        launch.command(launch.Told(Path(), {"sagemaker_program": script}, {}, {}))


def test_the_toolkit_loads_nothing_that_only_mpi_needs(bench: Bench) -> None:
    pytest.importorskip("sagemaker_training")
    if not Path("/proc/self/maps").exists():
        pytest.skip("what a process has loaded is told in /proc")
    script = "import os; print('has ' + open(f'/proc/{os.getppid()}/maps').read().replace(chr(10), ' '))"
    name = bench.submit(script)
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)
    loaded = "".join(line for line in bench.lines(name) if line.startswith("has "))
    assert "python" in loaded
    assert not [part for part in ("_psutil", "cryptography") if part in loaded]
