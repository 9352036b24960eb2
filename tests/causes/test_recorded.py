"""What programs record of their own end comes first: a worker's error file, and dumps of PyTorch's flight recorder."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import sm_trn as st

STACK = """Traceback (most recent call last):
  File "/opt/conda/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 355, in wrapper
    return f(*args, **kwargs)
  File "/opt/ml/code/train.py", line 88, in main
    loader = DataLoader(data, shuffle=True)
ValueError: num_samples should be a positive integer value, but got num_samples=0
"""
ERROR_FILE = {
    "message": {"message": "ValueError: num_samples", "extraInfo": {"py_callstack": STACK, "timestamp": "1748864489"}}
}
CONFIG = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
OWN = {"name": "step", "filename": "/opt/ml/code/train.py", "line": 21}
LIBRARY = {
    "name": "all_reduce",
    "filename": "/opt/conda/lib/python3.12/site-packages/torch/distributed/a.py",
    "line": 3,
}


def called(
    number: int, name: str = "all_reduce", state: str = "completed", sizes: tuple[int, ...] = (8,)
) -> dict[str, Any]:
    return {
        "process_group": ("0", "default_pg"), "collective_seq_id": number, "is_p2p": False, "profiling_name": f"nccl:{name}",
        "input_sizes": [list(sizes)], "state": state, "frames": [LIBRARY, OWN],
    }  # fmt: skip


def dumped(folder: Path, **ranks: list[dict[str, Any]]) -> Path:
    for name, entries in ranks.items():
        dump = {"version": "2.10", "pg_config": CONFIG, "entries": entries}
        (folder / f"nccl_trace_{name}").write_bytes(pickle.dumps(dump))
    return folder


def test_an_error_file_tells_the_exception_and_the_users_own_line(tmp_path: Path) -> None:
    path = tmp_path / "error.json"
    path.write_text(json.dumps(ERROR_FILE))
    for found in (st.why(path), st.why(path.read_text())):
        assert found.cause is not None
        assert ("script.exception", "train.py:88") == (found.id, found.cause.place)
        assert "loader = DataLoader(data, shuffle=True)" == found.cause.code


@pytest.mark.parametrize("text", ['{"message": {}}', '{"message": 3, "py_callstack": 1}', '{"py_callstack"'])
def test_another_json_is_no_error_file(text: str) -> None:
    assert "unknown" == st.why(text).id


def test_a_rank_that_did_not_come_is_named(tmp_path: Path) -> None:
    waiting = [called(1), called(2, state="started")]
    found = st.why(dumped(tmp_path, rank_0=waiting, rank_1=[called(1)], rank_2=waiting))
    assert found.cause is not None
    assert ("dist.slow_rank", 1, "train.py:21") == (found.id, found.cause.rank, found.cause.place)


def test_a_rank_without_a_dump_did_not_come_either(tmp_path: Path) -> None:
    waiting = [called(1, state="started")]
    found = st.why(dumped(tmp_path, rank_0=waiting, rank_1=waiting))
    assert found.cause is not None
    assert ("dist.slow_rank", 2) == (found.id, found.cause.rank)


@pytest.mark.parametrize("other", [called(2, "broadcast", "started"), called(2, state="started", sizes=(9,))])
def test_ranks_that_called_different_collectives_disagree(tmp_path: Path, other: dict[str, Any]) -> None:
    waiting = [called(1), called(2, state="started")]
    found = st.why(dumped(tmp_path, rank_0=waiting, rank_1=[called(1), other], rank_2=waiting))
    assert ("dist.desync", "certain") == (found.id, found.confidence.value)


def test_a_collective_that_all_called_and_none_ended_is_the_networks(tmp_path: Path) -> None:
    waiting = [called(1), called(2, state="started")]
    assert "dist.nccl_timeout" == st.why(dumped(tmp_path, rank_0=waiting, rank_1=waiting, rank_2=waiting)).id


def test_what_all_ended_and_what_is_no_dump_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes_7").write_text("no pickle")
    assert "none" == st.why(tmp_path).id
    assert "none" == st.why(dumped(tmp_path, rank_0=[called(1)], rank_1=[called(1)], rank_2=[called(1)])).id


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("touched"),))


def test_a_dump_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nccl_trace_rank_0").write_bytes(pickle.dumps({"entries": [Evil()]}))
    assert "none" == st.why(tmp_path).id
    assert not (tmp_path / "touched").exists()
