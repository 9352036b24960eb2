"""What the page asks of its server. Every answer is a file of the package, JSON, or a stream of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from ...core import __version__
from ...core.errors import SmTrnError
from ...core.formatting.html import text, variables
from ...core.session.stops import stop_one
from ..document import document_head
from .access import FRAMED_POLICY, Access, Keys
from .board import Board, Json, Update
from .lines import Line, Lines, Wanted, line_text
from .watcher import Watcher

TYPES: Mapping[str, str] = MappingProxyType(
    {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
)
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
    compare: Callable[
        [Sequence[str], Sequence[int]], str
    ]  # jobs side by side, each with the colour of its slot, as a document; raises SmTrnError

    def app(self) -> Access:
        """The whole ASGI application."""
        routes = [
            Route("/", self._file),
            Route("/static/{name}", self._file),
            Route("/api/page", self._page),
            Route("/api/live", self._live),
            Route("/api/costs", self._costs),
            Route("/api/log", self._log),
            Route("/api/stop", self._stop, methods=["POST"]),
            Route("/comparison", self._comparison),
        ]
        return Access(Starlette(routes=routes), self.keys)

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        body = _static().get(name)
        if body is None:
            return _error("There is no such file.", 404)
        return Response(body, media_type=TYPES[name[name.rindex(".") :]])

    async def _page(self, _request: Request) -> Response:
        return _json({"csrf": self.keys.csrf, "version": __version__, "most": MOST})

    async def _live(self, request: Request) -> Response:
        opened = request.query_params.get("job", "")
        if opened and self.watcher.snapshot(opened) is None:
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
                update = self.board.since(version, opened)
                if update is not None:
                    version = update.version
                    yield b"data: " + orjson.dumps(_said(update)) + b"\n\n"
                    await asyncio.sleep(PAUSE_S)
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT_S)
                except asyncio.TimeoutError:
                    yield b": still here\n\n"

    def _costs(self, _request: Request) -> Response:
        return _json(self.watcher.spending())

    def _log(self, request: Request) -> Response:
        """Lines of an opened job: in a thread, for an expression may take its time."""
        lines = self.watcher.lines(request.query_params.get("job", ""))
        if lines is None:
            return _error("The log of this job was not read yet.", 404)
        asked = request.query_params
        try:
            return _json(_window(lines, asked))
        except ValueError:
            return _error("rank, before and after: wanted whole numbers.", 400)
        except SmTrnError as error:
            return _error(str(error), 400)

    def _comparison(self, request: Request) -> Response:
        names = request.query_params.getlist("job")
        asked = request.query_params.getlist("slot")
        unknown = [name for name in names if self.watcher.snapshot(name) is None]
        slots = [int(slot) if slot.isdecimal() and len(slot) < 4 else place for place, slot in enumerate(asked)]
        if unknown or not 1 <= len(names) <= MOST:
            said = f"No job {unknown[0]!r} is shown here." if unknown else f"Tick between 1 and {MOST} jobs."
            return _framed(_document(said), 404)
        try:
            return _framed(self.compare(names, slots), 200)
        except SmTrnError as error:
            return _framed(_document(str(error)), 200)

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
        return _json({"asked": asked})


@cache
def _static() -> Mapping[str, bytes]:
    """The page's own files by name; the style sheet with the colours of figures and reports."""
    folder = files(__package__).joinpath("static")
    found = {item.name: item.read_bytes() for item in folder.iterdir() if item.name.endswith(tuple(TYPES))}
    css = found["ui.css"].decode()
    css = css.replace("VARIABLES_LIGHT", variables("light")).replace("VARIABLES_DARK", variables("dark"))
    return MappingProxyType({**found, "ui.css": css.encode()})


def _said(update: Update) -> Json:
    said: dict[str, object] = {
        "version": update.version,
        "whole": update.whole,
        "head": update.head,
        "rows": update.rows,
        "gone": update.gone,
    }
    return said if update.detail is None else {**said, "detail": update.detail}


def _window(lines: Lines, asked: Mapping[str, str]) -> Json:
    rank = asked.get("rank", "")
    wanted = Wanted(
        host=asked.get("host", ""),
        rank=int(rank) if rank else None,
        find=asked.get("find", ""),
        script=asked.get("script") == "1",
    )
    before, after = asked.get("before", ""), asked.get("after", "")
    found = lines.window(wanted, before=int(before) if before else None, after=int(after) if after else None)
    return {
        "lines": [_line(line) for line in found.lines],
        "matching": found.matching,
        "kept": found.kept,
        "first": found.first,
        "end": found.end,
    }


def _line(line: Line) -> tuple[int, float | None, str, int | None, str, bool]:
    time_s = line.event.time_s
    known = None if math.isnan(time_s) else time_s
    return line.number, known, line.event.host[:40], line.event.rank, line_text(line), line.bad


async def _body(request: Request) -> bytes:
    """The request's body; of one that is too long, its beginning, which is no JSON."""
    found = b""
    async for part in request.stream():
        found += part
        if len(found) > BODY:
            break
    return found


def _json(body: Json) -> Response:
    return Response(orjson.dumps(body), media_type="application/json")


def _error(words: str, status: int) -> Response:
    return Response(orjson.dumps({"error": words}), status, media_type="application/json")


def _framed(document: str, status: int) -> Response:
    headers = {"Content-Security-Policy": FRAMED_POLICY, "X-Frame-Options": "SAMEORIGIN"}
    return HTMLResponse(document, status, headers=headers)


def _document(words: str) -> str:
    return "\n".join(
        [
            *document_head("No comparison"),
            f'<main id="main"><h1>No comparison</h1><p>{text(words)}</p></main></body></html>',
        ]
    )
