"""A program for SDK v2 with its imports, sessions, estimators, channels and later uses written for SDK v3.

Whether the result sends the same jobs is not known here: ``port`` runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import libcst as cst

from . import importing, jobs
from .program import parse_program
from .reading import Import, Reading, dotted
from .results import Refusal, Rewritten, Started
from .sdk import Sdk
from .writer import Writer

_HOME: Final = "sagemaker.train.model_trainer.ModelTrainer"


def rewritten(
    text: str, name: str, v2: Sdk, v3: Sdk, started: Sequence[Started] = (), *, exact: bool = False
) -> Rewritten:
    """The program for SDK v3. ``started`` tells what a run of it under SDK v2 has shown. An estimator that ModelTrainer cannot
    say is written as TrainingJob.create; with ``exact`` every one is.

    Raises SmTrnError for a file that is no Python, and for a notebook in a style that cannot be kept.
    """
    program = parse_program(text, name)
    reading = Reading(program, v2, [program.line(job.place) for job in started])
    writer = Writer(reading, v3, started, exact=exact)
    module = reading.module.visit(writer)
    module = importing.with_imports(module, writer.imports, reading)
    launches = [call for call in reading.calls if reading.is_estimator(call)]
    new = program.written(module)
    again = Reading(parse_program(new, name), v3, makers=frozenset({_HOME}), start="train")
    refused = dict.fromkeys((*writer.refused, *_unknown(again, v3)))
    return Rewritten(
        text=new,
        launches=tuple(program.place(reading.line(call)) for call in launches),
        starts=tuple(
            (program.place(reading.line(call)), program.place(reading.last_line(call)).line)
            for call in sorted(reading.fits, key=reading.line)
        ),
        trainers=tuple(
            again.program.place(again.line(call))
            for call in again.calls
            if call in again.fits or again.is_estimator(call) or again.home(call.func) == jobs.TRAINING_JOB
        ),
        refused=tuple(sorted(refused, key=lambda each: (each.place.cell or 0, each.place.line))),
    )


def _unknown(reading: Reading, v3: Sdk) -> Iterable[Refusal]:
    """Names of an SDK in the new program that SDK v3 does not have."""
    program = reading.program
    for node, path in reading.chains.items():
        known = reading.known.get(node)
        if known is None or (known.rest and known.rest[0] not in known.attributes):
            yield Refusal(program.place(reading.line(node)), f"SDK v3 has no {path}")
    for statement in reading.imports:
        for path in _imported(statement):
            if v3.ask([path])[path] is None:
                yield Refusal(program.place(reading.line(statement)), f"SDK v3 has no {path}")


def _imported(statement: Import) -> list[str]:
    if isinstance(statement, cst.Import):
        return [path for alias in statement.names if (path := dotted(alias.name)).split(".")[0] == "sagemaker"]
    module = dotted(statement.module) if statement.module is not None else ""
    if isinstance(statement.names, cst.ImportStar):
        return [f"{module}.*"]
    return [f"{module}.{alias.name.value}" for alias in statement.names if isinstance(alias.name, cst.Name)]
