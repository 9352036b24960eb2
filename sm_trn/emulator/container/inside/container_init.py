"""This program runs one emulated host. When the emulator's pipe closes, it kills every process of the host.

Started as ``python container_init.py SPEC.json`` with the control pipe on stdin and the log pipe on stdout. It understands
two lines, ``term`` (SIGTERM to the script) and ``kill``. In a namespace it is PID 1 of the host, with /opt/ml,
/etc/hosts and the host name of a training container; else it is the subreaper of its descendants. It must not import
anything beyond the standard library, nor know what a training job is.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

BROKEN_HOST = 121  # exit status: the host could not be set up
_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x00020000, 0x04000000, 0x10000000, 0x20000000
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_NODEV, _MS_NOSUID, _MS_NOEXEC = 4096, 16384, 1 << 18, 4, 2, 8
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None, use_errno=True)


class HostSpec(NamedTuple):
    """This is what this program needs to know of its host; the emulator writes it as JSON beside the host's folder."""

    namespace: bool
    hostname: str
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    ml: str
    own: str
    stage: str
    hosts: str
    hidden: tuple[str, ...]
    toolkit: bool
    bubblewrap: bool = False


def _call(name: str, *arguments: Any) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    text = [None if part is None else os.fsencode(part) for part in (source, target, kind)]
    _call("mount", *text, ctypes.c_ulong(flags), None)


def _enter_namespace() -> None:
    """Become PID 1 of a new user, mount, host-name and process namespace; the old process waits and passes on."""
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWPID)
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _mount_host(spec: HostSpec) -> None:
    """Mounts of the host: its own /opt/ml beside everything else in /opt, /etc/hosts, /proc, no credentials."""
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    stage = Path(spec.stage)
    _mount("tmpfs", str(stage), "tmpfs", _MS_NODEV | _MS_NOSUID)
    for entry in sorted(Path("/opt").iterdir()):
        place = stage / entry.name
        if entry.name == "ml":
            continue
        if entry.is_symlink():
            place.symlink_to(entry.readlink())
            continue
        if entry.is_dir():
            place.mkdir()
        else:
            place.touch()
        _mount(str(entry), str(place), None, _MS_BIND | _MS_REC)
    for name in ("ml", "sm_trn"):
        (stage / name).mkdir(exist_ok=True)
    _mount(spec.ml, str(stage / "ml"), None, _MS_BIND | _MS_REC)
    _mount(spec.own, str(stage / "sm_trn"), None, _MS_BIND | _MS_REC)
    _mount(str(stage), "/opt", None, _MS_BIND | _MS_REC)
    _mount(spec.hosts, "/etc/hosts", None, _MS_BIND)
    for path in spec.hidden:
        if Path(path).is_dir():
            _mount("tmpfs", path, "tmpfs", _MS_NODEV | _MS_NOSUID)
        elif Path(path).is_file():
            _mount(os.devnull, path, None, _MS_BIND)
    _mount("proc", "/proc", "proc", _MS_NODEV | _MS_NOSUID | _MS_NOEXEC)
    socket.sethostname(spec.hostname)


def _launch(spec: HostSpec) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        with contextlib.suppress(AttributeError):  # Linux only
            _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(1, 2)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(spec.cwd)
        os.execve(spec.argv[0], spec.argv, spec.env)  # noqa: S606 - the job's own program, without a shell
    except OSError as error:
        os.write(1, f"sm_trn emulator: cannot start {spec.argv[0]}: {error}\n".encode())
    os._exit(BROKEN_HOST)


def _processes() -> dict[int, tuple[int, bytes]]:
    """pid -> (parent, command line) of every process that can be seen."""
    if not Path("/proc/self/stat").exists():
        return _processes_by_ps()
    found = {}
    for entry in (folder.name for folder in Path("/proc").iterdir()):
        if entry.isdecimal():
            with contextlib.suppress(OSError, ValueError):
                stat = Path("/proc", entry, "stat").read_bytes()
                parent = int(stat.rpartition(b")")[2].split()[1])
                found[int(entry)] = (parent, Path("/proc", entry, "cmdline").read_bytes())
    return found


def _processes_by_ps() -> dict[int, tuple[int, bytes]]:
    """The same where there is no /proc; POSIX's ps knows these columns everywhere."""
    columns = ["ps", "-A", "-o", "pid=,ppid=,args="]
    found = {}
    for row in subprocess.run(columns, check=False, capture_output=True).stdout.splitlines():
        pid, parent, *command = row.split(None, 2)
        found[int(pid)] = (int(parent), command[0] if command else b"")
    return found


def _script_processes(main: int, *, toolkit: bool) -> list[int]:
    """Whom a stop is told to: torchrun or the script. A toolkit that is told itself leaves them orphaned."""
    if not toolkit:
        return [main]
    processes = _processes()
    own = processes.get(main, (0, b""))[1]
    children = [
        pid
        for pid, (parent, command) in processes.items()
        if parent == main and command != own and b"multiprocessing" not in command
    ]
    return children or [main]


def _kill_all() -> None:
    """SIGKILL for every descendant, again and again until none is left."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        processes = _processes()
        doomed, grown = {os.getpid()}, True
        while grown:
            more = {pid for pid, (parent, _) in processes.items() if parent in doomed} - doomed
            doomed |= more
            grown = bool(more)
        for pid in doomed - {os.getpid()}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def _watch(main: int, *, toolkit: bool) -> int:
    """Serve the control pipe until ``main`` has ended; its exit status, 128 + n for signal n."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    sources, pending, status = [0, reader], b"", None
    while status is None:
        ready, _, _ = select.select(sources, [], [], 1.0)
        if reader in ready:
            os.read(reader, 4096)
        if 0 in ready:
            block = os.read(0, 4096)
            pending += block or b"kill\n"
            if not block:
                sources.remove(0)
        while b"\n" in pending:
            command, _, pending = pending.partition(b"\n")
            if command == b"term":
                for pid in _script_processes(main, toolkit=toolkit):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
            elif command == b"kill":
                _kill_all()
                return 128 + signal.SIGKILL
        status = _reap(main)
    return status


def _reap(main: int) -> int | None:
    """Collect the dead; the status of ``main`` once it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, raw = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == main:
                code = os.waitstatus_to_exitcode(raw)
                found = code if code >= 0 else 128 - code
    return found


def run(spec_file: str) -> int:
    spec = HostSpec(**json.loads(Path(spec_file).read_bytes()))
    try:
        if spec.namespace:
            _enter_namespace()
            _mount_host(spec)
        else:
            with contextlib.suppress(OSError, AttributeError):  # Linux only; elsewhere the process group must do
                _call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError) as error:
        os.write(1, f"sm_trn emulator: cannot set the host up: {error}\n".encode())
        return BROKEN_HOST
    main = _launch(spec)
    status = _watch(main, toolkit=spec.toolkit)
    _kill_all()
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]))
