"""One file: its text, the specs in it and where their fields stand; the registry of formats."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar, cast

from cattrs.errors import BaseValidationError

from ..catalog import images
from ..errors import InvalidJobFile, UnknownName
from ..specs.job import JobSpec, expect_spec
from ..specs.json import Json
from ..specs.value import suggestion
from . import in_json, in_toml, schema
from .faults import Fault, MismatchError, faults_of, unknown
from .places import Path, Place, PlacedError, Places

T = TypeVar("T")
SIZE_CAP = 1_000_000  # characters: thousands of jobs
SEVERAL = "job"
SCHEMA_KEY = "$schema"  # which JSON files name their schema by, for editors
_TOML_PLACE = re.compile(r"\(at line (?P<line>\d+), column (?P<column>\d+)\)")


_INFERRED = ("name", "framework.pytorch", "framework.version", "framework.python")


@dataclass(frozen=True, slots=True)
class Format:
    """``parse`` raises ValueError; ``dump`` writes any tree that ``schema.unstructure`` makes."""

    parse: Callable[[str], tuple[Any, Places]]
    dump: Callable[[dict[str, Json]], str]


def _parse_yaml(text: str) -> tuple[Any, Places]:
    from . import in_yaml  # noqa: PLC0415 - PyYAML loads with the first YAML

    return in_yaml.parse(text)


def _dump_yaml(tree: dict[str, Json]) -> str:
    from . import in_yaml  # noqa: PLC0415 - as above

    return in_yaml.dump(tree)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "toml": Format(in_toml.parse, in_toml.dump),
        "json": Format(in_json.parse, in_json.dump),
        "yaml": Format(_parse_yaml, _dump_yaml),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """The specs of a text, in order; ``place`` and ``line`` lead from a problem back into the text."""

    name: str
    text: str
    jobs: tuple[JobSpec, ...]
    places: Places
    bases: tuple[Path, ...]

    def place(self, index: int, where: str) -> Place | None:
        """Where the field ``where`` of job ``index`` stands; a field that is not there: the table around it, or None."""
        path = self.places.follow(self.bases[index], where)
        if where == "distribution":
            path = (*path, "kind")
        return self.places.find(path)

    def inferred(self, index: int) -> Iterator[str]:
        """A line for each field that the text leaves to the script or the image, and for the image."""
        job = self.jobs[index]
        row = images.choose(job)
        written = {where for where in _INFERRED if self.places.follow(self.bases[index], where) in self.places.keys}
        if "name" not in written:
            yield f"name = {job.name!r}, the script's name"
        if row is None:
            return
        if not written & {"framework.pytorch", "framework.version"}:
            yield f"framework.pytorch = {row.pytorch!r}, of the newest image with these versions"
        if "framework.python" not in written and row.python is not None:
            yield f"framework.python = {row.python!r}, of the image"
        if not job.image_uri:
            yield f"image {row.repository}:{images.tag(row, job)}, of the framework on {images.machine(job)}"

    def line(self, number: int) -> str:
        """Line ``number`` of the text, counted from 1."""
        return self.text.split("\n")[number - 1]


def load_jobs(text: str, format: str) -> tuple[JobSpec, ...]:  # noqa: A002 - the word users know it by
    """The specs of a job file: one, or those of its ``[[job]]`` list.

    Raises InvalidJobFile with every unknown key, wrong value and syntax error; UnknownName for another format.

    >>> text = st.dump_job(job, "yaml")
    >>> [found.name for found in st.load_jobs(text, "yaml")]
    ['bert']
    """
    return parse_jobs(text, format).jobs


def dump_job(spec: JobSpec, format: str) -> str:  # noqa: A002 - the word users know it by
    """``spec`` as a job file, without what is left at its default; ``load_jobs`` makes an equal spec of it.

    Raises UnknownName for another format, SmTrnError for a distribution that no registry knows.

    >>> st.load_jobs(st.dump_job(job, "toml"), "toml") == (job,)
    True
    """
    expect_spec(spec)
    return _format(format).dump(schema.unstructure(spec))


def parse_jobs(text: str, format: str, *, name: str = "job file") -> JobFile:  # noqa: A002 - the word users know it by
    """Read a text as ``load_jobs`` does, and keep the place of each field. ``name`` stands in messages. Raises
    InvalidJobFile."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    tree, places = parse_tree(text, format, name)
    if isinstance(tree, Mapping) and SEVERAL in tree:
        trees, faults = _several(tree)
    else:
        trees, faults = [((), tree)], []
    jobs = []
    for path, part in trees:
        job = _structured(part, path, JobSpec)
        if isinstance(job, JobSpec):
            jobs.append(job)
        else:
            faults += job
    if faults:
        raise InvalidJobFile(tuple(_located(fault, places, name) for fault in _ordered(faults, places)))
    return JobFile(name=name, text=text, jobs=tuple(jobs), places=places, bases=tuple(path for path, _ in trees))


def parse_as(cls: type[T], text: str, format: str, *, name: str) -> tuple[T, Places]:  # noqa: A002 - the word users know it by
    """The value of ``cls`` that a text describes, and where its fields stand. Raises InvalidJobFile with every fault and its line."""
    tree, places = parse_tree(text, format, name)
    value = _structured(tree, (), cls)
    if isinstance(value, cls):
        return value, places
    raise InvalidJobFile(tuple(_located(fault, places, name) for fault in _ordered(cast("list[Fault]", value), places)))


def parse_tree(text: str, format: str, name: str) -> tuple[Any, Places]:  # noqa: A002 - the word users know it by
    """Tables, lists and values of a text, without the name of its schema. Raises InvalidJobFile for what is not of its format."""
    tree, places = _parse(text.removeprefix("\ufeff").replace("\r\n", "\n"), format, name)
    if isinstance(tree, Mapping):
        tree = {key: value for key, value in tree.items() if key != SCHEMA_KEY}
    return tree, places


def _structured(tree: Any, path: Path, cls: type[T]) -> T | list[Fault]:
    try:
        return schema.structure(tree, cls)
    except (BaseValidationError, MismatchError) as error:
        return list(faults_of(error, path))


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownName(f"format: got {name!r}, wanted one of {', '.join(FORMATS)}{suggestion(name, FORMATS)}")
    return FORMATS[name]


def _parse(text: str, form: str, name: str) -> tuple[Any, Places]:
    parser = _format(form).parse
    if len(text) > SIZE_CAP:
        raise _invalid(
            f"too long for a {form} job file", name, got=f"{len(text):,} characters", wanted=f"at most {SIZE_CAP:,}"
        )
    try:
        return parser(text)
    except PlacedError as error:
        raise _invalid(f"not valid {form.upper()}: {error}", name, place=error.place, text=text) from error
    except RecursionError:
        raise _invalid(f"{form} nested too deeply", name) from None
    except json.JSONDecodeError as error:
        at = Place(error.lineno, error.colno - 1, 1)
        raise _invalid(f"not valid JSON: {error.msg}", name, place=at, text=text) from error
    except ValueError as error:
        match = _TOML_PLACE.search(str(error))
        place = Place(int(match["line"]), int(match["column"]) - 1, 1) if match else None
        if "at end of document" in str(error):
            lines = text.rstrip().split("\n")
            place = Place(len(lines), len(lines[-1]), 1)
        reason = _TOML_PLACE.sub("", str(error)).strip()
        raise _invalid(f"not valid {form.upper()}: {reason}", name, place=place, text=text) from error


def _invalid(
    what: str, name: str, *, place: Place | None = None, text: str = "", got: str = "", wanted: str = ""
) -> InvalidJobFile:
    fault = Fault(what=what, file=name, place=place, got=got, wanted=wanted)
    return InvalidJobFile((dataclasses.replace(fault, line=_line(text, place)),))


def _line(text: str, place: Place | None) -> str:
    """The line of ``place``; '' where the parser counts one line more than there are."""
    lines = text.split("\n")
    return lines[place.line - 1] if place is not None and place.line <= len(lines) else ""


def _several(tree: Mapping[str, Json]) -> tuple[list[tuple[Path, Any]], list[Fault]]:
    """The trees of a file with several jobs; beside the list nothing else may stand."""
    faults = [unknown(str(key), (SEVERAL,), path=(str(key),)) for key in tree if key != SEVERAL]
    listed = tree[SEVERAL]
    if not isinstance(listed, list) or not listed:
        fault = Fault(
            what=f"wrong value of {SEVERAL}",
            path=(SEVERAL,),
            got=schema.shown(listed),
            wanted="a list of jobs",
            fix=f"a file of one job has its keys at the top, without {SEVERAL}",
        )
        return [], [*faults, fault]
    return [((SEVERAL, index), part) for index, part in enumerate(listed)], faults


def _ordered(faults: list[Fault], places: Places) -> list[Fault]:
    def line(fault: Fault) -> int:
        place = places.find_key(fault.path)
        return place.line if place else 0

    return sorted(faults, key=line)


def _located(fault: Fault, places: Places, name: str) -> Fault:
    place = places.find_key(fault.path) if fault.at_key else places.find(fault.path)
    return dataclasses.replace(fault, file=name, place=place, line=_line(places.text, place))
