"""A repository becomes one commit's files, and nothing of it is run."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jobs
import pytest

import sm_trn as st
from sm_trn.core.aws import checkout
from sm_trn.core.aws.storage import pack
from sm_trn.core.errors import UnknownName
from sm_trn.core.session.launches import Staging


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "scripts").mkdir(parents=True)
    git(folder, "init")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    for number in (1, 2):
        (folder / "scripts" / "train.py").write_text(f"print('version {number}')\n")
        git(folder, "add", ".")
        git(folder, "commit", "-m", str(number))
    return folder


def test_a_branch_is_pinned_to_its_commit(repository: Path) -> None:
    found = checkout(st.specs.Git(f"file://{repository}", branch="main"))
    assert git(repository, "rev-parse", "HEAD") == found.commit
    assert "version 2" in (found.folder / "scripts" / "train.py").read_text()
    assert "1" == git(found.folder, "rev-list", "--count", "HEAD")  # shallow


def test_a_commit_is_taken_at_its_word(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD~1")
    found = checkout(st.specs.Git(f"file://{repository}", commit=first))
    assert "version 1" in (found.folder / "scripts" / "train.py").read_text()


@pytest.mark.parametrize(
    ("repo", "branch"),
    [
        ("--upload-pack=touch x", "main"),
        ("ext::sh -c true", "main"),
        ("https://example.com/x", "--exec=x"),
        ("", "main"),
    ],
)
def test_an_option_is_not_a_repository(repo: str, branch: str) -> None:
    with pytest.raises(st.errors.NotConfigured, match="wanted an https, ssh, git@ or file repository"):
        checkout(st.specs.Git(repo, branch=branch))


def test_gits_own_words_are_passed_on(tmp_path: Path) -> None:
    with pytest.raises(st.errors.NotConfigured, match=r"git fetch: .*; check repo, branch and commit"):
        checkout(st.specs.Git(f"file://{tmp_path}/nothing", branch="main"))


@pytest.mark.local
def test_a_job_from_a_repository_is_tagged_with_its_commit(emulator: Any, repository: Path) -> None:
    session = st.connect("emulator", state=emulator.state)
    job = session.submit(
        st.JobSpec(
            name="from-git",
            script=st.Script("train.py", source_dir="scripts", git=st.specs.Git(f"file://{repository}", branch="main")),
            framework=st.PyTorch("2.8.0", python="py312"),
            compute=st.Compute("ml.c5.xlarge"),
        )
    )
    job.wait(progress=False)
    assert "version 2" in [event.text for event in job.logs()]
    tags = session.backend.fetch_tags(job.snapshot().arn)
    assert f"file://{repository}@{git(repository, 'rev-parse', 'HEAD')}"[:256] == tags["sm_trn:git"]


class Packed:
    """A storage that packs and uploads nothing: ``files`` are those of the archive."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def put_source(self, folder: str, dependencies: Sequence[str] = (), *, allow_secrets: bool = False) -> str:
        with tarfile.open(fileobj=io.BytesIO(pack(Path(folder), dependencies, allow_secrets=allow_secrets))) as tar:
            self.files = set(tar.getnames())
        return "s3://a-bucket/sourcedir.tar.gz"


def placed(repository: Path, *dependencies: str) -> set[str]:
    storage: Any = Packed()
    pinned = st.specs.Git(f"file://{repository}", branch="main")
    script = st.Script("train.py", source_dir="scripts", git=pinned, dependencies=dependencies)
    Staging(storage=storage).place(jobs.trainium("./src").replace(script=script, inputs={}))
    found: set[str] = storage.files
    return found


def test_dependencies_of_a_repository_are_packed_beside_its_script(repository: Path) -> None:
    (repository / "libs" / "shared").mkdir(parents=True)
    (repository / "libs" / "shared" / "one.py").write_text("")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "3")
    assert {"train.py", "shared/one.py", "one.py"} == placed(repository, "libs/shared", "libs/shared/")


@pytest.mark.parametrize("path", ["no/such", "../outside"])
def test_a_dependency_outside_the_repository_is_refused(path: str, repository: Path) -> None:
    with pytest.raises(UnknownName, match=r"script\.dependencies: got .* wanted a path of file://"):
        placed(repository, path)
