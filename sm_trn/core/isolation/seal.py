"""This program takes away from itself what would let it change anything outside one folder, and becomes another program.

Started as ``python seal.py SEAL.json PROGRAM …``. No program that it starts can take the seal off. It must not import anything
beyond the standard library. Sources: the manuals landlock(7), seccomp(2) and capabilities(7), the kernel's
``include/uapi/linux/landlock.h``, and its tables of system calls.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_OLDEST, _OLDEST_ALONE = 3, 4  # versions of Landlock: the first that knows truncate, Linux 6.2, and TCP, Linux 6.7
_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH, _NET_PORT = 1, 2
_WRITE, _TRUNCATE = 1 << 1, 1 << 14
_CHANGES = 0x7FF2  # all rights of a folder but to execute and to read: WRITE_FILE, REMOVE_…, MAKE_…, REFER, TRUNCATE
_IOCTL_DEVICES, _SINCE_IOCTL = 1 << 15, 5
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPES, _SINCE_SCOPES = 3, 6  # abstract sockets and signals
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_CAPABILITY_VERSION_3 = 0x20080522
_LOAD, _AND, _EQUAL, _AT_LEAST, _JUMP, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x05, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM = 1


class Seal(NamedTuple):
    """What stays allowed. ``port`` is the only one that TCP may connect to; 0 where the program has a network of its own.

    ``alone`` says that Landlock is all there is: then it must be there, and what it does not know is kept by the filter of system calls.
    """

    writable: tuple[str, ...]
    port: int = 0
    alone: bool = False


class Rule(NamedTuple):
    """A system call that is refused unless (or, with ``unless`` False, if) its ``argument`` under ``mask`` is one of ``values``."""

    call: str
    argument: int = 0
    mask: int = 0
    values: tuple[int, ...] = ()
    unless: bool = True
    answer: int = _EPERM


# Numbers of the system calls, first on x86_64, then on aarch64; those of neither are absent there.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "socketpair": (53, 199), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "io_uring_setup": (425, 425), "ioctl": (16, 29), "prlimit64": (302, 261), "shmget": (29, 194), "semget": (64, 190),
    "msgget": (68, 186), "mq_open": (240, 180), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_FAST_OPEN = 0x20000000  # it connects, and Landlock hears nothing of it
# Sockets: TCP alone, and pairs that can be connected to nobody else. Sockets that are files are no matter of a mount.
_SOCKETS = (
    Rule("socket", 0, 0xFFFFFFFF, (2, 10)),
    Rule("socket", 1, 0xF, (1,)),
    Rule("socket", 2, 0xFFFFFFFF, (0, 6)),
    Rule("socketpair", 1, 0xF, (1, 5)),
    Rule("sendto", 3, _FAST_OPEN, (0,)),
    Rule("sendmsg", 2, _FAST_OPEN, (0,)),
    Rule("sendmmsg", 3, _FAST_OPEN, (0,)),
    Rule("io_uring_setup"),
)
# What Landlock does not know. Changes of modes, owners, times and attributes are answered as made, and not made: copying files sets them.
_UNKNOWN_TO_LANDLOCK = (
    *(Rule(call) for call in ("shmget", "semget", "msgget", "mq_open")),
    Rule("prlimit64", 0, 0xFFFFFFFF, (0,)),
    Rule("ioctl", 1, 0xFFFFFFFF, (0x40086602, 0x401C5820), unless=False),  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
    *(
        Rule(call, answer=0)
        for call in (
            "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat", "utime", "utimes", "futimesat",
            "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "setxattrat",
            "removexattrat", "file_setattr",
        )
    ),
)  # fmt: skip


def landlock_version() -> int:
    """The version of Landlock's interface here; 0 where there is none."""
    return max(0, int(_LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def _system(call: int, *arguments: object) -> int:
    answer = int(_LIBC.syscall(call, *arguments))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"system call {call}: {os.strerror(number)}")
    return answer


def _landlock(seal: Seal) -> None:
    version = landlock_version()
    if seal.alone and version < _OLDEST_ALONE:
        raise OSError(f"Landlock has version {version}, wanted {_OLDEST_ALONE}")
    if version < _OLDEST:
        return
    rights = _CHANGES | (_IOCTL_DEVICES if version >= _SINCE_IOCTL else 0)
    network = _BIND_TCP | _CONNECT_TCP if seal.port else 0
    scopes = _SCOPES if version >= _SINCE_SCOPES and seal.alone else 0
    attributes = struct.pack("QQQ", rights, network, scopes)
    ruleset = _system(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    for path, allowed in [*((path, rights) for path in seal.writable), (os.devnull, _WRITE | _TRUNCATE)]:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _system(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
        os.close(place)
    if seal.port:
        _system(_ADD_RULE, ruleset, _NET_PORT, struct.pack("QQ", _CONNECT_TCP, seal.port), 0)
    _system(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def program(rules: Iterable[Rule], machine: str) -> bytes:
    """The filter of system calls for a machine, as the kernel takes it. Raises OSError for a machine whose calls are not known."""
    if machine not in _MACHINES:
        raise OSError(f"machine: got {machine!r}, wanted one of {', '.join(_MACHINES)}")
    column, architecture = _MACHINES[machine]
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":  # the calls of x32, which have numbers of their own
        lines += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL)]
    for rule in rules:
        number = _NUMBERS[rule.call][column]
        if number is not None:
            body = _body(rule)
            lines += [(_LOAD, 0, 0, 0), (_EQUAL, 0, len(body), number), *body]
    return b"".join(struct.pack("HBBI", *line) for line in [*lines, (_RETURN, 0, 0, _ALLOW)])


def _body(rule: Rule) -> list[tuple[int, int, int, int]]:
    refuse = (_RETURN, 0, 0, _ERROR | rule.answer)
    if not rule.values:
        return [refuse]
    count = len(rule.values)
    head = [(_LOAD, 0, 0, 16 + 8 * rule.argument), (_AND, 0, 0, rule.mask)]
    if rule.unless:
        return [*head, *((_EQUAL, count - at, 0, value) for at, value in enumerate(rule.values)), refuse]
    return [*head, *((_EQUAL, count - at, 0, value) for at, value in enumerate(rule.values)), (_JUMP, 0, 0, 1), refuse]


def _filter(rules: Iterable[Rule]) -> None:
    code = program(rules, platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer)), 16)
    _prctl(_PR_SET_SECCOMP, _FILTER, ctypes.addressof(head))


def _prctl(option: int, *arguments: int) -> None:
    given = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    if _LIBC.prctl(option, *given) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")


def _drop_capabilities() -> None:
    """Have none, and gain none by starting a program: of another user, or as root of a namespace."""
    nothing = struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)
    if _LIBC.capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def close(seal: Seal) -> None:
    """Seal this process. Raises OSError where the machine does not have what that takes."""
    _drop_capabilities()
    _landlock(seal)
    _filter([*_SOCKETS, *(_UNKNOWN_TO_LANDLOCK if seal.alone else ())])


def run(seal_file: str, argv: list[str]) -> None:
    """Seal this process and become ``argv``."""
    close(Seal(**json.loads(Path(seal_file).read_bytes())))
    os.execvp(argv[0], argv)  # noqa: S606 - the program that its user asked to run, without a shell


if __name__ == "__main__":
    try:
        run(sys.argv[1], sys.argv[2:])
    except OSError as problem:
        sys.exit(f"sm_trn: cannot start {sys.argv[2]}: {problem}")
