"""A launcher runs as it is; what it asks is kept; nothing is started, sent or deleted outside of its copy."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from command import sm_trn
from fakes.launchers import ONE, REQUEST, notebook

import sm_trn as st
from sm_trn.bridge.commands.record import saved
from sm_trn.bridge.launchers.source import cells
from sm_trn.bridge.recorder import record
from sm_trn.bridge.recorder.endpoint import Endpoint
from sm_trn.bridge.recorder.isolation import Isolation, holds
from sm_trn.bridge.recorder.recording import REMOVED, Recorded, RecordedCall, without_secrets
from sm_trn.core.errors import SmTrnError
from sm_trn.core.specs.json import Json
from sm_trn.tuning.files import read_sweep

WHOLE = pytest.mark.skipif(os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all runs every client")
BOTO3 = """
import boto3, os, socket, subprocess, sys, urllib.request
session = boto3.Session(profile_name="not-of-this-machine")
client = session.client("sagemaker", region_name="eu-west-1", endpoint_url="https://sagemaker.eu-west-1.amazonaws.com")
client.create_training_job(
    TrainingJobName="by-hand", RoleArn="arn:aws:iam::111122223333:role/mine",
    AlgorithmSpecification={"TrainingImage": "1.dkr.ecr.eu-west-1.amazonaws.com/own:1", "TrainingInputMode": "File"},
    OutputDataConfig={"S3OutputPath": "s3://mine/out"}, StoppingCondition={"MaxRuntimeInSeconds": 60},
    ResourceConfig={"InstanceCount": 1, "InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 1},
    Environment={"HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz0123"},
)
print(client.describe_training_job(TrainingJobName="by-hand")["TrainingJobStatus"])
session.client("s3").put_object(Bucket="mine", Key="a/b", Body=b"data")
try:
    urllib.request.urlopen("http://192.0.2.1/")
except OSError as error:
    print("refused")
os.remove("inside.txt")
subprocess.run([sys.executable, "-c", "import boto3; print(boto3.client('sts').get_caller_identity()['Account'])"], check=True)
"""


def test_a_launcher_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "inside.txt").write_text("here")
    (tmp_path / "launch.py").write_text(BOTO3)
    recorded = record(["python", "launch.py"], folder=tmp_path, timeout_s=120)
    assert 0 == recorded.exit_code, recorded.output
    (job,) = recorded.jobs
    assert ("by-hand", {"HF_TOKEN": REMOVED}) == (job.request["TrainingJobName"], job.request["Environment"])
    assert ("Environment.HF_TOKEN",) == job.secrets
    assert (str(tmp_path / "launch.py"), 5) == (job.places[0].file, job.places[0].line)
    assert b"data" == recorded.uploads["s3://mine/a/b"]
    assert "here" == (tmp_path / "inside.txt").read_text()
    assert ("name 192.0.2.1",) == recorded.refused
    assert "refused\n" in recorded.output
    assert "Completed" in recorded.output
    assert "111122223333" in recorded.output


NORMAL = """
import multiprocessing, os, shutil, sqlite3, subprocess, sys, tempfile
def job(): open("by a child", "w").close()
if __name__ == "__main__":
    os.makedirs("a/b/c"); open("a/b/c/d", "w").close(); os.symlink("b", "a/link"); os.remove("a/link"); os.utime("a/b/c/d", (1, 1))
    folder = os.open("a", os.O_RDONLY); os.mkdir("x", dir_fd=folder); os.rename("x", "y", src_dir_fd=folder, dst_dir_fd=folder)
    os.close(os.open("z", os.O_CREAT | os.O_WRONLY, dir_fd=folder)); os.mkfifo("fifo"); os.chmod("fifo", 0o600); os.close(folder)
    with open("a/b/c/d") as file: os.fchmod(file.fileno(), 0o600)
    shutil.rmtree("a"); sqlite3.connect(":memory:").close(); sqlite3.connect("data.db").close(); open("/proc/self/environ").close()
    with tempfile.TemporaryDirectory() as made: shutil.copy("launch.py", made)
    subprocess.run([sys.executable, "-W", "ignore", "-c", "print('a child with -I')", "-I"], check=True)
    subprocess.run([sys.executable, "-u", "-m", "json.tool", "--help"], check=True, stdout=-3, env={"A": "b"})
    child = multiprocessing.get_context("spawn").Process(target=job); child.start(); child.join()
    print(os.path.exists("by a child"), "all went well")
"""


TIERS = [tier.value for tier in Isolation]


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


def test_a_tuning_job_becomes_a_sweep_file(tmp_path: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('l=0.5')\n")
    (tmp_path / "launch.py").write_text(TUNED)
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "1 tuning job recorded" in done.stdout
    (beside,) = (tmp_path / "recorded").glob("*.sweep.toml")
    sweep = read_sweep(beside)
    assert (4, 2, "loss", st.specs.Goal.MINIMIZE) == (
        sweep.jobs, sweep.parallel, sweep.objective.name, sweep.objective.goal,
    )  # fmt: skip
    assert {"rate": st.specs.Continuous(0.1, 0.9)} == sweep.space
    assert {"epochs": 3} == sweep.job.arguments
    assert sweep.job.script is not None
    assert "print('l=0.5')\n" == (tmp_path / "recorded" / str(sweep.job.script.source_dir) / "train.py").read_text()


@pytest.mark.parametrize("tier", TIERS)
def test_what_stays_in_the_copy_goes_well(tmp_path: Path, tier: str) -> None:
    if tier != "none" and not holds(Isolation(tier)):
        pytest.skip(f"{tier}: this machine cannot")
    (tmp_path / "launch.py").write_text(NORMAL)
    recorded = record(["python", "launch.py"], folder=tmp_path, timeout_s=120, isolation=tier)
    assert (0, ()) == (recorded.exit_code, recorded.refused), recorded.output
    assert tier == recorded.isolation
    assert "True all went well" in recorded.output
    assert "a child with -I" in recorded.output


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (
            "x = 1\nprint(1 / (x - 1))",
            "✗ cell 2, line 2 failed: print(1 / (x - 1)): ZeroDivisionError: division by zero",
        ),
        pytest.param(
            "raise ValueError('one\\ntwo')",
            "✗ cell 2, line 1 failed: raise ValueError('one\\ntwo'): ValueError: one two",
            marks=WHOLE,
        ),
        pytest.param(
            "import sys; sys.exit('no data')",
            "✗ cell 2, line 1 failed: import sys; sys.exit('no data'): SystemExit: no data",
            marks=WHOLE,
        ),
        ("x = (", "✗ cell 2, line 1 failed: x = (: SyntaxError: '(' was never closed"),
    ],
)
def test_a_cell_that_failed_is_named_and_the_exit_code_says_it(tmp_path: Path, bad: str, said: str) -> None:
    (tmp_path / "launch.ipynb").write_text(notebook(ONE, bad))
    done = sm_trn("import", "--run", "--", "launch.ipynb", cwd=tmp_path)
    assert 1 == done.returncode
    assert said in done.stdout
    assert (tmp_path / "recorded" / "one.toml").is_file()


@pytest.mark.parametrize(
    ("options", "text", "code"),
    [
        ((), notebook(ONE), 0),
        pytest.param(("--stop-at-submit",), notebook(ONE), 0, marks=WHOLE),
        pytest.param(("--stop-at-submit",), notebook(ONE, "1 / 0"), 1, marks=WHOLE),
        (("--json",), notebook(ONE, "1 / 0"), 1),
    ],
)
def test_the_exit_code_of_a_recording(tmp_path: Path, options: tuple[str, ...], text: str, code: int) -> None:
    (tmp_path / "launch.ipynb").write_text(text)
    assert code == sm_trn("import", "--run", *options, "--", "launch.ipynb", cwd=tmp_path).returncode


def test_a_program_that_fails_after_its_job_is_said(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"{ONE}\nraise SystemExit('the data is missing')\n")
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert "✗ The program ended with exit code 1.\nIts last lines:\nthe data is missing" in done.stdout


def test_a_job_that_cannot_be_written_is_named_and_the_others_are_written(tmp_path: Path) -> None:
    bad = ONE.replace("'one'", "''").replace("boto3.client('sagemaker')", "boto3.client('sagemaker', config=unchecked)")
    unchecked = "from botocore.config import Config\nunchecked = Config(parameter_validation=False)"
    (tmp_path / "launch.py").write_text(f"{unchecked}\n{bad}\n{ONE}\n")
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert (
        "✗ not written: ''  launch.py, line 4: request: got ValueError (name: got '', wanted a job name)" in done.stdout
    )
    assert (tmp_path / "recorded" / "one.toml").is_file()


@pytest.mark.parametrize("tier", ["auto", "none"])
def test_what_leaves_the_launchers_group_ends_with_it(tmp_path: Path, tier: str) -> None:
    mark = f"stays-{os.getpid()}-{tier}"
    stays = "import os, time; os.setsid(); print('started', flush=True); time.sleep(1e6)"
    (tmp_path / "launch.py").write_text(
        f"import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {stays!r}, {mark!r}], stdout=subprocess.PIPE)\n"
        "print('CHILD', child.stdout.readline())\n"
    )
    recorded = record(["python", "launch.py"], folder=tmp_path, timeout_s=60, isolation=tier)
    assert "CHILD b'started" in recorded.output
    assert [] == [path for path in Path("/proc").glob("[0-9]*/cmdline") if _holds(path, mark)]


def _holds(path: Path, mark: str) -> bool:
    try:
        return mark.encode() in path.read_bytes()
    except OSError:
        return False


def test_stop_at_submit_refuses_the_job(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(BOTO3)
    recorded = record(["python", "launch.py"], folder=tmp_path, stop_at_submit=True, timeout_s=120)
    assert 0 != recorded.exit_code
    assert "stopped at the first job" in recorded.output
    assert 1 == len(recorded.jobs)


def test_secrets_are_named_by_their_field_or_their_form() -> None:
    cleaned, found = without_secrets(
        {"HyperParameters": {"a": "hf_abcdefghijklmnopqrstuvwxyz", "epochs": "3"}, "Environment": {"API_KEY": "x" * 20}}
    )
    assert ("HyperParameters.a", "Environment.API_KEY") == found
    assert {"a": REMOVED, "epochs": "3"} == cleaned["HyperParameters"]


def test_an_upload_in_chunks_is_put_together() -> None:
    with Endpoint() as endpoint:
        headers = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "content-encoding": "aws-chunked"}
        endpoint.answer("PUT", "/b/k", headers, b"5;x=1\r\nhello\r\n3\r\nyou\r\n0\r\nx-amz-checksum:1\r\n\r\n")
        assert {"s3://b/k": b"helloyou"} == endpoint.uploads


def asked(endpoint: Endpoint, method: str = "GET", path: str = "/b/source.tar.gz", **headers: str) -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(endpoint.url.rpartition(":")[2]))) as client:
        client.request(
            method,
            path,
            b"" if method == "GET" else b"other",
            {name.replace("_", "-"): value for name, value in headers.items()},
        )
        answer = client.getresponse()
        return answer.status, answer.read()


def test_the_port_answers_the_run_alone() -> None:
    with Endpoint() as endpoint:
        endpoint.answer("PUT", "/b/source.tar.gz", {}, b"mine")
        key, scope = {"X_Recorded_Key": endpoint.key}, f"{endpoint.key}/20260101/us-west-2/s3/aws4_request"
        signed = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
        for refused in (
            {},
            {"X_Recorded_Key": "AKIARECORDEDNOTLAUNCH"},
            {"Host": "evil.example", **key},
            {"Origin": "http://evil", **key},
        ):
            assert 403 == asked(endpoint, **refused)[0]
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert 403 == asked(endpoint, method)[0]
        assert (200, b"mine") == asked(endpoint, **key)
        assert (200, b"mine") == asked(endpoint, Authorization=signed)
        assert (200, b"mine") == asked(endpoint, path=f"/b/source.tar.gz?X-Amz-Credential={scope.replace('/', '%2F')}")
        assert 3 == len([call for call in endpoint.calls if call.operation == "GetObject"])


def test_an_unsigned_client_of_the_launcher_is_answered(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import boto3, botocore\nfrom botocore.config import Config\n"
        "client = boto3.client('s3', config=Config(signature_version=botocore.UNSIGNED))\n"
        "client.put_object(Bucket='b', Key='k', Body=b'data')\nprint(client.get_object(Bucket='b', Key='k')['Body'].read())\n"
    )
    recorded = record(["python", "launch.py"], folder=tmp_path, timeout_s=60)
    assert (0, {"s3://b/k": b"data"}) == (recorded.exit_code, dict(recorded.uploads)), recorded.output


@pytest.mark.parametrize(
    "name", ["../../evil", "/etc/evil", "..", ".hidden", "a/b", "x" * 400, "\x00", "con\n", "ü" * 200]
)
def test_a_jobs_file_lies_in_the_output_folder_whatever_the_job_is_called(tmp_path: Path, name: str) -> None:
    """Twice: the second of a name is given another one."""
    output = tmp_path / "one" / "two" / "output"
    request: dict[str, Json] = {"TrainingJobName": name, "HyperParameters": {}, **REQUEST}
    call = RecordedCall(service="sagemaker", operation="CreateTrainingJob", request=request)
    before = set(tmp_path.rglob("*"))
    paths, refused = saved(Recorded(calls=(call, call, call), uploads={}), output)
    assert [] == refused
    assert 3 == len(set(paths))
    assert {output, output.parent, output.parent.parent, *paths} == set(tmp_path.rglob("*")) - before
    assert {output} == {path.parent for path in paths}


def test_the_model_of_a_recorded_job_is_an_empty_archive_and_what_other_objects_hold_is_unknown() -> None:
    with Endpoint() as endpoint:
        for method in ("HEAD", "GET"):
            reply = endpoint.answer(method, "/b/a-job/output/model.tar.gz", {}, b"")
            assert 200 == reply.status
            with tarfile.open(fileobj=io.BytesIO(reply.body)) as archive:
                assert [] == archive.getnames()
        assert 200 == endpoint.answer("HEAD", "/b/data.tar.gz", {}, b"").status
        assert 404 == endpoint.answer("GET", "/b/data.tar.gz", {}, b"").status
        endpoint.answer("PUT", "/b/model.tar.gz", {}, b"own")
        assert b"own" == endpoint.answer("GET", "/b/model.tar.gz", {}, b"").body


SDK = """
import sagemaker
from sagemaker.pytorch import PyTorch
session = sagemaker.Session()
data = session.upload_data("data/train.csv", key_prefix="here")
estimator = PyTorch(
    "train.py", source_dir="src", role=sagemaker.get_execution_role(), framework_version="2.1.0", py_version="py310",
    instance_type="ml.g5.12xlarge", instance_count=2, distribution={"torch_distributed": {"enabled": True}},
    hyperparameters={"epochs": 3, "name": "a", "fp16": True}, use_spot_instances=True, max_run=600, max_wait=900,
    checkpoint_s3_uri=f"s3://{session.default_bucket()}/c", environment={"A": "b"}, tags=[{"Key": "k", "Value": "v"}],
)
estimator.set_hyperparameters(late="x")
estimator.fit({"train": data}, wait=False)
"""


@WHOLE
@pytest.mark.sdk
def test_a_comparison_names_the_cell_that_kept_a_launch_from_being_reached(tmp_path: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    made, start = SDK.split("estimator.fit(", 1)
    (tmp_path / "launch.ipynb").write_text(notebook(made, "data.missing()\nestimator.fit(" + start))
    done = sm_trn("import", "launch.ipynb", "--verify", cwd=tmp_path)
    assert 1 == done.returncode
    assert "the run did not reach it, so nothing is proven" in done.stdout
    assert "✗ cell 2, line 1 failed: data.missing(): AttributeError:" in done.stdout


@WHOLE
@pytest.mark.sdk
def test_what_is_read_is_what_the_sdk_sends(tmp_path: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    from sm_trn.bridge.recorder.verify import verify

    source = [{"cell_type": "code", "source": [SDK], "metadata": {}, "outputs": []}]
    path = tmp_path / "launch.ipynb"
    path.write_text(json.dumps({"cells": source, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    assert 1 == len(cells("launch.ipynb", path.read_text()))
    _, (verified,), recorded = verify(path)
    assert () == verified.differences, recorded.output
    assert verified.fields > 25


def test_a_secret_of_the_launcher_is_neither_shown_nor_a_difference() -> None:
    from sm_trn.bridge.recorder.verify import field_differences

    asked: dict[str, Json] = {"TrainingJobName": "a", "HyperParameters": {"access_token": '"hf_XXXXXX"', "rate": "1"}}
    sent: dict[str, Json] = {**asked, "HyperParameters": {"access_token": REMOVED, "rate": "2"}}
    call = RecordedCall(service="sagemaker", operation="CreateTrainingJob", request=sent)
    _, differences = field_differences(asked, call)
    assert ["HyperParameters.rate"] == [each.field for each in differences]


ELSEWHERE = """
import boto3, sagemaker
from sagemaker.pytorch import PyTorch
session = sagemaker.Session(boto_session=boto3.Session(region_name="eu-west-1"))
PyTorch("train.py", source_dir="s3://b/source.tar.gz", role="arn:aws:iam::111122223333:role/r",
        framework_version="2.1.0", py_version="py310", instance_type="ml.g5.xlarge", instance_count=1, sagemaker_session=session).fit(f"s3://{session.default_bucket()}/train")
"""


@WHOLE
@pytest.mark.sdk
def test_the_default_bucket_is_of_the_launchs_region(tmp_path: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    from sm_trn.bridge.recorder.verify import verify

    (tmp_path / "launch.py").write_text(ELSEWHERE)
    _, (verified,), recorded = verify(tmp_path / "launch.py")
    assert () == verified.differences, recorded.output
    assert verified.fields > 15


SEVERAL = """
from sagemaker import get_execution_role
from sagemaker.debugger import CollectionConfig, DebuggerHookConfig, Rule, rule_configs
from sagemaker.pytorch import PyTorch
def made(version, **more):
    return PyTorch("train.py", source_dir="src", role=get_execution_role(), framework_version=version, py_version="py310",
                   instance_type="ml.g5.12xlarge", instance_count=1, **more)
refused = made("2.1", distribution={"torch_distributed": {"enabled": True}})
refused.fit()
hook = DebuggerHookConfig("s3://b/c", collection_configs=[CollectionConfig("losses", {"save_interval": "50"})])
made("2.1.0", debugger_hook_config=hook, rules=[Rule.sagemaker(rule_configs.loss_not_decreasing())]).fit(
    {"train": "s3://b/c"},
)
spot = made("2.1.0", use_spot_instances=True, max_run=60, max_wait=90)
spot.fit(wait=True)
spot.fit("s3://b/again")
"""


@WHOLE
@pytest.mark.sdk
def test_each_launch_is_compared_with_what_its_own_statement_sent(tmp_path: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    from sm_trn.bridge.recorder.verify import verify

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("print('here')\n")
    (tmp_path / "launch.py").write_text(SEVERAL)
    found, others, recorded = verify(tmp_path / "launch.py")
    assert [False, True, True, True] == [launch.complete for launch in found.launches], (
        "SDK v2 refuses the first itself"
    )
    assert "ZeroDivisionError" not in recorded.output
    assert [True] * 3 == [each.equal for each in others], [each.differences for each in others]


def test_a_slice_leaves_out_what_no_launch_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from sm_trn.bridge.commands.record import command

    client = BOTO3[BOTO3.index("client = ") : BOTO3.index("print(client")].replace("session.client", "boto3.client")
    (tmp_path / "launch.py").write_text(f"import boto3\nraise_here = 1 / 0\n{client}")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, ["--slice", "--json", "python", "launch.py"], standalone_mode=False)
    assert done.exception is None, done.output
    assert ["CreateTrainingJob"] == [call["operation"] for call in json.loads(done.stdout)["calls"]]


def test_a_virtual_environment_under_any_name_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "environments" / "py311").mkdir(parents=True)
    (tmp_path / "environments" / "py311" / "pyvenv.cfg").touch()
    with (tmp_path / "environments" / "py311" / "libtorch.so").open("wb") as file:
        file.truncate(2_000_000_000)
    done = record(["python", "-c", "import os; print(sorted(os.listdir('environments')))"], folder=tmp_path)
    assert (0, "[]\n") == (done.exit_code, done.output)


def test_the_output_names_the_users_own_folder(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("import os\nprint('HERE', os.path.abspath('launch.py'))\n1 / 0\n")
    recorded = record(["launch.py"], folder=tmp_path, timeout_s=60)
    assert f"HERE {tmp_path.resolve() / 'launch.py'}" in recorded.output
    assert "/recorded-" not in recorded.output


@pytest.mark.parametrize(
    "command", [["python", "gone.py"], ["gone.py"], ["gone.ipynb"], ["python3", "deep/gone.py", "--x"]]
)
def test_a_program_that_is_not_there_is_named(tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(SmTrnError, match=r"got '(deep/)?gone\.(py|ipynb)', wanted a file"):
        record(command, folder=tmp_path)
