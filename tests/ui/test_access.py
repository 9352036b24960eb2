"""Nobody is answered who did not open the link: token, cookie, Host, Origin, headers, and a page that only reads."""

from __future__ import annotations

import itertools
import re
from html import unescape
from importlib.resources import files

from fakes.simulated_wire import World
from hypothesis import given, settings
from hypothesis import strategies as some
from served import Serve
from shown_jobs import MARKUP, hostile

from sm_trn.report.ui.access import HEADERS, Keys

PATHS = (
    "/", "/static/live.js", "/static/live.css", "/api/live", "/nothing/here",
)  # fmt: skip


def test_without_the_cookie_nothing_is_answered(serve: Serve, here: World) -> None:
    here.service.add("a-job", created=here.clock.now() - 10)
    with serve() as page:
        for path, method in itertools.product(PATHS, ("GET", "POST", "PUT", "HEAD", "OPTIONS")):
            for cookie in ("", f"{page.page.keys.cookie_name}=guessed"):
                page.cookie = cookie
                answer = page.ask(path, method)
                assert 401 == answer.status, (path, method)
                assert b"a-job" not in answer.body


def test_the_link_works_once_and_leaves_a_cookie_that_scripts_and_other_sites_do_not_get(serve: Serve) -> None:
    with serve() as page:
        answer = page.log_in()
        assert (303, "/") == (answer.status, answer.headers["location"])
        assert page.page.keys.token not in str(answer.headers)
        cookie = answer.headers["set-cookie"].lower()
        assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
        assert 200 == page.ask("/").status
        again = page.ask(f"/?token={page.page.keys.token}")
        assert (303, True) == (again.status, "set-cookie" not in again.headers)  # the same browser: it has its cookie
        page.cookie = ""
        stranger = page.ask(f"/?token={page.page.keys.token}")
        assert (401, True) == (stranger.status, b"used already" in stranger.body)
        assert "set-cookie" not in stranger.headers


@given(some.text(max_size=60))
@settings(max_examples=200)
def test_no_other_text_is_the_token_or_the_cookie(text: str) -> None:
    keys = Keys(8765)
    assert not keys.take(text)
    assert not keys.known(text)
    assert not keys.known(f"{keys.cookie_name}={text}")
    assert keys.take(keys.token)
    assert not keys.take(keys.token)
    assert keys.known(f"other=1; {keys.cookie_name}={keys.cookie}")


def test_two_pages_of_one_machine_do_not_take_each_others_cookie() -> None:
    assert Keys(8765).cookie_name != Keys(8766).cookie_name


def test_another_name_of_this_server_is_refused(serve: Serve) -> None:
    """DNS rebinding: the browser believes that it talks to evil.example, and sends that name."""
    hosts = (
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "",
    )
    with serve() as page:
        page.log_in()
        for host in hosts:
            answer = page.ask("/", Host=host.format(port=page.port))
            assert answer.status in {421, 400}, host  # an empty Host is refused by the server below
            assert b"live.js" not in answer.body
        assert 200 == page.ask("/", Host=f"localhost:{page.port}").status


def test_another_origin_is_refused(serve: Serve) -> None:
    origins = (
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://127.0.0.1:{port}",
        "127.0.0.1:{port}",
        "http://localhost",
    )
    with serve() as page:
        page.log_in()
        for origin in origins:
            assert 403 == page.ask("/", Origin=origin.format(port=page.port)).status, origin


def test_another_page_of_this_machine_is_refused(serve: Serve) -> None:
    """A notebook on another port is the same "site": the cookie goes along, and Sec-Fetch-Site says who asks."""
    with serve() as page:
        page.log_in()
        for site, path in itertools.product(("cross-site", "same-site"), PATHS):
            for mode, kind in (("cors", "empty"), ("no-cors", "script"), ("navigate", "iframe")):
                found = page.ask(path, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode, Sec_Fetch_Dest=kind)
                assert 403 == found.status, (site, path, mode)


def test_a_link_may_be_followed_from_another_page(serve: Serve) -> None:
    """From a terminal in a browser, say. Nothing of the page can be read by who shows the link."""
    with serve() as page:
        followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
        answer = page.ask(f"/?token={page.page.keys.token}", **followed)
        # A browser sends a strict cookie along with the page's own step, and not with a redirect of another site's.
        assert (200, True) == (answer.status, "set-cookie" in answer.headers)
        assert b'http-equiv="refresh" content="0;url=/"' in answer.body


def test_every_answer_has_the_headers_and_no_policy_allows_inline_scripts(serve: Serve, here: World) -> None:
    here.service.add("a-job", created=here.clock.now() - 200)
    with serve() as page:
        page.log_in()
        for path, cookie in itertools.product((each for each in PATHS if each != "/api/live"), (page.cookie, "")):
            answer = page.ask(path, Cookie=cookie)
            assert set(map(str.lower, HEADERS)) <= set(answer.headers)
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'")
            assert "unsafe" not in policy
            assert "http" not in policy  # nothing from elsewhere


def test_the_pages_own_files_need_nothing_that_the_policy_forbids(serve: Serve, here: World) -> None:
    here.service.add("a-job", created=here.clock.now() - 200)
    script = files("sm_trn.report").joinpath("html").joinpath("live.js").read_text("utf-8")
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc|javascript:"
    assert ["innerHTML"] == re.findall(sinks, script)  # the one place that takes markup, which the server has escaped
    assert len(script.splitlines()) <= 350
    with serve() as page:
        page.log_in()
        html = page.ask("/").body.decode()
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
        assert [] == re.findall(r"https?://[^\"'\s]+", html)


def test_foreign_text_is_text_in_every_piece_and_page(serve: Serve, here: World) -> None:
    hostile(here.service)
    with serve() as page:
        page.log_in()
        with page.live() as following:
            following()
            page.page.watcher.step()
            pieces = following()
        texts = [*pieces.values(), page.ask("/").body.decode()]
        for text in texts:
            assert not re.search(
                r"<img|<script(?! type=\"module\" src=\"/static/)|href=\"javascript|\sonerror=[^&]*>",
                text.replace("&lt;", ""),
            )
        shown = unescape(" ".join(texts))
        for kind in ("name", "instance"):
            assert MARKUP.format(kind)[:40] in shown, kind


def test_the_page_only_reads(serve: Serve, here: World) -> None:
    here.service.add("a-job", created=here.clock.now() - 200)
    with serve() as page:
        page.log_in()
        for path, method in itertools.product(PATHS, ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get")):
            answer = page.ask(path, method, b"{}", Origin=f"http://127.0.0.1:{page.port}")
            assert (405, "GET, HEAD") == (answer.status, answer.headers["allow"]), (path, method)
