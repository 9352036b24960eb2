"""Which files of a folder are its source: what is left behind, and which names look like secrets.

Names decide; only of ``*.pem`` the contents are read too, for most of them are public certificates.

``.sm_trn_ignore`` in the folder leaves out more, in gitignore's syntax; ``!name`` in it brings back what would be left out,
and says of a secret-looking file that it is meant to travel.
"""

from __future__ import annotations

import fnmatch
import itertools
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..specs.job import JobSpec
from ..specs.problems import Advice, Field, Problem, rules_of
from . import source

if TYPE_CHECKING:
    import pathspec

IGNORE_FILE = ".sm_trn_ignore"
LEFT_OUT = frozenset(
    {
        "__pycache__", ".git", ".venv", "venv", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache", ".pytest_cache",
        ".DS_Store", IGNORE_FILE,
    }
)  # fmt: skip
# Names that tools give to keys and passwords; a certificate (*.crt, *.cer) is public and not among them.
SECRET_FILES = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.ppk", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
    ".netrc", "_netrc", ".pgpass", ".git-credentials", "credentials", "credentials.json", "service_account*.json",
    "kaggle.json", ".pypirc", ".npmrc", ".dockercfg",
)  # fmt: skip
SECRET_FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".kube", ".docker"})
EXAMPLES = (".example", ".sample", ".template", ".dist", ".pub")
_PEM_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,60})-----")  # RFC 7468
_PEM_READ = 4_000_000  # bytes: a bundle of all public authorities has 300,000
_SECRET = re.compile("|".join(fnmatch.translate(pattern) for pattern in SECRET_FILES), re.IGNORECASE)

_RULES = rules_of(__package__)
SOURCE_FILES = 20_000  # a source of more is not looked through: a home folder, or a data set, in the place of the code


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file of this machine that travels; ``secret`` where its name looks like a key or a password."""

    path: Path
    secret: bool


def packing(folder: Path, *, at_most: int | None = None) -> dict[str, PackedFile]:
    """Return the files of ``folder`` that would be uploaded, by name and in a fixed order; some ``at_most`` of them.

    Links that leave the folder are not followed.
    """
    rules = _rules(folder)
    names = sorted(itertools.islice(_walk(folder, rules), at_most), key=lambda name: name.split("/"))
    return {name: PackedFile(path := folder / name, _secret(name, path) and not _meant(name, rules)) for name in names}


def packed_files(folder: Path, dependencies: Iterable[str]) -> dict[str, PackedFile]:
    """Return the uploaded files of a script, by their names in the container: the folder's files, and beside them the dependencies.

    Each lies under the last part of its path, what it holds where that is empty; of two with one name the later wins.
    ``..`` is no name (SCRIPT012). Of a folder of more than ``SOURCE_FILES`` files come one more than that.
    Source: sagemaker 2.257.7, fw_utils.py, line 468, and utils.py, line 527.
    """
    found = {}
    beside = ((Path(path), posixpath.basename(path)) for path in dependencies)
    for path, name in ((folder, ""), *(pair for pair in beside if pair[1] != "..")):
        if path.is_dir():
            packed = packing(path, at_most=SOURCE_FILES + 1)
        else:
            packed = {"": PackedFile(path, _secret(path.name, path))} if path.is_file() else {}
        for inside, file in packed.items():
            found[posixpath.normpath(posixpath.join(name, inside))] = file
    return found


def source_files(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT011, SCRIPT013: whoever may read the bucket reads the source, and every host unpacks it."""
    folder = source.source_folder(job)
    if folder is None or job.script is None or not folder.is_dir():
        return
    if job.script.source_dir is None and not job.script.dependencies:
        return
    files = packed_files(folder, job.script.dependencies)
    where = Field("script.source_dir")
    if len(files) > SOURCE_FILES:
        yield _RULES["SCRIPT013"].problem(
            where,
            "it holds more than code, and all of it would be uploaded",
            got=f"more than {SOURCE_FILES:,} files",
            wanted="a folder of code",
            fix=Advice(f"name the folder of the script, or leave out the rest in {IGNORE_FILE}"),
        )
    secrets = [name for name, file in files.items() if file.secret]
    if not secrets:
        return
    more = f" and {len(secrets) - 3} more" if len(secrets) > 3 else ""
    yield _RULES["SCRIPT011"].problem(
        where,
        "files that look like keys or passwords would be uploaded with the source",
        got=", ".join(map(repr, secrets[:3])) + more,
        wanted="code",
        fix=Advice(
            f"leave it out with the line /{secrets[0]} in {IGNORE_FILE}, or say that it is meant with !/{secrets[0]}"
        ),
    )


def _rules(folder: Path) -> pathspec.GitIgnoreSpec | None:
    """The folder's own ignore file after the usual rules; None without one, which spares thousands of matches."""
    try:
        lines = (folder / IGNORE_FILE).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    import pathspec  # noqa: PLC0415 - loaded for folders that have an ignore file

    return pathspec.GitIgnoreSpec.from_lines([*sorted(LEFT_OUT), "*.pyc", *lines])


def _walk(folder: Path, rules: pathspec.GitIgnoreSpec | None) -> Iterator[str]:
    """Folders that are left out are not entered: a virtual environment has 10,000 files."""
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            entries = list(os.scandir(folder / inside))
        except OSError:
            continue
        for entry in entries:
            name = posixpath.join(inside, entry.name)
            if entry.is_dir(follow_symlinks=False):
                waiting += [] if _left_out(f"{name}/", rules) else [name]
            elif not _left_out(name, rules) and entry.is_file() and (not entry.is_symlink() or _within(folder, name)):
                yield name


def _within(folder: Path, link: str) -> bool:
    return (folder / link).resolve().is_relative_to(folder.resolve())


def _left_out(inside: str, rules: pathspec.GitIgnoreSpec | None) -> bool:
    if rules is None:
        name = posixpath.basename(inside.rstrip("/"))
        return name in LEFT_OUT or name.endswith(".pyc")
    return bool(rules.match_file(inside))


def _secret(inside: str, path: Path) -> bool:
    """Return True if the name looks like a key's or a password's, and the contents do not say that they are public."""
    *folders, name = inside.split("/")
    if name.endswith(EXAMPLES):
        return False
    return (_SECRET.match(name) is not None or not SECRET_FOLDERS.isdisjoint(folders)) and not _public(path)


def _public(path: Path) -> bool:
    """Return True if a PEM file holds nothing but what may be known: certificates, public keys, parameters."""
    if path.suffix.lower() != ".pem":
        return False
    try:
        with path.open("rb") as file:
            raw = file.read(_PEM_READ)
            labels = _PEM_BLOCK.findall(raw)
            return bool(labels) and not file.read(1) and not any(b"PRIVATE" in label for label in labels)
    except OSError:
        return False


def _meant(inside: str, rules: pathspec.GitIgnoreSpec | None) -> bool:
    """Return True if a line of the ignore file brings it back."""
    return rules is not None and rules.check_file(inside).include is False


RULES = (source_files,)
