"""The manifest for HyperPod on EKS: what a pod runs, what Kubernetes makes of its texts, and what HyperPod's own models say of it.

SM_TRN_HYPERPOD_PYTHON names a Python with those models: .ci/hyperpod makes one and prints its name.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jobs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from strategies_of_values import sensible

import sm_trn as st
from sm_trn.core.catalog.hyperpod import efa_interfaces
from sm_trn.core.catalog.instances import find_instance
from sm_trn.core.errors import UnknownName
from sm_trn.core.render import problems
from sm_trn.core.render.machines.hyperpod import _literal
from sm_trn.core.specs import JobSpec, Severity

TARGET = "hyperpod-pytorch-job"
ORACLE = Path(__file__).with_name("hyperpod_oracle.py")
AT = st.specs.Destination(bucket="a-bucket", job_name="A-job", source_uri="s3://a-bucket/source.tar.gz")
DRAWN = int(os.environ.get("SM_TRN_EXAMPLES", "300"))
ASKS = pytest.mark.skipif(
    "SM_TRN_HYPERPOD_PYTHON" not in os.environ,
    reason="needs HyperPod's models: .ci/hyperpod makes a Python with them, and SM_TRN_HYPERPOD_PYTHON names it",
)


def rendered(job: JobSpec) -> dict[str, Any]:
    made: dict[str, Any] = st.render(job, TARGET, at=AT)
    return made


def small(**changes: Any) -> JobSpec:
    return st.JobSpec(
        name="tiny",
        script=st.Script("train.py", source_dir="s3://a-bucket/source.tar.gz"),
        framework=st.PyTorch("2.8.0", python="py312"),
        compute=st.Compute("ml.p4d.24xlarge", count=2),
        distribution=st.TorchDistributed(),
    ).replace(**changes)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """What Kubernetes makes of a command or a variable.

    Source: kubernetes v1.31, third_party/forked/golang/expansion/expand.go.
    """

    def value(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return variables.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", value, text)


@given(text=some.text(alphabet="$()ab{}'\" "))
def test_kubernetes_hands_every_text_on_as_it_is(text: str) -> None:
    assert text == expanded(_literal(text), {"a": "x", "": "y", "ab": "z"})


def container_of(manifest: dict[str, Any]) -> dict[str, Any]:
    (container,) = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


def test_a_pod_fetches_trains_and_delivers(tmp_path: Path) -> None:
    """The pod's program runs in bash with stand-ins for what is called; /opt/ml is a folder of the test."""
    job = small(
        inputs={"my-eval": "s3://b/c"}, hyperparameters={"note": "it's $(HOME) $$ /opt", "empty": ""},
        checkpoint=st.Checkpoint(s3_uri="s3://b/ck"), output=st.Output(s3_uri="s3://b/out", compress=False),
    )  # fmt: skip
    container = container_of(rendered(job))
    ml = tmp_path / "ml"
    (tmp_path / "bin").mkdir()
    said = tmp_path / "said"
    for name in ("aws", "tar", "hyperpodrun", "sleep"):
        program = tmp_path / "bin" / name
        end = "exit 1" if name == "sleep" else f'printf "%s\\0" {name} "$@" >> {said}; printf "\\n" >> {said}'
        program.write_text(f"#!/bin/bash\n{end}\n")
        program.chmod(0o755)
    words = [expanded(word, {}).replace("/opt/ml", str(ml)) for word in (*container["command"], *container["args"])]
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(words, env={"PATH": path}, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    *fetched, launched = [line.split("\0")[:-1] for line in said.read_text().splitlines()]
    aws = ["aws", "s3"]
    assert [
        [*aws, "cp", "--only-show-errors", "s3://a-bucket/source.tar.gz", f"{ml}/sourcedir.tar.gz"],
        ["tar", "-xzf", f"{ml}/sourcedir.tar.gz", "-C", f"{ml}/code"],
        [*aws, "sync", "--only-show-errors", "s3://b/c", f"{ml}/input/data/my-eval"],
        [*aws, "sync", "--only-show-errors", "s3://b/ck", f"{ml}/checkpoints"],
    ] == fetched
    assert ["hyperpodrun", "--nnodes=2", "--nproc-per-node=8"] == launched[:3]
    assert ["train.py", "--empty", "", "--note", "it's $(HOME) $$ /opt"] == launched[-5:]
    said.unlink()
    subprocess.run([f"{ml}/deliver.sh", ""], env={"PATH": path, "GROUP_RANK": "0"}, check=True)
    delivered = [line.split("\0")[:-1] for line in said.read_text().splitlines()]
    assert [*aws, "sync", "--only-show-errors", f"{ml}/checkpoints", "s3://b/ck"] == delivered[0]
    assert [*aws, "sync", "--only-show-errors", f"{ml}/model", "s3://b/out/A-job/output/model/"] == delivered[1]
    said.unlink()
    subprocess.run([f"{ml}/deliver.sh", ""], env={"PATH": path, "GROUP_RANK": "1"}, check=True)
    assert 1 == len(said.read_text().splitlines())


def test_limits_restarts_and_the_guard_are_the_run_policy() -> None:
    job = small(max_run_s=3600, retries=2, guard=st.Guard(stall_s=600))
    policy = rendered(job)["spec"]["runPolicy"]
    assert (3600, 2) == (policy["activeDeadlineSeconds"], policy["jobMaxRetryCount"])
    assert 600 == policy["logMonitoringConfiguration"][0]["expectedRecurringFrequencyInSeconds"]


def test_neuron_and_efa_are_devices_of_the_pod() -> None:
    limits = container_of(rendered(jobs.trainium("s3://b/source.tar.gz")))["resources"]["limits"]
    assert {"aws.amazon.com/neurondevice": "16", "vpc.amazonaws.com/efa": "8"} == limits


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("TARGET051", {"distribution": st.MPI()}),
        ("TARGET055", {"inputs": {"train": st.FileSystem("fs-1", st.specs.FileSystemKind.EFS, directory="/d")}}),
        ("TARGET066", {"distribution": None}),
        ("TARGET067", {"environment": {"RUN_NEURON_PARALLEL_COMPILE": "1"}}),
        ("TARGET070", {"inputs": {"train": "./data"}}),
    ],
)
def test_what_pods_cannot_do_is_refused_by_its_id(rule: str, change: dict[str, Any]) -> None:
    with pytest.raises(st.errors.InvalidJob, match=rule):
        rendered(small(**change))


def test_what_is_different_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os; os.environ['SM_HOSTS']")
    job = small(script=st.Script("train.py", source_dir=str(tmp_path)), compute=st.Compute("ml.p3.8xlarge", count=2))
    assert {"TARGET068", "TARGET069", "TARGET070"} == {problem.id for problem in problems(job, TARGET)}
    assert [] == problems(small(image_uri="an/image:1"), TARGET)


def asked(manifests: dict[str, Any]) -> dict[str, list[str]]:
    """What HyperPod's models and Kubernetes' schemas find wrong with each manifest."""
    done = subprocess.run(
        [os.environ["SM_TRN_HYPERPOD_PYTHON"], str(ORACLE)],
        input=json.dumps(manifests),
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert 0 == done.returncode, done.stderr[-2000:]
    answers: dict[str, list[str]] = json.loads(done.stdout)
    return answers


def example_jobs() -> dict[str, JobSpec]:
    """The jobs that tests and pages of the project use as examples, and one of every instance type that HyperPod has."""
    made = {letter: job("s3://a-bucket/source.tar.gz") for letter, job in jobs.CONFIGURATIONS.items()}
    made |= {"squad": jobs.SQUAD, "llama": jobs.LLAMA, "small": small(guard=st.Guard(loss_above=5.0), retries=1)}
    made["one process"] = small(compute=st.Compute("ml.c5.xlarge"), distribution=None, environment={"A": "$(B) \"'"})
    made |= {
        name: small(compute=st.Compute(name), distribution=None, image_uri="an/image:1")
        for name in efa_interfaces()
        if find_instance(name) is not None
    }
    return made


@ASKS
@pytest.mark.timeout(300)
def test_hyperpods_own_models_take_every_example() -> None:
    examples = example_jobs()
    refused = {
        name: {problem.id for problem in problems(job, TARGET) if problem.severity is Severity.ERROR}
        for name, job in examples.items()
    }
    manifests = {name: rendered(job) for name, job in examples.items() if not refused[name]}
    assert {"a": {"TARGET051"}, "b": {"TARGET051", "TARGET052"}} == {name: ids for name, ids in refused.items() if ids}
    assert {} == {name: faults for name, faults in asked(manifests).items() if faults}


@ASKS
@pytest.mark.timeout(300)
def test_hyperpods_own_models_take_drawn_jobs() -> None:
    manifests: dict[str, Any] = {}

    @settings(max_examples=DRAWN, suppress_health_check=[HealthCheck.filter_too_much])
    @given(job=sensible("s3://a-bucket/source.tar.gz"))
    def draw(job: JobSpec) -> None:
        known = all(name in efa_interfaces() for name in job.compute.instances)
        if known and not any(problem.severity is Severity.ERROR for problem in problems(job, TARGET)):
            try:
                manifests[str(len(manifests))] = rendered(job)
            except UnknownName:  # no image
                return

    draw()
    assert manifests
    assert {} == {name: faults for name, faults in asked(manifests).items() if faults}


@pytest.mark.parametrize("target", ["local", "slurm", "hyperpod-pytorch-job"])
def test_a_queue_of_aws_batch_is_told_as_left_out(target: str) -> None:
    told = {problem.id: problem.got for problem in problems(small(queue=st.Queue("team")), target)}
    assert "queue" in told["TARGET061"]
