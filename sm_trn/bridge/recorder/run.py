"""A launcher run as it is, against the recorder, in a copy of its folder."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...core.errors import SmTrnError
from ...core.isolation.container_init import remove
from ...core.preflight import secrets
from ...core.preflight.secrets import holds_secret, is_named_secret
from ..launchers.source import cells
from .endpoint import Endpoint
from .isolation import Isolation, Program, chosen, ended, started
from .recording import REMOVED, Failure, Recorded, RecordedCall, RecordedPlace, without

HOOK: Final = Path(__file__).parent / "hook"
LARGEST_COPY: Final = 1_000_000_000  # bytes of the folder that is copied
OUTPUT: Final = 20_000  # characters of what the launcher printed
_LEFT_OUT: Final = (
    ".git",
    ".venv",
    "venv",
    "__pycache__",
    "node_modules",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".ruff_cache",
)
_KEPT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT")
_WRITING: Final = "_write_file_"  # what cells.py calls so
REGION: Final = "us-west-2"
_TOKENS: Final = ("AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


def record(  # noqa: PLR0913 - what is run, where, and how
    command: Sequence[str], *, folder: Path | None = None, timeout_s: float = 600.0, stop_at_submit: bool = False,
    code: Sequence[tuple[int | None, str]] | None = None, environment: Mapping[str, str] | None = None, isolation: str = "auto",
    python: Path | None = None, replaced: Mapping[str, str] | None = None, call: str = "",
) -> Recorded:  # fmt: skip
    """Run ``command`` in a copy of ``folder`` against the recorder, and return what it asked of AWS.

    Nothing is started, billed or sent anywhere. A ``.ipynb`` file stands for its cells, run one by one without their magics. With
    ``stop_at_submit`` the first job is refused, which ends most launchers there. ``code`` stands for the cells of ``command``'s
    file: a slice of it. Data and sources that it uploads and that are not here are made up, and said. ``environment`` are variables
    of the program beside the few that it has; the secrets among them are in no text of the answer. ``isolation`` is how the program
    is held: a name of Isolation, or ``auto`` for the best one here. ``python`` runs it instead of this Python; ``replaced`` are what
    files of the folder hold in the copy. ``call`` is called at the end of the file, which is imported then and not run. Raises
    SmTrnError where the machine cannot hold it so, for a folder that is too large to copy, and for a program that is not there.

    >>> record(["python", "launch.py"], environment={"EPOCHS": "3"}).jobs  # doctest: +SKIP
    """
    place = (folder or Path.cwd()).resolve()
    given = dict(environment or {})
    hidden = tuple(value for name, value in given.items() if is_named_secret(name, value) or holds_secret(value))
    tier = chosen(isolation)
    with (
        _scratch() as root,
        Endpoint(stop_at_submit=stop_at_submit, hidden=hidden) as endpoint,
    ):
        top = _top(place)
        above = root / "copy" / "above" / "work"  # a launcher that looks into the folders above its own stays inside
        _copy(top, above)
        work = above / place.relative_to(top)
        for name, text in (replaced or {}).items():
            (work / name).write_text(text, "utf-8", newline="")
        argv = _argv(command, work, root, call) if code is None else _sliced(code, work, command, root)
        began = time.monotonic()
        program = Program(
            argv=[str(python) if python is not None and word == sys.executable else word for word in argv],
            folder=(work / command[0]).parent if command[0].endswith(".ipynb") else work,
            environment=_environment(endpoint, root, given),
            root=root,
            port=endpoint.port,
        )
        exit_code, output = _run(program, tier, endpoint, timeout_s)
        texts = Cleaned(str(above), str(top), hidden)
        told = _told(root / "log", texts)
        return Recorded(
            calls=tuple(texts.placed(call) for call in endpoint.calls),
            uploads=dict(endpoint.uploads),
            exit_code=exit_code,
            output=texts.clean(output)[-OUTPUT:],
            seconds=time.monotonic() - began,
            isolation=tier.value,
            refused=told.refused,
            failures=told.failures if exit_code else (),
            stand_ins=told.stand_ins,
        )


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for the run, which is gone after it whatever the launcher made of it."""
    root = Path(tempfile.mkdtemp(prefix="recorded-")).resolve()
    try:
        yield root
    finally:
        remove(root)


def _top(folder: Path) -> Path:
    """What is copied: the repository that the folder lies in, whose modules a launcher may need, unless that is too large."""
    for above in folder, *folder.parents:
        if (above / ".git").exists():
            return above if _fits(above) else folder
    return folder


def _fits(source: Path) -> bool:
    size = 0
    for folder, inner, files in os.walk(source):
        left_out = _left_out(folder, inner)
        inner[:] = [name for name in inner if name not in left_out]
        size += sum(
            path.stat().st_size for name in files if (path := Path(folder, name)).is_file() and not path.is_symlink()
        )
        if size > LARGEST_COPY:
            return False
    return True


def _copy(source: Path, target: Path) -> None:
    if not _fits(source):
        limit = f"{LARGEST_COPY / 1e9:.0f} GB"
        raise SmTrnError(
            f"folder: got more than {limit} in {source}, wanted one that can be copied; start it in a smaller one"
        )
    shutil.copytree(source, target, ignore=_left_out, symlinks=True, ignore_dangling_symlinks=True)


def _left_out(folder: str, names: list[str]) -> set[str]:
    """The names in ``folder`` that are not copied: caches, pipes, and virtual environments whatever they are called."""
    return {name for name in names if name in _LEFT_OUT or _is_left_out(Path(folder, name))}


def _is_left_out(path: Path) -> bool:
    return (path / "pyvenv.cfg").is_file() or not (path.is_file() or path.is_dir() or path.is_symlink())


def _argv(command: Sequence[str], work: Path, root: Path, call: str) -> list[str]:
    if not command:
        raise SmTrnError("command: got none, wanted one, such as: sm-trn import --run -- python launch.py")
    first = command[0]
    python = first in {"python", "python3"}
    program = command[1] if python and len(command) > 1 else first
    if program.endswith((".py", ".ipynb")):
        _inside(program, work, root)
    call = f"{call}()" if call and not call.endswith(")") else call
    if first.endswith(".ipynb"):
        rows = _notebook(work / first)
        return _cells([*rows, (len(rows) + 1, call)] if call else rows, root, "whole", command)
    if call and program.endswith(".py"):
        return [sys.executable, str(HOOK / "called.py"), call, program, *command[1 + python :]]
    if call:
        raise SmTrnError(f"call: got the program {program!r}, wanted a .py or .ipynb file: python launch.py")
    if python:
        return [sys.executable, *command[1:]]
    if first.endswith(".py"):
        return [sys.executable, *command]
    if shutil.which(first) is None and not (work / first).is_file():
        raise SmTrnError(f"command: got {first!r}, which is no program here; wanted one, such as: python launch.py")
    return list(command)


def _inside(name: str, work: Path, root: Path) -> Path:
    """A file of the copy. Raises SmTrnError for what is none, and for names that lead out of it."""
    path = Path(os.path.normpath(work / name))
    if root / "copy" not in path.parents or not path.is_file():
        raise SmTrnError(f"command: got {name!r}, wanted a file; there is none of this name in the folder to record")
    return path


def _sliced(code: Sequence[tuple[int | None, str]], work: Path, command: Sequence[str], root: Path) -> list[str]:
    name = command[0]
    written = (
        [row for row in _notebook(_inside(name, work, root)) if row[1].startswith(_WRITING)]
        if name.endswith(".ipynb")
        else []
    )
    return _cells([*written, *((number or 0, text) for number, text in code)], root, "apart", command)


def _cells(code: Sequence[tuple[int, str]], root: Path, mode: str, arguments: Sequence[str]) -> list[str]:
    path = root / "cells.json"
    path.write_text(json.dumps(code), "utf-8")
    return [sys.executable, str(HOOK / "cells.py"), str(path), mode, *arguments]


def _notebook(path: Path) -> list[tuple[int, str]]:
    """The cells of a notebook, each with its number. ``%%writefile``, the entry point of some, is code that writes the file."""
    rows = []
    for cell in cells(path.name, path.read_text("utf-8-sig", errors="replace")):
        head, _, body = cell.raw.lstrip().partition("\n")
        words = head.split()
        code = cell.code
        if words[:1] == ["%%writefile"] and len(words) > 1:
            code = f"{_WRITING}({words[-1]!r}, {body!r}, {'-a' in words})"
        rows.append((cell.number or 0, code))
    return rows


def _environment(endpoint: Endpoint, root: Path, given: Mapping[str, str]) -> dict[str, str]:
    """A small environment, and what is given: none of the user's credentials, profiles and addresses is in it."""
    for name in "tmp", "home":
        (root / name).mkdir()
    region = given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION") or REGION
    settings = {
        "endpoint": endpoint.url,
        "key": endpoint.key,
        "log": str(root / "log"),
        "region": region,
        "copy": str(root / "copy"),
    }
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    defaults = {
        "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region,
        "HOME": str(root / "home"),
        "MPLBACKEND": "Agg",
        "HF_HUB_OFFLINE": "1",
        "PIP_RETRIES": "0",
        "SAGEMAKER_VALIDATE_ROLE": "false",
    }
    wanted = {name: value for name, value in {**kept, **defaults, **given}.items() if name not in _TOKENS}
    return {
        **wanted,
        "SM_TRN_RECORDER": json.dumps(settings),
        "PYTHONPATH": os.pathsep.join(path for path in (str(HOOK), wanted.get("PYTHONPATH")) if path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "AWS_ACCESS_KEY_ID": endpoint.key,
        "AWS_SECRET_ACCESS_KEY": "recorded",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": endpoint.url,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "TMPDIR": str(root / "tmp"),
        "MPLCONFIGDIR": str(root / "tmp"),
    }


def _run(program: Program, tier: Isolation, endpoint: Endpoint, timeout_s: float) -> tuple[int, str]:
    """Run to the end or to the timeout; whatever it started ends with it."""
    with tempfile.TemporaryFile() as output:
        with started(program, tier, output) as (child, listener):
            if listener is not None:
                endpoint.answer_on(listener)
            code = ended(child, timeout_s)
        output.seek(0)
        return code, output.read(OUTPUT * 50).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Texts of the run as the user may see them: with the user's own folder for the copy, and without secrets."""

    work: str
    place: str
    hidden: tuple[str, ...]

    def clean(self, text: str) -> str:
        """The text without them."""
        return secrets.without_secrets(without(text.replace(self.work, self.place), self.hidden), REMOVED)

    def placed(self, call: RecordedCall) -> RecordedCall:
        """The call with places in the user's own files."""
        places = tuple(RecordedPlace(place.file.replace(self.work, self.place), place.line) for place in call.places)
        return replace(call, places=places)


class Told(NamedTuple):
    """What the hook wrote down."""

    refused: tuple[str, ...]
    failures: tuple[Failure, ...]
    stand_ins: tuple[str, ...]


def _told(log: Path, texts: Cleaned) -> Told:
    """What the hook wrote down, by its kind."""
    refused, failures, stand_ins = list[str](), list[Failure](), list[str]()
    for row in _rows(log):
        words: dict[str, Any] = {
            name: texts.clean(value) if isinstance(value, str) else value for name, value in row.items()
        }
        kind = words.pop("kind", "")
        if kind == "refused":
            refused.append(f"{words.get('what')} {words.get('detail')}")
        elif kind == "stand-in":
            stand_ins.append(str(words.get("name")))
        elif kind == "failed":
            with contextlib.suppress(TypeError):  # the launcher can write here too
                failures.append(Failure(**words))
    return Told(tuple(dict.fromkeys(refused)), tuple(failures), tuple(dict.fromkeys(stand_ins)))


def _rows(log: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file that the hook wrote; what the launcher made of it, if it did, is no row."""
    if not log.is_file() or log.is_symlink():
        return
    for line in log.read_text("utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict):
                yield row
