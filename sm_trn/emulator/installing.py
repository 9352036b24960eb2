"""What pip says to a job's requirements in the twin of its image, and Python to the imports of its script.

Builds of packages and the programs that are imported run here, as they would on AWS: it is for those who ask.
"""

from __future__ import annotations

import ast
import json
import platform
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name

from ..core.errors import EmulatorError
from ..core.preflight import source
from ..core.preflight.source import REQUIREMENTS
from ..core.specs.job import JobSpec
from ..images.contents import Contents, contents_of, package_of
from ..images.requirements import requirements_of
from ..images.rules import installs
from .container import layout, twins
from .container.host import Host
from .container.isolation import probe
from .container.transfer import read_failure
from .training.launcher import LAUNCH
from .twin import state_folder, twin_of

if TYPE_CHECKING:
    from .container.layout import Where
    from .container.twins import Twin

_LONGEST_S: Final = 3600.0
_WORDS: Final = 400  # characters of pip's or Python's words that are told
_FRAME: Final = re.compile(r'  File "(.+)", line (\d+), in ')
_PACKAGED: Final = re.compile(r"([^\s\"(]*)/lib/python[\d.]+/site-packages/(\w+)")
_CAUSE: Final = "The above exception was the direct cause of the following exception:"
_MISSING: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_BUILT: Final = re.compile(
    r"\s*(?:Collecting|Processing|Building wheel for|Running setup.py install for) (?:\S*/)?([\w.]+(?:-[\w.]+)*?)(?:-\d|[^\w.-]|$)"
)
_UNREACHED: Final = re.compile(r"Retrying \(Retry\(|Could not fetch URL")
# How a build ends for its own programs' sake: other words are of compilers and devices, which are not those of the image.
_OF_PYTHON: Final = re.compile(r"(?:ModuleNotFound|Import|Attribute|Syntax|Name|Type)Error\b")
_OF_DEVICES: Final = re.compile(r"cuda|nvidia|nvml|\bgpu|neuron|\.so\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What pip or Python said at its end, and at which line of the job. ``doubts`` say why it may end otherwise on AWS; where there are
    none, it does not.
    """

    place: str
    words: str
    doubts: tuple[str, ...] = ()

    def __str__(self) -> str:
        doubts = f"; not certain: {', '.join(self.doubts)}" if self.doubts else ""
        return f"{'warning' if self.doubts else 'error'}: {self.place}: {self.words[:_WORDS]}{doubts}"


def install(job: JobSpec, state: str | Path | None = None, *, tell: Callable[[str], None]) -> Failure | None:
    """Install the requirements of a job with pip in the twin of its image, then run what its script imports at its top, under no condition.

    The first failure, or None. ``tell`` hears first what will run and where. Raises EmulatorError where there is no twin, no source on
    this machine, no index within reach, or no tool that a build needs.
    """
    folder, held, root = source.source_folder(job), contents_of(job), state_folder(state)
    entry = source.entry_name(job)
    if folder is None or held is None or not (folder / entry).is_file():
        raise EmulatorError(f"{job.name}: wanted a script in a folder of this machine, and an image of sm-trn images")
    tell(
        f"{job.name}: pip installs {REQUIREMENTS} in a twin of its image below {root / twins.FOLDER}, and Python imports what {entry} "
        "imports: what packages run then runs here, without your credentials, in an environment that goes afterwards"
    )
    _, twin = twin_of(job, root, tell=tell)
    left = _Imports.of(source.program(job) or "", twin, source.requirements(job) or "")
    for line in left.untold:
        tell(f"{job.name}: {line}")
    with tempfile.TemporaryDirectory(dir=root / twins.FOLDER, prefix="install-", ignore_cleanup_errors=True) as beside:
        where = layout.place(Path(beside), "algo-1", probe("auto", Path(beside)))
        try:
            shutil.copytree(folder, where.ml / "code", dirs_exist_ok=True, symlinks=True)
            (where.ml / "code" / entry).write_text(left.text, "utf-8")
            lines = _run(job, where, twin, root)
            said = read_failure(where.ml)
            if said.startswith("InstallRequirementsError"):
                return _of_pip(lines, source.requirements(job) or "")
            failure = _of_python(lines, where, entry, twin, held) if said else None
            if said and failure is None:
                tell(f"{job.name}: its imports end here with {lines[-1][:_WORDS]}: nothing is known of AWS")
            return failure
        finally:
            layout.remove(where)


@dataclass(frozen=True, slots=True)
class _Imports:
    """The imports of a program, each in its line, as a program; ``untold`` are sentences about those that are left out."""

    text: str
    untold: tuple[str, ...]

    @classmethod
    def of(cls, program: str, twin: Twin, requirements: str) -> _Imports:
        """The imports at the top of a program, without those of what the twin could not get and the requirements do not bring."""
        if not source.parses(program):
            return cls("", ())
        if installs(program):
            return cls("", ("its imports are left out, for the script installs packages by itself",))
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
        return cls("\n".join(lines), tuple(untold))


def _run(job: JobSpec, where: Where, twin: Twin, state: Path) -> list[str]:
    """Let the emulator's launcher install and import on a host of its own; the lines of its log."""
    hosts = {"hosts": [where.name], "current_host": where.name, "network_interface_name": "lo"}
    group = {"current_instance_type": job.compute.instances[0], "current_group_name": "group", "instance_groups": []}
    for name, document in (
        ("hyperparameters", {"sagemaker_program": source.entry_name(job)}),
        ("resourceconfig", hosts | group),
        ("inputdataconfig", {}),
    ):
        (where.ml / "input/config" / f"{name}.json").write_text(json.dumps(document), "utf-8")
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
    env = twins.variables(where, twin, state, variables)
    argv = (twin.interpreter, str(twins.PROGRAM), f"{where.seen_own}/twin", python, str(LAUNCH))
    isolation = probe("auto", where.folder)
    spec = layout.host_spec(where, state, isolation, argv, env, toolkit=False)
    lines: list[str] = []
    ended = threading.Event()
    host = Host(where.name, spec, where.folder / "spec.json", lambda _, line: lines.append(line), ended.set)
    try:
        if not ended.wait(_LONGEST_S):
            raise EmulatorError(f"{job.name}: not installed and imported in {_LONGEST_S:.0f} s")
    finally:
        host.kill()
        host.join(_LONGEST_S)
    if host.broken:
        raise EmulatorError(f"{job.name}: {' '.join(lines)}")
    return lines


def _of_pip(lines: list[str], requirements: str) -> Failure:
    """Why pip did not install. Raises EmulatorError where this machine is the reason: no index, or a build without its tools."""
    if any(_UNREACHED.search(line) for line in lines):
        raise EmulatorError("pip could not reach its index, so nothing is known of the requirements")
    plain = [re.sub(r"^[\s×╰─>│]+", "", line) for line in lines]
    ends = [at for at, line in enumerate(plain) if line.startswith("[end of output]")]
    doubts = [] if platform.machine() == "x86_64" else [f"this machine is {platform.machine()}"]
    if ends:
        last = plain[ends[-1] - 1]
        package = next((found[1] for line in reversed(lines[: ends[-1]]) if (found := _BUILT.match(line))), "a package")
        words = f"{package} cannot be built: {last}"
        if not _OF_PYTHON.match(last):
            raise EmulatorError(
                f"{words}; this machine may lack a tool or a device that the image has: nothing is known"
            )
        doubts.append("its build may find other packages there")
    else:
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        words = " ".join(errors) if errors != ["Exception:"] else lines[-1]
    named = {canonicalize_name(word) for word in re.findall(r"[A-Za-z][\w.-]*", words)}
    places = [str(each.place) for each in requirements_of(requirements) if each.name in named]
    return Failure(place=places[0] if places else REQUIREMENTS, words=words, doubts=tuple(doubts))


def _of_python(lines: list[str], where: Where, entry: str, twin: Twin, held: Contents) -> Failure | None:
    """Why an import failed. None where nobody can judge it here: a program of the job did more than import when it failed, or a package
    lacks of which it is not known whether the image has it.
    """
    starts = [at for at, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    blocks = [lines[at:end] for at, end in pairwise([*starts, len(lines)])] or [["", *lines[-1:]]]
    told, chain = blocks[-1], blocks[-1:]
    for block in reversed(blocks[:-1]):
        if _CAUSE not in block:
            break
        chain.insert(0, block)
    place, statement = entry, "its imports"
    for line, code in pairwise(told):
        frame = _FRAME.match(line)
        if frame is not None and (file := _own(frame[1], where)):
            place, statement = f"{file}:{frame[2]}", code.strip()
            if not statement.startswith(("import ", "from ")):
                return None
    words = "; ".join(map(_exception, chain))
    missing = _missing(words, where)
    if missing and missing not in twin.lacking and held.holds(missing) is None:
        return None
    doubts = tuple(_doubts("\n".join(line for block in chain for line in block), words, where, twin, held))
    return Failure(place=place, words=f"{statement}: {words}", doubts=doubts)


def _exception(block: list[str]) -> str:
    """What stands below the frames of a traceback."""
    return " ".join(line for line in block[1:] if line.strip() and not line.startswith(" ") and line != _CAUSE)


def _own(file: str, where: Where) -> str:
    """The path of a program in the job's source, as a traceback names it; empty for another's."""
    path = file.removeprefix(f"{where.seen_ml}/code/")
    return path if not path.startswith("/") and (where.ml / "code" / path).is_file() else ""


def _missing(words: str, where: Where) -> str:
    """The package of a module that is not found, where pip has not installed the package; else empty."""
    found = _MISSING.search(words)
    module = found[1].partition(".")[0] if found is not None else ""
    installed = any((where.own / "twin").glob(f"lib/python*/site-packages/{module}*"))
    return "" if installed or not module else package_of(module)


def _doubts(told: str, words: str, where: Where, twin: Twin, held: Contents) -> Iterator[str]:
    """Why an import may not fail on AWS: what is not published of the packages that it went through, and devices."""
    if _OF_DEVICES.search(words):
        yield "the twin has no device"
    modules = {name for folder, name in _PACKAGED.findall(told) if folder != f"{where.seen_own}/twin"}
    packages = {package_of(module) for module in modules} | {_missing(words, where)} - {""}
    for package in sorted(packages):
        if package in twin.lacking:
            yield f"{package} could not be had for the twin"
        elif held.holds(package) is None or (package in twin.versions and held.version(package) is None):
            yield f"which {package} the image has is not published"
