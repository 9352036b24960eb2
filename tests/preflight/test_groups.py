"""A distribution on instance groups: SDK v2 launches one group only, and must be told which; a spec has one to name when it is alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jobs
import pytest

import sm_trn as st
from sm_trn.core.specs import Severity

SOURCE = str(Path(__file__).parent)  # a small folder: every check looks through it
GPU, OTHER, CPU = "ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.m5.xlarge"


def job(distribution: Any, *instances: str, **more: Any) -> st.JobSpec:
    groups = tuple(st.specs.InstanceGroup(name=f"g{index}", instance=name) for index, name in enumerate(instances))
    framework = st.PyTorch("2.0.1", python="py310")
    return jobs.smddp(SOURCE).replace(
        framework=framework, compute=st.Compute(groups=groups), distribution=distribution, **more
    )


@pytest.mark.parametrize(
    ("distribution", "instances", "rule"),
    [
        (None, (GPU, CPU), None),
        (st.specs.SingleProcess(), (GPU, CPU), None),
        (st.TorchDistributed(), (GPU,), None),
        (st.MPI(), (GPU,), None),
        (st.SMDataParallel(), (GPU,), None),
        (st.SMModelParallel(), (GPU,), None),
        (st.TorchDistributed(), (GPU, CPU), "DIST025"),
        (st.MPI(), (GPU, OTHER), "DIST025"),
        (st.SMModelParallel(), (GPU, GPU), "DIST025"),
        (st.specs.SMModelParallelV2(), (GPU,), "DIST025"),
        (st.TorchDistributed(), (CPU,), "DIST002"),
        (st.SMDataParallel(), (OTHER,), "DIST004"),
        (st.MPI(processes_per_host=9), (GPU,), "DIST015"),
        (st.SMModelParallel(), ("ml.p5.48xlarge",), "DIST004"),
    ],
)
def test_a_distribution_is_judged_on_its_group(distribution: Any, instances: tuple[str, ...], rule: str | None) -> None:
    found = st.check(job(distribution, *instances))
    errors = [each.id for each in found if each.severity is Severity.ERROR and each.id.startswith("DIST")]
    assert [rule] * (rule is not None) == errors


@pytest.mark.parametrize("distribution", [st.MPI(), st.SMDataParallel(), st.SMModelParallel()])
def test_the_group_that_is_launched_is_named(distribution: Any) -> None:
    sent = st.render(job(distribution, GPU))["HyperParameters"]
    assert '["g0"]' == sent["sagemaker_distribution_instance_groups"]
    assert () == st.parse_request(st.render(job(distribution, GPU))).kept
