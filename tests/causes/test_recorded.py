"""A worker's error file, as torch.distributed.elastic writes it, tells its exception."""

from __future__ import annotations

import json
from pathlib import Path

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
