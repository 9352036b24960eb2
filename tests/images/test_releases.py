"""Releases against one another, against what a script imports, and against the model that it loads."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import sm_trn as st
from sm_trn.images import releases
from sm_trn.images.contents import contents_of
from sm_trn.images.releases import release

ROOT = Path(__file__).resolve().parents[2]
PLAIN = st.PyTorch("2.1.0", python="py310")
PEFT = "from peft import LoraConfig\n"


def job(
    folder: Path, program: str, requirements: str = "", framework: st.PyTorch | st.HuggingFace = PLAIN, **more: str
) -> st.JobSpec:
    (folder / "train.py").write_text(program)
    if requirements:
        (folder / "requirements.txt").write_text(requirements)
    return st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=framework,
        compute=st.Compute("ml.g5.xlarge"),
        hyperparameters=more,
        max_run_s=3600,
    )


def told(asked: st.JobSpec, rule: str) -> str:
    return " ".join(f"{each.where} {each.what}" for each in st.check(asked) if each.id == rule)


@pytest.mark.parametrize(
    ("program", "requirements", "says"),
    [
        (PEFT, "transformers==4.39.3\npeft==0.14.0\n", "EncoderDecoderCache"),
        (PEFT, "accelerate==0.21.0\ntransformers==4.50.3\npeft==0.17.1\n", "clear_device_cache"),
        (PEFT, "transformers==4.49.0\npeft==0.14.0\n", ""),
        (PEFT, "transformers>=4.39\npeft==0.14.0\n", ""),  # nobody says which
        (PEFT, "-r other.txt\ntransformers==4.39.3\npeft==0.14.0\n", ""),
        (PEFT, "git+https://github.com/huggingface/transformers\npeft==0.14.0\n", ""),
        ("from trl import SFTTrainer\n", "trl==0.7.11\ndatasets==2.18.0\n", ""),  # datasets has Value by a star
        ("import torch\n", "transformers==4.39.3\npeft==0.14.0\n", ""),  # imported by nobody
        ("from transformers import AutoModel\n", "transformers==4.39.3\npeft==0.14.0\n", ""),  # nor here
        ("import sentence_transformers\n", "sentence-transformers==2.2.2\nhuggingface-hub==0.25.2\n", ""),
    ],
)
def test_releases_that_cannot_be_imported_together(program: str, requirements: str, says: str, tmp_path: Path) -> None:
    found = told(job(tmp_path, program, requirements), "ENV007")
    assert says in found
    assert bool(says) is bool(found)


@pytest.mark.parametrize(
    ("program", "requirements", "says"),
    [
        ("import pandas\n", "pandas==2.1.4\nnumpy==2.0.2\n", "numpy.dtype size changed"),
        ("import pandas\n", "pandas==2.2.2\nnumpy==2.0.2\n", ""),
        ("import pandas\n", "pandas==2.1.4\nnumpy==1.26.4\n", ""),
        ("import pandas\n", "pandas==2.1.4\nnumpy\n", ""),  # nobody says which
        ("from sklearn.datasets import load_iris\n", "scikit-learn==1.0.2\nnumpy==2.2.2\n", "scikit-learn 1.0.2"),
        ("from accelerate import Accelerator\n", "accelerate==1.10.0\n", "torch 2.1.0"),  # the image's
        ("from accelerate import Accelerator\n", "accelerate==1.9.0\n", ""),
    ],
)
def test_releases_that_were_seen_to_fail_together(program: str, requirements: str, says: str, tmp_path: Path) -> None:
    found = told(job(tmp_path, program, requirements), "ENV007")
    assert says in found
    assert bool(says) is bool(found)


def test_each_pair_that_was_seen_to_fail_has_its_experiment() -> None:
    for pair in releases.failing_pairs():
        failing = dict(pin.split("==") for pin in pair["fails"])
        working = dict(pin.split("==") for pin in pair["works"])
        assert SpecifierSet(pair["releases"]).contains(failing[pair["library"]])
        assert SpecifierSet(pair["beside"]).contains(failing[pair["other"]])
        held = [SpecifierSet(pair["releases"]).contains(working[pair["library"]])]
        held += [SpecifierSet(pair["beside"]).contains(working[pair["other"]])]
        assert not all(held), pair


@pytest.mark.parametrize(
    ("model", "transformers", "pytorch", "kind"),
    [
        ("google/gemma-3-27b-it", "4.49.0", "2.5.1", "gemma3"),
        ("google/gemma-4-12B-it", "4.56.2", "2.8.0", "gemma4"),
        ("Qwen/Qwen3.5-27B", "4.56.2", "2.8.0", "qwen3_5"),
        ("mistralai/Ministral-8B-Instruct-2410", "4.49.0", "2.5.1", ""),
        ("Qwen/Qwen3-30B-A3B", "4.48.0", "2.3.0", "qwen3_moe"),
        ("Qwen/Qwen3-8B", "4.48.0", "2.3.0", "qwen3"),
        ("meta-llama/Llama-2-7b-hf", "4.26.0", "1.13.1", "llama"),
        ("meta-llama/Llama-2-7b-hf", "4.49.0", "2.5.1", ""),
        ("google/gemma-3-27b-it", "4.56.2", "2.8.0", ""),
        ("distilbert-base-uncased", "4.26.0", "1.13.1", ""),
        ("/opt/ml/input/data/qwen3/model", "4.26.0", "1.13.1", ""),  # a folder may hold anything
        ("somebody/a-model-of-mine", "4.26.0", "1.13.1", ""),
    ],
)
def test_a_model_that_the_transformers_of_the_image_do_not_know(
    model: str, transformers: str, pytorch: str, kind: str, tmp_path: Path
) -> None:
    python = {"1.13.1": "py39", "2.3.0": "py311", "2.5.1": "py311", "2.8.0": "py312"}[pytorch]
    image = st.HuggingFace(transformers, pytorch=pytorch, python=python)
    program = "from transformers import AutoModel\nimport sys\nAutoModel.from_pretrained(sys.argv[1])\n"
    found = told(job(tmp_path, program, framework=image, model_id=model), "ENV008")
    assert f"of the type {kind}," in found if kind else not found
    written = f"from transformers import AutoModel\nNAME = {model!r}\nAutoModel.from_pretrained(NAME)\n"
    assert bool(kind) is bool(told(job(tmp_path, written, framework=image), "ENV008"))


@pytest.mark.parametrize(
    ("program", "requirements", "says"),
    [
        ("from datasets import load_dataset, load_metric\n", "datasets==3.2.0\n", "no longer has load_metric"),
        ("from datasets import load_dataset, load_metric\n", "datasets==2.10.0\n", ""),
        ("from transformers import Gemma3ForCausalLM\n", "transformers==4.46.1\n", "does not have Gemma3ForCausalLM yet"),
        ("from transformers import CONFIG_MAPPING, AutoConfig, BertLayer\n", "transformers==5.3.0\n", ""),  # found when it is imported
        ("from transformers import Mxfp4Config\n", "transformers==4.50.2\n", ""),
        ("from transformers import a_name_of_nobody\n", "transformers==4.50.2\n", ""),
        ("from transformers import ANameOfNobody\n", "transformers==4.50.2\n", ""),  # the table has not all of its releases
        ("from trl import TrainingArguments\n", "trl==0.15.2\n", "no release of trl has TrainingArguments"),
        ("from peft import LoraConfig, TaskTypes\n", "peft==0.14.0\n", "no release of peft has TaskTypes (did you mean 'TaskType'?)"),
        ("from peft import tuners\n", "peft==0.14.0\n", ""),  # a module of it
        ("try:\n    from datasets import load_metric\nexcept ImportError:\n    pass\n", "datasets==3.2.0\n", ""),
        ("from datasets import load_metric\n", "", ""),  # nobody has published whether the image has it
        ("from transformers.utils import check_min_version\ncheck_min_version('4.57.0.dev0')\n", "transformers==4.50.2\n", "4.57.0"),
        ("from transformers.utils import check_min_version\ncheck_min_version('4.49.0')\n", "transformers==4.50.2\n", ""),
    ],
)  # fmt: skip
def test_a_name_that_the_release_does_not_have(program: str, requirements: str, says: str, tmp_path: Path) -> None:
    found = told(job(tmp_path, program, requirements), "ENV009")
    assert says in found
    assert bool(says) is bool(found)


def test_a_folder_of_the_source_hides_a_library_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("class FolderDataset:\n    pass\n")
    assert not told(job(tmp_path, "from datasets import FolderDataset\n", "datasets==3.2.0\n"), "ENV009")


@pytest.mark.parametrize("library", ["accelerate", "datasets", "huggingface_hub", "peft", "transformers", "trl"])
def test_what_an_installed_release_has_is_never_missed(library: str, tmp_path: Path) -> None:
    module = pytest.importorskip(library)
    version = importlib.metadata.version(library)
    if release(library, version) is None:
        pytest.skip(f"the table has no release such as {library} {version}")
    found = {name: getattr(module, name, None) for name in dir(module) if not name.startswith("_")}
    names = [name for name, value in found.items() if name.isidentifier() and not isinstance(value, ModuleType)]
    program = f"from {library} import {', '.join(sorted(names))}\n"
    assert not told(job(tmp_path, program, f"{library}=={version}\n"), "ENV009")


def test_an_image_of_aws_is_known_by_its_uri_too(tmp_path: Path) -> None:
    asked = job(tmp_path, "import torch\n", "torch==2.4.0\n")
    uri = "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:2.1.0-gpu-py310-cu121-ubuntu20.04-sagemaker"
    assert contents_of(asked) == contents_of(asked.replace(image_uri=uri))
    assert "ENV003" in {each.id for each in st.check(asked.replace(image_uri=uri))}


def test_of_an_image_without_a_published_file_the_versions_in_its_name_are_known(tmp_path: Path) -> None:
    held = contents_of(job(tmp_path, "import torch\n", framework=st.HuggingFace("4.6", pytorch="1.7", python="py36")))
    assert held is not None
    assert ((3, 6), "4.6.1", False) == (held.python_minor, str(held.version("transformers")), held.complete)
    assert held.holds("peft") is None


def test_the_table_is_in_the_order_of_releases() -> None:
    table = releases._table()
    for library, known in table["releases"].items():
        assert sorted(known, key=Version) == known
        for change in table["names"][library]:
            assert change["at"] in known
    assert all(row["lacking"] and row["by"] for row in table["imports"])


def test_a_wheel_is_read_as_its_programs_say(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("library_names", ROOT / ".github" / "library_names.py")
    assert spec is not None
    assert spec.loader is not None
    maker: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["library_names"] = maker
    spec.loader.exec_module(maker)
    files = {
        "peft/__init__.py": "from .auto import Auto\ntry:\n    import gone\nexcept ImportError:\n    gone = None\n",
        "peft/auto.py": "from transformers import Cache\nfrom transformers.utils import hub\nif True:\n    from accelerate import x\n",
        "peft/stars/__init__.py": "from .values import *\n",
        "peft/stars/values.py": "Value = 1\n",
        "peft/unused.py": "from datasets import y\n",
    }
    with zipfile.ZipFile(tmp_path / "peft-0.1.0-py3-none-any.whl", "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    read = maker.read(tmp_path / "peft-0.1.0-py3-none-any.whl", "peft")
    assert {("transformers", "Cache"), ("transformers.utils", "hub")} == read.imports
    assert {"Auto", "gone"} <= read.exports
    assert read.has("peft.auto", "Cache")
    assert read.has("peft.stars", "Value")
