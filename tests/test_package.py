"""The package as a whole: light to import, complete in its names, its registries equal to its folders."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
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


def test_the_first_level_can_be_held_in_the_head() -> None:
    assert len(sm_trn.__all__) <= 60


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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, as an index gets them."""
    root = Path(sm_trn.__file__).parent.parent
    if not (root / "pyproject.toml").exists():
        pytest.skip("the sources are not beside the package")
    for needed in ("build", "hatchling", "hatch_fancy_pypi_readme"):
        pytest.importorskip(needed)
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(root)],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert 0 == done.returncode, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(built.glob("*.whl")))


@pytest.fixture(scope="module")
def described(wheel: zipfile.ZipFile) -> Message:
    """What the wheel says of itself."""
    return message_from_bytes(wheel.read(f"sm_trn-{sm_trn.__version__}.dist-info/METADATA"))


def test_the_source_archive_says_the_same_as_the_wheel(built: Path, described: Message) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        member = archive.extractfile(f"sm_trn-{sm_trn.__version__}/PKG-INFO")
        assert member is not None
        assert described.as_string() == message_from_bytes(member.read()).as_string()
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "sm_trn/__init__.py", "tests/test_package.py"} <= names


def test_the_licence_is_an_expression_with_its_file_and_without_a_classifier(
    wheel: zipfile.ZipFile, described: Message
) -> None:
    """PEP 639: an index refuses a licence classifier beside an expression. Its fields came with version 2.4 of the metadata."""
    assert ("2.4", "MIT", ["LICENSE"]) == (
        described["Metadata-Version"], described["License-Expression"], described.get_all("License-File")
    )  # fmt: skip
    assert [] == [line for line in described.get_all("Classifier", []) if line.startswith("License ::")]
    assert f"sm_trn-{sm_trn.__version__}.dist-info/licenses/LICENSE" in wheel.namelist()


def test_classifiers_are_those_that_indexes_know(described: Message) -> None:
    known = pytest.importorskip("trove_classifiers").classifiers
    classifiers = described.get_all("Classifier", [])
    assert [] == [line for line in classifiers if line not in known]
    assert f"Programming Language :: Python :: {described['Requires-Python'].removeprefix('>=')}" in classifiers


def test_the_description_leads_nowhere_inside_the_repository(described: Message) -> None:
    text = str(described.get_payload())
    assert "text/markdown" == described["Description-Content-Type"]
    assert text.startswith("# sm_trn\n")
    assert [] == re.findall(r"\]\((?!https?:)[^)]*\)|<(?:img|source|!--)[^>]*>", text)


def test_the_wheel_holds_the_package_and_no_tool_of_its_makers(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    folders = {name.partition("/")[0] for name in names}
    assert {"sm_trn", f"sm_trn-{sm_trn.__version__}.dist-info"} == folders
    assert {"sm_trn/py.typed", "sm_trn/_entry_scripts/train_text_classification.py"} <= set(names)
    assert [] == [
        name for name in names if re.search(r"forecast/(fit|evaluate|published)|documents\.py|__pycache__", name)
    ]


def test_the_base_installs_boto3_and_small_libraries(described: Message) -> None:
    base = [line for line in described.get_all("Requires-Dist", []) if "extra ==" not in line]
    small = {
        "cattrs",
        "click",
        "orjson",
        "packaging",
        "pathspec",
        "pyyaml",
        "regex",
        "tomli",
        "tomli-w",
        "typing-extensions",
    }
    assert {"boto3", "botocore"} | small == {re.split(r"[^\w-]", line)[0] for line in base}
