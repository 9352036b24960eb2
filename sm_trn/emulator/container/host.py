"""A host is one emulated machine, run as a process: this module starts it through container init, reads its lines and stops it."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from ...sandbox import init
from ...sandbox.init import BROKEN_HOST, PYTHON, HostSpec
from ..telemetry.log_store import MAX_EVENT
from .layout import Where

_BLOCK = 65_536


class Host:
    """A started host. ``code`` is None while it runs; ``on_exit`` is called once, from the pump's thread. ``lost`` is why a line
    could not be taken, the first of them: the host is not held up by it, for nobody else reads its pipe.
    """

    def __init__(
        self, where: Where, spec: HostSpec, on_line: Callable[[int, str], None], on_exit: Callable[[], None]
    ) -> None:
        self.name = where.name
        self.code: int | None = None
        self.lost: Exception | None = None
        self._on_line = on_line
        self._on_exit = on_exit
        file = where.folder / "spec.json"
        file.write_text(json.dumps(spec._asdict()), encoding="utf-8")
        file.chmod(0o600)
        self._process = subprocess.Popen(
            [*PYTHON, init.__file__, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        self._pump = threading.Thread(target=self._take_lines, name=f"log of {where.name}", daemon=True)
        self._pump.start()

    @property
    def broken(self) -> bool:
        return self.code == BROKEN_HOST

    def terminate(self) -> None:
        """SIGTERM to the script, not to the toolkit: that would orphan the script."""
        self._tell(b"term\n")

    def kill(self) -> None:
        self._tell(b"kill\n")

    def join(self, timeout: float) -> bool:
        """Wait for the end and for the last line; False when it still runs."""
        self._pump.join(max(0.0, timeout))
        return not self._pump.is_alive()

    def _tell(self, command: bytes) -> None:
        try:
            if self._process.stdin is not None:
                self._process.stdin.write(command)
        except (OSError, ValueError):  # it has ended meanwhile, and its pipe is broken or closed
            return

    def _take_lines(self) -> None:
        pipe = self._process.stdout
        splitter = LineSplitter()
        if pipe is not None:
            while block := os.read(pipe.fileno(), _BLOCK):
                self._emit(splitter.feed(block))
            self._emit(splitter.end())
            pipe.close()
        self.code = self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._on_exit()

    def _emit(self, lines: Sequence[str]) -> None:
        now = int(time.time() * 1000)
        for line in lines:
            try:
                self._on_line(now, line)
            except Exception as error:  # noqa: BLE001, PERF203 - whatever it is, whoever waits for the host says it
                self.lost = self.lost or error


class LineSplitter:
    """It makes lines of bytes. A progress bar's carriage returns end a line too; empty lines are not events."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, block: bytes) -> list[str]:
        *lines, self._rest = (self._rest + block).replace(b"\r", b"\n").split(b"\n")
        if len(self._rest) > MAX_EVENT:
            lines.append(self._rest)
            self._rest = b""
        return [line.decode("utf-8", "replace") for line in lines if line.strip()]

    def end(self) -> list[str]:
        rest, self._rest = self._rest, b""
        return [rest.decode("utf-8", "replace")] if rest.strip() else []
