"""The contract with botocore's model: whatever is asked of an operation that is ours, in whatever state, its answer has the
shape the model gives it, and its refusals the codes. The operations are asked of the emulator, so that none is forgotten.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from emulator.bench import spot as spot_of
from emulator.contract import World

from sm_trn.emulator.training.engine import Event

pytest.importorskip("boto3")
ROLE: Final = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
ARN: Final = "arn:aws:sagemaker:us-west-2:000000000000"


CLUSTERS: Final = [
    {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
    {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1, "KeepAlivePeriodInSeconds": 20},
    {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1, "KeepAlivePeriodInSeconds": 900},
    {
        "InstanceGroups": [
            {"InstanceGroupName": name, "InstanceType": "ml.trn1.2xlarge", "InstanceCount": 1} for name in ("x", "y")
        ],
        "VolumeSizeInGB": 1,
    },
]
# Members (and shapes) by name: few values, so that requests meet one another, and mostly legal ones.


def plain_job(name: str, cluster: dict[str, Any], spot: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {"TrainingImage": "a", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://b/out"},
        "ResourceConfig": cluster,
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    }
    if spot and not cluster.get("KeepAlivePeriodInSeconds"):
        body |= spot_of(60, 90)
    return body


STATES = {
    "Starting": (),
    "Pending": (Event.QUEUE,),
    "Downloading": (Event.DOWNLOAD,),
    "Training": (Event.DOWNLOAD, Event.TRAIN),
    "Interrupted": (Event.DOWNLOAD, Event.INTERRUPT),
    "Uploading": (Event.DOWNLOAD, Event.TRAIN, Event.UPLOAD),
    "Completed": (Event.DOWNLOAD, Event.TRAIN, Event.UPLOAD, Event.FINISH),
    "Failed": (Event.DOWNLOAD, Event.FAIL),
    "Stopping": (Event.STOP,),
    "Stopped": (Event.DOWNLOAD, Event.STOP, Event.FINISH),
    "MaxRuntimeExceeded": (Event.DOWNLOAD, Event.TRAIN, Event.RUNTIME_EXCEEDED, Event.UPLOAD, Event.FINISH),
    "MaxWaitTimeExceeded": (Event.QUEUE, Event.WAIT_EXCEEDED, Event.FINISH),
}


def hosted(name: str) -> list[tuple[str, dict[str, Any]]]:
    """A model and its endpoint."""
    variant = {"VariantName": "v", "ModelName": name, "InitialInstanceCount": 1, "InstanceType": "ml.c5.xlarge"}
    return [
        (
            "CreateModel",
            {"ModelName": name, "ExecutionRoleArn": ROLE, "PrimaryContainer": {"ModelDataUrl": "s3://b/m"}},
        ),
        ("CreateEndpointConfig", {"EndpointConfigName": name, "ProductionVariants": [variant]}),
        ("CreateEndpoint", {"EndpointName": name, "EndpointConfigName": name}),
    ]


DAY_OF_CREATION: Final = {"CreationTimeAfter": 0.0, "CreationTimeBefore": 9e9}
DAY: Final = {
    "CreationTimeAfter": 0.0,
    "CreationTimeBefore": 9e9,
    "LastModifiedTimeAfter": 0.0,
    "LastModifiedTimeBefore": 9e9,
}
RUNNING: Final = {"TrainingJobName": "two"}
# A request that is answered, for every operation: where "one" is there, its job completed, and the job "two" trains.
ANSWERED: Final[dict[str, dict[str, Any]]] = {
    **{operation: {**body, f"{operation.removeprefix('Create')}Name": "new"} for operation, body in hosted("one")},
    "CreateTrainingJob": plain_job("new", CLUSTERS[3], spot=True),
    "DescribeTrainingJob": {"TrainingJobName": "one"},
    "DescribeModel": {"ModelName": "one"},
    "DescribeEndpointConfig": {"EndpointConfigName": "one"},
    "DescribeEndpoint": {"EndpointName": "one"},
    "ListTrainingJobs": {**DAY, "NameContains": "ON", "SortBy": "Status", "SortOrder": "Ascending", "MaxResults": 1},
    "ListModels": DAY_OF_CREATION,
    "ListEndpointConfigs": DAY_OF_CREATION,
    "ListEndpoints": {**DAY, "SortBy": "Status", "MaxResults": 1},
    "AddTags": {"ResourceArn": f"{ARN}:training-job/one", "Tags": [{"Key": "k", "Value": "v"}]},
    "ListTags": {"ResourceArn": f"{ARN}:model/one"},
    "DeleteTags": {"ResourceArn": f"{ARN}:endpoint/one", "TagKeys": ["k"]},
    "StopTrainingJob": RUNNING,
    "DeleteTrainingJob": {"TrainingJobName": "one"},
    "DeleteModel": {"ModelName": "one"},
    "DeleteEndpointConfig": {"EndpointConfigName": "one"},
    "DeleteEndpoint": {"EndpointName": "one"},
}


@pytest.mark.parametrize("operation", sorted(World().operations()))
def test_every_operation_answers_what_is_there_in_the_models_shape(operation: str) -> None:
    world = World()
    for each, body in hosted("one"):
        world.ask(each, body)
    world.resources.change("endpoint", "one", status="InService")
    for name, events in (("one", STATES["Completed"]), ("two", STATES["Training"])):
        world.ask("CreateTrainingJob", plain_job(name, CLUSTERS[0], spot=False))
        for what in events:
            world.happen(name, what)
    assert world.ask(operation, ANSWERED[operation]) is not None
    assert set(ANSWERED) == World().operations()


@pytest.mark.parametrize("secondary", STATES)
@pytest.mark.parametrize("cluster", [0, 1, 3])
def test_a_job_can_be_looked_at_in_every_status(secondary: str, cluster: int) -> None:
    world = World()
    world.ask("CreateTrainingJob", plain_job("one", CLUSTERS[cluster], spot=True))
    for what in STATES[secondary]:
        world.happen("one", what)
    answer = world.ask("DescribeTrainingJob", {"TrainingJobName": "one"})
    if secondary == "Interrupted" and cluster == 1:  # that one is no spot job
        secondary = "Downloading"
    assert answer is not None
    assert secondary == answer["SecondaryStatus"]
    assert len(answer.get("FailureReason", "")) <= 1024
    assert world.ask("ListTrainingJobs", {})


def test_members_that_the_model_lacks_are_not_echoed() -> None:
    world = World()
    body = plain_job("one", {**CLUSTERS[0], "Surprise": 1}, spot=False)
    world.ask("CreateTrainingJob", {**body, "More": {"a": 1}, "HyperParameters": {"kept": "1"}})
    answer = world.ask("DescribeTrainingJob", {"TrainingJobName": "one"})
    assert answer is not None
    assert CLUSTERS[0] == answer["ResourceConfig"]
    assert {"kept": "1"} == answer["HyperParameters"]


def test_no_answer_has_zero_seconds_of_training() -> None:
    """The service leaves the member out of a job that had no instances; no answer of it with 0 is known."""
    world = World()
    world.ask("CreateTrainingJob", plain_job("one", CLUSTERS[0], spot=False))
    assert "TrainingTimeInSeconds" not in (world.ask("DescribeTrainingJob", {"TrainingJobName": "one"}) or {})
    world.jobs.apply("one", Event.PREPARE)
    for event in (Event.DOWNLOAD, Event.TRAIN, Event.UPLOAD, Event.FINISH):
        world.jobs.apply("one", event)
        world.now -= 1.0  # the clock of these stands still
        answer = world.ask("DescribeTrainingJob", {"TrainingJobName": "one"}) or {}
        assert (1, 1) == (answer["TrainingTimeInSeconds"], answer["BillableTimeInSeconds"])
