"""A program run in a copy of a folder: without network, with the rest of the file system read-only, within limits."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..core.errors import SmTrnError
from . import init
from .init import PYTHON, HostSpec
from .workspace import Workspace

HOOK: Final = Path(__file__).parent / "hook"
TRUST: Final = (
    "Nothing keeps the program from your files and the network on this machine: run only code that you trust."
)
SEALED: Final = (
    "Linux namespaces seal the program: it can write only to a copy of the folder and a /tmp of its own, it does not see your home, "
    "and it has no network."
)
STOPPED: Final = 124  # exit code of a program that a limit ended, as timeout(1) has it
# Of this environment: what programs need and what is never a secret.
_INHERITED: Final = ("PATH", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a program and all that it starts. Outside Linux only time and output are limited."""

    seconds: float = 600.0
    memory_mb: int = 4096
    disk_mb: int = 2048
    output_mb: int = 64
    processes: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a program ended. ``limit`` is the limit that ended it, in words; ``notes`` are the rows that its hooks wrote.

    ``output`` has its first and last lines when it is long, with the user's own paths in place of the copy's.
    """

    exit_code: int
    output: str
    limit: str = ""
    sealed: bool = True
    seconds: float = 0.0
    notes: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run: ``argv``, of which a first word "python" is ``python``, in ``folder`` of the workspace.

    It has a few variables of this environment, none of them a secret, and those of ``environment``. ``hooks`` are Python files that
    are run at the start of every Python process in it; ``settings`` are for them. In a sealed program ``port`` of its own loopback
    listens, and ``serve`` is called with that socket.
    """

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    hooks: Sequence[Path] = ()
    settings: Mapping[str, object] | None = None
    python: Path | None = None
    port: int = 0
    serve: Callable[[socket.socket], None] | None = None
    limits: Limits = Limits()


@functools.cache
def available() -> bool:
    """Return True where this machine can seal a program: one writes to its folder, and what it writes beside it is nowhere."""
    if not sys.platform.startswith("linux"):
        return False
    with tempfile.TemporaryDirectory(prefix="probe-") as scratch:
        root = Path(scratch).resolve() / "root"
        root.mkdir()
        code = "open('own', 'w').close(); open('../other', 'w').close()"
        program = Program(argv=["python", "-I", "-S", "-c", code], folder=root, environment={})
        with contextlib.suppress(SmTrnError, OSError):
            _run(program, Workspace(root, root, root), sealed=True)
        return (root / "own").exists() and not (root.parent / "other").exists()


def run(program: Program, workspace: Workspace, *, trusted: bool = False) -> Outcome:
    """Run a program to its end or to a limit; whatever it started ends with it.

    Raises SmTrnError where this machine cannot seal it and it is not ``trusted``.
    """
    sealed, began = available(), time.monotonic()
    if not sealed and not trusted:
        raise SmTrnError(
            "sandbox: got a machine without user namespaces, wanted one that keeps a program from your files and the network. "
            f"{TRUST} --trust runs it as it is"
        )
    exit_code, output, limit = _run(program, workspace, sealed=sealed)
    return Outcome(
        exit_code=exit_code,
        output=workspace.clean(output),
        limit=limit,
        sealed=sealed,
        seconds=time.monotonic() - began,
        notes=tuple(_notes(workspace)),
    )


def _run(program: Program, workspace: Workspace, *, sealed: bool) -> tuple[int, str, str]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = subprocess.Popen(  # noqa: S603 - code that its user asked to run
            _command(program, workspace, theirs.fileno(), sealed=sealed),
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(theirs.fileno(),),
            bufsize=0,
        )
        theirs.close()
        ours.settimeout(20)
        try:
            if sealed and program.serve is not None:
                program.serve(_listener(ours))
            output, limit = _read(child, program.limits)
        finally:
            _end(child)
        ours.setblocking(False)
        with contextlib.suppress(OSError):
            limit = limit or ours.recv(1000).decode("utf-8", "replace")
        return STOPPED if limit else child.returncode, output, limit


def _listener(channel: socket.socket) -> socket.socket:
    descriptors: list[int] = []
    with contextlib.suppress(OSError):
        _, descriptors, _, _ = socket.recv_fds(channel, 64, 1)
    if not descriptors:
        raise SmTrnError(
            "sandbox: got a namespace that cannot be set up, wanted one; --trust runs the program as it is"
        )
    return socket.socket(fileno=descriptors[0])


def _read(child: subprocess.Popen[bytes], limits: Limits) -> tuple[str, str]:
    """Read what the program prints until it ends or passes a limit: the output, of which a long one has no middle, and the limit."""
    assert child.stdout is not None  # noqa: S101 - it is a pipe
    pipe, until, size, limit = child.stdout.fileno(), time.monotonic() + limits.seconds, 0, ""
    head, tail, most = b"", b"", 1 << 20
    while True:
        if (left := until - time.monotonic()) <= 0:
            limit = f"it ran longer than {limits.seconds:g} s"
            break
        if not select.select([pipe], [], [], min(left, 0.5))[0]:
            if child.poll() is not None:  # a descendant that was not sealed holds the pipe
                break
            continue
        block = os.read(pipe, 1 << 16)
        if not block:
            break
        size += len(block)
        room = most - len(head)
        head, tail = head + block[:room], (tail + block[room:])[-most:]
        if size > limits.output_mb << 20:
            limit = f"it printed more than {limits.output_mb} MB"
            break
    middle = b"\n[...]\n" if size > len(head) + len(tail) else b""
    return (head + middle + tail).decode("utf-8", "replace"), limit


def _end(child: subprocess.Popen[bytes]) -> None:
    """The first process ends the others, and a namespace ends with it."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _command(program: Program, workspace: Workspace, channel: int, *, sealed: bool) -> list[str]:
    """Return how the program is started; the files that describe it lie in the workspace."""
    root = workspace.root
    first, *rest = program.argv
    python = str(program.python or sys.executable)
    environment = _environment(program, workspace)
    (root / "dev").mkdir(exist_ok=True)
    spec = HostSpec(
        namespace=sealed,
        portable=not sys.platform.startswith("linux"),
        argv=(python if first == "python" else shutil.which(first) or first, *rest),
        env=environment,
        cwd=str(program.folder),
        stage=str(root / "dev"),
        writable=str(root),
        private=_private(),
        visible=tuple(_visible(python, environment)),
        temporary=str(Path("/tmp").resolve()),  # noqa: S108 - one of its own
        channel=channel,
        port=program.port,
        memory_mb=program.limits.memory_mb,
        disk_mb=program.limits.disk_mb,
        processes=program.limits.processes,
    )
    (root / "spec.json").write_text(json.dumps(spec._asdict()), "utf-8")
    return [*PYTHON, init.__file__, str(root / "spec.json")]


def _private() -> tuple[str, ...]:
    """Return the folders that a program sees empty: homes, and where secrets and other programs' files are."""
    return "/home", "/root", "/tmp", "/run/user", "/run/secrets", "/var/run/secrets", str(Path.home())  # noqa: S108


def _visible(python: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what Python needs of the folders that are hidden: itself, its modules, and the hooks."""
    script = "import json, sys; print(json.dumps([[sys.prefix, sys.base_prefix], sys.path]))"
    own = {"PYTHONPATH": environment["PYTHONPATH"]}
    answer = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False, timeout=60, env=own)  # noqa: S603
    if answer.returncode:
        raise SmTrnError(f"python: got {python!r}, which does not start, wanted the path of a Python")
    prefixes, modules = json.loads(answer.stdout.splitlines()[-1])
    above = {path for name in _private() for path in (Path(name), *Path(name).parents)}
    for name in (*prefixes, str(Path(python).parent), *modules):
        if Path(name).is_absolute() and (name in prefixes or Path(name) not in above):
            yield from {name, str(Path(name).resolve())}


def _environment(program: Program, workspace: Workspace) -> dict[str, str]:
    root = workspace.root
    for name in ("tmp", "home"):
        (root / name).mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name in _INHERITED}
    folders = {"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "MPLCONFIGDIR": str(root / "tmp")}
    variables = {**kept, **folders, **program.environment}
    modules = (str(HOOK), *(str(hook.parent) for hook in program.hooks), variables.get("PYTHONPATH"))
    settings = {
        **(program.settings or {}),
        "log": str(root / "log"),
        "copy": str(root / "copy"),
        "hooks": [str(hook) for hook in program.hooks],
    }
    return {
        **variables,
        "SM_TRN_SANDBOX": json.dumps(settings),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path for path in modules if path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
    }


def _notes(workspace: Workspace) -> Iterator[dict[str, Any]]:
    """Yield the rows that the hooks wrote. The program can write here too: what is not a row is left out."""
    log = workspace.root / "log"
    if not log.is_file() or log.is_symlink():
        return
    with log.open("rb") as file:
        text = file.read(4_000_000).decode("utf-8", "replace")
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict):
                yield {key: workspace.clean(value) if isinstance(value, str) else value for key, value in row.items()}
