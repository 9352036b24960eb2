"""The first process of a host: an emulated machine, or a sealed program that may change one folder. It starts the host's program,
watches its limits, and kills every process of the host when its control pipe closes.

Started as ``python init.py SPEC.json`` with the control pipe on stdin and the log pipe on stdout. It understands two lines, ``term``
(SIGTERM to the script) and ``kill``. In a namespace it is PID 1; elsewhere it is the subreaper of its descendants. It must not import
anything beyond the standard library, nor know what a training job is. Sources: the manuals namespaces(7), landlock(7), seccomp(2),
capabilities(7) and mount_setattr(2), and the kernel's ``include/uapi/linux/landlock.h``.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import select
import shutil
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

BROKEN_HOST = 121  # exit status: the host could not be set up
PYTHON = (sys.executable, "-I", "-S")  # how this program is started
_NEWNS, _NEWUTS, _NEWUSER, _NEWPID, _NEWIPC, _NEWNET = 1 << 17, 1 << 26, 1 << 28, 1 << 29, 1 << 27, 1 << 30
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _MOVE, _REC, _PRIVATE = 1, 2, 4, 8, 4096, 8192, 16384, 1 << 18
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38
_CAPABILITY_VERSION_3 = 0x20080522
_OLDEST_LANDLOCK = 3  # the first version that knows truncate, of Linux 6.2
_LANDLOCK_CHANGES = 0x7FF2  # all rights of a folder but to execute and to read
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050001  # SECCOMP_RET_ERRNO with EPERM
# The architecture, and the numbers of socket, socketpair and io_uring_setup.
_MACHINES = {"x86_64": (0xC000003E, 41, 53, 425), "aarch64": (0xC00000B7, 198, 199, 425)}
_LIBC = ctypes.CDLL(None, use_errno=True)


class HostSpec(NamedTuple):
    """The host, as whoever starts it writes it to a JSON file.

    A training container has ``ml`` to ``toolkit``: folders and a file that stand for /opt/ml, /opt/sm_trn, /opt while it is set up, and
    /etc/hosts. A sealed program has ``writable`` to ``processes``: ``writable`` is the only folder that it can change, and it contains
    ``stage``. ``private`` folders are empty there but for the ``visible`` paths, which are read-only; ``temporary`` is the one of them
    that can be written. ``channel`` is a descriptor: through it go a socket that listens to ``port`` of the host's own loopback, and
    the name of the limit that ended the program.
    """

    namespace: bool
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    stage: str
    hidden: tuple[str, ...] = ()
    hostname: str = ""
    ml: str = ""
    own: str = ""
    hosts: str = ""
    toolkit: bool = False
    portable: bool = False  # without prctl and /proc, which Linux alone has
    writable: str = ""
    private: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    temporary: str = ""
    channel: int = -1
    port: int = 0
    memory_mb: int = 0
    disk_mb: int = 0
    processes: int = 0


def remove(folder: Path) -> None:
    """Delete a folder, whatever its processes did to the permissions in it. Links are not followed."""
    for parent, names, _ in os.walk(folder):
        for name in (".", *names):
            with contextlib.suppress(OSError):
                if not (Path(parent) / name).is_symlink():
                    (Path(parent) / name).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _call(name: str, *arguments: Any) -> int:
    """Call a function of libc. Raises OSError where it fails."""
    answer = int(getattr(_LIBC, name)(*arguments))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return answer


def _prctl(option: int, *arguments: int) -> None:
    _call("prctl", option, *(ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]))


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> None:
    text = [None if part is None else os.fsencode(part) for part in (source, target, kind)]
    _call("mount", *text, ctypes.c_ulong(flags), options.encode() or None)


def _enter_namespace(*, sealed: bool) -> None:
    """Become PID 1 of a new user, mount, host-name and process namespace; the old process waits and passes its status on.

    A training container's user is root there. A sealed program keeps its user, and has no network and no shared memory of others.
    """
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", _NEWUSER | _NEWNS | _NEWUTS | _NEWPID | (_NEWIPC | _NEWNET if sealed else 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{uid if sealed else 0} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid if sealed else 0} {gid} 1", encoding="ascii")
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _mount(None, "/", None, _REC | _PRIVATE)


def _mount_host(spec: HostSpec) -> None:
    """Mounts of a training container: its own /opt/ml beside everything else in /opt, /etc/hosts, /proc, no credentials."""
    stage = Path(spec.stage)
    _mount("tmpfs", str(stage), "tmpfs", _NODEV | _NOSUID)
    for entry in sorted(Path("/opt").iterdir()):
        if entry.is_symlink() and entry.name != "ml":
            (stage / entry.name).symlink_to(entry.readlink())
        elif entry.name != "ml":
            _bind(str(entry), stage / entry.name)
    _bind(spec.ml, stage / "ml")
    _bind(spec.own, stage / "sm_trn")
    _mount(str(stage), "/opt", None, _BIND | _REC)
    _mount(spec.hosts, "/etc/hosts", None, _BIND)
    for path in spec.hidden:
        if Path(path).is_dir():
            _mount("tmpfs", path, "tmpfs", _NODEV | _NOSUID)
        elif Path(path).is_file():
            _mount(os.devnull, path, None, _BIND)
    _mount("proc", "/proc", "proc", _NODEV | _NOSUID | _NOEXEC)
    socket.sethostname(spec.hostname)


def _bind(source: str, target: Path) -> None:
    """Mount a folder or file at a place that need not be there yet."""
    if Path(source).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _mount(source, str(target), None, _BIND | _REC)


def _mount_sealed(spec: HostSpec) -> None:
    """Mounts of a sealed program: it can write to its folder alone, and sees only harmless devices."""
    _mount(spec.writable, spec.writable, None, _BIND)
    stage = Path(spec.stage)
    _mount("tmpfs", str(stage), "tmpfs", _NOSUID | _NOEXEC, "size=256m")
    devices = [stage / name for name in _DEVICES if Path("/dev", name).exists()]
    for device in devices:
        _bind(f"/dev/{device.name}", device)
    for name, number in (("stdin", "0"), ("stdout", "1"), ("stderr", "2"), ("fd", "")):
        (stage / name).symlink_to(f"/proc/self/fd/{number}")
    (stage / "shm").mkdir()
    _set_flags("/", _RDONLY | _NOSUID | _NODEV, below=True)
    for place, flag in (
        (spec.writable, _RDONLY),
        (spec.stage, _RDONLY),
        *((str(device), _NODEV) for device in devices),
    ):
        _set_flags(place, 0, clear=flag)
    _mount(str(stage), "/dev", None, _MOVE)
    _mount_private(spec)
    _mount("proc", "/proc", "proc", _RDONLY | _NODEV | _NOSUID | _NOEXEC)


def _set_flags(place: str, flags: int, *, clear: int = 0, below: bool = False) -> None:
    """Change flags of a mount, and of those below it: mount_setattr(2), of Linux 5.12."""
    attributes = struct.pack("QQQQ", flags, clear, 0, 0)
    _call("syscall", 442, -100, place.encode(), 0x8000 if below else 0, attributes, ctypes.c_size_t(len(attributes)))


def _mount_private(spec: HostSpec) -> None:
    """Empty folders in memory over the private ones, and in them only the visible paths and the program's own folder.

    They are mounted when everything else is read-only: a visible path keeps that, the program's folder stays writable.
    """
    visible = {Path(path) for path in spec.visible if Path(path).exists()}
    outermost = sorted(path for path in visible if visible.isdisjoint(path.parents))
    sources = {path: os.open(path, os.O_PATH) for path in (*outermost, Path(spec.writable))}
    for folder in sorted(Path(name) for name in spec.private if Path(name).is_dir()):
        if any(path == folder or path in folder.parents for path in sources):
            continue  # Python itself needs all of it
        _mount("tmpfs", str(folder), "tmpfs", _NODEV | _NOSUID, f"size={spec.disk_mb}m")
        for path in (path for path in sources if folder in path.parents):
            _bind(f"/proc/self/fd/{sources[path]}", path)
        if str(folder) != spec.temporary:
            _set_flags(str(folder), _RDONLY)
    for number in sources.values():
        os.close(number)


def _listen(spec: HostSpec, channel: socket.socket) -> None:
    """Send whoever started this host a socket that listens inside it: the only one that its programs can reach."""
    import fcntl  # noqa: PLC0415 - whoever only imports this module may have none

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        fcntl.ioctl(device, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))
    with socket.create_server(("127.0.0.1", spec.port)) as listener:
        socket.send_fds(channel, [b"listening"], [listener.fileno()])


def _seal(spec: HostSpec) -> None:
    """Take from this process, and from all that it starts, the capabilities, writing elsewhere, and sockets that lead out."""
    nothing = struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)
    _call("capset", struct.pack("Ii", _CAPABILITY_VERSION_3, 0), nothing)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _restrict_writing([spec.writable, spec.temporary, "/dev/shm"])  # noqa: S108 - its own
    _refuse_sockets()


def _restrict_writing(folders: list[str]) -> None:
    """Landlock, where Linux has it: it reaches pipes outside too, which a read-only mount does not."""
    create, add, restrict = 444, 445, 446
    version = int(_LIBC.syscall(create, None, ctypes.c_size_t(0), 1))
    if version < _OLDEST_LANDLOCK:
        return
    rights = _LANDLOCK_CHANGES | (1 << 15 if version >= 5 else 0)  # and orders to devices
    ruleset = _call("syscall", create, struct.pack("Q", rights), ctypes.c_size_t(8), 0)
    for path, allowed in [*((path, rights) for path in folders), (os.devnull, 1 << 1 | 1 << 14)]:  # write, truncate
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _call("syscall", add, ruleset, 1, struct.pack("=Qi", allowed, place), 0)
        os.close(place)
    _call("syscall", restrict, ruleset, 0)
    os.close(ruleset)


def _refuse_sockets() -> None:
    """Refuse sockets that a network namespace does not keep in: those of files, of virtual machines and of the kernel.

    Pairs that are connected stay, and io_uring, which makes sockets of its own, does not.
    """
    machine = platform.machine()
    if machine not in _MACHINES:
        raise OSError(f"machine: got {machine!r}, wanted one of {', '.join(_MACHINES)}")
    architecture, new_socket, new_pair, new_ring = _MACHINES[machine]
    x32 = 0x40000000  # calls that have numbers of their own
    lines = [
        (_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, x32), (_RETURN, 0, 0, _KILL),
        (_EQUAL, 0, 1, new_ring), (_RETURN, 0, 0, _REFUSE),
        (_EQUAL, 0, 4, new_socket), (_LOAD, 0, 0, 16), (_EQUAL, 2, 0, 2), (_EQUAL, 1, 0, 10), (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0), (_EQUAL, 0, 5, new_pair),
        (_LOAD, 0, 0, 24), (_AND, 0, 0, 0xF), (_EQUAL, 2, 0, 1), (_EQUAL, 1, 0, 5), (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip
    code = b"".join(struct.pack("HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(buffer)), 16)
    _prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(head))


def _launch(spec: HostSpec) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        if not spec.portable:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(1, 2)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(spec.cwd)
        if spec.writable:
            _limit(spec)
        if spec.writable and spec.namespace:
            _seal(spec)
        os.execve(spec.argv[0], spec.argv, spec.env)  # noqa: S606 - the job's own program, without a shell
    except OSError as error:
        os.write(1, f"sm_trn: cannot start {spec.argv[0]}: {error}\n".encode())
    os._exit(BROKEN_HOST)


def _limit(spec: HostSpec) -> None:
    """Set the limits that the kernel keeps for each process; ``_exceeded`` looks at all of them together."""
    import resource  # noqa: PLC0415 - Windows has none

    os.nice(10)  # the first process, which watches, comes before
    for kind, megabytes in ((resource.RLIMIT_DATA, spec.memory_mb), (resource.RLIMIT_FSIZE, spec.disk_mb)):
        resource.setrlimit(kind, (megabytes << 20, megabytes << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _exceeded(spec: HostSpec, free_mb: int) -> str:
    """Return the limit that the namespace's processes passed, in words; empty while there is none. ``free_mb`` was free before."""
    pids = [name for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - it is quick while they fork
    if len(pids) - 1 > spec.processes:
        return f"it started more than {spec.processes} processes"
    pages = 0
    for pid in pids:
        with contextlib.suppress(OSError, IndexError):
            pages += int(Path("/proc", pid, "statm").read_bytes().split()[1])
    if pages * os.sysconf("SC_PAGESIZE") >> 20 > spec.memory_mb:
        return f"it used more than {spec.memory_mb:,} MB of memory"
    written = free_mb - (shutil.disk_usage(spec.writable).free >> 20)
    if written > 2 * spec.disk_mb or (written > spec.disk_mb and _size_mb(spec.writable) > spec.disk_mb):
        return f"it wrote more than {spec.disk_mb:,} MB to disk"
    return ""


def _size_mb(folder: str) -> int:
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += Path(parent, name).lstat().st_blocks * 512
    return size >> 20


def _children(parent: int) -> dict[int, bytes]:
    """Return the processes that a process has started, or adopted, with their command lines."""
    children = {}
    for entry in Path("/proc").iterdir() if Path("/proc/self/stat").exists() else ():
        with contextlib.suppress(OSError, ValueError):
            if int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1]) == parent:
                children[int(entry.name)] = (entry / "cmdline").read_bytes()
    return children


def _descendants(parent: int) -> list[int]:
    children = _children(parent)
    return [*children, *(pid for child in children for pid in _descendants(child))]


def _stop_targets(main: int, *, toolkit: bool) -> list[int]:
    """Return whom a stop is sent to: torchrun or the script. A toolkit that gets the signal itself leaves them orphaned."""
    own = _children(os.getpid()).get(main, b"")
    children = _children(main) if toolkit else {}
    return [pid for pid, command in children.items() if command != own and b"multiprocessing" not in command] or [main]


def _kill_all(main: int, spec: HostSpec) -> None:
    """The end of PID 1 ends a namespace at once; elsewhere all are killed until none is left."""
    deadline = time.monotonic() + 10
    while not (spec.namespace and spec.writable) and time.monotonic() < deadline:
        for pid in (*_descendants(os.getpid()), -main):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def _watch(main: int, spec: HostSpec, channel: socket.socket | None) -> int:
    """Serve the control pipe until ``main`` has ended; return its exit status, 128 + n for signal n."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    limited = bool(spec.writable) and spec.namespace
    free_mb = shutil.disk_usage(spec.writable).free >> 20 if limited else 0
    sources, pending, status = [0, reader], b"", None
    while status is None:
        ready, _, _ = select.select(sources, [], [], 0.2 if limited else 1.0)
        if reader in ready:
            os.read(reader, 4096)
        if 0 in ready:
            block = os.read(0, 4096)
            pending += block or b"kill\n"
            if not block:
                sources.remove(0)
        while b"\n" in pending:
            command, _, pending = pending.partition(b"\n")
            if command == b"kill":
                return 128 + signal.SIGKILL
            for pid in _stop_targets(main, toolkit=spec.toolkit) if command == b"term" else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        if limited and (limit := _exceeded(spec, free_mb)):
            if channel is not None:
                channel.send(limit.encode())
            return 128 + signal.SIGKILL
        status = _reap(main)
    return status


def _reap(main: int) -> int | None:
    """Collect the dead; return the status of ``main`` once it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, raw = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == main:
                code = os.waitstatus_to_exitcode(raw)
                status = code if code >= 0 else 128 - code
    return status


def run(spec_file: str) -> int:
    spec = HostSpec(**json.loads(Path(spec_file).read_bytes()))
    channel = socket.socket(fileno=spec.channel) if spec.channel >= 0 else None
    try:
        if channel is not None:
            channel.set_inheritable(False)
        if spec.namespace:
            _enter_namespace(sealed=bool(spec.writable))
            _mount_sealed(spec) if spec.writable else _mount_host(spec)
        elif not spec.portable:
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        if channel is not None and spec.namespace and spec.port:
            _listen(spec, channel)
    except (OSError, AttributeError) as error:
        os.write(1, f"sm_trn: cannot set the host up: {error}\n".encode())
        return BROKEN_HOST
    main = _launch(spec)
    status = _watch(main, spec, channel)
    _kill_all(main, spec)
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]))
