"""A launcher run as it is, against the recorder, in a copy of its folder."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...core.errors import SmTrnError
from ..launchers.source import cells
from .endpoint import Endpoint
from .recording import CellFailure, Recorded

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


def record(  # noqa: PLR0913 - what is run, where, and how
    command: Sequence[str], *, folder: Path | None = None, timeout_s: float = 600.0, stop_at_submit: bool = False,
    region: str = "us-west-2", code: Sequence[tuple[int | None, str]] | None = None,
    python: Path | None = None, replaced: Mapping[str, str] | None = None,
) -> Recorded:  # fmt: skip
    """Run ``command`` in a copy of ``folder`` against the recorder, and return what it asked of AWS.

    Nothing is started, billed or sent anywhere. The command is a Python program; a ``.ipynb`` file stands for its cells,
    run one by one without their magics. With ``stop_at_submit`` the first job is refused, which ends most launchers there.
    ``code`` stands for the cells of ``command``'s file: a slice of it, and then what it would need of data and sources that
    are not here is made up. ``python`` runs it instead of this Python; ``replaced`` are what files of the folder hold in the copy.
    Raises SmTrnError for a folder that is too large to copy, and for a program that is not there.
    """
    place = (folder or Path.cwd()).resolve()
    with (
        tempfile.TemporaryDirectory(prefix="recorded-") as scratch,
        Endpoint(stop_at_submit=stop_at_submit) as endpoint,
    ):
        root = Path(scratch).resolve()
        copy, log = root / "copy", root / "refused"
        work = copy / "above" / "work"  # a launcher that looks into the folders above its own stays inside
        _copy(place, work)
        for name, text in (replaced or {}).items():
            (work / name).write_text(text, "utf-8", newline="")
        (root / "tmp").mkdir()
        (root / "home").mkdir()
        settings = {
            "endpoint": endpoint.url,
            "key": endpoint.key,
            "log": str(log),
            "region": region,
            "writable": [str(copy), str(root / "tmp"), str(root / "home")],
            "tolerant": code is not None,
        }
        began = time.monotonic()
        argv = _argv(command, work, root) if code is None else _sliced(code, work, command[0], root)
        argv = [str(python) if python is not None and word == sys.executable else word for word in argv]
        exit_code, output = _run(argv, work, _environment(settings, root, region), timeout_s)
        return Recorded(
            calls=tuple(endpoint.calls),
            uploads=dict(endpoint.uploads),
            refused=tuple(_refused(log)),
            exit_code=exit_code,
            output=output.replace(str(work), str(place))[-OUTPUT:],
            seconds=time.monotonic() - began,
            failures=tuple(CellFailure(**row) for row in _rows(log.with_name(f"{log.name}.failed"))),
        )


def _copy(source: Path, target: Path) -> None:
    size = 0
    for folder, inner, files in os.walk(source):
        left_out = _left_out(folder, inner)
        inner[:] = [name for name in inner if name not in left_out]
        size += sum(
            path.stat().st_size for name in files if (path := Path(folder, name)).is_file() and not path.is_symlink()
        )
        if size > LARGEST_COPY:
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
    program = command[1] if first in {"python", "python3"} and len(command) > 1 else first
    if program.endswith((".py", ".ipynb")) and not (work / program).is_file():
        raise SmTrnError(f"command: got {program!r}, wanted a file; there is none of this name in the folder to record")
    if first.endswith(".ipynb"):
        return [sys.executable, str(HOOK / "cells.py"), str(_cells(work / first, root))]
    if first in {"python", "python3"}:
        return [sys.executable, *command[1:]]
    if first.endswith(".py"):
        return [sys.executable, *command]
    found = shutil.which(first)
    if found is None:
        raise SmTrnError(f"command: got {first!r}, which is no program here; wanted one, such as: python launch.py")
    with Path(found).open("rb") as file:
        head = file.readline(200)
    if head.startswith(b"#!") and b"python" in head:
        return [sys.executable, found, *command[1:]]
    if Path(found).resolve() == Path(sys.executable).resolve():
        return [sys.executable, *command[1:]]
    raise SmTrnError(f"command: got {first!r}, wanted a Python program: others cannot be kept from the network")


def _sliced(code: Sequence[tuple[int | None, str]], work: Path, name: str, root: Path) -> list[str]:
    if name.endswith(".ipynb"):
        _write_files(work / name, (work / name).read_text("utf-8-sig", errors="replace"))
    path = root / "cells.json"
    path.write_text(json.dumps([(number or 0, text) for number, text in code]), "utf-8")
    return [sys.executable, str(HOOK / "cells.py"), str(path), "--apart"]


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


def _environment(settings: Mapping[str, object], root: Path, region: str) -> dict[str, str]:
    """A small environment: none of the user's credentials, profiles and addresses is in it."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    paths = [str(HOOK), *([kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else [])]
    return {
        **kept,
        "SM_TRN_RECORDER": json.dumps(settings),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "AWS_ACCESS_KEY_ID": str(settings["key"]),
        "AWS_SECRET_ACCESS_KEY": "recorded",
        "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": str(settings["endpoint"]),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(root / "tmp"),
        "HF_HUB_OFFLINE": "1",
        "SAGEMAKER_VALIDATE_ROLE": "false",
    }


def _run(argv: Sequence[str], work: Path, environment: Mapping[str, str], timeout_s: float) -> tuple[int, str]:
    """Run to the end or to the timeout; whatever it started ends with it."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(  # noqa: S603 - the user's own launcher, which they asked to run
            list(argv),
            cwd=work,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = 124
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            _end_the_rest(environment["SM_TRN_RECORDER"])
        output.seek(0)
        return code, output.read(OUTPUT * 50).decode("utf-8", "replace")


def _end_the_rest(settings: str) -> None:
    """What left the launcher's process group still has the recorder's variable, which no other process has."""
    mark = f"SM_TRN_RECORDER={settings}".encode()
    for _ in range(5):  # one that forks while it is looked for is found at the next look
        found = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if _holds(path, mark)]
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _holds(environ: Path, mark: bytes) -> bool:
    try:
        return mark in environ.read_bytes().split(b"\0") and "Z" not in _state(environ.parent)
    except OSError:
        return False


def _state(process: Path) -> str:
    return (process / "stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()[0]


def _refused(log: Path) -> Iterator[str]:
    told = [f"{row['what']} {row['detail']}" for row in _rows(log)]
    yield from dict.fromkeys(told)


def _rows(log: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file that the hook wrote; what the launcher made of it, if it did, is no row."""
    if not log.is_file():
        return
    for line in log.read_text("utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict):
                yield row
