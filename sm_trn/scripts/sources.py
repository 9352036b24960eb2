"""What a job's script consists of: its own modules, as text and trees, and the releases of the libraries it is given."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from ..core.catalog import images
from ..core.preflight import source
from ..core.specs.framework import Container
from ..core.specs.job import JobSpec
from . import fields

LIBRARIES = ("transformers", "trl")  # of which the table has releases
Programs: TypeAlias = tuple[tuple[str, str], ...]  # paths and texts
_FILES = ("-r", "--requirement", "-c", "--constraint")  # options that name another file
MODULES = 40  # of a source that are read
_CODE, _CHANNELS = PurePosixPath("/opt/ml/code"), PurePosixPath("/opt/ml/input/data")


def programs(job: JobSpec) -> Programs:
    """The entry script, and the modules of its folder that it imports: their paths in the folder, and their texts.

    Of a shipped script the entry alone: what its kit does is known.
    """
    entry, folder = source.program(job), source.source_folder(job)
    if entry is None or folder is None or job.script is None:
        return ()
    found, waiting = {job.script.entry: entry}, [job.script.entry]
    here = _stems(folder) if job.script.source_dir is not None else frozenset()
    while waiting and len(found) < MODULES:
        file = waiting.pop()
        for path in _files(_imported(found[file]), Path(file).parent, folder, here):
            text = source.text(folder / path)
            if path not in found and text is not None and source.parses(text):
                found[path] = text
                waiting.append(path)
    return tuple(found.items())


def file_here(job: JobSpec, path: str) -> Path | None:
    """The file of this machine that a job finds at ``path``: in its source folder or in a channel; None where it lies elsewhere."""
    folder, inside = source.source_folder(job), PurePosixPath(path)
    if inside.is_relative_to(_CHANNELS) and len(inside.parts) > len(_CHANNELS.parts) + 1:
        name, *rest = inside.relative_to(_CHANNELS).parts
        uri = str(job.channels[name].uri) if name in job.channels else "://"
        return None if "://" in uri else Path(uri, *rest)
    if inside.is_relative_to(_CODE):
        inside = inside.relative_to(_CODE)
    return None if folder is None or inside.is_absolute() else folder / inside


def _stems(folder: Path) -> frozenset[str]:
    """The names under which a folder's files and folders can be imported."""
    return _listed(str(folder), folder.stat().st_mtime_ns)


@functools.lru_cache(maxsize=source.KEPT)
def _listed(folder: str, mtime_ns: int) -> frozenset[str]:
    del mtime_ns  # part of the key: a folder whose entries changed is listed again
    return frozenset(path.stem for path in Path(folder).iterdir())


@functools.lru_cache(maxsize=source.KEPT)
def _imported(text: str) -> frozenset[str]:
    """The dotted names that a program imports."""
    found: set[str] = set()
    for node in ast.walk(source.tree(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update(f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)
            found.add(node.module or "")
    return frozenset(found - {""})


def _files(names: frozenset[str], beside: Path, folder: Path, top: frozenset[str]) -> Iterator[str]:
    """The files of the folder that these names are; ``beside`` is where the program that imports them lies."""
    for base, stems in ((Path(), top), (beside, _stems(folder / beside))) if beside != Path() else ((Path(), top),):
        for name in names:
            if name.partition(".")[0] not in stems:
                continue
            path = base.joinpath(*name.split("."))
            yield from (
                str(each) for each in (path.with_suffix(".py"), path / "__init__.py") if (folder / each).is_file()
            )


def releases_of(job: JobSpec) -> tuple[tuple[str, str | None], ...]:
    """Each library, and its release."""
    return tuple((library, release_of(job, library)) for library in LIBRARIES)


def release_of(job: JobSpec, library: str) -> str | None:
    """The release of transformers or trl that the job's script will import, as the table knows it; None where nothing says.

    The image's own is there unless requirements.txt excludes it: pip leaves alone what fits. What another file or an address asks for
    is not known.
    """
    version, text = _in_image(job, library), source.requirements(job)
    if text:
        if any(line.startswith(_FILES) or ("://" in line and library in line) for line in text.splitlines()):
            return None
        from ..images.requirements import requirements_of  # noqa: PLC0415 - its library loads for what needs it alone

        for each in requirements_of(text):
            if each.name == library and (version is None or not each.admits(version)):
                version = each.exact
    return fields.release(library, version) if version is not None else None


def _in_image(job: JobSpec, library: str) -> str | None:
    """The release that the image is built with, where that is published."""
    row = None if job.image_uri or isinstance(job.framework, Container) else images.choose(job)
    if row is None or (library == "transformers" and row.transformers):
        return row.transformers if row is not None else None
    if not any(library in text for _, text in programs(job)):
        return None  # the table of contents loads for a script that names the library alone
    from ..images.contents import contents_of  # noqa: PLC0415 - as above

    held = contents_of(job)
    version = held.version(library) if held is not None else None
    return version.public if version is not None else None
