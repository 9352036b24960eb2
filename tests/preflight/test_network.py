"""The NET rules against the installed toolkit's own launchers, and against every instance type, image and launcher at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import product
from typing import Any

import jobs
import pytest

import sm_trn as st
from sm_trn.core.catalog import efa, images
from sm_trn.core.catalog.instances import instances
from sm_trn.core.preflight import network
from sm_trn.core.specs import JobSpec, Problem
from sm_trn.core.specs.compute import Accelerator
from sm_trn.core.specs.launch import Runner
from sm_trn.core.specs.problems import AnyOf, Change

EFA_GPUS = [row.name for row in instances().values() if row.efa and row.accelerator is Accelerator.CUDA]
MPI_INSTANCES = sorted({*EFA_GPUS, *efa.named(), "ml.g5.xlarge"})


def job(instance: str, *, pytorch: str = "2.5", count: int = 2, **changed: Any) -> JobSpec:
    return jobs.smddp("/nowhere").replace(
        **{
            "compute": st.Compute(instance, count=count),
            "framework": st.PyTorch(pytorch, python="py39"),
            "distribution": st.TorchDistributed(),
            "environment": {},
            "neuron": None,
            **changed,
        }
    )


def found(spec: JobSpec) -> dict[str, Problem]:
    return {problem.id: problem for rule in network.RULES for problem in rule(spec)}


def test_the_newest_row_is_the_installed_toolkits() -> None:
    toolkit = pytest.importorskip("sagemaker_training")
    newest = efa.toolkits()[-1]
    assert newest.efa == set(toolkit.SM_EFA_NCCL_INSTANCES)
    assert newest.rdma == set(toolkit.SM_EFA_RDMA_INSTANCES)


@pytest.mark.parametrize("instance", sorted({*EFA_GPUS, *efa.named(), "ml.g5.xlarge"}))
def test_torchruns_launcher_sets_what_we_say(instance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = pytest.importorskip("sagemaker_training.torch_distributed")
    before = {"FI_PROVIDER": "a", "FI_EFA_USE_DEVICE_RDMA": "b", "NCCL_PROTO": "c", "NCCL_DEBUG": "d"}
    monkeypatch.setattr(os, "environ", dict(before))
    launcher.TorchDistributedRunner("t.py", [], {}, 8, "algo-1", ["algo-1"], "algo-1", "eth0", instance)._setup()
    changed = {name: value for name, value in os.environ.items() if before.get(name) != value}
    changed.pop("NCCL_SOCKET_IFNAME")
    changed.pop("RDMAV_FORK_SAFE", None)
    assert changed == network._sets(efa.toolkits()[-1], Runner.TORCHRUN, instance)


MPI_COMMANDS = """
import json, sys
from sagemaker_training import mpi

mpi._framework_is_pytorch = lambda *_: False
arguments = ("t.py", [], {}, 8, "algo-1", ["algo-1", "algo-2"], "", "eth0")
runners = {name: mpi.MasterRunner(*arguments, num_processes=16, instance_type=name) for name in sys.argv[1:]}
print(json.dumps({name: " ".join(map(str, runner._create_command())) for name, runner in runners.items()}))
"""


@pytest.fixture(scope="module")
def mpi_commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The toolkit's command for each instance type. It reads its settings below a folder of the test, not below /opt/ml."""
    pytest.importorskip("sagemaker_training.mpi")
    base = tmp_path_factory.mktemp("ml")
    (base / "input" / "config").mkdir(parents=True)
    hosts = {"current_host": "algo-1", "hosts": ["algo-1", "algo-2"], "network_interface_name": "eth0"}
    for name, content in (("resourceconfig", hosts), ("hyperparameters", {}), ("inputdataconfig", {})):
        (base / "input" / "config" / f"{name}.json").write_text(json.dumps(content))
    done = subprocess.run(
        [sys.executable, "-c", MPI_COMMANDS, *MPI_INSTANCES],
        capture_output=True,
        text=True,
        env={**os.environ, "SAGEMAKER_BASE_DIR": str(base)},
        check=True,
    )
    commands: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return commands


@pytest.mark.parametrize("instance", MPI_INSTANCES)
def test_mpis_launcher_sets_what_we_say(instance: str, mpi_commands: dict[str, str]) -> None:
    sent = dict(re.findall(r"-x (FI_PROVIDER|FI_EFA_USE_DEVICE_RDMA|NCCL_PROTO)=(\S+)", mpi_commands[instance]))
    assert sent == network._sets(efa.toolkits()[-1], Runner.MPI, instance)


def test_every_row_names_its_file_and_version() -> None:
    sources = [row.source for row in (*efa.toolkits(), efa.drivers())] + [row.source for row in efa.builds()]
    for source in sources:
        assert re.search(r"(\.py|:\d+|image)$", source), source
        assert re.search(r"v?\d+\.\d+", source), source
    days = [row.since for row in efa.toolkits()]
    assert days == sorted(days)


def test_no_gpu_image_since_1_8_is_without_a_row() -> None:
    for family in ("pytorch", "huggingface"):
        for row in images.rows(family):
            if "gpu" in row.processors and tuple(map(int, row.pytorch.split(".")[:2])) >= (1, 9):
                if row.python is None:
                    continue  # an image that only the SDK's table names: its build file is not published
                framework: Any = st.PyTorch(row.pytorch, python=row.python)
                if row.transformers:
                    framework = st.HuggingFace(row.transformers, pytorch=row.pytorch, python=row.python)
                if (row.transformers or "").startswith(("4.10.", "4.11.")):
                    continue  # PyTorch 1.9.0 of 2021: its build file is not in the repository's tags
                assert efa.build_of(framework) is not None, row


def test_what_is_found_follows_from_the_three_keys() -> None:
    """Every EFA instance × image × launcher: exactly one of selected by the list, by the plugin, warned of, or not to be told."""
    counted = dict.fromkeys(("listed", "plugin", "NET001", "NET002"), 0)
    launchers = (st.TorchDistributed(), st.MPI(processes_per_host=1), None)
    for instance, build, distribution in product(EFA_GPUS, efa.builds(), launchers):
        if build.transformers:
            continue
        spec = job(instance, pytorch=build.pytorch, distribution=distribution)
        seen = found(spec)
        toolkit = efa.toolkit_of(build) if distribution else None
        if toolkit and instance in toolkit.efa:
            kind = "listed"
        elif build.selects is False:
            kind = "NET001"
        else:
            kind = "plugin" if build.selects and instance in efa.named() else "NET002"
        counted[kind] += 1
        assert ("NET001" in seen, "NET002" in seen) == (kind == "NET001", kind == "NET002"), (instance, build)
        assert found(spec.replace(compute=st.Compute(instance))).keys() <= {"NET003"}  # one host has no network
    assert min(counted.values()) > 20, counted


@pytest.mark.parametrize("name", ["NET001", "NET002"])
def test_the_environment_that_the_fix_names_mends_it(name: str) -> None:
    spec = job("ml.g5.24xlarge", pytorch="1.13" if name == "NET001" else "2.5")
    fix = found(spec)[name].fix
    change = fix.choices[0] if isinstance(fix, AnyOf) else fix
    assert isinstance(change, Change)
    assert name not in found(spec.replace(environment=change.fields["environment"]))


def test_a_fix_shows_nothing_of_the_environment_that_is_there() -> None:
    spec = job("ml.g5.24xlarge", pytorch="1.13", environment={"HF_TOKEN": "hf_canary"})
    assert "hf_canary" not in repr(list(found(spec).values()))


def test_one_of_a_kind() -> None:
    assert found(job("ml.p4d.24xlarge", environment={"NCCL_PROTO": "LL128"})).keys() == {"NET003"}
    assert found(job("ml.p4d.24xlarge", environment={"NCCL_PROTO": "Simple"})).keys() == set()
    assert found(job("ml.p4d.24xlarge")).keys() == {"NET004"}
    assert found(job("ml.p4d.24xlarge", pytorch="2.1", distribution=st.SMDataParallel())).keys() == set()
    assert found(job("ml.p4d.24xlarge", image_uri="123456789012.dkr.ecr.us-west-2.amazonaws.com/own:1")).keys() == {
        "NET002"
    }
    assert found(job("ml.g5.xlarge")).keys() == set()  # DIST011: no EFA at all


def test_trainium_beside_the_list() -> None:
    neuron: dict[str, Any] = {"framework": st.NeuronX("2.9.0"), "script": st.Script("t.py", source_dir="/nowhere")}
    assert found(job("ml.trn2.48xlarge", **neuron)).keys() == {"NET002"}
    assert found(job("ml.trn2.48xlarge", **{**neuron, "neuron": st.specs.NeuronOptions()})).keys() == set()
    assert found(job("ml.trn1.32xlarge", **neuron)).keys() == set()


def test_a_job_of_sdk_v3_has_its_drivers_list() -> None:
    driven: dict[str, Any] = {
        "distribution": None,
        "extra": {
            "AlgorithmSpecification": {"ContainerArguments": ["-c", "/opt/ml/input/data/sm_drivers/sm_train.sh"]}
        },
    }
    assert found(job("ml.p5e.48xlarge", pytorch="1.13", **driven)).keys() == set()
    assert found(job("ml.p5en.48xlarge", pytorch="1.13", **driven)).keys() == {"NET001"}
    assert found(job("ml.p5e.48xlarge", pytorch="1.13", distribution=None)).keys() == {"NET001"}


@pytest.mark.parametrize(
    ("pytorch", "version"), [("1.8", None), ("1.12", "4.4.1"), ("1.13", "4.8.1"), ("2.0", "4.7.1"), ("2.5", "5.1.0")]
)
def test_an_image_has_the_newest_toolkit_of_its_day(pytorch: str, version: str | None) -> None:
    build = efa.build_of(st.PyTorch(pytorch, python="py39"))
    assert build is not None
    toolkit = efa.toolkit_of(build)
    assert version == (toolkit.version if toolkit else None)
