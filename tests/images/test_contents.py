"""What images hold: the table against what it is made from, and the names that choose one."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

import sm_trn as st
from sm_trn.cli.__main__ import cli
from sm_trn.core.catalog import images
from sm_trn.images.contents import all_contents, contents_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """The script that makes the table."""
    spec = importlib.util.spec_from_file_location("image_contents", ROOT / ".github" / "image_contents.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["image_contents"] = made
    spec.loader.exec_module(made)
    return made


def test_every_row_is_an_image_of_the_table_of_images() -> None:
    rows = {
        (row.family, row.pytorch, row.transformers, row.neuron_sdk)
        for family in images.families()
        for row in images.rows(family)
    }
    held = all_contents()
    assert len(held) >= 60
    assert len({each.name for each in held}) == len(held)
    for each in held:
        assert (each.family, each.pytorch, each.transformers, each.neuron_sdk) in rows
        assert "@" in each.source
        torch = each.version("torch")
        assert torch is None or torch.base_version.startswith(".".join(each.pytorch.split(".")[:2])), each.name
        if each.transformers and each.family != "neuronx":
            assert str(each.version("transformers")) == each.transformers


def test_the_image_of_a_job_is_found() -> None:
    job = st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir="/nowhere"),
        framework=st.HuggingFace("4.49.0", pytorch="2.5.1", python="py311"),
        compute=st.Compute("ml.g5.xlarge"),
    )
    held = contents_of(job)
    assert held is not None
    assert (3, 11) == held.python_minor
    assert "4.49.0" == str(held.version("Transformers"))
    assert held.holds("peft") is True
    assert contents_of(job.replace(image_uri="1.dkr.ecr.us-west-2.amazonaws.com/own:1")) is None


DOCKERFILE = """
ARG PYTHON_VERSION=3.11.9
ARG TORCH_VERSION=2.3.0
FROM nvidia/cuda:12.1.0-base-ubuntu20.04 AS base_image
FROM base_image AS common
# RUN pip install commented==1.0
RUN /opt/conda/bin/mamba install -y -c conda-forge \\
    python=$PYTHON_VERSION \\
    "cryptography>=42.0.5" \\
  # a note between
    "numpy<2" scipy \\
  && pip install --no-cache-dir -U --index-url https://x.example/simple requests[security]==2.32.0
FROM common AS ec2
RUN pip install only-on-ec2==1.0
FROM common AS sagemaker
ARG TORCH_VERSION
RUN pip install torch==${TORCH_VERSION} https://us-west-2.example.com/a/b/smdist-2.3.0-cp311-cp311-linux_x86_64.whl \\
 && pip install git+https://github.com/NVIDIA/TransformerEngine.git@release_v1 unknown==${NOBODY_SAYS} && pip uninstall -y scipy
"""


def test_a_dockerfile_is_read_as_its_stages_say(maker: ModuleType) -> None:
    held = maker.read_dockerfile(DOCKERFILE, {}, "x@1 Dockerfile")
    assert ("3.11.9", "12.1.0") == (held.python, held.cuda)
    assert {
        "cryptography": ">=42.0.5", "numpy": "<2", "requests": "==2.32.0", "torch": "==2.3.0", "smdist": "==2.3.0",
        "transformerengine": "", "unknown": "",
    } == held.packages  # fmt: skip


def test_a_lock_file_is_all_there_is(maker: ModuleType) -> None:
    assert {"torch": "==2.13.0+cu130"} == maker.locked(
        '[[package]]\nname = "Torch"\nversion = "2.13.0+cu130"\n[[package]]\nname = "own"\n'
    )


def shell(*arguments: str) -> str:
    ran = CliRunner().invoke(cli, ["catalog", "images", *arguments])
    assert 0 == ran.exit_code, ran.output
    return ran.output


def test_the_shell_chooses_shows_and_compares() -> None:
    listed = shell("--on", "ml.g5.xlarge")
    assert "neuronx" not in listed
    assert listed.index("huggingface-4.56.2") < listed.index("huggingface-4.49.0")
    everything = shell()
    assert (
        everything.index("pytorch-2.13.0-gpu")
        < everything.index("huggingface-5.3.0")
        < everything.index("pytorch-1.10.0-gpu")
    )
    one = shell("huggingface-4.49")
    assert "==4.49.0" in one
    assert "aws/deep-learning-containers@" in one
    assert "3.11.10 → 3.12.8" in shell("pytorch-2.5.1-gpu", "pytorch-2.6.0-gpu")
    assert {"pytorch-2.13.0-cpu", "pytorch-2.13.0-gpu"} <= {row["name"] for row in json.loads(shell("--json"))}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing",), "wanted one of the names"),
        (("--on", "ml.nothing.xlarge"), "ml.nothing.xlarge"),
        (("pytorch-2.5", "pytorch-2.6", "pytorch-2.7"), "wanted one, or two"),
    ],
)
def test_a_mistaken_image_is_refused(arguments: tuple[str, ...], says: str) -> None:
    ran = CliRunner().invoke(cli, ["catalog", "images", *arguments])
    assert ran.exit_code
    assert says in ran.output + str(ran.exception)
