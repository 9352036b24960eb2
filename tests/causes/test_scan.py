"""The scan, which passes over most of a log, answers as a reading of every line does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as some

from sm_trn.core.logs import LogEvent
from sm_trn.diagnosis.causes.choose import ordered
from sm_trn.diagnosis.causes.reading import LogReading
from sm_trn.diagnosis.causes.scan import SHAPES, TELLING, Scan

BEATS = ("'loss':", "it/s", "s/it", "samples/s")
LETTERS = str.maketrans("0123456789", "qwrtypsdfg")
TOLD = (
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "torch.cuda.OutOfMemoryError: CUDA out of memory.",
    "Traceback (most recent call last):", "KeyError: 'text'", "ERROR: loss is NaN, stopping", "{'loss': nan, 'epoch': 0.5}",
    "During handling of the above exception, another exception occurred:", "OSError: [Errno 28] No space left on device",
    "[rank1]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000)",
    "mpirun noticed that process rank 1 with PID 7 exited on signal 11 (Segmentation fault).",
    "2026-01-01 00:00:00,000 sagemaker-training-toolkit ERROR    Reporting training FAILURE",
)  # fmt: skip
UNTOLD = (  # none of TELLING stands in these
    '  File "/opt/ml/code/train.py", line 31, in <module>', "    main()", "acme.Odd: nothing", "  exitcode  : -9 (pid: 79)",
    "2026-01-01 00:00:00,000 sagemaker-training-toolkit INFO     Reporting training SUCCESS", "",
)  # fmt: skip
HEALTHY = some.one_of(
    some.builds(lambda step: f"{{'loss': 0.5, 'step': {step}}}", some.integers(0, 99)),
    some.builds(lambda at: f"  {at}%| 3/100 [00:07<02:11,  1.38s/it]", some.integers(0, 99)),
    some.builds(lambda at: f"{at} is a line of its own".translate(LETTERS), some.integers(0, 10**9)),
    some.sampled_from(["", "INFO all is well", "1.5 samples/s", "step 7 of 9, 3.1 it/s"]),
)
LOG = some.lists(HEALTHY | some.sampled_from((*TOLD, *UNTOLD)), max_size=60)
CUTS = some.lists(some.integers(1, 59), max_size=4)


def parse(line: str) -> tuple[float, str, str]:
    return math.nan, "algo-1", line


def plainly(lines: Sequence[str]) -> tuple[LogReading, int]:
    """Every line is read, and every sign of progress counted until the job said that it failed."""
    reading, beats = LogReading(log=True), 0
    for at, line in enumerate(lines, 1):
        if line:
            reading.feed(LogEvent(math.nan, "algo-1", line), at, beats)
        beats += 0 if reading.failed else sum(line.count(mark) for mark in BEATS)
    return reading, beats


def scanned(lines: Sequence[str], cuts: Sequence[int], shapes: int = SHAPES) -> Scan:
    """The scan of the same lines, in blocks that end at the cuts."""
    scan = Scan(parse, LogReading(log=True), shapes=shapes)
    places = sorted({0, len(lines), *(cut for cut in cuts if cut < len(lines))})
    scan.run(("\n".join(lines[one:other]) + "\n").encode() for one, other in itertools.pairwise(places))
    return scan


def told(reading: LogReading, beats: int) -> list[tuple[str, str, str, int]]:
    """What a diagnosis is made of: the findings in their order, those that the script caught left out."""
    found = ordered(reading, beats)
    return [(each.evidence.text, each.error, each.place, each.at) for each in found]


def same(lines: Sequence[str], fast: Scan) -> None:
    slow, beats = plainly(lines)
    assert told(slow, beats) == told(fast.reading, fast.beats)
    assert (slow.succeeded, slow.failed, len(lines)) == (fast.reading.succeeded, fast.reading.failed, fast.lines)


@settings(max_examples=200)
@given(LOG, CUTS)
def test_a_log_that_repeats_itself_is_read_as_if_every_line_were(lines: list[str], cuts: list[int]) -> None:
    same(lines, scanned(lines, cuts))


@settings(max_examples=200)
@given(some.lists(HEALTHY | some.sampled_from(TOLD), min_size=1, max_size=60), CUTS, LOG)
def test_so_is_a_log_in_which_hardly_two_lines_are_alike(lines: list[str], cuts: list[int], end: list[str]) -> None:
    """What holds no word of TELLING may stand in its last block, and in a traceback."""
    inner = [*lines, '  File "/opt/ml/code/train.py", line 3, in x'] if "Traceback" in lines[-1] else lines
    same([*inner, *end], scanned([*inner, *end], [*(cut for cut in cuts if cut < len(inner)), len(inner)], -1))


@given(LOG)
def test_after_a_line_that_was_read_beats_are_counted_as_far_as_they_tell(lines: list[str]) -> None:
    slow, beats = plainly(lines)
    fast = scanned(lines, ())
    assert fast.beats <= beats
    assert bool(beats) == bool(fast.beats)
    assert slow.watchdog.waited == fast.reading.watchdog.waited


@given(some.sampled_from(TELLING), some.booleans(), some.text("xyz ", max_size=9), some.text("xyz ", max_size=9))
def test_a_telling_word_is_heard_in_any_case_and_place(word: bytes, upper: bool, before: str, behind: str) -> None:
    line = f"{before}{word.decode()}{behind} out of memory: killed process 7"
    scan = scanned(["one", line.upper() if upper else line, "two"], (), -1)
    assert [2] == [each.at for each in scan.reading.findings]
