"""Owns what a script says and how it ends: metric lines, mistakes, exit codes; must not know models or devices."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from typing import Callable, Mapping, Union

GRAPHS_ONLY_STEPS = 5  # neuron_parallel_compile sees every graph of a training loop within these

DONE = 0
USER_MISTAKE = 2
INTERRUPTED = 75  # EX_TEMPFAIL of sysexits.h: the state is saved, run the same command again

Number = Union[int, float, str]


class Mistake(Exception):  # noqa: N818 - it names whose it is
    """Something only the user can put right. The message says what, got, wanted and fix."""


class Interrupted(Exception):  # noqa: N818 - not an error: asked for, and answered
    """The run was asked to stop and has stopped at a step boundary."""


def metric_line(values: Mapping[str, Number]) -> str:
    """One dictionary in Trainer's form that `ast.literal_eval` and the classic metric regexes read alike.

    Floats are written out in full: 0.00005, never 5e-05, of which `'learning_rate': ([0-9.]*)` would read 5.
    """
    return "{" + ", ".join(f"'{name}': {_literal(value)}" for name, value in values.items()) + "}"


def _literal(value: Number) -> str:
    if not isinstance(value, float):
        return repr(value)
    whole, _, decimals = f"{value:.10f}".partition(".")
    return whole + "." + (decimals.rstrip("0") or "0")


def graphs_only(environ: Mapping[str, str] = os.environ) -> bool:
    """Under `neuron_parallel_compile` graphs are collected and not executed: no number that comes out means anything.

    A script then makes few steps, and neither reads nor writes a checkpoint, saves no model and prints no metric.
    """
    return environ.get("NEURON_EXTRACT_GRAPHS_ONLY", "0") not in {"", "0"}


class Console:
    """Prints on the main worker only, each line at once: a killed process has said what it knew."""

    def __init__(self, *, is_main: bool) -> None:
        self._is_main = is_main

    def metrics(self, values: Mapping[str, Number]) -> None:
        if not graphs_only():
            self.say(metric_line(values))

    def say(self, text: str) -> None:
        if self._is_main:
            print(text, flush=True)


def exit_code_of(run: Callable[[], None]) -> int:
    """Run; 0 when done, 2 for a user's mistake, 75 when stopped after saving. Anything else is a bug and is raised."""
    try:
        run()
    except Mistake as mistake:
        # Every worker meets the same mistake; one message is enough.
        if os.environ.get("RANK", "0") == "0":
            print(f"error: {mistake}", file=sys.stderr, flush=True)
        return USER_MISTAKE
    except Interrupted as stop:
        if os.environ.get("RANK", "0") == "0":
            print(f"interrupted: {stop}", file=sys.stderr, flush=True)
        part()
        return INTERRUPTED
    part()
    return DONE


def part() -> None:
    """Close the group of workers that is still open."""
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return
    if dist.get_backend() in {"gloo", "nccl"}:  # other libraries close theirs by themselves
        dist.destroy_process_group()


def leave(code: int) -> None:
    """End the process with `code`, after everything that is to be done at its end: nothing is left to be torn down.

    Threads of torch that still run while the interpreter takes C++ apart now and then end the process with SIGABRT, and a
    job that has trained and saved would be Failed.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - what os._exit leaves out
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
