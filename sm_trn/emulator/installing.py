"""What pip says to a job's requirements in the twin of its image, and Python to the imports of its script.

Builds of packages and the programs that are imported run here, as they would on AWS: it is for those who ask.
"""

from __future__ import annotations

import ast
import re
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from ..core.errors import EmulatorError
from ..core.preflight import source
from ..core.preflight.source import REQUIREMENTS
from ..core.session.defaults import state_folder
from ..core.specs.job import JobSpec
from ..images.contents import Contents, contents_of, package_of
from ..images.requirements import requirements_of
from ..images.rules import INSTALLS
from .container import layout, twins
from .container.host import Host
from .container.layout import Where
from .container.transfer import read_failure
from .container.twins import Twin
from .options import Options
from .training.hosts import write_configuration
from .training.plan import plan_of
from .training.run import LAUNCH
from .twin import twin_of

_LONGEST_S: Final = 3600.0
_WORDS: Final = 400  # characters of pip's or Python's words that are told
_FRAME: Final = re.compile(r'  File "(.+)", line (\d+), in ')
_PACKAGED: Final = re.compile(r"([^\s\"(]*)/lib/python[\d.]+/site-packages/(\w+)")
_MISSING: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_UNREACHED: Final = re.compile(r"Retrying \(Retry\(|Could not fetch URL")
_DEVICES: Final = re.compile(r"cuda|nvidia|nvml|\bgpu|neuron|\.so\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What pip or Python says at its end, and at which line of the job: it ends so on AWS too."""

    place: str
    words: str

    def __str__(self) -> str:
        return f"error: {self.place}: {self.words[:_WORDS]}"


def install(job: JobSpec, state: str | Path | None = None, *, tell: Callable[[str], None]) -> Failure | None:
    """Install the requirements of a job with pip in the twin of its image, then run what its script imports at its top, under no condition.

    The first failure, or None. ``tell`` hears first what will run and where. Raises EmulatorError where there is no twin, no source on
    this machine, no index within reach, or no tool that a build needs.
    """
    folder, held, root = source.source_folder(job), contents_of(job), state_folder(state)
    entry = source.entry_name(job)
    if folder is None or held is None or not (folder / entry).is_file():
        raise EmulatorError(
            f"{job.name}: wanted a script in a folder of this machine, and an image of sm-trn catalog images"
        )
    tell(
        f"{job.name}: pip installs {REQUIREMENTS} in a twin of its image below {root / twins.FOLDER}, and Python imports what {entry} "
        "imports: what packages run then runs here, without your credentials, in an environment that goes afterwards"
    )
    _, twin = twin_of(job, root, tell=tell)
    text, untold = _imports(source.program(job) or "", twin, source.requirements(job) or "")
    for line in untold:
        tell(f"{job.name}: {line}")
    with tempfile.TemporaryDirectory(dir=root / twins.FOLDER, prefix="install-", ignore_cleanup_errors=True) as beside:
        where = layout.place(Path(beside), "algo-1", namespace=layout.has_namespaces())
        try:
            shutil.copytree(folder, where.ml / "code", dirs_exist_ok=True, symlinks=True)
            (where.ml / "code" / entry).write_text(text, "utf-8")
            lines = _run(job, where, twin, root)
            said = read_failure(where.ml)
            if said.startswith("InstallRequirementsError"):
                return _pip_failure(lines, source.requirements(job) or "")
            failure = _import_failure(lines, where, entry, twin, held) if said else None
            if said and failure is None:
                tell(f"{job.name}: its imports end here with {lines[-1][:_WORDS]}: nothing is known of AWS")
            return failure
        finally:
            layout.remove(where)


def _imports(program: str, twin: Twin, requirements: str) -> tuple[str, list[str]]:
    """Return the imports at the top of a program, each in its line, as a program, and sentences about those that are left out: what the
    twin could not get and the requirements do not bring."""
    if not source.parses(program):
        return "", []
    if INSTALLS.search(program):
        return "", ["its imports are left out, for the script installs packages by itself"]
    asked = {each.name for each in requirements_of(requirements)}
    lines, untold = [""] * len(program.splitlines()), []
    for node in source.tree(program).body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
        lacking = sorted({package_of(module) for module in modules} & twin.lacking.keys() - asked)
        if lacking:
            untold.append(f"line {node.lineno} is left out, for {lacking[0]} could not be had for the twin")
        else:
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = f"{line}; {ast.unparse(node)}" if line else ast.unparse(node)
    return "\n".join(lines), untold


def _run(job: JobSpec, where: Where, twin: Twin, state: Path) -> list[str]:
    """Let the emulator's launcher install and import on a host of its own; the lines of its log."""
    cluster = {"InstanceType": job.compute.instances[0], "InstanceCount": 1}
    program = {"sagemaker_program": source.entry_name(job)}
    request = {"ResourceConfig": cluster, "AlgorithmSpecification": {}, "HyperParameters": program}
    write_configuration(where, plan_of(request, Options()), request)
    python = twins.interpreter(where)
    layout.write_programs(where, python, (where.name,))
    variables = {
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PATH": f"{where.seen_own}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": f"{where.seen_own}/home",
        "TMPDIR": where.seen_tmp,
        "SAGEMAKER_BASE_DIR": where.seen_ml,
    }
    env = twins.variables(where, state, variables)
    argv = twins.in_environment(where, twin.interpreter, (python, str(LAUNCH)))
    spec = layout.host_spec(where, state, argv, env, toolkit=False)
    lines: list[str] = []
    ended = threading.Event()
    host = Host(where, spec, lambda _, line: lines.append(line), ended.set)
    try:
        if not ended.wait(_LONGEST_S):
            raise EmulatorError(f"{job.name}: not installed and imported in {_LONGEST_S:.0f} s")
    finally:
        host.kill()
        host.join(_LONGEST_S)
    if host.broken:
        raise EmulatorError(f"{job.name}: {' '.join(lines)}")
    return lines


def _pip_failure(lines: list[str], requirements: str) -> Failure:
    """Why pip did not install. Raises EmulatorError where this machine may be the reason: no index, or a build that ends here."""
    if any(_UNREACHED.search(line) for line in lines):
        raise EmulatorError("pip could not reach its index, so nothing is known of the requirements")
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if any("[end of output]" in line for line in lines):
        raise EmulatorError(
            f"a package cannot be built here: {' '.join(errors) or lines[-1]}; this machine may lack a tool or a device that the image "
            "has: nothing is known"
        )
    words = " ".join(errors) if errors not in ([], ["Exception:"]) else lines[-1]
    named = {canonicalize_name(word) for word in re.findall(r"[A-Za-z][\w.-]*", words)}
    places = [str(each.place) for each in requirements_of(requirements) if each.name in named]
    return Failure(place=places[0] if places else REQUIREMENTS, words=words)


def _import_failure(lines: list[str], where: Where, entry: str, twin: Twin, held: Contents) -> Failure | None:
    """Why an import failed. None where it may not fail on AWS: a program of the job did more than import, a device is missing, or what
    is published of the image does not tell of a package that the import went through.
    """
    starts = [at for at, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    block = lines[starts[-1] :] if starts else ["", *lines[-1:]]
    place, statement = entry, "its imports"
    for line, code in pairwise(block):
        frame = _FRAME.match(line)
        file = frame[1].removeprefix(f"{where.seen_ml}/code/") if frame is not None else "/"
        if frame is not None and not file.startswith("/") and (where.ml / "code" / file).is_file():
            place, statement = f"{file}:{frame[2]}", code.strip()
            if not statement.startswith(("import ", "from ")):
                return None
    words = " ".join(line for line in block[1:] if line.strip() and not line.startswith(" "))
    modules = {name for folder, name in _PACKAGED.findall("\n".join(lines)) if folder != f"{where.seen_own}/env"}
    if (missing := _MISSING.search(words)) is not None:
        modules.add(missing[1].partition(".")[0])
    packages = {package_of(module) for module in modules if not any((where.own / "env").glob(f"lib/*/*/{module}*"))}
    if _DEVICES.search(words) or any(package in twin.lacking or held.version(package) is None for package in packages):
        return None
    return Failure(place=place, words=f"{statement}: {words}")
