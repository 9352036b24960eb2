"""The pages as headless Chromium sees them: axe-core finds nothing serious, nothing is wider than a phone.

Skipped by name where no browser is: see tests/browser.py for the two environment variables.
"""

from __future__ import annotations

from pathlib import Path

import browser
import pytest
from shown_pages import pages

pytestmark = pytest.mark.skipif(bool(browser.missing()), reason=f"no browser: {browser.missing()}")
ALL = pages() if not browser.missing() else {}
REPORTS = ("report", "report-mixed", "report-full", "report-1", "report-2", "report-8", "report-40", "report-tuned")
PAGES = (*REPORTS, "fleet", "widgets", "widgets-dark")
# CSS pixels, 700 those of A4. A window is at least 500 wide, so the page is put into a frame.
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
    assert [] == browser.violations(ALL[name], tmp_path, dark=dark)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [*REPORTS, "fleet"])
def test_nothing_is_wider_than_its_place(name: str, width: int, tmp_path: Path) -> None:
    """Neither the page than the window nor a table than its container: what has to be scrolled to is not seen, or printed."""
    (tmp_path / "page.html").write_text(ALL[name], "utf-8")
    frame = f'<!doctype html><html><head></head><body><iframe id="f" src="page.html" width="{width}" height="900"></iframe></body></html>'
    script = (
        "const f = document.getElementById('f'); await new Promise(r => f.contentDocument.readyState === 'complete' && "
        "f.contentDocument.body.children.length ? r() : f.onload = r); const d = f.contentDocument;"
        "const cut = [...d.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1);"
        "return [d.documentElement.scrollWidth, cut.map(e => `${e.ariaLabel}: ${e.scrollWidth} in ${e.clientWidth}`)]"
    )
    file_access = browser.FLAGS
    browser.FLAGS = (*file_access, "--allow-file-access-from-files")  # type: ignore[assignment]  # another of its kind
    try:
        whole, cut = browser.ask(frame, script, tmp_path, width=width + 40)
    finally:
        browser.FLAGS = file_access
    assert ([], True) == (cut, whole <= width), (cut, whole)
