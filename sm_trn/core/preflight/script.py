"""SCRIPT and DATA rules: is there something to run, will its arguments mean what was meant, and is there data?"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .. import _entry
from ..catalog import limits
from ..catalog.instances import find_instance
from ..specs.compute import Accelerator
from ..specs.data import Network
from ..specs.framework import Container
from ..specs.job import JobSpec, Script
from ..specs.launch import Runner
from ..specs.problems import Advice, AnyOf, Change, Field, Line, Problem, Severity, rules_of
from ..specs.value import suggestion
from ..strategies import plan
from . import source

_RULES = rules_of(__package__)
ASKS_FIRST = "is_available"  # a script that asks whether there is CUDA is taken to have an answer for "no"


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
    yield _RULES["SCRIPT001"].problem(
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
        yield _RULES["SCRIPT012"].problem(
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
        yield _RULES["SCRIPT012"].problem(where, what, got=repr(path), wanted=wanted, fix=fix)


def no_archive(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT025: the toolkit unpacks a source in S3 as one gzipped archive: sagemaker-training 5.1.4, files.download_and_extract."""
    place = (job.script.source_dir or "") if job.script is not None and job.script.git is None else ""
    if place.startswith("s3://") and place.endswith(("/", ".zip", ".py", ".tar", ".whl")):
        yield _RULES["SCRIPT025"].problem(
            Field("script.source_dir"),
            "a source in S3 is no archive",
            got=repr(place),
            wanted="one .tar.gz",
            fix=Advice("pack it, or name its folder on this machine"),
        )


def no_script(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT010: a framework's container runs the script that it is given; without one only an image with a program of its own runs."""
    if job.script is not None or job.own_entrypoint or job.serverless:
        return
    fields = [name for name in ("distribution", "compiler", "neuron") if getattr(job, name) is not None]
    if fields or not (isinstance(job.framework, Container) or job.image_uri):
        yield _RULES["SCRIPT010"].problem(
            Field("script"),
            "there is nothing to run",
            got=f"no script, with {', '.join(fields) or type(job.framework).__name__}",
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
        yield _RULES["SCRIPT002"].problem(
            Field("script.entry"),
            f"{job.distribution.name!r} starts Python scripts only",
            got=repr(job.script.entry),
            wanted="a .py file",
            fix=Advice("wrap the command in a Python script, or leave the distribution out"),
        )


def missing_data(job: JobSpec) -> Iterator[Problem]:
    """DATA001: a channel that is neither in S3 nor a folder here."""
    for name, channel in job.channels.items():
        uri = channel.uri
        if uri.startswith("s3://") or Path(uri).exists():
            continue
        yield _RULES["DATA001"].problem(
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
        there = re.fullmatch(r"py(\d)(\d+)", getattr(job.framework, "python", None) or "")
        newer = there is not None and (int(there[1]), int(there[2])) > sys.version_info[:2]
        yield _RULES["SCRIPT003"].problem(
            Line(job.script.entry, line),
            f"the script is not valid Python {sys.version_info[0]}.{sys.version_info[1]}",
            got=str(getattr(error, "msg", error)),
            wanted="a file that parses",
            fix=Advice("correct the line"),
            severity=Severity.WARNING if newer else Severity.ERROR,
        )


def file_systems(job: JobSpec) -> Iterator[Problem]:
    """DATA005: a file system that the containers could not mount."""
    for name, system in job.file_systems.items():
        if job.network is None or not job.network.subnets:
            yield _RULES["DATA005"].problem(
                Field(f"inputs.{name}"),
                "the job has no network that reaches the file system",
                got=f"{system.kind.value} {system.file_system_id!r} and no subnets",
                wanted="the subnets and security groups of the file system",
                fix=Change(
                    network=Network(subnets=("subnet-0123456789abcdef0",), security_groups=("sg-0123456789abcdef0",))
                ),
            )
        if not limits.matches("FileSystemId", system.file_system_id):
            yield _RULES["DATA005"].problem(
                Field(f"inputs.{name}.file_system_id"),
                "not the id of a file system",
                got=repr(system.file_system_id),
                wanted="fs- and 8 or 17 digits",
                fix=Advice("correct it"),
            )
        if not system.directory.startswith("/"):
            yield _RULES["DATA005"].problem(
                Field(f"inputs.{name}.directory"),
                "not a folder of a file system",
                got=repr(system.directory),
                wanted="a path from the file system's root; FSx for Lustre begins it with the mount name",
                fix=Advice(f"begin it with a slash: {'/' + system.directory!r}"),
            )


def hard_coded_cuda(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT005: .cuda(), .to("cuda") or NCCL where there is no NVIDIA GPU fails after the machines are paid for."""
    rows = [row for name in job.compute.instances if (row := find_instance(name)) is not None]
    program = source.program(job)
    if not rows or any(row.accelerator is Accelerator.CUDA for row in rows) or program is None or ASKS_FIRST in program:
        return
    uses = [call for call in source.calls(program) if _ties(call)]
    if not uses:
        return
    first = min(uses, key=lambda node: node.lineno)
    others = f", and {len(uses) - 1} more" if len(uses) > 1 else ""
    yield _RULES["SCRIPT005"].problem(
        Line(source.entry_name(job), first.lineno),
        "the script names CUDA without asking whether it is there",
        got=f"{ast.unparse(first)[:60]} for {rows[0].name!r} ({rows[0].accelerator.name}){others}",
        wanted="the device that is there",
        fix=Advice("see kit/common.py among the shipped scripts"),
    )


def _ties(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = {
        str(value.value)
        for value in (*call.args, *(word.value for word in call.keywords))
        if isinstance(value, ast.Constant)
    }
    if name == "cuda":
        return True
    if name == "init_process_group":
        return "nccl" in given
    return name in {"to", "device"} and any(value.split(":")[0] == "cuda" for value in given)


RULES = (
    missing,
    dependencies,
    no_archive,
    no_script,
    not_python,
    syntax,
    missing_data,
    file_systems,
    hard_coded_cuda,
)
