"""Asks the real parser of a script: the script runs in the sandbox, with the container's words, until its parser has answered."""

from __future__ import annotations

import json
import re
from pathlib import Path

from .. import sandbox
from ..core.errors import SmTrnError
from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Problem
from .arguments import keeps_the_rest, options, problems, unasked, words_of
from .programs import programs
from .syntax import called


def ask(job: JobSpec) -> list[Problem]:
    """The problems that the parser of the job's script has with its arguments; SCRIPT023 where it could not be asked.

    The script runs here up to there, sealed by the sandbox. Where that cannot be, it does not run.
    """
    folder, texts = source.source_folder(job), programs(job)
    if folder is None or not texts or job.own_entrypoint:
        return []
    asked = [called(call) for _, text in texts for call in source.calls(text)]
    try:
        with sandbox.workspace(folder) as work:
            program = sandbox.Program(
                argv=["python", source.entry_name(job), *words_of(job)],
                folder=work.folder,
                environment={"PYTHONPATH": str(work.folder), **_environment(job)},
                hooks=[Path(__file__).parent / "hook" / "ask_parser.py"],
                settings={"asked": sum(name in {"parse_args", "parse_known_args"} for name in asked)},
                limits=sandbox.Limits(seconds=120, memory_mb=8192),
            )
            outcome = sandbox.run(program, work)
    except SmTrnError as error:
        return [unasked(job, str(error), fix="sm-trn rehearse runs it")]
    absent = ", ".join(sorted({str(note["name"]) for note in outcome.notes if note["kind"] == "stand-in"}))
    answers = [note for note in outcome.notes if note["kind"] == "parser"]
    taken = options(job)
    if not answers:
        last = next((line[:200] for line in reversed(outcome.output.splitlines()) if line.strip()), "")
        reason = outcome.limit or "it ended before its parser was asked" + (f": {last}" if outcome.exit_code else "")
        reason += f"; not installed here: {absent}" if absent else ""
        fix = "install what is missing, or sm-trn rehearse in a twin of the image"
        return [unasked(job, reason, fix=fix)] if taken is not None else []
    names, refused, leftover, strict, doubt = (
        answers[-1][key] for key in ("names", "refused", "leftover", "strict", "doubt")
    )
    argument = re.match(r"argument -*([\w-]+).*invalid choice", refused)
    if absent and argument is not None and (taken is None or taken.unread is not None or argument[1] in taken.vague):
        doubt = f"{absent} is not installed here, and may have other choices"
    leftover = [] if not strict and keeps_the_rest(job) else leftover
    return list(problems(job, names, leftover, refused=refused, strict=strict, doubt=doubt))


def _environment(job: JobSpec) -> dict[str, str]:
    """The variables of the training toolkit and of torchrun that scripts read before their parser: sagemaker-training 5.1.4."""
    given = {name: value for name, value in job.arguments.items() if not name.startswith(source.TOOLKIT_PREFIX)}
    return {
        "SM_MODEL_DIR": "/opt/ml/model",
        "SM_OUTPUT_DATA_DIR": "/opt/ml/output/data",
        "SM_HOSTS": '["algo-1"]',
        "SM_CURRENT_HOST": "algo-1",
        "SM_NUM_GPUS": "1",
        "SM_HPS": json.dumps(given),
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        **{f"SM_CHANNEL_{name.upper()}": f"/opt/ml/input/data/{name}" for name in job.inputs},
        **{f"SM_HP_{name.upper().replace('-', '_')}": str(value) for name, value in given.items()},
        **job.environment,
    }
