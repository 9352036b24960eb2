"""Images that no table knows, and jobs without a script: what is asked of them, and how each target takes them."""

from __future__ import annotations

from typing import Any

import pytest

import sm_trn as st
from sm_trn.core.render import parse_request
from sm_trn.core.specs import Severity

OWN = "123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1"
JOB = st.JobSpec(
    name="own",
    framework=st.Container(),
    image_uri=OWN,
    compute=st.Compute("ml.m5.large"),
    hyperparameters={"depth": 6, "objective": "reg:squarederror"},
)


def errors(job: st.JobSpec) -> set[str]:
    return {problem.id for problem in st.check(job) if problem.severity is Severity.ERROR}


def test_an_image_of_ones_own_needs_no_script() -> None:
    assert set() == errors(JOB)
    request = st.render(JOB)
    assert (OWN, {"depth": "6", "objective": "reg:squarederror"}) == (
        request["AlgorithmSpecification"]["TrainingImage"],
        request["HyperParameters"],
    )


def test_an_algorithm_resource_stands_in_the_place_of_an_image() -> None:
    job = JOB.replace(framework=st.Container(algorithm="scikit-decision-trees"), image_uri=None)
    assert set() == errors(job)
    algorithm = st.render(job)["AlgorithmSpecification"]
    assert ("scikit-decision-trees", False) == (algorithm["AlgorithmName"], "TrainingImage" in algorithm)
    assert job == parse_request(st.render(job)).replace(
        output=job.output, metrics=job.metrics, hyperparameters=job.hyperparameters
    )


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"image_uri": None}, "IMG006"),
        ({"framework": st.Container(algorithm="a")}, "IMG006"),
        ({"framework": st.PyTorch("2.8.0", python="py312"), "image_uri": None}, "SCRIPT010"),
        ({"distribution": st.TorchDistributed()}, "SCRIPT010"),
        ({"compute": st.Compute("serverless")}, "LIMIT001"),
    ],
)
def test_what_cannot_run_is_refused(changes: dict[str, Any], rule: str) -> None:
    assert rule in errors(JOB.replace(**changes))


@pytest.mark.parametrize(
    "changes", [{"compute": st.Compute("ml.trn1.2xlarge")}, {"script": st.Script("t.py", source_dir="s3://b/s")}]
)
def test_nothing_is_claimed_of_an_image_that_nobody_knows(changes: dict[str, Any]) -> None:
    assert set() == errors(JOB.replace(**changes))


def test_a_script_in_an_image_of_ones_own_is_started_by_the_toolkit() -> None:
    job = JOB.replace(script=st.Script("t.py", source_dir="s3://b/s.tar.gz"))
    sent = st.render(job)["HyperParameters"]
    assert ('"t.py"', '"s3://b/s.tar.gz"', "6") == (
        sent["sagemaker_program"],
        sent["sagemaker_submit_directory"],
        sent["depth"],
    )
    assert "sagemaker.pytorch.PyTorch" == st.render(job, "estimator-v2").cls


def test_every_target_takes_an_image_with_its_own_program_or_says_why_not() -> None:
    assert "sagemaker.estimator.Estimator" == st.render(JOB, "estimator-v2").cls
    trainer = st.render(JOB, "model-trainer-v3").kwargs
    assert (OWN, False) == (trainer["training_image"], "source_code" in trainer)
    with pytest.raises(st.errors.InvalidJob, match=r"error\[TARGET062\] script: the program is inside the image"):
        st.render(JOB, "local")


@pytest.mark.parametrize("target", ["estimator-v2", "model-trainer-v3"])
def test_a_target_of_images_refuses_an_algorithm(target: str) -> None:
    with pytest.raises(st.errors.InvalidJob, match=r"error\[TARGET(020|102)\] image_uri"):
        st.render(JOB.replace(framework=st.Container(algorithm="a"), image_uri=None), target)
