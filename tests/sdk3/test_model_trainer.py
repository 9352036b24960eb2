"""What SDK v3's real ModelTrainer sends, driven by our rendering, is our request – but for the named differences.

100 jobs by default; SM_TRN_EXAMPLES=2000 for a long look. With -s they are counted.
"""

from __future__ import annotations

import collections
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jobs
import pytest
from botocore.exceptions import ParamValidationError
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as some
from strategies_of_values import sensible
from v3_wire import Wire, command_line, installed

import sm_trn as st
from sm_trn.core.catalog import efa
from sm_trn.core.render import TARGETS, problems, training_job_v3
from sm_trn.core.specs import Destination, JobSpec, Severity

if not installed():
    pytest.skip("needs SageMaker SDK v3, in an environment of its own: .ci/sdk3", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("default")  # the SDK's own deprecations

TARGET = "model-trainer-v3"
QUICK = (
    Phase.explicit,
    Phase.generate,
)  # a failing example is not made smaller: each one drives the SDK, or starts three processes
EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "100"))
AT = Destination(
    role=jobs.ROLE, region=jobs.REGION, bucket=jobs.BUCKET, job_name="a-job", source_uri="s3://a-bucket/source.tar.gz"
)

# The whole list of differences, with reasons. Everything else must be equal.
DIFFERENCES = {
    "TrainingJobName": "v3 makes its own: base name and second",
    "AlgorithmSpecification.ContainerEntrypoint": "v3 starts its own script in the container, not the training toolkit",
    "AlgorithmSpecification.ContainerArguments": "the same",
    "AlgorithmSpecification.EnableSageMakerMetricsTimeSeries": "v3 cannot ask for it (TARGET017)",
    "ProfilerConfig.DisableProfiler": "v3 says nothing of the profiler",
    "HyperParameters": "v3 sends the user's own, unquoted, and none for the toolkit; compared apart",
    "InputDataConfig": "v3 adds the channels code and sm_drivers; compared apart",
}


@pytest.fixture(scope="module", autouse=True)
def offline() -> Iterator[None]:
    """v3 asks IAM to simulate the role's policies unless told otherwise, and validates its own defaults 8 times per job."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGEMAKER_VALIDATE_ROLE", "false")
        checked = "sagemaker.core.config.config_manager.SageMakerConfig.validate_sagemaker_config"
        patch.setattr(checked, staticmethod(lambda *_: None))
        yield


@pytest.fixture(scope="module")
def wire(offline: None) -> Wire:
    return Wire()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("source")
    (folder / "run_clm.py").write_text("print('checkpoint')\n")
    return str(folder)


def flat(request: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in request.items():
        whole = key in {"HyperParameters", "InputDataConfig", "Environment"}
        out.update(
            flat(value, f"{prefix}{key}.") if isinstance(value, dict) and not whole else {f"{prefix}{key}": value}
        )
    return {key: value for key, value in out.items() if value not in ({}, [], None)}


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> set[str]:
    left, right = flat(ours), flat(theirs)
    return {key for key in left.keys() | right.keys() if left.get(key) != right.get(key)}


def spelt_out(ours: dict[str, Any]) -> dict[str, Any]:
    """Our request with the API's defaults said, as v3 says them."""
    kept, events = ours.get("CheckpointConfig"), ours.get("TensorBoardOutputConfig")
    return {
        **ours,
        "OutputDataConfig": {"CompressionType": "GZIP", **ours["OutputDataConfig"]},
        **({"CheckpointConfig": {"LocalPath": "/opt/ml/checkpoints", **kept}} if kept else {}),
        **({"TensorBoardOutputConfig": {"LocalPath": "/opt/ml/output/tensorboard", **events}} if events else {}),
    }


def channels(sent: dict[str, Any]) -> list[dict[str, Any]]:
    """The user's channels, with the input mode said."""
    own = [item for item in sent.get("InputDataConfig", ()) if item["ChannelName"] not in {"code", "sm_drivers"}]
    return [{"InputMode": "File", **item} for item in own]


def unquoted(job: JobSpec) -> dict[str, str]:
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in job.arguments.items()}


def errors(job: JobSpec) -> set[str]:
    return {problem.id for problem in problems(job, TARGET) if problem.severity is Severity.ERROR}


def same(job: JobSpec, sent: dict[str, Any]) -> None:
    ours = spelt_out(st.render(job, "request", at=AT))
    assert set() == differences(ours, sent) - set(DIFFERENCES)
    assert channels(ours) == channels(sent)
    theirs = dict(sent.get("HyperParameters") or {})
    parallel = json.loads(theirs.pop("mp_parameters", "{}"))
    assert json.loads(ours.get("HyperParameters", {}).get("mp_parameters", "{}")) == parallel
    assert unquoted(job) == theirs


def sayable(job: JobSpec) -> JobSpec:
    """The job without what v3 would refuse it for before its launcher is looked at; those rules have tests of their own."""
    inputs = {name.replace("-", "_"): channel for name, channel in job.inputs.items()}
    return job.replace(inputs=inputs, kept=())


def said_by_v3(job: JobSpec) -> bool:
    return not errors(job) and not any(problem.severity is Severity.ERROR for problem in st.check(job))


def test_the_real_model_trainer_sends_our_request(wire: Wire, source: str) -> None:
    compared: collections.Counter[str] = collections.Counter()

    @settings(
        max_examples=EXAMPLES,
        derandomize=EXAMPLES == 100,
        phases=QUICK,
    )
    @given(job=sensible(source).map(sayable).filter(said_by_v3))
    def compare(job: JobSpec) -> None:
        same(job, wire.train(st.render(job, TARGET, at=AT)))
        compared[job.distribution.name if job.distribution else "none"] += 1

    compare()
    print(f"\n{sum(compared.values())} requests compared, by strategy {dict(compared)}")
    seldom = {"smdistributed.modelparallel.v2"} if EXAMPLES >= 300 else set()
    assert {"none", "torch_distributed"} | seldom <= set(compared)
    assert sum(compared.values()) >= EXAMPLES


@pytest.mark.parametrize("letter", "cd")
def test_the_configurations_that_v3_can_say_are_sent_as_rendered(letter: str, wire: Wire, source: str) -> None:
    job = jobs.CONFIGURATIONS[letter](source)
    same(job, wire.train(st.render(job, TARGET, at=AT)))


def test_spot_and_checkpoints_reach_v3s_request(wire: Wire, source: str) -> None:
    sent = wire.train(st.render(jobs.spot(source), TARGET, at=AT))
    assert sent["EnableManagedSpotTraining"] is True
    assert {"MaxRuntimeInSeconds": 86_400, "MaxWaitTimeInSeconds": 90_000} == sent["StoppingCondition"]
    assert {"S3Uri": "s3://a-bucket/checkpoints/gpt2", "LocalPath": "/opt/ml/checkpoints"} == sent["CheckpointConfig"]


def test_everything_around_the_training_reaches_v3s_request(wire: Wire, source: str) -> None:
    job = jobs.trainium(source).replace(
        compute=st.Compute(
            groups=(st.specs.InstanceGroup(name="a", instance="ml.g5.2xlarge"), st.specs.InstanceGroup(name="b", instance="ml.m5.large")),
            volume_kms_key="a-key",
            keep_alive_s=60,
        ),
        framework=st.PyTorch("2.1", python="py310"),
        distribution=None,
        inputs={
            "mounted": st.FileSystem("fs-0123456789abcdef0", st.specs.FileSystemKind.FSX_LUSTRE, directory="/fsx/d", writable=True),
            "train": st.Channel("s3://a-bucket/d", mode=st.specs.InputMode.FAST_FILE, groups=("a",), content_type="text/csv"),
        },
        network=st.Network(subnets=("subnet-1",), security_groups=("sg-1",), isolation=True, encrypt_traffic=True),
        output=st.Output(s3_uri="s3://a-bucket/out", kms_key="another-key", compress=False),
        environment={"A": "1"},
        tags={"team": "nlp"},
        retries=3,
    )  # fmt: skip
    sent = wire.train(st.render(job, TARGET, at=AT))
    same(job, sent)
    assert {"MaximumRetryAttempts": 3} == sent["RetryStrategy"]
    assert [{"Key": "team", "Value": "nlp"}] == sent["Tags"]
    assert sent["EnableNetworkIsolation"] is True


def test_an_empty_tag_is_refused_here_and_still_by_v3(wire: Wire, source: str) -> None:
    job = jobs.trainium(source).replace(tags={"team": ""})
    assert {"TARGET018"} == errors(job)
    with pytest.raises(ParamValidationError, match="Value"):
        wire.train(TARGETS[TARGET].render(job, AT))


@pytest.mark.parametrize("workers", [None, 8])
def test_the_workers_of_a_host_are_told_to_v3s_launcher(workers: int | None, source: str) -> None:
    job = jobs.trainium(source).replace(distribution=st.TorchDistributed(workers_per_host=workers))
    assert {"process_count_per_node": workers or 32} == dict(st.render(job, TARGET, at=AT).kwargs["distributed"].kwargs)


def test_mpi_on_one_host_keeps_its_workers_and_options(wire: Wire, source: str) -> None:
    job = jobs.smddp(source).replace(
        compute=st.Compute("ml.p4d.24xlarge"),
        distribution=st.MPI(processes_per_host=4, custom_mpi_options="-verbose -x NCCL_DEBUG='A B'"),
    )
    call = st.render(job, TARGET, at=AT)
    launcher = dict(call.kwargs["distributed"].kwargs)
    assert {"process_count_per_node": 4, "mpi_additional_options": ["-verbose", "-x", "NCCL_DEBUG=A B"]} == launcher
    same(job, wire.train(call))


def test_a_local_folder_and_requirements_are_uploaded(wire: Wire, source: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n")
    (Path(source) / "requirements.txt").write_text("six\n")
    job = jobs.trainium(source).replace(inputs={"train": str(tmp_path)})
    at = Destination(role=jobs.ROLE, region=jobs.REGION, bucket=jobs.BUCKET)
    call = st.render(job, TARGET, at=at)
    sent = wire.train(call)
    (Path(source) / "requirements.txt").unlink()
    assert "requirements.txt" == call.kwargs["source_code"].kwargs["requirements"]
    assert sent["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"].startswith(
        f"s3://{jobs.BUCKET}/gpt2-trn1/"
    )


def test_the_instance_types_that_v3s_launchers_select_efa_for_are_ours() -> None:
    from sagemaker.train.container_drivers.common import utils

    assert efa.drivers().efa == set(utils.SM_EFA_NCCL_INSTANCES)
    assert efa.drivers().rdma == set(utils.SM_EFA_RDMA_INSTANCES)


def test_sdk_v2s_estimator_is_not_here_and_the_message_says_so(source: str) -> None:
    from sm_trn.core import sdk

    with pytest.raises(st.errors.NotConfigured, match=r"wanted SageMaker SDK v2; pip install \"sm_trn\[sdk\]\""):
        sdk.load("sagemaker.pytorch.PyTorch")


WORDS = some.one_of(
    some.text(some.characters(codec="ascii", exclude_categories=("C", "Z")), max_size=6),
    some.sampled_from(["1e5", "1.10", "007", "true", "null", '"x"', '"5"', "[1,2]", "NaN", "it's", "$HOME", "a b", ""]),
)


@pytest.mark.timeout(900)  # two processes an example
def test_what_v3s_container_passes_to_the_script_is_what_was_asked_or_a_problem(source: str, tmp_path: Path) -> None:
    """Through v3's own container scripts: each value arrives as asked, or TARGET009/TARGET010 said that it would not."""

    @settings(max_examples=40, phases=QUICK)
    @given(
        hyperparameters=some.dictionaries(
            some.from_regex(r"[a-z][a-z_.]{1,4}", fullmatch=True), WORDS, min_size=1, max_size=3
        ),
        channel=some.sampled_from(["train", "my-data", "a.b"]),
    )
    def arrive(hyperparameters: dict[str, str], channel: str) -> None:
        job = jobs.trainium(source).replace(hyperparameters=hyperparameters, inputs={channel: "s3://a-bucket/x"})
        found = command_line(
            {"HyperParameters": unquoted(job), "InputDataConfig": [{"ChannelName": channel}]}, tmp_path
        )
        asked = [word for key, value in hyperparameters.items() for word in (f"--{key}", value)]
        if not {"TARGET009", "TARGET010"} & errors(job):
            assert [json_alike(word) for word in asked] == [json_alike(word) for word in found or ()]
        elif errors(job) == {"TARGET010"}:
            assert found is not None
            assert asked != found
        else:
            assert found != asked

    arrive()


def json_alike(word: str) -> object:
    """Lists and mappings come back as the same JSON in another spelling; a script that reads JSON reads the same."""
    try:
        value = json.loads(word)
    except ValueError:
        return word
    return value if isinstance(value, (list, dict)) else word


def test_booleans_and_numbers_arrive_as_json(source: str, tmp_path: Path) -> None:
    job = jobs.trainium(source).replace(hyperparameters={"k": True, "lr": 1e-05, "n": 3})
    assert ["--k", "true", "--lr", "1e-05", "--n", "3"] == command_line({"HyperParameters": unquoted(job)}, tmp_path)
    assert {"TARGET011", "TARGET012"} <= {problem.id for problem in problems(job, TARGET)}


def test_v3s_mpi_driver_still_starts_the_workers_of_one_host_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of TARGET008. When this fails, SDK v3 was mended and the rule can go."""
    from sagemaker.train.container_drivers.distributed_drivers import mpi_driver

    started: list[list[str]] = []
    for name in (
        "write_env_vars_to_file",
        "start_sshd_daemon",
        "bootstrap_master_node",
        "write_status_file_to_workers",
    ):
        monkeypatch.setattr(mpi_driver, name, lambda *_: None)
    monkeypatch.setattr(mpi_driver, "execute_commands", lambda command: (started.append(command), (0, ""))[1])  # type: ignore[func-returns-value]  # append gives nothing, and the pair is what counts
    for key, value in {
        "SM_ENTRY_SCRIPT": "train.py", "SM_DISTRIBUTED_CONFIG": '{"process_count_per_node": 8, "mpi_additional_options": null}',
        "SM_HPS": "{}", "SM_CURRENT_HOST": "algo-1", "SM_MASTER_ADDR": "algo-1", "SM_HOSTS": '["algo-1", "algo-2"]',
        "SM_HOST_COUNT": "2", "SM_CURRENT_INSTANCE_TYPE": "ml.p4d.24xlarge",
    }.items():  # fmt: skip
        monkeypatch.setenv(key, value)
    mpi_driver.main()
    assert "algo-1:8,algo-2:8" == started[0][started[0].index("--host") + 1]
    assert "8" == started[0][started[0].index("-np") + 1]


def said_by_core(job: JobSpec) -> bool:
    found = [*st.check(job), *problems(job, "training-job-v3")]
    return all(problem.severity is not Severity.ERROR for problem in found)


def test_the_real_training_job_sends_our_request_word_for_word(wire: Wire, source: str) -> None:
    """``sagemaker.core`` TrainingJob.create, for every strategy and option: nothing is left out, nothing added."""
    from sm_trn.core import sdk

    compared: collections.Counter[str] = collections.Counter()

    @settings(max_examples=EXAMPLES, derandomize=EXAMPLES == 100, phases=QUICK)
    @given(job=sensible(source).filter(said_by_core))
    @example(job=jobs.smddp(source))  # seldom drawn, and what ModelTrainer cannot say
    def compare(job: JobSpec) -> None:
        wire.sent = {}
        sdk.build(st.render(job, "training-job-v3", at=AT), session=wire.session.boto_session)
        ours = st.render(job, "request", at=AT)
        for path, _ in training_job_v3.lost(ours):  # TARGET021: leaving it out means the same
            assert path in {"ProfilerConfig.DisableProfiler", "DebugHookConfig.CollectionConfigurations"}
            part, field = path.split(".")
            ours[part] = {name: value for name, value in ours[part].items() if name != field}
        assert wire.sent == ours
        compared[job.distribution.name if job.distribution else "none"] += 1

    compare()
    print(f"\n{sum(compared.values())} requests compared, by strategy {dict(compared)}")
    assert {"smdistributed.dataparallel", "none", "torch_distributed"} <= set(compared)


def test_the_programs_text_sends_it_too(wire: Wire, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sagemaker.core.resources import TrainingJob

    job = jobs.compiled(source)
    create = TrainingJob.create
    monkeypatch.setattr(TrainingJob, "create", lambda **given: create(**given, session=wire.session.boto_session))
    wire.sent = {}
    exec(compile(str(st.render(job, "training-job-v3", at=AT)), "program", "exec"), {})  # noqa: S102 - our own text
    assert wire.sent == st.render(job, "request", at=AT)
