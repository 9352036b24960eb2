"""Hypothesis strategies for CreateTrainingJob requests, drawn from botocore's own shapes: rare and new fields as well as common ones."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as some
from strategies_of_values import specs

import sm_trn as st
from sm_trn.core.catalog import images, limits
from sm_trn.core.specs import Destination

DEEPEST = 6
TEXT = some.text(some.characters(codec="utf-8"), max_size=8)
WORDS = some.sampled_from(["a", "b", "code", "train", "x=y", "a/b", "~", "Tags", "0", "sagemaker_program", ""])
IMAGES = some.sampled_from(
    [
        "123456789012.dkr.ecr.us-east-1.amazonaws.com/own:latest",
        "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training:2.8.0-gpu-py312-cu129-ubuntu22.04-sagemaker",
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:1.11-gpu-py38",
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-training:2.1",
        *(images.image_uri(_job, "us-east-1") for _job in (
            st.JobSpec(name="a", framework=st.NeuronX("2.9.0"), compute=st.Compute("ml.trn1.2xlarge")),
            st.JobSpec(name="a", framework=st.HuggingFace("4.21", pytorch="1.11", python="py38"), compute=st.Compute("ml.p3.2xlarge"),
                       compiler=st.TrainingCompiler()))),
    ]
)  # fmt: skip
SCALARS = some.one_of(
    TEXT, some.integers(), some.floats(), some.booleans(), some.none(), some.lists(some.integers(), max_size=2)
)
VALUES = some.one_of(
    SCALARS.map(json.dumps),
    TEXT,
    some.sampled_from(['"s3://b/source.tar.gz"', "5E-5", "1e999", '"\\ud800"', "true", "[" * 2000]),
)
TOOLKIT = some.fixed_dictionaries(
    {},
    optional={
        "sagemaker_program": some.sampled_from(['"train.py"', "train.py", "3", '""']),
        "sagemaker_submit_directory": some.sampled_from(
            ['"s3://b/k/sourcedir.tar.gz"', "s3://b/k", '"/opt/ml/input/data/code/sourcedir.tar.gz"', "7"]
        ),
        "sagemaker_job_name": some.sampled_from(['"another"', "x"]),
        "sagemaker_region": some.sampled_from(['"us-east-1"', "eu-west-1", "3"]),
        "sagemaker_container_log_level": some.sampled_from(["20", "10", '"20"']),
        "sagemaker_instance_type": some.just('"ml.p4d.24xlarge"'),
        "sagemaker_torch_distributed_enabled": some.sampled_from(["true", "false", '"true"']),
        "sagemaker_distributed_dataparallel_enabled": some.sampled_from(["true", "false"]),
        "sagemaker_pytorch_ddp_enabled": some.just("true"),
        "sagemaker_pytorch_xla_multi_worker_enabled": some.just("true"),
        "sagemaker_mpi_enabled": some.sampled_from(["true", "false"]),
        "sagemaker_mpi_num_of_processes_per_host": some.sampled_from(["8", '"8"', "true", "0"]),
        "sagemaker_mpi_custom_mpi_options": some.sampled_from(['""', '"-x A"', "3"]),
        "sagemaker_training_compiler_enabled": some.sampled_from(["true", "false"]),
        "sagemaker_training_compiler_debug_mode": some.sampled_from(["true", "false"]),
        "mp_parameters": some.sampled_from(
            ['{"partitions": 2, "unheard_of": 1}', '{"tensor_parallel_degree": 8}', "x", "[]"]
        ),
    },
)
HYPERPARAMETERS = some.builds(dict.__or__, some.dictionaries(some.one_of(WORDS, TEXT), VALUES, max_size=3), TOOLKIT)
SPECIAL: dict[str, Any] = {
    "TrainingJobName": some.sampled_from(
        ["a", "bert-261120-101500-a1b2c3", "sdk-2026-11-20-16-15-23-990", "v3-20261120163549", "x" * 63]
    ),
    "AlgorithmImage": IMAGES,
    "HyperParameters": HYPERPARAMETERS,
    "ChannelName": WORDS,
    "InstanceGroupName": WORDS,
    "TagKey": WORDS,
    "MetricName": WORDS,
    "S3Uri": some.sampled_from(["s3://b/", "s3://b/k", "https://b/k", ""]),
}


def of_shape(name: str, depth: int = 0) -> Any:
    """Anything of a shape: every required member, and some of the others."""
    shape = limits.shapes()[name]
    if name in SPECIAL:
        return SPECIAL[name]
    if "enum" in shape:
        return some.sampled_from(shape["enum"])
    if shape["type"] == "structure":
        members = {
            key: of_shape(member["shape"], depth + 1) for key, member in shape["members"].items() if depth < DEEPEST
        }
        required = set(shape.get("required", ()))
        optional = {key: value for key, value in members.items() if key not in required}
        return some.fixed_dictionaries({key: members[key] for key in required & set(members)}, optional=optional)
    if shape["type"] == "list":
        return some.lists(of_shape(shape["member"]["shape"], depth + 1), max_size=3)
    if shape["type"] == "map":
        return some.dictionaries(some.one_of(WORDS, TEXT), TEXT, max_size=2)
    return {
        "string": TEXT,
        "boolean": some.booleans(),
        "integer": some.integers(-1, 100_000),
        "long": some.integers(-1, 100_000),
    }[shape["type"]]


def requests() -> Any:
    """Requests of the model's shape, and requests of our own specs with some of their fields replaced by those."""
    return some.one_of(
        of_shape("CreateTrainingJobRequest"),
        some.builds(_mixed, specs("s3://b/src"), of_shape("CreateTrainingJobRequest")),
    )


def _mixed(job: st.JobSpec, other: dict[str, Any]) -> dict[str, Any]:
    at = Destination(
        role="arn:aws:iam::123456789012:role/r",
        region="us-east-1",
        bucket="b",
        job_name=f"{job.name}-1",
        source_uri="s3://b/s",
    )
    try:
        request: dict[str, Any] = st.render(job, at=at)
    except st.errors.UnknownName:
        return other
    names = sorted(set(other) - {"TrainingJobName"})[::2]
    return {**request, **{name: other[name] for name in names}}
