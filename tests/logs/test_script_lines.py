"""A script's own lines among the toolkit's, and the exception that ended it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.logs import LogEvent
from sm_trn.core.logs.script import ScriptLines, exception_of

TOOLKIT = "2026-11-22 19:00:14,485 sagemaker-training-toolkit "
BEFORE = [
    "bash: no job control in this shell",
    f"{TOOLKIT}INFO     Imported framework sagemaker_pytorch_container.training",
    "Training Env:",
    "{",
    '    "hosts": ["algo-1"]',
    "}",
    'SM_HPS={"epochs":3}',
    "Invoking script with the following command:",
    "/opt/conda/bin/python3.8 train.py --epochs 3",
]
AFTER = [
    f"{TOOLKIT}INFO     Done waiting for a return code. Received 1 from exiting process.",
    f"{TOOLKIT}ERROR    Reporting training FAILURE",
    f"{TOOLKIT}ERROR    ExecuteUserScriptError:",
    'ErrorMessage "ValueError',
]
RAISED = ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>', "    main()"]


def events(lines: list[str], host: str = "algo-1") -> list[LogEvent]:
    return [LogEvent(float(number), host, line) for number, line in enumerate(lines)]


def own(lines: list[LogEvent]) -> list[str]:
    return [event.text for event in filter(ScriptLines().wants, lines)]


WORDS = some.lists(some.text(alphabet="ab {}':.=", min_size=1), max_size=6)


@given(said=WORDS)
def test_of_a_toolkits_log_the_scripts_lines_are_left(said: list[str]) -> None:
    beside = [f"{TOOLKIT}INFO     Waiting for the process to finish and give a return code."]
    assert said == own(events(BEFORE + said[:2] + beside + said[2:] + AFTER))


@given(said=WORDS)
def test_a_log_without_the_toolkit_keeps_every_line(said: list[str]) -> None:
    assert said == own(events(said))


def test_each_host_and_each_attempt_has_its_own_beginning() -> None:
    one, two = events([*BEFORE, "a", *AFTER, *BEFORE, "b"]), events([*BEFORE, "c"], "algo-2")
    mixed = sorted(one + two, key=lambda event: (event.time_s, event.host))
    assert {"a", "b", "c"} == set(own(mixed))
    assert 3 == len(own(mixed))


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([*RAISED, "ValueError: no column 'label'"], "ValueError: no column 'label'"),
        ([*RAISED, "torch.OutOfMemoryError: CUDA out of memory."], "torch.OutOfMemoryError: CUDA out of memory."),
        ([*RAISED, "KeyboardInterrupt"], "KeyboardInterrupt"),
        # as process.py of the toolkit prints it: Python writes the three one after another, and the pipe is read in pieces
        *(
            (["Traceback (most recent call last):", "main()", *pieces, f"{TOOLKIT}INFO     Done waiting"], "ValueError: no column")
            for pieces in (
                ["ValueError", ":", "no column"], ["ValueError", ": no column"], ["ValueError:", "no column"],
                ["ValueError", f"{TOOLKIT}INFO     Waiting for the process", ":", "no column"],
            )
        ),
        (
            [*RAISED, "KeyError: 'a'", "", "During handling of the above exception, another exception occurred:", "",
             *RAISED, "RuntimeError: no a"], "RuntimeError: no a",
        ),
        # what other workers and the launcher say later are consequences
        ([*RAISED, "ValueError: first", *RAISED, "ChildFailedError: train.py FAILED"], "ValueError: first"),
        ([f"[rank1]: {line}" for line in [*RAISED, "ValueError: of rank 1"]], "ValueError: of rank 1"),
        (["all is well", "ValueError: quoted in a text"], ""),
        # argparse's own complaint, where nothing was raised
        (["usage: train.py [-h] --lr LR", "train.py: error: unrecognized arguments: --x"], "train.py: error: unrecognized arguments: --x"),
        (["train.py: error: of a child", *RAISED, "ValueError: mine"], "ValueError: mine"),
        (RAISED, ""),
    ],
)  # fmt: skip
def test_the_exception_of_the_first_worker_to_fail_is_found(lines: list[str], found: str) -> None:
    assert found == exception_of(events(lines))


def test_another_workers_lines_between_do_not_mix_in() -> None:
    mine, other = [*RAISED, "ValueError: mine"], ["Traceback (most recent call last):", "x", "OSError: other", "y"]
    mixed = [line for pair in zip(events(mine), events(other, "algo-2"), strict=True) for line in pair]
    assert "ValueError: mine" == exception_of(mixed)


@given(
    lines=some.lists(
        some.text(max_size=30) | some.sampled_from([*RAISED, ":", "ValueError", "OSError: x"]), max_size=30
    )
)
def test_no_log_is_too_strange(lines: list[str]) -> None:
    assert isinstance(exception_of(events(lines)), str)
