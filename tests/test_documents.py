"""Pages made from the code are what the code makes; snippets run; links lead somewhere."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jobs
import pytest
from documents import INTERNAL, PAGES, STUB, VARIABLES, stub

import sm_trn
from sm_trn.cli.__main__ import COMMANDS
from sm_trn.core.render import TARGETS

DOCS = Path(str(files("sm_trn"))) / "docs"
PACKAGE = Path(sm_trn.__file__).parent
README = PACKAGE.parent / "README.md"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_makes(name: str) -> None:
    assert PAGES[name]() == (DOCS / name).read_text("utf-8"), "python .github/documents.py"


def test_the_stub_shows_editors_what_the_package_has() -> None:
    assert stub() == STUB.read_text("utf-8"), "python .github/documents.py"


def test_the_reference_has_every_command() -> None:
    text = (DOCS / "cli.md").read_text("utf-8")
    assert [] == [name for name in COMMANDS if f"\n## sm-trn {name}\n" not in text]


def test_every_environment_variable_of_the_code_is_described_or_internal() -> None:
    found: set[str] = set()
    for folder in (PACKAGE, PACKAGE.parent / "entry_scripts"):
        for path in folder.rglob("*.py"):
            found |= set(re.findall(r"\bSM_TRN_[A-Z_][A-Z0-9_]*[A-Z0-9]", path.read_text("utf-8")))
    assert set() == found - set(VARIABLES) - INTERNAL


def test_the_page_says_of_every_target_what_it_is_for() -> None:
    own = {
        found[1]: " ".join(found[2].split()).replace("``", "`")
        for path in (PACKAGE / "core/render").rglob("*.py")
        if (found := re.match(r'"""Target ``([\w-]+)``: (.+?)(?:\n\n|""")', path.read_text("utf-8"), re.DOTALL))
    }
    assert set(TARGETS) == set(own)
    page = PAGES["targets.md"]()
    assert [] == [name for name, said in own.items() if f"| `{name}` | {said} |" not in page]


def snippets(page: str = "migrating.md") -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


@pytest.mark.local
def test_the_sweep_of_the_page_runs_and_finds_its_best(
    emulator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script, code = snippets("guides/sweeps.md")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/train.py").write_text(script)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SM_TRN_STATE", str(emulator.state))
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the page's own code
    assert names["best"].job in capsys.readouterr().out
    assert {"learning_rate": 3e-5, "seed": 2.0} == dict(names["best"].settings)
    assert "EMULATED: learning_rate 3e-5 is best: eval_accuracy 0.932 against" in " ".join(
        str(names["comparison"]).split()
    )
    assert (tmp_path / "report/report.html").is_file()


@pytest.mark.sdk
def test_the_snippets_of_the_migration_run_and_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    import boto3

    from sm_trn.core import sdk

    (tmp_path / "src").mkdir()
    (tmp_path / "src/train.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--epochs')\nparser.add_argument('--learning_rate')\n"
    )
    monkeypatch.chdir(tmp_path)  # the snippets name a folder
    boto = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name="us-west-2")
    session = sdk.sdk_session(boto_session=boto, bucket=jobs.BUCKET)
    names: dict[str, Any] = {"role": jobs.ROLE, "sagemaker_session": session}
    for code in snippets():
        with sdk.contained():
            exec(code, names)  # noqa: S102 - the page's own code
    said = capsys.readouterr()
    made, theirs = sdk.estimator(names["job"], role=jobs.ROLE, bucket=jobs.BUCKET, session=session), names["estimator"]
    assert theirs.training_image_uri() == made.training_image_uri()
    for attribute in ("instance_type", "instance_count", "volume_size", "max_run", "distribution", "entry_point"):
        assert getattr(theirs, attribute) == getattr(made, attribute)
    assert "ModelTrainer" in said.err + said.out
    assert "SDK v3 has no SageMaker data parallelism" in said.err + said.out


@pytest.mark.parametrize("path", [*sorted(DOCS.rglob("*.md")), README], ids=lambda path: path.name)
def test_every_page_that_is_linked_or_named_is_there(path: Path) -> None:
    if not path.exists():
        pytest.skip("the README is not beside the tests")
    text = path.read_text("utf-8")
    linked = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    named = re.findall(r"`sm_trn/docs/([\w.]+)`", text)
    assert [] == [name for name in linked if not (path.parent / name).exists()]
    assert [] == [name for name in named if not (DOCS / name).exists()]


def test_the_limits_and_the_readme_say_that_nothing_ran_on_aws() -> None:
    assert "No job of this package has run on AWS" in (DOCS / "limits.md").read_text("utf-8")
    if README.exists():
        assert "No job of this package has run on AWS" in " ".join(README.read_text("utf-8").split())
