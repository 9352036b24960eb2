"""A run in a process of its own, interrupted at its n-th request: ``python interrupted.py ENDPOINT STATE KIND N``.

Kinds: ``kill-before`` and ``kill-after`` (SIGKILL round the request), ``ctrl-c``, ``term``, ``hang-up``, ``twice``
(SIGTERM and SIGHUP), ``expired`` (every answer from then on says so),
``throttled`` (three answers from then on), ``none`` (prints how many requests a whole run makes).
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wired
from botocore.awsrequest import AWSResponse

from sm_trn.account.conformance.probes import PROBES
from sm_trn.account.conformance.run import ask_account
from sm_trn.core.errors import SmTrnError
from sm_trn.emulator.options import load

NAMES = {
    "create with no instance", "a job that completes", "a job that fails with a reason", "a job in Training", "stop a job in Training",
    "stop a job before its download", "a warm pool that is released", "an object", "a page of objects",
}  # fmt: skip
SENT = {
    "ctrl-c": (signal.SIGINT,), "term": (signal.SIGTERM,), "hang-up": (signal.SIGHUP,), "twice": (signal.SIGTERM, signal.SIGHUP),
    "kill-before": (signal.SIGKILL,),
}  # fmt: skip
THROTTLED = 3


class _Body(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.getvalue()


class Interrupter:
    """Counts requests, and does at the n-th what ``kind`` says."""

    def __init__(self, session: Any, kind: str, n: int) -> None:
        self.count, self._kind, self._n = 0, kind, n
        session.events.register("before-send", self._before)
        session.events.register("before-parse", self._after)

    def _before(self, request: Any, **_event: Any) -> AWSResponse | None:
        self.count += 1
        late = self.count - self._n
        for number in SENT.get(self._kind, ()) if late == 0 else ():
            os.kill(os.getpid(), number)
        if late >= 0 and self._kind == "expired":
            return _error(request.url, "ExpiredTokenException", "The security token included in the request is expired")
        if 0 <= late < THROTTLED and self._kind == "throttled":
            return _error(request.url, "ThrottlingException", "Rate exceeded")
        return None

    def _after(self, **_event: Any) -> None:
        if self.count == self._n and self._kind == "kill-after":
            os.kill(os.getpid(), signal.SIGKILL)


def _error(url: str, code: str, message: str) -> AWSResponse:
    json = f'{{"__type": "{code}", "message": "{message}"}}'
    xml = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    text = xml if "/sagemaker-" in url else json  # the bucket stands in the path of S3's requests
    return AWSResponse(url, 400, {"content-type": "application/x-amz-json-1.1"}, _Body(text.encode()))


def main(endpoint: str, state: str, kind: str, n: str) -> int:
    found = load(Path(endpoint).read_text("utf-8"))
    session = wired.session_of(found)
    target = wired.target_of(found, session)
    interrupter = Interrupter(session, kind, int(n))
    probes = [probe for probe in PROBES if probe.name in NAMES]
    try:
        ask_account(target, probes, clock=wired.MovedClock(), state=Path(state))
    except (SmTrnError, KeyboardInterrupt) as error:
        print(type(error).__name__)
        return 1
    print(interrupter.count)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
