"""The documentation as a site: it is built without a warning, shows every public name, and fetches nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import browser
import pytest

import sm_trn as st

CONFIG = Path(__file__).parent.parent / ".github" / "mkdocs.yml"
MISSING = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(not CONFIG.exists(), reason="the site's settings are not beside the tests"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (pip install '.[docs]')"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(CONFIG), "-d", str(folder)],
        capture_output=True, text=True, timeout=240, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr[-3000:]
    return folder


def test_every_public_name_is_shown_with_its_docstring(site: Path) -> None:
    page = (site / "api.html").read_text("utf-8")
    shown = set(re.findall(r'id="sm_trn\.([A-Za-z_0-9.]+)"', page))
    modules = ("errors", "results", "specs")
    assert {name for name in st.__all__ if not name.startswith("__") and name not in modules} <= shown
    rarer = {(module, name) for module in modules for name in getattr(st, module).__all__ if name not in st.__all__}
    assert {f"{module}.{name}" for module, name in rarer} <= shown
    assert "&gt;&gt;&gt; " not in re.sub(r"<code>.*?</code>|<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_a_page_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert [] == re.findall(r'<(?:script|img|iframe)[^>]* src="?https?://[^">]*', text), page
        assert [] == re.findall(r'<link[^>]* href="?https?://[^">]*\.css', text), page


def test_every_page_can_be_found_by_search(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    pages = {entry["location"].partition("#")[0] for entry in found}
    docs = Path(st.__file__).parent / "docs"
    assert {str(page.relative_to(docs).with_suffix(".html")) for page in docs.rglob("*.md")} <= {
        page.replace("decisions/index.html", "decisions/README.html") for page in pages
    }


@pytest.mark.skipif(not Path(browser.CHROMIUM or "-").is_file(), reason="SM_TRN_CHROMIUM names no file")
@pytest.mark.parametrize(("words", "found"), [("spot", "guides/spot.html"), ("BillableTimeInSeconds", "")])
def test_search_finds_pages_that_are_opened_from_a_folder(site: Path, tmp_path: Path, words: str, found: str) -> None:
    done = subprocess.run(
        [browser.CHROMIUM, *browser.FLAGS, "--virtual-time-budget=20000", f"--user-data-dir={tmp_path}", "--dump-dom",
         f"{(site / 'index.html').as_uri()}?q={words}"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    told = re.search(r"(\d+) matching documents", done.stdout)
    assert told is not None, done.stderr[-2000:]
    assert int(told[1]) > 1
    assert found in done.stdout
