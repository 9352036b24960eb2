"""A page that answers in a thread, a browser of few words, and the poller of a page that nobody serves."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from fakes.simulated_wire import World

from sm_trn.report.ui.access import Keys
from sm_trn.report.ui.app import Page
from sm_trn.report.ui.board import Board
from sm_trn.report.ui.serving import Server, bind
from sm_trn.report.ui.watcher import Watcher


def watcher_of(here: World, limit: int = 500) -> tuple[Watcher, Board]:
    """The poller of a page that nobody serves: a test opens its tabs and makes its steps, and pauses cost no time."""
    watcher = Watcher(here.session, limit=limit, pause=here.clock.sleep)
    return watcher, watcher.board


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Served:
    """A page that answers, and a browser of few words: it sends what it is told and keeps its cookie."""

    page: Page
    port: int
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        """Headers by name with ``_`` for a hyphen; the cookie goes along unless ``Cookie`` is given."""
        sent = {"Host": f"127.0.0.1:{self.port}", **({"Cookie": self.cookie} if self.cookie else {})}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def log_in(self) -> Answer:
        """Open the link, and keep the cookie."""
        answer = self.ask(f"/?token={self.page.keys.token}")
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    @contextmanager
    def live(self, path: str = "/api/live") -> Iterator[Callable[[], Any]]:
        """An open stream; each call returns its next message."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path, headers={"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie})
        answer = connection.getresponse()

        def following() -> Any:
            while True:
                line = answer.readline()
                assert line, "the stream has ended"
                if line.startswith(b"data: "):
                    return json.loads(line[6:])

        try:
            yield following
        finally:
            connection.close()


@contextmanager
def serving(page: Page, listening: Any) -> Iterator[Served]:
    """Answer in a thread for as long as the block lasts."""
    server = Server(page)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield Served(page, listening.getsockname()[1])
    finally:
        server.end()
        thread.join(20)
        listening.close()
        assert not thread.is_alive()


@contextmanager
def served_world(here: World) -> Iterator[Served]:
    """The page of a simulated account. Its poller moves only when a test calls ``page.watcher.step()``."""
    listening = bind(0)
    port = listening.getsockname()[1]
    page = Page(keys=Keys(port), watcher=Watcher(here.session, pause=here.clock.sleep))
    page.watcher.first()
    page.watcher.step()
    with serving(page, listening) as found:
        yield found


Serve = Callable[..., AbstractContextManager[Served]]
