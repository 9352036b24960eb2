"""The script for sbatch: what it says of each field, that bash reads it, and – on a real cluster – a job that is killed and goes on.

SM_TRN_SLURM=1 starts the cluster: it needs the packages slurm-wlm and munge.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jobs
import pytest
from fakes import slurm
from hypothesis import given, settings
from strategies_of_values import sensible

import sm_trn as st
from sm_trn.core.render import SlurmJob, problems
from sm_trn.core.specs import JobSpec, Severity

TARGET = "slurm"
SAVE_STEPS = 10


def rendered(job: JobSpec, **at: str) -> SlurmJob:
    made: SlurmJob = st.render(job, TARGET, at=st.specs.Destination(**at))
    return made


def small(**changes: Any) -> JobSpec:
    return st.JobSpec(
        name="tiny",
        script=st.Script("train_text_classification.py"),
        framework=st.PyTorch("2.8.0", python="py312"),
        compute=st.Compute("ml.g5.xlarge", count=2),
        distribution=st.TorchDistributed(),
        hyperparameters={"model": "tiny-random", "train": "sample"},
    ).replace(**changes)


def run_by_bash(script: str, folder: Path, *programs: str) -> list[list[str]]:
    """Run the script with stand-ins that write down how they are called; srun's calls its last words, as a task does."""
    (folder / "bin").mkdir()
    said = folder / "said"
    for name in ("scontrol", "aws", *programs):
        body = (
            "echo n1; echo n2"
            if name == "scontrol"
            else f'printf "%s\\0" {name} "$@" >> {said}; printf "\\n" >> {said}'
        )
        program = folder / "bin" / name
        program.write_text(f"#!/bin/bash\n{body}\n")
        program.chmod(0o755)
    task = folder / "bin" / "srun"
    task.write_text(
        '#!/bin/bash\nwhile [ "$1" != env ]; do\n  case $1 in --chdir=*) cd "${1#--chdir=}";; esac\n  shift\ndone\nexec "$@"\n'
    )
    task.chmod(0o755)
    variables = {"SLURM_SUBMIT_DIR": str(folder), "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURMD_NODENAME": "n2",
             "SLURM_NODEID": "1", "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.1"}  # fmt: skip
    environment = {**os.environ, **variables, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stderr
    return [line.split("\0")[:-1] for line in said.read_text().splitlines()]


NASTY = {"a": "it's", "text": 'say "$HOME" `x` \\ *', "empty": "", "flag": True, "lr": 1e-05, "dir": "/opt/ml/model"}


def test_bash_passes_every_word_as_it_is_and_the_jobs_folder_for_opt_ml(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/it's train.py").write_text("")
    job = small(
        script=st.Script("it's train.py", source_dir="src"),
        hyperparameters=NASTY,
        environment={"NOTE": "two words; $PATH", "CACHE": "/opt/ml/cache:/opt/mlx"},
        inputs={"my-eval": "s3://b/c"},
    )
    fetch, start = run_by_bash(str(rendered(job)), tmp_path, "torchrun")
    folder = tmp_path / "tiny-7"
    assert ["aws", "s3", "sync", "--only-show-errors", "s3://b/c", f"{folder}/input/data/my-eval"] == fetch
    others = ["--nnodes=2", "--node_rank=1", "--master_addr=10.0.0.1", "--master_port=20007", "--nproc_per_node=1"]
    flags = ["-a", "it's", "--dir", f"{folder}/model", "--empty", "", "--flag", "True", "--lr", "1e-05",
             "--text", 'say "$HOME" `x` \\ *']  # fmt: skip
    assert ["torchrun", *others, "it's train.py", *flags] == start
    written = json.loads((folder / "input/config/hyperparameters.json").read_text())
    assert {**NASTY, "dir": f"{folder}/model"} == {key: json.loads(value) for key, value in written.items()}


def test_the_script_sees_what_it_sees_on_sagemaker(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "src/train.sh").write_text("env -0 > ../environment; pwd > ../here\n")
    job = small(
        script=st.Script("train.sh", source_dir="src"), inputs={"train": "data"}, distribution=None,
        environment={"CACHE": "/opt/ml/cache:/opt/mlx"},
    )  # fmt: skip
    (tmp_path / "said").write_text("")
    run_by_bash(str(rendered(job)), tmp_path)
    folder = tmp_path / "tiny-7"
    seen = dict(each.split("=", 1) for each in (folder / "environment").read_text().split("\0")[:-1])
    assert f"{folder}/code" == (folder / "here").read_text().strip()
    assert (f"{folder}/input/data/train", '["train"]') == (seen["SM_CHANNEL_TRAIN"], seen["SM_CHANNELS"])
    assert (f"{folder}/model", f"{folder}/output/data") == (seen["SM_MODEL_DIR"], seen["SM_OUTPUT_DATA_DIR"])
    assert ('["n1","n2"]', "n2", str(folder)) == (seen["SM_HOSTS"], seen["SM_CURRENT_HOST"], seen["SAGEMAKER_BASE_DIR"])
    assert f"{folder}/cache:/opt/mlx" == seen["CACHE"]
    assert (folder / "input/data/train").resolve() == tmp_path / "data"


@settings(max_examples=60)
@given(job=sensible("./src"))
def test_variables_are_those_of_the_training_toolkit(job: JobSpec) -> None:
    mapping = pytest.importorskip("sagemaker_training.mapping", reason="needs sm_trn[local]")
    if any(problem.severity is Severity.ERROR for problem in problems(job, TARGET)):
        return
    own = {key: value for key, value in job.arguments.items() if not key.startswith("sagemaker_")}
    asked: dict[str, Any] = {"hps": own, "user_args": mapping.to_cmd_args(own), "channels": sorted(job.channels),
                             "user_entry_point": job.script.entry if job.script else None}  # fmt: skip
    asked |= {f"hp_{key}": value for key, value in own.items()} | {
        f"channel_{key}": f"/opt/ml/input/data/{key}" for key in job.channels
    }
    wanted = mapping.to_env_vars(asked)
    assert wanted == {name: rendered(job).environment[name] for name in wanted}


def test_efas_variables_are_those_of_the_training_toolkit() -> None:
    toolkit = pytest.importorskip("sagemaker_training", reason="needs sm_trn[local]")
    for name in toolkit.SM_EFA_NCCL_INSTANCES:
        node = "\n".join(rendered(small(compute=st.Compute(name))).node)
        assert "FI_PROVIDER=efa" in node, name
        assert ("FI_EFA_USE_DEVICE_RDMA=1" in node) == (name in toolkit.SM_EFA_RDMA_INSTANCES), name


def test_limits_and_restarts_are_slurms_own() -> None:
    once = rendered(small(max_run_s=3600)).options
    assert ("2", "62", "TERM@120") == (once["nodes"], once["time"], once["signal"])
    assert "no-requeue" in once
    again = rendered(small(retries=2))
    assert "requeue" in again.options
    assert "-gt 2 ]" in str(again)
    assert "-gt" not in str(rendered(small(retries=2, spot=st.Spot(max_wait_s=90_000))))


def test_checkpoints_and_the_model_go_where_sagemaker_puts_them(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/train.py").write_text("")
    job = small(
        script=st.Script("train.py", source_dir="src"), checkpoint=st.Checkpoint(s3_uri="s3://b/ck"),
        output=st.Output(s3_uri="s3://b/out/", kms_key="a-key"),
    )  # fmt: skip
    calls = run_by_bash(str(rendered(job, job_name="tiny-2026")), tmp_path, "torchrun")
    folder = f"{tmp_path}/tiny-2026-7"
    key = ["--sse", "aws:kms", "--sse-kms-key-id", "a-key"]
    assert [
        ["aws", "s3", "sync", "--only-show-errors", "s3://b/ck", f"{folder}/checkpoints"],
        ["aws", "s3", "sync", "--only-show-errors", f"{folder}/checkpoints", "s3://b/ck"],
        [
            "aws",
            "s3",
            "cp",
            "--only-show-errors",
            f"{folder}/model.tar.gz",
            "s3://b/out/tiny-2026/output/model.tar.gz",
            *key,
        ],
        [
            "aws",
            "s3",
            "cp",
            "--only-show-errors",
            f"{folder}/output.tar.gz",
            "s3://b/out/tiny-2026/output/output.tar.gz",
            *key,
        ],
    ] == [call for call in calls if call[0] == "aws"]


def test_no_name_becomes_a_command() -> None:
    script = str(rendered(small(name="a\nrm -rf b; $(c)")))
    assert "#SBATCH --job-name=a-rm--rf-b-c-\n" in script
    assert "\nrm" not in script
    subprocess.run(["bash", "-n", "-c", script], check=True)


@pytest.mark.parametrize(
    "distribution", [st.SMDataParallel(), st.MPI(), st.PyTorchXLA(), st.SMModelParallel(partitions=2)]
)
def test_launchers_of_the_containers_are_refused(distribution: Any) -> None:
    with pytest.raises(st.errors.InvalidJob, match="TARGET051"):
        rendered(small(compute=st.Compute("ml.p4d.24xlarge", count=2), distribution=distribution))


def test_what_is_different_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("open('/opt/ml/model/weights')")
    (tmp_path / "requirements.txt").write_text("six")
    job = small(
        script=st.Script("train.py", source_dir=str(tmp_path)),
        checkpoint=st.Checkpoint(s3_uri="s3://b/c", local_path="/tmp/checkpoints"),
        tags={"team": "x"},
    )
    assert {"TARGET058", "TARGET061", "TARGET064", "TARGET065"} == {problem.id for problem in problems(job, TARGET)}
    assert [] == problems(small(), TARGET)


def test_neuron_is_said_to_the_nodes() -> None:
    node = "\n".join(rendered(jobs.trainium("./src").replace(compute=st.Compute("ml.trn1.32xlarge", count=2))).node)
    assert "[ -e /dev/neuron0 ] || echo" in node
    assert "--nproc_per_node=32" in node


def workers_in(folder: Path) -> list[Any]:
    """The processes of the script that run in a job's folder."""
    psutil = pytest.importorskip("psutil")
    return [each for each in psutil.process_iter() if _runs_in(each, folder / "code")]


def _runs_in(process: Any, folder: Path) -> bool:
    try:
        return bool(
            process.cwd() == str(folder)
            and "python" in process.name()
            and "torchrun" not in " ".join(process.cmdline())
        )
    except Exception:  # noqa: BLE001 - it has ended, or is another user's
        return False


@pytest.mark.local
@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", ["its workers on one node are killed", "Slurm takes the nodes away"])
def test_a_job_on_two_nodes_is_interrupted_and_goes_on(how: str, aws: Any, emulator: Any, tmp_path: Path) -> None:
    if not os.environ.get("SM_TRN_SLURM"):
        pytest.skip("set SM_TRN_SLURM=1 to start a cluster")
    if lacking := slurm.missing():
        pytest.skip(f"needs Slurm: apt-get install slurm-wlm munge; missing: {', '.join(lacking)}")
    bucket = f"slurm-{how.count(' ')}"
    aws("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    job = small(
        hyperparameters={"model": "tiny-random", "train": "sample", "epochs": 1, "max_length": 32, "bf16": False,
                         "per_device_batch_size": 16, "save_steps": SAVE_STEPS, "logging_steps": 1},
        checkpoint=st.Checkpoint(s3_uri=f"s3://{bucket}/checkpoints"),
        output=st.Output(s3_uri=f"s3://{bucket}/out"),
        retries=1,
    )  # fmt: skip
    (tmp_path / "job.sh").write_text(str(rendered(job)))
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{slurm.PATH}", "AWS_ENDPOINT_URL": emulator.url, "AWS_ACCESS_KEY_ID": emulator.access_key,
        "AWS_SECRET_ACCESS_KEY": emulator.secret_key, "AWS_DEFAULT_REGION": "us-west-2", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
        "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": "", "PYTHONWARNINGS": "",
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="slurm-") as home, slurm.cluster(Path(home), **variables) as cluster:
        number = cluster.ask("sbatch", "--parsable", "job.sh", folder=tmp_path)
        log = tmp_path / f"tiny-{number}.out"
        folder = tmp_path / f"tiny-{number}"
        while not list(folder.glob("checkpoints/checkpoint-*/manifest.json")):
            assert cluster.state_of(number) in {"PENDING", "CONFIGURING", "RUNNING"}, log.read_text()
            time.sleep(0.2)
        if how == "its workers on one node are killed":
            killed = [each for each in workers_in(folder) if each.environ().get("SLURMD_NODENAME") == "n2"]
            for worker in killed:
                worker.kill()
            assert killed
            assert "FAILED" == cluster.until(number, *slurm.ENDED), log.read_text()
        before = log.read_text()
        cluster.ask("scontrol", "requeue", number)
        cluster.until(number, "PENDING")
        cluster.ask(
            "scontrol", "update", f"JobId={number}", "StartTime=now+5"
        )  # not in two minutes, but when the nodes have cleaned up
        assert "COMPLETED" == cluster.until(number, *slurm.ENDED), log.read_text().removeprefix(before) + cluster.ask(
            "scontrol", "show", "job", number
        )
    after = log.read_text().removeprefix(before)
    goes_on = re.search(r"resuming after step (\d+)", after)
    assert goes_on is not None, after
    assert int(goes_on[1]) >= SAVE_STEPS
    steps = [int(step) for step in re.findall(r"'step': (\d+)", after)]
    assert steps[-1] > max(int(step) for step in re.findall(r"'step': (\d+)", before))
    keys = {each["Key"] for each in aws("s3").list_objects_v2(Bucket=bucket)["Contents"]}
    assert "out/tiny/output/model.tar.gz" in keys
    assert any(re.fullmatch(r"checkpoints/checkpoint-\d+/.*", key) for key in keys)
