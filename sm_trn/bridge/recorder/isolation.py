"""How far a launcher can be held here: by a namespace, by bubblewrap, by Landlock, or not at all."""

from __future__ import annotations

import contextlib
import enum
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from ...core.errors import SmTrnError
from ...core.isolation import container_init, seal
from ...core.isolation.container_init import CREDENTIALS, PYTHON, HostSpec, bubblewrap, hiding

ENDED: Final = 124  # exit code of what ran too long, as timeout(1) has it
_PROBE_S: Final = 10.0
_KILL_S: Final = 10.0
# A program that is held writes in its folder, and nowhere beside it, and reaches its own port.
_CHECK: Final = """
import socket, sys
open(sys.argv[1], "w").close()
socket.create_connection(("127.0.0.1", int(sys.argv[3])), 5).close()
try:
    open(sys.argv[2], "w").close()
except OSError:
    sys.exit(0)
sys.exit(1)
"""


class Isolation(enum.Enum):
    """``value`` is the name for ``--isolation``."""

    NAMESPACE = "namespace"
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"

    @property
    def sentence(self) -> str:
        """What it holds, for the user."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    Isolation.NAMESPACE: (
        "Linux namespaces hold the program: outside its copy of the folder and a /tmp of its own it can write nothing, and it has no "
        "network."
    ),
    Isolation.BUBBLEWRAP: (
        "Bubblewrap holds the program: outside its copy of the folder and a /tmp of its own it can write nothing, and it has no network."
    ),
    Isolation.LANDLOCK: (
        "Landlock holds the program: outside its copy of the folder it can write nothing, and of the network it reaches one port "
        "number alone, the recorder's. It can read your files."
    ),
    Isolation.NONE: (
        "Nothing holds the program: run only code that you trust. It can change your files and use the network; calls of AWS are "
        "still answered here."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What runs: its words, its folder, its variables. ``root`` is the folder that it can change, ``port`` the recorder's.

    ``temporary`` says that it gets a /tmp of its own where namespaces allow it.
    """

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    root: Path
    port: int
    temporary: bool = True


def chosen(wanted: str) -> Isolation:
    """The best that holds a program here, or what is ``wanted``, if it does: it is tried, not guessed from version numbers.

    ``auto`` is the best. Raises SmTrnError where it does not hold; nothing at all is taken only if it is asked for by its name.
    """
    if wanted == Isolation.NONE.value:
        return Isolation.NONE
    if wanted not in {"auto", *(tier.value for tier in Isolation)}:
        names = ", ".join(tier.value for tier in Isolation)
        raise SmTrnError(f"isolation: got {wanted!r}, wanted auto, {names}")
    tried = [tier for tier in Isolation if tier is not Isolation.NONE and wanted in {"auto", tier.value}]
    if sys.platform.startswith("linux"):
        for tier in tried:
            if holds(tier):
                return tier
    found = "no isolation" if wanted == "auto" else f"no {wanted}"
    raise SmTrnError(
        f"isolation: got {found} on this machine, wanted user namespaces, bubblewrap or Landlock (Linux 6.7), which keep a program "
        "from your files and the network. Without them run only code that you trust: --isolation none runs it as it is"
    )


def holds(tier: Isolation) -> bool:
    """Whether a program that is started so writes in its folder and not beside it, and reaches its port."""
    if tier is Isolation.BUBBLEWRAP and bubblewrap() is None:
        return False
    with tempfile.TemporaryDirectory(prefix="probe-") as scratch, socket.create_server(("127.0.0.1", 0)) as server:
        outer = Path(scratch).resolve()
        root = outer / "root"
        root.mkdir()
        port = server.getsockname()[1]
        argv = [*PYTHON, "-c", _CHECK, str(root / "written"), str(outer / "written"), str(port)]
        program = Program(
            argv=argv, folder=root, environment={"PATH": os.defpath}, root=root, port=port, temporary=False
        )
        with (
            tempfile.TemporaryFile() as output,
            contextlib.suppress(SmTrnError),
            started(program, tier, output) as (child, listener),
            listener or contextlib.nullcontext(),
        ):
            return ended(child, _PROBE_S) == 0
    return False


@contextlib.contextmanager
def started(
    program: Program, tier: Isolation, output: IO[bytes]
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket | None]]:
    """Start the program, and end it and all that it started when the block is left.

    Beside the process is the socket on which it looks for the recorder, where it has a network of its own; else None. Raises
    SmTrnError where it cannot be started so.
    """
    apart = tier in {Isolation.NAMESPACE, Isolation.BUBBLEWRAP}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = _command(program, tier, theirs.fileno() if apart else -1)
        child = subprocess.Popen(  # noqa: S603 - the user's own launcher, which they asked to run
            command,
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(theirs.fileno(),) if apart else (),
        )
        theirs.close()
        try:
            yield child, _listener(ours) if apart else None
        finally:
            _kill(child)


def ended(child: subprocess.Popen[bytes], timeout_s: float) -> int:
    """The exit code of the program; 124 when it had to be ended."""
    try:
        return child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return ENDED


def _listener(channel: socket.socket) -> socket.socket:
    channel.settimeout(_PROBE_S)
    try:
        _, descriptors, _, _ = socket.recv_fds(channel, 64, 1)
    except OSError:
        descriptors = []
    if not descriptors:
        raise SmTrnError("isolation: got a namespace that cannot be set up, wanted one; --isolation names another way")
    return socket.socket(fileno=descriptors[0])


def _kill(child: subprocess.Popen[bytes]) -> None:
    """The program that started it ends the others, and namespaces end with it."""
    with contextlib.suppress(OSError), child.stdin or contextlib.nullcontext():
        if child.stdin is not None and child.poll() is None:
            child.stdin.write(b"kill\n")
    try:
        child.wait(_KILL_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _command(program: Program, tier: Isolation, channel: int) -> list[str]:
    """How the program is started; the files that say it lie in its root."""
    hidden = tuple(str(Path.home() / name) for name in CREDENTIALS)
    apart = channel >= 0
    stage = program.root / "dev"
    stage.mkdir()
    sealed = program.root / "seal.json"
    temporary = _temporary(program) if apart and program.temporary else ""
    shared = ["/dev/shm", *([temporary] if temporary else [])] if apart else []  # noqa: S108 - its own, in a namespace
    allowed = seal.Seal((str(program.root), *shared), port=0 if apart else program.port, alone=not apart)
    sealed.write_text(json.dumps(allowed._asdict()), "utf-8")
    words = [] if tier is Isolation.NONE else [*PYTHON, seal.__file__, str(sealed)]
    spec = HostSpec(
        namespace=tier is Isolation.NAMESPACE,
        bubblewrap=tier is Isolation.BUBBLEWRAP,
        portable=not sys.platform.startswith("linux"),
        argv=(*words, *program.argv),
        env=dict(program.environment),
        cwd=str(program.folder),
        stage=str(stage),
        hidden=hidden,
        writable=str(program.root),
        temporary=temporary,
        channel=channel,
        port=program.port,
    )
    file = program.root / "spec.json"
    file.write_text(json.dumps(spec._asdict()), "utf-8")
    init = [*PYTHON, container_init.__file__, str(file)]
    if tier is not Isolation.BUBBLEWRAP:
        return init
    own = [*(["--tmpfs", temporary] if temporary else []), "--bind", str(program.root), str(program.root)]
    mounts = ["--ro-bind", "/", "/", *hiding(hidden), "--dev", "/dev", "--proc", "/proc", *own, "--chdir", "/"]
    return [bubblewrap() or "bwrap", "--unshare-all", "--die-with-parent", "--as-pid-1", *mounts, "--", *init]


def _temporary(program: Program) -> str:
    """This machine's /tmp, for which the program gets one of its own; empty where Python, or modules of it, lie in /tmp."""
    folder = Path("/tmp").resolve()  # noqa: S108 - not ours: it is hidden from the program
    modules = [*sys.path, *program.environment.get("PYTHONPATH", "").split(os.pathsep)]
    places = [path for name in [seal.__file__, program.argv[0], *modules] if (path := Path(name)).is_absolute()]
    needed = [*places, *(path.resolve() for path in places)]
    if not folder.is_dir() or any(folder in path.parents for path in needed):
        return ""
    return str(folder)
