"""Each way of keeping a job to itself runs the same job of two hosts; what this machine lacks is skipped by its name."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest
from emulator.bench import Bench, all_gone, below, running, shell

from sm_trn import emulator as embedded
from sm_trn.emulator.container import orphans

pytest.importorskip("moto")

TIERS = {
    "namespace": "user namespace, /opt/ml",
    "folder": "plain folder, SAGEMAKER_BASE_DIR",
    "portable": "plain folder, SAGEMAKER_BASE_DIR, POSIX only",
}
SCRIPT = """
echo "i am $CURRENT_HOST on $(uname -n), process $$"
grep -c algo-2 /etc/hosts
ls -A "$HOME" | wc -l
test -e /opt/ml/input/config/resourceconfig.json && printf "$CURRENT_HOST" > "/opt/ml/model/$CURRENT_HOST"
"""


@pytest.fixture(scope="module", params=TIERS)
def tier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Bench]]:
    wanted = str(request.param)
    with running(tmp_path_factory.mktemp("tier"), stop_grace_s=0.3, isolation=wanted) as bench:
        if embedded.status(bench.endpoint.state).isolation != TIERS[wanted]:
            pytest.skip(f"{wanted}: this machine cannot")
        yield wanted, bench


def submitted(bench: Bench, script: str, hosts: int) -> str:
    resources = {"InstanceType": "ml.m5.large", "InstanceCount": hosts, "VolumeSizeInGB": 10}
    return bench.submit("", AlgorithmSpecification=shell(script), ResourceConfig=resources)


def test_a_job_of_two_hosts_runs_in_every_tier(tier: tuple[str, Bench]) -> None:
    wanted, bench = tier
    name = submitted(bench, SCRIPT, 2)
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)
    assert {"algo-1": b"algo-1", "algo-2": b"algo-2"} == bench.model(name)
    assert 2 == len(bench.streams(name))
    lines = bench.lines(name)
    assert f"isolation: {TIERS[wanted]}" in lines[0]
    own_name = "algo-2" if wanted == "namespace" else os.uname().nodename
    assert any(line.startswith(f"i am algo-2 on {own_name}, process ") for line in lines), lines


def test_a_job_that_is_stopped_is_told_so_in_every_tier(tier: tuple[str, Bench]) -> None:
    _, bench = tier
    name = submitted(bench, "trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.05; done", 1)
    bench.said(name, "ready")
    bench.sagemaker.stop_training_job(TrainingJobName=name)
    assert "Stopped" == bench.finished(name)["TrainingJobStatus"]
    assert "told" in bench.lines(name)


def test_a_killed_emulator_leaves_no_process_in_any_tier(tier: tuple[str, Bench]) -> None:
    wanted, bench = tier  # the last of its tier
    name = submitted(bench, "echo asleep; (setsid sleep 300 &); sleep 300", 1)
    bench.said(name, "asleep")
    family = below(bench.endpoint.pid)
    assert len(family) >= 3
    with contextlib.suppress(ProcessLookupError):
        os.kill(bench.endpoint.pid, signal.SIGKILL)
    if wanted == "portable":  # nobody adopts orphans there: those that left their group are found at the next start
        embedded.up(bench.endpoint.state)
    assert all_gone(family)


def test_an_orphan_ends_with_its_job_in_every_tier(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running(tmp_path_factory.mktemp("orphans"), stop_grace_s=0.3, isolation="portable") as bench:
        name = submitted(bench, "(setsid sleep 300 &); sleep 0.3; echo started", 1)
        bench.said(name, "started")
        family = below(bench.endpoint.pid)
        bench.finished(name)
        left = orphans.processes(bench.endpoint.state / "jobs")
    assert [] == left
    assert all_gone({process for process in family if process[0] != bench.endpoint.pid})
