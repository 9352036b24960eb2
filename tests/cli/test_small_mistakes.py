"""Mistakes that are answered with what to do next: what is no log, no launch code, no text, and ids and names that are nearly right."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import sm_trn
from packaging.version import Version

import sm_trn as st
from sm_trn.emulator import Endpoint
from sm_trn.images.commands.catalog import find_image
from sm_trn.images.contents import Contents, all_contents

JOB = 'name = "a"\n[framework]\nkind = "huggingfac"\n[compute]\ninstance = "ml.g5.xlarge"\n'

GOOD = """
name = "bert"
script = {entry = "train_text_classification.py"}
framework = {kind = "huggingface", transformers = "4.56.2", pytorch = "2.8.0", python = "py312"}
compute = {instance = "ml.g5.xlarge"}
max_run_s = 3600
hyperparameters = {model = "bert-base-cased", train = "sample"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "words.toml").write_text('distribution = "torch_distribted"\n' + GOOD)
    (tmp_path / "cpu.toml").write_text(GOOD.replace("ml.g5.xlarge", "ml.c5.xlarge"))
    (tmp_path / "noise.log").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "noise.toml").write_bytes(b"\xff\x98" * 40)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("why", "noise.log"), "wanted a log, which is text"),
        (("why", ""), "sm-trn list shows the names"),
        (("import", "job.toml"), "a job file already"),
        (("check", "noise.toml"), "wanted a job file, which is UTF-8 text"),
        (("check", "job.toml"), 'did you mean "huggingface"?'),
        (("check", "--explain", "limit01"), "did you mean 'LIMIT001'?"),
        (("check", "--schema", "good.toml"), "--schema takes no FILE, got good.toml"),
        (("check", "--rules", "good.toml"), "--rules takes no FILE, got good.toml"),
        (("check", "--explain", "IMG001", "good.toml"), "--explain takes no FILE, got good.toml"),
        (("check", "s3://bucket/job.toml"), "got 's3://bucket/job.toml', wanted a file of this machine"),
        (("check", "https://example.com/job.toml"), "wanted a file of this machine"),
        (
            ("launch", "good.toml", "--dry-run", "--queue", ""),
            "'--queue': got '', wanted a name",
        ),
        (
            ("estimate", "good.toml", "--data", "good.toml"),
            "--data: got good.toml, a job file or code; wanted the training data",
        ),
        (("import", "."), "File '.' is a directory"),
        (("import",), "Missing argument 'FILE'"),
        (("catalog", "instances", "ml.zz*"), "instance: got ml.zz*, wanted a name or a pattern of one"),
        (("check", "words.toml"), 'wanted: a table such as {kind = "torch_distributed"}'),
        (
            ("estimate", "cpu.toml", "--plan", "--examples", "100"),
            'such as instance = "ml.g5.xlarge"; jobs on CPUs are not estimated',
        ),
        (("estimate", "good.toml", "--examples", "many"), "got 'many', wanted a number of at least 1"),
        (("rehearse", "good.toml", "--interruptions", "many"), "got 'many', wanted a whole number from 1 to 100"),
        (("list", "--limit", "0"), "got '0', wanted a whole number from 1 to 500"),
        (("launch", "good.toml", "--max-usd", "-1"), "got '-1', wanted a number of at least 0"),
        (("cost", "--all", "--by", "tag:"), "by: got 'tag:', wanted one of instance"),
        (("why", "good.toml"), "A job file is read by sm-trn check"),
    ],
)
def test_the_answer_says_what_to_do(folder: Path, command: tuple[str, ...], said: str) -> None:
    done = sm_trn(
        *command,
        cwd=folder,
        environment={"SM_TRN_BACKEND": "aws"},
    )
    assert done.returncode in {1, 2}, done.stdout
    assert said in done.stderr, done.stderr + done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["@first", "@last2"])
def test_a_word_that_means_no_job_is_refused_in_words(emulator: Endpoint, name: str) -> None:
    done = sm_trn("list", name, environment={"SM_TRN_STATE": str(emulator.state), "SM_TRN_BACKEND": "emulator"})
    assert 2 == done.returncode
    assert f"job: got '{name}', wanted the name or the ARN of a job, or @last" in done.stderr


def test_python_says_what_to_do_too(tmp_path: Path) -> None:
    job = st.load_jobs(GOOD, "toml")[0]
    with pytest.raises(FileNotFoundError, match="wanted the file of a saved log"):
        st.read_log(tmp_path / "nothing.log")
    with pytest.raises(TypeError, match="wanted a JobSpec"):
        st.dump_job({"name": "bert"}, "toml")  # type: ignore[arg-type]  # what is refused
    with pytest.raises(TypeError, match=r"plan: got 'deadline', wanted one of .*Limits"):
        st.plan(job, deadline="3h")  # type: ignore[call-arg]  # as above


def test_the_beginning_of_an_images_name_means_the_newest_of_them() -> None:
    """``pytorch-2.13.0-gpu`` before ``pytorch-compiler-pytorch-1.13.1-gpu``, though that stands behind it in an alphabet."""
    assert (
        max((each for each in all_contents() if each.name.startswith("pytorch-")), key=age).pytorch
        == find_image("pytorch").pytorch
    )
    assert "pytorch-compiler-pytorch-1.13.1-gpu" == find_image("pytorch-compiler").name


def age(held: Contents) -> Version:
    return Version(held.pytorch)
