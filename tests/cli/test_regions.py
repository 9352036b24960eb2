"""One rule for the region, in every command that has one: option, variables, the profile's, else us-west-2. And it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import boto3
import pytest
from command import sm_trn

JOB = """\
name = "bert"
script = { entry = "train_glue.py" }
framework = { kind = "pytorch", version = "2.8.0", python = "py312" }
compute = { instance = "ml.p4d.24xlarge" }
max_run_s = 3600
hyperparameters = { model_name = "bert-base-uncased", max_length = 128, per_device_train_batch_size = 16, max_steps = 100 }
"""
SWEEP = """
job = "job.toml"
max_jobs = 2
objective = {metric = "train_loss", goal = "Minimize"}
space = {max_steps = {kind = "integer", low = 50, high = 100}}
"""
# What each command shows of the region that it uses, without an account.
SHOWN: dict[str, tuple[list[str], str]] = {
    "check": (["job.toml"], ", REGION, inferred)|, REGION)|in REGION, so no ceiling"),
    "estimate": (["job.toml"], "1 × ml.p4d.24xlarge, REGION "),
    "estimate --plan": (["job.toml", "--only", "ml.p4d.*"], " in REGION. Wait|no price in REGION"),
    "render": (["job.toml"], ".dkr.ecr.REGION.amazonaws.com"),
    "policy": (["job.toml"], ":REGION:"),
    "launch": (["job.toml", "--dry-run"], ".dkr.ecr.REGION.amazonaws.com"),
    "tune": (["sweep.toml", "--dry-run"], ".dkr.ecr.REGION.amazonaws.com"),
    "catalog instances": (["ml.p4d.*"], "Prices of REGION, "),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "config").write_text("[profile ml]\nregion = eu-central-1\n[default]\nregion = eu-north-1\n")
    return tmp_path


def output(command: str, *options: str, folder: Path, **environment: str) -> str:
    where, _ = SHOWN[command]
    clean = {"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none"}
    done = sm_trn(*command.split(), *where, *options, environment={**clean, **environment}, cwd=folder)
    return done.stdout + done.stderr


def shows(text: str, command: str, region: str) -> bool:
    return any(sign.replace("REGION", region) in text for sign in SHOWN[command][1].split("|"))


@pytest.mark.parametrize("line", ["list --region", "catalog instances --region", "--region", "compare --in-region"])
def test_a_region_that_aws_does_not_have_is_refused(line: str) -> None:
    done = sm_trn(*line.split(), "us-west2")
    assert 2 == done.returncode, done.stdout + done.stderr
    assert (
        f"'{line.rsplit(maxsplit=1)[-1]}': got 'us-west2', wanted a region of AWS (did you mean 'us-west-2'?)"
        in done.stderr
    )


def test_help_says_which_region_is_used_when_none_is_named() -> None:
    text = " ".join(sm_trn("--help").stdout.split()).replace("us- west-2", "us-west-2")
    assert "SM_TRN_REGION, AWS_REGION, AWS_DEFAULT_REGION or the profile's, else us-west-2." in text


@pytest.mark.parametrize("command", SHOWN)
def test_the_region_is_the_options_then_the_environments_then_the_profiles_then_us_west_2(
    command: str, folder: Path
) -> None:
    config = {"AWS_CONFIG_FILE": str(folder / "config")}
    assert shows(output(command, folder=folder), command, "us-west-2")
    assert shows(output(command, folder=folder, **config), command, "eu-north-1")
    assert shows(output(command, folder=folder, AWS_PROFILE="ml", **config), command, "eu-central-1")
    assert shows(output(command, folder=folder, AWS_DEFAULT_REGION="eu-west-1", **config), command, "eu-west-1")
    both = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": "ap-south-1"}
    assert shows(output(command, folder=folder, **both), command, "ap-south-1")
    assert shows(output(command, folder=folder, SM_TRN_REGION="mx-central-1", **both), command, "mx-central-1")
    named = output(command, "--region", "us-east-1", folder=folder, SM_TRN_REGION="mx-central-1", **both)
    assert shows(named, command, "us-east-1")


@pytest.mark.parametrize("variable", ["SM_TRN_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"])
def test_a_variable_that_names_no_region_is_named(variable: str, folder: Path) -> None:
    done = sm_trn("check", "job.toml", environment={variable: "mars"}, cwd=folder)
    assert (2, "") == (done.returncode, done.stdout)
    assert f"error: {variable}: got 'mars', wanted a region of AWS" in done.stderr


def test_every_region_of_botocore_is_one() -> None:
    from sm_trn.core.session.defaults import expect_region

    session = boto3.Session()
    every = [
        name for area in session.get_available_partitions() for name in session.get_available_regions("sagemaker", area)
    ]
    assert every == [expect_region(name) for name in every]


def test_a_dry_run_names_the_role_and_the_bucket_that_it_was_given(folder: Path) -> None:
    role = "arn:aws:iam::123456789012:role/r"
    sent = json.loads(
        sm_trn("launch", "job.toml", "--dry-run", "--role", role, "--bucket", "a-bucket", cwd=folder).stdout
    )
    assert (role, "s3://a-bucket/") == (sent["RoleArn"], sent["OutputDataConfig"]["S3OutputPath"])


def test_the_ceiling_of_a_dry_run_is_at_the_prices_of_its_region(folder: Path) -> None:
    away = sm_trn("launch", "job.toml", "--dry-run", "--region", "mx-central-1", cwd=folder)
    assert "no price for ml.p4d.24xlarge in mx-central-1, so no ceiling" in away.stderr
    assert "us-west-2" not in away.stdout + away.stderr


def test_a_dry_run_refuses_what_the_launch_would_refuse_for_its_price(folder: Path) -> None:
    cheap = sm_trn("launch", "job.toml", "--dry-run", "--max-usd", "5", cwd=folder)
    assert 1 == cheap.returncode
    assert (
        "error: max_usd: got at most $25.25 together, wanted at most $5.00; lower max_run_s, or raise max_usd"
        in cheap.stderr
    )
    assert 0 == sm_trn("launch", "job.toml", "--dry-run", "--max-usd", "50", cwd=folder).returncode
    unknown = sm_trn("launch", "job.toml", "--dry-run", "--max-usd", "50", "--region", "mx-central-1", cwd=folder)
    assert (1, True) == (unknown.returncode, "no price is known for ml.p4d.24xlarge" in unknown.stderr)


def test_an_emulated_dry_run_has_no_price_to_refuse(folder: Path) -> None:
    done = sm_trn("launch", "job.toml", "--dry-run", "--max-usd", "5", "--backend", "emulator", cwd=folder)
    assert (0, True) == (done.returncode, "so --max-usd has nothing to refuse" in done.stderr)


@pytest.mark.parametrize("command", ["compare published/bert-p4d", "cost published/bert-p4d", "cost --all"])
@pytest.mark.parametrize("day", ["yesterday", "2022-13-01", "20221231", ""])
def test_a_date_that_is_none_is_refused(command: str, day: str) -> None:
    done = sm_trn(*command.split(), "--at", day)
    assert (2, "") == (done.returncode, done.stdout)
    assert f"'--at': got {day!r}, wanted an ISO date, such as 2022-12-31, or a month, such as 2022-12" in done.stderr
