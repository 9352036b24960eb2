"""A guard learns a job's rhythm, finds what is wrong, and leaves healthy jobs alone."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.logs import LogEvent, parse_log
from sm_trn.core.logs.losses import loss_of
from sm_trn.core.specs import MetricPoint, parse_snapshot
from sm_trn.diagnosis.guard.signs import Sign, sign_of
from sm_trn.diagnosis.guard.watch import Alarm, JobWatch, State

CORPUS = Path(os.environ.get("SM_TRN_CORPUS", Path(__file__).resolve().parents[3] / "shared" / "corpus"))
LOGS = sorted((CORPUS / "logs").glob("*.txt")) if CORPUS.is_dir() else []
BEGAN = 1_700_000_000.0


def job(secondary: str = "Training", instance: str = "ml.p4d.24xlarge") -> st.results.JobSnapshot:
    answer = {
        "TrainingJobName": "bert",
        "TrainingJobStatus": "InProgress",
        "SecondaryStatus": secondary,
        "ResourceConfig": {"InstanceType": instance, "InstanceCount": 1},
        "SecondaryStatusTransitions": [{"Status": secondary, "StartTime": BEGAN, "StatusMessage": ""}],
    }
    return parse_snapshot(answer)


def steps(count: int, every: float = 20.0, loss: str = "0.5", begin: float = BEGAN) -> list[LogEvent]:
    return [
        LogEvent(begin + each * every, "algo-1", f"{{'loss': {loss}, 'epoch': {each}}}") for each in range(1, count + 1)
    ]


def watched(events: Sequence[LogEvent], guard: st.Guard | None = None) -> JobWatch:
    watch = JobWatch(guard or st.Guard())
    watch.hear(events)
    return watch


def test_a_job_that_falls_silent_stalls_after_its_limit_and_not_before() -> None:
    watch, last = watched(steps(20), st.Guard(stall_s=300)), BEGAN + 400
    assert () == watch.alarms(job(), last + 300)
    (alarm,) = watch.alarms(job(), last + 301)
    assert ("stall_s", State.HANGING, last, False) == (alarm.limit, alarm.state, alarm.since_s, alarm.sure)


def test_a_job_with_long_steps_is_given_five_of_its_own() -> None:
    watch, last = watched(steps(10, every=400), st.Guard(stall_s=300)), BEGAN + 4000
    assert () == watch.alarms(job(), last + 1999)
    assert watch.alarms(job(), last + 2001)


def test_a_job_that_hangs_after_its_first_steps_is_found_too() -> None:
    watch, last = watched(steps(3)), BEGAN + 60
    assert () == watch.alarms(job(), last + 3_600)
    (alarm,) = watch.alarms(job(), last + 3_601)
    assert ("no_first_step_s", last, False) == (alarm.limit, alarm.since_s, alarm.sure)


@pytest.mark.parametrize(
    "said", ["Saving model checkpoint to /opt/ml/model", "***** Running Evaluation *****", "...Compiler status PASS"]
)
def test_a_pause_with_a_reason_is_no_stall(said: str) -> None:
    last = BEGAN + 400
    watch = watched([*steps(20), LogEvent(last + 1, "algo-1", said)], st.Guard(stall_s=60))
    assert () == watch.alarms(job(), last + 1700)
    assert watch.alarms(job(), last + 3700)


def test_the_usual_length_of_a_pause_is_learned() -> None:
    watch, at = JobWatch(st.Guard(stall_s=60)), BEGAN
    for _ in range(3):
        watch.hear(steps(20, every=1, begin=at))
        watch.hear([LogEvent(at + 21, "algo-1", "Saving model checkpoint to /opt/ml/checkpoints")])
        assert () == watch.alarms(job(), at + 21 + 60)
        at += 40
    assert watch.alarms(job(), at - 19 + 3 * 40)


@pytest.mark.parametrize("phase", ["Starting", "Pending", "Downloading", "Uploading", "Stopping", "Restarting"])
def test_nothing_stalls_outside_training(phase: str) -> None:
    assert () == watched(steps(20)).alarms(job(phase), BEGAN + 100_000)


def test_before_the_rhythm_is_known_only_the_first_step_counts() -> None:
    assert () == watched(steps(3)).alarms(job(), BEGAN + 3_000)
    assert "no_first_step_s" == watched([]).alarms(job(), BEGAN + 3_601)[0].limit
    assert () == watched([]).alarms(job(instance="ml.trn1.32xlarge"), BEGAN + 7_199)
    assert watched([]).alarms(job(instance="ml.trn1.32xlarge"), BEGAN + 7_201)


def test_silence_is_acted_on_only_with_a_second_sign() -> None:
    watch, now = watched(steps(20), st.Guard(stall_s=600)), BEGAN + 2_000
    busy = [MetricPoint("GPUUtilization", 790.0, time_s=now - 60 * each, host="algo-1") for each in range(10)]
    low = [dataclasses.replace(each, value=2.0) for each in busy]
    assert not watch.alarms(job(), now, utilization=busy)[0].sure
    assert watch.alarms(job(), now, utilization=low)[0].sure
    assert not watch.alarms(job(), now, utilization=low[:3])[0].sure
    assert watched(steps(20), st.Guard(stall_s=600, silence_suffices=True)).alarms(job(), now)[0].sure


def test_two_wrong_losses_in_a_row_are_a_fault_and_one_is_not() -> None:
    one = watched([*steps(9), *steps(1, loss="nan", begin=BEGAN + 500), *steps(1, begin=BEGAN + 600)])
    two = watched([*steps(9), *steps(2, loss="nan", begin=BEGAN + 500)])
    assert () == one.alarms(job(), BEGAN + 700)
    (alarm,) = two.alarms(job(), BEGAN + 700)
    assert ("not_finite", State.FAULTED, True) == (alarm.limit, alarm.state, alarm.sure)
    assert State.FAULTED is two.state(job(), [alarm])


@pytest.mark.parametrize("line", ["{'grad_norm': nan, 'epoch': 1}", "{'eval_loss': nan}", "{'train_loss': nan}"])
def test_other_numbers_may_be_nan(line: str) -> None:
    events = [LogEvent(BEGAN + each, "algo-1", line) for each in range(5)]
    assert () == watched([*steps(9), *events]).alarms(job(), BEGAN + 300)


def test_the_search_of_a_loss_scaler_is_no_fault() -> None:
    skipped = LogEvent(
        BEGAN + 200, "algo-1", "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768"
    )
    assert () == watched([skipped, *steps(5, loss="inf", begin=BEGAN + 200)]).alarms(job(), BEGAN + 400)


def test_a_loss_above_its_limit_and_a_job_that_slows_down_are_found() -> None:
    assert "loss_above" == watched(steps(5, loss="9.0"), st.Guard(loss_above=8.0)).alarms(job(), BEGAN + 101)[0].limit
    slow = [*steps(40), *steps(25, every=60, begin=BEGAN + 800)]
    (alarm,) = watched(slow, st.Guard(slower_than=0.5)).alarms(job(), BEGAN + 2_301)
    assert ("slower_than", State.SLOW, False) == (alarm.limit, alarm.state, alarm.sure)
    assert () == watched(steps(65), st.Guard(slower_than=0.5)).alarms(job(), BEGAN + 1_301)
    hiccup = [*steps(60), *steps(5, begin=BEGAN + 1_800)]
    assert () == watched(hiccup, st.Guard(slower_than=0.5)).alarms(job(), BEGAN + 1_901)


def test_own_patterns_are_heard() -> None:
    guard = st.Guard(log_pattern=r"err=([0-9.naif]+)", stop_pattern="finished", stall_s=60)
    lines = [LogEvent(BEGAN + 10 * each, "algo-1", "err=nan") for each in range(6)]
    assert "not_finite" == watched(lines, guard).alarms(job(), BEGAN + 61)[0].limit
    assert () == watched([*lines, LogEvent(BEGAN + 70, "algo-1", "finished")], guard).alarms(job(), BEGAN + 9_999)


def test_an_expression_that_would_not_end_matches_nothing() -> None:
    watch = watched([LogEvent(BEGAN, "algo-1", "a" * 2_000)], st.Guard(log_pattern=r"(a+)+$b"))
    assert 0 == watch.rhythm.steps


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("{'loss': 0.3, 'epoch': 1.0}", Sign.STEP),
        (" 12%|█▏        | 12/100 [00:10<01:20,  1.10it/s]", Sign.STEP),
        ("[10]#011train-rmse:0.4", Sign.STEP),
        ("Epoch 3: 10%", Sign.STEP),
        ("Saving model checkpoint to /opt/ml/checkpoints/5", Sign.SAVE),
        ("INFO ||NEURON_CC_WRAPPER||: Call compiler", Sign.COMPILE),
        ("***** Running Evaluation *****", Sign.EVALUATE),
        ("Downloading shards", Sign.DOWNLOAD),
        ("hello", Sign.LINE),
    ],
)
def test_a_line_has_its_sign(line: str, sign: Sign) -> None:
    assert sign is sign_of(line)


@given(some.floats(min_value=1e-6, max_value=1e6))
def test_a_loss_is_read_as_it_was_written(value: float) -> None:
    assert value == loss_of(f"{{'loss': {value!r}, 'epoch': 1}}")


@given(some.floats(0.1, 500), some.integers(6, 60), some.floats(0.5, 2.0))
def test_a_steady_job_never_stalls(every: float, count: int, jitter: float) -> None:
    at, watch = BEGAN, JobWatch(st.Guard(stall_s=1))
    for each in range(count):
        at += every * (jitter if each % 2 else 1.0)
        watch.hear([LogEvent(at, "algo-1", f"{{'loss': 0.5, 'epoch': {each}}}")])
        assert () == watch.alarms(job(), at)
    assert () == watch.alarms(job(), at + every)


def test_a_guard_refuses_nonsense() -> None:
    for wrong in ({"stall_s": -1}, {"slower_than": 2.0}, {"act": "explode"}, {"log_pattern": "("}):
        with pytest.raises(ValueError, match="guard"):
            st.Guard(**wrong)


_STAMP = re.compile(r"(20\d\d)-(\d\d)-(\d\d)[T :](\d\d):(\d\d):(\d\d)")
_BAR = re.compile(r"\d/\d+ \[(?:(\d+):)?(\d\d):(\d\d)<")


def in_their_own_time(path: Path) -> Iterator[LogEvent]:
    """The lines of a saved log with the times that stand in them: stamps, and the clocks of progress bars."""
    now, bar = math.nan, 0.0
    for line in parse_log(path.read_bytes()).text.split("\n"):
        for piece in re.split(r"#015|\r", line):
            stamp, drawn = _STAMP.search(piece), _BAR.search(piece)
            if stamp:
                try:
                    told = (
                        datetime.strptime(" ".join(stamp.groups()), "%Y %m %d %H %M %S")
                        .replace(tzinfo=timezone.utc)
                        .timestamp()
                    )
                except ValueError:
                    continue
                now, bar = (told if math.isnan(now) else max(now, told) if told - now < 20_000 else now), 0.0
            elif drawn:
                clock = int(drawn[1] or 0) * 3600 + int(drawn[2]) * 60 + int(drawn[3])
                now += clock - bar if clock > bar else 0.0
                bar = float(clock)
            yield LogEvent(now, "algo-1", piece)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_no_healthy_log_raises_an_alarm_in_its_own_time(path: Path) -> None:
    watch, last = JobWatch(st.Guard()), math.nan
    found: list[Alarm] = []
    for event in in_their_own_time(path):
        if not math.isnan(event.time_s):
            if event.time_s - last > 30:
                found += watch.alarms(dataclasses.replace(job(), transitions=()), event.time_s - 1)
            last = event.time_s
        watch.hear([event])
    assert [] == found
