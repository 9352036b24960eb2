"""Attaching to a job gives its spec back, whoever made the job; resubmitting and resuming go on from there."""

from __future__ import annotations

import dataclasses
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jobs as specs
import pytest
from hypothesis import Phase, given, settings
from jobs import job_of
from strategies_of_values import sensible
from waiting import within

import sm_trn as st
from sm_trn import emulator as embedded
from sm_trn.core.jobfile import dump_job
from sm_trn.core.render import destination_of
from sm_trn.core.specs import JobStatus, Severity, json_text
from sm_trn.emulator import Options
from sm_trn.wiring import Session

pytestmark = pytest.mark.local
DATA = "s3://a-bucket/data"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """An emulator of our own in which nothing ever starts: only what it tells of a job matters here."""
    pytest.importorskip("moto", reason="needs sm_trn[local]")
    state = tmp_path_factory.mktemp("emulator")
    try:
        embedded.up(state, options=Options(start_delay_s=3600.0))
        made = st.connect("emulator", state=state)
        s3 = client(made, "s3")
        s3.create_bucket(Bucket="a-bucket", CreateBucketConfiguration={"LocationConstraint": made.region})
        s3.put_object(Bucket="a-bucket", Key="data/one.csv", Body=b"1")
        yield made
    finally:
        embedded.down(state)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    (folder / "run_clm.py").write_text("print('checkpoint')\n")
    return folder


def client(session: Session, service: str) -> Any:
    assert session.boto_session is not None
    return session.boto_session.client(service)


def again(job: st.TrainingJob) -> str:
    return json_text(st.render(job.spec, at=job.destination()))


def test_the_spec_of_a_submitted_job_comes_back_equal(session: Session, source: Path) -> None:
    seen: list[str] = []

    @settings(
        max_examples=100,
        phases=[Phase.generate],
        database=None,
    )
    @given(job=sensible(str(source)))
    def compare(job: st.JobSpec) -> None:
        if job.script is None or job.script.git is not None or job.kept:
            return  # a program's hyperparameters come back as texts, a repository as its copy in S3
        if any(problem.severity is Severity.ERROR for problem in st.check(job)):
            return
        attached = session.attach(session.submit(job).name)
        assert job == attached.spec
        assert json_text(attached.request()) == again(attached)
        seen.append(job.name)

    compare()
    assert len(seen) >= 12, seen


def test_a_shipped_script_comes_back_as_the_shipped_script(session: Session) -> None:
    job = specs.trainium("").replace(
        script=st.Script("train_text_classification.py"), hyperparameters={"epochs": 1}, inputs={}
    )
    assert job == session.attach(session.submit(job).name).spec


def test_local_data_comes_back_as_the_place_it_was_uploaded_to(session: Session, source: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    channel = st.Channel(str(tmp_path), mode=st.specs.InputMode.FAST_FILE)
    job = specs.trainium(str(source)).replace(inputs={"train": str(tmp_path), "test": channel})
    spec = session.attach(session.submit(job).name).spec
    places = {name: value.uri for name, value in spec.channels.items()}
    assert all(uri.startswith(f"s3://{session.bucket}/sm_trn/inputs/") for uri in places.values())
    inputs = {"train": places["train"], "test": dataclasses.replace(channel, uri=places["test"])}
    assert job.replace(inputs=inputs) == spec


def test_a_source_that_was_changed_since_comes_back_as_what_was_uploaded(session: Session, tmp_path: Path) -> None:
    (tmp_path / "run_clm.py").write_text("print('one')\n")
    job = specs.trainium(str(tmp_path)).replace(inputs={})
    submitted = session.submit(job)
    assert job == session.attach(submitted.name).spec
    (tmp_path / "run_clm.py").write_text("print('two')\n")
    attached = session.attach(submitted.name)
    assert st.Script("run_clm.py", source_dir=attached.destination().source_uri) == attached.spec.script
    assert json_text(attached.request()) == again(attached)
    resubmitted = submitted.resubmit()  # though this handle still knows the folder, what ran is sent
    assert attached.destination().source_uri == resubmitted.destination().source_uri
    assert not resubmitted.changes
    shorter = submitted.resubmit(submitted.spec.replace(max_run_s=60))
    assert attached.destination().source_uri == shorter.destination().source_uri
    assert ["StoppingCondition.MaxRuntimeInSeconds"] == [item.field for item in shorter.changes or ()]


def test_a_changed_script_is_uploaded_and_shown(session: Session, source: Path, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("print('other')\n")
    first = session.submit(specs.trainium(str(source)).replace(inputs={}))
    second = first.resubmit(first.spec.replace(script=st.Script("other.py", source_dir=str(tmp_path))))
    assert first.destination().source_uri != second.destination().source_uri
    assert {"HyperParameters.sagemaker_program", "HyperParameters.sagemaker_submit_directory"} == {
        item.field for item in second.changes or ()
    }


def test_what_submit_wrote_is_not_believed_where_the_request_says_otherwise(session: Session, source: Path) -> None:
    job = specs.trainium(str(source)).replace(inputs={})
    name = session.submit(job).name
    session.storage.put_text(f"sm_trn/jobs/{name}/spec.json", dump_job(job.replace(max_run_s=1), "json"))
    attached = session.attach(name)
    assert (job.max_run_s, job.hyperparameters) == (attached.spec.max_run_s, attached.spec.hyperparameters)
    session.storage.put_text(f"sm_trn/jobs/{name}/spec.json", '{"not": "a job"}')
    assert attached.spec == session.attach(name).spec


def test_a_spec_that_cannot_be_written_starts_nothing(session: Session, source: Path) -> None:
    class Full:
        """A bucket that takes sources but no specs."""

        def __getattr__(self, name: str) -> Any:
            return getattr(session.storage, name)

        def put_text(self, key: str, text: str) -> str:
            del text
            raise st.errors.CloudError(f"PutObject of {key}: SlowDown", operation="PutObject", code="SlowDown")

    before = {job.name for job in session.jobs(limit=500)}
    with pytest.raises(st.errors.CloudError, match=r"PutObject of sm_trn/jobs/gpt2-trn1-.*/spec.json"):
        dataclasses.replace(session, storage=Full()).submit(specs.trainium(str(source)).replace(inputs={}))
    assert before == {job.name for job in session.jobs(limit=500)}


BUILT_IN: dict[str, Any] = {
    "TrainingJobName": "xgboost-by-hand",
    "RoleArn": "arn:aws:iam::111122223333:role/another-role",
    "AlgorithmSpecification": {
        "TrainingImage": "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1",
        "TrainingInputMode": "Pipe",
    },
    "HyperParameters": {"eta": "0.46", "objective": "reg:squarederror", "num_round": "100"},
    "InputDataConfig": [
        {
            "ChannelName": "files",
            "DataSource": {
                "FileSystemDataSource": {
                    "FileSystemId": "fs-0851014c71bcede17",
                    "FileSystemAccessMode": "ro",
                    "FileSystemType": "FSxLustre",
                    "DirectoryPath": "/2nolnbmv",
                }
            },
        },
        {
            "ChannelName": "train",
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": DATA}},
            "ContentType": "text/csv",
            "ShuffleConfig": {"Seed": 3},
        },
    ],
    "OutputDataConfig": {"S3OutputPath": "s3://a-bucket/out"},
    "VpcConfig": {"SecurityGroupIds": ["sg-0123456789abcdef0"], "Subnets": ["subnet-0123456789abcdef0"]},
    "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
    "StoppingCondition": {"MaxRuntimeInSeconds": 600, "MaxPendingTimeInSeconds": 7200},
    "ExperimentConfig": {"ExperimentName": "mine"},
    "Tags": [{"Key": "team", "Value": "red"}],
    "RemoteDebugConfig": {"EnableRemoteDebug": True},
}


def made_by_boto3(session: Session, name: str, **changes: Any) -> st.TrainingJob:
    client(session, "sagemaker").create_training_job(**{**BUILT_IN, "TrainingJobName": name, **changes})
    return session.attach(name)


def test_a_job_of_boto3_with_a_built_in_algorithm_is_attached_losslessly(session: Session) -> None:
    job = made_by_boto3(session, "xgboost-by-hand")
    assert json_text(BUILT_IN) == json_text(job.request())
    assert json_text(BUILT_IN) == again(job)
    spec = job.spec
    assert (None, st.Container(), "ml.m5.large", 600) == (
        spec.script,
        spec.framework,
        spec.compute.instance,
        spec.max_run_s,
    )
    assert {"eta": "0.46", "objective": "reg:squarederror", "num_round": "100"} == dict(spec.hyperparameters)
    assert [] == [str(problem) for problem in st.check(spec) if problem.severity is Severity.ERROR]


def test_a_foreign_job_is_resubmitted_with_a_change_and_all_the_rest(session: Session) -> None:
    job = made_by_boto3(session, "xgboost-again")
    more = {**job.spec.hyperparameters, "eta": 0.1}
    changed = job.resubmit(
        job.spec.replace(hyperparameters=more, compute=st.Compute("ml.m5.xlarge", volume_gb=10)), name="next"
    )
    assert "next-" == changed.name[:5]
    request = BUILT_IN | {
        "TrainingJobName": changed.name,
        "HyperParameters": BUILT_IN["HyperParameters"] | {"eta": "0.1"},
    }
    request |= {"ResourceConfig": BUILT_IN["ResourceConfig"] | {"InstanceType": "ml.m5.xlarge"}}
    assert json_text(request) == json_text(session.attach(changed.name).request())
    assert {"HyperParameters.eta", "ResourceConfig.InstanceType"} == {item.field for item in changed.changes or ()} - {
        "TrainingJobName"
    }
    assert {"HyperParameters.eta", "ResourceConfig.InstanceType"} == {item.field for item in st.diff(job, changed)}
    assert "+ 0.1" in str(changed.changes)


def test_a_job_of_sdk_v2_is_attached_losslessly(session: Session, source: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    from sm_trn.core import sdk

    made = sdk.sdk_session(boto_session=session.boto_session, bucket=session.bucket)
    with sdk.contained():
        estimator = sdk.load("sagemaker.huggingface.HuggingFace")(
            entry_point="run_clm.py", source_dir=str(source), role=session.role, sagemaker_session=made,
            transformers_version="4.21", pytorch_version="1.11", py_version="py38", instance_type="ml.p4d.24xlarge", instance_count=2,
            compiler_config=sdk.load("sagemaker.huggingface.TrainingCompilerConfig")(), distribution={"pytorchxla": {"enabled": True}},
            hyperparameters={"epochs": 3, "model": "gpt2", "rates": [1, 2]}, environment={"A": "b"}, disable_profiler=True,
            debugger_hook_config=False, use_spot_instances=True, max_run=3600, max_wait=7200, checkpoint_s3_uri=f"{DATA}/k",
            metric_definitions=[{"Name": "loss", "Regex": "loss: (.*)"}], tags=[{"Key": "a", "Value": "b"}], base_job_name="by-sdk",
        )  # fmt: skip
        estimator.fit({"train": DATA}, wait=False)
    job = session.attach(estimator.latest_training_job.name)
    assert json_text(job.request()) == again(job)
    assert (st.TrainingCompiler(), st.PyTorchXLA(), {"epochs": 3, "model": "gpt2"}) == (
        job.spec.compiler, job.spec.distribution, dict(job.spec.hyperparameters)
    )  # fmt: skip
    assert (st.HuggingFace("4.21", pytorch="1.11", python="py38"), "by-sdk") == (job.spec.framework, job.spec.name)
    assert ("/HyperParameters/rates",) == tuple(part.at for part in job.spec.kept)
    assert st.Spot(max_wait_s=7200, checkpoint_s3_uri=f"{DATA}/k") == job.spec.spot
    sent = session.attach(job.resubmit().name).request()
    apart = {"TrainingJobName", "HyperParameters"}
    assert {key: value for key, value in job.request().items() if key not in apart} == {
        key: value for key, value in sent.items() if key not in apart
    }


def test_a_git_source_comes_back_with_the_commit_it_was_pinned_to(session: Session, tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print(1)\n")
    quiet = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *quiet, *words], cwd=tmp_path, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.strip()
    script = st.Script("train.py", source_dir="src", git=st.specs.Git(str(tmp_path), branch="main"))
    job = session.submit(specs.trainium("").replace(script=script, inputs={}, hyperparameters={}))
    pinned = dataclasses.replace(script, git=st.specs.Git(str(tmp_path), commit=head))
    assert pinned == session.attach(job.name).spec.script


def test_a_running_job_is_not_resumed(session: Session, source: Path) -> None:
    job = session.submit(
        specs.spot(str(source)).replace(inputs={}, spot=st.Spot(max_wait_s=90_000, checkpoint_s3_uri=DATA))
    )
    with pytest.raises(st.errors.InvalidJob, match=r"error\[SPOT010\] status: the job has not ended"):
        session.attach(job.name).resume()


COUNTER = """
import os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"), "checkpoints")
done = max((int(path.stem) for path in folder.glob("*.step")), default=0)
print(f"checkpoint found: {done}", flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
for step in range(done + 1, done + 4):
    (folder / f"{step}.step").write_text("x")
print(f"reached {step}", flush=True)
if done == 0:
    time.sleep(120)
pathlib.Path(os.environ["SM_MODEL_DIR"], "steps.txt").write_text(str(step))
"""


@pytest.fixture(scope="module")
def live(emulator: Any) -> Session:
    return st.connect("emulator", state=emulator.state)


def stopped_after_three_steps(live: Session, folder: Path, **parts: Any) -> st.TrainingJob:
    job = live.submit(job_of(folder, COUNTER, name="counter", max_run_s=300, **parts))
    assert within(lambda: any("reached 3" in event.text for event in job.logs()), 60), job.snapshot()
    assert JobStatus.STOPPED is job.stop(wait=True).status
    return job


def model_of(live: Session, job: st.TrainingJob) -> str:
    bucket, _, key = str(job.snapshot().model_s3_uri).removeprefix("s3://").partition("/")
    body = client(live, "s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        found = tar.extractfile("steps.txt")
        assert found is not None
        return found.read().decode()


def test_a_stopped_spot_job_goes_on_from_its_checkpoints(live: Session, tmp_path: Path) -> None:
    place = f"s3://{live.bucket}/resumed"
    first = stopped_after_three_steps(live, tmp_path, spot=st.Spot(max_wait_s=600, checkpoint_s3_uri=place))
    attached = live.attach(first.name)
    stored = attached.checkpoints()
    assert stored is not None
    assert (3, place) == (stored.count, stored.uri)
    assert "3 objects in" in str(stored)
    second = attached.resume()
    assert JobStatus.COMPLETED is second.wait(progress=False).status
    assert "6" == model_of(live, second)
    assert "checkpoint found: 3" in [event.text for event in second.logs()]
    assert first.spec == second.spec
    with pytest.raises(st.errors.InvalidJob, match=r"SPOT012.* the job has finished"):
        second.resume()


def test_a_job_without_checkpoints_is_not_resumed(live: Session, tmp_path: Path) -> None:
    job = stopped_after_three_steps(live, tmp_path)
    assert job.checkpoints() is None
    with pytest.raises(st.errors.InvalidJob, match=r"SPOT011.* keeps no checkpoints in S3"):
        job.resume()


def test_a_job_that_left_no_checkpoint_is_not_resumed_unless_that_is_waived(live: Session, tmp_path: Path) -> None:
    place = st.Checkpoint(s3_uri=f"s3://{live.bucket}/nowhere", local_path="/opt/ml/elsewhere")
    job = stopped_after_three_steps(live, tmp_path, checkpoint=place)
    with pytest.raises(st.errors.InvalidJob, match=r"SPOT013.* left no checkpoint"):
        job.resume()
    assert JobStatus.STOPPED is job.resume(ignore=("SPOT013",)).stop(wait=True).status


def test_the_destination_of_a_request_is_where_it_went() -> None:
    at = destination_of(json.loads(json.dumps(BUILT_IN)))
    assert ("us-east-1", "a-bucket", "xgboost-by-hand", None) == (at.region, at.bucket, at.job_name, at.source_uri)


def test_what_lies_under_a_place_is_counted_without_its_neighbours(session: Session) -> None:
    for key in ("ckpt/a", "ckpt/deep/b", "ckpt-other/c"):
        session.storage.put_text(key, "text")
    place = f"s3://{session.bucket}/ckpt"
    found = session.storage.fetch_objects(place)
    assert found is not None
    assert (2, 8) == (found.count, found.size_bytes)
    assert found.newest is not None
    assert f"2 objects in {place}, 8 bytes, newest of {found.newest:%Y-%m-%d}" in str(found)
    assert f"no objects in {place}s" == str(session.storage.fetch_objects(f"{place}s"))


def test_a_text_is_read_back_and_a_missing_one_is_nothing(session: Session) -> None:
    assert "ä" == session.storage.fetch_text(session.storage.put_text("a/b.json", "ä"))
    assert session.storage.fetch_text(f"s3://{session.bucket}/a/none.json") is None
    assert session.storage.fetch_text("s3://a-bucket-of-nobody/a.json") is None


def test_two_jobs_a_spec_and_a_request_are_compared_in_any_mixture(session: Session, source: Path) -> None:
    spec = specs.trainium(str(source)).replace(inputs={})
    other = spec.replace(max_run_s=60, hyperparameters={**spec.hyperparameters, "<b>": "&"})
    one, two = session.submit_all([spec, other])
    fields = {"StoppingCondition.MaxRuntimeInSeconds", "HyperParameters.<b>"}
    for before, after in (
        (one, two),
        (one, other),
        (spec, two),
        (spec, other),
        (one.request(), two),
        (spec, two.request()),
    ):
        found = st.diff(before, after)
        assert fields == {item.field for item in found}
        assert "StoppingCondition.MaxRuntimeInSeconds\n- 86400\n+ 60\n" in str(found)
        assert "HyperParameters.&lt;b&gt;" in found._repr_html_()
        assert "<b>" not in found._repr_html_()
    assert not st.diff(one, spec)
    assert f"No difference between {one.name} and gpt2-trn1." == str(st.diff(one, spec))
