"""What we render is what SageMaker SDK v2 sends, captured live from ``fit(wait=False)``."""

from __future__ import annotations

import json
from typing import Any

import boto3
import jobs
import pytest

import sm_trn as st
from sm_trn.core.specs import Destination, JobSpec, NeuronX

pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
from sm_trn.core import sdk

pytestmark = pytest.mark.sdk

# The whole list of differences, with reasons. Everything else must be equal.
DIFFERENCES = {
    "TrainingJobName": "ours carries random digits: the SDK's is unique per millisecond only",
    "HyperParameters.sagemaker_job_name": "follows TrainingJobName",
    "HyperParameters.sagemaker_submit_directory": "ours is one content-addressed tar; the SDK packs and uploads one per job",
    "AlgorithmSpecification.EnableSageMakerMetricsTimeSeries": "the SDK leaves it out when it is given image_uri; we always ask for it",
}
ANSWERS: dict[str, dict[str, Any]] = {
    "GetCallerIdentity": {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/someone", "UserId": "X"},
    "ListBuckets": {"Buckets": [{"Name": jobs.BUCKET}]},
    "CreateTrainingJob": {"TrainingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:training-job/x"},
}


class Answered:
    status_code = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - botocore reads it, nobody writes it


@pytest.fixture
def wire() -> tuple[Any, dict[str, Any]]:
    """An SDK session whose calls end in this process, and the CreateTrainingJob parameters that passed."""
    sent: dict[str, Any] = {}
    session = boto3.Session(aws_access_key_id="x", aws_secret_access_key="x", region_name=jobs.REGION)

    def keep(params: dict[str, Any], **_: Any) -> None:
        sent.update(params)

    def answer(model: Any, **_: Any) -> tuple[Answered, dict[str, Any]]:
        return Answered(), {**ANSWERS.get(model.name, {}), "ResponseMetadata": {"HTTPStatusCode": 200}}

    session.events.register("provide-client-params.sagemaker.CreateTrainingJob", keep)
    session.events.register("before-call", answer)
    return sdk.sdk_session(boto_session=session, bucket=jobs.BUCKET), sent


@pytest.fixture
def source(tmp_path: Any) -> str:
    (tmp_path / "run_clm.py").write_text("print('hello')\n")
    return str(tmp_path)


def by_hand(letter: str, source_dir: str, session: Any) -> tuple[Any, dict[str, Any]]:
    """The estimator as a notebook of that time writes it, without this package; and fit's arguments."""
    common: dict[str, Any] = {
        "entry_point": "run_clm.py",
        "source_dir": source_dir,
        "role": jobs.ROLE,
        "disable_profiler": True,
        "debugger_hook_config": False,
        "sagemaker_session": session,
        "metric_definitions": [{"Name": rule.name, "Regex": rule.regex} for rule in st.TRAINER_METRICS],
        "base_job_name": "by-hand",
    }
    p4d = {"instance_type": "ml.p4d.24xlarge", "instance_count": 2, "volume_size": 512, "py_version": "py38"}
    neuron = {
        "instance_type": "ml.trn1.32xlarge",
        "instance_count": 1,
        "distribution": {"torch_distributed": {"enabled": True}},
        "hyperparameters": jobs.hyperparameters(13),
        "image_uri": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training-neuronx:2.9.0-neuronx-py312-sdk2.29.1-ubuntu24.04",
    }
    data = {"inputs": {"train": "s3://a-bucket/wikitext"}}
    pytorch = sdk.load("sagemaker.pytorch.PyTorch")
    with sdk.contained():
        if letter == "a":
            smddp = {"smdistributed": {"dataparallel": {"enabled": True}}}
            return pytorch(
                **common, **p4d, framework_version="1.11", distribution=smddp, hyperparameters=jobs.hyperparameters(13)
            ), {}
        if letter == "b":
            compiler = sdk.load("sagemaker.huggingface.TrainingCompilerConfig")()
            return sdk.load("sagemaker.huggingface.HuggingFace")(
                **common,
                **p4d,
                transformers_version="4.21",
                pytorch_version="1.11",
                compiler_config=compiler,
                distribution={"pytorchxla": {"enabled": True}},
                hyperparameters=jobs.hyperparameters(25),
            ), {}
        if letter == "c":
            return pytorch(**common, **neuron), data
        return pytorch(
            **common,
            **neuron,
            use_spot_instances=True,
            max_wait=90_000,
            checkpoint_s3_uri="s3://a-bucket/checkpoints/gpt2",
        ), data


def flat(request: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in request.items():
        out.update(flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value})
    return out


def unordered(request: dict[str, Any]) -> dict[str, Any]:
    """SDK v2 takes a hook's tensor collections out of a set: which comes first is the hash seed's doing."""
    hook = request.get("DebugHookConfig")
    if not isinstance(hook, dict) or "CollectionConfigurations" not in hook:
        return request
    listed = sorted(hook["CollectionConfigurations"], key=lambda each: json.dumps(each, sort_keys=True))
    return {**request, "DebugHookConfig": {**hook, "CollectionConfigurations": listed}}


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> set[str]:
    left, right = flat(unordered(ours)), flat(unordered(theirs))
    return {key for key in left.keys() | right.keys() if left.get(key) != right.get(key)}


def at(job: JobSpec) -> Destination:
    return Destination(
        role=jobs.ROLE,
        region=jobs.REGION,
        bucket=jobs.BUCKET,
        job_name=f"{job.name}-1",
        source_uri="s3://a-bucket/source.tar.gz",
    )


@pytest.mark.parametrize("letter", "abcd")
def test_request_equals_what_the_sdk_sends_but_for_the_named_differences(letter: str, wire: Any, source: str) -> None:
    session, sent = wire
    estimator, fit = by_hand(letter, source, session)
    with sdk.contained():
        estimator.fit(wait=False, **fit)
    job = jobs.CONFIGURATIONS[letter](source)
    expected = (
        set(DIFFERENCES)
        if isinstance(job.framework, NeuronX)
        else set(DIFFERENCES) - {"AlgorithmSpecification.EnableSageMakerMetricsTimeSeries"}
    )
    assert expected == differences(st.render(job, "request", at=at(job)), sent)


@pytest.mark.parametrize("letter", "abcd")
def test_our_estimator_sends_our_request(letter: str, wire: Any, source: str) -> None:
    session, sent = wire
    job = jobs.CONFIGURATIONS[letter](source)
    call = st.render(job, "estimator-v2", at=Destination(role=jobs.ROLE, region=jobs.REGION, bucket=jobs.BUCKET))
    made = sdk.estimator(job, role=jobs.ROLE, bucket=jobs.BUCKET, session=session)
    with sdk.contained():
        made.fit(**call.fit)
    submitted = sent["HyperParameters"]["sagemaker_submit_directory"].strip('"')
    there = Destination(
        role=jobs.ROLE, region=jobs.REGION, bucket=jobs.BUCKET, job_name=sent["TrainingJobName"], source_uri=submitted
    )
    assert st.render(job, "request", at=there) == sent


def test_estimator_is_the_sdks_own_class(wire: Any, source: str) -> None:
    session, _ = wire
    made = sdk.estimator(jobs.compiled(source), role=jobs.ROLE, bucket=jobs.BUCKET, session=session)
    assert sdk.load("sagemaker.huggingface.HuggingFace") is type(made)
    made = sdk.estimator(jobs.smddp(source), role=jobs.ROLE, bucket=jobs.BUCKET, session=session)
    assert sdk.load("sagemaker.pytorch.PyTorch") is type(made)


def test_sdk_session_does_not_report_home(wire: Any) -> None:
    session, _ = wire
    utils = pytest.importorskip("sagemaker.utils")
    from sagemaker.config.config_schema import TELEMETRY_OPT_OUT_PATH

    assert (
        utils.resolve_value_from_config(
            config_path=TELEMETRY_OPT_OUT_PATH, default_value=False, sagemaker_session=session
        )
        is True
    )


def test_driving_the_sdk_prints_nothing_on_stdout(wire: Any, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    session, _ = wire
    sdk.estimator(jobs.smddp(source), role=jobs.ROLE, bucket=jobs.BUCKET, session=session)
    assert capsys.readouterr().out == ""


def test_an_image_with_its_own_program_is_sent_as_the_sdks_estimator_sends_it(wire: Any) -> None:
    session, sent = wire
    job = st.JobSpec(
        name="xgboost",
        framework=st.Container(),
        image_uri="683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1",
        compute=st.Compute("ml.m5.large"),
        hyperparameters={"eta": 0.46, "objective": "reg:squarederror", "num_round": 100, "verbose": True},
        inputs={"train": "s3://a-bucket/train"},
    )
    call = st.render(job, "estimator-v2", at=at(job))
    assert "sagemaker.estimator.Estimator" == call.cls
    with sdk.contained():
        sdk.build(call, sagemaker_session=session).fit(**sdk.built(dict(call.fit)))
    assert set() == differences(st.render(job, at=at(job)), sent)


def test_a_script_in_an_image_of_ones_own_is_sent_as_the_sdk_sends_it(wire: Any, source: str) -> None:
    session, sent = wire
    own = "123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1"
    job = jobs.smddp(source).replace(
        framework=st.Container(), image_uri=own, compute=st.Compute("ml.p4d.24xlarge", count=2)
    )
    call = st.render(job, "estimator-v2", at=at(job))
    with sdk.contained():
        sdk.build(call, sagemaker_session=session).fit(**sdk.built(dict(call.fit)))
    assert set() == differences(st.render(job, at=at(job)), sent)


def fitted(job: JobSpec, wire: Any) -> dict[str, Any]:
    """What the SDK sends for the estimator that we render of ``job``."""
    session, sent = wire
    call = st.render(job, "estimator-v2", at=at(job))
    with sdk.contained():
        sdk.build(call, sagemaker_session=session).fit(**sdk.built(dict(call.fit)))
    return dict(sent)


@pytest.mark.parametrize(
    ("framework", "instance", "distribution"),
    [
        (st.PyTorch("2.8", python="py312"), "ml.g5.48xlarge", st.TorchDistributed()),
        (st.PyTorch("2.4.0", python="py311"), "ml.g5.48xlarge", st.TorchDistributed()),
        (st.HuggingFace("4.56", pytorch="2.8", python="py312"), "ml.g5.48xlarge", st.TorchDistributed()),
        (st.PyTorch("2.0", python="py310"), "ml.p4d.24xlarge", st.SMDataParallel()),
        (st.HuggingFace("4.26", pytorch="1.13", python="py39"), "ml.p4d.24xlarge", st.SMDataParallel()),
        (st.PyTorch("2.0", python="py310"), "ml.p4d.24xlarge", st.specs.SMModelParallelV2()),
    ],
)
def test_a_spelling_that_the_sdks_lists_lack_is_sent_all_the_same(
    framework: Any, instance: str, distribution: Any, wire: Any, source: str
) -> None:
    job = jobs.smddp(source).replace(framework=framework, compute=st.Compute(instance), distribution=distribution)
    assert [] == [problem.id for problem in st.check(job) if problem.severity is st.Severity.ERROR]
    assert st.render(job, at=at(job)) == fitted(job, wire)


def test_the_compiler_beside_an_image_is_refused_by_the_sdk_as_by_preflight(wire: Any, source: str) -> None:
    own = "123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1"
    job = jobs.compiled(source).replace(image_uri=own)
    assert "COMP005" in {problem.id for problem in st.check(job)}
    assert "true" == st.render(job, at=at(job))["HyperParameters"]["sagemaker_training_compiler_enabled"]
    with pytest.raises(ValueError, match="Overriding the image URI is currently not supported"):
        fitted(job, wire)


def test_model_parallelism_in_an_image_of_cuda_12_is_refused_by_the_sdk_as_by_preflight(wire: Any, source: str) -> None:
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0.1-gpu-py310-cu121-ubuntu20.04-sagemaker"
    job = jobs.smddp(source).replace(framework=st.PyTorch("2.0.1", python="py310"), image_uri=image)
    assert "DIST024" in {problem.id for problem in st.check(job)}
    with pytest.raises(ValueError, match="SMDistributed is currently incompatible with DLC image"):
        fitted(job, wire)
