"""Checks of every local server: a request names it in Host, and no web page sent it.

Whoever may ask beyond that, by a key or a cookie, is the server's own affair.
"""

from __future__ import annotations

from collections.abc import Mapping


def hosts(port: int) -> frozenset[str]:
    """The names of a server on this port, as a Host header has them: another one is a page whose name leads here (DNS rebinding)."""
    return frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})


def refusal(method: str, headers: Mapping[str, str], port: int) -> str:
    """Why a request is not one of a program of this machine; empty if it may be. ``headers`` have names in lower case."""
    if headers.get("host", "").lower() not in hosts(port):
        return "the Host header does not name this server"
    if "origin" in headers or method == "OPTIONS":
        return "requests from web pages are refused"
    return ""
