"""The package as a whole: light to import, complete in its names, its registries equal to its folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sm_trn
from sm_trn.core import _entry
from sm_trn.core.strategies import STRATEGIES

HEAVY = ("boto3", "botocore", "sagemaker", "pandas", "matplotlib", "torch", "transformers", "moto", "numpy", "click")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, sm_trn; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "" == out.stdout.strip()


def test_every_public_name_resolves_and_nothing_else_is_public() -> None:
    for name in sm_trn.__all__:
        assert getattr(sm_trn, name) is not None
    assert sorted(sm_trn.__all__) == dir(sm_trn)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'JobSpecs'"):
        _ = sm_trn.JobSpecs  # type: ignore[attr-defined]  # that is the test


def test_render_stays_the_function_after_its_module_is_loaded() -> None:
    import sm_trn.core.render.request

    assert callable(sm_trn.render)


def test_registered_strategies_are_the_files_of_the_folder() -> None:
    folder = Path(sm_trn.__file__).parent / "core/strategies"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "rules"}  # the table that strategies share
    assert files == {strategy.__module__.rpartition(".")[2] for strategy in STRATEGIES.values()}


def test_shipped_scripts_are_found() -> None:
    assert "train_text_classification.py" in _entry.shipped_scripts()
