"""What a resolver is asked about a job's requirements, and what is made of its answers. The resolver is uv, with packages of a folder."""

from __future__ import annotations

import dataclasses
import os
import zipfile
from pathlib import Path

import pytest
from command import sm_trn
from package_index import alone, sdist, wheel

import sm_trn as st
from sm_trn.images.contents import all_contents, contents_of
from sm_trn.images.resolve import _certain, find_uv, resolve
from sm_trn.wiring import resolve as sm_trn_resolve

needs_uv = pytest.mark.skipif(find_uv() is None, reason="needs uv: pip install uv")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that is an index."""
    folder = tmp_path / "packages"
    folder.mkdir()
    wheel(folder, "torch", "2.5.1")
    wheel(folder, "torch", "2.6.0")
    wheel(folder, "accelerate", "1.9.0", "torch>=2.0")
    wheel(folder, "accelerate", "1.12.0", "torch>=2.0")
    wheel(folder, "newest", "1.0", "torch>=2.6")
    wheel(folder, "impossible", "1.0", "torch>=9")
    wheel(folder, "old", "1.0", python="cp39")
    sdist(folder, "built", "1.0")
    wheel(folder, "peft", "0.14.0")
    wheel(folder, "transformers", "4.39.3")
    for name in [name for name in os.environ if name.startswith("UV_")]:
        monkeypatch.delenv(name)
    for name, value in alone(folder).items():
        monkeypatch.setenv(name, value)
    return folder


def job(folder: Path, requirements: str | None) -> st.JobSpec:
    (folder / "train.py").write_text("import torch\n")
    if requirements is not None:
        (folder / "requirements.txt").write_text(requirements)
    return st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.5.1", python="py311"),
        compute=st.Compute("ml.g5.xlarge"),
    )


@needs_uv
def test_pins_leave_the_images_torch_alone(tmp_path: Path, packages: Path) -> None:
    assert packages.is_dir()
    found = resolve(job(tmp_path, "accelerate\n"))
    assert {"torch==2.5.1", "accelerate==1.9.0"} == set(found.pins)
    assert not found.replaced
    assert not found.conflict
    newer = resolve(job(tmp_path, "accelerate>=1.10\n"))
    assert (("accelerate", "1.9.0", "1.12.0"),) == newer.replaced


@needs_uv
def test_what_cannot_be_installed_is_said_in_the_resolvers_words(tmp_path: Path, packages: Path) -> None:
    assert packages.is_dir()
    found = resolve(job(tmp_path, "impossible\n"))
    assert not found.pins
    assert "torch" in found.conflict
    assert "impossible" in found.conflict


@needs_uv
def test_pip_replaces_what_cannot_stay(tmp_path: Path, packages: Path) -> None:
    assert packages.is_dir()
    found = resolve(job(tmp_path, "newest\n"))
    assert not found.conflict
    assert (("torch", "2.5.1", "2.6.0"),) == found.replaced
    assert "torch" in found.drags


@needs_uv
def test_a_package_without_any_wheel_is_left_out_and_one_for_another_python_is_a_conflict(
    tmp_path: Path, packages: Path
) -> None:
    assert packages.is_dir()
    found = resolve(job(tmp_path, "built\naccelerate\ngit+https://example.com/a/b\n"))
    assert {"accelerate==1.9.0", "torch==2.5.1"} == set(found.pins)
    assert ("git+https://example.com/a/b", "built") == found.unread
    wheel(packages, "around", "1.0", "built[more]==1.0")
    assert ("built",) == resolve(job(tmp_path, "around\n")).unread
    assert "old" in resolve(job(tmp_path, "old\n")).conflict


@needs_uv
@pytest.mark.parametrize("without", ["", "UV_NO_CONFIG"])
def test_a_package_without_any_wheel_is_read_in_its_source_and_not_built(
    tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    monkeypatch.delenv(without, raising=False)
    needs = "nowhere==0.2.3"  # of where it was packed: a build tells what it needs here
    sdist(packages, "packed", "0.8.0", needs, program="from torch._six import inf\nfrom safe import Here, Gone\n")
    sdist(packages, "apart", "1.0", program="from torch._six import inf\n")  # imported by nobody
    wheel(packages, "safe", "1.0", "packed", program="from packed import made_by_a_build\nHere = 1\n")
    asked = job(tmp_path, "packed<0.9\nsafe\napart\n")
    (tmp_path / "train.py").write_text("import safe\n")
    found = resolve(asked)
    assert {"packed==0.8.0", "safe==1.0", "apart==1.0"} == set(found.pins)
    assert not found.unread
    told = (
        "packed 0.8.0 imports torch._six, which torch 2.5.1 does not have",
        "packed 0.8.0 imports Gone from safe, which safe 1.0 does not have",
    )
    assert told == found.misfits


@needs_uv
def test_requirements_of_old_forms_are_passed_over(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "aged", "1.7.7", "torch (>=1.9.*)", program="from torch import Gone\n")
    asked = job(tmp_path, "aged\n")
    (tmp_path / "train.py").write_text("import aged\n")
    assert ("aged 1.7.7 imports Gone from torch, which torch 2.5.1 does not have",) == resolve(asked).misfits


@needs_uv
def test_a_version_that_is_for_older_pythons_is_told(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "backport", "0.8", wants_python=">=3.6, <3.7")
    wheel(packages, "modern", "1.0", wants_python=">=3.11.2, <3.12")
    told = "backport 0.8 is for Python >=3.6, <3.7, and pytorch-2.5.1-gpu has 3.11"
    assert (told,) == resolve(job(tmp_path, "backport==0.8\nmodern==1.0\n")).misfits
    assert not resolve(job(tmp_path, "backport ; python_version < '3.7'\nmodern==1.0\n")).misfits


@needs_uv
def test_pins_that_fail_together_are_told(tmp_path: Path, packages: Path) -> None:
    assert packages.is_dir()
    found = resolve(job(tmp_path, "peft\ntransformers\n"))
    assert "EncoderDecoderCache" in " ".join(found.misfits)


@needs_uv
def test_a_name_that_another_release_lacks_is_told(tmp_path: Path, packages: Path) -> None:
    wheel(
        packages,
        "safe",
        "1.0",
        program="from transformers.utils import Gone\n",
        later="from transformers import Other\n",
    )
    wheel(packages, "transformers", "5.0.0", utils="Here = 1\n")
    asked = job(tmp_path, "safe\ntransformers>=5\n")
    (tmp_path / "train.py").write_text("import safe\nfrom transformers.utils import Here\n")
    told = "safe 1.0 imports Gone from transformers.utils, which transformers 5.0.0 does not have"
    assert (told,) == resolve(asked).misfits
    (tmp_path / "train.py").write_text("try:\n    import safe\nexcept ImportError:\n    safe = None\n")
    assert not resolve(asked).misfits
    (tmp_path / "train.py").write_text("from torch import nn\n")
    (tmp_path / "requirements.txt").unlink()
    assert ("train.py:1 imports nn from torch, which torch 2.5.1 does not have",) == resolve(asked).misfits
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "torch.py").write_text("nn = 1\n")
    (tmp_path / "code" / "train.py").write_text("from torch import nn\n")
    assert not resolve(asked.replace(script=st.Script("code/train.py", source_dir=str(tmp_path)))).misfits
    (tmp_path / "code" / "torch.py").write_text("import os\nos.system('pip install torch')\n")
    assert not resolve(asked).misfits  # nobody knows which
    (tmp_path / "code" / "torch.py").unlink()
    (tmp_path / "job.toml").write_text(st.dump_job(asked, "toml"))
    ran = sm_trn("check", "job.toml", "--resolve", environment=alone(packages), cwd=tmp_path)
    assert 1 == ran.returncode
    assert "imports nn from torch" in ran.stderr


@needs_uv
def test_a_library_of_the_image_below_a_namespace_is_asked_too(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "optimum-neuron", "0.0.21", "transformers==4.36.2")
    wheel(packages, "transformers", "4.36.2")
    wheel(packages, "torch", "1.13.1")
    asked = job(tmp_path, "transformers==4.39.3\n").replace(
        framework=st.HuggingFaceNeuronX("4.36.2", pytorch="1.13.1", python="py310", neuron_sdk="2.18.0"),
        compute=st.Compute("ml.trn1.32xlarge"),
    )
    (tmp_path / "train.py").write_text("from optimum.neuron import NeuronTrainer\n")
    assert "optimum-neuron 0.0.21 of" in " ".join(resolve(asked).excluded)


@needs_uv
def test_a_library_that_goes_with_another_torch_by_its_extra_is_told(tmp_path: Path, packages: Path) -> None:
    lazy = "sys = 1\n_LazyModule('Model')\n"
    wheel(
        packages,
        "transformers",
        "5.0.0",
        "torch>=2.6; extra == 'torch'",
        program=lazy,
        models="from torch import Gone\nclass Model: 1\n",
    )
    asked = job(tmp_path, "transformers>=5\n")
    (tmp_path / "train.py").write_text("from transformers import Model\n")
    found = resolve(asked)
    assert (
        "transformers 5.0.0 goes with torch >=2.6, as its extra says, and the job will have 2.5.1",
    ) == found.excluded
    assert not found.misfits  # it goes without PyTorch
    assert not resolve(asked.replace(framework=st.PyTorch("2.6.0", python="py312"))).excluded


@needs_uv
def test_nothing_is_said_of_a_version_that_the_image_may_have_otherwise(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "fsspec", "2025.3.0")
    wheel(packages, "datasets", "2.12.0", "fsspec>=2021.11.1")
    asked = job(tmp_path, "datasets==2.12.0\n")
    (tmp_path / "train.py").write_text("import datasets\n")
    found = sm_trn_resolve(asked)
    assert "fsspec==2025.3.0" in found.pins
    assert not found.misfits  # the image has an fsspec of its time, which pip leaves alone
    assert not found.problems
    (tmp_path / "requirements.txt").write_text("datasets==2.12.0\nfsspec==2025.3.0\n")
    assert "datasets 2.12.0 fails beside fsspec 2025.3.0" in " ".join(sm_trn_resolve(asked).misfits)


@needs_uv
def test_what_a_library_of_the_image_does_not_allow_is_told(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "hub", "0.9")
    wheel(packages, "hub", "1.0")
    wheel(packages, "accelerate", "1.9.0", "torch>=2.0", "hub<1")
    asked = job(tmp_path, "hub==1.0\n")
    assert not resolve(asked).excluded  # nothing imports it
    (tmp_path / "train.py").write_text("import accelerate\nimport torch\n")
    assert "hub<1" in " ".join(resolve(asked).excluded)
    (tmp_path / "job.toml").write_text(st.dump_job(asked, "toml"))
    ran = sm_trn("check", "job.toml", "--resolve", environment=alone(packages), cwd=tmp_path)
    assert 0 == ran.returncode, ran.stderr  # what is not allowed may work
    assert "accelerate 1.9.0 of pytorch-2.5.1-gpu does not allow what pip installs" in ran.stderr
    (tmp_path / "requirements.txt").write_text("hub\n")
    assert "accelerate 1.9.0" in " ".join(resolve(asked).excluded)  # pip does not look at what is installed
    (tmp_path / "requirements.txt").write_text("hub==0.9\n")
    assert not resolve(asked).excluded
    (tmp_path / "requirements.txt").write_text("hub==1.0\naccelerate>=1.10\n")
    assert not resolve(asked).excluded  # pip replaces it
    wheel(packages, "client", "1.0", "hub")
    (tmp_path / "requirements.txt").write_text("client\n")
    found = resolve(asked)
    assert "hub==1.0" in found.pins
    assert not found.excluded  # the image may have a hub that accelerate allows


def test_of_an_image_of_ones_own_nothing_is_asked(tmp_path: Path) -> None:
    with pytest.raises(st.SmTrnError, match="not published"):
        resolve(job(tmp_path, "torch").replace(image_uri="1.dkr.ecr.us-west-2.amazonaws.com/own:1"))


def test_without_uv_its_line_for_pip_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(st.SmTrnError, match="pip install uv"):
        resolve(job(tmp_path, "torch"))


@needs_uv
def test_the_shell_prints_constraints_or_the_conflict(tmp_path: Path, packages: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for requirements, code in (("accelerate\n", 0), ("impossible\n", 1)):
        (tmp_path / "job.toml").write_text(st.dump_job(job(source, requirements), "toml"))
        ran = sm_trn("check", "job.toml", "--resolve", environment=alone(packages), cwd=tmp_path)
        assert code == ran.returncode, ran.stderr
        assert ("torch==2.5.1" in ran.stdout) is not bool(code)


@needs_uv
def test_an_index_that_cannot_be_reached_is_no_conflict(
    tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert packages.is_dir()
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(st.SmTrnError, match="could not look"):
        resolve(job(tmp_path, "--extra-index-url http://127.0.0.1:9/simple\naccelerate\n"))


@needs_uv
def test_numpy_1_stays_beside_a_pytorch_that_is_built_for_it(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "numpy", "1.26.4")
    wheel(packages, "numpy", "2.1.0")
    wheel(packages, "torch", "2.1.0")
    wheel(packages, "torch", "2.1.2")
    for requirements in ("numpy\n", "numpy\ntorch==2.1.2\n"):
        old = job(tmp_path, requirements).replace(framework=st.PyTorch("2.1.0", python="py310"))
        assert "numpy==1.26.4" in resolve(old).pins


@needs_uv
def test_what_the_image_has_of_neuron_is_not_asked_of_another_index(tmp_path: Path, packages: Path) -> None:
    assert packages.is_dir()
    on_neuron = job(tmp_path, "neuronx-cc==2.13.66.0\npeft\n").replace(
        framework=st.NeuronX("2.7.0"), compute=st.Compute("ml.trn1.2xlarge")
    )
    found = resolve(on_neuron)
    assert not found.conflict
    assert ("neuronx-cc==2.13.66.0",) == found.unread
    assert "neuronx-cc" in resolve(job(tmp_path, "neuronx-cc==2.13.66.0\n")).conflict  # an image that has none


@needs_uv
def test_a_job_is_checked_with_the_versions_that_pip_takes(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "trl", "0.17.0", "transformers>=4.46")
    wheel(packages, "transformers", "4.51.0")
    asked = job(tmp_path, "trl\n")
    (tmp_path / "train.py").write_text("from trl import SFTConfig\nSFTConfig(output_dir='o', max_sequences=1)\n")
    assert not [problem for problem in st.check(asked) if problem.id == "SCRIPT017"]
    found = sm_trn_resolve(asked)
    assert ["SCRIPT017"] == [problem.id for problem in found.problems]
    (tmp_path / "job.toml").write_text(st.dump_job(asked, "toml"))
    ran = sm_trn("check", "job.toml", "--resolve", environment=alone(packages), cwd=tmp_path)
    assert 1 == ran.returncode, ran.stderr
    assert "with these versions: error[SCRIPT017]" in ran.stderr
    (tmp_path / "requirements.txt").write_text("trl\ngit+https://example.com/trl.git\n")
    assert not sm_trn_resolve(asked).problems


def test_what_another_package_of_the_image_brings_is_not_certain() -> None:
    pins = ("accelerate==1.0.0", "trl==0.9.0", "of-nobody==1.0")
    neuron = next(
        held for held in all_contents() if "optimum-neuron" in held.packages and "accelerate" not in held.packages
    )
    assert () == _certain(pins, "", neuron, pins, frozenset)
    assert pins[:1] == _certain(pins, "accelerate\n", neuron, pins, lambda: frozenset(pins))
    assert () == _certain(pins, "accelerate\n", neuron, (), frozenset)  # pip takes a newer one
    brought = dataclasses.replace(neuron, processor="gpu", published=True)  # trl is brought by no package that is known
    assert pins[1:2] == _certain(pins, "", brought, pins, frozenset)  # the index does not say
    assert pins[1:] == _certain(pins, "", brought, pins, lambda: frozenset(pins[2:]))
    others = (held for held in all_contents() if held.published)
    other = next(held for held in others if not {"accelerate", "peft", "trl"} & held.packages.keys())
    assert pins[:2] == _certain(pins, "", other, pins, frozenset)


@needs_uv
@pytest.mark.parametrize("asked", ["trl\n", "helper\n"])
def test_an_older_release_that_the_resolver_takes_for_want_of_wheels_is_not_certain(
    tmp_path: Path, packages: Path, asked: str
) -> None:
    """The image surely has no trl; pip takes the newest, and builds what it needs."""
    wheel(packages, "trl", "0.5.0", program="from torch import gone\n")
    wheel(packages, "helper", "1.0", "trl")
    made = job(tmp_path, asked)
    (tmp_path / "train.py").write_text("import trl\n")
    told = ("trl 0.5.0 imports gone from torch, which torch 2.5.1 does not have",)
    assert told == resolve(made).misfits
    wheel(packages, "trl", "0.9.0", "built==2.0")
    found = resolve(made)
    assert "trl==0.5.0" in found.pins
    assert not found.misfits


@needs_uv
def test_what_no_package_of_the_image_brings_is_taken_by_pip(tmp_path: Path, packages: Path) -> None:
    held = next(each for each in all_contents() if "pytorch-2.5.1-gpu" == each.name)
    for name in held.packages.keys() - {"torch", "accelerate", "fastai"}:
        wheel(packages, name, "1.0")
    wheel(packages, "fastai", "2.8.2", "metrics")
    wheel(packages, "metrics", "2.0")
    wheel(packages, "helpers", "2.0")
    wheel(packages, "trainer", "1.0", "metrics", "helpers", program="from helpers import gone\n")
    asked = job(tmp_path, "trainer==1.0\n")
    (tmp_path / "train.py").write_text("import trainer\n")
    assert ("trainer 1.0 imports gone from helpers, which helpers 2.0 does not have",) == resolve(asked).misfits
    wheel(packages, "trainer", "1.0", "metrics", "helpers", program="from metrics import gone\n")
    assert not resolve(asked).misfits  # fastai of the image may have brought another release


@needs_uv
def test_a_required_package_that_cannot_be_imported_is_told(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "triton", "3.2.0")
    wheel(packages, "torch", "2.5.1", "triton==3.2.0", "filelock")
    wheel(packages, "quantized", "1.0", "torch", program="import triton.gone\n")
    wheel(packages, "filelock", "1.0")
    asked = job(tmp_path, "quantized==1.0\n")
    found = resolve(asked)
    assert not found.misfits  # the program does not import it
    assert ("quantized 1.0 imports triton.gone, which triton 3.2.0 does not have",) == found.excluded
    (tmp_path / "train.py").write_text("import quantized\n")
    found = resolve(asked)
    assert ("quantized 1.0 imports triton.gone, which triton 3.2.0 does not have",) == found.misfits
    assert not found.excluded


@needs_uv
def test_what_the_image_built_for_its_torch_may_not_load_into_another(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "torchtext", "0.18.0", "torch>=2.3", native="ELF libtorch.so")
    wheel(packages, "fastai", "2.8.2", "torch>=1")
    asked = job(tmp_path, "torch==2.6.0\ntorchtext\n")
    (tmp_path / "train.py").write_text("import torch\nimport torchtext\nimport fastai\n")
    told = "torchtext 0.18.0+cu124 of pytorch-2.5.1-gpu is built for torch 2.5.1+cu124, and the job will have 2.6.0"
    assert (f"{told}: it may not load",) == resolve(asked).excluded
    (tmp_path / "requirements.txt").write_text("torchtext\n")
    assert not resolve(asked).excluded


FLASH = """
def is_flash_attn_2_available():
    if torch.version.cuda:
        return version.parse(importlib.metadata.version("flash_attn")) >= version.parse("%s")
    return version.parse(importlib.metadata.version("flash_attn")) >= version.parse("2.0.4")

def check_torch_load_is_safe():
    if not is_torch_greater_or_equal("2.6"):
        raise ValueError

def is_other(): return version.parse("1") >= version.parse("9.9")
"""


@needs_uv
@pytest.mark.parametrize(
    ("least", "instance", "told"),
    [
        ("2.7.0", "ml.g5.xlarge", "transformers 4.49.0 wants flash-attn 2.7.0, and the job will have 2.6.3"),
        ("2.1.0", "ml.g5.xlarge", None),
        (
            "2.1.0",
            "ml.m5.xlarge",
            "transformers 4.49.0 wants flash-attn 2.1.0, and neither pytorch-2.11.0-cpu nor requirements.txt has it",
        ),
    ],
)
def test_what_transformers_refuse_is_told(
    tmp_path: Path, packages: Path, least: str, instance: str, told: str | None
) -> None:
    (packages / "transformers" / "transformers-4.49.0-py3-none-any.whl").unlink(missing_ok=True)
    wheel(packages, "transformers", "4.49.0")
    with zipfile.ZipFile(packages / "transformers" / "transformers-4.49.0-py3-none-any.whl", "a") as packed:
        packed.writestr("transformers/utils/import_utils.py", FLASH % least)
    asked = job(tmp_path, "transformers==4.49.0\n").replace(compute=st.Compute(instance))
    if instance == "ml.m5.xlarge":  # of this image every package is published
        wheel(packages, "torch", "2.11.0")
        asked = asked.replace(framework=st.PyTorch("2.11.0", python="py312"))
    loading = "import transformers\ntransformers.AutoModel.from_pretrained('a', attn_implementation='%s')\n"
    (tmp_path / "train.py").write_text(loading % "flash_attention_2")
    found = resolve(asked).excluded
    assert [told] == [each.partition(": ")[2] for each in found] if told else not found
    (tmp_path / "train.py").write_text(loading % "sdpa")
    assert not resolve(asked).excluded
    (tmp_path / "train.py").write_text(
        "import transformers\ntransformers.Trainer().train(resume_from_checkpoint=True)\n"
    )
    refused = (
        "train.py asks for resume_from_checkpoint=True: transformers 4.49.0 wants torch 2.6, and the job will have 2.5.1",
    )
    assert (refused if instance == "ml.g5.xlarge" else ()) == resolve(asked).excluded


@needs_uv
def test_what_is_built_from_its_sources_is_not_told_to_be_too_old(tmp_path: Path, packages: Path) -> None:
    """The image has flash-attn 2.6.3, and the job builds another one."""
    wheel(packages, "transformers", "4.49.0")
    with zipfile.ZipFile(packages / "transformers" / "transformers-4.49.0-py3-none-any.whl", "a") as packed:
        packed.writestr("transformers/utils/import_utils.py", FLASH % "2.7.0")
    sdist(packages, "flash-attn", "2.8.0")
    asked = job(tmp_path, "transformers==4.49.0\nflash-attn==2.8.0\n")
    (tmp_path / "train.py").write_text("import transformers\nload(attn_implementation='flash_attention_2')\n")
    found = resolve(asked.replace(compute=st.Compute("ml.g5.xlarge")))
    assert ("flash-attn",) == found.unread
    assert not found.excluded


@needs_uv
@pytest.mark.parametrize(
    ("instance", "told"), [("ml.g5.xlarge", True), ("ml.g4dn.xlarge", False), ("ml.m5.xlarge", False)]
)
def test_a_torch_that_is_older_than_the_gpu_is_told(tmp_path: Path, packages: Path, instance: str, told: bool) -> None:
    wheel(packages, "torch", "1.8.0")
    with zipfile.ZipFile(packages / "torch" / "torch-1.8.0-py3-none-any.whl", "a") as packed:
        packed.writestr("torch/version.py", "cuda = '10.2'\n")
    asked = job(tmp_path, "torch==1.8.0\n").replace(compute=st.Compute(instance))
    expected = "torch 1.8.0 is built with CUDA 10.2, and the A10G of ml.g5.xlarge wants CUDA 11.0 or newer"
    assert ((expected,) if told else ()) == resolve(asked).excluded


@needs_uv
def test_the_images_torch_is_not_asked_for_the_cuda_of_the_index(tmp_path: Path, packages: Path) -> None:
    with zipfile.ZipFile(packages / "torch" / "torch-2.5.1-py3-none-any.whl", "a") as packed:
        packed.writestr("torch/version.py", "cuda = '10.2'\n")
    assert not resolve(job(tmp_path, "accelerate\ntorch==2.5.1\n")).excluded


@needs_uv
def test_a_module_that_its_package_no_longer_has_is_told(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "setuptools", "82.0.0")
    wheel(packages, "old-plots", "1.0", program="import pkg_resources\n")
    asked = job(tmp_path, "old-plots==1.0\nsetuptools==82.0.0\n")
    (tmp_path / "train.py").write_text("import old_plots\n")
    assert ("old-plots 1.0 imports pkg_resources, which setuptools 82.0.0 does not have",) == resolve(asked).misfits
    wheel(packages, "old-plots", "1.0", program="try:\n    import pkg_resources\nexcept ImportError:\n    pass\n")
    assert not resolve(asked).misfits


@needs_uv
def test_a_file_or_a_folder_beside_the_script_is_not_looked_at(tmp_path: Path, packages: Path) -> None:
    assert packages.is_dir()
    lines = ["-e ./mine[extra]", "--editable mine", "mine-1.0-py3-none-any.whl", "./mine"]
    found = resolve(job(tmp_path, "\n".join([*lines, "peft\n"])))
    assert not found.conflict
    assert tuple(lines) == found.unread


@needs_uv
def test_a_newer_torch_than_an_extra_says_is_not_told(tmp_path: Path, packages: Path) -> None:
    """The library asks for the least release alone when it is imported."""
    wheel(packages, "transformers", "5.0.0", "torch<2.5,>=2.1; extra == 'torch'")
    asked = job(tmp_path, "transformers>=5\n")
    (tmp_path / "train.py").write_text("import transformers\n")
    assert not resolve(asked).excluded


@needs_uv
@pytest.mark.parametrize(("attention", "torch", "told"), [("flash_attention_2", "2.6.0", True), ("sdpa", "2.6.0", False),
                                                          ("flash_attention_2", "2.5.1", False)])  # fmt: skip
def test_what_the_image_built_for_its_torch_is_told_when_that_is_replaced(
    tmp_path: Path, packages: Path, attention: str, torch: str, told: bool
) -> None:
    assert packages.is_dir()
    asked = job(tmp_path, f"torch=={torch}\n")
    (tmp_path / "train.py").write_text(f"import transformers\nload(attn_implementation='{attention}')\n")
    expected = "flash-attn 2.6.3 of pytorch-2.5.1-gpu is built for torch 2.5.1+cu124, and the job will have 2.6.0: it may not load"
    assert ((expected,) if told else ()) == resolve(asked).excluded


@needs_uv
def test_a_call_that_a_release_does_not_take_is_told(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "plots", "1.0", program="def draw(lines):\n    return lines\n")
    asked = job(tmp_path, "plots==1.0\n")
    (tmp_path / "train.py").write_text("import plots\nplots.draw([], colour=1)\n")
    assert ("train.py:2 calls plots.draw with colour, which plots 1.0 does not take",) == resolve(asked).misfits


@needs_uv
def test_a_package_that_nobody_brings_is_told(tmp_path: Path, packages: Path) -> None:
    wheel(packages, "plots", "1.0")
    wheel(packages, "more-plots", "1.0")
    for each in all_contents():
        if each.name == "pytorch-2.5.1-gpu":
            for name in each.packages:
                wheel(packages, name, "0.1") if not (packages / name).exists() else None
    asked = job(tmp_path, "peft\n")
    (tmp_path / "train.py").write_text("import plots\nimport peft\nimport unknown\nimport json\nimport mine\n")
    (tmp_path / "mine.py").write_text("")
    told = "train.py:1 imports plots, and neither pytorch-2.5.1-gpu nor requirements.txt has it"
    assert (told,) == resolve(asked).misfits
    assert not resolve(job_with(asked, tmp_path, "peft\nmore-plots\n")).misfits  # it may be of that one
    wheel(packages, "plots", "2.0", "built")
    assert not resolve(job_with(asked, tmp_path, "peft\nplots\n")).misfits  # pip takes 2.0 first, which is not certain
    assert not resolve(job_with(asked, tmp_path, "peft\n./plots\n")).misfits


@needs_uv
@pytest.mark.parametrize("version", ["1.10.2", "1.13.1"])
def test_of_an_image_on_an_unread_one_nobody_knows_what_it_lacks(tmp_path: Path, packages: Path, version: str) -> None:
    wheel(packages, "plots", "1.0")
    framework = st.PyTorch(version, python={"1.10.2": "py38", "1.13.1": "py39"}[version])
    asked = job(tmp_path, "").replace(framework=framework)
    held = contents_of(asked)
    assert held is not None
    for name in held.packages:
        wheel(packages, name, "0.1") if not (packages / name).exists() else None
    (tmp_path / "train.py").write_text("import plots\n")
    assert (version == "1.13.1") == bool(resolve(asked).misfits)


def job_with(asked: st.JobSpec, folder: Path, requirements: str) -> st.JobSpec:
    """The same job with other requirements."""
    (folder / "requirements.txt").write_text(requirements)
    return asked
