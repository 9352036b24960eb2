"""What is kept of a request is put back exactly, and gives way where the spec was changed – said, never silently."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.jobfile import FORMATS, dump_job, load_jobs
from sm_trn.core.render import destination_of, parse_request, problems
from sm_trn.core.render.keeping import kept_parts, restored
from sm_trn.core.specs import json_text

NAMES = some.sampled_from(["a", "b", "0", "x/y", "~1", "InputDataConfig", "Tags", "k=v"])
LEAVES = some.one_of(some.none(), some.booleans(), some.integers(-1, 2), some.floats(allow_nan=False), NAMES)
ITEMS = some.dictionaries(
    some.sampled_from(["ChannelName", "Key", "Name", "other"]), some.one_of(NAMES, LEAVES), max_size=3
)
TREES = some.recursive(
    LEAVES,
    lambda inner: some.one_of(
        some.lists(some.one_of(inner, ITEMS), max_size=4),
        some.dictionaries(NAMES, inner, max_size=4),
        some.fixed_dictionaries(
            {}, optional={"InputDataConfig": some.lists(ITEMS, max_size=4), "Tags": some.lists(ITEMS, max_size=4)}
        ),
    ),
    max_leaves=12,
)
OBJECTS = some.dictionaries(NAMES, TREES, max_size=5)


@settings(max_examples=400)
@given(one=OBJECTS, two=OBJECTS)
def test_one_object_and_what_another_says_beyond_it_are_the_other(one: dict[str, Any], two: dict[str, Any]) -> None:
    untouched = copy.deepcopy(one)
    found, stale = restored(one, kept_parts(one, two))
    assert (json_text(two), ()) == (json_text(found), stale)
    assert json_text(untouched) == json_text(one)


@given(same=OBJECTS)
def test_nothing_is_kept_of_what_is_the_same(same: dict[str, Any]) -> None:
    assert () == kept_parts(same, same)


REQUEST: dict[str, Any] = {
    "TrainingJobName": "job-261120-101500-a1b2c3",
    "RoleArn": "arn:aws:iam::123456789012:role/r",
    "AlgorithmSpecification": {"TrainingImage": "123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1", "TrainingInputMode": "Pipe"},
    "HyperParameters": {"lr": "5E-5", "sagemaker_program": '"t.py"', "sagemaker_submit_directory": '"s3://b/s.tar.gz"', "rates": "[1]"},
    "InputDataConfig": [
        {"ChannelName": "fsx", "DataSource": {"FileSystemDataSource": {"FileSystemId": "fs-1"}}},
        {"ChannelName": "train", "ShuffleConfig": {"Seed": 1},
         "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/t"}}},
        {"ChannelName": "test", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/u"}}},
    ],
    "OutputDataConfig": {"S3OutputPath": "s3://b/out"},
    "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30,
                       "InstancePlacementConfig": {"EnableMultipleJobs": True}},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
}  # fmt: skip


def sent(job: st.JobSpec) -> dict[str, Any]:
    request: dict[str, Any] = st.render(job, at=destination_of(REQUEST))
    return request


def test_a_typed_part_is_changed_and_everything_kept_around_it_stays() -> None:
    job = parse_request(REQUEST)
    assert (["train", "test"], 5e-05) == (list(job.inputs), job.hyperparameters["lr"])
    changed = sent(
        job.replace(
            compute=dataclasses.replace(job.compute, instance="ml.p5.48xlarge"),
            inputs={**job.inputs, "more": "s3://b/more"},
        )
    )
    assert REQUEST["ResourceConfig"] | {"InstanceType": "ml.p5.48xlarge"} == changed["ResourceConfig"]
    assert [*REQUEST["InputDataConfig"]] == changed["InputDataConfig"][:3]
    assert "more" == changed["InputDataConfig"][3]["ChannelName"]
    assert [] == [problem.id for problem in problems(job, "request")]


PROFILED = {"ProfilerConfig": {"DisableProfiler": False, "S3OutputPath": "s3://b/out"}}


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"hyperparameters": {"lr": 0.1}}, ("HyperParameters", "lr"), "0.1"),
        ({"hyperparameters": {"lr": 5e-05, "rates": "none"}}, ("HyperParameters", "rates"), '"none"'),
        ({"extra": PROFILED}, ("ProfilerConfig",), PROFILED["ProfilerConfig"]),
    ],
    ids=["a spelling", "a value that had no word", "something that was left out"],
)
def test_a_change_wins_over_what_was_kept_there_and_that_is_said(
    change: dict[str, Any], place: tuple[str, ...], said: object
) -> None:
    job = parse_request(REQUEST).replace(**change)
    value = sent(job)
    for step in place:
        value = value[step]
    assert said == value
    (problem,) = problems(job, "request")
    assert ("TARGET150", "/".join(place)) == (problem.id, problem.got)


def test_a_channel_that_is_taken_away_takes_what_was_kept_of_it_along() -> None:
    job = parse_request(REQUEST)
    job = job.replace(inputs={"test": job.inputs["test"]})
    assert ["fsx", "test"] == [channel["ChannelName"] for channel in sent(job)["InputDataConfig"]]
    (problem,) = problems(job, "request")
    assert "InputDataConfig/ChannelName=train/DataSource/S3DataSource/S3DataDistributionType" in problem.got


def test_a_kept_channel_gives_way_to_one_of_the_same_name() -> None:
    job = parse_request(REQUEST)
    job = job.replace(inputs={**job.inputs, "fsx": "s3://b/f"})
    channels = sent(job)["InputDataConfig"]
    assert ["train", "test", "fsx"] == [channel["ChannelName"] for channel in channels]
    assert "s3://b/f" == channels[2]["DataSource"]["S3DataSource"]["S3Uri"]


def test_without_its_kept_parts_the_spec_alone_is_sent() -> None:
    assert (
        "File" == sent(parse_request(REQUEST).replace(kept=(), extra={}))["AlgorithmSpecification"]["TrainingInputMode"]
    )


def test_what_is_kept_is_listed_by_preflight() -> None:
    (problem,) = [problem for problem in st.check(parse_request(REQUEST)) if problem.id == "KEPT001"]
    assert "HyperParameters/lr" in problem.got


@pytest.mark.parametrize(
    ("target", "rule"), [("estimator-v2", "TARGET100"), ("model-trainer-v3", "TARGET100"), ("local", "TARGET063")]
)
def test_a_target_without_words_for_a_kept_part_names_it(target: str, rule: str) -> None:
    with pytest.raises(st.errors.InvalidJob, match=rf"error\[{rule}\] kept: .*InputDataConfig/0"):
        st.render(parse_request(REQUEST), target)


@pytest.mark.parametrize("target", ["estimator-v2", "model-trainer-v3"])
def test_an_algorithm_without_an_image_is_no_estimator(target: str) -> None:
    algorithm = {"AlgorithmName": "arn:aws:sagemaker:us-east-1:123456789012:algorithm/x", "TrainingInputMode": "File"}
    with pytest.raises(st.errors.InvalidJob, match=r"error\[TARGET102\] image_uri: "):
        st.render(parse_request(REQUEST | {"AlgorithmSpecification": algorithm}).replace(kept=()), target)


@pytest.mark.parametrize("target", ["estimator-v2", "model-trainer-v3", "local"])
def test_a_default_that_was_left_out_keeps_no_target_from_rendering(target: str) -> None:
    plain = {name: value for name, value in REQUEST.items() if name != "InputDataConfig"}
    plain |= {"ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}}
    plain |= {"AlgorithmSpecification": REQUEST["AlgorithmSpecification"] | {"TrainingInputMode": "File"}}
    plain |= {"HyperParameters": {key: text for key, text in REQUEST["HyperParameters"].items() if key != "rates"}}
    job = parse_request(plain)
    assert job.kept
    assert st.render(job, target) is not None
    assert any("ProfilerConfig" in problem.got or "kept" in problem.got for problem in problems(job, target))


@pytest.mark.parametrize("form", FORMATS)
def test_a_job_file_holds_what_is_kept(form: str) -> None:
    job = parse_request(REQUEST)
    assert (job,) == load_jobs(dump_job(job, form), form)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"at": "ProfilerConfig"}, "kept.at: got 'ProfilerConfig', wanted a pointer"),
        ({"at": "/a", "sent": "{"}, "kept.sent: got '{', wanted JSON text"),
        ({"at": "/a", "instead_of": "nul"}, "kept.instead_of: got 'nul', wanted JSON text"),
    ],
)
def test_a_kept_part_that_cannot_be_put_back_is_refused(wrong: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        st.specs.Kept(**wrong)
