"""The tables agree with their sources: botocore's service model, the SDK's image tables."""

from __future__ import annotations

import botocore.session
import jobs
import pytest

import sm_trn as st
from sm_trn.core.catalog import compiler, find_instance, image_uri, images, instance, instances, limits
from sm_trn.core.errors import UnknownName

MODEL = botocore.session.get_session().get_service_model("sagemaker")


def test_every_training_instance_is_in_the_apis_enumeration() -> None:
    known = set(MODEL.shape_for("TrainingInstanceType").enum)
    assert {row.name for row in instances().values() if row.trains} == known
    assert not {row.name for row in instances().values() if not row.trains} & known


@pytest.mark.parametrize(
    "shape", ["TrainingJobName", "HyperParameterValue", "MetricRegex", "TrainingEnvironmentValue", "TagList"]
)
def test_limits_are_botocores_own(shape: str) -> None:
    assert MODEL.shape_for(shape).metadata["max"] == limits.maximum(shape)


@pytest.mark.parametrize(
    ("name", "workers"),
    [
        ("ml.trn1.32xlarge", 32),
        ("ml.trn1.2xlarge", 2),
        ("ml.trn2.48xlarge", 64),
        ("ml.p4d.24xlarge", 8),
        ("ml.c5.xlarge", 1),
    ],
)
def test_workers_are_gpus_or_neuron_cores(name: str, workers: int) -> None:
    assert workers == instance(name).workers


def test_an_unknown_instance_gets_the_nearest_name() -> None:
    assert find_instance("ml.trn1.32xlage") is None
    with pytest.raises(UnknownName, match=r"did you mean 'ml.trn1.32xlarge'\?"):
        instance("ml.trn1.32xlage")


def test_every_row_names_its_source() -> None:
    assert all(row.source for row in instances().values())
    assert all(row.source and row.as_of for family in images.families() for row in images.rows(family))


def test_support_lists_name_catalogued_instances() -> None:
    assert {*compiler.SMDDP_INSTANCES, *compiler.SMDDP_LEGACY} <= set(instances())
    assert set(compiler.COMPILER_FAMILIES) <= {row.family for row in instances().values()}


def test_trainium_takes_the_newest_release_that_trains_on_xla() -> None:
    uri = image_uri(jobs.trainium("."), "us-west-2")
    assert (
        uri
        == "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training-neuronx:2.9.0-neuronx-py312-sdk2.29.1-ubuntu24.04"
    )


def test_a_named_neuron_release_is_taken_at_its_word() -> None:
    job = jobs.trainium(".").replace(framework=st.NeuronX("2.9.0", neuron_sdk="2.28.0"))
    assert image_uri(job, "us-west-2").endswith("sdk2.28.0-ubuntu24.04")


def test_china_has_its_own_domain_and_account() -> None:
    assert (
        image_uri(jobs.smddp("."), "cn-north-1")
        == "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/pytorch-training:1.11-gpu-py38"
    )


def test_a_region_without_the_image_is_refused() -> None:
    with pytest.raises(UnknownName, match="region: got 'mars-1'"):
        image_uri(jobs.smddp("."), "mars-1")
