"""The contract with botocore's model: whatever is asked of an operation that is ours, in whatever state, its answer has the
shape the model gives it, and its refusals the codes. The operations are asked of the emulator, so that none is forgotten.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, Final

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from emulator.bench import Bench, client_of
from emulator.bench import spot as spot_of
from emulator.contract import World, misfits, requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some
from requests_of_the_model import requests as training_requests

from sm_trn import emulator as embedded
from sm_trn.emulator import Fault
from sm_trn.emulator.api.shapes import service_model
from sm_trn.emulator.training.engine import Event

pytest.importorskip("boto3")
EXAMPLES: Final = int(os.environ.get("SM_TRN_EXAMPLES", "40"))
ROLE: Final = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
ARN: Final = "arn:aws:sagemaker:us-west-2:000000000000"


NAMES: Final = ["one", "Two", "three"]
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
NAMED: Final = (
    "TrainingJobName", "ModelName", "EndpointName", "EndpointConfigName", "TransformJobName", "ProcessingJobName",
    "HyperParameterTuningJobName", "NameContains", "VariantName",
)  # fmt: skip
MORE_JOBS: Final = ("processing-job", "hyper-parameter-tuning-job")
# Members (and shapes) by name: few values, so that requests meet one another, and mostly legal ones.
VALUES: Final[dict[str, list[Any]]] = {
    **dict.fromkeys(NAMED, NAMES),
    "ResourceArn": [
        f"{ARN}:{kind}/{name.lower()}"
        for kind in ("training-job", "model", "endpoint", "endpoint-config", "transform-job", *MORE_JOBS)
        for name in NAMES
    ],
    "RoleArn": [ROLE],
    "ExecutionRoleArn": [ROLE],
    "S3Uri": ["s3://b/k", "s3://b/missing", "https://b/k"],
    "S3OutputPath": ["s3://b/out"],
    "LocalPath": ["/opt/ml/processing/a", "/opt/ml/processing", "/etc"],
    "ModelDataUrl": ["s3://b/model.tar.gz", "s3://b/missing"],
    "NextToken": ["", "", "", "", "e30="],
    "Resource": ["TrainingJob", "Experiment", "ExperimentTrial", "ExperimentTrialComponent"],
    "SortBy": ["Name", "CreationTime", "Status"],
    "PrimaryContainer": [{"ModelDataUrl": "s3://b/m"}, {"ModelDataUrl": "s3://b/missing"}, {"Image": "i", "Mode": "MultiModel"}],
    "Containers": [[{"Image": "i"}], [{"Image": "i"}, {"Image": "i"}]],
    "Image": ["123456789012.dkr.ecr.us-west-2.amazonaws.com/a:b"],
    "AlgorithmSpecification": [{"TrainingImage": "a", "TrainingInputMode": "File"}],
    "ResourceConfig": CLUSTERS,
    "InstanceType": ["ml.c5.xlarge", "ml.m5.large"],
    "InstanceCount": [1, 2],
    "MaxResults": [1, 2, 100],
    "StoppingCondition": [{"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 90}, {"MaxRuntimeInSeconds": 60}],
    "SearchExpression": [
        {"Filters": [{"Name": "TrainingJobStatus", "Operator": "Equals", "Value": "Completed"}]},
        {"Filters": [{"Name": "BillableTimeInSeconds", "Operator": "GreaterThan", "Value": "1"}], "Operator": "Or"},
        {"Filters": [{"Name": "Tags.k", "Operator": "Exists"}, {"Name": "Metrics.loss", "Operator": "LessThan", "Value": "9"}]},
        {"SubExpressions": [{"Filters": [{"Name": "Parents.TrialName", "Operator": "Equals", "Value": "one"}]}]},
    ],
    "Key": ["k"],
    "TagKeyList": [["k"]],
    "ProductionVariants": [[{"VariantName": "v", "ModelName": name, "InitialInstanceCount": 1, "InstanceType": "ml.c5.xlarge"}]
                           for name in NAMES],
}  # fmt: skip


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
    "Pending": (Event.WAIT,),
    "Downloading": (Event.DOWNLOAD,),
    "Training": (Event.DOWNLOAD, Event.TRAIN),
    "Interrupted": (Event.DOWNLOAD, Event.INTERRUPT),
    "Uploading": (Event.DOWNLOAD, Event.TRAIN, Event.UPLOAD),
    "Completed": (Event.DOWNLOAD, Event.TRAIN, Event.UPLOAD, Event.FINISH),
    "Failed": (Event.DOWNLOAD, Event.FAIL),
    "Stopping": (Event.STOP,),
    "Stopped": (Event.DOWNLOAD, Event.STOP, Event.FINISH),
    "MaxRuntimeExceeded": (Event.DOWNLOAD, Event.TRAIN, Event.RUNTIME_EXCEEDED, Event.UPLOAD, Event.FINISH),
    "MaxWaitTimeExceeded": (Event.WAIT, Event.WAIT_EXCEEDED, Event.FINISH),
}
REQUEST: Final = {
    "CreateModel": {"ModelName": "errors", "ExecutionRoleArn": ROLE, "PrimaryContainer": {"Image": "i"}},
    "CreateEndpointConfig": {
        "EndpointConfigName": "errors",
        "ProductionVariants": [
            {"VariantName": "v", "ModelName": "errors", "InitialInstanceCount": 1, "InstanceType": "ml.c5.xlarge"}
        ],
    },
    "CreateEndpoint": {"EndpointName": "errors", "EndpointConfigName": "errors"},
    "UpdateEndpoint": {"EndpointName": "errors", "EndpointConfigName": "errors"},
    "UpdateTrainingJob": {"TrainingJobName": "errors"},
    "CreateTransformJob": {
        "TransformJobName": "errors",
        "ModelName": "errors",
        "TransformInput": {"DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://none/in"}}},
        "TransformOutput": {"S3OutputPath": "s3://none/out"},
        "TransformResources": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 1},
    },
    "CreateHyperParameterTuningJob": {
        "HyperParameterTuningJobName": "errors",
        "HyperParameterTuningJobConfig": {
            "Strategy": "Random",
            "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "loss"},
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 1, "MaxParallelTrainingJobs": 1},
            "ParameterRanges": {"CategoricalParameterRanges": [{"Name": "a", "Values": ["1"]}]},
        },
        "TrainingJobDefinition": {
            "RoleArn": ROLE,
            "AlgorithmSpecification": {"TrainingImage": "a", "TrainingInputMode": "File"},
            "OutputDataConfig": {"S3OutputPath": "s3://b/out"},
            "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
            "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        },
    },
    "CreateExperiment": {"ExperimentName": "errors"},
    "CreateTrial": {"TrialName": "errors", "ExperimentName": "errors"},
    "CreateTrialComponent": {"TrialComponentName": "errors"},
    "CreateProcessingJob": {
        "ProcessingJobName": "errors",
        "RoleArn": ROLE,
        "AppSpecification": {"ImageUri": "i", "ContainerEntrypoint": ["/bin/sleep", "60"]},
        "ProcessingResources": {
            "ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1}
        },
    },
}


def hosted(name: str) -> list[tuple[str, dict[str, Any]]]:
    """A model, its endpoint, an experiment, a job that transforms, one that tunes and one that processes."""
    variant = {"VariantName": "v", "ModelName": name, "InitialInstanceCount": 1, "InstanceType": "ml.c5.xlarge"}
    transform = {**REQUEST["CreateTransformJob"], "TransformJobName": name, "ModelName": name}  # type: ignore[dict-item]  # of one kind
    return [
        (
            "CreateModel",
            {"ModelName": name, "ExecutionRoleArn": ROLE, "PrimaryContainer": {"ModelDataUrl": "s3://b/m"}},
        ),
        ("CreateEndpointConfig", {"EndpointConfigName": name, "ProductionVariants": [variant]}),
        ("CreateEndpoint", {"EndpointName": name, "EndpointConfigName": name}),
        ("CreateTransformJob", transform),
        ("CreateExperiment", {"ExperimentName": name, "Description": "of a contract"}),
        ("CreateTrial", {"TrialName": name, "ExperimentName": name}),
        ("CreateTrialComponent", {"TrialComponentName": name, "Parameters": {"a": {"NumberValue": 1.0}}}),
        (
            "CreateHyperParameterTuningJob",
            {**REQUEST["CreateHyperParameterTuningJob"], "HyperParameterTuningJobName": name},  # type: ignore[dict-item]  # as above
        ),
        ("CreateProcessingJob", {**REQUEST["CreateProcessingJob"], "ProcessingJobName": name}),  # type: ignore[dict-item]  # as above
    ]


def test_how_an_endpoint_was_last_deployed_is_told_under_the_models_name_for_it() -> None:
    world = World()
    world.ask("CreateModel", hosted("one")[0][1])
    world.ask("CreateEndpointConfig", hosted("one")[1][1])
    first = {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "latency"}]}}
    name, config = {"EndpointName": "one"}, {"EndpointName": "one", "EndpointConfigName": "one"}
    assert world.ask("CreateEndpoint", {**config, "DeploymentConfig": first}) is not None
    assert first == (world.ask("DescribeEndpoint", name) or {})["LastDeploymentConfig"]
    world.resources.change("endpoint", "one", status="InService")
    assert world.ask("UpdateEndpoint", {**config, "DeploymentConfig": {}}) is not None
    assert {} == (world.ask("DescribeEndpoint", name) or {})["LastDeploymentConfig"]


def steps() -> Any:
    model = service_model().operation_model
    asked = some.sampled_from(sorted(World().operations())).flatmap(
        lambda operation: some.tuples(some.just(operation), requests(model(operation).input_shape, VALUES))
    )
    jobs = some.builds(plain_job, some.sampled_from(NAMES), some.sampled_from(CLUSTERS), some.booleans())
    lives = some.sampled_from([*((what,) for what in Event), *STATES.values()])
    others = some.one_of(
        some.tuples(some.just("CreateTrainingJob"), jobs),
        some.tuples(some.just("CreateTrainingJob"), training_requests()),
        some.tuples(some.sampled_from(NAMES), lives),
    )
    return some.lists(some.one_of(asked, asked, asked, others), min_size=10, max_size=30)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(some.lists(some.booleans(), min_size=2, max_size=2), some.sampled_from(CLUSTERS), steps())
def test_every_answer_has_the_models_shape_and_every_refusal_a_code_of_the_model(
    there: list[bool], cluster: dict[str, Any], history: list[tuple[str, Any]]
) -> None:
    world = World()
    for name, here in zip(NAMES, there, strict=False):
        for operation, body in (
            [*hosted(name), ("CreateTrainingJob", plain_job(name, cluster, spot=here))] if here else ()
        ):
            assert world.ask(operation, body) is not None
    for operation, detail in history:
        if isinstance(detail, dict):
            world.ask(operation, detail)
        else:
            for what in detail:
                world.happen(operation, what)
    looks = (*[("DescribeTrainingJob", {"TrainingJobName": job.name}) for job in world.jobs.all()],
             *[("ListTags", {"ResourceArn": job.arn}) for job in world.jobs.all()])  # fmt: skip
    for operation, body in (*looks, ("ListTrainingJobs", {}), ("Search", {"Resource": "TrainingJob"})):
        assert world.ask(operation, body) is not None


DAY_OF_CREATION: Final = {"CreationTimeAfter": 0.0, "CreationTimeBefore": 9e9}
DAY: Final = {
    "CreationTimeAfter": 0.0,
    "CreationTimeBefore": 9e9,
    "LastModifiedTimeAfter": 0.0,
    "LastModifiedTimeBefore": 9e9,
}
RUNNING: Final = {"TrainingJobName": "two"}
EXPERIMENTAL: Final = ("Experiment", "Trial", "TrialComponent")
# A request that is answered, for every operation: where "one" is there, its job completed, and the job "two" trains.
ANSWERED: Final[dict[str, dict[str, Any]]] = {
    **{operation: {**body, f"{operation.removeprefix('Create')}Name": "new"} for operation, body in hosted("one")},
    "CreateTrainingJob": plain_job("new", CLUSTERS[3], spot=True),
    "DescribeTrainingJob": {"TrainingJobName": "one"},
    "DescribeModel": {"ModelName": "one"},
    "DescribeEndpointConfig": {"EndpointConfigName": "one"},
    "DescribeEndpoint": {"EndpointName": "one"},
    "DescribeTransformJob": {"TransformJobName": "one"},
    "ListTrainingJobs": {**DAY, "NameContains": "ON", "SortBy": "Status", "SortOrder": "Ascending", "MaxResults": 1},
    "ListModels": DAY_OF_CREATION,
    "ListEndpointConfigs": DAY_OF_CREATION,
    "ListEndpoints": {**DAY, "SortBy": "Status", "MaxResults": 1},
    "ListTransformJobs": {**DAY, "SortBy": "Name", "MaxResults": 1},
    "Search": {"Resource": "TrainingJob", "SearchExpression": VALUES["SearchExpression"][0]},
    "AddTags": {"ResourceArn": f"{ARN}:training-job/one", "Tags": [{"Key": "k", "Value": "v"}]},
    "ListTags": {"ResourceArn": f"{ARN}:model/one"},
    "DeleteTags": {"ResourceArn": f"{ARN}:endpoint/one", "TagKeys": ["k"]},
    "StopTrainingJob": RUNNING,
    "UpdateTrainingJob": {
        **RUNNING,
        "RemoteDebugConfig": {"EnableRemoteDebug": True},
        "ProfilerConfig": {"DisableProfiler": True},
    },
    "StopTransformJob": {"TransformJobName": "one"},
    "UpdateEndpoint": {"EndpointName": "one", "EndpointConfigName": "one"},
    "DescribeHyperParameterTuningJob": {"HyperParameterTuningJobName": "one"},
    "ListHyperParameterTuningJobs": {**DAY, "SortBy": "Name", "MaxResults": 1},
    "ListTrainingJobsForHyperParameterTuningJob": {
        "HyperParameterTuningJobName": "one",
        "SortBy": "FinalObjectiveMetricValue",
        "SortOrder": "Descending",
    },
    "StopHyperParameterTuningJob": {"HyperParameterTuningJobName": "one"},
    "DeleteHyperParameterTuningJob": {"HyperParameterTuningJobName": "two"},
    "DescribeProcessingJob": {"ProcessingJobName": "one"},
    "ListProcessingJobs": {**DAY, "SortBy": "Name", "MaxResults": 1},
    "StopProcessingJob": {"ProcessingJobName": "two"},
    "DeleteProcessingJob": {"ProcessingJobName": "one"},
    "CreateTrial": {"TrialName": "new", "ExperimentName": "one"},
    **{f"Describe{word}": {f"{word}Name": "one"} for word in EXPERIMENTAL},
    **{f"Update{word}": {f"{word}Name": "one", "DisplayName": "another"} for word in EXPERIMENTAL},
    "ListExperiments": {"CreatedAfter": 0.0, "CreatedBefore": 9e9, "SortBy": "Name", "MaxResults": 1},
    "ListTrials": {"ExperimentName": "one", "TrialComponentName": "one"},
    "ListTrialComponents": {"ExperimentName": "one", "SortOrder": "Ascending"},
    "AssociateTrialComponent": {"TrialName": "one", "TrialComponentName": "one"},
    "DisassociateTrialComponent": {"TrialName": "one", "TrialComponentName": "one"},
    "ListAssociations": {"SourceArn": f"{ARN}:experiment/one"},
    "DeleteExperiment": {"ExperimentName": "two"},
    "DeleteTrial": {"TrialName": "one"},
    "DeleteTrialComponent": {"TrialComponentName": "one"},
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
    world.ask("CreateProcessingJob", hosted("two")[-1][1])
    world.resources.change("endpoint", "one", status="InService")
    world.resources.change("processing-job", "one", status="Completed")
    world.ask(*hosted("two")[-2])
    world.ask("CreateExperiment", {"ExperimentName": "two"})
    world.resources.change("hyper-parameter-tuning-job", "two", status="Completed")
    tried = {"name": "one", "definition": 0, "values": {"a": "1"}}
    world.resources.change("hyper-parameter-tuning-job", "one", facts={"trials": [tried]})
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
    for operation, body in (("ListTrainingJobs", {}), ("Search", {"Resource": "TrainingJob"})):
        assert world.ask(operation, body)


def test_members_that_the_model_lacks_are_not_echoed() -> None:
    world = World()
    body = plain_job("one", {**CLUSTERS[0], "Surprise": 1}, spot=False)
    world.ask("CreateTrainingJob", {**body, "More": {"a": 1}, "HyperParameters": {"kept": "1"}})
    answer = world.ask("DescribeTrainingJob", {"TrainingJobName": "one"})
    assert answer is not None
    assert CLUSTERS[0] == answer["ResourceConfig"]
    assert {"kept": "1"} == answer["HyperParameters"]


def test_the_front_owns_what_these_tests_ask_for() -> None:
    """The dispatcher has the operations of its regions' table, and the service knows each of them."""
    from sm_trn.emulator.dispatcher import Dispatcher, Services

    world, nothing = World(), dict.fromkeys(Services.__dataclass_fields__)
    regions = SimpleNamespace(all=lambda: [SimpleNamespace(operations=world.table)])
    owners: Any = Services(**{**nothing, "regions": regions, "control": {}})  # type: ignore[arg-type]  # by name
    door: Any = None
    assert world.operations() == Dispatcher(door, owners).operations
    known = set(service_model().operation_names)
    assert world.operations() <= known


# --- every error that the model gives an operation ---

# (operation, code) -> why it cannot be met here. Everything else is provoked below.
NEVER: Final = {
    **{
        (operation, "ResourceNotFound"): "the service itself answers ValidationException: Requested resource not found."
        for operation in ("DescribeTrainingJob", "StopTrainingJob", "DeleteTrainingJob", "UpdateTrainingJob")
    },
    **{
        (operation, "ResourceNotFound"): "ValidationException, as for every other thing that is not there"
        for operation in (
            "DescribeTransformJob",
            "StopTransformJob",
            "CreateTransformJob",
            "DescribeProcessingJob",
            "DescribeHyperParameterTuningJob",
            "ListTrainingJobsForHyperParameterTuningJob",
            "StopHyperParameterTuningJob",
            "StopProcessingJob",
            "DeleteProcessingJob",
        )
    },
    ("CreateProcessingJob", "ResourceNotFound"): "for experiments that do not exist, as of CreateTrainingJob",
    (
        "CreateTrainingJob",
        "ResourceNotFound",
    ): "for experiments that do not exist; ExperimentConfig is echoed, not looked up",
    ("AssociateTrialComponent", "ResourceLimitExceeded"): "no quota counts what is associated",
    ("ListAssociations", "ResourceNotFound"): "no lineage can be made here, so an ARN names nothing of it",
    **{
        (f"Update{word}", "ConflictException"): "two updates at once are made one after the other"
        for word in EXPERIMENTAL
    },
}
MISSING: Final = {
    **{
        f"{verb}{word}": {f"{word}Name": "nowhere"}
        for verb in ("Describe", "Update", "Delete")
        for word in EXPERIMENTAL
    },
    "CreateTrial": {"TrialName": "a", "ExperimentName": "nowhere"},
    "ListTrials": {"ExperimentName": "nowhere"},
    "ListTrialComponents": {"TrialName": "nowhere"},
    "AssociateTrialComponent": {"TrialName": "nowhere", "TrialComponentName": "nowhere"},
    "DisassociateTrialComponent": {"TrialName": "nowhere", "TrialComponentName": "nowhere"},
}


def documented() -> list[tuple[str, str]]:
    """Every (operation, code) of the operations that are ours; ValidationException stands for the common ones."""
    return [
        (operation, code)
        for operation in sorted(World().operations())
        for code in (
            "ValidationException",
            *(shape.name for shape in service_model().operation_model(operation).error_shapes),
        )
    ]


@pytest.fixture(scope="module")
def raw(bench: Bench) -> Any:
    """A client that lets every mistake through."""
    return client_of(bench.endpoint, "sagemaker", config=Config(parameter_validation=False))


def code_of(client: Any, operation: str, body: dict[str, Any]) -> str:
    try:
        client._make_api_call(operation, body)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "none"


@pytest.mark.parametrize(("operation", "code"), [pair for pair in documented() if pair not in NEVER])
def test_every_documented_error_appears_with_its_code(bench: Bench, raw: Any, operation: str, code: str) -> None:
    if code == "ValidationException":
        shape = service_model().operation_model(operation).input_shape
        assert code == code_of(raw, operation, {} if shape.required_members else {"MaxResults": 0})
    elif code == "ResourceLimitExceeded":
        state = bench.endpoint.state
        body = bench.request("") if operation == "CreateTrainingJob" else REQUEST[operation]
        embedded.add_fault(Fault(kind="quota", operation=operation), state)
        try:
            assert code == code_of(raw, operation, body)  # type: ignore[arg-type]  # by name
        finally:
            embedded.clear_faults(state)
    elif operation in MISSING:
        assert code == code_of(raw, operation, MISSING[operation])
    else:
        assert ("ResourceInUse", True) == (code, operation in IN_USE)
        assert code == IN_USE[operation](bench, raw)


def twice(bench: Bench, raw: Any) -> str:
    request = bench.request("print('once')")
    assert "none" == code_of(raw, "CreateTrainingJob", request)
    return code_of(raw, "CreateTrainingJob", request)


def transformed_twice(bench: Bench, raw: Any) -> str:
    for operation in ("CreateModel", "CreateTransformJob"):
        assert "none" == code_of(raw, operation, REQUEST[operation])  # type: ignore[arg-type]  # by name
    return code_of(raw, "CreateTransformJob", REQUEST["CreateTransformJob"])  # type: ignore[arg-type]  # by name


def processed_twice(_bench: Bench, raw: Any) -> str:
    body = {**REQUEST["CreateProcessingJob"], "ProcessingJobName": "twice"}  # type: ignore[dict-item]  # by name
    assert "none" == code_of(raw, "CreateProcessingJob", body)
    try:
        return code_of(raw, "CreateProcessingJob", body)
    finally:
        raw.stop_processing_job(ProcessingJobName="twice")


def tuned_twice(_bench: Bench, raw: Any) -> str:
    body: dict[str, Any] = {**REQUEST["CreateHyperParameterTuningJob"], "HyperParameterTuningJobName": "twice"}  # type: ignore[dict-item]  # by name
    assert "none" == code_of(raw, "CreateHyperParameterTuningJob", body)
    return code_of(raw, "CreateHyperParameterTuningJob", body)


def processed_and_deleted(_bench: Bench, raw: Any) -> str:
    body = {**REQUEST["CreateProcessingJob"], "ProcessingJobName": "deleted"}  # type: ignore[dict-item]  # by name
    assert "none" == code_of(raw, "CreateProcessingJob", body)
    try:
        return code_of(raw, "DeleteProcessingJob", {"ProcessingJobName": "deleted"})
    finally:
        raw.stop_processing_job(ProcessingJobName="deleted")


def deleted_while_it_runs(bench: Bench, raw: Any) -> str:
    name = bench.submit("import time; time.sleep(60)")
    try:
        return code_of(raw, "DeleteTrainingJob", {"TrainingJobName": name})
    finally:
        bench.sagemaker.stop_training_job(TrainingJobName=name)


IN_USE: Final = {
    "CreateTrainingJob": twice,
    "CreateTransformJob": transformed_twice,
    "CreateHyperParameterTuningJob": tuned_twice,
    "CreateProcessingJob": processed_twice,
    "DeleteProcessingJob": processed_and_deleted,
    "DeleteTrainingJob": deleted_while_it_runs,
}


def test_the_list_of_errors_that_cannot_be_met_names_none_that_does_not_exist() -> None:
    assert set(NEVER) <= set(documented())


# InvokeEndpoint's errors -> where they are met, or why they cannot be.
INVOKING: Final = {
    "ValidationError": "below",
    "InternalFailure": "below, on demand",
    "ModelError": "test_hosting.py: a model's own failure, a timeout, a death, each with its OriginalStatusCode",
    "ServiceUnavailable": "never: a container that ended is started again by the request after",
    "InternalDependencyException": "never: nothing behind a container is asked",
    "ModelNotReadyException": "never: of multi-model and inference components, which are refused",
}


def test_every_error_of_an_invocation_is_met_or_has_its_reason(bench: Bench) -> None:
    from botocore.session import get_session

    shapes = get_session().get_service_model("sagemaker-runtime").operation_model("InvokeEndpoint").error_shapes
    assert set(INVOKING) == {shape.name for shape in shapes}
    runtime, asked = bench.client("sagemaker-runtime"), {"EndpointName": "nobody", "Body": b""}
    assert "ValidationError" == code_of(runtime, "InvokeEndpoint", asked)
    embedded.add_fault(Fault(kind="internal", operation="InvokeEndpoint"), bench.endpoint.state)
    assert "InternalFailure" == code_of(runtime, "InvokeEndpoint", asked)


def test_only_what_is_asked_for_is_refused_by_the_walker() -> None:
    shape = service_model().operation_model("CreateTrainingJob").output_shape
    assert [] == misfits(shape, {"TrainingJobArn": "a"})
    wrong: list[Any] = [{}, {"TrainingJobArn": 1}, {"TrainingJobArn": None}, {"TrainingJobArn": "a", "More": 1}, []]
    assert all(misfits(shape, answer) for answer in wrong)


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
