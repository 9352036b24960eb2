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
from sm_trn.core.status import Verdict
from sm_trn.diagnosis.guard.live import Alarm, JobWatch
from sm_trn.diagnosis.health.signs import Pause, counters, traits

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
    assert ("stall_s", Verdict.STALLED, last, False) == (alarm.limit, alarm.verdict, alarm.since_s, alarm.sure)


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
    assert () == watch.alarms(job(), last + 3500)
    assert watch.alarms(job(), last + 7300)


def test_the_usual_length_of_a_pause_is_learned() -> None:
    watch, at = JobWatch(st.Guard(stall_s=60)), BEGAN
    for _ in range(3):
        watch.hear(steps(20, every=1, begin=at))
        watch.hear([LogEvent(at + 21, "algo-1", "Saving model checkpoint to /opt/ml/checkpoints")])
        assert () == watch.alarms(job(), at + 21 + 60)
        at += 40
    assert watch.alarms(job(), at - 19 + 6 * 40)


LAST = (
    ("Epoch 0: 100%| {0}/6000 [00:10<00:00, 9.7it/s, v_num=0, train_loss=0.3]", True),
    (" iteration {0:>8}/    6000 | consumed samples: {0}512 | lm loss: 3.1E-01 |", True),
    ("Epoch 1/3 | step {0}/6000 | loss: 0.3", True),
    ("Epoch 3/3 | step {0} | loss: 0.3", True),
    ("{{'loss': 0.3, 'epoch': 3.0, 'step': {0}}}", False),
    ("Epoch 3/3 | step {0}/9000 | loss: 0.3", False),
)


@pytest.mark.parametrize(("line", "finished"), LAST)
def test_after_the_last_step_of_all_a_job_saves(line: str, finished: bool) -> None:
    told = [LogEvent(BEGAN + 20 * at, "algo-1", line.format(5981 + at)) for at in range(20)]
    now, idle = BEGAN + 400 + 2_000, (1.0, 1.0)
    assert finished is not bool(watched(told).alarms(job(), now, utilization=measured(now, before=idle, after=idle)))


def test_a_bar_that_was_full_before_the_first_step_says_nothing_of_the_end() -> None:
    full = LogEvent(BEGAN, "algo-1", "Map: 100%|##########| 52002/52002 [00:10<00:00, 5200.00 examples/s]")
    lines = [LogEvent(each.time_s + 60, each.host, each.text) for each in steps(20)]
    assert watched([full, *lines]).alarms(job(), BEGAN + 460 + 1_300)


def test_the_fewer_pauses_of_a_kind_were_heard_the_longer_the_next_may_be() -> None:
    watch, at, idle = JobWatch(st.Guard()), BEGAN, (1.0, 1.0)
    for _ in range(2):  # two short saves, then one on a slow day
        watch.hear(steps(20, every=10, begin=at))
        watch.hear([LogEvent(at + 191, "algo-1", "Saving model checkpoint to /opt/ml/checkpoints")])
        at += 191 + 400
    watch.hear(steps(20, every=10, begin=at))
    saving = at + 191
    watch.hear([LogEvent(saving, "algo-1", "Saving model checkpoint to /opt/ml/checkpoints")])
    for minutes, told in ((28, False), (61, True)):
        now = saving + 60 * minutes
        assert told == bool(watch.alarms(job(), now, utilization=measured(now, before=idle, after=idle)))


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


def measured(
    now: float, *, before: tuple[float, ...], after: tuple[float, ...], host: str = "algo-1"
) -> list[MetricPoint]:
    """A utilization of eight accelerators for 20 minutes until 20 minutes ago, and since then."""
    values = [before[at % len(before)] if at < 20 else after[at % len(after)] for at in range(40)]
    return [
        MetricPoint("GPUUtilization", 8 * value, time_s=now - 60 * (40 - at), host=host)
        for at, value in enumerate(values)
    ]


def test_idle_accelerators_prove_nothing_in_a_pause_that_was_announced_and_is_not_known_yet() -> None:
    saving = LogEvent(BEGAN + 401, "algo-1", "Saving a full checkpoint of 1.3 TB")
    watch, now = watched([*steps(20), saving]), BEGAN + 401 + 3_700
    (alarm,) = watch.alarms(job(), now, utilization=measured(now, before=(1, 1), after=(1, 1)))
    assert (Verdict.STALLED, False) == (alarm.verdict, alarm.sure)
    assert "how long saving takes" in alarm.proof


def test_accelerators_that_work_give_silence_more_time_and_those_that_spin_do_not() -> None:
    watch = watched(steps(60), st.Guard(stall_s=600))
    now = BEGAN + 1200 + 1200
    works = measured(now, before=(80, 90, 85), after=(50, 60, 55))
    spins = measured(now, before=(80, 90, 85), after=(100, 100, 100))
    assert () == watch.alarms(job(), now, utilization=works)
    (alarm,) = watch.alarms(job(), now, utilization=spins)
    assert (Verdict.STALLED, False) == (alarm.verdict, alarm.sure)
    assert "py-spy" in alarm.proof


def test_two_wrong_losses_in_a_row_are_a_fault_and_one_is_not() -> None:
    one = watched([*steps(9), *steps(1, loss="nan", begin=BEGAN + 500), *steps(1, begin=BEGAN + 600)])
    two = watched([*steps(9), *steps(2, loss="nan", begin=BEGAN + 500)])
    assert () == one.alarms(job(), BEGAN + 700)
    (alarm,) = two.alarms(job(), BEGAN + 700)
    assert ("not_finite", Verdict.NOT_FINITE, True) == (alarm.limit, alarm.verdict, alarm.sure)


def trainer(count: int, loss: float, norm: str, begin: float, every: float = 20.0) -> list[LogEvent]:
    return [
        LogEvent(begin + at * every, "algo-1", f"{{'loss': {loss}, 'grad_norm': {norm}, 'epoch': {at / 100}}}")
        for at in range(count)
    ]


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        (trainer(2, 0.0, "nan", BEGAN + 400), True),
        (trainer(5, 0.0, "0.0", BEGAN + 400), False),  # it has learned everything
        (steps(3, loss="0.0", begin=BEGAN + 400), True),  # from 0.5 to exactly 0
        (steps(2, loss="0.0", begin=BEGAN + 400), False),
        (trainer(21, 0.5, "inf", BEGAN + 400), True),
        (trainer(16, 0.5, "inf", BEGAN + 400), False),  # a loss scaler looks for its scale
        ([LogEvent(BEGAN + 400 + at, "algo-1", "Loss is nan, stopping training") for at in range(2)], True),
        ([LogEvent(BEGAN + 400 + at, "algo-1", "OVERFLOW! Skipping step, reducing to 1") for at in range(5)], True),
        ([LogEvent(BEGAN + 400 + at, "algo-1", "OVERFLOW! Skipping step, reducing to 64") for at in range(5)], False),
    ],
)  # fmt: skip
def test_a_loss_that_is_no_number_is_known_by_all_its_signs(lines: list[LogEvent], lost: bool) -> None:
    found = watched([*steps(19), *lines]).alarms(job(), lines[-1].time_s + 1)
    assert lost == any(alarm.verdict is Verdict.NOT_FINITE for alarm in found)


def test_a_loss_of_exactly_zero_is_told_and_proves_nothing() -> None:
    (alarm,) = watched([*steps(19), *steps(3, loss="0.0", begin=BEGAN + 400)]).alarms(job(), BEGAN + 470)
    assert (Verdict.NOT_FINITE, False) == (alarm.verdict, alarm.sure)
    assert "norm" in alarm.proof
    alive = trainer(5, 0.0, "0.2", BEGAN + 400)
    assert () == watched([*steps(19), *alive]).alarms(job(), BEGAN + 490)


def curve(*parts: tuple[int, float, float]) -> list[LogEvent]:
    """Losses in parts, each from a value to another; with a noise that repeats."""
    values = [
        begin + (end - begin) * at / count + 0.02 * ((at * 7) % 5 - 2)
        for count, begin, end in parts
        for at in range(count)
    ]
    return [
        LogEvent(BEGAN + 20 * at, "algo-1", f"{{'loss': {value:.4f}, 'epoch': {at / 100}}}")
        for at, value in enumerate(values, 1)
    ]


@pytest.mark.parametrize("line", ["{'grad_norm': nan, 'epoch': 1}", "{'eval_loss': nan}", "{'train_loss': nan}"])
def test_other_numbers_may_be_nan(line: str) -> None:
    events = [LogEvent(BEGAN + each, "algo-1", line) for each in range(5)]
    assert () == watched([*steps(9), *events]).alarms(job(), BEGAN + 300)


def test_the_search_of_a_loss_scaler_is_no_fault() -> None:
    skipped = LogEvent(
        BEGAN + 200, "algo-1", "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768"
    )
    assert () == watched([skipped, *steps(5, loss="inf", begin=BEGAN + 200)]).alarms(job(), BEGAN + 400)


@pytest.mark.parametrize(
    ("line", "counted"),
    [
        ("{'loss': 0.3, 'epoch': 1.0}", ("epoch", "1.0", "")),
        (" 12%|█▏        | 12/100 [00:10<01:20,  1.10it/s]", ("", "12", "100")),
        ("model.safetensors:  45%|████▌     | 2.25G/5.00G [01:00<01:20, 36.0MB/s]", ("", "2.25G", "5.00G")),
        ("300/2000 [====>.....] - ETA: 1:00:00 - loss: 0.3", ("", "300", "2000")),
        ("[10]#011train-rmse:0.4", ("round", "10", "")),
        ("Epoch 3: 10%", ("epoch", "3", "")),
        ("step 3/100", ("step", "3", "100")),
        ("epoch=0/micro_step=10/global_step=5, RunningAvgSamplesPerSec=12.1", ("global_step", "5", "")),
        (" iteration      300/   20000 | consumed samples:  19200", ("iteration", "300", "20000")),
        ("Epoch 3/9 ━━━━━━ 450/1000 0:12:30 • 0:15:00 0.60it/s", ("", "450", "1000")),
        ("300/2000 ━━━━━━━━━━ 1:02 5ms/step - loss: 0.3", ("", "300", "2000")),
        ("|    total_timesteps      | 10240     |", ("total_timestep", "10240", "")),
        ("120:\tlearn: 0.51\ttotal: 1.2s\tremaining: 10s", ("round", "120", "")),
        ("iter 300: loss 2.31, time 12.2ms", ("iter", "300", "")),
        ("| epoch 1 | 300/2000 batches | ms/batch 12.3", ("", "300", "2000")),
    ],
)
def test_what_a_line_counts_is_read(line: str, counted: tuple[str, str, str]) -> None:
    assert counted in list(counters(line))


@pytest.mark.parametrize(
    "line",
    ["heartbeat 17: alive", "gpu memory 31.2 GB", "ms/batch 12.3", "2024/05/24 10:00:01", "7/8 workers wait", "hello"],
)
def test_other_numbers_are_no_steps(line: str) -> None:
    assert [] == list(counters(line))


@pytest.mark.parametrize(
    ("line", "pause"),
    [
        ("Saving model checkpoint to /opt/ml/checkpoints/5", Pause.SAVE),
        ("INFO ||NEURON_CC_WRAPPER||: Call compiler", Pause.COMPILE),
        ("***** Running Evaluation *****", Pause.EVALUATE),
        ("Downloading shards", Pause.PREPARE),
        ("data_loading_time: 0.3", None),
        ("hello", None),
    ],
)
def test_a_pause_is_announced(line: str, pause: Pause | None) -> None:
    assert pause is traits(line).pause


@pytest.mark.parametrize(
    "said",
    ["heartbeat: alive", " 20%|██        | 20/100 [00:{at:02d}<01:20,  1.10it/s]", "{{'loss': 0.5, 'epoch': 20}}"],
)
def test_lines_that_tell_no_new_step_are_no_progress(said: str) -> None:
    bar = LogEvent(BEGAN + 401, "algo-1", " 20%|██        | 20/100 [00:00<01:20,  1.10it/s]")
    same = [LogEvent(BEGAN + 402 + 30 * at, "algo-1", said.format(at=at)) for at in range(60)]
    (alarm,) = watched([*steps(20), bar, *same]).alarms(job(), BEGAN + 402 + 1800)
    assert ("stall_s", Verdict.STALLED) == (alarm.limit, alarm.verdict)


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


@pytest.mark.parametrize(
    ("line", "loss"),
    [
        ("Epoch 0: 10%| 50/500 [00:10<00:20, 9.7it/s, v_num=0, train_loss=0.5]", 0.5),
        ("Epoch 0: 10%| 50/500 [00:10<00:20, train_loss_step=0.5, train_loss_epoch=0.7]", 0.5),
        ("Epoch 1/3 | train loss: 0.5 | val loss: 0.9", 0.5),
        ("step 100 train/loss=0.5 val/loss=0.9", 0.5),
        ("{'train_runtime': 12.0, 'train_loss': 0.7}", None),
        ("validation loss: 0.9", None),
    ],
)
def test_the_loss_of_a_line_is_that_of_the_training(line: str, loss: float | None) -> None:
    assert loss == loss_of(line)


def test_a_guard_refuses_nonsense() -> None:
    for wrong in ({"stall_s": -1}, {"max_usd": -2.0}, {"act": "explode"}):
        with pytest.raises(ValueError, match="guard"):
            st.Guard(**wrong)


_STAMP = re.compile(r"(20\d\d)-(\d\d)-(\d\d)[T :](\d\d):(\d\d):(\d\d)")
_BAR = re.compile(r"\d/\d+ \[(?:(\d+):)?(\d\d):(\d\d)<")


def in_their_own_time(path: Path) -> Iterator[LogEvent]:
    """The lines of a saved log with the times that stand in them: stamps, and the clocks of progress bars."""
    now, bar, base = math.nan, math.inf, math.nan
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
                now = told if math.isnan(now) else max(now, told) if told - now < 20_000 else now
            elif drawn:
                clock = int(drawn[1] or 0) * 3600 + int(drawn[2]) * 60 + int(drawn[3])
                base = now - clock if clock < bar or math.isnan(base) else base  # another bar begins
                now, bar = max(now, base + clock), float(clock)
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
