"""The live page as headless Chromium sees it: every view, at three widths, light and dark, live, with keys, and inert markup.

Skipped by name where no browser is: see tests/browser.py for the two environment variables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import browser
import pytest
from chromium import Chromium, Tab, chromium
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, world
from served import Serve, Served, served_world
from shown_jobs import MARKUP, METRIC, TRAINS, a_few, add, hostile, lines_of, many, sweeps

from sm_trn.report.ui.watcher import FIND_EVERY_S, PageSettings

NewTab = Callable[[], Tab]
pytestmark = pytest.mark.skipif(bool(browser.missing()), reason=f"no browser: {browser.missing()}")
VIEWS = {
    "jobs": ("#/", "document.querySelectorAll('.rows .row').length > 0"),
    "job": (
        "#/job/bert-trains",
        "document.querySelectorAll('.log li').length > 3 && document.querySelectorAll('.chart svg').length > 2",
    ),
    "failed": ("#/job/bert-fails", "document.querySelector('.why pre').textContent.includes('label 7')"),
    "compare": ("#/compare", "document.querySelector('iframe')?.contentDocument?.querySelector('h1')"),
    "costs": ("#/costs", "document.querySelector('.groups li')"),
}
# Boxes that leave the window; what lies in a box that scrolls or is cut on purpose is in its place.
OUTSIDE = """[...document.querySelectorAll('main *, .top *, footer *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (!box.width || (box.right <= innerWidth + 1 && box.left >= -1) || e.closest('svg') || e.closest('.sr')) return false;
  for (let up = e.parentElement; up !== document.body; up = up.parentElement)
    if (getComputedStyle(up).overflowX !== 'visible') return false;
  return true;
}).map(e => e.outerHTML.slice(0, 120))"""
INERT = """[document.querySelectorAll('main img, main script, main [onerror]').length, typeof window.hacked,
  [...document.querySelectorAll('a')].filter(a => !a.getAttribute('href').startsWith('#')).length]"""
FRAME = "document.querySelector('iframe')?.contentDocument"
SEARCH = ".filters input[type=search]"


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def new_tab(window: Chromium) -> Iterator[NewTab]:
    """Tabs that a test closes with its page: what they would ask of a server that has ended is no complaint."""
    opened: list[Tab] = []

    def tab() -> Tab:
        opened.append(window.tab())
        opened[-1].size(1200)
        return opened[-1]

    yield tab
    for one in opened:
        window.shut(one)
    window.complaints.clear()


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Served]]:
    """A page of one job of each kind, for tests that change nothing."""
    with pytest.MonkeyPatch.context() as patch:
        here = world(patch, tmp_path_factory.mktemp("few"))
        a_few(here.service)
        with served_world(here, PageSettings()) as found:
            yield here, found


@pytest.fixture(scope="module")
def tab(window: Chromium, few: tuple[World, Served]) -> Tab:
    """A tab that has opened the link of ``few``."""
    found = window.tab()
    found.size(1200)
    found.open(few[1].page.keys.url)
    return found


def show(tab: Tab, page: Served, name: str) -> None:
    """Open a view, and let the poller look until the view has what it shows."""
    place, ready = VIEWS[name]
    tab.front()
    if name == "compare":
        ticks = [["bert-done-1", 2], ["bert-done-2", 0]]
        tab.ask(f"sessionStorage.setItem('sm_trn.ticks', {json.dumps(json.dumps(ticks))}); location.hash = '#/'")
        tab.reload()
        tab.until("document.querySelectorAll('.rows .row').length > 0")
    tab.ask(f"location.hash = {json.dumps(place)}")
    looked(tab, page, place)
    tab.until(ready)


def looked(tab: Tab, page: Served, place: str) -> None:
    """One look of the poller, after the tab has said which job it shows."""
    name = place.removeprefix("#/job/") if "/job/" in place else ""
    tab.until("document.readyState === 'complete' && document.querySelector('h1')")
    for _ in range(400):
        if not name or name in page.page.board.opened:
            break
        tab.ask("new Promise(r => setTimeout(r, 25))")
    page.page.watcher.step()


def test_a_first_look_shows_who_needs_you_with_the_cause_and_a_command(tab: Tab, few: tuple[World, Served]) -> None:
    show(tab, few[1], "jobs")
    said = tab.ask("document.querySelector('main').innerText")
    assert "2 jobs need you; " in said
    assert "billing at most $" in said
    assert "AlgorithmError: ExecuteUserScriptError" in said
    assert "sm-trn why bert-fails" in said
    order = tab.ask("[...document.querySelectorAll('.rows .row')].map(r => r.dataset.name)")
    assert ["bert-fails", "bert-nan"] == order[:2]
    assert tab.ask("document.title").startswith("2 jobs need you")
    assert "token" not in tab.ask("location.href")


NAMES = "[...document.querySelectorAll('.rows .row')].map(r => r.dataset.name)"


def test_a_list_has_an_address_that_shows_it_again(tab: Tab, few: tuple[World, Served]) -> None:
    show(tab, few[1], "jobs")
    everything = tab.ask(NAMES)
    tab.ask(
        "(e => { e.value = 'name'; e.dispatchEvent(new Event('change')) })(document.querySelector('select[aria-label=Order]'))"
    )
    assert sorted(everything) == tab.ask(NAMES)
    assert tab.ask("document.querySelector('main > .head p').textContent") == "by name"
    tab.ask(
        "(e => { e.value = 'bert-s'; e.dispatchEvent(new Event('input')) })(document.querySelector('input[type=search]'))"
    )
    tab.ask("document.querySelector('.chips button').click()")
    address, found = tab.ask("location.hash"), tab.ask(NAMES)
    assert address.startswith("#/?find=bert-s&status=")
    assert address.endswith("&order=name")
    tab.reload()
    tab.until("document.querySelectorAll('.rows').length")
    assert "bert-s" == tab.ask("document.querySelector('input[type=search]').value")
    tab.until(f"JSON.stringify({NAMES}) === {json.dumps(json.dumps(found, separators=(',', ':')))}")
    tab.ask("location.hash = '#/?order=cost'")
    tab.until("document.querySelector('main > .head p')?.textContent === 'dearest first'")
    costs = tab.ask(
        "[...document.querySelectorAll('.rows .c-cost > span:not(.lab)')].map(e => parseFloat(e.textContent.replace(/[≤, ]/g, '')))"
    )
    known = [cost for cost in costs if cost is not None]
    assert known == sorted(known, reverse=True)
    tab.ask("location.hash = '#/'")


LINES = """[...document.querySelectorAll('.rows .row')].map(r =>
  r.dataset.name ?? r.querySelector('[role=rowheader]').innerText.replace(/\\s+/g, ' '))"""


def choose(tab: Tab, label: str, value: str) -> None:
    """Choose of a list by its label."""
    select = f"document.querySelector('select[aria-label={label}]')"
    tab.ask(f"(e => {{ e.value = {json.dumps(value)}; e.dispatchEvent(new Event('change')); e.blur() }})({select})")


def test_jobs_stand_in_groups_that_fold_and_the_address_keeps_them(new_tab: NewTab, here: World, serve: Serve) -> None:
    sweeps(here.service)
    with serve() as page:
        tab = new_tab()
        tab.open(page.page.keys.url)
        tab.until("document.querySelectorAll('.rows .row').length === 7")
        choose(tab, "Order", "cost")
        choose(tab, "Groups", "sweep")
        tab.until("document.querySelectorAll('.rows .group').length === 4")
        lines = tab.ask(LINES)
        heads = [line for line in lines if " job" in line]
        assert heads[0].startswith("▾bert 4 jobs (1 running)")
        assert heads[0].endswith("so far best eval_accuracy 0.930: bert-lr1")
        assert re.fullmatch(r"▾no sweep 1 job \$[\d.]+ so far", heads[-1])  # at the end, whatever it cost
        assert ["▾gpt-study 1 job", "▾vit-search 1 job"] == sorted(head.split(" $")[0] for head in heads[1:3])
        assert "bert-lr1" == tab.ask("document.querySelector('.group a:not([href=\"#/\"])').textContent")
        cents = sum(round(100 * float(found)) for found in re.findall(r"\$([\d.]+) so far", " ".join(heads)))
        assert f"${cents / 100:,.2f}" in tab.ask("document.querySelector('.sum').textContent")
        tab.ask("document.querySelector('.group button').click()")
        assert 7 + 4 - 4 == tab.ask("document.querySelectorAll('.rows .row').length")
        assert "false" == tab.ask(
            "document.activeElement.ariaExpanded ?? document.querySelector('.group button').ariaExpanded"
        )
        address = "#/?order=cost&group=sweep&folded=bert"
        assert address == tab.ask("location.hash")
        tab.reload()
        tab.until("document.querySelectorAll('.rows .row').length === 7")
        assert tab.ask(LINES)[0].startswith("▸bert 4 jobs")
        assert [] == tab.axe()
        tab.ask("location.hash = '#/?group=tag:team'")
        tab.until("document.querySelectorAll('.rows .group').length === 3")
        assert ["nlp 4 jobs", "vision 1 job", "no team 2 jobs (1 running)"] == [
            re.sub(r" (at most )?\$.*", "", line[1:])
            for line in sorted(tab.ask(LINES), key=lambda line: "no team" in line)
            if " job" in line
        ]
        for width, dark in ((390, False), (390, True), (1280, True)):
            tab.size(width)
            tab.dark(dark)
            tab.ask("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
            assert [] == tab.ask(OUTSIDE), width
            assert [] == tab.axe(), (width, dark)


def test_a_group_is_folded_with_keys(new_tab: NewTab, here: World, serve: Serve) -> None:
    sweeps(here.service)
    with serve() as page:
        tab = new_tab()
        tab.open(page.page.keys.url)
        tab.ask("location.hash = '#/?group=sweep&order=name'")
        tab.until("document.querySelectorAll('.rows .group').length === 4")
        for key in ("ArrowDown", " "):
            tab.call(
                "Input.dispatchKeyEvent",
                type="keyDown",
                key=key,
                code=key.replace(" ", "Space"),
                text=key[:1] if key == " " else "",
            )
            tab.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key.replace(" ", "Space"))
        tab.until("document.querySelectorAll('.rows .row').length === 7")
        assert "false" == tab.ask("document.activeElement.getAttribute('aria-expanded')")
        assert tab.ask("location.hash").endswith("&folded=bert")


def test_the_rows_of_a_head_add_up_to_its_sum(tab: Tab, few: tuple[World, Served]) -> None:
    show(tab, few[1], "jobs")
    costs = tab.ask("[...document.querySelectorAll('.rows .c-cost > span:not(.lab)')].map(e => e.textContent)")
    known = sum(round(100 * float(cost.replace("≤ ", "").replace(",", ""))) for cost in costs if cost[-1].isdigit())
    assert f"at most ${known / 100:,.2f}" in tab.ask("document.querySelector('.sum').textContent")
    said = re.search(r"at most \$([\d.,]+) so far", tab.ask("document.querySelector('.stand').textContent"))
    assert said
    assert abs(100 * float(said[1].replace(",", "")) - known) <= 1 + len(costs) / 2  # the fleet's, which rounds once


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_clean_for_axe_and_nothing_leaves_the_window(name: str, tab: Tab, few: tuple[World, Served]) -> None:
    show(tab, few[1], name)
    try:
        for width, dark in ((390, False), (390, True), (1200, False), (1200, True), (1600, False)):
            tab.size(width)
            tab.dark(dark)
            tab.ask("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
            assert [] == tab.ask(OUTSIDE), width
            assert tab.ask("document.documentElement.scrollWidth") <= width
            assert [] == tab.axe(), (width, dark)
    finally:
        tab.size(1200)
        tab.dark(False)


def test_a_comparison_has_the_colours_of_the_ticks(tab: Tab, few: tuple[World, Served]) -> None:
    show(tab, few[1], "compare")
    jobs = f"[...{FRAME}.querySelectorAll('table .job')]"
    marks = dict(tab.ask(f"{jobs}.map(e => [e.textContent.trim(), [...e.querySelector('svg').classList].join(' ')])"))
    assert "c3" in marks["bert-done-1"].split()  # ticked into the third slot and the first
    assert "c1" in marks["bert-done-2"].split()


def test_a_comparison_has_an_address_that_shows_it_again(tab: Tab, few: tuple[World, Served]) -> None:
    show(tab, few[1], "compare")
    assert "#/compare?job=bert-done-1&job=bert-done-2" == tab.ask("location.hash")
    tab.ask("sessionStorage.clear(); location.hash = '#/'")
    tab.ask("location.hash = '#/compare?job=bert-done-2&job=of-last-year'")
    tab.reload()
    tab.until("document.querySelector('h1')?.textContent === '1 job side by side'")
    assert "of-last-year is not among the jobs of this page." in tab.ask("document.querySelector('main').innerText")
    tab.ask("document.querySelector('.chosen button').click()")
    assert "#/compare?job=of-last-year" == tab.ask("location.hash")
    tab.ask("location.hash = '#/compare?job=bert-done-1&job=bert-done-2'")
    tab.until("document.querySelector('h1')?.textContent === '2 jobs side by side'")
    tab.ask("sessionStorage.clear(); location.hash = '#/'")


def test_a_job_that_is_looked_at_is_live(window: Chromium, new_tab: NewTab, here: World, serve: Serve) -> None:
    add(here.service, "bert", 400, Story(phases=TRAINS, lines=lines_of(500)))
    with serve() as page:
        tab = new_tab()
        tab.open(page.page.keys.url)
        tab.ask("location.hash = '#/job/bert'")
        looked(tab, page, "#/job/bert")
        tab.until("document.querySelectorAll('.log li').length > 3")
        lines, step = tab.ask(
            "[document.querySelectorAll('.log li').length, document.querySelector('.facts dd').textContent]"
        )
        here.clock.sleep(120)
        page.page.watcher.step()
        tab.until(f"document.querySelectorAll('.log li').length > {lines}")
        tab.until(f"document.querySelector('.facts dd').textContent !== {json.dumps(step)}")
        tab.until("(log => log.scrollTop + log.clientHeight >= log.scrollHeight - 30)(document.querySelector('.log'))")
        here.clock.sleep(3000)
        page.page.watcher.step()
        tab.until("document.querySelector('h1').textContent.startsWith('bert completed')")
        assert [] == window.complaints


def test_a_new_job_comes_into_the_list_of_every_tab(new_tab: NewTab, here: World, serve: Serve) -> None:
    with serve() as page:
        tabs = [new_tab(), new_tab()]
        for tab in tabs:
            tab.call("Emulation.setFocusEmulationEnabled", enabled=True)  # both are looked at
        tabs[0].open(page.page.keys.url)
        tabs[1].open(f"http://127.0.0.1:{page.port}/")
        for tab in tabs:
            tab.until("document.body.innerText.includes('no training jobs here yet')")
        add(here.service, "fresh", 1, Story(phases=TRAINS))
        here.clock.sleep(FIND_EVERY_S)
        page.page.watcher.step()
        for tab in tabs:
            tab.until("document.querySelector('.rows .row')?.dataset.name === 'fresh'")


def test_five_hundred_jobs_are_a_window_of_rows_and_a_cell_each(new_tab: NewTab, here: World, serve: Serve) -> None:
    many(here.service)
    with serve() as page:
        tab = new_tab()
        tab.size(1200)
        tab.open(page.page.keys.url)
        tab.until("document.querySelectorAll('.cell').length === 500")
        assert tab.ask("document.querySelectorAll('.rows .row').length") < 60
        assert 501 == tab.ask("Number(document.querySelector('.jobs').ariaRowCount)")
        tab.ask("scrollTo(0, document.body.scrollHeight)")
        tab.until("[...document.querySelectorAll('.rows .row')].some(r => r.ariaRowIndex === '501')")
        assert tab.ask("document.querySelectorAll('.rows .row').length") < 60
        tab.ask("scrollTo(0, 0)")
        tab.fill(SEARCH, "seed123")
        tab.until("document.querySelectorAll('.rows .row').length === 1")
        assert "1 of 500 jobs" in tab.ask("document.querySelector('.sum').textContent")
        assert [] == tab.axe()


def test_foreign_text_is_text_everywhere(window: Chromium, new_tab: NewTab, here: World, serve: Serve) -> None:
    name = hostile(here.service)
    with serve() as page:
        tab = new_tab()
        tab.size(1200)
        tab.open(page.page.keys.url)
        tab.until("document.querySelectorAll('.rows .row').length > 0")
        job = f"document.querySelector('.needs a').textContent === {json.dumps(name)}"
        assert tab.ask(job)
        tab.ask("document.querySelector('.rows input').click(); document.querySelector('.rows a').click()")
        for _ in range(400):
            if name in page.page.board.opened:
                break
            tab.ask("new Promise(r => setTimeout(r, 25))")
        page.page.watcher.step()
        tab.until("document.querySelectorAll('.log li').length > 5")
        said = tab.ask("document.querySelector('main').textContent")
        assert METRIC in said
        for kind in ("name", "line", "rule", "exception", "reason", "key", "value", "instance"):
            assert MARKUP.format(kind)[:40] in said, kind
        assert [0, "undefined", 0] == tab.ask(INERT)
        tab.ask("location.hash = '#/costs'")
        tab.until("document.querySelectorAll('.groups li').length > 0")
        assert MARKUP.format("tag")[:30] in tab.ask("document.querySelector('main').textContent")
        assert [0, "undefined", 0] == tab.ask(INERT)
        tab.ask("location.hash = '#/compare'")
        tab.until(f"{FRAME}?.querySelector('h1')")
        assert MARKUP.format("name")[:40] in tab.ask(f"{FRAME}.body.textContent")
        assert 0 == tab.ask(f"{FRAME}.querySelectorAll('img, script, [onerror]').length")
        assert "undefined" == tab.ask("typeof document.querySelector('iframe').contentWindow.hacked")
        assert [] == window.complaints


def test_the_log_is_searched_by_text_expression_and_script(tab: Tab, few: tuple[World, Served]) -> None:
    show(tab, few[1], "failed")

    tab.until("document.querySelector('.log li.bad')")
    tab.fill(SEARCH, "LABEL 7")
    tab.until("document.querySelectorAll('.log li').length === 1")
    assert "1 match of" in tab.ask("document.querySelector('.log').parentElement.textContent")
    tab.fill(SEARCH, "/step.: 1[05]0/")
    tab.until("document.querySelector('.log li')?.textContent.includes('100')")
    tab.fill(SEARCH, "/(/")
    tab.until("!document.querySelector('main p.err').hidden")
    assert "wanted a regular expression" in tab.ask("document.querySelector('main p.err').textContent")
    tab.fill(SEARCH, "")
    tab.until("document.querySelectorAll('.log li').length > 10")


def test_everything_can_be_done_with_keys(tab: Tab, few: tuple[World, Served]) -> None:
    show(tab, few[1], "jobs")
    tab.ask("sessionStorage.clear()")
    tab.reload()
    tab.until("document.querySelectorAll('.rows .row').length > 0")

    def press(key: str, code: str = "") -> None:
        text = {"text": key} if len(key) == 1 else {}
        tab.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, **text)
        tab.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key)

    press("/")
    assert "search" == tab.ask("document.activeElement.type")
    tab.ask("document.activeElement.blur()")
    press("ArrowDown")
    press("ArrowDown")
    second = tab.ask("document.activeElement.closest('.row').dataset.name")
    press("x")
    assert [second] == tab.ask(
        "[...document.querySelectorAll('.rows .row')].filter(r => r.querySelector('input').checked).map(r => r.dataset.name)"
    )
    press("c")
    tab.until("location.hash.startsWith('#/compare?job=')")
    press("?")
    assert tab.ask("document.getElementById('keys').open")
    tab.ask("document.getElementById('keys').close()")
    show(tab, few[1], "job")
    tab.ask("document.querySelector('.chart').focus()")
    before = tab.ask("document.querySelector('.chart').ariaValueText")
    press("ArrowLeft")
    assert before != tab.ask("document.querySelector('.chart').ariaValueText")


def test_a_stop_needs_the_typed_name(new_tab: NewTab, here: World, serve: Serve) -> None:
    add(here.service, "bert", 400, Story(phases=TRAINS))
    with serve(PageSettings(allow_stop=True)) as page:
        tab = new_tab()
        tab.open(page.page.keys.url)
        tab.ask("location.hash = '#/job/bert'")
        looked(tab, page, "#/job/bert")
        tab.until("document.getElementById('confirm')")
        button = "document.querySelector('.stop button')"
        assert tab.ask(f"{button}.disabled")
        for typed, may in (("ber", False), ("bert", True)):
            tab.fill("#confirm", typed)
            assert may is not tab.ask(f"{button}.disabled")
        tab.ask(f"{button}.click()")
        tab.until("document.querySelector('.stop [role=status]')?.textContent.includes('asked to stop')")
        assert 1 == here.wire.calls["StopTrainingJob"]


def test_a_page_that_has_ended_says_so(new_tab: NewTab, here: World, serve: Serve) -> None:
    add(here.service, "bert", 400, Story(phases=TRAINS))
    with serve() as page:
        tab = new_tab()
        tab.open(page.page.keys.url)
        tab.until("document.querySelectorAll('.rows .row').length > 0")
    tab.until("document.querySelector('h1').textContent === 'This page has ended'")
    assert "sm-trn ui" in tab.ask("document.querySelector('.banner').textContent")
    assert 1 == tab.ask("document.querySelectorAll('.rows .row').length")  # old is grey, not gone


def test_no_script_was_stopped_by_the_policy_and_none_failed(
    window: Chromium, tab: Tab, few: tuple[World, Served]
) -> None:
    for name in VIEWS:
        show(tab, few[1], name)
    assert [] == window.complaints
