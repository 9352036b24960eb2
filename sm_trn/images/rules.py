"""ENV rules: what a job brings – requirements, syntax, imports – against what its image holds."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..core._entry import shipped_scripts
from ..core.preflight import JobRule, reading, source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Line, Problem, Severity, rules_of
from . import gpus

if TYPE_CHECKING:
    from .contents import Contents
    from .requirements import Wanted

_RULES = rules_of(__package__)
OLDEST = (3, 7)  # what parses under it parses in every container
# The oldest releases that the shipped scripts run with.
SHIPPED_NEED = {"transformers": (4, 56), "torch": (2, 5)}
_NUMPY_1 = tuple(f"1.{minor}.{patch}" for minor in range(19, 27) for patch in range(9))
INSTALLS = re.compile(r"\b(?:pip3?|conda|mamba|uv|apt-get)\b")


def language(job: JobSpec) -> Iterator[Problem]:
    """ENV001: a program that the container's Python cannot parse."""
    text = source.text(source.entry_path(job))
    if text is None or job.script is None or not job.script.entry.endswith(".py") or _refused(text) is not None:
        return  # what no Python parses is told by the script's own rule
    newer = [(path, program) for path, program in _at_once(job, text) if _refused(program, OLDEST) is not None]
    from .contents import contents_of  # noqa: PLC0415 - the table loads for what needs it alone

    held = contents_of(job) if newer else None
    there = held.python_minor if held is not None else None
    for path, program in newer:
        # A newer Python than this one cannot be asked.
        error = _refused(program, there) if there is not None and there <= sys.version_info[:2] else None
        if held is not None and error is not None:
            yield _RULES["ENV001"].problem(
                Line(path, error.lineno or 1),
                f"{error.msg}, and the image has Python {held.python}",
                got=f"an image with Python {held.python}",
                wanted="a program that it can run",
                fix=Advice("a newer image (sm-trn catalog images), or the older syntax"),
            )


def _at_once(job: JobSpec, entry: str) -> Iterator[tuple[str, str]]:
    """The entry script and what it imports beside it under no condition: their paths and texts."""
    folder = source.source_folder(job)
    yield source.entry_name(job), entry
    names = [alias.name for node in source.tree(entry).body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in source.tree(entry).body if isinstance(node, ast.ImportFrom)]
    for beside in (f"{name.replace('.', '/')}.py" for name in names):
        text = source.text(folder / beside) if folder is not None else None
        if text is not None and source.parses(text):
            yield beside, text


def _refused(text: str, version: tuple[int, int] | None = None) -> SyntaxError | None:
    """What Python's own parser says of a program, as the Python of that version."""
    try:
        ast.parse(text, feature_version=version)
    except SyntaxError as error:
        return error
    except ValueError:
        return SyntaxError("null bytes")
    return None


def requirements(job: JobSpec) -> Iterator[Problem]:
    """ENV002, ENV003, ENV004: requirements that contradict one another, or replace what the image's libraries are built for."""
    text = source.requirements(job)
    if not text:
        return
    from .contents import contents_of, python_of  # noqa: PLC0415 - as above
    from .requirements import Wanted, requirements_of  # noqa: PLC0415 - as above

    held, exact = contents_of(job), dict[str, Wanted]()
    for each in requirements_of(text, python_of(held)):
        first = exact.setdefault(each.name, each) if each.exact is not None else each
        if each.exact is not None and not first.admits(each.exact):
            yield _RULES["ENV002"].problem(
                each.place,
                f"{each.requirement} and {first.requirement} of {first.place} exclude each other",
                got=str(each.requirement),
                wanted=f"one version of {each.name}",
                fix=Advice("remove one of the two lines"),
            )
        if held is not None:
            yield from _replaced(each, held)


def isolated(job: JobSpec) -> Iterator[Problem]:
    """ENV010: packages of an index in a job that reaches no network."""
    lines = [line.split("#")[0].strip() for line in (source.requirements(job) or "").splitlines()]
    remote = [line for line in lines if line and not line.startswith((".", "/", "-"))]
    if job.network is None or not job.network.isolation or not remote or any("--no-index" in line for line in lines):
        return
    yield _RULES["ENV010"].problem(
        Field("network.isolation"),
        "pip reaches no index in a job without network",
        got=f"{remote[0]} in requirements.txt",
        wanted="an image that has it, or wheels beside the script",
        fix=Advice("turn the isolation off, or put the wheels into source_dir and --no-index into requirements.txt"),
    )


def _replaced(each: Wanted, held: Contents) -> Iterator[Problem]:
    there = held.version(each.name)
    if each.name == "torch" and there is not None and not each.admits(there):
        # What is built for a release loads beside its patches.
        patch = (each.exact or "").startswith(f"{there.major}.{there.minor}.")
        cuda = f", built for CUDA {held.cuda}" if held.cuda else ""
        yield _RULES["ENV003"].problem(
            each.place,
            f"pip replaces the image's torch {there}{cuda}; what the image built for it stays as it is",
            got=str(each.requirement),
            wanted=f"no torch, or one that admits {there}",
            fix=Advice("leave torch out, or choose an image that has the version you need: sm-trn catalog images"),
            severity=Severity.INFO if patch else Severity.WARNING,
        )
    torch = held.version("torch")
    if each.name == "numpy" and torch is not None and held.first_numpy and not any(map(each.admits, _NUMPY_1)):
        yield _RULES["ENV004"].problem(
            each.place,
            f"torch {torch} of the image is built for NumPy 1",
            got=str(each.requirement),
            wanted="numpy<2",
            fix=Advice("numpy<2, or an image with PyTorch 2.3 or newer"),
        )


def imports(job: JobSpec) -> Iterator[Problem]:
    """ENV005: a module that is imported without condition, and that neither the image nor the job brings."""
    text, folder = source.text(source.entry_path(job)), source.source_folder(job)
    if (
        text is None
        or folder is None
        or job.script is None
        or job.script.source_dir is None
        or source.requirements(job)
    ):
        return  # what requirements bring with them is not known offline: check --resolve asks
    if (
        not job.script.entry.endswith(".py")
        or job.script.dependencies
        or INSTALLS.search(text)
        or (folder / "setup.py").exists()
    ):
        return
    from .contents import all_contents, contents_of, imports_of, package_of  # noqa: PLC0415 - as above

    held = contents_of(job)
    if held is None:
        return
    for module, line in imports_of(text):
        name = module.split(".", maxsplit=1)[0]
        package = package_of(module)
        if name in sys.stdlib_module_names or (folder / name).exists() or (folder / f"{name}.py").exists():
            continue
        if held.holds(package) is not False or not any(package in each.packages for each in all_contents()):
            continue
        yield _RULES["ENV005"].problem(
            Line(job.script.entry, line),
            f"{name} is imported, and {package} is not among the packages of {held.name}",
            got="no such package in the image, nor in requirements.txt",
            wanted=f"{package} in requirements.txt, or an image that has it",
            fix=Advice(f"add {package} to requirements.txt beside the script"),
        )


def libraries(job: JobSpec) -> Iterator[Problem]:
    """ENV006: a script of the package needs newer libraries than the image has; and datasets 4.0.0 and later run no loading script
    (its release notes, 2025-07-09)."""
    from .contents import contents_of  # noqa: PLC0415 - as above

    held, script = contents_of(job), job.script
    if held is None or script is None:
        return
    plain = not (script.source_dir or script.git or script.dependencies)  # requirements.txt may bring newer ones
    for package, least in SHIPPED_NEED.items() if plain and script.entry in shipped_scripts() else ():
        there = held.version(package)
        if there.release[:2] < least if there is not None else held.holds(package) is False:
            needed = f"{package} {'.'.join(map(str, least))} or newer"
            yield _RULES["ENV006"].problem(
                Field("framework"),
                f"{script.entry} needs {needed}",
                got=f"{there or 'none'} in {held.name}",
                wanted=f"an image with {needed}",
                fix=Advice("choose one that sm-trn catalog images lists"),
            )
    there = held.version("datasets") if "datasets" not in (source.requirements(job) or "") else None
    for path, call in reading.literals(job).calls if there is not None and there.major >= 4 else ():
        place = str(reading.literals(job).value(call.args[0])) if call.args else ""
        if ast.unparse(call.func).endswith("load_dataset") and place.endswith(".py"):
            yield _RULES["ENV006"].problem(
                Line(path.name, call.lineno),
                "load_dataset runs no script",
                got=f"datasets {there} in {held.name}",
                wanted="data files, or datasets before 4",
                fix=Advice("load_dataset('json', data_files=…), or datasets<4 in requirements.txt"),
            )


RULES: tuple[JobRule, ...] = (language, requirements, isolated, imports, libraries, *gpus.RULES)
