"""The programs of released packages, as text out of their wheels, or their sources, on an index. Nothing of them is built or run."""

from __future__ import annotations

import contextlib
import io
import re
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

WHOLE = 40_000_000  # bytes: of a longer wheel – PyTorch's – only the parts that are asked for are fetched
LONGEST = 3_000_000  # bytes of a program that is read
_AT_ONCE = 1 << 18  # bytes of one request for a part
_TIMEOUT_S = 60
# Classes, functions and values near the top of a module: in a block there, too.
_DEFINED = re.compile(r"^(?: {4})?(?:(?:class |def |async def )(?=\w)|(?=\w+ *(?::[^\n=]*)?=[^=]))(\w+)", re.MULTILINE)
_NATIVE = (".so", ".pyd")


class UnreadError(Exception):
    """A wheel, or a source, that cannot be fetched, or is none."""


class _Wheel(Mapping[str, bytes]):
    """The files of a wheel by their paths below site-packages."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive, self._paths = archive, frozenset(archive.namelist())

    def __getitem__(self, path: str) -> bytes:
        if self._archive.getinfo(path).file_size > LONGEST:
            raise UnreadError(path)
        return self._archive.read(path)

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


@dataclass(eq=False)
class Release:
    """One release of a package, or the job's own programs, with their files by path. ``partial`` says that fetching them all takes long,
    ``source`` that a build may make more of them.
    """

    name: str
    version: str
    files: Mapping[str, bytes]
    partial: bool = False
    source: bool = False
    _texts: dict[str, str | None] = field(default_factory=dict)
    _with: dict[str, list[Requirement]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @cached_property
    def modules(self) -> frozenset[str]:
        """The modules at its top: ``sklearn`` of scikit-learn."""
        tops = {PurePosixPath(path).parts[0] for path in self.files if path.endswith((".py", *_NATIVE))}
        return frozenset(top.split(".")[0] for top in tops)

    def links(self, library: str) -> bool:
        """Whether a compiled module of it, of those that are not long, names a shared library."""
        for path in self.files:
            with contextlib.suppress(UnreadError):
                if path.endswith(_NATIVE) and library.encode() in self.files[path]:
                    return True
        return False

    def needs(self, extra: str) -> list[Requirement]:
        """What the release says that it needs together with one of its extras: ``accelerate`` for ``transformers[torch]``."""
        if extra not in self._with:
            self._with[extra] = [
                each for each in self._needs if each.marker is None or each.marker.evaluate({"extra": extra})
            ]
        return self._with[extra]

    @cached_property
    def _needs(self) -> list[Requirement]:
        lines = re.findall(r"^Requires-Dist: (.+?)\s*$", self._metadata, re.MULTILINE)
        return [each for line in lines if (each := _requirement(line)) is not None]

    @cached_property
    def python(self) -> str:
        """The Pythons that the release says it is for; empty where it says nothing."""
        found = re.search(r"^Requires-Python: (.+?)\s*$", self._metadata, re.MULTILINE)
        return found[1] if found is not None else ""

    @cached_property
    def _metadata(self) -> str:
        path = next((path for path in self.files if path.endswith(".dist-info/METADATA")), None)
        text = self.files[path].decode("utf-8", errors="replace") if path is not None else ""
        return text.partition("\n\n")[0]

    def path(self, module: str) -> str | None:
        """The file of a module, dotted; None where it has none that is Python."""
        stem = module.replace(".", "/")
        return next((path for path in (f"{stem}/__init__.py", f"{stem}.py") if path in self.files), None)

    def is_package(self, module: str) -> bool:
        """Whether a module may have modules below it."""
        return f"{module.replace('.', '/')}/__init__.py" in self.files

    def has_module(self, module: str) -> bool:
        """Whether there is such a module: of Python, compiled, or a folder that may be one."""
        return self.path(module) is not None or module.replace(".", "/") in self._stems

    @cached_property
    def _stems(self) -> frozenset[str]:
        """Folders, and compiled modules without their endings."""
        folders = {str(parent) for path in self.files for parent in PurePosixPath(path).parents}
        return frozenset(folders | {path.split(".")[0] for path in self.files if path.endswith(_NATIVE)})

    def text(self, module: str) -> str | None:
        """The text of a module; None where it is no Python, too long, or cannot be fetched."""
        path = self.path(module)
        if path is None:
            return None
        if path not in self._texts:
            try:
                self._texts[path] = self.files[path].decode("utf-8", errors="replace")
            except (OSError, UnreadError, zipfile.BadZipFile, zlib.error, RuntimeError):
                self._texts[path] = None
        return self._texts[path]

    def definers(self, name: str, package: str) -> list[str]:
        """The modules below a package that define a class, a function or a value of this name. Raises UnreadError where ``partial``."""
        if self.partial:
            raise UnreadError(self.name)
        return [module for module in self._definers.get(name, ()) if f"{module}.".startswith(f"{package}.")]

    @cached_property
    def _definers(self) -> dict[str, list[str]]:
        """The modules that define a name near their top. Not those of stand-ins, which raise when they are used."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.files):
            if path.endswith(".py") and "/tests/" not in path and "/dummy_" not in path:
                module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                for name in set(_DEFINED.findall(self.text(module) or "")):
                    found.setdefault(name, []).append(module)
        return found


def _requirement(line: str) -> Requirement | None:
    """A requirement of a release; None for one of the old forms, ``>=1.9.*``, that only old installers read."""
    with contextlib.suppress(InvalidRequirement):
        return Requirement(line)
    return None


def read_release(name: str, version: str, url: str, size: int | None) -> Release:
    """One release, from the address of its wheel or its source. Raises UnreadError."""
    try:
        if not url.endswith(".whl"):
            return Release(name, version, _source_files(_whole(url)), source=True)
        if size is None or size <= WHOLE:
            return Release(name, version, _Wheel(zipfile.ZipFile(io.BytesIO(_whole(url)))))
        parts = io.BufferedReader(_Parts(url, size), _AT_ONCE)
        return Release(name, version, _Wheel(zipfile.ZipFile(parts)), partial=True)
    except (OSError, EOFError, zipfile.BadZipFile, tarfile.TarError, zlib.error, ValueError) as error:
        raise UnreadError(f"{url}: {error}") from error


def _source_files(content: bytes) -> dict[str, bytes]:
    """The programs of a source that setuptools packed, by their paths below site-packages."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            packed = archive.extractfile(member) if member.size <= LONGEST else None
            if packed is not None and member.name.endswith((".py", ".egg-info/top_level.txt")):
                found[member.name.partition("/")[2]] = packed.read()
    named = next((path for path in found if path.endswith("top_level.txt")), None)
    if named is None:
        raise UnreadError("a source whose modules are not named")
    tops = {f"{top}{end}" for top in found[named].decode().split() for end in ("", ".py")}
    parent = PurePosixPath(named).parent.parent
    below = f"{parent}/" if parent != PurePosixPath() else ""  # src
    files = {path.removeprefix(below): text for path, text in found.items() if path.startswith(below)}
    return {path: text for path, text in files.items() if path.partition("/")[0] in tops}


def _whole(url: str) -> bytes:
    with _opened(url) as answer:
        content: bytes = answer.read(WHOLE + 1)
    if len(content) > WHOLE:
        raise UnreadError(f"{url} is longer than {WHOLE} bytes")
    return content


def _opened(url: str, **headers: str) -> Any:
    if not url.startswith(("https://", "http://", "file://")):
        raise UnreadError(f"{url} is no address of an index")
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT_S)  # noqa: S310 - checked above


class _Parts(io.RawIOBase):
    """A file on a server, of which only what is read is fetched: RFC 9110, range requests."""

    def __init__(self, url: str, size: int) -> None:
        super().__init__()
        self._url, self._size, self._at = url, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        last = min(self._at + len(buffer), self._size) - 1
        if last < self._at:
            return 0
        with _opened(self._url, Range=f"bytes={self._at}-{last}") as answer:
            if answer.status != 206:  # partial content
                raise UnreadError(f"{self._url} is not sent in parts")
            content = answer.read(last - self._at + 1)
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)
