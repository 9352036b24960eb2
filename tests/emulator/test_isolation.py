"""A job of two hosts in user namespaces, and in plain folders where a machine has none."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from emulator.bench import Bench, running, shell

from sm_trn import emulator as embedded

pytest.importorskip("moto")

WAYS = {True: "user namespace, /opt/ml", False: "plain folder, SAGEMAKER_BASE_DIR"}
SCRIPT = """
echo "i am $CURRENT_HOST on $(uname -n), process $$"
grep -c algo-2 /etc/hosts
ls -A "$HOME" | wc -l
printf "$CURRENT_HOST" > "${SAGEMAKER_BASE_DIR:-/opt/ml}/model/$CURRENT_HOST"
"""


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[bool, Bench]]:
    with running(tmp_path_factory.mktemp("way"), stop_grace_s=0.3, namespace=request.param) as bench:
        if not str(embedded.status(bench.endpoint.state).isolation).startswith(WAYS[request.param]):
            pytest.skip("this machine has no user namespaces")
        yield request.param, bench


def submitted(bench: Bench, script: str, hosts: int) -> str:
    resources = {"InstanceType": "ml.m5.large", "InstanceCount": hosts, "VolumeSizeInGB": 10}
    return bench.submit("", AlgorithmSpecification=shell(script), ResourceConfig=resources)


def test_a_job_of_two_hosts_runs_in_a_namespace_and_in_a_folder(way: tuple[bool, Bench]) -> None:
    namespace, bench = way
    name = submitted(bench, SCRIPT, 2)
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)
    assert {"algo-1": b"algo-1", "algo-2": b"algo-2"} == bench.model(name)
    assert 2 == len(bench.streams(name))
    lines = bench.lines(name)
    assert f"isolation: {WAYS[namespace]}" in lines[0]
    assert namespace or "run only code that you trust" in lines[0]
    own_name = "algo-2" if namespace else os.uname().nodename
    assert any(line.startswith(f"i am algo-2 on {own_name}, process ") for line in lines), lines
