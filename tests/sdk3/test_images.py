"""Images that SDK v2's tables lack, against those that SDK v3 names: every row, spelling, processor and region of them."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import jobs
import pytest
from v3_wire import installed

import sm_trn as st
from sm_trn.core.catalog import image_uri, images
from sm_trn.core.catalog.renewal import newer_images

if not installed():
    pytest.skip("needs SageMaker SDK v3, in an environment of its own: .ci/sdk3", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("default")  # the SDK's own deprecations
INSTANCES = {"gpu": "ml.g5.xlarge", "cpu": "ml.m5.xlarge"}
NEW = [row for family in ("pytorch", "huggingface") for row in images.rows(family) if not row.sdk_v2]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


def theirs(row: images.ImageRow, version: str, instance: str, region: str) -> str:
    from sagemaker.core import image_uris

    asked: dict[str, Any] = {"region": region, "image_scope": "training", "instance_type": instance}
    if row.transformers:
        return str(
            image_uris.retrieve(
                "huggingface", version=row.transformers, py_version=row.python, container_version=row.container,
                base_framework_version=f"pytorch{row.pytorch}", **asked,
            )
        )  # fmt: skip
    if row.repository == "pytorch":
        return str(image_uris.retrieve("pytorch-amzn2023", version=version, **asked))
    return str(image_uris.retrieve("pytorch", version=version, py_version=row.python, **asked))


@pytest.mark.parametrize("row", NEW, ids=lambda row: f"{row.pytorch}-{row.transformers or ''}")
def test_every_image_that_sdk_v2_lacks_is_sdk_v3s_in_its_regions(row: images.ImageRow) -> None:
    version = ".".join(row.pytorch.split(".")[:2])  # of Amazon Linux's images SDK v3 knows the short spelling alone
    for processor, region in itertools.product(row.processors, images.registries(row)):
        framework: Any = st.PyTorch(version, python=row.python or "py312")
        if row.transformers:
            framework = st.HuggingFace(row.transformers, pytorch=row.pytorch, python=row.python or "py312")
        instance = INSTANCES[processor]
        asked = jobs.smddp(".").replace(framework=framework, compute=st.Compute(instance), distribution=None)
        assert theirs(row, version, instance, region) == image_uri(asked, region)


def test_the_table_is_not_older_than_90_days_while_sdk_v3_knows_a_newer_image() -> None:
    """When this fails, take over the rows that ``sm-trn catalog update`` shows."""
    today = date.today()  # noqa: DTZ011 - the age of a file, in days
    newest = max(row.as_of for family in images.families() for row in images.rows(family))
    rows, _ = newer_images(today.isoformat())
    assert [] == rows or newest >= (today - timedelta(days=90)).isoformat(), rows
