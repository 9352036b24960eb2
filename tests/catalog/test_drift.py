"""Our tables against the SDK's own, row by row: what AWS adds or drops shows up here first."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from sm_trn.core.catalog import compiler, images, renewal

sagemaker: Any = pytest.importorskip("sagemaker.fw_utils", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
pytestmark = pytest.mark.sdk
TABLES = Path(sagemaker.__file__).parent / "image_uri_config"


def table(name: str) -> Any:
    body = json.loads((TABLES / f"{name}.json").read_text())
    return body.get("training", body)


def full(versions: list[str]) -> set[str]:
    return {version for version in versions if version.count(".") == 2}


def test_no_table_is_older_than_90_days_while_an_installed_package_is_newer() -> None:
    """The test of SDK v3's environment asks the same of SDK v3's tables."""
    today = date.today()  # noqa: DTZ011 - the age of a file, in days
    old = (today - timedelta(days=90)).isoformat()
    newer = {"images": renewal.newer_images(today.isoformat())[0], "instances": renewal.types_without_facts()}
    stale = [table.name for table in renewal.catalogue_tables() if table.as_of < old and newer.get(table.name)]
    assert [] == stale, newer


def test_the_compilers_families_are_the_sdks() -> None:
    from sagemaker.training_compiler.config import TrainingCompilerConfig

    assert set(TrainingCompilerConfig.SUPPORTED_INSTANCE_CLASS_PREFIXES) == set(compiler.COMPILER_FAMILIES)


def test_smddp_instances_and_versions_are_the_sdks() -> None:
    theirs = {name for name in sagemaker.SM_DATAPARALLEL_SUPPORTED_INSTANCE_TYPES if name.startswith("ml.")}
    assert theirs == {*compiler.SMDDP_INSTANCES, *compiler.SMDDP_LEGACY}
    spellings = sagemaker.SM_DATAPARALLEL_SUPPORTED_FRAMEWORK_VERSIONS["pytorch"]
    assert set(spellings) == compiler.SMDDP_SPELLINGS
    versions = full(sagemaker.SM_DATAPARALLEL_SUPPORTED_FRAMEWORK_VERSIONS["pytorch"])
    assert versions == full(list(compiler.SMDDP_PYTORCH))


def test_what_the_sdk_compares_with_torch_distributed_is_the_sdks() -> None:
    assert set(sagemaker.TORCH_DISTRIBUTED_GPU_SUPPORTED_FRAMEWORK_VERSIONS) == compiler.TORCHRUN_SPELLINGS


def test_no_pytorch_image_of_the_sdk_is_missing() -> None:
    assert set(table("pytorch")["versions"]) == {row.pytorch for row in images.rows("pytorch") if row.sdk_v2}


@pytest.mark.parametrize(
    ("family", "name"), [("huggingface", "huggingface"), ("huggingface-compiler", "huggingface-training-compiler")]
)
def test_no_hugging_face_image_of_the_sdk_is_missing(family: str, name: str) -> None:
    theirs = {
        (version, key.removeprefix("pytorch"))
        for version, row in table(name)["versions"].items()
        for key in row
        if key.startswith("pytorch")
    }
    assert theirs == {(row.transformers, row.pytorch) for row in images.rows(family) if row.sdk_v2}


def test_hugging_faces_trainium_images_are_those_of_the_sdks_data() -> None:
    rows = table("huggingface-neuronx")["versions"]
    assert set(rows) == {row.transformers for row in images.rows("huggingface-neuronx")}


def test_the_sdk_still_knows_one_trainium_image_of_2022_only() -> None:
    """When this fails, the SDK has learned; IMG003's evidence and the README must follow."""
    assert ["1.11.0"] == list(table("pytorch-neuron")["versions"])
    assert not (TABLES / "pytorch-neuronx.json").exists()
