"""Our images against those that SDK v2 names: every version, spelling, processor and region of its tables."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jobs
import pytest

import sm_trn as st
from sm_trn.core.catalog import image_uri, images
from sm_trn.core.errors import UnknownName

image_uris: Any = pytest.importorskip(
    "sagemaker.image_uris", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'"
)
pytestmark = pytest.mark.sdk
TABLES = Path(image_uris.__file__).parent / "image_uri_config"
PYTHONS = ("py2", "py3", "py36", "py37", "py38", "py39", "py310", "py311", "py312")
INSTANCES = ("ml.m5.xlarge", "ml.t3.medium", "ml.g5.xlarge", "ml.p4d.24xlarge", "ml.p2.xlarge")
SMP = {"torch_distributed": {"enabled": True}, "smdistributed": {"modelparallel": {"enabled": True, "parameters": {}}}}
# PyTorch versions under which the SDK finds an image of the model-parallel library, because its table mixes them with
# versions of that library; nothing says that such an image was published.
NOT_PYTORCH = {"2.5.0", "2.7.0", "2.8.0"}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


def table(name: str) -> Any:
    body = json.loads((TABLES / f"{name}.json").read_text())
    return body.get("training", body)


def spellings(name: str) -> list[str]:
    """Every version of a table, in full and short, and one that is too short."""
    body = table(name)
    minors = {version.rpartition(".")[0] for version in body["versions"]}
    return sorted({*body["versions"], *body.get("version_aliases", ()), *minors, "2", "99.0"})


def theirs(region: str, framework: str, **wanted: Any) -> str | None:
    """The SDK's image; None where it refuses."""
    try:
        return str(image_uris.get_training_image_uri(region, framework, **wanted))
    except ValueError:
        return None


def ours(job: st.JobSpec, region: str) -> str | None:
    try:
        return image_uri(job, region)
    except UnknownName:
        return None


def job(framework: Any, instance: str, **more: Any) -> st.JobSpec:
    return jobs.smddp(".").replace(framework=framework, compute=st.Compute(instance), distribution=None, **more)


@pytest.mark.parametrize("instance", INSTANCES)
def test_every_pytorch_version_has_the_sdks_image(instance: str) -> None:
    for version, python in itertools.product(spellings("pytorch"), PYTHONS):
        asked = job(st.PyTorch(version, python=python), instance)
        sdk = theirs("us-east-1", "pytorch", framework_version=version, py_version=python, instance_type=instance)
        assert sdk == ours(asked, "us-east-1"), (version, python)


@pytest.mark.parametrize("instance", ["ml.m5.xlarge", "ml.p4d.24xlarge"])
@pytest.mark.parametrize("compiled", [False, True])
def test_every_hugging_face_version_has_the_sdks_image(instance: str, *, compiled: bool) -> None:
    from sagemaker.huggingface import TrainingCompilerConfig

    name = "huggingface-training-compiler" if compiled else "huggingface"
    pairs = {
        (spelled(version, short), spelled(key.removeprefix("pytorch"), short))
        for version, row in table(name)["versions"].items()
        for key in row
        if key.startswith("pytorch")
        for short in (False, True)
    }
    for (transformers, pytorch), python in itertools.product(sorted(pairs), PYTHONS):
        compiler = st.TrainingCompiler() if compiled else None
        asked = job(st.HuggingFace(transformers, pytorch=pytorch, python=python), instance, compiler=compiler)
        sdk = theirs(
            "us-east-1", "huggingface", framework_version=transformers, pytorch_version=pytorch, py_version=python,
            instance_type=instance, compiler_config=TrainingCompilerConfig() if compiled else None,
        )  # fmt: skip
        assert sdk == ours(asked, "us-east-1"), (transformers, pytorch, python)


def spelled(version: str, short: bool) -> str:
    return version.rpartition(".")[0] if short else version


def test_every_compiled_pytorch_version_has_the_sdks_image() -> None:
    from sagemaker.pytorch import TrainingCompilerConfig

    for version, python in itertools.product(spellings("pytorch-training-compiler"), PYTHONS):
        asked = job(st.PyTorch(version, python=python), "ml.p4d.24xlarge", compiler=st.TrainingCompiler())
        sdk = theirs(
            "us-east-1", "pytorch", framework_version=version, py_version=python,
            instance_type="ml.p4d.24xlarge", compiler_config=TrainingCompilerConfig(),
        )  # fmt: skip
        assert sdk == ours(asked, "us-east-1"), (version, python)


@pytest.mark.parametrize("instance", ["ml.p4d.24xlarge", "ml.p5.48xlarge"])
def test_every_version_of_the_model_parallel_library_has_the_sdks_image(instance: str) -> None:
    for version, python in itertools.product(set(spellings("pytorch-smp")) - NOT_PYTORCH, PYTHONS):
        asked = job(st.PyTorch(version, python=python), instance).replace(distribution=st.specs.SMModelParallelV2())
        sdk = theirs(
            "us-east-1",
            "pytorch",
            framework_version=version,
            py_version=python,
            instance_type=instance,
            distribution=SMP,
        )
        assert sdk == ours(asked, "us-east-1"), (version, python)


def test_every_image_is_in_the_sdks_regions_under_the_sdks_accounts() -> None:
    for row in (row for name in SDK_TABLES for row in images.rows(name) if row.sdk_v2):
        version = table(SDK_TABLES[row.family])["versions"]
        pytorch = "2.7.0" if row.transformers == "4.55.4" else row.pytorch  # the SDK's slip: the image has 2.8.0
        found = version[row.transformers][f"pytorch{pytorch}"] if row.transformers else version.get(row.pytorch)
        found = found or version["2.0.1"]  # the model-parallel library's, which are all alike
        assert found["registries"] == images.registries(row), row


SDK_TABLES = {
    "pytorch": "pytorch",
    "huggingface": "huggingface",
    "pytorch-compiler": "pytorch-training-compiler",
    "huggingface-compiler": "huggingface-training-compiler",
    "huggingface-neuronx": "huggingface-neuronx",
    "neuron-legacy": "pytorch-neuron",
    "pytorch-smp": "pytorch-smp",
}


@pytest.mark.parametrize("region", images.regions())
@pytest.mark.parametrize("version", ["1.1.0", "1.13.1", "2.1.0", "2.8.0"])
def test_a_regions_image_is_the_sdks(region: str, version: str) -> None:
    row = next(row for row in images.rows("pytorch") if row.pytorch == version)
    assert row.python is not None
    sdk = theirs(region, "pytorch", framework_version=version, py_version=row.python, instance_type="ml.g5.xlarge")
    assert sdk == ours(job(st.PyTorch(version, python=row.python), "ml.g5.xlarge"), region)


@pytest.mark.parametrize("instance", ["ml.p7.48xlarge", "ml.g9.xlarge", "ml.m9i.large", "ml.x1.large"])
def test_an_instance_type_that_is_too_new_for_the_table_has_the_sdks_image(instance: str) -> None:
    sdk = theirs("us-east-1", "pytorch", framework_version="2.8", py_version="py312", instance_type=instance)
    assert sdk == ours(job(st.PyTorch("2.8", python="py312"), instance), "us-east-1")


@pytest.mark.parametrize(
    ("first", "second", "processor"),
    [
        ("ml.m5.xlarge", "ml.p4d.24xlarge", "gpu"),
        ("ml.g5.xlarge", "ml.m5.xlarge", "gpu"),
        ("ml.m5.xlarge", "ml.c5.xlarge", "cpu"),
    ],
)
def test_of_groups_the_gpus_choose_the_image(first: str, second: str, processor: str) -> None:
    groups = tuple(st.specs.InstanceGroup(name=name, instance=name) for name in (first, second))
    asked = job(st.PyTorch("2.8", python="py312"), first).replace(compute=st.Compute(groups=groups))
    assert str(ours(asked, "us-east-1")).endswith(f"pytorch-training:2.8-{processor}-py312")
