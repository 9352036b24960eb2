"""One run: every probe sent, its answers kept, and all that was made removed again, however the run ends."""

from __future__ import annotations

import contextlib
import dataclasses
import platform
import shlex
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import boto3
import botocore

from ... import emulator
from ...core.aws.endpoint import EndpointSession
from ...core.errors import CloudError
from ...core.ports import Clock
from ...core.specs.job import JobSpec
from ...emulator import Options
from .accelerator import Measured, measure
from .answers import Answered, Answers
from .bench import Bench, Notes, Unanswered
from .cleanup import EMULATOR, Removed, end_emulator, remove, sweep
from .interruption import PATIENCE, Interruption
from .jobs import Place
from .journal import Journal, begin
from .probe import Probe
from .target import Target, find_target

Tell = Callable[[str], None]
T = TypeVar("T")
# Slow enough that a job can be stopped before its download, with a place for every job of a run.
OPTIONS = Options(start_delay_s=0.7, stop_grace_s=5.0, max_jobs=8)


def silent(_line: str) -> None:
    """Tell nobody."""


def ask_account(
    target: Target, probes: Sequence[Probe], *, clock: Clock, state: Path | None = None, tell: Tell = silent
) -> tuple[Answers, Removed]:
    """Send the probes to ``target``; the record, and what was removed at the end.

    First what interrupted runs left is removed. Raises CloudError for a login that ends or a network that is lost, and Interrupted
    for SIGINT, SIGTERM and SIGHUP: what the run made is removed if that is possible, else at the next start, and ``tell`` hears it.
    """
    return _cleanly(lambda bench: _record(target, _sent(bench, probes, tell)), target, clock, state, tell)


def measure_account(
    target: Target, spec: JobSpec, *, clock: Clock, state: Path | None = None, tell: Tell = silent
) -> tuple[Measured, Answers, Removed]:
    """Measure an accelerator with three jobs of ``spec``: the figures, a record with their row, and what was removed.

    Raises CloudError as ``ask_account``, and where a job is refused or does not complete.
    """

    def asked(bench: Bench) -> Measured:
        try:
            return measure(bench, spec)
        except Unanswered as error:
            raise CloudError(f"{spec.name}: {error.why}", operation="CreateTrainingJob", code=error.why) from error

    found, removed = _cleanly(asked, target, clock, state, tell)
    row = found.row(spec)
    answers = dataclasses.replace(_record(target, ()), rows=() if row is None else (row,))
    return found, answers, removed


def _cleanly(
    ask: Callable[[Bench], T], target: Target, clock: Clock, state: Path | None, tell: Tell
) -> tuple[T, Removed]:
    """What ``ask`` gives, and what was removed after it, however it ended."""
    tell = _unfailing(tell)
    with Interruption() as interruption:
        with interruption.allowed():
            for each in sweep(target, state, clock, tell):
                tell(str(each))
        journal, done = begin(target.fingerprint, state), False
        try:
            try:
                with interruption.allowed():
                    found = ask(_bench(target, journal.run, journal, clock))
            except BaseException:
                tell(
                    f"Run {journal.run}: removing what it made. {PATIENCE} more interrupts leave it to the next start."
                )
                tell(str(_removed(journal, target, clock, state, tell)))
                done = True
                raise
            removed, done = _removed(journal, target, clock, state, tell), True
        finally:
            journal.close(done=done)
    return found, removed


def _removed(journal: Journal, target: Target, clock: Clock, state: Path | None, tell: Tell) -> Removed:
    """What was removed of a run; what could not be is told, with the command that does it, and raised."""
    try:
        return remove(journal.read(), target, clock)
    except BaseException as error:
        why = (error.code or error.operation) if isinstance(error, CloudError) else type(error).__name__
        tell(f"Run {journal.run}: not all was removed ({why}). The next start does, or: {_clean(target, state)}")
        raise


def _clean(target: Target, state: Path | None) -> str:
    """The command that removes what runs on ``target`` left."""
    words = ["sm-trn", "conformance", "--clean", "--region", target.region, "--bucket", target.bucket]
    words += ["--backend", "emulator"] if target.emulated else []
    return shlex.join([*words, *(["--state", str(state)] if state is not None else [])])


def _unfailing(tell: Tell) -> Tell:
    """The same, where nobody may be listening any more: a terminal that is closed keeps nothing from being removed."""

    def told(line: str) -> None:
        with contextlib.suppress(OSError):
            tell(line)

    return told


def ask_emulator(
    region: str, probes: Sequence[Probe], *, clock: Clock, state: Path | None = None, tell: Tell = silent
) -> Answers:
    """Send the probes to an emulator of their own, which ends with them, however that is.

    Raises EmulatorError where it cannot start or does not end, and Interrupted as ``ask_account``.
    """
    with Interruption() as interruption:
        with interruption.allowed():
            sweep(None, state, clock, silent)
        journal, done = begin(EMULATOR, state), False
        try:
            journal.scratch.mkdir(mode=0o700)
            endpoint = emulator.up(journal.scratch, region=region, options=OPTIONS)  # a signal waits until it is up
            with interruption.allowed():
                return _asked(endpoint, journal, probes, clock, tell)
        finally:
            try:
                end_emulator(journal)
                done = True
            finally:
                journal.close(done=done)


def _asked(endpoint: emulator.Endpoint, journal: Journal, probes: Sequence[Probe], clock: Clock, tell: Tell) -> Answers:
    session = EndpointSession(
        url=endpoint.url, access_key=endpoint.access_key, secret_key=endpoint.secret_key, region=endpoint.region
    )
    target = find_target(session, region=endpoint.region, role=endpoint.role_arn, bucket=endpoint.bucket)
    return _record(target, _sent(_bench(target, journal.run, _Unwritten(), clock), probes, tell))


class _Unwritten(Notes):
    """An emulator of one's own takes all that was made in it along."""

    def write(self, kind: str, name: str) -> None:
        del kind, name


def _bench(target: Target, run: str, notes: Notes, clock: Clock) -> Bench:
    place = Place(run=run, region=target.region, role=target.role, bucket=target.bucket, emulated=target.emulated)
    return Bench(target, place, notes, clock)


def _sent(bench: Bench, probes: Sequence[Probe], tell: Tell) -> tuple[Answered, ...]:
    found = list[Answered]()
    for at, probe in enumerate(probes, 1):
        tell(f"{at}/{len(probes)}  {probe.name}")
        bench.begin()
        try:
            probe.send(bench)
            why = ""
        except Unanswered as error:
            why = error.why
        found.append(Answered(probe=probe.name, battery=probe.battery, steps=bench.steps, unanswered=why))
    return tuple(found)


def _record(target: Target, answered: tuple[Answered, ...]) -> Answers:
    versions = {
        "sm_trn": str(vars(sys.modules["sm_trn"])["__version__"]),  # an import of the package would point up the layers
        "boto3": boto3.__version__,
        "botocore": botocore.__version__,
        "python": platform.python_version(),
    }
    return Answers(
        source="emulator" if target.emulated else "aws",
        date=f"{datetime.now(timezone.utc):%Y-%m-%d}",
        region=target.region,
        versions=versions,
        probes=answered,
    )
