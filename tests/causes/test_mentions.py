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
    '"""Raises OutOfMemoryError if the batch does not fit."""',
    "| ThrottlingException | too many calls |",
    "catch (const c10::OutOfMemoryError& e) { recover(); }",
    "retry_on: [CapacityError, InternalServerError]",
    'if grep -q "CUDA out of memory" log.txt; then echo retry; fi',
    "TODO(me): handle 'Connection reset by peer' from the loader",
    "We recommend a longer NCCL_TIMEOUT when you see watchdog timeouts on slow file systems.",
    "Known errors: ResourceLimitExceeded, ThrottlingException, AccessDeniedException",
    "LocalEntryNotFoundError,",
    'f"No NeuronCore is available at {path}. Load the driver first."',
    "Exit code -9 is what a full memory looks like to the parent.",
    "Signal 9 usually means that the kernel needed the memory.",
)
PAGES = (  # of a manual: several lines, of which none reports
    "Sharding reduces the memory that optimizer states need.\nEach parameter then takes a quarter of its bytes on a GPU.",
    "The inner function must take the batch size first.\nWhatever lives in device memory is declared inside it, and freed with it.",
    "Only the weights are kept when you stop a run by hand.\nThe optimizer state is not in that folder.",
    "Tagging is done by hand, or by a solver.\nIt splits the work by memory budget and by what a step costs, and nothing is lost.",
    "Start the second replica with its own CUDA_VISIBLE_DEVICES.\nThe node_rank must differ.",
)
REPORTS = (
    ("CUDA error: out of memory", "mem.cuda_oom"),
    ("RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')", "mem.cuda_oom"),
    ("I get RuntimeError: CUDA out of memory, what can I do?", "mem.cuda_oom"),
    ("No space left on device", "disk.full"),
    ("Exit code 137", "mem.host_oom"),
    ("Loading the weights\nKilled", "mem.host_oom"),
    ("> RuntimeError: CUDA out of memory.\n> Tried to allocate 2.00 GiB", "mem.cuda_oom"),
)


@pytest.mark.parametrize("text", MENTIONS)
def test_what_only_mentions_a_failure_is_no_evidence(text: str) -> None:
    assert st.why(text).id in {"none", "unknown"}


@pytest.mark.parametrize("text", PAGES)
def test_a_page_of_a_manual_is_no_evidence(text: str) -> None:
    assert st.why(text).id in {"none", "unknown"}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Loading the data\nstep 1 loss 0.5\nstep 2 loss 0.4\n", "none"),
        ("Loading the data\nstep 1 loss 0.5\nlost a worker\n", "unknown"),
        ("Loading the data\n", "unknown"),
    ],
)
def test_a_few_lines_that_learn_and_complain_of_nothing_have_no_cause(text: str, cause: str) -> None:
    assert cause == st.why(text).id


@pytest.mark.parametrize(("text", "cause"), REPORTS)
def test_what_reports_a_failure_is_evidence(text: str, cause: str) -> None:
    assert cause == st.why(text).id


@pytest.mark.parametrize(
    "text",
    ["fix: do not swallow torch.cuda.OutOfMemoryError in eval", "Understanding 'CUDA error: device-side assert triggered' in PyTorch",
     'RUN pip install flash-attn || echo "Failed building wheel"'],
)  # fmt: skip
def test_what_stands_within_a_sentence_is_never_certain(text: str) -> None:
    assert "certain" != st.why(text).confidence.value


def test_what_a_letter_quotes_is_not_what_it_says() -> None:
    assert "unknown" == st.why("> RuntimeError: CUDA out of memory.\nIt works now, thanks!").id


@given(some.text(max_size=600))
def test_no_line_is_too_odd(line: str) -> None:
    assert only_mentions(line) in {True, False}
