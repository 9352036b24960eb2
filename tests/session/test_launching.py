"""Launching: one upload, new names, the account's pace, no job twice whatever became of the answer, and no surprise bill."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.simulated_sagemaker import Refusal, Service
from fakes.simulated_wire import World

import sm_trn as st
from sm_trn.core.session.budget import OverBudget
from sm_trn.core.session.launches import unique_names


def many(spec: st.JobSpec, number: int) -> list[st.JobSpec]:
    return [spec.replace(name=f"job-{n}") for n in range(number)]


def test_fifty_jobs_share_one_upload(here: World, spec: st.JobSpec) -> None:
    jobs = here.session.submit_all(many(spec, 50))
    specs = 50  # each with its own spec beside it
    assert (1 + specs, 50) == (here.wire.calls["PutObject"], here.wire.calls["CreateTrainingJob"])
    assert 50 == len({job.name for job in jobs})
    sources = {job.request["HyperParameters"]["sagemaker_submit_directory"] for job in here.service.jobs.values()}
    assert 1 == len(sources)


def test_the_same_content_is_not_sent_again_by_a_later_launch(here: World, spec: st.JobSpec) -> None:
    here.session.submit(spec)
    here.session.submit(spec.replace(name="later"))
    assert 1 + 2 == here.wire.calls["PutObject"]  # the source, and a spec for each job


def test_creates_leave_at_the_accounts_pace(here: World, spec: st.JobSpec) -> None:
    here.session.submit_all(many(spec, 20))
    times = sorted(job.created for job in here.service.jobs.values())
    assert 15 <= times[-1] - times[0] <= 25


def test_names_of_one_launch_differ_even_in_the_same_millisecond() -> None:
    assert 40_000 == len(set(unique_names(["same"] * 40_000, 1_800_000_000.0)))  # some 48 of them drew alike


@pytest.mark.parametrize("seed", range(3))
def test_a_create_whose_answers_were_all_lost_is_recognised(here: World, spec: st.JobSpec, seed: int) -> None:
    here.wire.lose_answers_of = {"CreateTrainingJob"}
    job = here.session.submit(spec.replace(hyperparameters={"seed": seed}))
    assert {job.name: 1} == dict(here.service.created)


def test_a_create_that_never_arrived_is_a_failure(here: World, spec: st.JobSpec) -> None:
    here.wire.broken = 0.0
    here.wire.reset = 0.0

    class Deaf(Service):
        def answer(self, operation: str, body: object) -> dict[str, object]:
            if operation == "CreateTrainingJob":
                raise Refusal("InternalFailure", "try later", 500)
            return super().answer(operation, body)  # type: ignore[arg-type]  # passed on

    here.wire.service = Deaf(here.clock)
    with pytest.raises(st.errors.CloudError, match="InternalFailure") as caught:
        here.session.submit(spec)
    assert "sm-trn describe" not in str(caught.value)  # it was looked for, and is not there


def test_when_nobody_knows_whether_it_was_made_the_message_says_what_to_do(here: World, spec: st.JobSpec) -> None:
    class Collapsing(Service):
        def answer(self, operation: str, body: object) -> dict[str, object]:
            if operation in {"CreateTrainingJob", "DescribeTrainingJob"}:
                raise Refusal("InternalFailure", "try later", 500)
            return super().answer(operation, body)  # type: ignore[arg-type]  # passed on

    here.wire.service = Collapsing(here.clock)
    with pytest.raises(st.errors.CloudError, match="Before you launch it again: sm-trn list plain-"):
        here.session.submit(spec)


def test_a_foreign_job_of_the_same_name_is_not_taken_for_ours(here: World, spec: st.JobSpec) -> None:
    job = here.session.submit(spec)
    request = dict(here.service.jobs[job.name].request)
    assert here.service.jobs[job.name].arn == here.session.backend.create_job(request)
    for change in (
        {"StoppingCondition": {"MaxRuntimeInSeconds": 7200}},
        {"ResourceConfig": {**request["ResourceConfig"], "InstanceCount": 2}},
        {"HyperParameters": {**request["HyperParameters"], "epochs": "9"}},
        {"Environment": {"A": "1"}},
    ):
        with pytest.raises(st.errors.CloudError, match="ResourceInUse"):
            here.session.backend.create_job({**request, **change})


def test_what_was_launched_is_not_lost_when_something_else_was_refused(here: World, spec: st.JobSpec) -> None:
    class Full(Service):
        def answer(self, operation: str, body: object) -> dict[str, object]:
            if operation == "CreateTrainingJob" and len(self.jobs) >= 2:
                raise Refusal("ResourceLimitExceeded", "the account-level service limit is 2 instances")
            return super().answer(operation, body)  # type: ignore[arg-type]  # passed on

    here.wire.service = Full(here.clock)
    with pytest.raises(st.errors.PartialLaunch) as caught:
        here.session.submit_all(many(spec, 4))
    assert set(here.wire.service.jobs) == {job.name for job in caught.value.launched}
    assert 2 == len(caught.value.failed)


@pytest.mark.parametrize("name", [".env", "deploy.pem", "id_rsa", "credentials", ".netrc", "tls.key", ".aws/config"])
def test_a_secret_in_the_source_is_refused_before_anything_is_sent(here: World, spec: st.JobSpec, name: str) -> None:
    secret = Path(str(spec.script.source_dir), name)  # type: ignore[union-attr]  # there is one
    secret.parent.mkdir(exist_ok=True)
    secret.write_text("hunter2")
    with pytest.raises(st.errors.InvalidJob, match="SCRIPT011"):
        here.session.submit(spec)
    assert 0 == sum(here.wire.calls.values())
    here.session.submit(spec, ignore=("SCRIPT011",))
    assert 1 == len(here.service.jobs)


def test_a_secret_that_is_meant_is_named_in_the_ignore_file(here: World, spec: st.JobSpec) -> None:
    folder = Path(str(spec.script.source_dir))  # type: ignore[union-attr]  # there is one
    (folder / "public.key").write_text("no secret")
    (folder / ".sm_trn_ignore").write_text("!/public.key\n")
    here.session.submit(spec)
    assert 1 == len(here.service.jobs)


def test_a_ceiling_over_the_budget_starts_nothing_and_lists_each_job(here: World, spec: st.JobSpec) -> None:
    price = here.session.price("ml.p4d.24xlarge")
    assert price is not None
    both = [spec, spec.replace(name="longer", max_run_s=7200)]
    with pytest.raises(OverBudget) as caught:
        here.session.submit_all(both, max_usd=3 * price.usd_per_hour - 1)
    assert 3 * price.usd_per_hour == caught.value.total
    assert ["plain: at most", "longer: at most"] == [str(line).split(" $")[0] for line in caught.value.problems]
    assert 0 == sum(here.wire.calls.values())
    assert 2 == len(here.session.submit_all(both, max_usd=3 * price.usd_per_hour))


def test_a_price_that_is_not_known_refuses_too_and_says_so(here: World, spec: st.JobSpec) -> None:
    cheap = spec.replace(compute=st.Compute("ml.m4.xlarge"), distribution=None)
    assert here.session.price("ml.m4.xlarge") is None
    with pytest.raises(st.errors.InvalidJob, match=r"no price is known for ml\.m4\.xlarge"):
        here.session.submit(cheap, max_usd=1_000_000)
    assert 0 == sum(here.wire.calls.values())
