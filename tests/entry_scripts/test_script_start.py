"""What a script loads before it trains: not what transformers would load only because it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from launch import SCRIPTS

EXTRAS = "boto3 datasets scipy sklearn"
LOADED = f"""
import importlib, sys
importlib.import_module(sys.argv[1])
print(*[name for name in "{EXTRAS}".split() if name in sys.modules])
print(importlib.import_module("transformers.utils").is_datasets_available())
print(*[importlib.import_module(name).__name__ for name in "{EXTRAS}".split()])
"""
LIBRARY = """
import sys
from kit.device import import_without_extras
for name in sys.argv[1:]:
    import_without_extras(name)
    print(sys.modules[name].found)
"""
NEEDS = "from scipy import __name__ as found\n"
TAKES = "try:\n    from scipy import __name__ as found\nexcept ImportError:\n    found = None\n"


def run(code: str, *arguments: str, path: Path = SCRIPTS) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{SCRIPTS}"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_what_trainer_would_load_only_because_it_is_installed_is_left_out_until_it_is_asked_for() -> None:
    assert run(LOADED, "train_glue") == ["", "False", EXTRAS]


def test_fine_tuning_has_the_data_sets_that_its_trainer_knows() -> None:
    assert run(LOADED, "finetune_llama") == ["datasets", "True", EXTRAS]


def test_a_library_gets_what_it_needs_and_goes_without_what_it_only_takes(tmp_path: Path) -> None:
    (tmp_path / "takes.py").write_text(TAKES, encoding="utf-8")
    (tmp_path / "needs.py").write_text(NEEDS, encoding="utf-8")
    assert run(LIBRARY, "takes", "needs", path=tmp_path) == ["None", "scipy"]


def test_what_cannot_be_imported_is_said_as_always(tmp_path: Path) -> None:
    (tmp_path / "needs.py").write_text("import not_there\n", encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run(LIBRARY, "needs", path=tmp_path)
    assert caught.value.stderr.strip().endswith("ModuleNotFoundError: No module named 'not_there'")


def test_beside_a_library_that_needs_some_of_them_nothing_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "takes.py").write_text(TAKES, encoding="utf-8")
    (tmp_path / "torch_xla.py").write_text("", encoding="utf-8")
    assert run(LIBRARY, "takes", path=tmp_path) == ["scipy"]
