"""SCRIPT and DATA rules: is there something to run, will its arguments mean what was meant, and is there data?"""

from __future__ import annotations

import ast
import posixpath
import shlex
from collections.abc import Iterator
from pathlib import Path

from .. import _entry
from ..specs.data import Network
from ..specs.framework import Container
from ..specs.job import JobSpec, Script
from ..specs.launch import Runner
from ..specs.problems import Advice, AnyOf, Change, Field, Line, Problem, Severity, rules_of
from ..specs.value import suggestion
from ..strategies import plan
from . import source

_RULES = rules_of(__package__)
DATA001 = _RULES["DATA001"]
DATA005 = _RULES["DATA005"]
SCRIPT001 = _RULES["SCRIPT001"]
SCRIPT012 = _RULES["SCRIPT012"]
SCRIPT002 = _RULES["SCRIPT002"]
SCRIPT003 = _RULES["SCRIPT003"]
SCRIPT004 = _RULES["SCRIPT004"]
SCRIPT006 = _RULES["SCRIPT006"]
SCRIPT007 = _RULES["SCRIPT007"]
SCRIPT008 = _RULES["SCRIPT008"]
SCRIPT010 = _RULES["SCRIPT010"]


def missing(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT001: the SDK finds this out in fit(), after it has made a session."""
    folder = source.source_folder(job)
    if folder is None or job.script is None or (folder / job.script.entry).is_file():
        return
    if job.script.source_dir is None:
        wanted = f"a shipped script ({', '.join(_entry.shipped_scripts())}), or source_dir=…"
        fix = (
            f"Script({job.script.entry!r}, source_dir='./src'){suggestion(job.script.entry, _entry.shipped_scripts())}"
        )
    else:
        wanted = f"a file inside {job.script.source_dir!r}"
        here = [path.name for path in folder.glob("*.py")] if folder.is_dir() else []
        fix = (
            f"correct the path{suggestion(job.script.entry, here)}"
            if folder.is_dir()
            else "correct source_dir: no such folder"
        )
    yield SCRIPT001.problem(
        Field("script"), "the entry script does not exist", got=repr(job.script.entry), wanted=wanted, fix=Advice(fix)
    )


def dependencies(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT012: SDK v2 ends with a FileNotFoundError in fit(), and says nothing where the source lies in S3."""
    script = job.script
    if script is None or not script.dependencies:
        return
    where, listed = Field("script.dependencies"), ", ".join(map(repr, script.dependencies))
    if (script.source_dir or "").startswith("s3://"):
        fix = Advice("pack them into the source, or name its folder on this machine")
        yield SCRIPT012.problem(
            where, "the source lies in S3, and nothing is packed beside it", got=listed, wanted="none", fix=fix
        )
        return
    for path in script.dependencies:
        if posixpath.basename(path) == "..":
            what, wanted = "it has no name to be packed under", "a path that ends in a name"
            fix = Advice(f"name the folder itself, or {path}/ for what it holds")
        elif script.git is None and not Path(path).exists():
            what, wanted, fix = "there is no such file or folder", "a path of this machine", Advice("correct the path")
        else:
            continue
        yield SCRIPT012.problem(where, what, got=repr(path), wanted=wanted, fix=fix)


def no_script(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT010: a framework's container runs the script that it is given; without one only an image with a program of its own runs."""
    if job.script is not None or job.own_entrypoint or job.serverless is not None:
        return
    asked = [name for name in ("distribution", "compiler", "neuron") if getattr(job, name) is not None]
    if asked or not (isinstance(job.framework, Container) or job.image_uri):
        yield SCRIPT010.problem(
            Field("script"),
            "there is nothing to run",
            got=f"no script, with {', '.join(asked) or type(job.framework).__name__}",
            wanted="a script, or an image with a program of its own",
            fix=AnyOf(
                Change(script=Script("train.py", source_dir="./src")),
                Change("and set image_uri", framework=Container()),
            ),
        )


def not_python(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT002: torchrun and the compiler's launcher start Python files only; mpirun starts shell scripts too."""
    if job.script is None or job.distribution is None or job.script.entry.endswith(".py"):
        return
    if plan(job).runner in {Runner.TORCHRUN, Runner.XLA_SPAWN}:
        yield SCRIPT002.problem(
            Field("script.entry"),
            f"{job.distribution.name!r} starts Python scripts only",
            got=repr(job.script.entry),
            wanted="a .py file",
            fix=Advice("wrap the command in a Python script, or leave the distribution out"),
        )


def boolean_arguments(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT006, SCRIPT007: bool('False') is True, and a store_true flag takes no value: SageMaker always passes one."""
    program = source.program(job)
    if program is None or job.script is None:
        return
    for call, name in source.arguments(program):
        kind = next((word.value for word in call.keywords if word.arg == "type"), None)
        action = next((word.value for word in call.keywords if word.arg == "action"), None)
        place = Line(job.script.entry, call.lineno)
        if isinstance(kind, ast.Name) and kind.id == "bool":
            sent = name in job.hyperparameters
            false = job.hyperparameters.get(name) in {False, "False", "false", "0"} and name in job.hyperparameters
            yield SCRIPT006.problem(
                place,
                f"--{name} False would be read as True",
                severity=Severity.ERROR if false else Severity.INFO,
                got="type=bool" + (f", and the job sends {job.hyperparameters[name]!r}" if sent else ""),
                wanted="a function that reads 'True' and 'False'",
                fix=Advice("type=str2bool"),
            )
        elif (
            isinstance(action, ast.Constant)
            and action.value in {"store_true", "store_false"}
            and name in job.hyperparameters
            and not _harmless(program, str(action.value), job.hyperparameters[name])
        ):
            yield SCRIPT007.problem(
                place,
                f"--{name} takes no value, but SageMaker passes one",
                got=f"action={action.value!r}, and the job sends {job.hyperparameters[name]!r}",
                wanted="an argument with a value",
                fix=Advice("type=str2bool instead of the action"),
            )


def _harmless(program: str, action: str, value: object) -> bool:
    """A parser that tolerates what it does not know leaves the value over, and the flag alone says the same."""
    return "parse_known_args" in source.methods(program) and str(value).lower() == action.removeprefix("store_")


def words(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT004: a text with spaces or quotes travels as JSON, so that the script is given other characters than the console shows."""
    for name, value in job.hyperparameters.items() if job.script is not None else ():
        if isinstance(value, str) and value and shlex.quote(value) != value and any(c in value for c in " \t\"'"):
            yield SCRIPT004.problem(
                Field(f"hyperparameters.{name}"),
                f"the script is given two arguments: {shlex.join([f'--{name}', value])}",
                got=f"{value!r}, which the request carries as JSON",
            )


def undeclared(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT008: a hyperparameter that argparse does not know ends the job with exit code 2."""
    program = source.program(job)
    if program is None or job.script is None or not job.arguments:
        return
    methods = source.methods(program)
    strict = any(method.startswith("parse_") for method in methods)
    if not strict or methods & {"parse_known_args", "parse_args_into_dataclasses", "add_arguments"}:
        return  # unknown flags are tolerated, or the parser is filled in a way that cannot be read here
    declared = {name for _, name in source.arguments(program)}
    if not declared:
        return
    for name in job.arguments:
        if name.replace("-", "_") not in declared:
            yield SCRIPT008.problem(
                Field(f"hyperparameters.{name}" if name in job.hyperparameters else "neuron"),
                f"{job.script.entry} does not declare --{name}",
                got=repr(name),
                wanted="one of " + ", ".join(sorted(declared)),
                fix=Advice(f"correct the name{suggestion(name, declared)}"),
            )


def missing_data(job: JobSpec) -> Iterator[Problem]:
    """DATA001: a channel that is neither in S3 nor a folder here."""
    for name, channel in job.channels.items():
        uri = channel.uri
        if uri.startswith("s3://") or Path(uri).exists():
            continue
        yield DATA001.problem(
            Field(f"inputs.{name}"),
            "no such data",
            got=repr(uri),
            wanted="an S3 URI, or a local file or folder to upload",
            fix=Advice("s3://bucket/prefix, or correct the path"),
        )


def syntax(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT003: a script that does not parse fails after the machines are paid for."""
    text = source.text(source.entry_path(job))
    if text is None or job.script is None or not job.script.entry.endswith(".py") or source.program(job) is not None:
        return
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        yield SCRIPT003.problem(
            Line(job.script.entry, line),
            "the script is not valid Python",
            got=str(getattr(error, "msg", error)),
            wanted="a file that parses",
            fix=Advice("correct the line"),
        )


def file_systems(job: JobSpec) -> Iterator[Problem]:
    """DATA005: a file system that the containers could not mount."""
    for name, system in job.file_systems.items():
        if job.network is None or not job.network.subnets:
            yield DATA005.problem(
                Field(f"inputs.{name}"),
                "the job has no network that reaches the file system",
                got=f"{system.kind.value} {system.file_system_id!r} and no subnets",
                wanted="the subnets and security groups of the file system",
                fix=Change(
                    network=Network(subnets=("subnet-0123456789abcdef0",), security_groups=("sg-0123456789abcdef0",))
                ),
            )
        if not system.directory.startswith("/"):
            yield DATA005.problem(
                Field(f"inputs.{name}.directory"),
                "not a folder of a file system",
                got=repr(system.directory),
                wanted="a path from the file system's root; FSx for Lustre begins it with the mount name",
                fix=Advice(f"begin it with a slash: {'/' + system.directory!r}"),
            )


RULES = (
    missing,
    dependencies,
    no_script,
    not_python,
    syntax,
    words,
    boolean_arguments,
    undeclared,
    missing_data,
    file_systems,
)
