"""The job's source as text and as a syntax tree, read once per version of a file. Runs none of it and knows no rule."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Mapping
from pathlib import Path

from .. import _entry
from ..specs.job import JobSpec

SIZE_CAP = 1_000_000  # bytes of Python that are read per file: no entry script is longer
MODEL_FLAGS = ("model_name_or_path", "model_name", "model", "model_id")
TOOLKIT_PREFIX = "sagemaker_"  # hyperparameters that the toolkit keeps from the script
REQUIREMENTS = "requirements.txt"  # beside the script
KEPT = 256  # files whose text and tree are remembered


def source_folder(job: JobSpec) -> Path | None:
    """The folder that will be uploaded; None when the source lies in S3 or git and cannot be looked at offline."""
    if job.script is None or job.script.git is not None:
        return None
    if job.script.source_dir is None:
        return _entry.scripts_folder()
    return None if job.script.source_dir.startswith("s3://") else _path(job.script.source_dir)


def shipped(job: JobSpec) -> bool:
    """Return True for a script of the package, also for a copy, as ``init`` writes it, of which nothing was changed."""
    script, folder, home = job.script, source_folder(job), _entry.scripts_folder()
    if script is None or folder is None or script.source_dir is None:
        return script is not None and script.source_dir is None and script.git is None
    if not (home / script.entry).is_file():
        return False
    copied = [script.entry, *(f"kit/{path.name}" for path in folder.glob("kit/*.py"))]
    return all(text(folder / name) == text(home / name) is not None for name in copied)


def elsewhere(job: JobSpec) -> bool:
    """Return True if what the job runs cannot be looked at from here: it lies in S3, in git or in an image."""
    return source_folder(job) is None


def entry_path(job: JobSpec) -> Path | None:
    """The entry script's own path, whether it exists or not."""
    folder = source_folder(job)
    return _path(str(folder), job.script.entry) if folder is not None and job.script is not None else None


@functools.lru_cache(maxsize=KEPT)
def _path(*parts: str) -> Path:
    """One Path for one text: making one takes longer than most rules."""
    return Path(*parts)


def entry_name(job: JobSpec) -> str:
    """The path of the job's entry script."""
    return job.script.entry if job.script is not None else "script"


def command_line(job: JobSpec) -> tuple[str, ...]:
    """The script's arguments as the training toolkit passes them, sorted by name: sagemaker-training 5.1.4, mapping.to_cmd_args."""
    own = {key: value for key, value in job.arguments.items() if not key.startswith(TOOLKIT_PREFIX)}
    return tuple(word for key in sorted(own) for word in (flag(key), _passed(own[key])))


def flag(name: str) -> str:
    """``--name``; one letter has one dash."""
    return f"--{name}" if len(name) > 1 else f"-{name}"


def _passed(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={value[key]}" for key in sorted(value))
    return "" if value is None else str(value)


def mentions(job: JobSpec, word: str) -> bool | None:
    """Return True if Python of the source folder's top level, or of the kit in it, holds ``word``; None when there is none to read."""
    folder, entry = source_folder(job), entry_path(job)
    if folder is None or entry is None or job.script is None or not entry.is_file():
        return None
    # the shipped folder holds other scripts too
    beside = ("kit/*.py",) if job.script.source_dir is None else ("*.py", "kit/*.py")
    paths = itertools.chain((entry,), *map(folder.glob, beside))
    return any(word in (text(path) or "") for path in paths)


def text(path: Path | None) -> str | None:
    """The file's text; None when it cannot be read or is too long to be a script."""
    try:
        status = path.stat() if path is not None else None
        if status is None or status.st_size > SIZE_CAP:
            return None
        return _text(str(path), status.st_mtime_ns, status.st_size)
    except OSError:
        return None


def requirements(job: JobSpec) -> str | None:
    """The text of the requirements that the training toolkit installs before it starts a script of one's own; None where there are none,
    or they cannot be looked at.
    """
    folder = source_folder(job)
    own = folder is not None and job.script is not None and job.script.source_dir is not None
    return text(folder / REQUIREMENTS) if own and folder is not None else None


def program(job: JobSpec) -> str | None:
    """The entry script's text when there is one to read and it is Python."""
    code = text(entry_path(job))
    return code if code is not None and parses(code) else None


@functools.lru_cache(maxsize=KEPT)
def calls(code: str) -> tuple[ast.Call, ...]:
    """Every call of a text that parses, in the order of a walk through its tree."""
    return tuple(node for node in ast.walk(tree(code)) if isinstance(node, ast.Call))


@functools.lru_cache(maxsize=KEPT)
def argument_calls(code: str) -> tuple[ast.Call, ...]:
    """Every ``add_argument(…)`` of a text that parses, also under a name that was bound to it."""
    aliases = {
        target.id
        for node in ast.walk(tree(code))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr == "add_argument"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return tuple(call for call in calls(code) if _adds(call.func, aliases))


def _adds(called: ast.expr, aliases: set[str]) -> bool:
    """``parser.add_argument`` or a name that was bound to it."""
    if isinstance(called, ast.Attribute):
        return called.attr == "add_argument"
    return isinstance(called, ast.Name) and called.id in aliases


@functools.lru_cache(maxsize=KEPT)
def _text(path: str, mtime_ns: int, size: int) -> str:
    del mtime_ns, size  # part of the key: a file that was changed is read again
    return Path(path).read_text("utf-8-sig", errors="replace")


@functools.lru_cache(maxsize=KEPT)
def parses(code: str) -> bool:
    """Return True if this Python can parse a text."""
    try:
        tree(code)
    except (SyntaxError, ValueError, RecursionError):
        return False  # SCRIPT003 says it
    return True


@functools.lru_cache(maxsize=KEPT)
def tree(code: str) -> ast.Module:
    return ast.parse(code)
