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


REGION: Final = "us-west-2"
_TOKENS: Final = ("AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


def record(
    command: Sequence[str], *, folder: Path | None = None, timeout_s: float = 600.0, stop_at_submit: bool = False,
    code: Sequence[tuple[int | None, str]] | None = None, environment: Mapping[str, str] | None = None, isolation: str = "auto",
) -> Recorded:  # fmt: skip
    """Run ``command`` in a copy of ``folder`` against the recorder, and return what it asked of AWS.

    Nothing is started, billed or sent anywhere. A ``.ipynb`` file stands for its cells, run one by one without their magics. With
    ``stop_at_submit`` the first job is refused, which ends most launchers there. ``code`` stands for the cells of ``command``'s
    file: a slice of it, and then what it would need of data and sources that are not here is made up. ``environment`` are variables
    of the program beside the few that it has; the secrets among them are in no text of the answer. ``isolation`` is how the program
    is held: a name of Isolation, or ``auto`` for the best one here. Raises SmTrnError where the machine cannot hold it so, for a
    folder that is too large to copy, and for a program that is not there.

    >>> record(["python", "launch.py"], environment={"EPOCHS": "3"}).jobs  # doctest: +SKIP
    """
    place = (folder or Path.cwd()).resolve()
    given = dict(environment or {})
    region = given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION") or REGION
    hidden = tuple(value for name, value in given.items() if is_named_secret(name, value) or holds_secret(value))
    tier = chosen(isolation)
    with (
        tempfile.TemporaryDirectory(prefix="recorded-", ignore_cleanup_errors=True) as scratch,
        Endpoint(stop_at_submit=stop_at_submit, hidden=hidden) as endpoint,
    ):
        root = Path(scratch).resolve()
        copy, log = root / "copy", root / "log"
        top = _top(place)
        above = copy / "above" / "work"  # a launcher that looks into the folders above its own stays inside
        _copy(top, above)
        work = above / place.relative_to(top)
        (root / "tmp").mkdir()
        (root / "home").mkdir()
        settings = {
            "endpoint": endpoint.url,
            "key": endpoint.key,
            "log": str(log),
            "region": region,
            "copy": str(copy),
            "tolerant": code is not None,
        }
        began = time.monotonic()
        program = Program(
            argv=_argv(command, work, root) if code is None else _sliced(code, work, command[0], root),
            folder=(work / command[0]).parent if command and command[0].endswith(".ipynb") else work,
            environment=_environment(settings, root, region, given),
            root=root,
            port=endpoint.port,
        )
        exit_code, output = _run(program, tier, endpoint, timeout_s)
        texts = Cleaned(str(above), str(top), hidden)
        told = _told(log, texts)
        return Recorded(
            calls=tuple(texts.placed(call) for call in endpoint.calls),
            uploads=dict(endpoint.uploads),
            exit_code=exit_code,
            output=texts.clean(output)[-OUTPUT:],
            seconds=time.monotonic() - began,
            isolation=tier.value,
            refused=told.refused,
            failures=told.failures,
            stand_ins=told.stand_ins,
        )


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
    """The names in ``folder`` that are not copied: caches, and virtual environments whatever they are called."""
    return {name for name in names if name in _LEFT_OUT or Path(folder, name, "pyvenv.cfg").is_file()}


def _argv(command: Sequence[str], work: Path, root: Path) -> list[str]:
    if not command:
        raise SmTrnError("command: got none, wanted one, such as: sm-trn import --run -- python launch.py")
    first = command[0]
    python = first in {"python", "python3"}
    program = command[1] if python and len(command) > 1 else first
    if program.endswith((".py", ".ipynb")) and not (work / program).is_file():
        raise SmTrnError(f"command: got {program!r}, wanted a file; there is none of this name in the folder to record")
    if first.endswith(".ipynb"):
        return [sys.executable, str(HOOK / "cells.py"), str(_cells(work / first, root)), "whole", *command]
    if python:
        return [sys.executable, *command[1:]]
    if first.endswith(".py"):
        return [sys.executable, *command]
    if shutil.which(first) is None and not (work / first).is_file():
        raise SmTrnError(f"command: got {first!r}, which is no program here; wanted one, such as: python launch.py")
    return list(command)


def _sliced(code: Sequence[tuple[int | None, str]], work: Path, name: str, root: Path) -> list[str]:
    if name.endswith(".ipynb"):
        _write_files(work / name, (work / name).read_text("utf-8-sig", errors="replace"))
    path = root / "cells.json"
    path.write_text(json.dumps([(number or 0, text) for number, text in code]), "utf-8")
    return [sys.executable, str(HOOK / "cells.py"), str(path), "apart", name]


def _cells(notebook: Path, root: Path) -> Path:
    text = notebook.read_text("utf-8-sig", errors="replace")
    found = [(cell.number, cell.code) for cell in cells(notebook.name, text)]
    path = root / "cells.json"
    path.write_text(json.dumps(found), "utf-8")
    _write_files(notebook, text)
    return path


def _write_files(notebook: Path, text: str) -> None:
    """``%%writefile`` writes the entry point of some notebooks: it is done here, inside the copy."""
    for cell in cells(notebook.name, text):
        head, _, body = cell.raw.lstrip().partition("\n")
        words = head.split()
        if words[:1] == ["%%writefile"] and len(words) > 1:
            target = (notebook.parent / words[-1]).resolve()
            if notebook.parent.resolve() in target.parents:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(body, "utf-8")


def _environment(settings: Mapping[str, object], root: Path, region: str, given: Mapping[str, str]) -> dict[str, str]:
    """A small environment, and what is given: none of the user's credentials, profiles and addresses is in it."""
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
        "AWS_ACCESS_KEY_ID": str(settings["key"]),
        "AWS_SECRET_ACCESS_KEY": "recorded",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": str(settings["endpoint"]),
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
