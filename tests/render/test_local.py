"""The commands for one's own machine: the toolkit's arguments, a snippet that bash takes, and a script that really trains."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jobs
import pytest
from fork_server import TORCH, python_with
from hypothesis import given, settings
from strategies_of_values import sensible, specs

import sm_trn as st
from sm_trn.core.preflight.source import command_line
from sm_trn.core.render import LocalRun, problems, request
from sm_trn.core.specs import JobSpec, Severity

TARGET = "local"
ECHO = """#!{python}
import json, os, sys
print(json.dumps({{"argv": sys.argv, "environment": dict(os.environ), "folder": os.getcwd()}}))
"""


def rendered(job: JobSpec) -> LocalRun:
    run: LocalRun = st.render(job, TARGET)
    return run


def small(**changes: Any) -> JobSpec:
    return st.JobSpec(
        name="tiny",
        script=st.Script("train_text_classification.py"),
        framework=st.PyTorch("2.1", python="py310"),
        compute=st.Compute("ml.g5.12xlarge"),
        hyperparameters={
            "model": "tiny-random",
            "train": "sample",
            "epochs": 1,
            "max_length": 32,
            "bf16": False,
            "per_device_batch_size": 64,
        },
    ).replace(**changes)


def bash(run: LocalRun, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": "", "PYTHONWARNINGS": "", "PATH": path}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", str(run)],
        cwd=folder, env={**os.environ, **quiet, **variables}, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


def heard(run: LocalRun, folder: Path, *programs: str) -> list[dict[str, Any]]:
    """What each program of that name was started with, in the order of the snippet."""
    (folder / "bin").mkdir(exist_ok=True)
    for name in programs:
        program = folder / "bin" / name
        program.write_text(ECHO.format(python=sys.executable))
        program.chmod(0o755)
    done = bash(run, folder)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"argv"')]


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.local
@pytest.mark.parametrize(("distribution", "workers"), [(None, 1), (st.TorchDistributed(workers_per_host=2), 2)])
def test_the_snippet_of_the_shipped_script_really_trains(distribution: Any, workers: int, tmp_path: Path) -> None:
    if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
        pytest.skip("needs sm_trn[local]")
    (tmp_path / "bin").mkdir()
    python = python_with(*TORCH)
    (tmp_path / "bin" / "python").symlink_to(python)
    (tmp_path / "bin" / "torchrun").write_text(f'#!/bin/sh\nexec "{python}" -m torch.distributed.run "$@"\n')
    (tmp_path / "bin" / "torchrun").chmod(0o700)
    done = bash(rendered(small(distribution=distribution)), tmp_path, PET_MASTER_PORT=free_port(), PYTHON_EXEC=python)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [ast.literal_eval(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert any("loss" in line for line in lines)
    assert any(f"{workers} worker" in line for line in done.stdout.splitlines())
    assert (tmp_path / "tiny" / "model" / "config.json").is_file()
    assert ["bin", "tiny"] == sorted({"bin", *(path.name for path in tmp_path.iterdir())})


@settings(max_examples=150)
@given(job=specs("."))
def test_arguments_are_those_of_the_training_toolkit(job: JobSpec) -> None:
    mapping = pytest.importorskip("sagemaker_training.mapping", reason="needs sm_trn[local]")
    container = {key: json.loads(value) for key, value in request.encode(job.arguments).items()}
    user = mapping.split_by_criteria({**container, "sagemaker_region": "x"}, prefix="sagemaker_").excluded
    assert mapping.to_cmd_args(user) == list(command_line(job))


@settings(max_examples=80)
@given(job=sensible("./src"))
def test_the_snippet_is_the_same_words_as_the_data(job: JobSpec) -> None:
    if any(problem.severity is Severity.ERROR for problem in problems(job, TARGET)):
        with pytest.raises(st.errors.InvalidJob, match="as 'local'"):
            rendered(job)
        return
    run = rendered(job)
    parts = str(run).split("\n\n")[-len(run.hosts) :]
    for host, part in zip(run.hosts, parts, strict=True):
        words = shlex.split(part.partition("\n")[2].removesuffix(")").replace("\\\n", " "))
        variables = [f"{key}={value}" for key, value in host.environment.items()]
        command = ["(cd", host.folder, "&&", "env", *variables, *host.argv]
        assert command == words[len(words) - len(command) :]
        assert all(shlex.join(step) in part for step in run.prepare)


def test_bash_passes_every_word_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("")
    nasty = {
        "a": "it's",
        "text": 'say "$HOME" `x` \\ *',
        "empty": "",
        "flag": True,
        "off": False,
        "lr": 1e-05,
        "n": -3,
        "sagemaker_region": "x",
    }
    job = small(
        script=st.Script("train.py", source_dir="src"),
        hyperparameters=nasty,
        environment={"NOTE": "two words; $PATH"},
        inputs={"train": "data/a set", "my-eval": "/srv/eval"},
        distribution=st.TorchDistributed(),
    )
    (call,) = heard(rendered(job), tmp_path, "torchrun")
    expected = ["--nproc_per_node=4", "train.py", "-a", "it's", "--empty", "", "--flag", "True", "--lr", "1e-05",
                "-n", "-3", "--off", "False", "--text", 'say "$HOME" `x` \\ *']  # fmt: skip
    assert expected == call["argv"][1:]
    assert str(tmp_path / "tiny" / "code") == call["folder"]
    assert "two words; $PATH" == call["environment"]["NOTE"]
    assert "../../data/a set" == call["environment"]["SM_CHANNEL_TRAIN"]
    assert "/srv/eval" == call["environment"]["SM_CHANNEL_MY-EVAL"]
    assert "4" == call["environment"]["SM_NUM_GPUS"]


def test_a_channel_in_s3_is_fetched_before_the_script_sees_it(tmp_path: Path) -> None:
    job = small(inputs={"train": "s3://a-bucket/wikitext"}, distribution=st.TorchDistributed())
    fetch, start = heard(rendered(job), tmp_path, "aws", "torchrun")
    assert ["s3", "sync", "s3://a-bucket/wikitext", "tiny/data/train"] == fetch["argv"][1:]
    assert (Path(start["folder"]) / start["environment"]["SM_CHANNEL_TRAIN"]).resolve() == tmp_path / "tiny/data/train"


def test_a_channel_that_is_one_file_is_a_folder_for_the_script(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n")
    (start,) = heard(
        rendered(small(inputs={"train": str(tmp_path / "rows.csv")}, distribution=st.TorchDistributed())),
        tmp_path,
        "torchrun",
    )
    assert ["rows.csv"] == [
        path.name for path in (Path(start["folder"]) / start["environment"]["SM_CHANNEL_TRAIN"]).iterdir()
    ]


def test_a_source_may_be_the_folder_one_stands_in_and_may_run_twice(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    run = rendered(small(script=st.Script("train.py", source_dir="."), distribution=st.TorchDistributed()))
    heard(run, tmp_path, "torchrun")
    heard(run, tmp_path, "torchrun")
    assert (tmp_path / "tiny/code/train.py").is_file()
    assert not (tmp_path / "tiny/code/tiny").exists()


def test_a_source_may_be_a_commit_of_a_repository(tmp_path: Path) -> None:
    upstream = tmp_path / "upstream"
    (upstream / "examples").mkdir(parents=True)
    (upstream / "examples" / "train.py").write_text("first")
    git = ["git", "-C", str(upstream), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for step in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *step], check=True, capture_output=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (upstream / "examples" / "train.py").write_text("second")
    subprocess.run([*git, "commit", "-qam", "second"], check=True, capture_output=True)
    script = st.Script("train.py", source_dir="examples", git=st.specs.Git(str(upstream), commit=commit))
    heard(rendered(small(script=script, distribution=st.TorchDistributed())), tmp_path, "torchrun")
    assert "first" == (tmp_path / "tiny/code/train.py").read_text()


def test_dependencies_lie_beside_the_script(tmp_path: Path) -> None:
    for name in ("src/train.py", "libs/shared/one.py", "loose/two.py", "three.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    script = st.Script("train.py", source_dir="src", dependencies=("libs/shared", "loose/", "three.py"))
    heard(rendered(small(script=script, distribution=st.TorchDistributed())), tmp_path, "torchrun")
    code = tmp_path / "tiny/code"
    found = {path.relative_to(code).as_posix() for path in code.rglob("*.py")}
    assert {"train.py", "shared/one.py", "two.py", "three.py"} == found


def test_a_packed_source_in_s3_is_fetched_and_unpacked() -> None:
    steps = rendered(small(script=st.Script("train.py", source_dir="s3://a-bucket/s.tar.gz"))).prepare
    assert ("aws", "s3", "cp", "s3://a-bucket/s.tar.gz", "tiny/sourcedir.tar.gz") in steps
    assert ("tar", "-xzf", "tiny/sourcedir.tar.gz", "-C", "tiny/code") in steps


def test_two_hosts_have_their_ranks_and_a_placeholder_for_the_first() -> None:
    run = rendered(jobs.trainium("./src").replace(compute=st.Compute("ml.trn1.32xlarge", count=2)))
    start = (
        "torchrun",
        "--nnodes=2",
        "--node_rank={}",
        "--master_addr=YOUR-FIRST-HOST",
        "--master_port=7777",
        "--nproc_per_node=32",
    )
    for rank, host in enumerate(run.hosts):
        assert tuple(word.format(rank) for word in start) == host.argv[:6]
        assert f"algo-{rank + 1}" == host.environment["SM_CURRENT_HOST"]
        assert "efa" not in host.environment.values()
    assert 2 == str(run).count("paste this there")


def test_neuron_options_become_environment_arguments_and_the_precompiler() -> None:
    options = st.specs.NeuronOptions(tensor_parallel=8, precompile=True, malloc_arena_max=64)
    (host,) = rendered(jobs.trainium("./src").replace(neuron=options)).hosts
    assert ("neuron_parallel_compile", "torchrun", "--nproc_per_node=32", "run_clm.py") == host.argv[:4]
    assert "8" == host.argv[host.argv.index("--tensor_parallel_size") + 1]
    assert "64" == host.environment["MALLOC_ARENA_MAX"]


def test_a_job_of_one_process_is_python() -> None:
    assert ("python", "train_text_classification.py") == rendered(small()).hosts[0].argv[:2]
    assert "sh" == rendered(small(script=st.Script("train.sh", source_dir="./src"))).hosts[0].argv[0]


def test_a_comment_stays_one_line_whatever_the_name_is() -> None:
    assert "\n" not in str(rendered(small(name="a\nrm -rf b"))).split("\nmkdir")[0]


P4D = st.Compute("ml.p4d.24xlarge", count=2)
S3 = "s3://a-bucket/x"
REFUSED = {
    "TARGET051": small(compute=P4D, distribution=st.SMDataParallel()),
    "TARGET052": jobs.compiled("./src"),
    "TARGET053": small(compute=P4D, distribution=st.specs.SMModelParallelV2()),
    "TARGET054": small(
        compute=st.Compute(
            groups=(
                st.specs.InstanceGroup(name="a", instance="ml.g5.xlarge"),
                st.specs.InstanceGroup(name="b", instance="ml.m5.large"),
            )
        )
    ),
    "TARGET055": small(inputs={"train": st.Channel(S3, mode=st.specs.InputMode.PIPE)}),
    "TARGET057": small(script=st.Script("train.R", source_dir="./src")),
}
TOLD = {
    "TARGET056": small(compute=P4D, inputs={"train": st.Channel(S3, spread=st.specs.Spread.SHARDED_BY_S3_KEY)}),
    "TARGET059": small(hyperparameters={"output_dir": "/opt/ml/model"}),
    "TARGET060": small(checkpoint=st.Checkpoint(s3_uri=S3)),
    "TARGET061": small(spot=st.Spot(max_wait_s=90_000), retries=3),
}  # fmt: skip


@pytest.mark.parametrize("rule", REFUSED)
def test_what_a_machine_of_ones_own_cannot_do_is_refused_by_its_id(rule: str) -> None:
    with pytest.raises(st.errors.InvalidJob) as refusal:
        rendered(REFUSED[rule])
    (problem, *_) = [item for item in refusal.value.problems if item.id == rule]
    assert all((problem.what, problem.where, problem.got, problem.wanted, problem.fix)), problem


@pytest.mark.parametrize(
    "distribution", [st.SMDataParallel(), st.PyTorchXLA(), st.MPI(), st.PyTorchDDP(), st.SMModelParallel(partitions=2)]
)
def test_launchers_of_the_containers_are_refused(distribution: Any) -> None:
    assert "TARGET051" in {problem.id for problem in problems(small(compute=P4D, distribution=distribution), TARGET)}


@pytest.mark.parametrize(
    "channel",
    [
        st.Channel(S3, kind=st.specs.S3Kind.MANIFEST),
        st.Channel(S3, compression="Gzip"),
        st.Channel(S3, record_wrapping="RecordIO"),
        st.FileSystem("fs-0123456789abcdef0", st.specs.FileSystemKind.EFS, directory="/d"),
    ],
)
def test_what_sagemaker_does_with_objects_first_is_refused(channel: st.Channel | st.FileSystem) -> None:
    assert "TARGET055" in {problem.id for problem in problems(small(inputs={"train": channel}), TARGET)}


@pytest.mark.parametrize("rule", TOLD)
def test_what_is_only_different_here_is_told_and_rendered(rule: str) -> None:
    (problem,) = [item for item in problems(TOLD[rule], TARGET) if item.id == rule]
    assert problem.severity is not Severity.ERROR
    assert all((problem.what, problem.where, problem.got, problem.fix)), problem
    assert rendered(TOLD[rule])


def test_requirements_are_told_not_installed(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("six\n")
    job = small(script=st.Script("train.py", source_dir=str(tmp_path)))
    assert "TARGET058" in {problem.id for problem in problems(job, TARGET)}
    assert not any("pip" in step for step in rendered(job).prepare)


def test_a_plain_job_has_no_problems_here() -> None:
    assert [] == problems(small(), TARGET)
