"""Code, comments, questions, advice and quotations speak of failures and report none; what a program says of itself does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.diagnosis.causes.mentions import only_mentions

MENTIONS = (
    "# TODO: catch CUDA out of memory",
    "// NCCL watchdog timeout is 10 minutes by default",
    "except torch.cuda.OutOfMemoryError:",
    "    except torch.cuda.OutOfMemoryError as error:",
    'raise ValueError("Loss is nan, stopping training")',
    'if "No space left on device" in str(error):',
    'parser.add_argument("--on_oom", help="what to do on CUDA out of memory")',
    'logger.warning("loss is nan, skipping the batch")',
    "src/train.py:41:    except torch.cuda.OutOfMemoryError:",
    "$ grep -rn OutOfMemoryError src",
    "How can I catch a CUDA out of memory error and go on?",
    'We can say "DataLoader worker is killed by signal: Bus error" here, can we not?',
    "- Fixed: CUDA out of memory in evaluation",
    'If training fails with "CUDA out of memory", reduce the batch',
    "Known errors: ResourceLimitExceeded, ThrottlingException, AccessDeniedException",
)
REPORTS = (
    ("CUDA error: out of memory", "mem.cuda_oom"),
    ("RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')", "mem.cuda_oom"),
    ("I get RuntimeError: CUDA out of memory, what can I do?", "mem.cuda_oom"),
    ("No space left on device", "disk.full"),
    ("> RuntimeError: CUDA out of memory.\n> Tried to allocate 2.00 GiB", "mem.cuda_oom"),
)


@pytest.mark.parametrize("text", MENTIONS)
def test_what_only_mentions_a_failure_is_no_evidence(text: str) -> None:
    assert st.why(text).id in {"none", "unknown"}


@pytest.mark.parametrize(("text", "cause"), REPORTS)
def test_what_reports_a_failure_is_evidence(text: str, cause: str) -> None:
    assert cause == st.why(text).id


def test_what_a_letter_quotes_is_not_what_it_says() -> None:
    assert "unknown" == st.why("> RuntimeError: CUDA out of memory.\nIt works now, thanks!").id


@given(some.text(max_size=600))
def test_no_line_is_too_odd(line: str) -> None:
    assert only_mentions(line) in {True, False}
