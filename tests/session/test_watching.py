"""Watching on a virtual clock: few calls, an end that is seen soon, and nothing that the network does ends it."""

from __future__ import annotations

import io
import random
from itertools import pairwise

import pytest
from fakes.recorder import Recorder
from fakes.simulated_sagemaker import Refusal, Service, SimulatedJob, Story
from fakes.simulated_wire import World, attached

import sm_trn as st
from sm_trn.core.session.waits import Wait, poller_for
from sm_trn.core.specs import JobSnapshot
from sm_trn.report.watch.progress import progress_of

# logs_for_job(wait=True) of SageMaker SDK 2.257.7: tests/benchmarks/bench_live.py measures it. With a log from the start, 331.
SDK_CALLS, SDK_CALLS_AT_ONCE = 267, 331
LINES = {
    host: tuple((141 + 2.0 * n, str({"loss": 1.0, "step": n})) for n in range(220)) for host in ("algo-1", "algo-2")
}


def wait(here: World, *names: str) -> tuple[list[JobSnapshot], Recorder]:
    shown = Recorder()
    jobs = tuple(attached(here.session, name) for name in names)
    return Wait(session=here.session, jobs=jobs, observers=(progress_of(here.session, jobs, shown),)).run(), shown


def looks(here: World, *names: str) -> list[tuple[float, dict[str, JobSnapshot]]]:
    """When each look was over, and what was known then."""
    jobs = tuple(attached(here.session, name) for name in names)
    return [(here.clock.now(), known) for known in poller_for(here.session, jobs, print).sweeps(names)]


@pytest.mark.parametrize("seed", range(5))
def test_a_ten_minute_job_of_two_hosts_needs_a_quarter_of_the_sdks_calls(here: World, seed: int) -> None:
    job = here.service.add("ten-minutes", created=here.clock.now() - seed, story=Story(lines=LINES))
    _, shown = wait(here, "ten-minutes")
    assert 220 == sum(point.name == "loss" for point in shown.rows["ten-minutes"].points)
    assert sum(here.wire.calls.values()) <= SDK_CALLS / 4
    assert here.clock.now() - job.end <= 10 + 1  # and the last lines read


def test_its_end_is_seen_within_ten_seconds_and_every_phase_is_seen(here: World) -> None:
    job = here.service.add("ten-minutes", created=here.clock.now())
    seen = looks(here, "ten-minutes")
    assert 0 <= seen[-1][0] - job.end <= 10
    assert ["Starting", "Downloading", "Training", "Uploading", "Completed"] == list(
        dict.fromkeys(known["ten-minutes"].secondary for _, known in seen)
    )


def test_interruptions_and_phases_of_a_fleet_are_those_of_its_describes(here: World) -> None:
    phases = (("Starting", 60.0), ("Training", 200.0), ("Interrupted", 60.0), ("Starting", 60.0), ("Training", 100.0))
    for n in range(4):
        here.service.add(f"spot-{n}", created=here.clock.now(), story=Story(phases=phases))
    final, _ = wait(here, *(f"spot-{n}" for n in range(4)))
    assert [1] * 4 == [snapshot.interruptions for snapshot in final]
    assert {6} == {len(snapshot.transitions) for snapshot in final}


def test_others_jobs_cost_pages_only_while_that_pays(here: World) -> None:
    now = here.clock.now()
    for n in range(5):
        here.service.add(f"{n}-mine", created=now - 50_000, story=Story(phases=(("Training", 50_100.0),)))
    for n in range(2000):
        here.service.add(f"others-{n}", created=now - 10_000 + n, story=Story(phases=(("Training", 90_000.0),)))
    looks(here, *(f"{n}-mine" for n in range(5)))
    assert here.wire.calls["ListTrainingJobs"] <= 20
    assert here.wire.calls["DescribeTrainingJob"] <= 10


def test_a_list_that_lags_behind_never_turns_a_job_back(here: World) -> None:
    here.service.list_lag_s = 70.0
    names = [f"late-{n:02d}" for n in range(25)]
    for name in names:
        here.service.add(name, created=here.clock.now() - 80)
    order = ["Starting", "Downloading", "Training", "Uploading", "Completed"]
    seen = looks(here, *names)
    for name in names:
        phases = [known[name].secondary for _, known in seen if name in known]
        assert phases == sorted(phases, key=order.index)
        assert "Completed" == phases[-1]


def test_an_end_that_a_list_tells_after_newer_ones_is_not_missed(here: World) -> None:
    now = here.clock.now()
    here.service.late["some-late"] = 45.0
    slow = here.service.add("some-late", created=now - 100)
    for n in range(60):  # something changes every ten seconds
        here.service.add(
            f"some-{n}", created=now - 60, story=Story(phases=(("Starting", 70.0 + 10 * n), ("Training", 900.0)))
        )
    seen = looks(here, "some-late", *(f"some-{n}" for n in range(60)))
    noticed = next(time for time, known in seen if "some-late" in known and known["some-late"].terminal)
    assert noticed - slow.end <= 45 + 20


def test_ends_of_hundreds_at_once_cost_one_list_and_a_describe_each(here: World) -> None:
    """While they are described, which takes longer than the pause between two looks, nothing is listed again."""
    names = [f"job-{number:03}" for number in range(500)]
    for name in names:
        here.service.add(name, created=here.clock.now() - 10_000, story=Story())
    here.session.wait([here.session.attach(name) for name in names], progress=False)
    assert 500 + 500 == here.wire.calls["DescribeTrainingJob"]  # to attach to them, and to know their end
    assert 5 == here.wire.calls["ListTrainingJobs"]  # pages of a hundred


def test_an_expired_login_is_said_once_and_the_watch_goes_on_after_renewal(here: World) -> None:
    start = here.clock.now()
    here.service.add("long", created=start, story=Story(phases=(("Training", 3000.0),)))
    here.clock.at(start + 300, lambda: here.wire.expired.add("FIRST"))
    here.clock.at(start + 1200, lambda: here.log_in("SECOND"))
    final, shown = wait(here, "long")
    assert "Completed" == final[0].status_word
    assert [True, False] == ["login expired" in note for note in shown.notes]
    assert "Connected again" in shown.notes[1]
    assert here.wire.faults["expired"] <= 900 / 20  # looked seldom meanwhile


def test_after_a_renewed_login_the_service_is_asked_again_at_once(here: World) -> None:
    here.service.add("long", created=here.clock.now(), story=Story(phases=(("Training", 900.0),)))
    renewed = here.clock.now() + 300

    def log_in_again() -> None:
        here.log_in("SECOND")
        here.wire.expired.add("FIRST")

    here.clock.at(renewed, log_in_again)
    times = [time for time, _ in looks(here, "long")]
    after = [time for time in times if time >= renewed][:2]
    assert after[1] - after[0] < 1  # elsewhere looks are 10 s apart and more


def test_a_login_that_somebody_else_renewed_in_time_is_not_even_mentioned(here: World) -> None:
    start = here.clock.now()
    here.service.add("long", created=start, story=Story(phases=(("Training", 600.0),)))
    here.clock.at(start + 300, lambda: (here.log_in("SECOND"), here.wire.expired.add("FIRST")))  # type: ignore[arg-type,func-returns-value]  # by name
    final, shown = wait(here, "long")
    assert ("Completed", []) == (final[0].status_word, shown.notes)


def test_an_outage_is_survived_and_said_once(here: World) -> None:
    start = here.clock.now()
    here.service.add("long", created=start, story=Story(phases=(("Training", 3000.0),)))
    here.clock.at(start + 300, lambda: setattr(here.wire, "down", True))
    here.clock.at(start + 2400, lambda: setattr(here.wire, "down", False))
    final, shown = wait(here, "long")
    assert "Completed" == final[0].status_word
    assert ["AWS does not answer", "Connected again"] == [note[:19].removesuffix("; th") for note in shown.notes]


def test_an_end_during_laptop_sleep_is_seen_at_waking(here: World) -> None:
    start = here.clock.now()
    here.service.add("nap", created=start)
    here.clock.at(start + 300, lambda: here.clock.sleep(8 * 3600))
    seen = looks(here, "nap")
    assert "Completed" == seen[-1][1]["nap"].status_word
    assert seen[-1][0] - start < 8 * 3600 + 400


@pytest.mark.parametrize("asleep", [True, False])
def test_a_clock_that_is_set_back_delays_no_look(here: World, asleep: bool) -> None:
    start = here.clock.now()
    here.service.add("back", created=start - 3600, story=Story(phases=(("Training", 7200.0),)))

    def set_back() -> None:
        here.clock._now = start - 1800

    if asleep:
        here.clock.at(start + 300, set_back)
    times, calls = [], []
    for look, _ in enumerate(poller_for(here.session, (attached(here.session, "back"),), print).sweeps(["back"])):
        if look == 10 and not asleep:
            set_back()
        times.append(here.clock.now())
        calls.append(here.wire.calls["DescribeTrainingJob"])
    assert min(times) < start
    assert all(later - earlier <= 31 for earlier, later in pairwise(times))
    assert all(later > earlier for earlier, later in pairwise(calls))


@pytest.mark.parametrize("skew_s", [-280.0, 280.0])
def test_a_clock_that_is_wrong_by_minutes_is_set_right_by_the_services_date(here: World, skew_s: float) -> None:
    here.wire.skew_s = skew_s
    here.service.add("skewed", created=here.clock.now())
    poller = poller_for(here.session, (attached(here.session, "skewed"),), print)
    for _ in poller.sweeps(["skewed"]):
        assert abs(poller.service_now().timestamp() - here.clock.now() - skew_s) < 2


def test_a_job_that_is_deleted_meanwhile_is_given_back_as_deleted(here: World) -> None:
    for name in ("kept", "gone"):
        here.service.add(name, created=here.clock.now())
    here.clock.at(here.clock.now() + 300, lambda: here.service.jobs.pop("gone"))  # type: ignore[arg-type]  # by name
    final, shown = wait(here, "gone", "kept")
    assert ["Deleted", "Completed"] == [snapshot.status_word for snapshot in final]
    assert [False, True] == [snapshot.terminal for snapshot in final]
    assert ["gone was deleted; it was last seen InProgress."] == shown.notes


def forgetful(here: World, share: float, seed: int) -> None:
    """So many of the describes do not know the job, however old it is."""
    chance = random.Random(seed)
    here.service.unaware = lambda _job: chance.random() < share


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("others", [0, 3])
def test_an_answer_that_does_not_know_an_old_job_deletes_nothing(here: World, seed: int, others: int) -> None:
    names = ["old", *(f"old-{n}" for n in range(others))]
    for name in names:
        here.service.add(name, created=here.clock.now() - 3600, story=Story(phases=(("Training", 7200.0),)))
    forgetful(here, 0.05, seed)
    final, shown = wait(here, *names)
    assert {"Completed"} == {snapshot.status_word for snapshot in final}
    assert [] == shown.notes


def test_a_job_that_no_describe_knows_but_the_list_does_is_not_deleted(here: World) -> None:
    job = here.service.add("listed", created=here.clock.now() - 3600, story=Story(phases=(("Training", 7200.0),)))
    start = here.clock.now()
    here.service.unaware = lambda _job: start + 60 < here.clock.now() < start + 1200
    final, _ = wait(here, "listed")
    assert "Completed" == final[0].status_word
    assert here.clock.now() >= job.end


def test_a_follower_reads_on_when_an_answer_does_not_know_the_job(here: World) -> None:
    here.service.add("old", created=here.clock.now() - 130, story=Story(lines=LINES))
    forgetful(here, 0.2, 1)
    lines = [event.text for event in attached(here.session, "old").logs(follow=True)]
    assert sum(map(len, LINES.values())) == len(lines)


@pytest.mark.parametrize(("count", "later_s"), [(1, 0), (3, 0), (30, 0), (1, 600), (3, 600)])
def test_a_login_to_another_account_deletes_nothing_and_is_told_with_both_accounts(
    here: World, count: int, later_s: int
) -> None:
    start, names = here.clock.now(), [f"mine-{n}" for n in range(count)]
    for name in names:
        here.service.add(name, created=start - 600, story=Story(phases=(("Training", 5000.0),)))
    here.wire.elsewhere["THEIRS"] = "999999999999"

    here.clock.at(start + 300, lambda: here.wire.expired.add("FIRST"))
    here.clock.at(start + 300 + later_s, lambda: here.log_in("THEIRS"))
    here.clock.at(start + 1500, lambda: here.log_in("SECOND"))
    final, shown = wait(here, *names)
    assert {"Completed"} == {snapshot.status_word for snapshot in final}
    expired = ["Your AWS login expired"] * (later_s > 0)
    assert [*expired, "Your AWS login is of ac", "Connected again; the wa"] == [
        note[:23].rstrip(".") for note in shown.notes
    ]
    assert "account 999999999999, and mine-" in shown.notes[-2]
    assert "account 123456789012" in shown.notes[-2]


def test_another_accounts_job_of_the_same_name_is_not_taken_for_ours(here: World) -> None:
    job = here.service.add("twin", created=here.clock.now() - 600)
    handle = attached(here.session, "twin")
    handle.snapshot()
    here.service.jobs["twin"] = Foreign("twin", job.created, job.story, job.request)
    with pytest.raises(
        st.errors.CloudError, match="of account 999999999999, and twin is a job of account 123456789012"
    ):
        handle.snapshot()


class Foreign(SimulatedJob):
    @property
    def arn(self) -> str:
        return f"arn:aws:sagemaker:us-west-2:999999999999:training-job/{self.name}"


@pytest.mark.parametrize("others", [0, 5])
def test_a_job_that_never_was_is_a_clear_error(here: World, others: int) -> None:
    names = [f"real-{n}" for n in range(others)]
    for name in names:
        here.service.add(name, created=here.clock.now())
    with pytest.raises(st.errors.CloudError, match="DescribeTrainingJob of 'no-such-job'"):
        looks(here, "no-such-job", *names)


class Forbidding(Service):
    """An account whose identity may not look at jobs."""

    def answer(self, operation: str, body: object) -> dict[str, object]:
        raise Refusal("AccessDeniedException", f"not authorized to perform sagemaker:{operation} on {body}")


def test_a_missing_permission_ends_the_watch_and_is_named(here: World) -> None:
    here.wire.service = Forbidding(here.clock)
    with pytest.raises(st.errors.CloudError, match="lacks this permission"):
        looks(here, "any")


def test_ctrl_c_leaves_the_jobs_running_and_says_how_to_return(here: World) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    here.service.add("mine", created=here.clock.now(), story=Story(phases=(("Training", 3000.0),)))
    here.clock.at(here.clock.now() + 300, interrupt)
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        here.session.wait([attached(here.session, "mine")], stream=out)
    assert "mine goes on and is billed; come back with sm-trn watch mine, stop with sm-trn stop mine" in out.getvalue()
    assert here.service.jobs["mine"].stopped is None


def test_ctrl_c_over_many_jobs_does_not_fill_the_screen_with_names(here: World) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    names = [f"sweep-{number}" for number in range(50)]
    for name in names:
        here.service.add(name, created=here.clock.now(), story=Story(phases=(("Training", 3000.0),)))
    here.clock.at(here.clock.now() + 300, interrupt)
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        here.session.wait([attached(here.session, name) for name in names], stream=out)
    (parting,) = [line for line in out.getvalue().splitlines() if "Stopped watching" in line]
    assert "50 jobs go on and are billed; come back with sm-trn watch" in parting
    assert len(parting) < 160


def test_the_age_of_the_newest_checkpoint_is_shown(here: World) -> None:
    job = here.service.add("saves", created=here.clock.now())
    job.request = {**job.request, "CheckpointConfig": {"S3Uri": "s3://a-bucket/checkpoints/saves"}}
    here.service.objects["checkpoints/saves/step-1"] = b"1"
    _, shown = wait(here, "saves")
    found = shown.rows["saves"].checkpoints
    assert found is not None
    assert 1 == found.count


def test_a_log_that_may_not_be_read_does_not_end_the_watch(here: World) -> None:
    class Silent(Service):
        def answer(self, operation: str, body: object) -> dict[str, object]:
            if operation == "DescribeLogStreams":
                raise Refusal("AccessDeniedException", "no")
            return super().answer(operation, body)  # type: ignore[arg-type]  # passed on

    here.wire.service = Silent(here.clock)
    here.wire.service.add("quiet", created=here.clock.now(), story=Story(lines=LINES))
    final, shown = wait(here, "quiet")
    assert "Completed" == final[0].status_word
    assert ["The log of quiet cannot be read (AccessDeniedException); the watch goes on without it."] == shown.notes


def test_a_failure_reason_moves_no_cursor(here: World) -> None:
    story = Story(
        phases=(("Training", 100.0),), outcome="Failed", reason="Error\x1b[2J\x1b]0;title\x07 \x9b31mred\u202e end"
    )
    here.service.add("odd", created=here.clock.now(), story=story)
    with pytest.raises(st.errors.JobFailed) as caught:
        attached(here.session, "odd").wait(progress=False)
    assert ["odd failed: Error 31mred end", "Next: sm-trn why odd"] == str(caught.value).splitlines()


@pytest.mark.parametrize("late_s", [3.0, 45.0])
def test_the_numbers_of_a_host_that_speaks_after_the_end_are_shown(here: World, late_s: float) -> None:
    story = Story(
        phases=(("Downloading", 1.0), ("Training", 20.0)),
        lines={"algo-1": ((1.0, str({"loss": 1.0})),), "algo-2": ((1.0, str({"loss": 2.0})),)},
    )
    job = here.service.add("brief", created=here.clock.now(), story=story)
    whole = job.story.lines
    first = Story(phases=story.phases, lines={"algo-1": whole["algo-1"]})
    job.story = first
    here.clock.at(job.end + late_s, lambda: setattr(job, "story", story))
    _, shown = wait(here, "brief")
    assert [1.0, 2.0] == sorted(point.value for point in shown.rows["brief"].points)


def test_what_no_job_can_be_called_is_not_asked_for(here: World) -> None:
    with pytest.raises(
        st.errors.UnknownName, match=r"got 'job\.toml', wanted the name or the ARN of a job.*sm-trn check"
    ):
        here.session.attach("job.toml")


def test_the_line_of_a_failed_job_tells_its_exception_and_not_the_services_cut_text(here: World) -> None:
    lines = ["Traceback (most recent call last):", "    main()", "ValueError: no column 'label'"]
    here.service.add("cut", created=here.clock.now() - 60, story=Story(
        phases=(("Training", 100.0),), outcome="Failed", reason='AlgorithmError: ErrorMessage "raise Val" Command "python"',
        lines={"algo-1": tuple((50.0 + number, line) for number, line in enumerate(lines))},
    ))  # fmt: skip
    shown = io.StringIO()
    with pytest.raises(st.errors.JobFailed):
        here.session.attach("cut").wait(stream=shown)
    (ended,) = [line for line in shown.getvalue().splitlines() if " failed" in line]
    assert "cut failed: ValueError: no column 'label'" in ended
