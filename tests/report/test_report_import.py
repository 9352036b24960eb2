"""What importing the report loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sm_trn import report

HEAVY = ("pandas", "matplotlib", "IPython", "boto3", "botocore", "numpy")


def _loaded(code: str) -> set[str]:
    script = f"import sys; {code}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    assert set() == _loaded("import sm_trn.report")


def test_text_and_watch_load_nothing_heavy() -> None:
    code = "from sm_trn.report import compare, published_record, display_for, watch_text\n"
    code += "str(compare([published_record('published/bert-p4d')]))"
    assert set() == _loaded(code)


def test_every_public_name_is_there() -> None:
    assert all(getattr(report, name) is not None for name in report.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'comparee'"):
        _ = report.comparee
