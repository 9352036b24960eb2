"""What the page asks of its server. Every answer is a page, a file of the package, or a stream of pieces of HTML."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.resources import files

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from ..pages import render, style_sheet
from .access import Access, Keys
from .watcher import Watcher

HEARTBEAT_S = 15.0
PAUSE_S = 0.2  # between two pieces of a stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One running page: its secrets, what is shown, and who finds out."""

    keys: Keys
    watcher: Watcher

    def app(self) -> Access:
        """The whole ASGI application."""
        routes = [
            Route(
                "/",
                lambda _request: HTMLResponse(
                    render("live.html", kind="live", title="Jobs", pieces=self.watcher.board.pieces)
                ),
            ),
            Route("/static/live.css", lambda _request: Response(str(style_sheet()), media_type="text/css")),
            Route("/static/live.js", self._script),
            Route("/favicon.ico", lambda _request: Response(status_code=204)),  # browsers ask for one
            Route("/api/live", self._live),
        ]
        return Access(Starlette(routes=routes), self.keys)

    def _script(self, _request: Request) -> Response:
        script = files("sm_trn.report").joinpath("html").joinpath("live.js").read_text("utf-8")
        return Response(script, media_type="text/javascript")

    async def _live(self, _request: Request) -> Response:
        return StreamingResponse(self._news(), media_type="text/event-stream")

    async def _news(self) -> AsyncIterator[bytes]:
        """News for one tab, for as long as it listens."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        board, sent = self.watcher.board, dict[str, str]()
        with board.listening(wake):
            while not board.closed:
                changed.clear()
                pieces = board.pieces
                news = {place: html for place, html in pieces.items() if sent.get(place) != html}
                sent = dict(pieces)
                if news:
                    yield b"data: " + orjson.dumps(news) + b"\n\n"
                    await asyncio.sleep(PAUSE_S)
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT_S)
                except asyncio.TimeoutError:
                    yield b": still here\n\n"
