"""Programs that try to leave their copy: none changes a file outside, reaches an address or touches another process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sm_trn import sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is Linux's")

# Every escape has a folder of its own outside: out. In it are canary (a file), empty (a folder), fifo, and a file named sock that
# listens, and dgram that receives. tcp, tcp6 and udp are ports of this machine, pid is a process of its user, shm a segment of its.
PRELUDE = """
import ctypes, fcntl, mmap, os, platform, signal, socket, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
def ok(answer):
    if answer is None or answer < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
def to(address, port): return struct.pack('!HH4s8x', socket.htons(2), port, socket.inet_aton(address))
def sh(text): subprocess.run(["/bin/sh", "-c", text], check=True, timeout=20)
def tcp_to(sock, address):
    sock.settimeout(3); sock.connect(address); sock.sendall(name.encode())
def to_root(way):
    # as root of a user namespace of its own
    child = os.fork()
    if not child:
        try:
            uid, gid = os.getuid(), os.getgid()
            ok(libc.unshare(0x10000000 | 0x20000))
            open("/proc/self/setgroups", "w").write("deny"); open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
            open("/proc/self/gid_map", "w").write(f"0 {gid} 1")
        except OSError: pass
        try: way()
        finally: os._exit(0)
    os.waitpid(child, 0)
def mount(source, target, kind, flags): ok(libc.mount(*(x and x.encode() for x in (source, target, kind)), ctypes.c_ulong(flags), None))
import pwd; HOME = pwd.getpwuid(os.getuid()).pw_dir
MADE = out + "/made"; CANARY = out + "/canary"; B = CANARY.encode()
"""
FILES = {
    "open of libc": "ok(libc.open(MADE.encode(), os.O_CREAT | os.O_WRONLY, 0o600))",
    "openat as a number": "ok(libc.syscall(257 if X86 else 56, -100, MADE.encode(), os.O_CREAT | os.O_WRONLY, 0o600))",
    "openat2": "ok(libc.syscall(437, -100, MADE.encode(), struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o600, 0), 24))",
    "creat": "ok(libc.creat(MADE.encode(), 0o600))",
    "truncate of libc": "ok(libc.truncate(B, 0))",
    "rename of libc": "open('x', 'w').close(); ok(libc.rename(b'x', MADE.encode()))",
    "renameat2 exchange": "open('x', 'w').close(); ok(libc.syscall(316 if X86 else 276, -100, b'x', -100, B, 2))",
    "link of libc": "ok(libc.link(B, (out + '/linked').encode()))",
    "hard link into the copy": "ok(libc.link(B, b'mine')); open('mine', 'w').write('dead')",
    "symlink of libc": "ok(libc.symlink(b'x', MADE.encode()))",
    "unlink of libc": "ok(libc.unlink(B))",
    "rmdir of libc": "ok(libc.rmdir((out + '/empty').encode()))",
    "mknod of libc": "ok(libc.mknod(MADE.encode(), 0o100600, ctypes.c_ulong(0)))",
    "chmod of libc": "ok(libc.chmod(B, 0o777))",
    "fchmodat2": "ok(libc.syscall(452, -100, B, 0o777, 0))",
    "chown of libc": "ok(libc.chown(B, 1, 1))",
    "utimensat of libc": "ok(libc.utimensat(-100, B, struct.pack('qqqq', 1, 0, 1, 0), 0))",
    "setxattr of libc": "ok(libc.setxattr(B, b'user.x', b'y', ctypes.c_size_t(1), 0))",
    "attributes of the inode": "f = os.open(CANARY, os.O_RDONLY); fcntl.ioctl(f, 0x40086602, struct.pack('l', 0x80))",
    "reopened descriptor": "f = os.open(CANARY, os.O_RDONLY); os.write(os.open(f'/proc/self/fd/{f}', os.O_WRONLY), b'dead')",
    "root of /proc": "open('/proc/self/root' + CANARY, 'w').write('dead')",
    "above the folder": "open('../' * 30 + CANARY, 'w').write('dead')",
    "root of another process": "open(f'/proc/{pid}/root' + CANARY, 'w').write('dead')",
    "root of process 1": "open('/proc/1/root' + CANARY, 'w').write('dead')",
    "folder of its parent": "os.chdir(f'/proc/{os.getppid()}/cwd'); open('../' * 30 + CANARY, 'w').write('dead')",
    "shared memory of a file": "f = os.open(CANARY, os.O_RDWR); mmap.mmap(f, 5)[0:5] = b'dead!'",
    "pipe outside": "f = os.open(out + '/fifo', os.O_WRONLY | os.O_NONBLOCK); os.write(f, name.encode())",
    "shell": "sh(f'echo dead > {CANARY}')",
    "cp": "open('x', 'w').close(); subprocess.run(['/bin/cp', 'x', MADE], check=True)",
    "dd": "subprocess.run(['/bin/dd', 'if=/dev/zero', f'of={MADE}', 'count=1'], check=True)",
    "mv": "open('x', 'w').close(); subprocess.run(['/bin/mv', 'x', MADE], check=True)",
    "the loader": "import glob; subprocess.run([sorted(glob.glob('/lib*/ld-linux*'))[0], '/bin/touch', MADE], check=True)",
    "a script of its own": "open('s', 'w').write(f'#!/bin/sh\\necho dead > {CANARY}\\n'); os.chmod('s', 0o700); subprocess.run(['./s'])",
    "a program in memory": "f = os.memfd_create('x', 0); os.write(f, f'#!/bin/sh\\ntouch {MADE}\\n'.encode()); os.execve(f, ['x'], {})",
    "without its variables": "os.execve(sys.executable, [sys.executable, '-I', '-S', '-c', f'open({CANARY!r}, \"w\")'], {})",
    "caches of Python": "subprocess.run([sys.executable, '-c', 'import colorsys'], env={'PYTHONPYCACHEPREFIX': out + '/cache'})",
    "core dump": "os.chdir(out); __import__('resource').setrlimit(4, (-1, -1)); os.kill(os.getpid(), signal.SIGSEGV)",
    "daemon that waits": (
        "os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0)\ntime.sleep(0.5); open(CANARY, 'w').write('dead')"
    ),
    "other user": "subprocess.run(['su', '-c', f'touch {MADE}'], timeout=10, stdin=-3)",
    "sudo": "subprocess.run(['sudo', '-n', 'touch', MADE], timeout=10)",
    "file by its handle": (
        "h = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128)); m = ctypes.c_int()\n"
        "ok(libc.name_to_handle_at(-100, B, h, ctypes.byref(m), 0)); d = os.open(out, os.O_RDONLY)\n"
        "os.write(ok(libc.open_by_handle_at(d, h, os.O_WRONLY)), b'dead')"
    ),
    "asynchronous calls": (
        "p = ctypes.create_string_buffer(120); r = ok(libc.syscall(425, 4, p)); open('ring', 'w').write(str(r)); "
        "os.write(os.open(CANARY, os.O_WRONLY), b'dead')"
    ),
    "writable again": "to_root(lambda: (mount(None, '/', None, 4096 | 32), open(CANARY, 'w').write('dead')))",
    "bound again": (
        "to_root(lambda: (os.mkdir('m'), mount(out, 'm', None, 4096), mount(None, 'm', None, 4096 | 32),"
        " open('m/canary', 'w')))"
    ),
    "unmounted": "to_root(lambda: (libc.umount2(b'/', 2), libc.umount2(out.encode(), 2), open(CANARY, 'w').write('dead')))",
    "tree cloned": (
        "to_root(lambda: ok(libc.syscall(442, (f := ok(libc.syscall(428, -100, out.encode(), 1))), b'', 0x1000,"
        " struct.pack('QQQQ', 0, 1, 0, 0), 32)) or open(f'/proc/self/fd/{f}/canary', 'w').write('dead'))"
    ),
    "moved root": "to_root(lambda: (os.chroot(f'/proc/{pid}/root'), open(CANARY, 'w').write('dead')))",
    "mounts of process 1": "f = os.open('/proc/1/ns/mnt', os.O_RDONLY); ok(libc.setns(f, 0)); open(CANARY, 'w').write('dead')",
    "mounts of another": "f = os.open(f'/proc/{pid}/ns/mnt', os.O_RDONLY); ok(libc.setns(f, 0)); open(CANARY, 'w').write('dead')",
    "handler of core dumps": "open('/proc/sys/kernel/core_pattern', 'r+').close(); open(MADE + name, 'w'); note('it opened')",
    "setting of the kernel": "os.close(os.open('/proc/sys/vm/swappiness', os.O_WRONLY)); note('it opened')",
    "setting of a device": "os.close(os.open('/sys/kernel/mm/transparent_hugepage/enabled', os.O_WRONLY)); note('it opened')",
    "messages of the kernel": "os.close(os.open('/dev/kmsg', os.O_WRONLY)); note('it opened')",
    "memory of the machine": "os.close(os.open('/dev/mem', os.O_WRONLY)); note('it opened')",
    "device of a disk": (
        "n = next(line.split() for line in open('/proc/partitions') if line.split()[-1:] and line.split()[0].isdigit())\n"
        "os.mknod('disk', 0o60600, os.makedev(int(n[0]), int(n[1]))); os.close(os.open('disk', os.O_RDWR)); note('it opened')"
    ),
    "control group": "os.mkdir('/sys/fs/cgroup/' + os.path.basename(out)); note('it was made')",
    "shared memory": "os.close(os.open('/dev/shm/' + os.path.basename(os.path.dirname(out)), os.O_WRONLY)); note('it opened')",
    "segment of System V": (
        "a = libc.shmat; a.restype = ctypes.c_void_p\nctypes.memmove(a(ok(libc.shmget(shm, 8, 0o600)), None, 0), b'dead', 4)"
    ),
}  # fmt: skip
NETWORK = {
    "connect of libc": "s = socket.socket(); ok(libc.connect(s.fileno(), to('127.0.0.1', tcp), 16))",
    "connect without a hook": (
        "code = f'import socket; socket.create_connection((\"127.0.0.1\", {tcp}))'\n"
        "subprocess.run([sys.executable, '-I', '-S', '-c', code], check=True)"
    ),
    "tcp of version 6": "tcp_to(socket.socket(socket.AF_INET6), ('::1', tcp6))",
    "own address": "s = socket.socket(); ok(libc.connect(s.fileno(), to(host, tcp), 16))",
    "bash": "subprocess.run(['bash', '-c', f'echo {name} > /dev/tcp/127.0.0.1/{tcp}'], check=True, timeout=10)",
    "udp": "socket.socket(2, 2).sendto(name.encode(), ('127.0.0.1', udp))",
    "udp of libc": "s = socket.socket(2, 2); ok(libc.sendto(s.fileno(), b'x', 1, 0, to('127.0.0.1', udp), 16))",
    "udp to its own address": "s = socket.socket(2, 2); ok(libc.sendto(s.fileno(), b'x', 1, 0, to(host, udp), 16))",
    "fast open": "socket.socket().sendto(name.encode(), 0x20000000, ('127.0.0.1', tcp))",
    "multipath tcp": "tcp_to(socket.socket(2, 1, 262), ('127.0.0.1', tcp))",
    "raw": "socket.socket(2, 3, 1).sendto(b'x' * 64, ('127.0.0.1', 0)); note('it was sent')",
    "packets": "s = socket.socket(17, 3, 0x300); s.bind(('lo', 0)); s.send(b'x' * 64); note('it was sent')",
    "virtual machine": "s = socket.socket(40, 1); s.bind((-1, 4000 + os.getpid() % 1000)); note('it was bound')",
    "socket of the kernel": "s = socket.socket(16, 3, 9); s.bind((0, 0)); s.send(struct.pack('IHHII', 16, 1, 1, 0, 0)); open('sent', 'w')",
    "socket in a folder": "tcp_to(socket.socket(1), out + '/sock')",
    "datagram in a folder": "socket.socket(1, 2).sendto(name.encode(), out + '/dgram')",
    "half of a pair": "a, b = socket.socketpair(1, 2); a.sendto(name.encode(), out + '/dgram')",
    "pair that connects anew": "a, b = socket.socketpair(1, 2); a.connect(out + '/dgram'); a.send(name.encode())",
    "abstract socket": "tcp_to(socket.socket(1), chr(0) + os.path.basename(os.path.dirname(out)))",
    "curl": "subprocess.run(['curl', '-m', '5', f'http://127.0.0.1:{tcp}/'], check=True)",
    "network of process 1": "f = os.open('/proc/1/ns/net', os.O_RDONLY); ok(libc.setns(f, 0)); tcp_to(socket.socket(), ('127.0.0.1', tcp))",
    "network of another": (
        "f = os.open(f'/proc/{pid}/ns/net', os.O_RDONLY); ok(libc.setns(f, 0))\n"
        "tcp_to(socket.socket(), ('127.0.0.1', tcp))"
    ),
}  # fmt: skip
PROCESSES = {
    "kill of libc": "ok(libc.kill(pid, 9))",
    "kill of its group": "ok(libc.killpg(os.getpgid(pid) if os.path.exists(f'/proc/{pid}') else pid, 9))",
    "kill by the shell": "sh(f'kill -9 {pid}')",
    "signal to a descriptor": "ok(libc.syscall(424, ok(libc.syscall(434, pid, 0)), 9, None, 0))",
    "queued signal": "ok(libc.sigqueue(pid, 9, None))",
    "thread of another": "ok(libc.syscall(234 if X86 else 131, pid, pid, 9))",
    "traced": "ok(libc.ptrace(16, pid, None, None)); os.waitpid(pid, 0); ok(libc.ptrace(8, pid, None, None))",
    "limit": "__import__('resource').prlimit(pid, 7, (3, 3))",
    "descriptor of another": "ok(libc.syscall(438, ok(libc.syscall(434, pid, 0)), 0, 0)); note('it was taken')",
    "memory of another": "os.close(os.open(f'/proc/{pid}/mem', os.O_RDWR)); note('it opened')",
    "variables of another": "os.read(os.open(f'/proc/{pid}/environ', os.O_RDONLY), 1); note('they were read')",
}
# A program in namespaces has a /tmp of its own: these look for this machine's, where their ``out`` lies.
TEMPORARY = {
    "file of /tmp": "os.makedirs(out, exist_ok=True); open(CANARY, 'w').write('dead'); open(MADE, 'w').write('made')",
    "pipe in /tmp": "f = os.open(out + '/fifo', os.O_WRONLY | os.O_NONBLOCK); os.write(f, name.encode())",
    "/tmp of process 1": "open('/proc/1/root' + CANARY, 'w').write('dead')",
    "above the copy": "open('../' * 3 + out.removeprefix('/tmp/') + '/canary', 'w').write('dead')",
    "link of the own /tmp": "os.makedirs(out, exist_ok=True); os.symlink(CANARY, out + '/l'); open(out + '/l', 'w').write('dead')",
    "/tmp unmounted": "to_root(lambda: (libc.umount2(b'/tmp', 2), open(CANARY, 'w').write('dead')))",
    "/tmp moved away": (
        "to_root(lambda: (os.mkdir('m'), mount('/tmp', os.path.abspath('m'), None, 8192), open(CANARY, 'w').write('dead')))"
    ),
}  # fmt: skip
# Each is told by what it does outside, or by ``note`` where that leaves no trace there.
NEW = {
    # Python itself may lie in a folder there; no file of the home is seen.
    "files of the real home": "seen = [e.name for e in os.scandir(HOME) if e.is_file()]; note(seen) if seen else None",
    "keys in the real home": "seen = [n for n in ('.ssh', '.aws') if os.path.exists(f'{HOME}/{n}')]; note(seen) if seen else None",
    "file of the home by handle": (
        "h = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128)); m = ctypes.c_int()\n"
        "ok(libc.name_to_handle_at(-100, HOME.encode(), h, ctypes.byref(m), 0)); d = os.open('/etc', os.O_RDONLY)\n"
        "note('it opened ' + str(os.listdir(ok(libc.open_by_handle_at(d, h, os.O_RDONLY)))))"
    ),
    "socket of a daemon": "tcp_to(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), out + '/sock')",
    "32-bit call": (
        "code = bytes([0x31, 0xdb, 0xb8, 1, 0, 0, 0, 0xcd, 0x80, 0xc3])\n"
        "m = mmap.mmap(-1, 4096, prot=7); m.write(code) if X86 else None\n"
        "f = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\n"
        "f() if X86 else None; note('a call of another machine was answered')"
    ),
    "call of x32": "ok(libc.syscall(0x40000000 + 41, 1, 1, 0)) if X86 else ok(-1); note('a call of x32 was answered')",
    "readable again by a new mount": (
        "to_root(lambda: (os.mkdir('m'), mount('/home', os.path.abspath('m'), None, 4096 | 16384),"
        " os.listdir('m') and note('it read')))"
    ),
    "flags of the mount": (
        "ok(libc.syscall(442, -100, b'/', 0x8000, struct.pack('QQQQ', 0, 1, 0, 0), 32)); open(CANARY, 'w').write('dead')"
    ),
    "flags of the mount as root": (
        "to_root(lambda: (libc.syscall(442, -100, b'/', 0x8000, struct.pack('QQQQ', 0, 1, 0, 0), 32), open(CANARY, 'w').write('dead')))"
    ),
    "pivot of the root": (
        "to_root(lambda: (os.mkdir('r'), mount('/', os.path.abspath('r'), None, 4096 | 16384), os.chdir('r'), os.mkdir('old'),"
        " ok(libc.syscall(155 if X86 else 41, b'.', b'old')), open(CANARY, 'w').write('dead')))"
    ),
    "overlay above": (
        "os.makedirs('u'); os.makedirs('w')\n"
        "to_root(lambda: (ok(libc.mount(b'overlay', out.encode(), b'overlay', ctypes.c_ulong(0),"
        " f'lowerdir={out},upperdir={os.getcwd()}/u,workdir={os.getcwd()}/w'.encode())), open(CANARY, 'w').write('dead')))"
    ),
    "new mount API": (
        "f = ok(libc.syscall(430, b'tmpfs', 0)); ok(libc.syscall(431, f, 6, None, None, 0))\n"
        "note('a file system was made')"
    ),
    "links in a loop": "os.symlink(out, 'l'); open('l/canary', 'w').write('dead')",
    "link while it is copied": "os.symlink('/proc/self/root' + CANARY, 'k'); os.truncate('k', 0)",
    "append of the seal": "open(os.path.join(os.environ['HOME'], '..', 'spec.json'), 'a').write('x'); open(CANARY, 'a').write('dead')",
    "limits raised": "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (-1, -1)); note('a limit was raised')",
    "priority raised": "os.setpriority(os.PRIO_PROCESS, 0, -20); note('it was raised')",
    "clock of the machine": "time.clock_settime(0, 0); note('it was set')",
    "name of the machine": "socket.sethostname('dead'); note('it was set')",
    "performance of others": (
        "a = struct.pack('II', 1, 120) + bytes(112); ok(libc.syscall(298 if X86 else 241, a, pid, -1, -1, 0))\n"
        "note('it was watched')"
    ),
    "memory read by another call": (
        "b = ctypes.create_string_buffer(64); v = struct.pack('PN', ctypes.addressof(b), 64); r = struct.pack('PN', 0x400000, 64)\n"
        "ok(libc.syscall(310 if X86 else 270, pid, v, 1, r, 1, 0)); note('it was read')"
    ),
    "trace by another call": "ok(libc.ptrace(0x4206, pid, None, None)); note('it was seized')",
    "loader of modules": "f = os.memfd_create('m'); ok(libc.syscall(313 if X86 else 273, f, b'', 0)); note('it was loaded')",
    "program of the kernel": "ok(libc.syscall(321 if X86 else 280, 5, bytes(120), 120)); note('it was loaded')",
}  # fmt: skip
ESCAPES = {**FILES, **NETWORK, **PROCESSES, **TEMPORARY, **NEW}


class Outside:
    """What is outside: a folder for each escape, ports, sockets and a process. ``reached`` are those that somebody came to."""

    def __init__(self, folder: Path, name: str, stack: contextlib.ExitStack) -> None:
        self.folder, self.name, self.reached = folder, name, list[str]()
        folder.mkdir()
        (folder / "canary").write_text("alive")
        (folder / "empty").mkdir()
        os.mkfifo(folder / "fifo")
        self.fifo = os.open(folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        stack.callback(os.close, self.fifo)
        self.unix = self._listening(stack, socket.socket(socket.AF_UNIX), str(folder / "sock"))
        self.datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.datagrams.bind(str(folder / "dgram"))
        self.tcp = self._listening(stack, socket.socket(), ("", 0))
        self.tcp6 = self._listening(stack, socket.socket(socket.AF_INET6), ("::1", 0))
        self.udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        self.udp.bind(("", 0))
        self.victim = subprocess.Popen(["/bin/sleep", "300"], start_new_session=True)
        stack.callback(self._end)
        self.before = self.state()

    def _listening(self, stack: contextlib.ExitStack, server: socket.socket, address: object) -> socket.socket:
        stack.enter_context(server)
        server.bind(address)  # type: ignore[arg-type]  # of either family
        server.listen()
        server.setblocking(False)
        return server

    def _end(self) -> None:
        self.victim.kill()
        self.victim.wait()

    def head(self, shared: int) -> str:
        names = {
            "name": self.name, "out": str(self.folder), "pid": self.victim.pid, "tcp": self.tcp.getsockname()[1],
            "tcp6": self.tcp6.getsockname()[1], "udp": self.udp.getsockname()[1], "shm": shared, "host": own_address(),
        }  # fmt: skip
        return "".join(f"{name} = {value!r}\n" for name, value in names.items()) + PRELUDE

    def state(self) -> object:
        rows = []
        for path in sorted(self.folder.rglob("*")):
            stat = path.lstat()
            text = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            attributes = os.listxattr(path, follow_symlinks=False)
            rows.append((path.name, stat.st_mode, stat.st_uid, stat.st_mtime, stat.st_nlink, text, attributes))
        return rows

    def touched(self) -> list[str]:
        """What somebody did."""
        found = ["files changed"] if self.state() != self.before else []
        for server in (self.tcp, self.tcp6, self.unix):
            with contextlib.suppress(BlockingIOError):
                server.accept()[0].close()
                found.append("connection")
        for receiver in (self.udp, self.datagrams):
            receiver.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                receiver.recv(100)
                found.append("datagram")
        with contextlib.suppress(BlockingIOError):
            found += ["fifo"] if os.read(self.fifo, 100) else []
        if self.victim.poll() is not None or "T" in Path(f"/proc/{self.victim.pid}/stat").read_text().split()[2]:
            found.append("process ended or stopped")
        elif resource.prlimit(self.victim.pid, resource.RLIMIT_NOFILE) == (3, 3):
            found.append("limit changed")
        return found


def own_address() -> str:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
            return str(sock.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def launcher(outsides: list[Outside], shared: int) -> str:
    """A program that tries each escape in a process of its own. An escape that says with ``note`` that it went well is told too."""
    parts = ["import os, signal, sys, time, traceback\nwaits = []\n"]
    for outside in outsides:
        code = (
            outside.head(shared)
            + "def note(text): os.write(1, f'\\nESCAPED {name}\\t{text}\\n'.encode())\n"
            + ESCAPES[outside.name]
        )
        parts.append(
            f"child = os.fork()\nif not child:\n    os.setsid(); os.makedirs({outside.folder.name!r}, exist_ok=True)\n"
            f"    os.chdir({outside.folder.name!r})\n    signal.alarm(30)\n"
            f"    try: exec({code!r}, {{}})\n"
            f"    except BaseException as error: print({outside.name!r}, 'was held:', repr(error)[:160], flush=True)\n"
            "    os._exit(0)\nwaits.append(child)\n"
        )
    return "".join([*parts, "for child in waits: os.waitpid(child, 0)\ntime.sleep(1)\nprint('TRIED', len(waits))\n"])


@contextlib.contextmanager
def segment() -> Iterator[tuple[int, Callable[[], bytes]]]:
    """A segment of shared memory of this user, and what it holds."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key = 0x5EA1 + os.getpid()
    number = libc.shmget(key, 8, 0o1600)
    place = libc.shmat(number, None, 0)
    ctypes.memset(place, 0, 8)
    try:
        yield key, lambda: ctypes.string_at(place, 4)
    finally:
        libc.shmdt(ctypes.c_void_p(place))
        libc.shmctl(number, 0, None)


def escaped(work: Path, names: list[str], *, sealed: bool = True) -> tuple[dict[str, list[str]], str]:
    """Return the escapes that went well, with what they did, and what the program printed."""
    base = Path(tempfile.mkdtemp(prefix="out-", dir="/var/tmp"))
    temporary = Path("/tmp", base.name)
    temporary.mkdir()
    in_memory = Path("/dev/shm", base.name)
    in_memory.touch()
    try:
        with contextlib.ExitStack() as stack:
            abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
            abstract.bind(f"\0{base.name}")
            abstract.listen()
            abstract.setblocking(False)
            key, content = stack.enter_context(segment())
            outsides = [
                Outside((temporary if name in TEMPORARY else base) / str(at), name, stack)
                for at, name in enumerate(names)
            ]
            (work / "launch.py").write_text(launcher(outsides, key))
            output = run(work) if sealed else unsealed(work)
            found = {outside.name: touched for outside in outsides if (touched := outside.touched())}
            for line in output.splitlines():
                if line.startswith("ESCAPED "):
                    name, _, words = line.removeprefix("ESCAPED ").partition("\t")
                    found.setdefault(name, []).append(words)
            if content() != bytes(4):
                found["segment of System V"] = ["it was written"]
            with contextlib.suppress(BlockingIOError):
                abstract.accept()[0].close()
                found["abstract socket"] = ["connection"]
            return found, output
    finally:
        in_memory.unlink()
        shutil.rmtree(base)
        shutil.rmtree(temporary)


def run(folder: Path) -> str:
    with sandbox.workspace(folder) as work:
        argv = ["python", "launch.py"]
        program = sandbox.Program(argv=argv, folder=work.folder, environment={}, limits=sandbox.Limits(seconds=120))
        return sandbox.run(program, work).output


def unsealed(folder: Path) -> str:
    command = [sys.executable, "launch.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False).stdout


def test_no_escape_leaves_the_copy(tmp_path: Path) -> None:
    if not sandbox.available():
        pytest.skip("this machine has no sandbox")
    escapes, output = escaped(tmp_path, list(ESCAPES))
    assert f"TRIED {len(ESCAPES)}" in output, output
    assert {} == escapes, output


def test_there_are_escapes_enough_and_they_work_where_nothing_holds(tmp_path: Path) -> None:
    """The harmless ones are tried without isolation: a table whose programs do nothing would prove nothing."""
    assert len(ESCAPES) >= 92
    names = [
        "openat2",
        "chmod of libc",
        "shell",
        "pipe outside",
        "udp",
        "socket in a folder",
        "half of a pair",
        "limit",
    ]
    escapes, output = escaped(tmp_path, names, sealed=False)
    assert set(names) == set(escapes), output
