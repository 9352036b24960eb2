"""The table of algorithms and other frameworks selects the images that SDK v2 selects."""

from __future__ import annotations

import itertools

import pytest

from sm_trn.catalog import algorithms
from sm_trn.errors import UnknownName

MACHINES = ("ml.m5.xlarge", "ml.p4d.24xlarge")


def chosen(name: str, region: str, wanted: algorithms.Wanted) -> str | None:
    try:
        return algorithms.training_image(name, region, wanted)
    except UnknownName:
        return None


@pytest.mark.sdk
@pytest.mark.parametrize("name", algorithms.algorithms())
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


def test_what_the_table_lacks_has_no_image() -> None:
    for wanted in (algorithms.Wanted(version="1.13"), algorithms.Wanted(version="0.0")):
        assert chosen("tensorflow", "us-west-2", wanted) is None
    assert chosen("nothing", "us-west-2", algorithms.Wanted()) is None
    assert chosen("xgboost", "nowhere", algorithms.Wanted(version="1.7-1")) is None
