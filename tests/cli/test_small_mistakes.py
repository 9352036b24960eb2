"""Mistakes that are answered with what to do next: what is no log, no launch code, no text, and ids and names that are nearly right."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import sm_trn

JOB = 'name = "a"\n[framework]\nkind = "huggingfac"\n[compute]\ninstance = "ml.g5.xlarge"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.toml").write_text(JOB)
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
