"""What a job brings against what its image holds."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

import sm_trn as st
from sm_trn.images.contents import Contents

OLD = st.PyTorch("1.12.1", python="py38")
NEW = st.PyTorch("2.5.1", python="py311")


def job(
    folder: Path, program: str = "import torch\n", requirements: str | None = None, framework: st.PyTorch = NEW
) -> st.JobSpec:
    (folder / "train.py").write_text(program)
    if requirements is not None:
        (folder / "requirements.txt").write_text(requirements)
    return st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=framework,
        compute=st.Compute("ml.g5.xlarge"),
        max_run_s=3600,
    )


def found(job: st.JobSpec) -> dict[str, str]:
    return {each.id: f"{each.where} {each.what}" for each in st.check(job) if each.id.startswith("ENV")}


MATCH = "import sys\nmatch sys.argv:\n    case []:\n        pass\n"


def test_syntax_that_the_containers_python_lacks_is_an_error(tmp_path: Path) -> None:
    assert "train.py:" in found(job(tmp_path, MATCH, framework=OLD))["ENV001"]
    assert not found(job(tmp_path, MATCH))
    assert "ENV001" not in found(job(tmp_path, "def f(:\n", framework=OLD))


def test_a_module_beside_the_script_is_parsed_too(tmp_path: Path) -> None:
    (tmp_path / "later.py").write_text(MATCH)
    assert "ENV001" in found(job(tmp_path, "from later import f\n", framework=OLD))
    guarded = "try:\n    import later\nexcept SyntaxError:\n    pass\ndef f():\n    import later\n"
    assert "ENV001" not in found(job(tmp_path, guarded, framework=OLD))


def test_a_newer_syntax_than_this_pythons_is_no_error(tmp_path: Path) -> None:
    newer = f"py{sys.version_info[0]}{sys.version_info[1] + 1}"
    for python, severity in ((newer, st.Severity.WARNING), ("py311", st.Severity.ERROR)):
        framework = st.PyTorch("2.5.1", python=python)
        problems = st.check(job(tmp_path, "def f(:\n", framework=framework))
        assert [severity] == [problem.severity for problem in problems if problem.id == "SCRIPT003"]


def test_a_byte_order_mark_is_no_part_of_a_program(tmp_path: Path) -> None:
    assert "SCRIPT003" not in {problem.id for problem in st.check(job(tmp_path, "\ufeffimport sys\r\n"))}


@pytest.mark.parametrize(
    ("requirements", "isolation", "told"),
    [
        ("peft\n", True, True),
        ("peft\n", False, False),
        ("# nothing\n", True, False),
        ("./wheels/peft-0.14.0-py3-none-any.whl\n", True, False),
        ("--no-index\n--find-links wheels\npeft\n", True, False),
    ],
)
def test_an_isolated_job_reaches_no_index(requirements: str, isolation: bool, told: bool, tmp_path: Path) -> None:
    isolated = job(tmp_path, requirements=requirements).replace(network=st.Network(isolation=isolation))
    assert told == ("ENV010" in found(isolated))


@pytest.mark.parametrize(
    ("requirements", "rule", "place"),
    [
        ("numpy==1.26.4\n# a comment\nnumpy==2.1.0\n", "ENV002", "requirements.txt:3"),
        ("torch==2.4.0\n", "ENV003", "requirements.txt:1"),
        ("--upgrade\ntorch<2.5  # older\n", "ENV003", "requirements.txt:2"),
    ],
)
def test_requirements_that_do_not_go_together(requirements: str, rule: str, place: str, tmp_path: Path) -> None:
    assert place in found(job(tmp_path, requirements=requirements))[rule]


@pytest.mark.parametrize(
    "requirements",
    [
        "", "transformers==4.49.0\npeft\n", "torch\n", "torch>=2.0\n", "torch==2.5.1\n", "torch==2.5.*\n", "numpy==1.26.4\nnumpy>=1.20\n",
        "git+https://github.com/huggingface/trl\n", "-r other.txt\n", "torch==2.1; sys_platform == 'win32'\n", "what is this?\n",
        "torch==2.1 ; python_version < '3.9'\n", "./local.whl\n", "numpy==1.26.*\nnumpy==1.26.4\n",
    ],
)  # fmt: skip
def test_requirements_that_go_together_are_not_mentioned(requirements: str, tmp_path: Path) -> None:
    assert not found(job(tmp_path, requirements=requirements))


def test_a_patch_of_the_images_pytorch_is_a_note(tmp_path: Path) -> None:
    for requirements, severity in (("torch==2.5.0\n", st.Severity.INFO), ("torch==2.6.0\n", st.Severity.WARNING)):
        problems = st.check(job(tmp_path, requirements=requirements))
        assert [severity] == [each.severity for each in problems if each.id == "ENV003"]


def test_numpy_2_beside_a_torch_that_is_built_for_numpy_1(tmp_path: Path) -> None:
    assert "ENV004" in found(job(tmp_path, requirements="numpy>=2\n", framework=st.PyTorch("2.1.0", python="py310")))
    assert "ENV004" not in found(
        job(tmp_path, requirements="numpy>=1.20\n", framework=st.PyTorch("2.1.0", python="py310"))
    )
    assert "ENV004" not in found(job(tmp_path, requirements="numpy>=2\n"))


def test_a_word_that_begins_like_an_installer_installs_nothing(tmp_path: Path) -> None:
    program = "import peft\npipeline = peft.Pipeline()\n"
    assert "train.py:1" in found(job(tmp_path, program))["ENV005"]


def test_an_import_that_nobody_brings(tmp_path: Path) -> None:
    newest = st.PyTorch("2.13.0", python="py312")
    assert "train.py:2" in found(job(tmp_path, "import torch\nimport peft\n", framework=newest))["ENV005"]
    for leaf in (
        "sentence_transformers",
        "wandb",
        "deepspeed",
        "transformers",
    ):  # without a lock file too: nothing there brings them
        assert "train.py:1" in found(job(tmp_path, f"import {leaf}\n"))["ENV005"]


@pytest.mark.parametrize(
    "program",
    [
        "import torch, os, numpy, json, yaml, tqdm, requests\n", "try:\n    import peft\nexcept ImportError:\n    peft = None\n",
        "if True:\n    import peft\n", "import own\n", "import something_that_nobody_knows\n",
        "import os\nos.system('pip install peft')\nimport peft\n", "from . import peft\n", "def f():\n    import peft\n",
    ],
)  # fmt: skip
def test_an_import_that_may_be_there_is_not_mentioned(program: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("")
    for framework in (NEW, st.PyTorch("2.13.0", python="py312")):
        assert not found(job(tmp_path, program, framework=framework))


def test_what_an_image_brings_beside_what_is_published_is_not_known(tmp_path: Path) -> None:
    assert "ENV005" not in found(job(tmp_path, "import tensorboard\n", framework=NEW))  # a package of other images
    held = Contents(family="huggingface", pytorch="2.9.0", processor="gpu", source="a file", packages={"trl": ""})
    assert (True, False, None) == (held.holds("accelerate"), held.holds("wandb"), held.holds("pandas"))  # trl brings it
    assert dataclasses.replace(held, processor="neuron").holds("wandb") is None


def test_requirements_may_bring_what_is_imported(tmp_path: Path) -> None:
    assert not found(job(tmp_path, "import peft\n", "trl[peft]\n"))
    assert not found(job(tmp_path, "import peft\n").replace(image_uri="1.dkr.ecr.us-west-2.amazonaws.com/own:1"))


def test_the_packages_own_scripts_are_not_mentioned() -> None:
    own = st.JobSpec(
        name="a",
        script=st.Script("train_text_classification.py"),
        framework=st.HuggingFace("4.56.2", pytorch="2.8.0", python="py312"),
        compute=st.Compute("ml.g5.xlarge"),
    )
    assert not found(own)


GLUE = "train_glue.py"


@pytest.mark.parametrize(
    ("script", "framework", "says"),
    [
        (GLUE, st.HuggingFace("4.56.2", pytorch="2.8.0", python="py312"), ""),
        (GLUE, st.HuggingFace("4.49", pytorch="2.5", python="py311"), "needs transformers 4.56"),
        (GLUE, st.PyTorch("2.13", python="py312"), "needs transformers 4.56"),  # a lock file without it
        (GLUE, st.PyTorch("2.1.0", python="py310"), "needs torch 2.5"),
        (GLUE, st.PyTorch("2.8.0", python="py312"), "needs transformers 4.56"),  # nothing there brings it
        ("inference_of_mine.py", st.PyTorch("2.1.0", python="py310"), ""),
    ],
)
def test_a_script_of_the_package_is_held_against_the_image(
    script: str, framework: st.PyTorch | st.HuggingFace, says: str
) -> None:
    asked = st.JobSpec(
        name="a", script=st.Script(script), framework=framework, compute=st.Compute("ml.g5.xlarge"), max_run_s=3600
    )
    told = found(asked).get("ENV006", "")
    assert says in told
    assert bool(says) is bool(told)


def test_requirements_of_a_job_may_bring_what_the_image_lacks(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers>=4.56\n")
    script = st.Script(GLUE, dependencies=(str(tmp_path / "requirements.txt"),))
    image = st.PyTorch("2.13", python="py312")
    asked = st.JobSpec(name="a", script=script, framework=image, compute=st.Compute("ml.g5.xlarge"), max_run_s=3600)
    assert "ENV006" not in found(asked)


@pytest.mark.parametrize(("requirements", "told"), [("", True), ("datasets<4\n", False)])
def test_a_loading_script_runs_before_datasets_4_alone(tmp_path: Path, requirements: str, told: bool) -> None:
    (tmp_path / "train.py").write_text(
        "from datasets import load_dataset\nload_dataset('json')\nload_dataset('./own.py')\n"
    )
    (tmp_path / "requirements.txt").write_text(requirements)
    script = st.Script("train.py", source_dir=str(tmp_path))
    job = st.JobSpec(
        script=script, framework=st.HuggingFace("4.56.2"), compute=st.Compute("ml.g5.xlarge"), max_run_s=60
    )
    assert told is ("load_dataset runs no script" in found(job).get("ENV006", ""))
