"""What installing and importing in an image's twin says, from an index of tiny packages in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import sm_trn
from package_index import alone, sdist, wheel

import sm_trn as st
from sm_trn.core.errors import EmulatorError
from sm_trn.emulator.installing import Failure, install
from sm_trn.emulator.twin import find_python
from sm_trn.images.resolve import find_uv

UV = find_uv()
pytestmark = pytest.mark.skipif(
    UV is None or find_python(UV, "3.11") is None, reason="needs uv and the Python of an image, 3.11"
)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What makes uv and pip look into a folder of packages, and nowhere else."""
    folder = tmp_path_factory.mktemp("index") / "packages"
    folder.mkdir()
    wheel(folder, "torch", "2.5.1", "typing-extensions")
    wheel(folder, "torch", "2.6.0")
    wheel(folder, "accelerate", "1.9.0", "torch>=2.0")
    wheel(folder, "typing-extensions", "4.15.0")
    wheel(folder, "fits", "1.0", "torch>=2.0")
    wheel(folder, "misfit", "1.0", program="from torch import gone\n")
    raises = "try:\n    import torch.gone\nexcept ImportError as error:\n    raise RuntimeError('look up') from error\n"
    wheel(folder, "raises", "1.0", program=raises)
    compiled = "exec(compile('raise ValueError()', 'compiled/_array.pyx', 'exec'))\n"
    wheel(folder, "compiled", "1.0", program=compiled)
    wheel(folder, "undecided", "1.0", program="import typing_extensions\nfrom typing_extensions import gone\n")
    wheel(folder, "driver", "1.0", program="raise ImportError('libcuda.so.1: cannot open shared object file')\n")
    asked = "def get_requires_for_build_wheel(settings=None):\n    "
    sdist(folder, "built", "1.0", build=f"{asked}raise RuntimeError('no nvcc')\n")
    sdist(folder, "around-torch", "1.0", build=f"{asked}import torch\n")
    pip = {"PIP_INDEX_URL": folder.as_uri(), "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
    return {**alone(folder), **pip, "UV_OFFLINE": "1"}


@pytest.fixture
def index(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
        monkeypatch.delenv(name)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


def job(folder: Path, program: str, requirements: str) -> st.JobSpec:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(program)
    (folder / "requirements.txt").write_text(requirements)
    return st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.5.1", python="py311"),
        compute=st.Compute("ml.g5.xlarge"),
    )


def failure(folder: Path, state: Path, program: str, requirements: str) -> Failure | None:
    return install(job(folder, program, requirements), state, tell=lambda _: None)


@pytest.mark.usefixtures("index")
def test_what_runs_and_where_is_said_first_and_what_is_installed_goes(tmp_path: Path, state: Path) -> None:
    told: list[str] = []
    asked = job(tmp_path / "a", "import torch, fits\nraise SystemExit(3)\n", "fits\n")
    assert install(asked, state, tell=told.append) is None
    assert "runs here" in told[0]
    assert str(state) in told[0]
    assert not list((state / "twins").glob("install-*"))
    assert "raise" in (tmp_path / "a" / "train.py").read_text()


@pytest.mark.usefixtures("index")
def test_an_import_that_fails_is_told_with_its_line_and_pythons_words(tmp_path: Path, state: Path) -> None:
    found = failure(tmp_path / "a", state, "import os\n\nfrom misfit import (\n    anything,\n)\n", "misfit\n")
    assert found is not None
    assert "train.py:3" == found.place
    assert "cannot import name 'gone' from 'torch'" in found.words
    assert str(found).startswith("error: train.py:3: from misfit import anything: ImportError")


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("package", ["undecided", "driver"])
def test_nothing_is_known_where_a_device_or_a_published_version_is_missing(
    tmp_path: Path, state: Path, package: str
) -> None:
    told: list[str] = []
    assert install(job(tmp_path / "a", f"import {package}\n", f"{package}\n"), state, tell=told.append) is None
    assert told[-1].endswith("nothing is known of AWS")


@pytest.mark.usefixtures("index")
def test_what_pip_refuses_is_told_with_the_requirement(tmp_path: Path, state: Path) -> None:
    found = failure(tmp_path / "a", state, "import torch\n", "fits\nmisfit==9.9\n")
    assert found is not None
    assert "requirements.txt:2" == found.place
    assert "No matching distribution found for misfit==9.9" in found.words
    with pytest.raises(EmulatorError, match=r"cannot be built here: .*this machine may lack a tool"):
        failure(tmp_path / "a", state, "import torch\n", "fits\n\nbuilt\n")


@pytest.mark.usefixtures("index")
def test_a_program_of_the_job_that_does_more_than_import_is_not_judged(tmp_path: Path, state: Path) -> None:
    asked = job(tmp_path / "a", "import own\n", "fits\n")
    (tmp_path / "a" / "own.py").write_text("import torch\nopen('/opt/ml/input/data/train/a.csv')\n")
    assert install(asked, state, tell=lambda _: None) is None
    (tmp_path / "a" / "own.py").write_text("import torch\nfrom torch import gone\n")
    found = install(asked, state, tell=lambda _: None)
    assert found is not None
    assert "own.py:2" == found.place


def test_the_shell_installs_for_those_who_ask(settings: dict[str, str], state: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(st.dump_job(job(tmp_path / "source", "import misfit\n", "misfit\n"), "toml"))
    done = sm_trn("check", "job.toml", "--install", environment=settings | {"SM_TRN_STATE": str(state)}, cwd=tmp_path)
    assert 1 == done.returncode, done.stderr
    assert "a: error: train.py:1: import misfit: ImportError" in done.stderr
