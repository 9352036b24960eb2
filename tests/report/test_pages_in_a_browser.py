"""The pages as headless Chromium sees them: axe-core finds nothing serious, nothing is wider than a phone.

Skipped by name where no browser is: see tests/browser.py for the two environment variables.
"""

from __future__ import annotations

from pathlib import Path

import browser
import pytest
from shown_pages import PAGES, page_of

pytestmark = pytest.mark.skipif(bool(browser.missing()), reason=f"no browser: {browser.missing()}")
REPORTS = ("report", "report-mixed", "report-full", "report-1", "report-2", "report-8", "report-40", "report-tuned")
FLEETS = ("fleet", "fleet-1", "fleet-2", "fleet-8", "fleet-40")
# CSS pixels, 700 those of A4. A window is at least 500 wide, so the page is put into a frame.
A4 = 700
WIDTHS = (390, 700, 860, 960, 1060, 1120, 1200, 1600)


def test_axe_does_look(tmp_path: Path) -> None:
    bad = (
        "<!doctype html><html><head><title></title></head><body>"
        '<img src="x"><p style="color:#ccc;background:#fff">Some words that can hardly be read.</p></body></html>'
    )
    found = " ".join(browser.violations(bad, tmp_path))
    assert all(rule in found for rule in ("image-alt", "html-has-lang", "color-contrast"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(name: str, dark: bool, tmp_path: Path) -> None:
    if dark and name.startswith("widgets"):
        pytest.skip("a notebook has its own switch: widgets-dark")
    assert [] == browser.violations(page_of(name), tmp_path, dark=dark)


def printed(text: str) -> str:
    """The page as paper shows it."""
    assert "@media print {" in text
    return text.replace("@media print {", "@media all {")


@pytest.mark.parametrize("width", [*WIDTHS, "print"])
@pytest.mark.parametrize("name", [*REPORTS, *FLEETS])
def test_nothing_is_wider_than_its_place(name: str, width: int | str, tmp_path: Path) -> None:
    """Neither the page than the window, nor a table than its container, nor a text of a cell or a figure than its own place:
    what has to be scrolled to is not seen, or printed.
    """
    on_paper = isinstance(width, str)
    pixels = A4 if isinstance(width, str) else width
    (tmp_path / "page.html").write_text(printed(page_of(name)) if on_paper else page_of(name), "utf-8")
    frame = f'<!doctype html><html><head></head><body><iframe id="f" src="page.html" width="{pixels}" height="900"></iframe></body></html>'
    script = (
        "const f = document.getElementById('f'); await new Promise(r => f.contentDocument.readyState === 'complete' && "
        "f.contentDocument.body.children.length ? r() : f.onload = r); const d = f.contentDocument;"
        "const cut = [...d.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        ".map(e => `${e.ariaLabel}: ${e.scrollWidth} in ${e.clientWidth}`);"
        "const edge = d.documentElement.clientWidth + 1;"
        "for (const e of d.querySelectorAll('td, th, h1, h2, h3, p, li, dd, svg text')) { const b = e.getBoundingClientRect();"
        "  if (b.width && (b.left < -1 || b.right > edge) && !e.closest('.skip') && !e.closest('thead'))"
        "    cut.push(`${e.tagName} ${e.textContent.slice(0, 40)}: ${Math.round(b.left)} to ${Math.round(b.right)} of ${edge}`) }"
        "return [d.documentElement.scrollWidth, cut.slice(0, 8)]"
    )
    file_access = browser.FLAGS
    browser.FLAGS = (*file_access, "--allow-file-access-from-files")  # type: ignore[assignment]  # another of its kind
    try:
        whole, cut = browser.ask(frame, script, tmp_path, width=pixels + 40)
    finally:
        browser.FLAGS = file_access
    assert ([], True) == (cut, whole <= pixels), (cut, whole)
