"""The plugin in a project of somebody else's: its fixtures, what they leave behind, and what it costs those who do not use it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from waiting import within

TESTS = """
import pytest
import sm_trn as st
from sm_trn.emulator import FAULTS

def spec(folder):
    (folder / "train.py").write_text("import time; time.sleep(300)")
    return st.JobSpec(name="mine", script=st.Script("train.py", source_dir=str(folder)), max_run_s=600,
                      framework=st.PyTorch("2.6.0", python="py312"), compute=st.Compute("ml.c5.xlarge"))

def test_a_throttled_launch_goes_through(sm_trn_session, sm_trn_faults, tmp_path):
    sm_trn_faults("throttling", operation="CreateTrainingJob", times=2)
    assert not sm_trn_session.submit(spec(tmp_path)).snapshot().terminal

def test_what_the_last_test_left_is_stopped_and_no_fault_is_left(sm_trn_session, tmp_path):
    assert [] == [job for job in sm_trn_session.running(containing="") if job.snapshot().status_word == "InProgress"]
    assert 1 == len(sm_trn_session.jobs("mine"))

@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_of_fault_can_be_asked_for(sm_trn_emulator, sm_trn_faults, kind):
    sm_trn_faults(kind, operation="CreateTrainingJob", times=2)

def test_a_quota_reaches_the_caller(sm_trn_session, sm_trn_faults, tmp_path):
    sm_trn_faults("quota")
    with pytest.raises(st.errors.CloudError, match="ResourceLimitExceeded"):
        sm_trn_session.submit(spec(tmp_path))

def test_the_fixture_alone_gives_region_and_credentials(sm_trn_mocked):
    import boto3
    assert [] == boto3.client("sagemaker").list_training_jobs()["TrainingJobSummaries"]
    assert boto3.client("s3").create_bucket(Bucket="mine")
    assert "us-east-1" == boto3.session.Session().region_name

def test_plain_boto3_under_mock_aws_gets_the_emulator(sm_trn_mocked):
    import boto3, moto
    with moto.mock_aws():
        assert sm_trn_mocked.account_id == boto3.client("sts").get_caller_identity()["Account"]
        assert [] == boto3.client("sagemaker", "us-east-1").list_training_jobs()["TrainingJobSummaries"]
"""

INSTALLED = """
import sm_trn

def test_the_fixtures_are_there(sm_trn_session, sm_trn_faults, request):
    assert "site-packages" in sm_trn.__file__
    assert request.config.pluginmanager.hasplugin("sm_trn")
    sm_trn_faults("throttling")
    assert [] == list(sm_trn_session.running(containing=""))
"""

EVERYWHERE = """
import os, subprocess, sys
import boto3, moto, pytest

REGION = boto3.session.Session().region_name  # at import, as many a suite reads it
BUCKET = f"bucket-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"

def test_the_environment_is_set_before_a_test_is_imported():
    assert "eu-west-3" == REGION
    assert "AWS_PROFILE" not in os.environ and "AWS_SESSION_TOKEN" not in os.environ
    assert os.environ.get("AWS_ROLE") == os.environ.get("EXPECTED_ROLE")  # a variable of the suite's own

def test_who_asks_is_a_role_and_the_roles_of_the_suite_are_there():
    assert ":assumed-role/" in boto3.client("sts").get_caller_identity()["Arn"]
    assert "arn:aws:iam::000000000000:role/TheirRole" == boto3.client("iam").get_role(RoleName="TheirRole")["Role"]["Arn"]

@pytest.mark.parametrize("address", [None, "https://s3.us-west-2.amazonaws.com"])
def test_keys_and_addresses_of_their_own_do_not_matter(address):
    s3 = boto3.client("s3", "us-west-2", aws_access_key_id="testing", aws_secret_access_key="testing",
                      aws_session_token="testing", endpoint_url=address)
    assert isinstance(s3.list_buckets()["Buckets"], list)

def test_inside_mock_aws_the_emulator_answers():
    with moto.mock_aws():
        assert "000000000000" == boto3.client("sts").get_caller_identity()["Account"]
        assert [] == boto3.client("sagemaker").list_training_jobs()["TrainingJobSummaries"]

def test_temporary_credentials_stay_what_they_are():
    found = boto3.client("sts").assume_role(RoleArn="arn:aws:iam::000000000000:role/TheirRole", RoleSessionName="me")["Credentials"]
    sts = boto3.client("sts", aws_access_key_id=found["AccessKeyId"], aws_secret_access_key=found["SecretAccessKey"],
                       aws_session_token=found["SessionToken"])
    assert sts.get_caller_identity()["Arn"].endswith("assumed-role/TheirRole/me")

def test_what_a_test_starts_meets_the_same():
    code = f"import boto3; boto3.client('s3', 'us-east-1').create_bucket(Bucket={BUCKET!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert BUCKET in [each["Name"] for each in boto3.client("s3").list_buckets()["Buckets"]]

def test_what_is_not_there_is_refused():
    with pytest.raises(Exception, match="UnknownOperation"):
        boto3.client("sagemaker").list_domains()

def test_the_session_of_a_test_is_on_the_same_emulator(sm_trn_session, sm_trn_emulator):
    assert sm_trn_emulator.url == os.environ["AWS_ENDPOINT_URL"]
    assert [] == list(sm_trn_session.running(containing=""))
"""


def pytest_in(folder: Path, text: str, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_theirs.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_", "PYTEST_"))}
    package = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "sm_trn.pytest_plugin",
            "-p",
            "no:cacheprovider",
            *more,
            str(folder),
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=200,
        env={**kept, **environment, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


@pytest.mark.local
def test_a_projects_tests_get_a_session_and_faults_and_leave_nothing(tmp_path: Path) -> None:
    pytest.importorskip("moto")
    done = pytest_in(tmp_path, TESTS)
    assert 0 == done.returncode, done.stdout
    assert "11 passed" in done.stdout


@pytest.mark.local
@pytest.mark.parametrize("workers", [[], ["-p", "xdist.plugin", "-n", "2"]], ids=["alone", "two workers"])
def test_a_suite_that_knows_nothing_of_us_meets_the_emulator_everywhere(tmp_path: Path, workers: list[str]) -> None:
    pytest.importorskip("moto")
    options = ["--sm-trn-everywhere", "--sm-trn-region=eu-west-3", "--sm-trn-role=TheirRole", *workers]
    done = pytest_in(
        tmp_path, EVERYWHERE, *options,
        AWS_PROFILE="nobody", AWS_SESSION_TOKEN="old", AWS_ROLE="own", EXPECTED_ROLE="own", TMPDIR=str(tmp_path),
    )  # fmt: skip
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "9 passed" in done.stdout
    assert "1  sagemaker:ListDomains" in done.stdout
    assert [] == list(tmp_path.glob("sm_trn-*"))


@pytest.mark.local
def test_an_emulator_of_tests_ends_with_them(tmp_path: Path) -> None:
    pytest.importorskip("moto")
    text = """
import os, signal
def test_killed(sm_trn_emulator):
    print("PID", sm_trn_emulator.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = pytest_in(tmp_path, text, "-s")
    pid = int(done.stdout.rpartition("PID ")[2])
    assert within(lambda: not Path(f"/proc/{pid}").exists(), 20)


@pytest.mark.local
def test_a_run_that_never_begins_leaves_no_emulator(tmp_path: Path) -> None:
    pytest.importorskip("moto")
    done = pytest_in(tmp_path, EVERYWHERE, "--sm-trn-everywhere", "--no-such-option", TMPDIR=str(tmp_path))
    assert "unrecognized arguments: --no-such-option" in done.stderr
    assert [] == list(tmp_path.glob("sm_trn-*"))


@pytest.mark.local
def test_everywhere_can_stand_in_the_ini_file(tmp_path: Path) -> None:
    pytest.importorskip("moto")
    ini = ["-o", "sm_trn_everywhere=true", "-o", "sm_trn_region=eu-west-3", "-o", "sm_trn_roles=TheirRole Other"]
    done = pytest_in(tmp_path, EVERYWHERE, *ini, "-k", "role or environment")
    assert 0 == done.returncode, done.stdout + done.stderr


def test_a_project_that_does_not_use_it_loads_nothing_of_it(tmp_path: Path) -> None:
    heavy = "{'sm_trn.emulator', 'sm_trn.core.session', 'boto3', 'botocore', 'moto', 'pandas', 'torch'}"
    done = pytest_in(tmp_path, f"import sys\ndef test_light(): assert set() == {heavy} & set(sys.modules)\n")
    assert 0 == done.returncode, done.stdout


@pytest.mark.local
def test_the_installed_package_brings_its_fixtures_by_itself(tmp_path: Path) -> None:
    """The wheel in an environment of its own, found by pytest through its entry point; dependencies are ours."""
    for needed in ("moto", "build", "hatchling", "hatch_fancy_pypi_readme"):
        pytest.importorskip(needed)
    root = Path(__file__).resolve().parents[1]
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(root)]
    subprocess.run(build, check=True, capture_output=True, timeout=200)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "own")], check=True)
    site = next((tmp_path / "own").glob("lib/python*/site-packages"))
    with zipfile.ZipFile(next((tmp_path / "dist").glob("*.whl"))) as wheel:
        wheel.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_theirs.py").write_text(INSTALLED)
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("AWS_", "SM_TRN_", "PYTEST_", "PYTHONPATH"))
    }
    done = subprocess.run(
        [str(tmp_path / "own/bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project)],
        check=False,
        capture_output=True,
        text=True,
        cwd=project,
        timeout=200,
        env=kept,
    )
    assert 0 == done.returncode, done.stdout
    assert "1 passed" in done.stdout
