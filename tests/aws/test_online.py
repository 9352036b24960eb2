"""Questions to an account, answered by botocore's own stubber: what is wrong is named, what cannot be asked is said."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import boto3
import jobs
import pytest
from botocore.stub import Stubber

import sm_trn as st
from sm_trn.core.aws import online
from sm_trn.core.aws.prices import parse_product
from sm_trn.core.specs import Problem


def client(service: str) -> Any:
    return boto3.client(service, region_name="us-west-2", aws_access_key_id="x", aws_secret_access_key="x")


def answers(service: str, operation: str, answer: dict[str, Any]) -> Any:
    stubbed = client(service)
    stub = Stubber(stubbed)
    stub.add_response(operation, answer)
    stub.activate()
    return stubbed


def refuses(service: str, operation: str, code: str) -> Any:
    stubbed = client(service)
    stub = Stubber(stubbed)
    stub.add_client_error(operation, code)
    stub.activate()
    return stubbed


def only(found: Any) -> Problem:
    (problem,) = found
    assert problem.got
    assert problem.wanted
    assert problem.fix
    return problem  # type: ignore[no-any-return]  # one Problem


def test_a_quota_below_the_count_is_an_error_with_its_code() -> None:
    answer = {"Quotas": [{"QuotaName": "ml.p4d.24xlarge for training job usage", "QuotaCode": "L-9", "Value": 1.0}]}
    problem = only(online.quota_problems(answers("service-quotas", "list_service_quotas", answer), jobs.smddp(".")))
    assert ("ONLINE001", "1 instances") == (problem.id, problem.got)
    assert "L-9" in problem.fix


def test_spot_has_a_quota_of_its_own() -> None:
    answer = {
        "Quotas": [
            {"QuotaName": "ml.trn1.32xlarge for training job usage", "Value": 0.0},
            {"QuotaName": "ml.trn1.32xlarge for spot training job usage", "Value": 4.0},
        ]
    }
    assert [] == list(online.quota_problems(answers("service-quotas", "list_service_quotas", answer), jobs.spot(".")))
    assert [] != list(
        online.quota_problems(answers("service-quotas", "list_service_quotas", answer), jobs.trainium("."))
    )


def role(principal: str) -> dict[str, Any]:
    return {
        "Role": {
            "Path": "/",
            "RoleName": "SageMakerExecutionRole",
            "RoleId": "AROAAAAAAAAAAAAAAAAA",
            "Arn": jobs.ROLE,
            "CreateDate": "2026-01-01T00:00:00Z",
            "AssumeRolePolicyDocument": json.dumps({"Statement": [{"Principal": {"Service": principal}}]}),
        }
    }


def test_a_role_must_exist_and_trust_sagemaker() -> None:
    assert "does not exist" in only(online.role_problems(refuses("iam", "get_role", "NoSuchEntity"), jobs.ROLE)).what
    assert (
        "may not assume"
        in only(online.role_problems(answers("iam", "get_role", role("ec2.amazonaws.com")), jobs.ROLE)).what
    )
    assert [] == list(online.role_problems(answers("iam", "get_role", role("sagemaker.amazonaws.com")), jobs.ROLE))


@pytest.mark.parametrize(("location", "faults"), [("us-west-2", 0), ("eu-west-1", 1)])
def test_the_bucket_lies_in_the_jobs_region(location: str, faults: int) -> None:
    found = online.bucket_problems(
        answers("s3", "get_bucket_location", {"LocationConstraint": location}), "b", "us-west-2"
    )
    assert faults == len(list(found))


def test_an_image_that_is_not_there_is_an_error() -> None:
    problem = only(
        online.image_problems(refuses("ecr", "describe_images", "ImageNotFoundException"), jobs.smddp("."), "us-east-1")
    )
    assert "pytorch-training:1.11-gpu-py38" in problem.got


def test_what_may_not_be_asked_is_said() -> None:
    quotas = refuses("service-quotas", "list_service_quotas", "AccessDenied")
    (problem,) = online._answer("the quota", lambda: online.quota_problems(quotas, jobs.smddp(".")))
    assert ("the quota could not be looked at", True) == (problem.what, "AccessDenied" in problem.got)


DIMENSION = {"unit": "Hrs", "pricePerUnit": {"USD": "25.2512860000"}}
PRODUCT = {
    "product": {"attributes": {"component": "Training", "instanceName": "ml.p4d.24xlarge", "regionCode": "us-west-2"}},
    "terms": {"OnDemand": {"A": {"effectiveDate": "2026-09-01T00:00:00Z", "priceDimensions": {"B": DIMENSION}}}},
}


def test_a_price_list_product_becomes_a_dated_price() -> None:
    (price,) = parse_product(PRODUCT, "ml.p4d.24xlarge", "us-west-2")
    assert (Decimal("25.251286"), "2026-09-01", "Training", False) == (
        price.usd_per_hour,
        price.as_of,
        price.component,
        price.inferred,
    )


def test_other_components_are_not_training_prices() -> None:
    hosting = {**PRODUCT, "product": {"attributes": {"component": "Hosting"}}}
    assert [] == list(parse_product(hosting, "ml.p4d.24xlarge", "us-west-2"))


@pytest.mark.local
def test_a_session_asks_its_account_too(emulator: Any) -> None:
    session = st.connect("emulator", state=emulator.state)
    found = session.check(
        jobs.trainium(".").replace(script=st.Script("train_text_classification.py"), hyperparameters={})
    )
    assert not [problem for problem in found if problem.id in {"ONLINE002", "ONLINE003"}]
