"""What suites and launchers of public repositories met here and found wrong: one test for each."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from emulator.bench import Bench

from sm_trn.emulator.container.inside import serve

pytestmark = pytest.mark.local


def test_a_launcher_may_attach_amazons_own_policy_to_a_role_that_it_makes(bench: Bench) -> None:
    iam, policy = bench.client("iam"), "arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"
    iam.create_role(RoleName="MadeByALauncher", AssumeRolePolicyDocument="{}")
    iam.attach_role_policy(RoleName="MadeByALauncher", PolicyArn=policy)
    attached = iam.list_attached_role_policies(RoleName="MadeByALauncher")["AttachedPolicies"]
    assert [policy] == [each["PolicyArn"] for each in attached]


def test_a_role_that_is_there_may_do_everything_and_another_is_not_found(bench: Bench) -> None:
    """SDK v3 looks at every role before it trains: core/helper/iam_role_resolver.py, _simulate_denied_actions."""
    iam, actions = bench.client("iam"), ["sagemaker:CreateTrainingJob", "s3:PutObject"]
    arn = bench.endpoint.role_arn
    rows = iam.simulate_principal_policy(PolicySourceArn=arn, ActionNames=actions)["EvaluationResults"]
    assert [(action, "*", "allowed") for action in actions] == [
        (row["EvalActionName"], row["EvalResourceName"], row["EvalDecision"]) for row in rows
    ]
    with pytest.raises(iam.exceptions.NoSuchEntityException):
        iam.simulate_principal_policy(PolicySourceArn=f"{arn}-of-nobody", ActionNames=actions)


def test_tensors_inside_a_prediction_are_numbers_in_the_answer() -> None:
    """sagemaker_inference/encoder.py, _array_to_json: whatever has tolist, at any depth."""
    torch = pytest.importorskip("torch")
    answer, kind = serve.default_output_fn([torch.tensor(43), {"rows": torch.ones(1, 2)}], "application/json")
    assert ('[43, {"rows": [[1.0, 1.0]]}]', "application/json") == (answer, kind)
    assert ("43\n44\n", "text/csv") == serve.default_output_fn([torch.tensor(43), torch.tensor(44)], "text/csv")
    assert ("1.0,2.0\n", "text/csv") == serve.default_output_fn(torch.tensor([[1.0, 2.0]]), "text/csv")
    with pytest.raises(TypeError, match="object is not JSON"):
        serve.default_output_fn(object(), "application/json")


def test_a_job_unpacks_archives_that_other_users_packed(bench: Bench, tmp_path: Path) -> None:
    """SDK v3's driver calls ``tar -xzf`` as root; a container's root may give files to anybody, that of a namespace may not."""
    packed = tmp_path / "source.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        file = tarfile.TarInfo("train.py")
        file.uid, file.gid = 503, 50
        archive.addfile(file, io.BytesIO())
    bench.s3.upload_file(str(packed), bench.endpoint.bucket, "others/source.tar.gz")
    data = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bench.endpoint.bucket}/others/"}}
    name = bench.submit(
        "import subprocess, sys, os\n"
        "packed = os.environ['SM_CHANNEL_TRAINING'] + '/source.tar.gz'\n"
        "sys.exit(subprocess.call(['tar', '-xzf', packed, '-C', os.environ['TMPDIR']]))",
        InputDataConfig=[{"ChannelName": "training", "DataSource": data}],
    )
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.finished(name)
