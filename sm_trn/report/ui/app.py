"""What the page asks of its server. Every answer is a page, a file of the package, or a stream of pieces of HTML."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.resources import files

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from ...core.errors import SmTrnError
from ...core.session.handles import TrainingJob
from ...core.session.stops import stop_one
from ..fleets.fleet import fleet
from ..pages import message_page, render, style_sheet
from .access import DOCUMENT_POLICY, Access, Keys
from .board import Board
from .watcher import Watcher

HEARTBEAT_S = 15.0
PAUSE_S = 0.2  # between two pieces of a stream
BODY = 4_000  # bytes of a request
MOST = 40  # jobs of one comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One running page: its secrets, what is shown, and who finds out."""

    keys: Keys
    board: Board
    watcher: Watcher
    _drawing: threading.Lock = field(default_factory=threading.Lock)  # matplotlib draws for one thread only

    def app(self) -> Access:
        """The whole ASGI application."""
        routes = [
            Route("/", self._list),
            Route("/job", self._job),
            Route("/static/{name}", self._file),
            Route("/favicon.ico", lambda _request: Response(status_code=204)),  # browsers ask for one
            Route("/api/live", self._live),
            Route("/api/stop", self._stop, methods=["POST"]),
            Route("/costs", self._costs),
            Route("/comparison", self._comparison),
        ]
        return Access(Starlette(routes=routes), self.keys)

    async def _list(self, _request: Request) -> Response:
        return HTMLResponse(self._shell("Jobs", ""))

    async def _job(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        if self.watcher.snapshot(name) is None:
            return _document(message_page("No such job", f"No job {name!r} is shown here."), 404)
        return HTMLResponse(self._shell(name, name))

    def _shell(self, title: str, opened: str) -> str:
        _, pieces = self.board.since(0, opened)
        return render(
            "live.html", kind="live", title=title, links={}, now=None, opened=opened, csrf=self.keys.csrf, pieces=pieces
        )

    async def _file(self, request: Request) -> Response:
        match request.path_params["name"]:
            case "live.css":
                return Response(str(style_sheet()), media_type="text/css")
            case "live.js":
                script = files("sm_trn.report").joinpath("html").joinpath("live.js").read_text("utf-8")
                return Response(script, media_type="text/javascript")
            case _:
                return _error("There is no such file.", 404)

    async def _live(self, request: Request) -> Response:
        opened = request.query_params.get("job", "")
        if self.watcher.snapshot(opened) is None:
            opened = ""
        return StreamingResponse(self._news(opened), media_type="text/event-stream")

    async def _news(self, opened: str) -> AsyncIterator[bytes]:
        """News for one tab, for as long as it listens."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        with self.board.listening(wake, opened):
            version = 0
            while not self.board.closed:
                changed.clear()
                version, pieces = self.board.since(version, opened)
                if pieces:
                    yield b"data: " + orjson.dumps(pieces) + b"\n\n"
                    await asyncio.sleep(PAUSE_S)
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT_S)
                except asyncio.TimeoutError:
                    yield b": still here\n\n"

    def _costs(self, _request: Request) -> Response:
        """What the jobs that have ended cost, as the page of a fleet."""
        settings, jobs = self.watcher.settings, list(self.watcher.known.values())
        cut = settings.limit if len(jobs) >= settings.limit else None
        item = fleet([job for job in jobs if job.terminal], book=self.watcher.session.prices, cut=cut)
        return _document(item.page(now=self._now()), 200)

    def _comparison(self, request: Request) -> Response:
        """Jobs side by side, as the page of a comparison."""
        from ..comparison.compare import compare  # noqa: PLC0415 - matplotlib is loaded on use
        from ..comparison.page import pictures  # noqa: PLC0415 - as above

        names = list(dict.fromkeys(request.query_params.getlist("job")))
        unknown = [name for name in names if self.watcher.snapshot(name) is None]
        if unknown or not 1 <= len(names) <= MOST:
            words = f"No job {unknown[0]!r} is shown here." if unknown else f"Tick between 1 and {MOST} jobs."
            return _document(message_page("No comparison", words), 404)
        session = self.watcher.session
        try:
            records = [TrainingJob(name=name, session=session).record() for name in names]
            item = compare(records, book=session.prices)
            with self._drawing:
                return _document(item.page(pictures(item.sections), now=self._now()), 200)
        except SmTrnError as error:
            return _document(message_page("No comparison", str(error)), 200)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.watcher.session.clock.now(), tz=timezone.utc)

    async def _stop(self, request: Request) -> Response:
        """Ask one job to stop: only where the page was started for that, and the person typed the job's name."""
        if not self.watcher.settings.allow_stop:
            return _error("This page is read-only. Start it with sm-trn ui --allow-stop.", 403)
        try:
            sent = orjson.loads(await _body(request))
            name, typed = sent["job"], sent["confirm"]
        except (orjson.JSONDecodeError, TypeError, KeyError):
            return _error("Nothing was stopped: wanted job and confirm.", 400)
        if not isinstance(name, str) or self.watcher.snapshot(name) is None:
            return _error("Nothing was stopped: no such job is shown here.", 404)
        if typed != name:
            return _error(f"Nothing was stopped: wanted the name {name} as confirmation.", 400)
        try:
            asked = await asyncio.to_thread(stop_one, self.watcher.session.backend, name)
        except SmTrnError as error:
            return _error(str(error), 502)
        self.watcher.hurry()
        return Response(orjson.dumps({"asked": asked}), media_type="application/json")


async def _body(request: Request) -> bytes:
    """The request's body; of one that is too long, its beginning, which is no JSON."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY:
            break
    return body


def _error(words: str, status: int) -> Response:
    return Response(orjson.dumps({"error": words}), status, media_type="application/json")


def _document(document: str, status: int) -> Response:
    """A page without scripts, with a style sheet in it. A browser may refuse a sandboxed document with an opener policy of its own."""
    headers = {"Content-Security-Policy": DOCUMENT_POLICY, "Cross-Origin-Opener-Policy": "unsafe-none"}
    return HTMLResponse(document, status, headers=headers)
