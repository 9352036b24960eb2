"""What is done to a part of an estimator, or to its copy, is what SDK v2 makes of it, or a hole."""

from __future__ import annotations

import pytest

from sm_trn.bridge.launchers import read_text

HEAD = """
import copy
from sagemaker.inputs import TrainingInput
from sagemaker.pytorch import PyTorch
channel = TrainingInput("s3://b/train")
estimator = PyTorch(entry_point="train.py", role="arn:aws:iam::111122223333:role/own", framework_version="2.1", py_version="py310",
                    instance_type="ml.g5.xlarge", instance_count=1, environment={"Q": "1"}, tags=[{"Key": "a", "Value": "b"}],
                    metric_definitions=[], max_run=60)
"""
ENVIRONMENT, TAGS, TIME = "Environment", "Tags", "StoppingCondition"
OTHER = {"Q": "1", "E": "2"}


@pytest.mark.parametrize(
    ("body", "member", "expected"),
    [
        ("estimator.environment.update(E='2')", ENVIRONMENT, OTHER),
        ("estimator.environment['E'] = '2'", ENVIRONMENT, OTHER),
        ("estimator.environment.setdefault('E', '2')", ENVIRONMENT, OTHER),
        ("put = estimator.environment.update\nput(E='2')", ENVIRONMENT, OTHER),
        ("own = estimator.environment\nown.update(E='2')", ENVIRONMENT, OTHER),
        ("def put(own):\n    own.update(E='2')\nput(estimator.environment)", ENVIRONMENT, OTHER),
        ("(lambda own: own.update(E='2'))(estimator.environment)", ENVIRONMENT, OTHER),
        ("for own in [estimator.environment]:\n    own['E'] = '2'", ENVIRONMENT, OTHER),
        ("estimator.environment.pop('Q')", ENVIRONMENT, {}),
        ("estimator.tags.append({'Key': 'c', 'Value': 'd'})", TAGS, [{"Key": "a", "Value": "b"}, {"Key": "c", "Value": "d"}]),
        ("estimator.tags[0]['Value'] = 'z'", TAGS, [{"Key": "a", "Value": "z"}]),
        ("estimator.tags[0].update(Value='z')", TAGS, [{"Key": "a", "Value": "z"}]),
        ("first = estimator.tags[0]\nfirst['Value'] = 'z'", TAGS, [{"Key": "a", "Value": "z"}]),
        ("for tag in estimator.tags:\n    tag['Value'] = 'z'", TAGS, [{"Key": "a", "Value": "z"}]),
        ("[tag.update(Value='z') for tag in estimator.tags]", TAGS, [{"Key": "a", "Value": "z"}]),
        ("estimator.__dict__.update(max_run=70)", TIME, {"MaxRuntimeInSeconds": 70}),
        ("vars(estimator).update(max_run=70)", TIME, {"MaxRuntimeInSeconds": 70}),
        ("other = copy.copy(estimator)\nother.max_run = 70", TIME, {"MaxRuntimeInSeconds": 60}),
        ("other = copy.deepcopy([estimator])[0]\nother.max_run = 70", TIME, {"MaxRuntimeInSeconds": 60}),
        ("other = estimator\nother.max_run = 70", TIME, {"MaxRuntimeInSeconds": 70}),
        ("estimator.sagemaker_session.max_run = 70\nestimator.max_run = estimator.max_run + 5", TIME, {"MaxRuntimeInSeconds": 65}),
        ("estimator.sagemaker_session.default_bucket_prefix = 'p'", "OutputDataConfig",
         {"S3OutputPath": "s3://YOUR-BUCKET/p/"}),
    ],
)  # fmt: skip
def test_a_part_that_changes_changes_the_request(body: str, member: str, expected: object) -> None:
    (launch, *_) = read_text(f"{HEAD}{body}\nestimator.fit()", "launch.py").launches
    assert launch.holes or launch.jobs[0].request.get(member, {}) == expected


@pytest.mark.parametrize(
    "body", ["channel.config.update(ContentType='text/csv')", "channel.config['ContentType'] = 'text/csv'"]
)
def test_a_part_of_an_input_that_changes_changes_the_request(body: str) -> None:
    (launch,) = read_text(f"{HEAD}{body}\nestimator.fit(channel)", "launch.py").launches
    assert launch.holes or "'ContentType': 'text/csv'" in str(launch.jobs[0].request["InputDataConfig"])


def test_what_is_done_to_the_parts_in_public_is_read() -> None:
    body = "estimator.environment.update(E='2')\nestimator.tags.append({'Key': 'c', 'Value': 'd'})"
    (launch,) = read_text(f"{HEAD}{body}\nestimator.fit()", "launch.py").launches
    assert launch.complete


def test_an_estimator_that_other_code_may_have_changed_is_a_hole_that_no_value_fills() -> None:
    (launch,) = read_text(f"{HEAD}import elsewhere\nelsewhere.tune(estimator)\nestimator.fit()", "launch.py").launches
    assert [""] == [hole.give for hole in launch.holes]
