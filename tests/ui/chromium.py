"""A headless Chromium that a test drives: pages are opened, asked, resized and pictured while a server answers them.

It speaks the DevTools protocol over two pipes, so it needs nothing but the browser: https://chromedevtools.github.io/devtools-protocol/,
"--remote-debugging-pipe" (messages are JSON, each ended by a NUL). ``tests/browser.py`` says which browser that is.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import browser

PATIENCE_S = 30.0


class Tab:
    """One tab. ``ask`` returns what a JavaScript expression, or a promise of it, becomes."""

    def __init__(self, chromium: Chromium, session: str, target: str) -> None:
        self._chromium = chromium
        self._session = session
        self.target = target

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._chromium.call(method, params, self._session)

    def ask(self, expression: str) -> Any:
        said = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, json.dumps(said["exceptionDetails"])[:2000]
        return said["result"].get("value")

    def until(self, expression: str, seconds: float = PATIENCE_S) -> Any:
        """The first value of ``expression`` that is true; the page is asked again as it draws."""
        loop = (
            f"(async () => {{ const end = performance.now() + {seconds * 1000};"
            f"for (;;) {{ const found = {expression}; if (found || performance.now() > end)"
            " return typeof found === 'object' ? found !== null : found; await new Promise(r => setTimeout(r, 20)) } })()"
        )
        found = self.ask(loop)
        assert found, f"{expression} did not become true; the page says: {self.ask('document.body.innerText')[:1500]}"
        return found

    def size(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def dark(self, on: bool = True) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def front(self) -> None:
        """As if a person had turned to it: a tab behind another one draws nothing."""
        self.call("Page.bringToFront")

    def open(self, url: str) -> None:
        self.front()
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def picture(self, path: Path, *, whole: bool = True) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))


class Chromium:
    """The browser. Everything that it reports of errors is kept in ``complaints``."""

    def __init__(self, folder: Path) -> None:
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        # It reads from 3 and writes to 4; neither may be one of ours while they are put there.
        ours = commands, answers
        commands, answers = (fcntl.fcntl(one, fcntl.F_DUPFD, 20) for one in ours)
        for one in ours:
            os.close(one)
        flags = [*browser.FLAGS, "--remote-debugging-pipe", "--no-first-run", f"--user-data-dir={folder / 'profile'}"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", browser.CHROMIUM, *flags],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self.complaints: list[str] = []

    def call(self, method: str, params: dict[str, Any], session: str = "") -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._hear()
            if heard.get("id") == number:
                assert "error" not in heard, f"{method}: {heard['error']}"
                found: dict[str, Any] = heard["result"]
                return found
            self._keep(heard)

    def _hear(self) -> dict[str, Any]:
        end = time.monotonic() + 2 * PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._read, 1 << 20) if ready else b""
            assert part, "the browser does not answer"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        heard: dict[str, Any] = json.loads(message)
        return heard

    def _keep(self, heard: dict[str, Any]) -> None:
        method, params = heard.get("method"), heard.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:600])
        if method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"{params['entry'].get('url', '')} {params['entry']['text']}")

    def tab(self) -> Tab:
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        tab = Tab(self, session, target)
        for domain in ("Page", "Runtime", "Log"):
            tab.call(f"{domain}.enable")
        return tab

    def shut(self, tab: Tab) -> None:
        """Close one tab."""
        self.call("Target.closeTarget", {"targetId": tab.target})

    def close(self) -> None:
        os.close(self._write)  # it ends with its pipe
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)


@contextmanager
def chromium(folder: Path) -> Iterator[Chromium]:
    """A browser with a profile of its own, which ends with the block."""
    found = Chromium(folder)
    try:
        yield found
    finally:
        found.close()
