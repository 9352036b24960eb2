"""Our tables against the SDK's own, row by row: what AWS adds or drops shows up here first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sm_trn.catalog import compiler, images

sagemaker: Any = pytest.importorskip("sagemaker.fw_utils", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
pytestmark = pytest.mark.sdk
TABLES = Path(sagemaker.__file__).parent / "image_uri_config"


def table(name: str) -> Any:
    body = json.loads((TABLES / f"{name}.json").read_text())
    return body.get("training", body)


def full(versions: list[str]) -> set[str]:
    return {version for version in versions if version.count(".") == 2}


def test_the_compilers_families_are_the_sdks() -> None:
    from sagemaker.training_compiler.config import TrainingCompilerConfig

    assert set(TrainingCompilerConfig.SUPPORTED_INSTANCE_CLASS_PREFIXES) == set(compiler.COMPILER_FAMILIES)


def test_smddp_instances_and_versions_are_the_sdks() -> None:
    theirs = {name for name in sagemaker.SM_DATAPARALLEL_SUPPORTED_INSTANCE_TYPES if name.startswith("ml.")}
    assert theirs == {*compiler.SMDDP_INSTANCES, *compiler.SMDDP_LEGACY}
    versions = full(sagemaker.SM_DATAPARALLEL_SUPPORTED_FRAMEWORK_VERSIONS["pytorch"])
    assert versions == full(list(compiler.SMDDP_PYTORCH))


def test_no_pytorch_image_of_the_sdk_is_missing() -> None:
    theirs = {version for version in table("pytorch")["versions"] if tuple(map(int, version.split("."))) >= (1, 7)}
    assert theirs == {row.pytorch for row in images.rows("pytorch")}


@pytest.mark.parametrize(
    ("family", "name"), [("huggingface", "huggingface"), ("huggingface-compiler", "huggingface-training-compiler")]
)
def test_no_hugging_face_image_of_the_sdk_is_missing(family: str, name: str) -> None:
    theirs = {
        (version, key.removeprefix("pytorch"))
        for version, row in table(name)["versions"].items()
        for key in row
        if key.startswith("pytorch") and not key.endswith("1.6.0")
    }
    assert theirs == {(row.transformers, row.pytorch) for row in images.rows(family)}


def test_hugging_faces_trainium_images_are_those_of_the_sdks_data() -> None:
    rows = table("huggingface-neuronx")["versions"]
    assert set(rows) == {row.transformers for row in images.rows("huggingface-neuronx")}


def test_the_sdk_still_knows_one_trainium_image_of_2022_only() -> None:
    """When this fails, the SDK has learned; IMG003's evidence and the README must follow."""
    assert ["1.11.0"] == list(table("pytorch-neuron")["versions"])
    assert not (TABLES / "pytorch-neuronx.json").exists()


def test_smp_images_resolve_as_the_sdk_resolves_them() -> None:
    import jobs
    from sagemaker import image_uris

    import sm_trn as st
    from sm_trn.catalog import image_uri

    distribution = {
        "torch_distributed": {"enabled": True},
        "smdistributed": {"modelparallel": {"enabled": True, "parameters": {}}},
    }
    for row in images.rows("pytorch-smp"):
        theirs = image_uris.get_training_image_uri(
            "us-east-1",
            "pytorch",
            framework_version=row.pytorch,
            py_version=row.python,
            instance_type="ml.p4d.24xlarge",
            distribution=distribution,
        )
        job = jobs.smddp(".").replace(
            framework=st.PyTorch(row.pytorch, python=row.python), distribution=st.SMModelParallelV2()
        )
        assert theirs == image_uri(job, "us-east-1")
