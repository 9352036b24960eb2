"""The table of algorithms and other frameworks selects the images that SDK v2 selects."""

from __future__ import annotations

import itertools

import pytest

from sm_trn.core.catalog import algorithms
from sm_trn.core.errors import UnknownName

MACHINES = ("ml.m5.xlarge", "ml.p4d.24xlarge")
TENSORFLOW = "huggingface-tensorflow"  # of two versions in one: the SDK has another function for it


def chosen(name: str, region: str, wanted: algorithms.Wanted) -> str | None:
    try:
        return algorithms.training_image(name, region, wanted)
    except UnknownName:
        return None


@pytest.mark.sdk
@pytest.mark.parametrize("name", [name for name in algorithms.algorithms() if name != TENSORFLOW])
def test_an_image_is_the_one_of_the_sdk(name: str) -> None:
    image_uris = pytest.importorskip("sagemaker.image_uris", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    entry = algorithms._table()["images"][name]
    versions = [*entry["versions"], *entry.get("aliases", {})]
    compared = 0
    for version, machine, region in itertools.product(
        {versions[0], versions[len(versions) // 2], versions[-1]}, MACHINES, ("us-west-2",)
    ):
        row = entry["versions"].get(entry.get("aliases", {}).get(version, version), {})
        for python in row.get("py_versions") or [None]:
            found = chosen(name, region, algorithms.Wanted(version=version, python=python, instance=machine))
            if found is not None:
                asked = {"version": version, "py_version": python, "instance_type": machine, "image_scope": "training"}
                assert found == image_uris.retrieve(name, region, **asked)
                compared += 1
    assert compared


@pytest.mark.sdk
@pytest.mark.parametrize("region", ["us-west-2", "eu-west-1", "cn-north-1"])
def test_hugging_faces_tensorflow_images_are_the_sdks(region: str) -> None:
    image_uris = pytest.importorskip("sagemaker.image_uris", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    entry = algorithms._table()["images"][TENSORFLOW]
    for version, machine in itertools.product((*entry["versions"], *entry["aliases"]), MACHINES):
        tensorflow, _, transformers = version.partition("-transformers")
        row = entry["versions"][entry["aliases"].get(version, version)]
        found = chosen(
            TENSORFLOW, region, algorithms.Wanted(version=version, python=row["py_versions"][0], instance=machine)
        )
        asked = {
            "framework_version": transformers,
            "tensorflow_version": tensorflow,
            "py_version": row["py_versions"][0],
        }
        try:
            theirs = image_uris.get_training_image_uri(region, "huggingface", instance_type=machine, **asked)
        except ValueError:
            theirs = None
        assert found == theirs, (version, machine)
    assert len(entry["versions"]) == 8


def test_what_the_table_lacks_has_no_image() -> None:
    for wanted in (algorithms.Wanted(version="1.13"), algorithms.Wanted(version="0.0")):
        assert chosen("tensorflow", "us-west-2", wanted) is None
    assert chosen("nothing", "us-west-2", algorithms.Wanted()) is None
    assert chosen("xgboost", "nowhere", algorithms.Wanted(version="1.7-1")) is None
