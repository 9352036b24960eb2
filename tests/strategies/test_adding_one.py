"""A strategy that nobody has heard of works everywhere: it is one class, and its place in the registry is one line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jobs
import pytest

import sm_trn as st
from sm_trn.core.catalog import instance
from sm_trn.core.render import destination_of, render
from sm_trn.core.specs import Distribution, JobSpec, LaunchPlan, Problem, Runner, Severity
from sm_trn.core.strategies import STRATEGIES, plan


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

    @classmethod
    def recognise(cls, sent: Mapping[str, Any]) -> Carrier | None:
        return cls() if sent.get("coo") is True else None


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


RICH = {
    "torch_distributed": st.TorchDistributed(workers_per_host=8),
    "smdistributed.dataparallel": st.SMDataParallel(custom_mpi_options="-x NCCL_DEBUG=VERSION"),
    "mpi": st.MPI(processes_per_host=4, custom_mpi_options="-verbose"),
    "smdistributed.modelparallel": st.SMModelParallel(partitions=2, ddp=True, memory_weight=0.5, processes_per_host=8),
    "smdistributed.modelparallel.v2": st.specs.SMModelParallelV2(
        tensor_parallel_degree=8, sm_activation_offloading=True
    ),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_recognises_what_it_wrote(name: str) -> None:
    job = jobs.smddp("s3://a-bucket/src")
    for strategy in (STRATEGIES[name](), *([RICH[name]] if name in RICH else [])):
        written = dict(plan(job.replace(distribution=strategy)).toolkit)
        read = STRATEGIES[name].recognise(written)
        assert written == dict(plan(job.replace(distribution=read)).toolkit)
    assert name not in RICH or read == RICH[name]


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_strategy_recognises_a_job_without_any(name: str) -> None:
    assert STRATEGIES[name].recognise({"sagemaker_program": "train.py", "lr": 0.1}) is None


class Broken(Carrier):
    name: ClassVar[str] = "broken"

    @classmethod
    def recognise(cls, sent: Mapping[str, Any]) -> Carrier | None:
        return sent.nothing_of_the_kind  # type: ignore[attr-defined,no-any-return]  # the mistake is the test


def test_a_strategys_own_mistake_is_not_called_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sm_trn.core.strategies.STRATEGIES", {**STRATEGIES, "broken": Broken})
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        st.parse_request(render(jobs.smddp("s3://a-bucket/src"), "request"))


@pytest.mark.parametrize(
    "strange", [{"partitions": "4"}, {"partitions": 4, "microbatches": [1]}, {"pipeline": 3}, {"ddp": "yes"}]
)
def test_a_librarys_parameter_of_another_type_is_kept_as_it_was_sent(strange: dict[str, Any]) -> None:
    request = render(jobs.smddp("s3://a-bucket/src").replace(distribution=st.SMModelParallel(partitions=2)), "request")
    request["HyperParameters"]["mp_parameters"] = json.dumps(strange)
    spec = st.parse_request(request)
    assert isinstance(spec.distribution, st.SMModelParallel)
    again = render(spec, "request", at=destination_of(request))
    assert request == again
