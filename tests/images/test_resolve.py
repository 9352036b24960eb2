"""What ``sm-trn check --resolve`` prints. The resolver is uv, with an index of tiny packages in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from command import sm_trn
from package_index import alone, sdist, wheel

import sm_trn as st
from sm_trn.images.resolve import find_uv

pytestmark = pytest.mark.skipif(find_uv() is None, reason="needs uv: pip install uv")


class Answer(NamedTuple):
    code: int
    pins: list[str]
    says: str


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    wheel(folder, "torch", "2.5.1")
    wheel(folder, "torch", "2.6.0")
    wheel(folder, "accelerate", "1.9.0", "torch>=2.0")
    wheel(folder, "accelerate", "1.12.0", "torch>=2.0")
    return folder


def resolve(
    packages: Path,
    requirements: str,
    program: str = "import torch\n",
    framework: st.PyTorch | st.NeuronX | None = None,
    instance: str = "ml.g5.xlarge",
    **environment: str,
) -> Answer:
    source = packages.parent / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(program)
    (source / "requirements.txt").write_text(requirements)
    job = st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(source)),
        framework=framework or st.PyTorch("2.5.1", python="py311"),
        compute=st.Compute(instance),
    )
    (packages.parent / "job.toml").write_text(st.dump_job(job, "toml"))
    ran = sm_trn("check", "job.toml", "--resolve", environment=alone(packages) | environment, cwd=packages.parent)
    return Answer(ran.returncode, ran.stdout.split(), ran.stderr)


def test_pins_leave_the_images_torch_alone(packages: Path) -> None:
    assert Answer(0, ["accelerate==1.9.0", "torch==2.5.1"], "") == resolve(packages, "accelerate\n")
    newer = resolve(packages, "accelerate>=1.10\n")
    assert "pip replaces accelerate 1.9.0 of pytorch-2.5.1-gpu by 1.12.0" in newer.says


def test_a_conflict_is_told_in_the_resolvers_words(packages: Path) -> None:
    wheel(packages, "impossible", "1.0", "torch>=9")
    answer = resolve(packages, "impossible\n")
    assert (1, []) == answer[:2]
    assert "cannot be installed into pytorch-2.5.1-gpu" in answer.says
    assert "impossible" in answer.says
    assert "torch>=9" in answer.says


def test_torch_is_replaced_where_it_cannot_stay(packages: Path) -> None:
    wheel(packages, "newest", "1.0", "torch>=2.6")
    answer = resolve(packages, "newest\n")
    assert (0, ["newest==1.0", "torch==2.6.0"]) == answer[:2]
    assert "pip replaces torch 2.5.1 of pytorch-2.5.1-gpu by 2.6.0" in answer.says
    assert "cannot stay" in answer.says


def test_a_package_without_any_wheel_is_left_out_and_one_for_another_python_is_a_conflict(packages: Path) -> None:
    sdist(packages, "built", "1.0")
    wheel(packages, "old", "1.0", python="cp39")
    answer = resolve(packages, "built\naccelerate\ngit+https://example.com/a/b\n")
    assert (0, ["accelerate==1.9.0", "torch==2.5.1"]) == answer[:2]
    assert "only a build tells: built\n" in answer.says
    assert "only a build tells: git+https://example.com/a/b\n" in answer.says
    wheel(packages, "around", "1.0", "built[more]==1.0")
    assert "only a build tells: built\n" in resolve(packages, "around\n").says
    assert 1 == resolve(packages, "old\n").code


def test_a_file_or_a_folder_beside_the_script_is_left_out(packages: Path) -> None:
    lines = ["-e ./mine[extra]", "--editable mine", "mine-1.0-py3-none-any.whl", "./mine"]
    answer = resolve(packages, "\n".join([*lines, "accelerate\n"]))
    assert 0 == answer.code
    assert lines == [line.partition("tells: ")[2] for line in answer.says.splitlines()]


def test_metadata_of_the_images_packages_are_held_against_the_pins(packages: Path) -> None:
    wheel(packages, "hub", "0.9")
    wheel(packages, "hub", "1.0")
    wheel(packages, "accelerate", "1.9.0", "torch>=2.0", "hub<1")
    answer = resolve(packages, "hub==1.0\n")
    assert (0, ["hub==1.0"]) == answer[:2]  # what is not allowed may work
    assert "accelerate==1.9.0 of pytorch-2.5.1-gpu does not allow what pip installs" in answer.says
    assert "hub<1" in answer.says
    assert not resolve(packages, "hub==0.9\n").says
    assert "does not allow" not in resolve(packages, "hub==1.0\naccelerate>=1.10\n").says  # pip replaces it


def test_of_a_version_that_the_image_may_have_otherwise_nothing_is_told(packages: Path) -> None:
    wheel(packages, "hub", "1.0")
    wheel(packages, "client", "1.0", "hub")
    wheel(packages, "accelerate", "1.9.0", "torch>=2.0", "hub<1")
    answer = resolve(packages, "client\n")
    assert "hub==1.0" in answer.pins
    assert not answer.says  # the image may have a hub that accelerate allows


def test_a_library_that_goes_with_another_torch_by_its_extra_is_told(packages: Path) -> None:
    wheel(packages, "transformers", "5.0.0", "torch>=2.6; extra == 'torch'")
    program = "from transformers import Model\n"
    answer = resolve(packages, "transformers>=5\n", program)
    assert "transformers 5.0.0 goes with another torch than 2.5.1, as its extra says" in answer.says
    newer = st.PyTorch("2.6.0", python="py312")
    assert "goes with" not in resolve(packages, "transformers>=5\n", program, newer).says
    assert "goes with" not in resolve(packages, "transformers>=5\n").says  # nothing imports it


def test_numpy_1_stays_beside_a_pytorch_that_is_built_for_it(packages: Path) -> None:
    wheel(packages, "numpy", "1.26.4")
    wheel(packages, "numpy", "2.1.0")
    wheel(packages, "torch", "2.1.0")
    wheel(packages, "torch", "2.1.2")
    for requirements in ("numpy\n", "numpy\ntorch==2.1.2\n"):
        older = st.PyTorch("2.1.0", python="py310")
        assert "numpy==1.26.4" in resolve(packages, requirements, framework=older).pins


def test_packages_of_the_neuron_sdk_are_not_asked_of_another_index(packages: Path) -> None:
    wheel(packages, "peft", "0.14.0")
    neuron = st.NeuronX("2.7.0")
    answer = resolve(packages, "neuronx-cc==2.13.66.0\npeft\n", framework=neuron, instance="ml.trn1.2xlarge")
    assert 0 == answer.code
    assert "only a build tells: neuronx-cc==2.13.66.0" in answer.says
    assert 1 == resolve(packages, "neuronx-cc==2.13.66.0\n").code  # an image that has none


def test_an_index_that_cannot_be_reached_is_no_conflict(packages: Path) -> None:
    unreachable = "--extra-index-url http://127.0.0.1:9/simple\naccelerate\n"
    answer = resolve(packages, unreachable, UV_HTTP_RETRIES="0")
    assert 1 == answer.code
    assert "could not look" in answer.says


def test_without_uv_its_line_for_pip_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sm_trn.images.resolve import resolve as solve

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    job = st.JobSpec(
        name="a",
        script=st.Script("train_glue.py"),
        framework=st.PyTorch("2.5.1", python="py311"),
        compute=st.Compute("ml.g5.xlarge"),
    )
    with pytest.raises(st.SmTrnError, match="pip install uv"):
        solve(job)
    with pytest.raises(st.SmTrnError, match="not published"):
        solve(job.replace(image_uri="1.dkr.ecr.us-west-2.amazonaws.com/own:1"))
