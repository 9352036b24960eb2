"""Rehearsals in twins of images: the Python and the versions that AWS publishes, from an index of tiny packages in a folder."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command import sm_trn
from emulator.bench import Bench, running
from package_index import alone, dated, wheel

import sm_trn as st
from sm_trn.core.errors import EmulatorError
from sm_trn.emulator.container.twins import FOLDER, NOTE, Twin, twin_at, variables
from sm_trn.emulator.options import TWIN_TAG
from sm_trn.emulator.twin import find_python, in_twin
from sm_trn.images.resolve import find_uv

pytest.importorskip("moto")
UV = find_uv()
pytestmark = pytest.mark.skipif(
    UV is None or find_python(UV, "3.11") is None, reason="needs uv and the Python of an image, 3.11"
)
SAYS = (
    "import accelerate, sys, torch; print('found', sys.version_info[:2], torch.__version__, accelerate.__version__)\n"
)


def asked(folder: Path, requirements: str | None = None, framework: st.PyTorch | None = None) -> st.JobSpec:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(SAYS)
    if requirements is not None:
        (folder / "requirements.txt").write_text(requirements)
    return st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=framework or st.PyTorch("2.5.1", python="py311"),
        compute=st.Compute("ml.g5.xlarge"),
        max_run_s=600,
    )


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What makes uv and pip look into a folder of packages, and nowhere else."""
    folder = tmp_path_factory.mktemp("index") / "packages"
    folder.mkdir()
    wheel(folder, "torch", "2.5.1")
    wheel(folder, "accelerate", "1.9.0", "torch>=2.0", "absent-helper")
    wheel(folder, "accelerate", "1.12.0", "torch>=2.0")
    wheel(folder, "absent-helper", "1.0")
    wheel(folder, "torchaudio", "2.5.1", python="cp39")
    pip = {"PIP_INDEX_URL": folder.as_uri(), "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
    return {**alone(folder), **pip, "UV_OFFLINE": "1"}


@pytest.fixture(scope="module")
def here(settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator under these settings."""
    with pytest.MonkeyPatch.context() as changed:
        for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
            changed.delenv(name)
        for name, value in settings.items():
            changed.setenv(name, value)
        with running(tmp_path_factory.mktemp("state"), max_jobs=2) as bench:
            yield bench


def ran(here: Bench, job: st.JobSpec, files: dict[str, str]) -> tuple[str, list[str], str]:
    """The status of a rehearsal in the twin of ``job``, its log, and why it failed."""
    tags = [{"Key": TWIN_TAG, "Value": in_twin(job, here.endpoint.state).tags[TWIN_TAG]}]
    name = here.submit(SAYS, files=files, Tags=tags)
    answer = here.finished(name)
    return answer["TrainingJobStatus"], here.lines(name), answer.get("FailureReason", "")


def test_a_job_finds_the_images_python_and_versions(here: Bench, tmp_path: Path) -> None:
    status, lines, _ = ran(here, asked(tmp_path / "a"), {})
    assert "Completed" == status, lines
    assert any("twin of pytorch-2.5.1-gpu: Python 3.11" in line and "torch 2.5.1" in line for line in lines[:3])
    assert any("missing in the twin" in line and "torchaudio" in line for line in lines[:4])
    assert any("found (3, 11) 2.5.1 1.9.0" in line for line in lines)


def test_requirements_are_installed_for_the_job_and_leave_the_twin_as_it_is(here: Bench, tmp_path: Path) -> None:
    job = asked(tmp_path / "a")
    status, lines, _ = ran(here, job, {"requirements.txt": "accelerate==1.12.0\n"})
    assert "Completed" == status, lines
    assert any("found (3, 11) 2.5.1 1.12.0" in line for line in lines)
    twin = twin_at(here.endpoint.state, in_twin(job, here.endpoint.state).tags[TWIN_TAG])
    assert twin is not None
    assert "1.9.0" == twin.versions["accelerate"]
    _, lines, _ = ran(here, job, {})
    assert any("found (3, 11) 2.5.1 1.9.0" in line for line in lines)


def test_a_tag_without_a_twin_is_refused(here: Bench) -> None:
    for key in ("0123456789abcdef", "../../secret"):
        name = here.submit(SAYS, Tags=[{"Key": TWIN_TAG, "Value": key}])
        assert "no twin of this state folder" in here.finished(name)["FailureReason"]


def test_a_key_names_nothing_outside_of_the_twins(tmp_path: Path) -> None:
    note: Any = {"image": "i", "python": "3.11", "interpreter": "/bin/sh", "versions": {}, "lacking": {}}
    for folder in (tmp_path / "state" / FOLDER / "0123456789abcdef", tmp_path / "outside"):
        folder.mkdir(parents=True)
        (folder / NOTE).write_text(json.dumps(note))
    assert twin_at(tmp_path / "state", "0123456789abcdef") == Twin(**note)
    assert twin_at(tmp_path / "state", "../../outside") is None


def test_a_job_sees_where_pip_looks_and_no_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://somebody:secret@packages.example/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    found = variables(SimpleNamespace(seen_own="/opt/sm_trn"), tmp_path, {"PATH": "/opt/sm_trn/bin:/bin"})  # type: ignore[arg-type]
    assert "/wheels" == found["PIP_FIND_LINKS"]
    assert "secret" not in str(found)


def test_what_packages_bring_is_as_old_as_the_image(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("UV_OFFLINE")
    folder = tmp_path / "packages"
    folder.mkdir()
    wheel(folder, "torch", "2.5.1", "brought")
    wheel(folder, "accelerate", "1.9.0")
    for version in ("1.0", "2.0"):
        wheel(folder, "brought", version)
    with dated(folder, {"brought-2.0-py3-none-any.whl": "2126-01-01"}) as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", index)
        key = in_twin(asked(tmp_path / "a"), tmp_path).tags[TWIN_TAG]
    found = subprocess.run(
        [tmp_path / FOLDER / key / "bin" / "python", "-c", "import brought; print(brought.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1.0" == found.stdout.strip()


def test_the_shell_makes_the_twin_and_follows_the_rehearsal(
    here: Bench, settings: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "job.toml").write_text(st.dump_job(asked(tmp_path / "source", "torch==9.9\n"), "toml"))
    words = ("launch", "job.toml", "--environment", "twin", "--ignore", "ENV003")
    state = ("--backend", "emulator", "--state", str(here.endpoint.state))
    done = sm_trn(*words, *state, "--wait", environment=settings, cwd=tmp_path)
    assert 1 == done.returncode, done.stderr
    assert "failed: AlgorithmError: Inst" in done.stdout
    aws = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    cloud = (
        "--backend",
        "aws",
        "--region",
        "us-west-2",
        "--bucket",
        "abc",
        "--role",
        "arn:aws:iam::111122223333:role/r",
    )
    refused = sm_trn(*words, *cloud, environment=aws, cwd=tmp_path)
    assert 2 == refused.returncode, refused.stderr
    assert "add --backend emulator" in refused.stderr


def test_what_no_twin_can_be_made_of_says_why(tmp_path: Path) -> None:
    job = asked(tmp_path / "a")
    with pytest.raises(EmulatorError, match="contents are not published"):
        in_twin(job.replace(image_uri="1.dkr.ecr.us-west-2.amazonaws.com/own:1"), tmp_path)
    with pytest.raises(EmulatorError, match=r"a twin needs 3\.8"):
        in_twin(asked(tmp_path / "a", framework=st.PyTorch("1.7.1", python="py36")), tmp_path)
