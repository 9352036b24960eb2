"""This program runs one host: an emulated machine, or a launcher that may change one folder. When its control pipe closes, it kills
every process of the host.

Started as ``python container_init.py SPEC.json`` with the control pipe on stdin and the log pipe on stdout. It understands
two lines, ``term`` (SIGTERM to the script) and ``kill``. In a namespace it is PID 1 of the host: of a training container, with
/opt/ml, /etc/hosts and a host name, or of a host that is ``held``, with everything read-only but one folder, and no network but
its own loopback. Else it is the subreaper of its descendants. It must not import anything beyond the standard library, nor know
what a training job is.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

BROKEN_HOST = 121  # exit status: the host could not be set up
PYTHON = (sys.executable, "-I", "-S")  # how this program and the seal are started
# Below a home: where people keep credentials. A program in a namespace finds them empty.
CREDENTIALS = (
    ".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure", ".config/gcloud", ".config/gh", ".netrc", ".git-credentials",
    ".pypirc", ".pgpass", ".cache/huggingface/token", ".cache/huggingface/stored_tokens",
)  # fmt: skip
_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x00020000, 0x04000000, 0x10000000, 0x20000000
_CLONE_NEWIPC, _CLONE_NEWNET = 0x08000000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE, _MS_NODEV, _MS_NOSUID, _MS_NOEXEC = 4096, 16384, 1 << 18, 4, 2, 8
_MS_RDONLY, _MS_REMOUNT, _MS_MOVE, _MS_RELATIME = 1, 32, 8192, 1 << 21
_ST_RELATIME = 4096  # the one flag that statvfs and mount number differently
_SAME_FLAGS = 1 | 2 | 4 | 8 | 1024 | 2048  # read-only, no set-user-id, devices, programs, access times
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None, use_errno=True)


class HostSpec(NamedTuple):
    """This is what this program needs to know of its host; who starts it writes it as JSON.

    A training container has ``ml`` to ``hosts``: folders and a file that stand for /opt/ml, /opt/sm_trn, /opt while it is made, and
    /etc/hosts. A host with ``writable`` is held: that folder, which has ``stage`` in it, is all that it can change, and if ``channel``
    is a descriptor, a socket that listens to ``port`` of its own loopback is sent through it. ``temporary`` is a folder that is its
    own there, in memory and empty; ``writable`` may lie in it.
    """

    namespace: bool
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    stage: str
    hidden: tuple[str, ...]
    hostname: str = ""
    ml: str = ""
    own: str = ""
    hosts: str = ""
    toolkit: bool = False
    bubblewrap: bool = False
    portable: bool = False  # without prctl and /proc, which Linux alone has
    writable: str = ""
    temporary: str = ""
    channel: int = -1
    port: int = 0


def bubblewrap() -> str | None:
    """The path of bubblewrap (https://github.com/containers/bubblewrap); None where it is not installed."""
    return shutil.which("bwrap")


def remove(folder: Path) -> None:
    """Leave nothing of a folder, whatever its processes did to the permissions in it. Links are not followed."""
    for parent, names, _ in os.walk(folder):
        for name in (".", *names):
            with contextlib.suppress(OSError):
                if not (Path(parent) / name).is_symlink():
                    (Path(parent) / name).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def hiding(paths: tuple[str, ...]) -> list[str]:
    """Bubblewrap's arguments that make these folders and files empty."""
    arguments: list[str] = []
    for path in paths:
        if Path(path).is_dir():
            arguments += ["--tmpfs", path]
        elif Path(path).is_file():
            arguments += ["--ro-bind", os.devnull, path]
    return arguments


def _call(name: str, *arguments: Any) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    text = [None if part is None else os.fsencode(part) for part in (source, target, kind)]
    _call("mount", *text, ctypes.c_ulong(flags), None)


def _enter_namespace(*, held: bool) -> None:
    """Become PID 1 of a new user, mount, host-name and process namespace; the old process waits and passes on.

    A training container's user is root there. A host that is held has its own user, and no network and no shared memory of others.
    """
    uid, gid = os.getuid(), os.getgid()
    more = _CLONE_NEWIPC | _CLONE_NEWNET if held else 0
    _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWPID | more)
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{uid if held else 0} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid if held else 0} {gid} 1", encoding="ascii")
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
    _hide(spec.hidden)
    _mount("proc", "/proc", "proc", _MS_NODEV | _MS_NOSUID | _MS_NOEXEC)
    socket.sethostname(spec.hostname)


def _hide(paths: tuple[str, ...]) -> None:
    for path in paths:
        if Path(path).is_dir():
            _mount("tmpfs", path, "tmpfs", _MS_NODEV | _MS_NOSUID)
        elif Path(path).is_file():
            _mount(os.devnull, path, None, _MS_BIND)


def _hold(spec: HostSpec) -> None:
    """Mounts of a host that is held: nothing can be written but its folder, and of devices there are the harmless ones."""
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    _mount(spec.writable, spec.writable, None, _MS_BIND)
    _hide(spec.hidden)
    stage = Path(spec.stage)
    _mount("tmpfs", str(stage), "tmpfs", _MS_NOSUID | _MS_NOEXEC)
    for name in _DEVICES:
        if Path("/dev", name).exists():
            (stage / name).touch()
            _mount(f"/dev/{name}", str(stage / name), None, _MS_BIND)
            _remount(str(stage / name), _MS_RDONLY | _MS_NOSUID | _MS_NOEXEC)
    for name, number in (("stdin", "0"), ("stdout", "1"), ("stderr", "2"), ("fd", "")):
        (stage / name).symlink_to(f"/proc/self/fd/{number}")
    (stage / "shm").mkdir()
    own = Path(spec.writable)
    for place in _mount_places():
        if place != own and own not in place.parents:
            _remount(str(place), _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    _mount(str(stage), "/dev", None, _MS_MOVE)
    if spec.temporary:
        _mount_temporary(spec.temporary, spec.writable)
    _mount("proc", "/proc", "proc", _MS_RDONLY | _MS_NODEV | _MS_NOSUID | _MS_NOEXEC)


def _mount_temporary(folder: str, writable: str) -> None:
    """An empty folder in memory over ``folder``, and of what lay in it ``writable`` alone.

    It is mounted when everything else is read-only, so that nothing of the machine's own is in a folder that can be written.
    """
    held = os.open(writable, os.O_PATH | os.O_DIRECTORY)
    _mount("tmpfs", folder, "tmpfs", _MS_NODEV | _MS_NOSUID)
    if Path(folder) in Path(writable).parents:
        Path(writable).mkdir(parents=True)
        _mount(f"/proc/self/fd/{held}", writable, None, _MS_BIND)
    os.close(held)


def _mount_places() -> list[Path]:
    """Where something is mounted. The kernel writes spaces and the like as three octal digits."""
    rows = Path("/proc/self/mountinfo").read_bytes().splitlines()
    octal = re.compile(rb"\\([0-7]{3})")
    names = [octal.sub(lambda found: bytes([int(found[1], 8)]), row.split()[4]) for row in rows]
    return [Path(os.fsdecode(name)) for name in dict.fromkeys(names)]


def _remount(place: str, flags: int) -> None:
    """Add flags to those that a mount has. One that its user cannot reach, such as another user's FUSE, is left: nobody here can."""
    try:
        has = os.statvfs(place).f_flag
        kept = has & _SAME_FLAGS | (_MS_RELATIME if has & _ST_RELATIME else 0)
        _mount(None, place, None, _MS_REMOUNT | _MS_BIND | kept | flags)
    except PermissionError:
        if os.access(place, os.X_OK) or os.access(place, os.W_OK):
            raise
    except FileNotFoundError:  # another mount lies over it
        return


def _listen(spec: HostSpec) -> None:
    """Send whoever started this host a socket that listens inside it: the only one that its programs can reach."""
    import fcntl  # noqa: PLC0415 - whoever only imports this module may have none

    with socket.socket(fileno=spec.channel) as channel:
        if spec.namespace:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
                fcntl.ioctl(device, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))
        with socket.create_server(("127.0.0.1", spec.port)) as listener:
            socket.send_fds(channel, [b"listening"], [listener.fileno()])


def _launch(spec: HostSpec, *, portable: bool) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        if not portable:
            _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(1, 2)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(spec.cwd)
        os.execve(spec.argv[0], spec.argv, spec.env)  # noqa: S606 - the job's own program, without a shell
    except OSError as error:
        os.write(1, f"sm_trn: cannot start {spec.argv[0]}: {error}\n".encode())
    os._exit(BROKEN_HOST)


class Process(NamedTuple):
    """What is known of a process that can be seen."""

    parent: int
    group: int
    command: bytes


def _processes(*, portable: bool = False) -> dict[int, Process]:
    """Every process that can be seen, by its number."""
    if portable or not Path("/proc/self/stat").exists():
        return _processes_by_ps()
    found = {}
    for entry in (folder.name for folder in Path("/proc").iterdir()):
        if entry.isdecimal():
            with contextlib.suppress(OSError, ValueError):
                parent, group = map(int, Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()[1:3])
                found[int(entry)] = Process(parent, group, Path("/proc", entry, "cmdline").read_bytes())
    return found


def _processes_by_ps() -> dict[int, Process]:
    """The same where there is no /proc, without zombies: orphans that nobody collects. Every ps knows these columns."""
    columns = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,args="]
    found = {}
    with subprocess.Popen(columns, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as ps:
        rows = ps.communicate()[0].splitlines()
    for row in rows:
        pid, parent, group, state, *command = row.split(None, 4)
        if not state.startswith(b"Z") and int(pid) != ps.pid:
            found[int(pid)] = Process(int(parent), int(group), command[0] if command else b"")
    return found


class Family:
    """The processes of this host. Where no subreaper adopts orphans they are known by their groups, which outlive a parent."""

    def __init__(self, *, portable: bool) -> None:
        self._portable = portable
        self._groups: set[int] = set()

    def look(self) -> None:
        """Remember the groups there are; call it now and then while the host runs."""
        if self._portable:
            self.members()

    def members(self) -> set[int]:
        """All that descend from this process, or belong to a group that did."""
        processes = _processes(portable=self._portable)
        found, grown = {os.getpid()}, True
        while grown:
            more = {
                pid for pid, process in processes.items() if process.parent in found or process.group in self._groups
            } - found
            found |= more
            grown = bool(more)
        found.discard(os.getpid())
        if self._portable:
            self._groups |= {processes[pid].group for pid in found} - {os.getpgrp()}
        return found & set(processes)

    def told(self, main: int, *, toolkit: bool) -> list[int]:
        """Whom a stop is told to: torchrun or the script. A toolkit that is told itself leaves them orphaned."""
        if not toolkit:
            return [main]
        processes = _processes(portable=self._portable)
        own = processes[main].command if main in processes else b""
        children = [
            pid
            for pid, process in processes.items()
            if process.parent == main and process.command != own and b"multiprocessing" not in process.command
        ]
        return children or [main]

    def kill(self) -> None:
        """SIGKILL for every member, again and again until none is left."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            members = self.members()
            for pid in members:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                if not (self._portable and members):
                    return
            time.sleep(0.01)


def _watch(main: int, family: Family, *, toolkit: bool) -> int:
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
                for pid in family.told(main, toolkit=toolkit):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
            elif command == b"kill":
                family.kill()
                return 128 + signal.SIGKILL
        family.look()
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
    portable = spec.portable and not (spec.namespace or spec.bubblewrap)
    try:
        if spec.namespace:
            _enter_namespace(held=bool(spec.writable))
            _hold(spec) if spec.writable else _mount_host(spec)
        elif not portable:
            _call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if spec.channel >= 0:
            _listen(spec)
    except (OSError, AttributeError) as error:
        os.write(1, f"sm_trn: cannot set the host up: {error}\n".encode())
        return BROKEN_HOST
    family = Family(portable=portable)
    main = _launch(spec, portable=portable)
    status = _watch(main, family, toolkit=spec.toolkit)
    family.kill()
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]))
