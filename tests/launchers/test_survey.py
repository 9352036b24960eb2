"""A page about a repository: what translates, what does not and why; nothing of the repository becomes markup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sm_trn.bridge.commands.import_code import command

LAUNCH = "from sagemaker.pytorch import PyTorch\nPyTorch('t.py', role='arn:aws:iam::111122223333:role/r', framework_version='2.1', py_version='py310', {more}instance_count=1).fit()\n"  # noqa: E501 - a launcher on one line


def test_a_repository_is_surveyed(tmp_path: Path) -> None:
    (tmp_path / "repo" / "<b>evil").mkdir(parents=True)
    (tmp_path / "repo" / "good.py").write_text(LAUNCH.format(more="instance_type='ml.g5.xlarge', "))
    (tmp_path / "repo" / "<b>evil" / "bad.py").write_text(LAUNCH.format(more="instance_type=ask('<script>'), "))
    (tmp_path / "repo" / "broken.ipynb").write_text("sagemaker {")
    (tmp_path / "repo" / "other.py").write_text("print('nothing of it')")
    page = tmp_path / "page.html"
    done = CliRunner().invoke(command, [str(tmp_path / "repo"), "--survey", str(page), "--json"], standalone_mode=False)
    assert done.exception is None
    numbers = json.loads(done.stdout)
    assert (2, 2, 1, 1) == (numbers["files"], numbers["launches"], numbers["complete"], numbers["with_one_cause"])
    assert ["broken.ipynb"] == [item["file"] for item in numbers["failed"]]
    text = page.read_text()
    assert "&lt;b&gt;evil" in text
    assert "<script>" not in text
    assert '<div class="smtrn">' in text
    assert "5 minutes for each launch" in text
    assert numbers["counted_so"] in text.replace("\xa0", " ")


def test_a_value_that_two_launches_wait_for_is_counted_once(tmp_path: Path) -> None:
    """Two launches and one open value: 2 × 5 minutes and 15."""
    launch = LAUNCH.format(more="instance_type=kind, ").splitlines()[1]
    (tmp_path / "launch.py").write_text(f"from sagemaker.pytorch import PyTorch\nkind = ask()\n{launch}\n{launch}\n")
    page = tmp_path / "page.html"
    done = CliRunner().invoke(command, [str(tmp_path), "--survey", str(page), "--json"], standalone_mode=False)
    assert (2, 0.4) == (json.loads(done.stdout)["launches"], json.loads(done.stdout)["estimated_hours"])


def test_a_launcher_becomes_a_job_file(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(LAUNCH.format(more="instance_type='ml.g5.xlarge', "))
    done = CliRunner().invoke(
        command,
        [str(tmp_path / "launch.py"), "--to", "job.toml", "--output", str(tmp_path / "jobs")],
        standalone_mode=False,
    )
    assert done.exception is None
    (written,) = (tmp_path / "jobs").glob("*.toml")
    assert 'instance = "ml.g5.xlarge"' in written.read_text()


def test_sentences_count_one_and_many(tmp_path: Path) -> None:
    one = LAUNCH.format(more="instance_type='ml.g5.xlarge', ")
    path = tmp_path / "launch.py"
    for text, told in (
        (one, "1 launch, 1 job. Read"), (one, "1 of 1 launch is complete."), (one + one, "2 launches, 2 jobs. Read"),
        (one + one, "2 of 2 launches are complete."), (LAUNCH.format(more="instance_type=ask(), "), "1 launch, 0 jobs. Read"),
    ):  # fmt: skip
        path.write_text(text)
        assert told in CliRunner().invoke(command, [str(path)], standalone_mode=False).stdout


def test_the_sdks_file_of_defaults_is_applied_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, own = tmp_path / "launch.py", tmp_path / "config.yaml"
    path.write_text(LAUNCH.format(more="instance_type='ml.g5.xlarge', "))
    own.write_text("SchemaVersion: '1.0'\nSageMaker: {TrainingJob: {EnableNetworkIsolation: true}}\n")
    monkeypatch.setenv("SAGEMAKER_USER_CONFIG_OVERRIDE", str(own))
    said = CliRunner().invoke(command, [str(path), "--json"], standalone_mode=False).stdout
    assert '"EnableNetworkIsolation": true' in said
