"""ENV rules of releases: what is imported of a library, and the model that it loads, against the release that the job will have."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TypedDict

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Line, Problem, rules_of
from ..core.specs.value import suggestion
from .contents import contents_of, imports_of, package_of, python_of
from .requirements import requirements_of

_RULES = rules_of(__package__)
ENV007 = _RULES["ENV007"]
ENV008 = _RULES["ENV008"]
ENV009 = _RULES["ENV009"]
# How the names of a family's models begin, and its type in transformers; the first that fits. Source: the config.json of the models.
_FAMILIES = (
    ("gemma-4", "gemma4"), ("gemma-3n", "gemma3n"), ("gemma-3", "gemma3"), ("gemma-2", "gemma2"), ("gemma", "gemma"),
    ("qwen3.5", "qwen3_5"), ("qwen3-next", "qwen3_next"), ("qwen3-vl", "qwen3_vl"), ("qwen3", "qwen3"),
    ("qwen2.5-vl", "qwen2_5_vl"), ("qwen2-vl", "qwen2_vl"), ("qwen2", "qwen2"), ("qwen1.5", "qwen2"),
    ("llama-4", "llama4"), ("llama", "llama"), ("gpt-oss", "gpt_oss"), ("mixtral", "mixtral"), ("mistral-small-3", ""),
    ("ministral-3-", "ministral3"), ("ministral", ""), ("mistral", "mistral"),
    ("phi-2", "phi"), ("phi-3-vision", ""), ("phi-3", "phi3"), ("phi-4", "phi3"), ("smollm3", "smollm3"),
    ("olmo-2", "olmo2"), ("olmo-3", "olmo3"), ("modernbert", "modernbert"), ("starcoder2", "starcoder2"), ("granite-3", "granite"),
)  # fmt: skip


class _Change(TypedDict):
    at: str
    new: str
    gone: str


class _Import(TypedDict):
    library: str
    by: list[str]
    module: str
    name: str
    lacking: list[str]


class FailingPair(TypedDict):
    """Releases of two packages that pip installs together and that fail together, as an experiment showed.

    ``fails`` and ``works`` are the pins of the experiment, ``program`` is what it ran with them under ``python``, ``error`` its end.
    """

    library: str
    releases: str
    other: str
    beside: str
    error: str
    python: str
    program: str
    fails: list[str]
    works: list[str]


class _Table(TypedDict):
    releases: dict[str, list[str]]
    listed: dict[str, str]  # the last release of a library whose names are known
    names: dict[str, list[_Change]]
    model_types: dict[str, str]
    imports: list[_Import]


@functools.cache
def _table() -> _Table:
    return json.loads((files(__package__) / "library_names.json").read_text("utf-8"))  # type: ignore[no-any-return]


@functools.cache
def failing_pairs() -> tuple[FailingPair, ...]:
    """The pairs that were seen to fail; names are canonical."""
    return tuple(json.loads((files(__package__) / "failing_pairs.json").read_text("utf-8"))["pairs"])


def installed(job: JobSpec) -> dict[str, str]:
    """The releases that the job's script will import, by canonical name, as far as the image and exact pins say.

    pip leaves alone what fits. Of what requirements.txt asks for without one exact version, nothing is known; nor of anything where it
    names another file.
    """
    held, text = contents_of(job), source.requirements(job) or ""
    known = {} if held is None else {name: held.version(name) for name in held.packages}
    there = {name: version.public for name, version in known.items() if version is not None}
    if any(line.lstrip().startswith(("-r", "-c", "--requirement", "--constraint")) for line in text.splitlines()):
        return {}
    for line in text.splitlines():
        if "://" in line:
            there = {name: version for name, version in there.items() if name not in canonicalize_name(line)}
    for each in requirements_of(text, python_of(held)):
        if each.name in there and each.admits(there[each.name]):
            continue
        there.pop(each.name, None)
        if each.exact is not None:
            there[each.name] = each.exact
    return there


def release(library: str, version: str) -> str | None:
    """The release of the table that exports what ``version`` exports: of the same minor version. None where the table has none."""
    try:
        wanted = Version(version)
    except InvalidVersion:
        return None
    same = [each for each in _table()["releases"].get(library, ()) if Version(each).release[:2] == wanted.release[:2]]
    older = [each for each in same if Version(each) <= wanted]
    return (older[-1] if older else same[0]) if same else None


def _certain(library: str, version: str, at: str, since: str) -> bool:
    """Whether a version is surely without what release ``since`` has first: it is no later patch of the release just before."""
    releases = _table()["releases"][library]
    return Version(version) <= Version(at) or releases.index(since) != releases.index(at) + 1


@dataclass(frozen=True, slots=True)
class Misfit:
    """A library that fails beside another one, and why; names are canonical."""

    library: str
    version: str
    why: str

    def __str__(self) -> str:
        return f"{self.library} {self.version} {self.why}"


def misfits(there: Mapping[str, str]) -> Iterator[Misfit]:
    """Releases that can be installed together and fail together: one for two libraries."""
    told: set[tuple[str, str]] = set()
    for row in _table()["imports"]:
        library, other = (str(canonicalize_name(each)) for each in (row["library"], row["module"].split(".")[0]))
        if (
            library in there
            and other in there
            and (library, other) not in told
            and _broken(row, there[library], there[other])
        ):
            told.add((library, other))
            why = f"imports {row['name']} from {row['module']}, which {other} {there[other]} does not have"
            yield Misfit(library, there[library], why)
    for pair in failing_pairs():
        version, beside = there.get(pair["library"]), there.get(pair["other"])
        if version is None or beside is None or (pair["library"], pair["other"]) in told:
            continue
        if _within(version, pair["releases"]) and _within(beside, pair["beside"]):
            yield Misfit(pair["library"], version, f"fails beside {pair['other']} {beside}: {pair['error']}")


def _within(version: str, bounds: str) -> bool:
    try:
        return SpecifierSet(bounds).contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _broken(row: _Import, version: str, beside: str) -> bool:
    """Whether one release imports what the other one surely lacks."""
    other = row["module"].split(".")[0]
    at = release(other, beside)
    if at is None or at not in row["lacking"] or release(row["library"], version) not in row["by"]:
        return False
    since = next(each for each in _table()["releases"][other] if each not in row["lacking"])
    return _certain(other, beside, at, since)


def imports(job: JobSpec) -> Iterator[Problem]:
    """ENV007: releases that pip installs together and that cannot be imported together."""
    text = source.program(job)
    if text is None or not source.requirements(job):
        return  # what an image holds goes together
    packages = {package_of(module) for module, _ in imports_of(text)}
    for misfit in misfits(installed(job)):
        if misfit.library not in packages:
            continue
        yield ENV007.problem(
            Field("script.source_dir"),
            str(misfit),
            got=f"{misfit.library} {misfit.version}",
            wanted="releases that go together",
            fix=Advice("other releases in requirements.txt; sm-trn check --resolve prints what pip would take"),
        )


def model(job: JobSpec) -> Iterator[Problem]:
    """ENV008: transformers of the job are older than the type of the model that it loads."""
    named = [(name, Field("hyperparameters")) for name in source.models_named(job)] + list(_loaded(job))
    if not named:
        return
    version = installed(job).get("transformers")
    for name, where in named if version is not None else ():
        kind = _type_of(name)
        first = _table()["model_types"].get(kind)
        if first is None or Version(version or "0").release[:2] >= Version(first).release[:2]:
            continue
        yield ENV008.problem(
            where,
            f"{name} is a model of the type {kind}, which transformers know since {first}",
            got=f"transformers {version}",
            wanted=f"transformers {first} or newer",
            fix=Advice(
                f"transformers>={first} in requirements.txt, or an image that sm-trn images --transformers lists"
            ),
        )
        return


def _type_of(name: str) -> str:
    """The type of a model by its public name, or a word in it; empty where the name does not say."""
    text = name.lower().replace("_", "-")
    folder, _, last = text.rpartition("/")
    if not folder or folder.startswith((".", "/", "s3:")):
        return ""
    kind = next((kind for begins, kind in _FAMILIES if begins in last), "")
    return f"{kind}_moe" if kind == "qwen3" and "-a" in last and "b-a" in last else kind


def _loaded(job: JobSpec) -> Iterator[tuple[str, Line]]:
    """Models that the program loads by a name that is written in it."""
    text = source.program(job)
    if text is None or "from_pretrained" not in text:
        return
    names = {
        node.targets[0].id: node.value.value
        for node in source.tree(text).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    for call in source.calls(text):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained" and call.args:
            first = call.args[0]
            value = names.get(first.id) if isinstance(first, ast.Name) else getattr(first, "value", None)
            if isinstance(value, str):
                yield value, Line(source.entry_name(job), call.lineno)


def names(job: JobSpec) -> Iterator[Problem]:
    """ENV009: the program imports a name that the release does not have, or asks for a newer release."""
    text = source.program(job)
    if text is None:
        return
    wanted = [
        node for node in source.tree(text).body if isinstance(node, ast.ImportFrom) and node.module in _table()["names"]
    ]
    least = [call for call in source.calls(text) if getattr(call.func, "id", "") == "check_min_version"]
    if not wanted and not least:
        return
    there, folder = installed(job), source.source_folder(job)
    for node in wanted:
        library = str(node.module)
        if folder is not None and any((folder / each).exists() for each in (library, f"{library}.py")):
            continue  # the job's own, which hides the library
        at = release(library, there.get(canonicalize_name(library), ""))
        for alias in node.names if at is not None else ():
            problem = _lacking(library, there[canonicalize_name(library)], str(at), alias.name)
            if problem:
                yield ENV009.problem(
                    Line(source.entry_name(job), node.lineno),
                    problem,
                    got=f"{library} {there[canonicalize_name(library)]}",
                    wanted=f"a release of {library} that has {alias.name}",
                    fix=Advice("another release in requirements.txt, another image, or the name that this release has"),
                )
    yield from _too_old(job, least, there.get("transformers"))


def _lacking(library: str, version: str, at: str, name: str) -> str:
    """Why a release has no such name; empty where it has, and where the table does not know every release's names."""
    brought, gone = "", ""
    releases = _table()["releases"][library]
    if releases.index(at) > releases.index(_table()["listed"][library]):
        return ""
    for change in _table()["names"][library]:
        if name in change["new"].split(" "):
            brought, gone = change["at"], ""
        elif name in change["gone"].split(" "):
            gone = change["at"]
        if releases.index(change["at"]) >= releases.index(at):
            break
    later = next((change["at"] for change in _table()["names"][library] if name in change["new"].split(" ")), "")
    if gone and releases.index(gone) <= releases.index(at):
        return f"{library} {version} no longer has {name}, which {gone} took away"
    absent = (not brought and later) or (brought and releases.index(brought) > releases.index(at))
    if absent and _certain(library, version, at, later):
        return f"{library} {version} does not have {name} yet, which came with {later}"
    whole = releases[-1] == _table()["listed"][library] and name != name.lower()  # in small letters it may be a module
    if whole and not (brought or gone or later):
        ever = {each for change in _table()["names"][library] for each in change["new"].split()}
        return f"no release of {library} has {name}{suggestion(name, ever)}"
    return ""


def _too_old(job: JobSpec, calls: list[ast.Call], version: str | None) -> Iterator[Problem]:
    """``check_min_version`` of the examples of transformers, which end at once with an older release."""
    for call in calls if version is not None else ():
        least = getattr(call.args[0], "value", None) if call.args else None
        if not isinstance(least, str) or Version(version or "0") >= Version(least):
            continue
        yield ENV009.problem(
            Line(source.entry_name(job), call.lineno),
            f"check_min_version wants transformers {least}",
            got=f"transformers {version}",
            wanted=f"transformers {least} or newer",
            fix=Advice(f"the script of the branch v{version} of transformers, or a newer release in requirements.txt"),
        )


RULES = (imports, model, names)
