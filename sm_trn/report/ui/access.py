"""Who may ask: a token that works once, then a cookie; the right Host and Origin; and what a browser may do with an answer.

Other pages of this machine are the danger: they reach 127.0.0.1 too, and ports are no part of a "site". So a request must name
this server in ``Host`` (DNS rebinding), must not come from another origin, and must bring the cookie.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from types import MappingProxyType
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...core import loopback

TOKEN = "token"  # noqa: S105 - the parameter's name
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
)
# After a link in a file, which is another site, a redirect would go without the new cookie; a page's own refresh has it.
_ONWARD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>sm_trn</title>'
    '</head><body><main><a href="/">Open the page</a></main></body></html>'
)
_NO_COOKIE = (
    "This page needs its link: open the one that sm-trn ui printed. A browser that has opened it goes on at {home}"
)
_USED = "This link was used already; it works once. The browser that used it goes on at {home}; for another one start sm-trn ui again."


@dataclass
class Keys:
    """The secrets of one run on one port: a token that is taken once, and the cookie that it is changed for."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _used: bool = field(default=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def url(self) -> str:
        """The link for the terminal."""
        return f"{self.home}?{TOKEN}={self.token}"

    @property
    def home(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def cookie_name(self) -> str:
        """Cookies know no ports: two pages on one machine must not take each other's."""
        return f"sm_trn_ui_{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        return loopback.hosts(self.port)

    def take(self, token: str) -> bool:
        """Whether this is the token, for the first time."""
        with self._lock:
            good = hmac.compare_digest(token.encode(), self.token.encode()) and not self._used
            self._used = self._used or good
            return good

    def known(self, cookies: str) -> bool:
        """Whether a ``Cookie`` header holds the cookie."""
        try:
            found = SimpleCookie(cookies).get(self.cookie_name)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.cookie.encode())


class Access:
    """Answers itself what must not reach ``app``, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no websockets: uvicorn closes what is not answered

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that is none of ours; None for one that may pass."""
        headers = Headers(scope=scope)
        foreign = self._foreign(scope, headers)
        if foreign is not None:
            return foreign
        token = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN)
        if token is not None and scope["path"] == "/" and scope["method"] == "GET":
            return self._exchange(token[0], headers)
        if not self._keys.known(headers.get("cookie", "")):
            return _text(_NO_COOKIE.format(home=self._keys.home), 401)
        if scope["method"] not in {"GET", "HEAD"}:
            return _text("This page only reads", 405, {"Allow": "GET, HEAD"})
        return None

    def _foreign(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to what another page asks, or asks of another name of this server."""
        if headers.get("host", "") not in self._keys.hosts:
            return _text("Host: wanted 127.0.0.1 with the port of this page", 421)
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._keys.hosts}:
            return _text("Origin: another page asks", 403)
        return None if _own(scope, headers) else _text("Sec-Fetch-Site: another page asks", 403)

    def _exchange(self, token: str, headers: Headers) -> Response:
        if not self._keys.take(token):
            if self._keys.known(headers.get("cookie", "")):  # the same browser opened its link again
                return RedirectResponse("/", 303)
            return _text(_USED.format(home=self._keys.home), 401)
        direct = headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
        answer = RedirectResponse("/", 303) if direct else HTMLResponse(_ONWARD)
        answer.set_cookie(self._keys.cookie_name, self._keys.cookie, httponly=True, samesite="strict", path="/")
        return answer


def _own(scope: Scope, headers: Headers) -> bool:
    """Whether the browser says that this page asks, or a person who follows a link. Ports of one machine are one "site"."""
    site = headers.get("sec-fetch-site", "none")
    followed = (
        scope["method"] == "GET"
        and scope["path"] == "/"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    return site in {"none", "same-origin"} or followed


def _text(words: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(f"{words}\n", status, headers, "text/plain")
