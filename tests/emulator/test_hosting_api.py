"""The hosting operations without processes: shapes, lists, tags, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from emulator.contract import World

from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.state.store import Store

pytest.importorskip("boto3")
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
VARIANT = {"VariantName": "v", "ModelName": "m", "InitialInstanceCount": 2, "InstanceType": "ml.c5.xlarge"}


@pytest.fixture
def api(tmp_path: Path) -> World:
    made = World(Store(tmp_path / "db"))
    call(
        made,
        "CreateModel",
        ModelName="m",
        ExecutionRoleArn=ROLE,
        PrimaryContainer={"ModelDataUrl": "s3://b/model.tar.gz"},
    )
    call(made, "CreateEndpointConfig", EndpointConfigName="c", ProductionVariants=[VARIANT])
    return made


def call(api: World, operation: str, **body: Any) -> Mapping[str, Any]:
    answer = api.ask(operation, body)
    assert answer is not None
    return answer


def refusal(api: World, operation: str, **body: Any) -> str:
    with pytest.raises(AwsError) as caught:
        api.table.answer(operation, body)
    return f"{caught.value.code}: {caught.value.message}"


def test_what_exists_cannot_be_made_again_and_what_does_not_cannot_be_used(api: World) -> None:
    call(api, "CreateEndpoint", EndpointName="e", EndpointConfigName="c")
    assert 'already existing endpoint "arn' in refusal(api, "CreateEndpoint", EndpointName="e", EndpointConfigName="c")
    assert 'Could not find endpoint configuration "arn' in refusal(
        api, "CreateEndpoint", EndpointName="f", EndpointConfigName="none"
    )
    assert "Could not find model data at s3://b/missing" in refusal(
        api, "CreateModel", ModelName="x", PrimaryContainer={"ModelDataUrl": "s3://b/missing"}
    )
    for word in ("Model", "EndpointConfig", "Endpoint"):
        assert "Could not find" in refusal(api, f"Delete{word}", **{f"{word}Name": "none"})


@pytest.mark.parametrize(
    ("operation", "body", "says"),
    [
        ("CreateModel", {"ModelName": "x", "Containers": [{}, {}]}, "no inference pipelines"),
        ("CreateModel", {"ModelName": "x", "PrimaryContainer": {"Mode": "MultiModel"}}, "no multi-model"),
        ("CreateModel", {"ModelName": "no_underscore", "PrimaryContainer": {}}, "regular expression pattern"),
        ("CreateEndpointConfig", {"EndpointConfigName": "x", "ProductionVariants": [{**VARIANT, "ServerlessConfig":
          {"MemorySizeInMB": 1024, "MaxConcurrency": 1}}]}, "no ServerlessConfig"),
    ],
)  # fmt: skip
def test_what_is_not_emulated_is_refused_in_so_many_words(
    api: World, operation: str, body: Mapping[str, Any], says: str
) -> None:
    assert says in refusal(api, operation, **body)


def test_lists_are_filtered_sorted_and_cut_into_pages(api: World) -> None:
    for name in ("b-1", "a-2", "c-1"):
        call(api, "CreateEndpoint", EndpointName=name, EndpointConfigName="c")

    def names(**body: Any) -> list[str]:
        return [row["EndpointName"] for row in call(api, "ListEndpoints", **body)["Endpoints"]]

    assert ["c-1", "a-2", "b-1"] == names()
    assert ["a-2", "b-1", "c-1"] == names(SortBy="Name", SortOrder="Ascending")
    assert ["c-1", "b-1"] == names(NameContains="-1")
    assert [] == names(StatusEquals="InService")
    first = call(api, "ListEndpoints", MaxResults=2)
    assert ["b-1"] == names(MaxResults=2, NextToken=first["NextToken"])
