"""ENV rules: what a job brings – requirements, syntax, imports – against what its image holds."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..core._entry import shipped_scripts
from ..core.preflight import JobRule, source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Line, Problem, Severity, rules_of

if TYPE_CHECKING:
    from packaging.version import Version

    from .contents import Contents
    from .requirements import Wanted

_RULES = rules_of(__package__)
ENV001 = _RULES["ENV001"]
ENV002 = _RULES["ENV002"]
ENV003 = _RULES["ENV003"]
ENV004 = _RULES["ENV004"]
ENV005 = _RULES["ENV005"]
ENV006 = _RULES["ENV006"]
ENV010 = _RULES["ENV010"]
OLDEST = (3, 7)  # what parses under it parses in every container
_GENERIC = (
    "dict",
    "frozenset",
    "list",
    "set",
    "tuple",
    "type",
)  # of which Python 3.9 made generics (PEP 585); | came with 3.10 (PEP 604)
# The oldest releases that the shipped scripts run with; those under compiler/ have an image of their own.
SHIPPED_NEED = {"transformers": (4, 56), "torch": (2, 5)}
LIBRARIES = ("transformers", "peft", "trl", "accelerate", "datasets", "bitsandbytes", "sentence_transformers", "deepspeed", "diffusers",
             "pandas", "pyarrow", "sklearn")  # fmt: skip
_INSTALLS = re.compile(r"\b(?:pip3?|conda|mamba|uv|apt-get)\b")


def language(job: JobSpec) -> Iterator[Problem]:
    """ENV001: a program that the container's Python cannot parse, or an annotation that it cannot evaluate."""
    text = source.text(source.entry_path(job))
    if text is None or job.script is None or not job.script.entry.endswith(".py") or _refused(text) is not None:
        return  # what no Python parses is told by the script's own rule
    for path, program in _at_once(job, text):
        newer = sorted(_newer_annotations(program))
        if not newer and _refused(program, OLDEST) is None:
            continue
        from .contents import contents_of  # noqa: PLC0415 - the table loads for what needs it alone

        held = contents_of(job)
        there = held.python_minor if held is not None else None
        if held is None or there is None or there > sys.version_info[:2]:
            return  # a newer Python than this one is not asked
        error = _refused(program, there)
        faults = [(error.lineno or 1, error.msg)] if error is not None else []
        faults += [(place[0], f"{what} cannot be evaluated") for place, since, what in newer if there < since]
        for line, what in faults[:1]:
            yield ENV001.problem(
                Line(path, line),
                f"{what}, and the image has Python {held.python}",
                got=f"an image with Python {held.python}",
                wanted="a program that it can run",
                fix=Advice("a newer image (sm-trn images), the older syntax, or from __future__ import annotations"),
            )


def _at_once(job: JobSpec, entry: str) -> Iterator[tuple[str, str]]:
    """The entry script and what it imports beside it under no condition: their paths and texts."""
    folder, found, waiting = source.source_folder(job), set[str](), [(source.entry_name(job), entry)]
    while waiting:
        path, text = waiting.pop(0)
        yield path, text
        names = [alias.name for node in source.tree(text).body if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in source.tree(text).body if isinstance(node, ast.ImportFrom)]
        for beside in (f"{name.replace('.', '/')}.py" for name in names if name and "/" not in path):
            own = source.text(folder / beside) if folder is not None and beside not in found else None
            found.add(beside)
            waiting += [(beside, own)] if own is not None and source.parses(own) else []


def _newer_annotations(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    """Annotations that a program evaluates when it is read: their lines and columns, the first Python that can, what they are."""
    waiting = list(source.tree(text).body)
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in waiting):
        return
    while waiting:
        node = waiting.pop()
        waiting += node.body if isinstance(node, ast.ClassDef) else []
        for part in (part for each in _annotations(node) for part in ast.walk(each)):
            if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part.value.id in _GENERIC:
                yield (part.lineno, part.col_offset), (3, 9), f"{part.value.id}[…]"
            elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr):
                yield (part.lineno, part.col_offset), (3, 10), "a union written with |"


def _annotations(node: ast.stmt) -> list[ast.expr]:
    """The annotations of a statement itself."""
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    found = [each.annotation for each in every if each is not None]
    return [each for each in (*found, node.returns) if each is not None]


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
    """ENV002 to ENV004: requirements that contradict one another, or replace what the image's libraries are built for."""
    text = source.requirements(job)
    if not text:
        return
    from .contents import contents_of, python_of  # noqa: PLC0415 - as above
    from .requirements import requirements_of  # noqa: PLC0415

    held = contents_of(job)
    wanted = list(requirements_of(text, python_of(held)))
    yield from _contradictions(wanted)
    if held is not None:
        for each in wanted:
            yield from _replaced(each, held)


def isolated(job: JobSpec) -> Iterator[Problem]:
    """ENV010: packages of an index in a job that reaches no network."""
    lines = [line.split("#")[0].strip() for line in (source.requirements(job) or "").splitlines()]
    remote = [line for line in lines if line and not line.startswith((".", "/", "-"))]
    if job.network is None or not job.network.isolation or not remote or any("--no-index" in line for line in lines):
        return
    yield ENV010.problem(
        Field("network.isolation"),
        "pip reaches no index in a job without network",
        got=f"{remote[0]} in requirements.txt",
        wanted="an image that has it, or wheels beside the script",
        fix=Advice("turn the isolation off, or put the wheels into source_dir and --no-index into requirements.txt"),
    )


def _contradictions(wanted: list[Wanted]) -> Iterator[Problem]:
    """ENV002: two exact versions of one package."""
    exact: dict[str, Wanted] = {}
    for each in wanted:
        if each.exact is None:
            continue
        first = exact.setdefault(each.name, each)
        if not first.admits(each.exact):
            yield ENV002.problem(
                each.place,
                f"{each.requirement} and {first.requirement} of {first.place} exclude each other",
                got=str(each.requirement),
                wanted=f"one version of {each.name}",
                fix=Advice("remove one of the two lines"),
            )


def _replaced(each: Wanted, held: Contents) -> Iterator[Problem]:
    there = held.version(each.name)
    if each.name == "torch" and there is not None and not each.admits(there):
        cuda = f", built for CUDA {held.cuda}" if held.cuda else ""
        yield ENV003.problem(
            each.place,
            f"pip replaces the image's torch {there}{cuda}; what the image built for it stays as it is",
            got=str(each.requirement),
            wanted=f"no torch, or one that admits {there}",
            fix=Advice(
                f"leave torch out, or choose an image that has the version you need: sm-trn images --torch {_asked(each)}"
            ),
            severity=Severity.INFO if _same_minor(each, there) else Severity.WARNING,
        )
    torch = held.version("torch")
    if each.name == "numpy" and torch is not None and held.first_numpy and _second_numpy(each):
        yield ENV004.problem(
            each.place,
            f"torch {torch} of the image is built for NumPy 1",
            got=str(each.requirement),
            wanted="numpy<2",
            fix=Advice("numpy<2, or an image with PyTorch 2.3 or newer"),
        )


def _same_minor(each: Wanted, there: Version) -> bool:
    """Whether an exact version is a patch of the one that is there: what is built for that one loads beside it."""
    from packaging.version import Version  # noqa: PLC0415 - as above

    return each.exact is not None and Version(each.exact).release[:2] == there.release[:2]


def _second_numpy(each: Wanted) -> bool:
    """Whether only NumPy 2 satisfies a requirement, as far as its lowest bound says."""
    from packaging.version import Version  # noqa: PLC0415 - as above

    bounds = [
        Version(pin.version.removesuffix(".*"))
        for pin in each.requirement.specifier
        if pin.operator in {"==", ">=", "~=", ">"}
    ]
    return bool(bounds) and max(bounds) >= Version("2")


def _asked(each: Wanted) -> str:
    return next((pin.version for pin in each.requirement.specifier if pin.operator in {"==", ">=", "~="}), "VERSION")


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
        or installs(text)
        or (folder / "setup.py").exists()
    ):
        return
    from .contents import contents_of, imports_of, known_packages, package_of  # noqa: PLC0415 - as above

    held = contents_of(job)
    if held is None:
        return
    for module, line in imports_of(text):
        name = module.split(".", maxsplit=1)[0]
        package = package_of(module)
        if name in sys.stdlib_module_names or (folder / name).exists() or (folder / f"{name}.py").exists():
            continue
        if package not in known_packages() or held.holds(package) is not False:
            continue
        yield ENV005.problem(
            Line(job.script.entry, line),
            f"{name} is imported, and {package} is not among the packages of {held.name}",
            got="no such package in the image, nor in requirements.txt",
            wanted=f"{package} in requirements.txt, or an image that has it",
            fix=Advice(f"add {package} to requirements.txt beside the script"),
        )


def shipped(job: JobSpec) -> Iterator[Problem]:
    """ENV006: a script of the package needs libraries that the image surely does not have."""
    script = job.script
    if script is None or script.source_dir is not None or script.git is not None or script.dependencies:
        return
    if "/" in script.entry or script.entry not in shipped_scripts():
        return
    from .contents import contents_of  # noqa: PLC0415 - as above

    held = contents_of(job)
    if held is None:
        return
    for package, least in SHIPPED_NEED.items():
        there = held.version(package)
        old = there is not None and there.release[:2] < least
        if not old and held.holds(package) is not False:
            continue
        needed = ".".join(map(str, least))
        yield ENV006.problem(
            Field("framework"),
            f"{script.entry} needs {package} {needed} or newer",
            got=f"{there} in {held.name}" if there is not None else f"none in {held.name}",
            wanted=f"an image with {package} {needed} or newer",
            fix=Advice(f"choose one that sm-trn images --{package} {needed} lists"),
        )


def installs(text: str) -> bool:
    """Whether the script may install something by itself."""
    return _INSTALLS.search(text) is not None


def _of_releases(job: JobSpec) -> Iterator[Problem]:
    """ENV007 to ENV009: releases against one another, against the script's imports and the model that it loads."""
    text = source.program(job)
    if (
        text is None
        or job.script is None
        or job.script.source_dir is None
        or not any(word in text for word in LIBRARIES)
    ):
        return
    from . import releases  # noqa: PLC0415 - as above

    for rule in releases.RULES:
        yield from rule(job)


RULES: tuple[JobRule, ...] = (language, requirements, isolated, imports, shipped, _of_releases)
