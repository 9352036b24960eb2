"""Clusters of several groups, what reaches which of them, and clusters that lose a host or find no room."""

from __future__ import annotations

import json
from typing import Any

import pytest
from emulator.bench import Bench

from sm_trn import emulator as embedded
from sm_trn.emulator import Fault, Options
from sm_trn.emulator.training import engine
from sm_trn.emulator.training.engine import Event
from sm_trn.emulator.training.plan import deadlines_of, plan_of

GROUPS = [
    {"InstanceGroupName": "data", "InstanceType": "ml.m5.large", "InstanceCount": 1},
    {"InstanceGroupName": "train", "InstanceType": "ml.p3.2xlarge", "InstanceCount": 2},
]
SAY = """
    import json, os
    data = {name: sorted(os.listdir(os.environ[f"SM_CHANNEL_{name.upper()}"])) for name in json.loads(os.environ["SM_CHANNELS"])}
    keys = ("SM_CURRENT_HOST", "SM_CURRENT_INSTANCE_GROUP", "SM_CURRENT_INSTANCE_TYPE", "SM_INSTANCE_GROUPS",
            "SM_CURRENT_INSTANCE_GROUP_HOSTS", "SM_DISTRIBUTION_INSTANCE_GROUPS")
    print("SAID " + json.dumps({"data": data, **{key: os.environ[key] for key in keys}}))
    import pathlib
    from sagemaker_training import environment
    hetero = environment.Environment().is_hetero
    ranks = os.environ.get("WORLD_SIZE")
    print(f"HETERO {hetero} WORLD {ranks}")
    pathlib.Path(os.environ["SM_MODEL_DIR"], "shared.txt").write_text(os.environ["SM_CURRENT_HOST"])
    pathlib.Path(os.environ["SM_MODEL_DIR"], os.environ["SM_CURRENT_HOST"] + ".txt").write_text("own")
"""


def channel(bench: Bench, name: str, prefix: str, **source: Any) -> dict[str, Any]:
    data = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bench.endpoint.bucket}/{prefix}", **source}
    return {"ChannelName": name, "DataSource": {"S3DataSource": data}}


def put(bench: Bench, *keys: str) -> None:
    for key in keys:
        bench.s3.put_object(Bucket=bench.endpoint.bucket, Key=key, Body=key.encode())


def said(bench: Bench, name: str) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line.removeprefix("SAID ")) for line in bench.lines(name) if line.startswith("SAID ")]
    return {row["SM_CURRENT_HOST"]: row for row in rows}


def test_a_heterogeneous_cluster_has_groups_channels_of_their_own_and_one_model(bench: Bench) -> None:
    pytest.importorskip("torch")
    put(bench, "het/all/a", "het/parts/a", "het/parts/b", "het/parts/c")
    name = bench.submit(
        SAY,
        {"sagemaker_torch_distributed_enabled": True, "sagemaker_distribution_instance_groups": ["train"]},
        ResourceConfig={"InstanceGroups": GROUPS, "VolumeSizeInGB": 10},
        InputDataConfig=[
            channel(bench, "everybody", "het/all/", InstanceGroupNames=["data", "train"]),
            channel(
                bench,
                "parts",
                "het/parts/",
                S3DataDistributionType="ShardedByS3Key",
                InstanceGroupNames=["train"],
            ),
        ],
        OutputDataConfig={"S3OutputPath": f"s3://{bench.endpoint.bucket}/het/out", "CompressionType": "NONE"},
    )
    answer = bench.finished(name, 120)
    assert "Completed" == answer["TrainingJobStatus"], bench.lines(name)
    assert GROUPS == answer["ResourceConfig"]["InstanceGroups"]
    rows = said(bench, name)
    assert {"algo-1": "data", "algo-2": "train", "algo-3": "train"} == {
        host: row["SM_CURRENT_INSTANCE_GROUP"] for host, row in rows.items()
    }
    assert [["data", "train"]] * 3 == [json.loads(row["SM_INSTANCE_GROUPS"]) for row in rows.values()]
    assert ["algo-2", "algo-3"] == json.loads(rows["algo-2"]["SM_CURRENT_INSTANCE_GROUP_HOSTS"])
    assert {"everybody": ["a"]} == rows["algo-1"]["data"]
    assert {"everybody": ["a"], "parts": ["a", "c"]} == rows["algo-2"]["data"]
    assert {"everybody": ["a"], "parts": ["b"]} == rows["algo-3"]["data"]
    lines = bench.lines(name)
    assert (1, 2) == (lines.count("HETERO True WORLD None"), lines.count("HETERO True WORLD 2"))
    assert "EMULATED 1 x ml.m5.large + 2 x ml.p3.2xlarge" in lines[0]
    uri = answer["ModelArtifacts"]["S3ModelArtifacts"]
    assert uri == f"s3://{bench.endpoint.bucket}/het/out/{name}/output/model/"
    prefix = uri.partition("/het/")[2]
    found = bench.s3.list_objects_v2(Bucket=bench.endpoint.bucket, Prefix=f"het/{prefix}")["Contents"]
    assert {
        "algo-1.txt", "algo-2.txt", "algo-3.txt", "shared.txt", "algo-2/shared.txt", "algo-3/shared.txt",
    } == {entry["Key"].removeprefix(f"het/{prefix}") for entry in found}  # fmt: skip


LOOK = """
    import json, os
    folder = os.environ["SM_CHANNEL_C"]
    found = {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}
    print("FOUND " + os.environ["SM_CURRENT_HOST"] + " " + " ".join(sorted(found)))
    print("MODE " + json.loads(os.environ["SM_INPUT_DATA_CONFIG"])["c"]["TrainingInputMode"])
"""


def test_a_manifest_names_its_objects_and_they_are_shared_out(bench: Bench) -> None:
    put(bench, "man/x/one", "man/x/deep/two", "man/x/three", "man/x/not-named")
    names = [{"prefix": f"s3://{bench.endpoint.bucket}/man/x/"}, "one", "deep/two", "three"]
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="man/list", Body=json.dumps(names).encode())
    source = channel(bench, "c", "man/list", S3DataType="ManifestFile", S3DataDistributionType="ShardedByS3Key")
    name = bench.submit(
        LOOK,
        InputDataConfig=[{**source, "InputMode": "FastFile"}],
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 2, "VolumeSizeInGB": 10},
    )
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)
    assert {"FOUND algo-1 one three", "FOUND algo-2 deep/two", "MODE FastFile"} <= set(bench.lines(name))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("not json", "invalid manifest"),
        ('[{"prefix": "x/"}, "a"]', "invalid manifest"),
        ('[{"prefix": "s3://BUCKET/man/"}]', "names no objects"),
        ('[{"prefix": "s3://BUCKET/man/"}, "gone"]', "no such object"),
    ],
)
def test_a_wrong_manifest_fails_the_download(bench: Bench, body: str, why: str) -> None:
    content = body.replace("BUCKET", bench.endpoint.bucket).encode()
    bench.s3.put_object(Bucket=bench.endpoint.bucket, Key="man/wrong", Body=content)
    name = bench.submit("", InputDataConfig=[channel(bench, "c", "man/wrong", S3DataType="ManifestFile")])
    answer = bench.finished(name)
    assert answer["FailureReason"].startswith("ClientError: Data download failed")
    assert why in answer["FailureReason"]


def test_pipe_mode_is_refused_with_the_reason_and_augmented_manifests_need_it(bench: Bench) -> None:
    put(bench, "het/all/a")
    piped = {**channel(bench, "c", "het/all/"), "InputMode": "Pipe"}
    name = bench.submit("", InputDataConfig=[piped])
    assert "no Pipe mode; use File or FastFile" in bench.finished(name)["FailureReason"]
    augmented = channel(bench, "c", "het/all/a", S3DataType="AugmentedManifestFile", AttributeNames=["a"])
    name = bench.submit("", InputDataConfig=[{**augmented, "InputMode": "Pipe"}])
    assert "not AugmentedManifestFile" in bench.finished(name)["FailureReason"]


def test_a_lost_host_is_met_with_another_attempt_as_often_as_was_asked(bench: Bench) -> None:
    state = bench.endpoint.state
    embedded.add_fault(Fault(kind="broken-host", times=3), state)
    try:
        name = bench.submit("print('ran')", RetryStrategy={"MaximumRetryAttempts": 2})
        answer = bench.finished(name)
        assert "InternalServerError: We encountered an internal error. Please try again." == answer["FailureReason"]
        rows = [row["Status"] for row in answer["SecondaryStatusTransitions"] if row["Status"] != "Pending"]
        assert ["Starting", "Downloading"] * 3 + ["Failed"] == rows
        embedded.add_fault(Fault(kind="broken-host"), state)
        name = bench.submit("print('ran')", RetryStrategy={"MaximumRetryAttempts": 1})
        assert "Completed" == bench.finished(name)["TrainingJobStatus"]
        assert "RetryStrategy: the job starts again" in "\n".join(bench.lines(name))
        assert 2 == len(bench.streams(name))
    finally:
        embedded.clear_faults(state)


@pytest.mark.parametrize(("instance", "event"), [("ml.p3.2xlarge", Event.PENDING_EXCEEDED), ("ml.m5.large", None)])
def test_a_job_on_accelerators_waits_no_longer_than_it_may(instance: str, event: Event | None) -> None:
    request: Any = {
        "AlgorithmSpecification": {"TrainingImage": "i", "TrainingInputMode": "File"},
        "ResourceConfig": {"InstanceType": instance, "InstanceCount": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxPendingTimeInSeconds": 1800},
    }
    deadlines = deadlines_of(request, engine.begin(0.0), plan_of(request, Options()))
    assert event is deadlines.overdue(2000.0, started=False)
    assert deadlines.overdue(2000.0, started=True) is None
