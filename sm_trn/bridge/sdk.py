"""The real SDK v2 in a process of its own, asked for what it makes of values and what it sends for them."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from typing import Any, Final

from ..core.extras import missing_library

START_S: Final = 90.0  # for the import of the SDK on a busy machine
ANSWER_S: Final = 30.0
_MODULE: Final = "sm_trn.bridge.recorder.replay"


class Sdk:
    """One process with the SDK imported; it is started when it is first asked, and again when it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._answers: dict[str, dict[str, Any]] = {}
        self._missing = ""

    @property
    def missing(self) -> str:
        """Why there is no SDK v2 to ask; '' where there is one."""
        if not self._missing and find_spec("sagemaker") is None:
            return str(missing_library("sagemaker", "sdk", "the request of a launch"))
        return self._missing

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """The answer to a job: ``failed`` says why there is none."""
        text = json.dumps(job, sort_keys=True)
        with self._lock:
            if text not in self._answers:
                answer = {"failed": self.missing} if self.missing else self._asked(text.encode())
                if len(self._answers) > 2_000:
                    self._answers.clear()
                self._answers[text] = answer
            return self._answers[text]

    def _asked(self, line: bytes) -> dict[str, Any]:
        try:
            process = self._started()
            if process is None:
                return {"failed": self._missing}
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            answer = self._line(process, ANSWER_S)
        except (OSError, ValueError) as error:
            self.close()
            return {"failed": f"the process that asks the SDK ended: {error}"}
        except BaseException:  # Ctrl-C: what it answers then is of this job, and the next one would get it
            self.close()
            raise
        if answer is None:
            self.close()
            return {"failed": f"the SDK gave no answer in {ANSWER_S:.0f} s"}
        found: dict[str, Any] = answer
        return found

    def _started(self) -> subprocess.Popen[bytes] | None:
        if self._process is None or self._process.poll() is not None:
            quiet = {**os.environ, "SAGEMAKER_SUPPRESS_V2_WARNING": "1"}
            self._process = subprocess.Popen(  # noqa: S603 - our own module, with no argument of anybody's
                [sys.executable, "-m", _MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=quiet,
            )
            atexit.register(self.close)
            first = self._line(self._process, START_S)
            if first is None or "failed" in first:
                self.close()
                why = first["failed"] if first else "it gave no answer"
                self._missing = f"SDK v2 cannot be asked: {why}"
                return None
        return self._process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any] | None:
        """The next line that the process writes, as JSON; None where none comes in time."""
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        number, data, until = process.stdout.fileno(), b"", time.monotonic() + seconds
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([number], [], [], max(0.0, until - time.monotonic()))
            more = os.read(number, 1 << 20) if ready else b""
            if not more:
                return None
            data += more
        answer: dict[str, Any] = json.loads(data)
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


SHARED: Final = Sdk()
