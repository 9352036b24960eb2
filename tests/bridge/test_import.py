"""sm-trn import: a launcher runs in the sandbox, and each of its jobs becomes a file that says the same."""

from __future__ import annotations

import ast
import io
import json
import tarfile
from pathlib import Path

import pytest
from command import sm_trn
from fakes.launchers import ONE, REQUEST, notebook

import sm_trn as st
from sm_trn.core.errors import SmTrnError
from sm_trn.tuning.files import read_text

SDK = pytest.mark.sdk
ROLE = "arn:aws:iam::111122223333:role/mine"


def sdk_v2() -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")


def project(folder: Path, launcher: str, name: str = "launch.py") -> Path:
    (folder / "src").mkdir()
    (folder / "src" / "train.py").write_text("print('here')\n")
    (folder / name).write_text(launcher)
    return folder / name


LAUNCH = """
import sagemaker, sys
from sagemaker.huggingface import HuggingFace
from sagemaker.pytorch import PyTorch
session = sagemaker.Session()
epochs = 3
hyperparameters = {"epochs": epochs, "name": "a b", "fp16": True}
estimator = HuggingFace(
    entry_point="train.py", source_dir="src", role=sagemaker.get_execution_role(), transformers_version="4.26", pytorch_version="1.13",
    py_version="py39", instance_type="ml.p3.2xlarge", instance_count=2, hyperparameters=hyperparameters, base_job_name="reviews",
    use_spot_instances=True, max_run=600, max_wait=900, checkpoint_s3_uri=f"s3://{session.default_bucket()}/c", environment={"A": "b"},
)
estimator.fit({"train": f"s3://{session.default_bucket()}/train"}, wait=False)
def other():
    PyTorch("train.py", source_dir="src", role="arn:aws:iam::111122223333:role/r", framework_version="2.1", py_version="py310",
            instance_type=sys.argv[1], instance_count=1).fit()
"""


@SDK
def test_each_job_becomes_a_file_a_program_and_a_proof(tmp_path: Path) -> None:
    sdk_v2()
    project(tmp_path, LAUNCH)
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode, "one site is not reached"
    lines = done.stdout.splitlines()
    assert lines[0].startswith("launch.py: 2 launch sites, 1 job sent. Nothing was started")
    assert lines[1].startswith("✓ HuggingFace(…), launch.py, line 8: reviews-")
    assert lines[2].startswith("   2 × ml.p3.2xlarge; equal to what the SDK sent, ")
    assert "· PyTorch(…), launch.py, line 15: not reached" in done.stdout
    assert "   --call other runs it" in done.stdout
    assert "   role = 'arn:aws:iam::111122223333:role/r'" in done.stdout
    assert "   instance_type: unknown, line 16 (sys.argv[1])" in done.stdout
    (job,) = st.read_jobs(tmp_path / "recorded" / "reviews.toml")
    assert {"epochs": 3, "name": "a b", "fp16": True} == dict(job.hyperparameters)
    assert "s3://YOUR-BUCKET/train" == job.inputs["train"]
    assert job.script is not None
    assert "print('here')\n" == (tmp_path / "recorded" / str(job.script.source_dir) / "train.py").read_text()
    program = (tmp_path / "recorded" / "reviews.v3.py").read_text()
    assert "ModelTrainer(" in program
    assert "fill in " in program
    ast.parse(program)
    refused = sm_trn("check", "recorded/reviews.toml", cwd=tmp_path)
    assert 1 == refused.returncode
    assert "DATA006" in refused.stdout + refused.stderr


@SDK
def test_values_replace_what_the_file_assigns_and_the_account_answers(tmp_path: Path) -> None:
    sdk_v2()
    path = project(tmp_path, LAUNCH)
    values = {
        "epochs": 9,
        "bucket": "my-bucket",
        "role": "arn:aws:iam::444455556666:role/team/mine",
        "region": "eu-west-1",
    }
    imported = st.import_launcher(path, ["ml.g5.xlarge"], call="other", values=values)
    (launch,) = [each for each in imported.launches if each.name.startswith("reviews")]
    assert isinstance(launch.job, st.JobSpec)
    assert 9 == launch.job.hyperparameters["epochs"]
    assert "s3://my-bucket/train" == launch.job.inputs["train"]
    assert ("eu-west-1", "arn:aws:iam::444455556666:role/team/mine") == (launch.region, launch.request["RoleArn"])
    assert imported.complete
    assert ["HuggingFace", "PyTorch"] == [each.site.cls for each in imported.launches if each.site is not None]
    with pytest.raises(SmTrnError, match="--set: got 'epoch', which the launcher assigns nowhere"):
        st.import_launcher(path, values={"epoch": 9})


MISSPELT = """
from sagemaker.pytorch import PyTorch
PyTorch(entry_point="train.py", source_dir="src", role="arn:aws:iam::111122223333:role/T", framework_version="2.5.1", py_version="py311",
    instance_type="ml.g5.xlarge", instance_count=1, metric_definitons=[{"Name": "loss", "Regex": "loss=([0-9.]+)"}],
    checkpoint_s3_url="s3://b/ck/", max_runtime=3600, enviroment={"A": "1"}, hyper_parameters={"lr": 0.3}).fit({"train": "s3://b/d/"})
PyTorch(entry_point="train.py", source_dir="src", role="arn:aws:iam::111122223333:role/T", framework_version="2.1", py_version="py38",
    instance_type="ml.trn1.2xlarge", instance_count=1).fit({"train": "s3://b/d/"})
"""


@SDK
def test_what_sdk_v2_drops_or_changes_without_a_word_is_named(tmp_path: Path) -> None:
    sdk_v2()
    project(tmp_path, MISSPELT)
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    for name, meant in (
        ("metric_definitons", "metric_definitions"), ("checkpoint_s3_url", "checkpoint_s3_uri"), ("max_runtime", "max_run"),
        ("enviroment", "environment"), ("hyper_parameters", "hyperparameters"),
    ):  # fmt: skip
        assert (
            f"✗ launch.py, line 3: SDK v2 does not know '{name}' and drops it without a word; '{meant}' was meant"
            in done.stdout
        )
    assert 5 == done.stdout.count("SDK v2 does not know")
    assert "▲ framework_version='2.1' became the image pytorch-training-neuron:1.11.0-neuron-py38" in done.stdout


TUNED = """
import sagemaker
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import ContinuousParameter, HyperparameterTuner
estimator = PyTorch("train.py", source_dir="src", role=sagemaker.get_execution_role(), framework_version="2.1", py_version="py310",
                    instance_type="ml.g5.xlarge", instance_count=1, hyperparameters={"epochs": 3}, base_job_name="reviews")
tuner = HyperparameterTuner(estimator, "loss", {"rate": ContinuousParameter(0.1, 0.9)}, [{"Name": "loss", "Regex": "l=(.*)"}],
                            objective_type="Minimize", max_jobs=4, max_parallel_jobs=2)
tuner.fit({"train": "s3://b/x"}, wait=False)
"""


@SDK
def test_a_tuning_job_becomes_a_sweep_file(tmp_path: Path) -> None:
    sdk_v2()
    project(tmp_path, TUNED)
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 0 == done.returncode, done.stdout + done.stderr
    (beside,) = (tmp_path / "recorded").glob("*.sweep.toml")
    sweep = read_text(beside).sweep
    assert (4, 2, "loss", st.specs.Goal.MINIMIZE) == (
        sweep.jobs, sweep.parallel, sweep.objective.name, sweep.objective.goal,
    )  # fmt: skip
    assert {"rate": st.specs.Continuous(0.1, 0.9)} == sweep.space
    assert {"epochs": 3} == sweep.job.arguments


@SDK
def test_several_launches_are_told_apart_by_their_sites(tmp_path: Path) -> None:
    sdk_v2()
    project(
        tmp_path,
        "from sagemaker.pytorch import PyTorch\n"
        "def made(count, **more):\n"
        f"    return PyTorch('train.py', source_dir='src', role={ROLE!r}, framework_version='2.1.0', py_version='py310',\n"
        "                   instance_type='ml.g5.12xlarge', instance_count=count, **more)\n"
        "first, second = made(1), made(2, max_run=60)\n"
        "second.fit('s3://b/x', wait=False)\nfirst.fit('s3://b/x')\nfirst.fit('s3://b/y')\n",
    )
    imported = st.import_launcher(tmp_path / "launch.py")
    assert imported.complete
    assert [6, 7, 8] == [each.place.line for each in imported.launches if each.place is not None]
    assert {3} == {each.site.place.line for each in imported.launches if each.site is not None}
    assert [2, 1, 1] == [each.compute.count for each in imported.jobs if isinstance(each, st.JobSpec)]
    assert {()} == {each.proof.differences for each in imported.launches if each.proof is not None}


def test_a_notebook_is_a_program_and_a_cell_costs_what_depends_on_it(tmp_path: Path) -> None:
    cells = (
        "count = 1",
        "rows = missing()\ncount = 2",
        f"{ONE.replace('**{', 'Tags=[], **{')}",
        "%%bash\nexit 1",
        ONE + "\nrows",
    )
    (tmp_path / "launch.ipynb").write_text(notebook(*cells))
    done = sm_trn("import", "launch.ipynb", cwd=tmp_path)
    assert 1 == done.returncode
    assert "✗ cell 2, line 1 failed: rows = missing(): NameError: name 'missing' is not defined" in done.stdout
    assert "✗ cell 5, line 3 failed: rows: NameError: name 'rows' is not defined" in done.stdout
    assert 2 == done.stdout.count("cell 2, line 1 failed before it: what it would have changed is not in this job")
    assert ["one-2.toml", "one.toml"] == sorted(path.name for path in (tmp_path / "recorded").glob("*.toml"))


def test_nothing_runs_where_that_is_asked(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"{MISSPELT}open('ran', 'w')\n")
    done = sm_trn("import", "--no-run", "--json", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    answer = json.loads(done.stdout)
    assert (None, "it was asked not to run") == (answer["run"], answer["not_run"])
    assert "ml.g5.xlarge" == answer["not_reached"][0]["known"]["instance_type"]
    assert [tmp_path / "launch.py"] == list(tmp_path.iterdir())


def test_a_job_that_cannot_be_written_is_named_and_the_others_are_written(tmp_path: Path) -> None:
    bad = ONE.replace("'one'", "''").replace("boto3.client('sagemaker')", "boto3.client('sagemaker', config=unchecked)")
    unchecked = "from botocore.config import Config\nunchecked = Config(parameter_validation=False)"
    (tmp_path / "launch.py").write_text(f"{unchecked}\n{bad}\n{ONE}\n")
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert "✗ create_training_job(…), launch.py, line 4: , us-west-2" in done.stdout
    assert "   not written: request: got ValueError (name: got '', wanted a job name" in done.stdout
    assert (tmp_path / "recorded" / "one.toml").is_file()


def test_answers_that_the_launcher_may_decide_by_are_named(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        f"import boto3, os\ncount = len(boto3.client('s3').list_objects_v2(Bucket='b').get('Contents', []))\n"
        f"token = os.environ.get('HF_TOKEN')\n{ONE}\n"
    )
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 0 == done.returncode, done.stdout
    assert "▲ answered by stubs, your account may answer otherwise: s3.ListObjects" in done.stdout
    assert "▲ variables that it looked for and did not find: HF_TOKEN. --env gives them" in done.stdout


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "..", "x" * 400, "con\n"])
def test_a_jobs_file_lies_in_the_output_folder_whatever_the_job_is_called(tmp_path: Path, name: str) -> None:
    """Twice: the second of a name is given another one."""
    text = ONE.replace("'one'", repr(name)).replace(
        "boto3.client('sagemaker')", "boto3.client('sagemaker', config=unchecked)"
    )
    unchecked = "from botocore.config import Config\nunchecked = Config(parameter_validation=False)"
    work = tmp_path / "one" / "two"
    work.mkdir(parents=True)
    (work / "launch.py").write_text(f"{unchecked}\n{text}\n{text}\n")
    done = sm_trn("import", "launch.py", "--output", "output", cwd=work)
    written = {path for path in tmp_path.rglob("*") if path.suffix == ".toml"}
    assert {work / "output"} == {path.parent for path in written}, done.stdout
    assert 2 == len(written)


@pytest.mark.parametrize(
    ("name", "said"),
    [("job.toml", "a job file already: sm-trn check reads it"), ("page.html", "wanted Python or a notebook")],
)
def test_what_is_no_launcher_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text("x = 1\n")
    done = sm_trn("import", name, cwd=tmp_path)
    assert 2 == done.returncode
    assert said in " ".join(done.stderr.split())


def archive(*members: tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(bytes(member.size)))
    return packed.getvalue()


def member(name: str, size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    return info


LINK = member("out")
LINK.type, LINK.linkname = tarfile.SYMTYPE, "/etc"
SOURCES = {
    "too many": archive(*(member(f"{number}") for number in range(50_001))),
    "outside": archive(member("../evil")),
    "link": archive(LINK, member("out/evil", 3)),
    "no archive": b"text",
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_harmful_source_is_not_unpacked(tmp_path: Path, kind: str) -> None:
    request = {
        **REQUEST,
        "HyperParameters": {"sagemaker_program": '"t.py"', "sagemaker_submit_directory": '"s3://b/s/sourcedir.tar.gz"'},
    }
    (tmp_path / "source.tar.gz").write_bytes(SOURCES[kind])
    (tmp_path / "launch.py").write_text(
        "import boto3\nboto3.client('s3').put_object(Bucket='b', Key='s/sourcedir.tar.gz', Body=open('source.tar.gz', 'rb').read())\n"
        f"boto3.client('sagemaker').create_training_job(TrainingJobName='one', **{request!r})\n"
    )
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert "   not written: source: got " in done.stdout
    assert [] == [path for path in tmp_path.rglob("*") if path.name in {"evil", "one.toml"}]


def test_a_launcher_that_hangs_is_ended_and_its_jobs_are_kept(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"{ONE}\nwhile True:\n    pass\n")
    done = sm_trn("import", "--timeout", "20", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert "✗ The program was ended: it ran longer than 20 s." in done.stdout
    assert (tmp_path / "recorded" / "one.toml").is_file()
