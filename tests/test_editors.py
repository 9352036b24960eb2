"""What editors and type checkers see of the package: every public name, with its own type, and no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jedi  # type: ignore[import-untyped]
import pytest

import sm_trn as st

CONSTANTS = {"__version__", "EVALUATION_METRICS", "TRAINER_METRICS", "errors", "results", "specs"}


@pytest.fixture(scope="module")
def offered() -> set[str]:
    source = "import sm_trn as st\nst."
    return {each.name for each in jedi.Script(source).complete(2, 3)}


def test_an_editor_offers_every_public_name(offered: set[str]) -> None:
    assert set() == set(st.__all__) - offered - {"__version__"}


@pytest.mark.parametrize("name", sorted(set(st.__all__) - CONSTANTS))
def test_an_editor_knows_what_a_name_is(name: str) -> None:
    source = f"import sm_trn as st\nst.{name}"
    found = jedi.Script(source).infer(2, len(f"st.{name}"))
    kind = "class" if isinstance(getattr(st, name), type) else "function"
    wanted = ("Callable", "instance") if name == "recording" else (name, kind)  # what jedi makes of a contextmanager
    assert [wanted] == [(each.name, each.type) for each in found]


@pytest.mark.skipif(os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all asks a type checker too")
def test_a_type_checker_knows_every_public_name_and_no_other(tmp_path: Path) -> None:
    lines = ["import sm_trn as st", "from typing_extensions import reveal_type"]
    lines += [f"reveal_type(st.{name})" for name in st.__all__]
    (tmp_path / "user.py").write_text("\n".join([*lines, "st.nope", "from sm_trn import never", ""]))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), "user.py"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    said = done.stdout.splitlines()
    revealed = [line for line in said if "Revealed type is" in line]
    assert len(st.__all__) == len(revealed), done.stdout
    assert [] == [line for line in revealed if '"Any"' in line]
    assert any('Module has no attribute "nope"' in line for line in said)
    assert any('Module "sm_trn" has no attribute "never"' in line for line in said)
