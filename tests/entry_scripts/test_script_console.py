"""What a script says and how it ends."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sm_spot import DONE, INTERRUPTED, USAGE_ERROR, Interrupted, UsageError, exit_code_of, metric_line, say

NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
NUMBERS = st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6))


@given(st.dictionaries(NAMES, NUMBERS, min_size=1))
def test_a_metric_line_reads_back_as_what_was_written(values: dict[str, float]) -> None:
    read = ast.literal_eval(metric_line(values))
    assert read.keys() == values.keys()
    assert read == pytest.approx(values, abs=1e-9)
    assert {name: type(value) for name, value in values.items()} == {name: type(value) for name, value in read.items()}


@given(st.floats(0, 1e6))
def test_the_classic_regexes_read_the_whole_number(value: float) -> None:
    line = metric_line({"loss": 0.5, "learning_rate": value, "epoch": 1.0})
    found = re.search(r"'learning_rate': ([0-9.]*)", line)
    assert found is not None
    assert value == pytest.approx(float(found[1]), abs=1e-9)


def test_a_small_learning_rate_is_written_out() -> None:
    assert "{'learning_rate': 0.00005}" == metric_line({"learning_rate": 5e-5})


def test_only_the_main_worker_speaks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    say(metric_line({"loss": 1.0}))
    monkeypatch.setenv("RANK", "0")
    say(metric_line({"loss": 2.0}))
    assert "{'loss': 2.0}\n" == capsys.readouterr().out


def _raise(error: Exception) -> None:
    raise error


def test_each_end_has_its_own_exit_code() -> None:
    assert DONE == exit_code_of(lambda: None)
    assert USAGE_ERROR == exit_code_of(lambda: _raise(UsageError("x")))
    assert INTERRUPTED == exit_code_of(lambda: _raise(Interrupted("x")))
    assert 3 == len({DONE, USAGE_ERROR, INTERRUPTED})


def test_a_bug_is_not_hidden_as_a_mistake() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_code_of(lambda: _raise(ZeroDivisionError()))


def test_a_mistake_is_told_once_for_all_workers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    exit_code_of(lambda: _raise(UsageError("told elsewhere")))
    monkeypatch.setenv("RANK", "0")
    exit_code_of(lambda: _raise(UsageError("told here")))
    assert "error: told here\n" == capsys.readouterr().err


@pytest.mark.parametrize("ending", [None, Interrupted("after step 3")])
def test_a_run_that_ends_in_order_leaves_no_group_of_workers_open(ending: Exception | None, tmp_path: Path) -> None:
    """Its threads would outlive the interpreter, which now and then ends the process with SIGABRT."""
    dist = pytest.importorskip("torch.distributed")

    def run() -> None:
        dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
        if ending is not None:
            raise ending

    assert (INTERRUPTED if ending else DONE) == exit_code_of(run)
    assert not dist.is_initialized()


LEAVES = """
import atexit, logging, sys, threading
sys.path.insert(0, sys.argv[1])
from sm_spot import leave
atexit.register(lambda: print("at the end", end=""))
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s ")
logging.info("logged")
threading.Thread(target=threading.Event().wait).start()  # for ever, and no daemon: the interpreter would wait for it
print("said", end=" ")
leave(int(sys.argv[2]))
"""


def test_leaving_ends_all_threads_with_everything_said_and_the_code() -> None:
    code = INTERRUPTED
    folder = Path(__file__).resolve().parents[2] / "entry_scripts"
    run = subprocess.run(
        [sys.executable, "-c", LEAVES, str(folder), str(code)], capture_output=True, text=True, timeout=600, check=False
    )
    assert (code, "logged \nsaid at the end", "") == (run.returncode, run.stdout, run.stderr)
