"""The notebooks keep their rules, and run from top to bottom: as a reader would run them, in a fresh kernel.

Running them takes some seconds each, so it has a mark of its own: ``pytest -m notebooks``. The rules are always looked at.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sm_trn import connect
from sm_trn import emulator as embedded
from sm_trn.emulator import Options

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CELL_LIMIT_S = 240
FORBIDDEN = re.compile(
    r"emulat|pip install|aws_access|aws_secret|\b\d{12}\b|s3://[a-z0-9]|^\s*[!%]", re.IGNORECASE | re.MULTILINE
)
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the notebooks are not beside the tests")


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == kind]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_every_story_has_its_notebook() -> None:
    numbers = [path.name[:2] for path in NOTEBOOKS]
    assert {"01", "02", "03", "04", "05", "06", "07", "08", "09"} <= set(numbers)
    assert len(numbers) == len(set(numbers))


@each_notebook
def test_a_notebook_is_valid_and_its_ids_are_its_own(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))
    ids = [cell["id"] for cell in read(path)["cells"]]
    assert len(ids) == len(set(ids))


@each_notebook
def test_a_notebook_is_committed_without_outputs(path: Path) -> None:
    left = [cell["id"] for cell in cells(path, "code") if cell["outputs"] or cell["execution_count"] is not None]
    assert [] == left


@each_notebook
def test_a_notebook_defines_no_function_and_no_class_and_polls_nothing(path: Path) -> None:
    unwanted = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.While)
    found = [
        (cell["id"], type(node).__name__)
        for cell in cells(path, "code")
        for node in ast.walk(ast.parse(source(cell)))
        if isinstance(node, unwanted)
    ]
    assert [] == found


@each_notebook
def test_a_cell_is_read_at_a_glance(path: Path) -> None:
    long = {cell["id"]: len(cell["source"]) for cell in cells(path, "code") if len(cell["source"]) > 15}
    assert {} == long


@each_notebook
def test_one_cell_holds_the_parameters_and_comes_first(path: Path) -> None:
    tagged = [
        number for number, cell in enumerate(cells(path, "code")) if "parameters" in cell["metadata"].get("tags", ())
    ]
    assert [0] == tagged


@each_notebook
def test_no_cell_knows_which_cloud_it_talks_to(path: Path) -> None:
    found = {cell["id"]: match[0] for cell in cells(path, "code") if (match := FORBIDDEN.search(source(cell)))}
    assert {} == found


@each_notebook
def test_prose_stands_before_the_cells_that_do_and_assertions_end_them(path: Path) -> None:
    everything = read(path)["cells"]
    assert ["markdown", "code", "markdown"] == [cell["cell_type"] for cell in everything[:3]]
    assert source(everything[0]).startswith(f"# {path.name[:2]} · ")
    last = ast.parse(source(everything[-1])).body
    assert sum(isinstance(node, ast.Assert) for node in last) >= 3


@each_notebook
def test_ruff_has_no_complaint(path: Path) -> None:
    for command in (["check"], ["format", "--check", "--diff"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", str(path)],
            capture_output=True,
            text=True,
            check=False,
            cwd=FOLDER.parent,
        )
        assert 0 == done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An emulator for the notebooks alone: some of them look at every job there is."""
    folder = tmp_path_factory.mktemp("notebooks")
    try:
        embedded.up(folder, options=Options(start_delay_s=0.05, stop_grace_s=20.0))
        yield folder
    finally:
        embedded.down(folder)


@pytest.mark.local
@pytest.mark.notebooks
@pytest.mark.timeout(600)
@each_notebook
def test_a_notebook_runs_from_top_to_bottom(path: Path, state: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=CELL_LIMIT_S, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )
    try:
        client.execute(env=environment(state))
    except nbclient.exceptions.CellExecutionError as error:
        pytest.fail(f"{error}\n{ends_of_failed_jobs(state)}")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            words = [output for output in cell.outputs if output.output_type == "stream" and output.name == "stderr"]
            assert [] == words, cell["id"]
            pictures = [output for output in cell.outputs if "image/png" in output.get("data", {})]
            assert cell.source.count(".plot_") == len(pictures), cell["id"]


def ends_of_failed_jobs(state: Path) -> str:
    """What the jobs that failed said last: a notebook's assertion does not tell."""
    jobs = connect("emulator", state=state).jobs(limit=4)
    failed = [job for job in jobs if job.snapshot().failure_reason]
    return "\n".join(
        f"{job.name}: {job.snapshot().failure_reason}\n" + "\n".join([event.text for event in job.logs()][-60:])
        for job in failed
    )


def environment(state: Path) -> dict[str, str]:
    """This one, without credentials and without a way to the outside."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SM_TRN_", "MPLBACKEND"))}
    here = {"SM_TRN_BACKEND": "emulator", "SM_TRN_STATE": str(state), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return {
        **kept,
        **here,
        "PYTHONPATH": os.pathsep.join([str(FOLDER.parent), *filter(None, [kept.get("PYTHONPATH")])]),
    }
