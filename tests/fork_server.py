"""A Python that starts in milliseconds: a process that has the heavy modules loaded forks a child for each run asked for.

What runs is a process of its own – with its arguments, variables, folder, streams and signals – but for the seconds that
every new interpreter takes to load torch or boto3. ``python_with(...)`` gives the path of such a "Python", to be used where
``sys.executable`` is. Protocol, over a Unix socket: a JSON object with the streams' descriptors beside it; back come the
child's process number and, at its end, its exit code, a line each. Whoever hangs up before that kills the child. Where a
variable that an interpreter reads at its start differs from the server's, it is a new interpreter after all.
"""

# pathlib takes longer to load than all the rest:
# ruff: noqa: PTH100, PTH101, PTH109, PTH118, PTH120, PTH123
from __future__ import annotations

import contextlib
import functools
import json
import os
import resource
import selectors
import signal
import socket
import sys

_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "OMP_")
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


TORCH = ("torch.distributed.run", "accelerate", "transformers.trainer", "sklearn.metrics")
SHELL = (
    "boto3",
    "pandas",
    "yaml",
    "sm_trn.cli.jobs.launch",
    "sm_trn.report.commands.compare",
    "sm_trn.cli.files.check",
    "sm_trn.cli.jobs.listing",
)


class Child:
    """A run, from its start to its end. ``wait()`` gives its exit code, negative where a signal ended it."""

    def __init__(
        self,
        place: str,
        arguments: list[str],
        *,
        environment: dict[str, str],
        folder: str,
        streams: tuple[int, int, int] = (0, 1, 2),
        file_limit: int = -1,
    ) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(place)
        asked = json.dumps([arguments, environment, folder, file_limit]).encode("utf-8", "surrogateescape")
        socket.send_fds(self._line, [len(asked).to_bytes(8, "big")], list(streams))
        self._line.sendall(asked)
        self._answers = self._line.makefile()
        self.pid = int(self._answers.readline())

    def wait(self) -> int:
        code = int(self._answers.readline())
        self._answers.close()
        self._line.close()
        return code


@functools.cache
def server_of(*modules: str) -> str:
    """The socket of a fork server with these modules loaded. It ends with this process."""
    import atexit
    import shutil
    import subprocess
    import tempfile

    place = os.path.join(tempfile.mkdtemp(prefix="fork-server-"), "socket")
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", place, *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": ""},
    )
    assert process.stdout is not None
    assert b"ready\n" == process.stdout.readline(), "the fork server did not start"

    def close() -> None:
        process.communicate()  # it ends when its standard input does
        shutil.rmtree(os.path.dirname(place))

    atexit.register(close)
    return place


@functools.cache
def python_with(*modules: str) -> str:
    """An executable that takes the arguments of ``python``: [-u] [-m MODULE | -c CODE | FILE] ARGUMENT..."""
    place = server_of(*modules)
    path = os.path.join(os.path.dirname(place), "python")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" -IS "{os.path.abspath(__file__)}" run "{place}" "$@"\n')
    os.chmod(path, 0o700)
    return path


def _run(place: str, arguments: list[str]) -> None:
    """Stand for the child: pass signals on, and end as it does."""
    with open(f"{place}.variables", encoding="utf-8") as file:
        if json.load(file) != _read_at_start():
            os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 - no shell is wanted
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    child = Child(place, arguments, environment=dict(os.environ), folder=os.getcwd(), file_limit=limit)
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _frame: os.kill(child.pid, number))
    code = child.wait()
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _read_at_start() -> dict[str, str]:
    """PYTHONPATH, an empty one too, is seen to by the child."""
    return {
        name: value
        for name, value in os.environ.items()
        if value and name.startswith(_READ_AT_START) and name not in {"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHON_EXEC"}
    }


def _serve(place: str, modules: list[str]) -> None:
    import gc
    import importlib

    for name in modules:
        importlib.import_module(name)
    gc.freeze()  # what is shared stays shared
    with open(f"{place}.variables", "w", encoding="utf-8") as file:
        json.dump(_read_at_start(), file)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(place)
    listening.listen(64)
    print("ready", flush=True)
    loop = selectors.DefaultSelector()
    loop.register(listening, selectors.EVENT_READ)
    loop.register(0, selectors.EVENT_READ)
    children: dict[socket.socket, tuple[int, int]] = {}
    while True:
        for key, _ in loop.select():
            if key.fileobj == 0:  # whoever started us has ended
                for pid, _ in children.values():
                    os.kill(pid, signal.SIGKILL)
                return
            if key.fileobj is listening:
                line = listening.accept()[0]
                pid = _born(line, [listening, *children, loop])
                watch = os.pidfd_open(pid)
                children[line] = pid, watch
                loop.register(line, selectors.EVENT_READ)
                loop.register(watch, selectors.EVENT_READ, line)
                _say(line, pid)
            elif key.data is None:  # hung up
                assert isinstance(key.fileobj, socket.socket)
                loop.unregister(key.fileobj)
                os.kill(children[key.fileobj][0], signal.SIGKILL)
            else:
                line = key.data
                pid, watch = children.pop(line)
                loop.unregister(watch)
                os.close(watch)
                _say(line, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                if line in loop.get_map():
                    loop.unregister(line)
                line.close()


def _say(line: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # whoever asked has gone
        line.sendall(f"{number}\n".encode())


def _born(line: socket.socket, not_its_own: list[object]) -> int:
    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    wanted, asked = int.from_bytes(size, "big"), b""
    while len(asked) < wanted:
        asked += line.recv(wanted - len(asked))
    pid = os.fork()
    if pid == 0:
        for thing in [*not_its_own, line]:
            thing.close()  # type: ignore[attr-defined]
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        for stream in streams:
            os.close(stream)
        _live(*json.loads(asked.decode("utf-8", "surrogateescape")))
    for stream in streams:
        os.close(stream)
    return pid


def _live(arguments: list[str], environment: dict[str, str], folder: str, file_limit: int) -> None:
    """What an interpreter does between its start and its end. Never returns."""
    import atexit
    import threading
    import time
    import traceback

    code = 0
    try:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # also where the fork server was started in the background
        if file_limit >= 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
        _execute(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        code = 1
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        code = 120
    os._exit(code & 0xFF)


def _execute(arguments: list[str]) -> None:
    import runpy

    if arguments[0] == "-u":
        arguments = arguments[1:]
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    what, rest = arguments[0], arguments[1:]
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if what == "-c":
        sys.argv, sys.path[:1] = ["-c", *rest[1:]], ["", *paths]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - what -c is
    elif what == "-m":
        sys.argv, sys.path[:1] = rest, ["", *paths]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[:1] = arguments, [os.path.dirname(os.path.abspath(what)), *paths]
        runpy.run_path(what, run_name="__main__")


if __name__ == "__main__":
    deed, where, *others = sys.argv[1:]
    (_serve if deed == "serve" else _run)(where, others)
