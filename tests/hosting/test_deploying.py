"""From a finished job to an endpoint, its answers and its end; what costs money, and what refuses to be hosted."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tarfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn
from jobs import job_of

import sm_trn as st
from sm_trn.core._entry import scripts_folder
from sm_trn.core.catalog.inference import hosting_image
from sm_trn.core.errors import CloudError, InvalidJob, UnknownName
from sm_trn.core.pricing import snapshot_book

CODE = "import json\ndef model_fn(f): return 2\ndef input_fn(b, c): return json.loads(b)\ndef predict_fn(d, m): return d * m\n"


def spec(folder: Path, script: str) -> st.JobSpec:
    text = "import os, pathlib\nout = pathlib.Path(os.environ['SM_MODEL_DIR'])\n" + script
    return job_of(folder, text, name="hosted", framework=st.PyTorch("2.6.0", python="py312"))


def trained(session: st.Session, folder: Path, script: str) -> st.TrainingJob:
    job = session.submit(spec(folder, script))
    job.wait(progress=False)
    return job


@pytest.fixture(scope="module")
def doubler(session: st.Session, tmp_path_factory: pytest.TempPathFactory) -> st.TrainingJob:
    script = (
        f"(out / 'code').mkdir()\n(out / 'code/inference.py').write_text({CODE!r})\n(out / 'weights').write_text('2')\n"
    )
    return trained(session, tmp_path_factory.mktemp("doubler") / "source", script)


@pytest.mark.local
def test_a_classifiers_accuracy_through_the_endpoint_is_the_training_jobs(session: st.Session, tmp_path: Path) -> None:
    with (scripts_folder() / "sample" / "reviews.csv").open(newline="", encoding="utf-8") as source:
        rows = list(csv.reader(source))
    for name, part in (("train", rows[1:1201]), ("validation", rows[1201:1401])):
        (tmp_path / name).mkdir()
        with (tmp_path / name / "part.csv").open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([rows[0], *part])
    job = session.submit(
        st.JobSpec(
            name="reviews",
            script=st.Script("train_text_classification.py"),
            framework=st.PyTorch("2.6.0", python="py312"),
            compute=st.Compute("ml.c5.xlarge"),
            hyperparameters={"model": "tiny-random", "epochs": 2, "learning_rate": 0.002},
            inputs={"train": str(tmp_path / "train"), "validation": str(tmp_path / "validation")},
            max_run_s=600,
        )
    )
    job.wait(progress=False)
    reached = job.record().last("eval_accuracy")
    with job.deploy("ml.c5.xlarge", max_hours=1) as endpoint:
        assert "InService" == endpoint.status
        held_out = rows[1201:1401]
        answers = endpoint.predict({"inputs": [text for text, _ in held_out]})
        right = sum(answer["label"] == label for answer, (_, label) in zip(answers, held_out, strict=True))
        assert reached == pytest.approx(right / len(held_out), abs=1e-6)
        assert endpoint.predict({"inputs": held_out[0][0]})[0]["label"] in {"0", "1"}
        with pytest.raises(CloudError, match="wanted JSON like"):
            endpoint.predict({"text": "good"})
        assert "huggingface-pytorch-inference:2.6.0" in endpoint.deployment.image if endpoint.deployment else ""
    assert "Deleted" == until_gone(endpoint)


def until_gone(endpoint: Any) -> str:
    for _ in range(400):
        if endpoint.status == "Deleted":
            break
        endpoint.session.clock.sleep(0.05)
    return str(endpoint.status)


@pytest.mark.local
def test_what_answers_is_listed_with_its_guard_and_deleted_when_it_is_overdue(
    session: st.Session, doubler: st.TrainingJob
) -> None:
    lasting, brief = doubler.deploy("ml.c5.xlarge", max_hours=5), doubler.deploy("ml.g5.xlarge", count=2, max_hours=0)
    assert 42 == lasting.predict(21)
    found = {row.name: row for row in session.endpoints()}
    assert (False, True) == (found[lasting.name].overdue, found[brief.name].overdue)
    assert (doubler.name, 2, "ml.g5.xlarge") == (
        found[brief.name].job, found[brief.name].count, found[brief.name].instance,
    )  # fmt: skip
    assert Decimal(0) == session.endpoints().usd_per_hour  # an emulated endpoint costs nothing
    assert (brief.name,) == session.endpoints().delete_overdue()
    assert "Deleted" == until_gone(brief)
    assert "InService" == lasting.status
    lasting.delete()
    lasting.delete()
    assert "Deleted" == until_gone(lasting)


@pytest.mark.local
def test_an_artefact_without_code_is_refused_until_code_is_given(session: st.Session, tmp_path: Path) -> None:
    job = trained(session, tmp_path / "source", "(out / 'weights').write_text('2')\n")
    with pytest.raises(InvalidJob, match="HOST004"):
        job.deploy("ml.c5.xlarge")
    (tmp_path / "mine.py").write_text(CODE)
    with job.deploy("ml.c5.xlarge", code=str(tmp_path / "mine.py")) as endpoint:
        assert 6 == endpoint.predict(3)


@pytest.mark.local
def test_all_that_is_wrong_with_an_artefact_is_said_at_once(session: st.Session, doubler: st.TrainingJob) -> None:
    assert session.boto_session is not None
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        link = tarfile.TarInfo("weights")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    uri = doubler.snapshot().model_s3_uri or ""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    client = session.boto_session.client("s3")
    before = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    client.put_object(Bucket=bucket, Key=key, Body=out.getvalue())
    try:
        with pytest.raises(InvalidJob) as caught:
            doubler.deploy("ml.c5.xlarge")
        assert ["HOST002", "HOST004"] == [problem.id for problem in caught.value.problems]
        client.delete_object(Bucket=bucket, Key=key)
        with pytest.raises(InvalidJob, match="HOST001"):
            doubler.deploy("ml.c5.xlarge")
    finally:
        client.put_object(Bucket=bucket, Key=key, Body=before)


@pytest.mark.local
def test_a_model_that_cannot_answer_says_so_and_is_still_to_be_deleted(
    session: st.Session, doubler: st.TrainingJob, tmp_path: Path
) -> None:
    (tmp_path / "inference.py").write_text("raise RuntimeError('broken')\n")
    with pytest.raises(CloudError, match=r"ping health check.*--delete"):
        doubler.deploy("ml.c5.xlarge", code=str(tmp_path))
    assert {"Failed"} == {row.status for row in session.endpoints()}
    session.endpoints().delete_all()


@pytest.mark.local
def test_the_shell_deploys_asks_lists_and_deletes(emulator: Any, doubler: st.TrainingJob, tmp_path: Path) -> None:
    where = ("--backend", "emulator", "--state", str(emulator.state))
    made = sm_trn("deploy", doubler.name, "--instance", "ml.c5.xlarge", "--json", *where)
    assert 0 == made.returncode, made.stderr
    name = json.loads(made.stdout)["name"]
    (tmp_path / "four.json").write_text("4")
    ask = ("deploy", name, "--predict", str(tmp_path / "four.json"), *where)
    answer = sm_trn(*ask)
    assert "8" == answer.stdout.strip(), answer.stderr
    assert name in sm_trn("deploy", *where).stdout
    assert 2 == sm_trn("deploy", "--delete", *where).returncode
    assert 0 == sm_trn("deploy", name, "--delete", *where).returncode
    assert 1 == sm_trn(*ask).returncode


@pytest.mark.local
def test_a_models_own_words_cannot_move_the_terminals_cursor(
    emulator: Any, doubler: st.TrainingJob, tmp_path: Path
) -> None:
    (tmp_path / "inference.py").write_text(
        "def model_fn(f): return 0\ndef input_fn(b, c): raise ValueError('\\x1b[2J gone')\n"
    )
    with doubler.deploy("ml.c5.xlarge", code=str(tmp_path)) as endpoint:
        (tmp_path / "four.json").write_text("4")
        ask = ("deploy", endpoint.name, "--predict", str(tmp_path / "four.json"))
        asked = sm_trn(*ask, "--backend", "emulator", "--state", str(emulator.state))
        assert 1 == asked.returncode
        assert "gone" in asked.stderr
        assert "\x1b" not in asked.stderr


@pytest.mark.local
@pytest.mark.sdk
@pytest.mark.skipif("SM_TRN_CLIENTS" not in os.environ, reason="set SM_TRN_CLIENTS=all: a real training")
def test_the_sdks_own_classes_deploy_predict_and_delete(
    emulator: Any, session: st.Session, doubler: st.TrainingJob, tmp_path: Path
) -> None:
    if subprocess.run([sys.executable, "-c", "import sagemaker.pytorch"], check=False, capture_output=True).returncode:
        pytest.skip("SageMaker SDK v2 is not installed")
    (tmp_path / "code").mkdir()
    (tmp_path / "code/inference.py").write_text(CODE)
    (tmp_path / "config.yaml").write_text(
        "SchemaVersion: '1.0'\nSageMaker:\n  PythonSDK:\n    Modules:\n      TelemetryOptOut: true\n"
    )
    code = """
import sys, time, boto3, sagemaker
from sagemaker.pytorch import PyTorch, PyTorchModel
from sagemaker.serializers import JSONSerializer
from sagemaker.deserializers import JSONDeserializer
name, model, role, bucket, folder = sys.argv[1:]
session = sagemaker.Session(boto3.Session(), default_bucket=bucket)
hosted = PyTorchModel(model_data=model, role=role, entry_point="inference.py", source_dir=folder, framework_version="2.6.0",
                      py_version="py312", sagemaker_session=session)
def ask(predictor, number):
    while session.describe_endpoint(predictor.endpoint_name)["EndpointStatus"] == "Creating":  # the SDK itself looks every 30 s
        time.sleep(0.1)
    print("PREDICTED", predictor.predict(number))
    predictor.delete_model()
    predictor.delete_endpoint()
talk = {"serializer": JSONSerializer(), "deserializer": JSONDeserializer(), "wait": False}
ask(hosted.deploy(1, "ml.c5.xlarge", **talk), 8)
estimator = PyTorch.attach(name, sagemaker_session=session)
ask(estimator.deploy(1, "ml.c5.xlarge", entry_point="inference.py", source_dir=folder, **talk), 9)
"""
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            doubler.name,
            str(doubler.snapshot().model_s3_uri),
            session.role,
            session.bucket,
            str(tmp_path / "code"),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=250,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "SAGEMAKER_USER_CONFIG_OVERRIDE": str(tmp_path / "config.yaml"),
            **emulator.environment(),
        },
    )
    assert 0 == said.returncode, said.stderr
    assert ["PREDICTED 16", "PREDICTED 18"] == [line for line in said.stdout.splitlines() if "PREDICTED" in line]


def test_a_hosting_price_is_never_a_training_price() -> None:
    book = snapshot_book()
    hosted = book.hosting("ml.g5.xlarge", "us-east-1")
    assert hosted is not None
    assert "Hosting" == hosted.component
    assert book.hosting("ml.p4d.24xlarge", "us-east-1") is None
    assert book.find("ml.p4d.24xlarge", "us-east-1") is not None
    assert book.hosting("ml.g5.xlarge", "eu-west-1") is None


@pytest.mark.parametrize(
    ("pytorch", "transformers", "hugging_face", "instance", "tag"),
    [
        ("2.6.0", None, False, "ml.c5.xlarge", "pytorch-inference:2.6.0-cpu-py312"),
        ("2.0", None, False, "ml.g5.xlarge", "pytorch-inference:2.0.1-gpu-py310"),
        ("1.13.1", "4.26", True, "ml.g5.xlarge",
         "huggingface-pytorch-inference:1.13.1-transformers4.26.0-gpu-py39-cu117-ubuntu20.04"),
        ("2.5.1", None, True, "ml.c5.xlarge", "huggingface-pytorch-inference:2.6.0-transformers4.51.3-cpu-py312-ubuntu22.04"),
    ],
)  # fmt: skip
def test_the_image_is_the_oldest_that_is_not_older_than_the_training(
    pytorch: str, transformers: str | None, hugging_face: bool, instance: str, tag: str
) -> None:
    image, note = hosting_image(
        instance, "us-west-2", pytorch=pytorch, transformers=transformers, hugging_face=hugging_face
    )
    assert f"763104351884.dkr.ecr.us-west-2.amazonaws.com/{tag}" == image
    assert ("nearest to the 2.5.1" in note) == (pytorch == "2.5.1")


def test_an_inferentia_host_needs_a_compiled_model() -> None:
    with pytest.raises(UnknownName, match="compiled for Neuron"):
        hosting_image("ml.inf2.xlarge", "us-west-2", pytorch="2.6.0", transformers=None, hugging_face=False)
