"""A launcher runs as it is; what it asks is kept; nothing is started, sent or deleted outside of its copy."""

from __future__ import annotations

import contextlib
import http.client
import io
import tarfile
from pathlib import Path

import pytest

from sm_trn.bridge.recorder import record
from sm_trn.bridge.recorder.endpoint import Endpoint
from sm_trn.bridge.recorder.recording import REMOVED, without_secrets
from sm_trn.core.errors import SmTrnError

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
    recorded = record(["launch.py"], folder=tmp_path, timeout_s=120)
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


def test_what_stays_in_the_copy_goes_well(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(NORMAL)
    recorded = record(["launch.py"], folder=tmp_path, timeout_s=120)
    assert (0, ()) == (recorded.exit_code, recorded.refused), recorded.output
    assert "True all went well" in recorded.output
    assert "a child with -I" in recorded.output


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
    recorded = record(["launch.py"], folder=tmp_path, timeout_s=60)
    assert (0, {"s3://b/k": b"data"}) == (recorded.exit_code, dict(recorded.uploads)), recorded.output


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


def test_a_virtual_environment_under_any_name_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "environments" / "py311").mkdir(parents=True)
    (tmp_path / "environments" / "py311" / "pyvenv.cfg").touch()
    with (tmp_path / "environments" / "py311" / "libtorch.so").open("wb") as file:
        file.truncate(2_000_000_000)
    (tmp_path / "launch.py").write_text("import os; print(sorted(os.listdir('environments')))")
    done = record(["launch.py"], folder=tmp_path)
    assert (0, "[]\n") == (done.exit_code, done.output)


def test_the_output_names_the_users_own_folder(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("import os\nprint('HERE', os.path.abspath('launch.py'))\n1 / 0\n")
    recorded = record(["launch.py"], folder=tmp_path, timeout_s=60)
    assert f"HERE {tmp_path.resolve() / 'launch.py'}" in recorded.output
    assert "/sandbox-" not in recorded.output


@pytest.mark.parametrize("command", [["gone.py"], ["gone.ipynb"], ["deep/gone.py", "--x"]])
def test_a_program_that_is_not_there_is_named(tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(SmTrnError, match=r"got '(deep/)?gone\.(py|ipynb)', wanted a file"):
        record(command, folder=tmp_path)
