"""Which row a line speaks for: how strongly a fragment does, how a process ended, and what no line of a healthy job does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.diagnosis.causes.entries import Fragment, entries, match

SIGNALS = {row.signal: row.id for row in entries() if row.signal}
CODES = {code: row.id for row in entries() for code in row.codes}
CODE = (
    "exit code: {}", "exitcode  : {} (pid: 71)", "Training failed error, exit code '{}'", "exits with return code = {}",
    "returned non-zero exit status {}.", "failed (exitcode: {}) pid: 7", "command terminated with exit code {}",
    "      Exit Code: {}", "exited with status {}", "exit_code={}", "returncode={}", "ExitCode {}",
)  # fmt: skip
SIGNAL = (
    "signal {}",
    "ended by signal {} (x)",
    "Caught signal {} (x)",
    "killed by signal: {}",
    "Signal {} received by PID 7",
)


@given(some.sampled_from(CODE), some.sampled_from(sorted(SIGNALS)), some.booleans())
def test_a_signal_is_read_from_any_wording_of_an_exit_code(text: str, signal: int, shell: bool) -> None:
    found = match(text.format(128 + signal if shell else -signal))
    assert found is not None
    assert (SIGNALS[signal], False) == (found.entry.id, found.exact)


@given(some.sampled_from(SIGNAL), some.sampled_from(sorted(SIGNALS)))
def test_a_signal_is_read_by_its_number(text: str, signal: int) -> None:
    found = match(text.format(signal))
    assert found is not None
    assert SIGNALS[signal] == found.entry.id


@given(some.sampled_from(CODE), some.integers(0, 255))
def test_an_exit_code_that_is_no_signal_and_in_no_row_says_nothing(text: str, code: int) -> None:
    found = match(text.format(code))
    wanted = SIGNALS.get(code - 128, CODES.get(code))
    named = found.entry.id if found is not None else None
    assert named == wanted or found is None or named == "smp.worker_lost"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("[7] create_component:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument", "net.efa_error"),
        ("NCCL WARN NET/OFI CM: Unable to enable MR. RC: -12, Error: Cannot allocate memory", "net.efa_error"),
        ("RuntimeError: CUDA error: an illegal instruction was encountered", "cuda.kernel_error"),
        ("neuron (simulated): NCC_EMOD025: a dynamic shape; set dynamic=False", "neuron.dynamic_shape"),
        ("ERROR: [NCC_EVRF035] Opcode (dot) does not support 32-bit or 64-bit integer operands", "neuron.integers"),
        ("exits with return code = -11 [launch.py:321:sigkill_handler]", "proc.segfault"),
        ("failed (exitcode: 1) local_rank: 0 (pid: 7) of binary: /bin/python, world size 4", "unknown"),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL", "mem.host_oom"),
        ("MaxPendingTimeInSeconds exceeded while waiting for capacity", "stop.max_pending"),
        ("An error occurred (ValidationException) when calling X: Requested image a/b:9 not found.", "image.pull"),
        ("ClientError: Unable to mount file system: fs-0a1b. Port 2049 is closed", "data.mount"),
    ],
)  # fmt: skip
def test_the_strongest_fragment_counts_not_the_first_row(text: str, cause: str) -> None:
    assert cause == st.why(text).id


@pytest.mark.parametrize(
    "text",
    ["ValueError: Cannot delete directory, set recursive=True", "TypeError: load() missing required argument: 'path'",
     "ValueError: Adapter with name 'a' already exists.", "AttributeError: 'Checkpoint' object has no attribute 'cuda'"],
)  # fmt: skip
def test_a_mistake_of_the_script_is_not_what_aws_or_a_library_says_in_like_words(text: str) -> None:
    assert "script.exception" == st.why(text).id


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("ValueError: the tokenizer has no such token", "script.exception"),
        ("TypeError: the master node is not there", "script.exception"),
        ("ValueError: the quota of this is 7", "script.exception"),
    ],
)
def test_a_mistake_of_the_script_is_not_what_its_nouns_are_about(text: str, cause: str) -> None:
    assert cause == st.why(text).id


def implied(one: Fragment, other: Fragment) -> bool:
    """Whether a line that holds one fragment holds the other."""
    return not (other.at_start or other.at_end) and other.matches("\0".join(one.parts))


def test_no_fragment_says_what_another_of_its_row_says_as_strongly() -> None:
    for row in entries():
        kinds = (row.exact, row.strong)
        pieces = [(strength, piece) for strength, kind in enumerate(kinds) for piece in kind]
        idle = [
            one.parts
            for strength, one in pieces
            for other_strength, other in pieces
            if one is not other and other_strength <= strength and implied(one, other)
        ]
        assert [] == idle, row.id


@pytest.mark.parametrize(
    ("first", "then", "cause"),
    [
        ("/bin/sh: 1: topgpu: command not found", "torch.OutOfMemoryError: CUDA out of memory.", "mem.cuda_oom"),
        ("error: Transport endpoint is not connected", "what():  CUDA error: uncorrectable ECC error", "hw.gpu_fault"),
        ("(raylet) the worker failed; the OOM killer is one reason", "[Rank 3] Watchdog caught collective operation timeout",
         "dist.nccl_timeout"),
        ("OSError: [Errno 28] No space left on device", "torch.OutOfMemoryError: CUDA out of memory.", "disk.full"),
        ("NOTE: Open MPI must end all processes", "MPI_ABORT was invoked on rank 2", "dist.mpi_lost"),
    ],
)  # fmt: skip
def test_what_is_sure_stands_before_what_only_words_speak_for(first: str, then: str, cause: str) -> None:
    """Of two that are sure the earlier one counts; a consequence is none, however sure."""
    assert cause == st.why(f"{first}\n{then}").id


STEPS = some.builds(
    lambda step, loss: (
        f"{{'loss': {loss:.4f}, 'grad_norm': {loss * 3:.3f}, 'learning_rate': 5e-05, 'epoch': {step / 100}}}"
    ),
    some.integers(1, 10_000),
    some.floats(0, 20),
)
CHATTER = some.sampled_from(
    ["Loading checkpoint shards: 100%|██████████| 3/3 [00:01<00:00,  2.10it/s]", "  5%|▌         | 5/100 [00:07<02:11,  1.38s/it]",
     "Saving model checkpoint to /opt/ml/checkpoints/checkpoint-500", "Map (num_proc=8): 100%|█| 5000/5000",
     "NCCL version 2.19.3+cuda12.3", "tokenizer config file saved in /opt/ml/model/tokenizer_config.json",
     "Using device cuda:0 of 8 GPUs, world size 16", "Compiler status PASS", "gradient checkpointing is on, memory 31.2 GB",
     "Found 5 files in /opt/ml/input/data/train", "Downloading shards from huggingface.co", "epoch 3 done, nothing lost"]
)  # fmt: skip


@given(some.lists(STEPS | CHATTER, max_size=30))
def test_no_line_of_a_training_loop_speaks_for_a_cause(lines: list[str]) -> None:
    head = "2026-01-01 00:00:00,000 sagemaker-training-toolkit INFO     Invoking user script"
    assert "none" == st.why("\n".join([head, *lines])).id
