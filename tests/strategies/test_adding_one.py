"""A strategy that nobody has heard of works everywhere: it is one class, and its place in the registry is one line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import jobs
import pytest

import sm_trn as st
from sm_trn.catalog import instance
from sm_trn.render import render
from sm_trn.specs import Distribution, JobSpec, LaunchPlan, Problem, Runner, Severity
from sm_trn.strategies import STRATEGIES, plan


@dataclass(frozen=True, slots=True)
class Carrier:
    """Workers by pigeon."""

    pigeons: int = 2
    name: ClassVar[str] = "carrier"
    image_family: ClassVar[str | None] = None

    def problems(self, job: JobSpec) -> Iterator[Problem]:
        if self.pigeons < job.compute.count:
            yield Problem(
                id="DIST900",
                severity=Severity.ERROR,
                where="distribution.pigeons",
                what="too few",
                got="1",
                wanted="2",
                fix="2",
            )

    def plan(self, job: JobSpec) -> LaunchPlan:
        wish = {"carrier": {"enabled": True}}
        return LaunchPlan(
            runner=Runner.PYTHON,
            workers_per_host=self.pigeons * job.compute.count,
            toolkit={"coo": True},
            estimator=wish,
        )


def test_a_new_strategy_is_checked_planned_and_rendered_without_another_change() -> None:
    job = jobs.smddp("s3://a-bucket/src").replace(distribution=Carrier())
    assert "true" == render(job, "request")["HyperParameters"]["coo"]
    assert {"carrier": {"enabled": True}} == render(job, "estimator-v2").kwargs["distribution"]
    assert "DIST900" in {problem.id for problem in st.check(job.replace(distribution=Carrier(pigeons=1)))}


def test_it_is_a_distribution_by_its_shape() -> None:
    assert isinstance(Carrier(), Distribution)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_registered_strategy_plans_for_every_training_instance(name: str) -> None:
    strategy = STRATEGIES[name]()
    for machine in ("ml.p4d.24xlarge", "ml.trn1.32xlarge", "ml.c5.xlarge", "ml.never.heard"):
        made = plan(jobs.smddp(".").replace(distribution=strategy, compute=st.Compute(machine)))
        assert made.workers_per_host >= 1


def test_workers_come_from_the_catalogue() -> None:
    job = jobs.trainium(".")
    assert instance("ml.trn1.32xlarge").workers == plan(job).workers_per_host == 32
    assert 8 == plan(job.replace(distribution=st.TorchDistributed(workers_per_host=8))).workers_per_host
