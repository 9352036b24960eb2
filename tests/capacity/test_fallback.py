"""One work, several places: never two jobs alive for it, done when any place could do it, and a journal that is exact.

The campaign draws capacity errors, throttles, lost answers, regions that do not answer and kills, on a virtual clock. SM_TRN_ROUNDS=1000
runs as many.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes.simulated_sagemaker import Refusal, Service, SimulatedJob, Story, VirtualClock
from fakes.simulated_wire import Wire, World, world

import sm_trn as st
from sm_trn.capacity.submitting import Journal
from sm_trn.core.session.budget import OverBudget
from sm_trn.wiring import Session

ROUNDS = int(os.environ.get("SM_TRN_ROUNDS", "3"))
NO_CAPACITY = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)
ON = ["ml.g5.12xlarge", "ml.p3.16xlarge"]
WAITS_LONG = Story(phases=(("Starting", 30.0), ("Pending", 500_000.0)))
NO_MACHINES = Story(phases=(("Starting", 60.0),), outcome="Failed", reason=NO_CAPACITY)
SPOT_WAITED = Story(phases=(("Starting", 60.0), ("Interrupted", 100.0)), outcome="Stopped")
BROKEN = Story(phases=(("Starting", 60.0), ("Training", 60.0)), outcome="Failed", reason="AlgorithmError: exit code 1")


class Killed(BaseException):
    """The process ends here."""


class Alone(Service):
    """It has room where a story says so, and remembers whether two jobs of one work were ever alive."""

    def __init__(self, clock: VirtualClock, stories: Mapping[str, list[Story]], refused: set[str]) -> None:
        super().__init__(clock)
        self.stories = stories
        self.refused = refused
        self.together: list[tuple[str, ...]] = []

    def alive(self) -> list[SimulatedJob]:
        return [job for job in self.jobs.values() if job.end > self.clock.now()]

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        instance = body["ResourceConfig"]["InstanceType"]
        if instance in self.refused:
            raise Refusal("ResourceLimitExceeded", f"The account-level service limit '{instance}' is 0 Instances")
        story = self.stories[instance].pop(0) if len(self.stories[instance]) > 1 else self.stories[instance][0]
        self.story_of = lambda _name: story
        before = self.alive()
        answer = super()._create(body)
        if before:
            self.together.append(tuple(job.name for job in [*before, self.jobs[body["TrainingJobName"]]]))
        return answer


@dataclasses.dataclass
class Work:
    """A work on a simulated cloud, with its journal."""

    here: World
    service: Alone
    job: st.JobSpec
    journal: Path
    said: list[str]

    def run(self, **told: Any) -> Any:
        return st.fallback(
            self.job, ON, session=self.here.session, journal=self.journal, tell=self.said.append, **{"max_pending_s": 900.0, **told}
        )  # fmt: skip

    def exact(self) -> None:
        """The journal names every job that was made, once, and nothing else; no two lived at one time."""
        entries = Journal(self.journal)
        made = {str(each["name"]) for each in entries.of("over") if each.get("made")}
        planned = [str(each["name"]) for each in entries.of("planned")]
        assert [] == self.service.together
        assert set(self.service.jobs) == made <= set(planned)
        assert len(planned) == len(set(planned)) == len(entries.of("over"))
        assert {1} >= set(self.service.created.values())


def work(
    patch: pytest.MonkeyPatch,
    folder: Path,
    spec: st.JobSpec,
    stories: Mapping[str, list[Story]],
    refused: set[str] | None = None,
    **faults: Any,
) -> Work:
    """A work whose places have these stories, one after the other; the last of each stays."""
    folder.mkdir(exist_ok=True)
    here = world(patch, folder, **faults)
    service = Alone(here.clock, stories, refused or set())
    here.service = here.wire.service = service
    return Work(here, service, spec, folder / "journal.jsonl", [])


@pytest.fixture
def spec(spec: st.JobSpec) -> st.JobSpec:
    return spec.replace(checkpoint=st.Checkpoint(s3_uri="s3://a-bucket/checkpoints"))


def test_the_first_place_with_room_does_the_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec
) -> None:
    stories = {"ml.p4d.24xlarge": [NO_MACHINES], "ml.g5.12xlarge": [WAITS_LONG], "ml.p3.16xlarge": [Story()]}
    one = work(monkeypatch, tmp_path / "w", spec, stories)
    done = one.run()
    assert "ml.p3.16xlarge" == done.place.job.compute.instance
    assert ["CapacityError", "Stopped"] == [each.reason.split(":")[0] for each in done.tried]
    one.exact()
    assert any("stopping it" in line for line in one.said)
    assert done.usd is not None
    assert f"{done.usd:.2f}"[:-1] in "".join(one.said)  # what it has cost is told
    assert done.job.name == one.run().job.name  # it is done: nothing is launched again
    one.exact()
    requests = [job.request for job in one.service.jobs.values()]
    assert {"s3://a-bucket/checkpoints"} == {each["CheckpointConfig"]["S3Uri"] for each in requests}


def test_a_refused_place_costs_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec) -> None:
    one = work(monkeypatch, tmp_path / "w", spec, {"ml.g5.12xlarge": [Story()]}, {"ml.p4d.24xlarge"})
    done = one.run()
    assert ("", True) == (done.tried[0].name, "is 0 Instances" in done.tried[0].reason)
    one.exact()


def test_a_failure_of_the_jobs_own_is_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec
) -> None:
    one = work(monkeypatch, tmp_path / "w", spec, {"ml.p4d.24xlarge": [BROKEN]})
    with pytest.raises(st.errors.JobFailed, match=r"AlgorithmError: exit code 1. Another place would not help"):
        one.run()
    one.exact()


def test_a_spot_job_that_waited_too_long_goes_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec
) -> None:
    class Spot(Alone):
        def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
            answer = super().answer(operation, body)
            if operation == "DescribeTrainingJob" and answer["TrainingJobStatus"] == "Stopped":
                answer["SecondaryStatus"] = "MaxWaitTimeExceeded"
            return answer

    one = work(monkeypatch, tmp_path / "w", spec, {})
    one.service = Spot(one.here.clock, {"ml.p4d.24xlarge": [SPOT_WAITED], "ml.g5.12xlarge": [Story()]}, set())
    one.here.wire.service = one.service
    assert "MaxWaitTimeExceeded" == one.run().tried[0].reason
    one.exact()


def test_what_may_cost_too_much_is_not_launched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec
) -> None:
    one = work(monkeypatch, tmp_path / "w", spec, {"ml.p4d.24xlarge": [Story()]})
    with pytest.raises(OverBudget):
        one.run(max_usd=1.0)
    assert {} == dict(one.service.jobs)


def test_no_room_anywhere_ends_after_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec) -> None:
    one = work(monkeypatch, tmp_path / "w", spec, {}, {"ml.p4d.24xlarge", *ON})
    with pytest.raises(st.errors.CloudError, match="no place had room in"):
        one.run(give_up_s=3600.0)
    assert 3000 < one.here.clock.now() - 1_800_000_000 < 4200


def test_a_place_that_the_team_does_not_allow_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec
) -> None:
    policy = tmp_path / "sm_trn.toml"
    policy.write_text('types = ["ml.p4d.*", "ml.g5.*"]\n')
    monkeypatch.setenv("SM_TRN_POLICY", str(policy))
    one = work(monkeypatch, tmp_path / "w", spec, {"ml.p4d.24xlarge": [Story()]})
    with pytest.raises(st.errors.InvalidJob, match="POLICY002"):  # the last of its places is a p3
        one.run()
    assert {} == one.service.jobs


def test_alternatives_are_checked_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec
) -> None:
    one = work(monkeypatch, tmp_path / "w", spec, {"ml.p4d.24xlarge": [Story()]})
    say: dict[str, Any] = {"session": one.here.session, "journal": one.journal, "tell": one.said.append}
    wrong = spec.replace(compute=st.Compute("ml.trn1.32xlarge"), distribution=st.SMDataParallel())
    with pytest.raises(st.errors.InvalidJob, match=r"trn1"):
        st.fallback(spec, [wrong], **say)
    with pytest.raises(st.SmTrnError, match="wanted s3://a-bucket/checkpoints, as"):
        st.fallback(spec, [spec.replace(checkpoint=st.Checkpoint(s3_uri="s3://other/k"))], **say)
    with pytest.raises(st.SmTrnError, match="without a session of eu-west-1"):
        st.fallback(spec, ["eu-west-1:ml.p4d.24xlarge"], **say)
    assert {} == dict(one.service.jobs)
    one.run()
    one.journal.write_text(one.journal.read_text().replace('"event": "done"', '"event": "other"'))
    with pytest.raises(st.SmTrnError, match="give the same places in the same order"):
        st.fallback(spec, ON[:1], **say)


@pytest.mark.timeout(300 + ROUNDS)
def test_a_work_is_done_once_whatever_happens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec
) -> None:
    kills = done = 0
    for seed in range(ROUNDS):
        dice = random.Random(seed)
        bad = [NO_MACHINES, NO_MACHINES, WAITS_LONG]
        stories = {
            name: [*dice.choices(bad, k=dice.randint(0, 3)), dice.choice([Story(), *bad])]
            for name in ("ml.p4d.24xlarge", *ON)
        }
        stories[dice.choice(list(stories))][-1] = Story()  # any place could do it, at least in the end
        refused = {name for name in stories if stories[name][-1] is not Story() and dice.random() < 0.2} - {
            name for name in stories if stories[name][-1] == Story()
        }
        faults = {
            "throttled": dice.choice([0.0, 0.1]),
            "broken": dice.choice([0.0, 0.1]),
            "reset": dice.choice([0.0, 0.1]),
        }
        one = work(monkeypatch, tmp_path / str(seed), spec, stories, refused, seed=seed, **faults)
        _lose_the_region(one.here.wire, one.here.clock, dice)
        for _ in range(40):
            at = dice.randint(1, 60) if dice.random() < 0.7 else 0
            if at:
                one.here.wire.interrupt(at, _die, after=dice.random() < 0.5)
            try:
                found = one.run()
            except Killed:
                kills += 1
                with one.journal.open("ab") as file:
                    file.write(b'{"event": "pl')
                continue
            finally:
                one.here.wire.meddle = None
            done += 1
            assert found.job.name in one.service.jobs
            break
        else:
            raise AssertionError(f"{seed}: it was killed 40 times")
        one.exact()
        assert "done" == json.loads(one.journal.read_text().splitlines()[-1])["event"]
    print(f"\n{done} works done, {kills} kills")
    assert ROUNDS == done


def _die() -> None:
    raise Killed


def _lose_the_region(wire: Wire, clock: VirtualClock, dice: random.Random) -> None:
    """For some minutes the region does not answer."""
    start = clock.now() + dice.uniform(0, 3000)
    clock.at(start, lambda: setattr(wire, "down", True))
    clock.at(start + dice.uniform(60, 1200), lambda: setattr(wire, "down", False))


def test_the_session_of_another_region_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: st.JobSpec
) -> None:
    one = work(monkeypatch, tmp_path / "w", spec, {}, {"ml.p4d.24xlarge"})
    there = work(monkeypatch, tmp_path / "there", spec, {"ml.p4d.24xlarge": [Story()]})
    elsewhere: Session = dataclasses.replace(there.here.session, region="us-east-1")
    say: dict[str, Any] = {"session": one.here.session, "journal": one.journal, "tell": one.said.append}
    done = st.fallback(spec, ["us-east-1:ml.p4d.24xlarge"], regions={"us-east-1": elsewhere}, **say)
    assert ("us-east-1", {done.job.name}) == (done.place.session.region, set(there.service.jobs))
