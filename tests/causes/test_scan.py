"""A reading passes over most of a log, and answers as one of every line does."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as some

from sm_trn.diagnosis.causes.reading import LogReading

TROUBLE = (
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "torch.cuda.OutOfMemoryError: CUDA out of memory.",
    "Traceback (most recent call last):", "KeyError: 'text'", "ERROR: loss is NaN, stopping", "{'loss': nan, 'epoch': 0.5}",
    "During handling of the above exception, another exception occurred:", "OSError: [Errno 28] No space left on device",
    "[rank1]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000)",
    "mpirun noticed that process rank 1 with PID 7 exited on signal 11 (Segmentation fault).",
    "2026-01-01 00:00:00,000 sagemaker-training-toolkit ERROR    Reporting training FAILURE",
    '  File "/opt/ml/code/train.py", line 31, in <module>', "    main()", "  exitcode  : -9 (pid: 79)", "",
    "2026-01-01 00:00:00,000 sagemaker-training-toolkit INFO     Reporting training SUCCESS",
)  # fmt: skip
HEALTHY = some.one_of(
    some.builds(lambda step: f"{{'loss': 0.5, 'step': {step}}}", some.integers(0, 99)),
    some.builds(lambda at: f"  {at}%| 3/100 [00:07<02:11,  1.38s/it]", some.integers(0, 99)),
    some.sampled_from(["", "INFO all is well", "1.5 samples/s", "step 7 of 9, 3.1 it/s"]),
)


class EveryLine(LogReading):
    """Passes over nothing."""

    def _wants(self, raw: str) -> bool:
        del raw
        return True


@settings(max_examples=300)
@given(some.lists(HEALTHY | some.sampled_from(TROUBLE), max_size=60))
def test_a_log_is_read_as_if_every_line_were_looked_up(lines: list[str]) -> None:
    answers = []
    for kind in (LogReading, EveryLine):
        reading = kind(lambda line: (math.nan, "algo-1", line), log=True)
        reading.run(["".join(f"{line}\n" for line in lines).encode()])
        causes = [(each.evidence.text, each.error, each.place, each.at) for each in reading.candidates()]
        answers.append((causes, reading.succeeded, reading.failed, reading.lines, reading.waits))
    assert answers[0] == answers[1]
