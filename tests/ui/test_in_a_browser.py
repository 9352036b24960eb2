"""The live page as headless Chromium sees it: live pieces, widths and themes, and inert markup.

Skipped by name where no browser is: see tests/browser.py for the environment variables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from chromium import Chromium, Tab, chromium
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World
from served import Serve
from shown_jobs import MARKUP, TRAINS, a_few, add, hostile

from sm_trn.report.ui.watcher import FIND_EVERY_S

pytestmark = pytest.mark.skipif(
    not Path(browser.CHROMIUM or "-").is_file(), reason="no browser: SM_TRN_CHROMIUM names no file"
)
# Boxes that leave the window; what lies in a box that scrolls or is cut on purpose is in its place.
OUTSIDE = """[...document.querySelectorAll('main *, header *, footer *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (!box.width || (box.right <= innerWidth + 1 && box.left >= -1) || e.closest('svg')) return false;
  for (let up = e.parentElement; up !== document.body; up = up.parentElement)
    if (getComputedStyle(up).overflowX !== 'visible') return false;
  return true;
}).map(e => e.outerHTML.slice(0, 120))"""
NAMES = "[...document.querySelectorAll('#jobs tbody th')].map(a => a.textContent)"


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def tab(window: Chromium) -> Iterator[Tab]:
    opened = window.tab()
    opened.size(1280)
    yield opened
    window.shut(opened)
    window.complaints.clear()


def test_the_list_says_who_needs_you_fits_every_width_and_hears_of_new_jobs(
    window: Chromium, tab: Tab, here: World, serve: Serve
) -> None:
    a_few(here.service)
    with serve() as page:
        tab.open(page.page.keys.url)
        tab.until("document.querySelectorAll('#jobs tbody tr').length > 0")
        said = tab.ask("document.querySelector('main').innerText").replace("\u00a0", " ")
        assert "7 jobs: 1 failed, 1 not finite" in said
        assert "Next: sm-trn why bert-fails" in said
        assert {"bert-fails", "bert-nan"} == set(tab.ask(NAMES)[:2])
        assert "token" not in tab.ask("location.href")
        for width, dark in ((390, False), (390, True), (1280, True), (1600, False)):
            tab.size(width)
            tab.dark(dark)
            assert [] == tab.ask(OUTSIDE), width
            assert tab.ask("document.documentElement.scrollWidth") <= width
        add(here.service, "fresh", 1, Story(phases=TRAINS))
        here.clock.sleep(FIND_EVERY_S)
        page.page.watcher.step()
        tab.until(f"{NAMES}.includes('fresh')")
        assert [] == window.complaints


def test_foreign_text_is_text_everywhere(window: Chromium, tab: Tab, here: World, serve: Serve) -> None:
    name = hostile(here.service)
    inert = "[document.querySelectorAll('main img, main script, main [onerror]').length, typeof window.hacked]"
    with serve() as page:
        tab.open(page.page.keys.url)
        tab.until(f"{NAMES}.includes({json.dumps(name)})")
        assert MARKUP.format("instance")[:40] in tab.ask("document.querySelector('main').textContent")
        assert [0, "undefined"] == tab.ask(inert)
        assert [] == window.complaints


def test_a_page_that_has_ended_says_so(tab: Tab, here: World, serve: Serve) -> None:
    add(here.service, "bert", 400, Story(phases=TRAINS))
    with serve() as page:
        tab.open(page.page.keys.url)
        tab.until("document.querySelectorAll('#jobs tbody tr').length > 0")
    tab.until("!document.getElementById('ended').hidden")
    assert ["bert"] == tab.ask(NAMES)  # old, not gone
