"""What ``deploy`` sends is what SDK v2's model classes send, made from the rendered call; and their endpoint answers alike."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import jobs
import pytest

import sm_trn as st
from sm_trn.core._entry import scripts_folder
from sm_trn.core.errors import InvalidJob, UnknownName
from sm_trn.core.render import problems
from sm_trn.core.specs import Destination

HOST = "ml.c5.xlarge"
LONG = pytest.mark.skipif("SM_TRN_CLIENTS" not in os.environ, reason="set SM_TRN_CLIENTS=all: a real training")
# The whole list of differences, with reasons. Everything else must be equal.
DIFFERENCES = {
    "CreateModel.ModelName": "each makes a name of its own, unique by time",
    "CreateModel.PrimaryContainer.ModelDataUrl": "where code is added, each packs the archive to a place of its own",
    "CreateModel.Tags": "ours says which job the model is of",
    "CreateEndpointConfig.EndpointConfigName": "follows ModelName",
    "CreateEndpointConfig.ProductionVariants.0.ModelName": "follows ModelName",
    "CreateEndpointConfig.ProductionVariants.0.InitialVariantWeight": "the SDK sends 1, which is the default of a lone variant",
    "CreateEndpointConfig.Tags": "as the model's",
    "CreateEndpoint.EndpointName": "follows ModelName",
    "CreateEndpoint.EndpointConfigName": "follows ModelName",
    "CreateEndpoint.Tags": "as the model's",
}
CALLS = ("CreateModel", "CreateEndpointConfig", "CreateEndpoint")
CODE = "import json\ndef model_fn(f): return 2\ndef input_fn(b, c): return json.loads(b)\ndef predict_fn(d, m): return d * m\n"


def flat(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return {at: each for key, item in value.items() for at, each in flat(item, f"{path}.{key}").items()}
    if isinstance(value, list) and not path.endswith(".Tags"):
        return {at: each for place, item in enumerate(value) for at, each in flat(item, f"{path}.{place}").items()}
    return {path: value}


def with_own_code(folder: Path) -> st.JobSpec:
    folder.mkdir()
    (folder / "train.py").write_text(
        "import os, pathlib\nout = pathlib.Path(os.environ['SM_MODEL_DIR'])\n(out / 'code').mkdir()\n"
        f"(out / 'code/inference.py').write_text({CODE!r})\n(out / 'weights').write_text('2')\n"
    )
    return st.JobSpec(
        name="doubler",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.6.0", python="py312"),
        compute=st.Compute(HOST),
        max_run_s=600,
    )


def classifier(folder: Path) -> st.JobSpec:
    with (scripts_folder() / "sample" / "reviews.csv").open(newline="", encoding="utf-8") as source:
        rows = list(csv.reader(source))
    for name, part in (("train", rows[1:129]), ("validation", rows[129:161])):
        (folder / name).mkdir(parents=True)
        with (folder / name / "part.csv").open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([rows[0], *part])
    return st.JobSpec(
        name="reviews",
        script=st.Script("train_text_classification.py"),
        framework=st.PyTorch("2.6.0", python="py312"),
        compute=st.Compute(HOST),
        hyperparameters={"model": "tiny-random", "epochs": 1},
        inputs={"train": str(folder / "train"), "validation": str(folder / "validation")},
        max_run_s=600,
    )


@pytest.mark.local
@pytest.mark.sdk
@pytest.mark.parametrize("make", [with_own_code, pytest.param(classifier, marks=LONG)])
def test_deploy_sends_what_the_sdks_model_sends(emulator: Any, tmp_path: Path, make: Any) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    from sm_trn.core import sdk

    sent: dict[str, Any] = {}
    session = st.connect("emulator", state=emulator.state)  # its clients are made after the handlers
    assert session.boto_session is not None
    for name in CALLS:
        session.boto_session.events.register(
            f"provide-client-params.sagemaker.{name}",
            lambda params, model, **_: sent.update({model.name: dict(params)}),
        )
    job = session.submit(make(tmp_path / "source"))
    job.wait(progress=False)
    with job.deploy(HOST) as endpoint:
        ours = {path: value for name in CALLS for path, value in flat(sent[name], name).items()}
        question: Any = {"inputs": ["Not bad at all.", "It broke on day one."]} if make is classifier else 4
        answer = endpoint.predict(question)
    call = st.render(job.spec, "model-v2", at=job.destination())
    model = sdk.build(call, sagemaker_session=sdk.sdk_session(boto_session=session.boto_session, bucket=session.bucket))
    with sdk.contained():
        model.deploy(**call.fit, wait=False)
    theirs = {path: value for name in CALLS for path, value in flat(sent[name], name).items()}
    different = {path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path)}
    assert set() == different - set(DIFFERENCES)
    with session.endpoint(model.endpoint_name).wait() as served:
        assert answer == served.predict(question)


def test_a_trained_jobs_model_is_printed_as_source_that_can_be_pasted() -> None:
    job = jobs.trainium("./src").replace(script=st.Script("train_text_classification.py"))
    shown = str(st.render(job, "model-v2", at=Destination(bucket="a-bucket", job_name="a-job", host="ml.g5.xlarge")))
    assert "from sagemaker.huggingface import HuggingFaceModel" in shown
    assert "model_data='s3://a-bucket/a-job/output/model.tar.gz'" in shown
    assert "model.deploy(initial_instance_count=1, instance_type='ml.g5.xlarge')" in shown
    compile(shown, "shown", "exec")


def test_a_model_of_a_script_of_ones_own_brings_its_own_code() -> None:
    call = st.render(jobs.smddp("./src"), "model-v2")
    assert "sagemaker.pytorch.PyTorchModel" == call.cls
    assert "entry_point" not in call.kwargs
    assert "inference.py" == call.kwargs["env"]["SAGEMAKER_PROGRAM"]


def test_a_model_class_says_what_it_cannot_take() -> None:
    job = jobs.smddp("./src").replace(framework=st.Container(), image_uri="x", output=st.Output(compress=False))
    assert ["TARGET200", "TARGET201", "TARGET202"] == [problem.id for problem in problems(job, "model-v2")]
    with pytest.raises(InvalidJob, match="TARGET201"):
        st.render(job, "model-v2")


def test_an_inferentia_host_is_refused_with_what_it_needs() -> None:
    with pytest.raises(UnknownName, match="compiled for Neuron"):
        st.render(jobs.smddp("./src"), "model-v2", at=Destination(host="ml.inf2.xlarge"))
