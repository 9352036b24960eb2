"""The map in the repository is a map of this repository: folders, links, names of tests, and the length of a record."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from measure import ROOT

DOCS = ROOT / "sm_trn" / "docs"
PAGES = [DOCS / "architecture.md", ROOT / ".github" / "CONTRIBUTING.md", *sorted((DOCS / "decisions").glob("*.md"))]
A_PAGE = 60  # lines


def folders_of_the_map() -> set[str]:
    section = (DOCS / "architecture.md").read_text("utf-8").split("## A core, and parts")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_every_folder_is_on_the_map() -> None:
    there = {path.name for path in (ROOT / "sm_trn").iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert there == folders_of_the_map()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link
    for path in re.findall(r"`((?:tests|sm_trn)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path
    for name in re.findall(
        r"`((?:core|cli|report|emulator|bridge|forecast|diagnosis|hosting|account)/[\w/]+\.\w+)`", text
    ):
        assert (ROOT / "sm_trn" / name).exists(), name


@pytest.mark.parametrize("page", sorted((DOCS / "decisions").glob("0*.md")), ids=lambda page: page.name)
def test_a_record_is_a_page_and_says_what_was_decided_and_why(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(text.splitlines()) <= A_PAGE
    assert "**Decision.**" in text
    assert "**Why.**" in text or "| ours | why |" in text
    assert page.name in (DOCS / "decisions" / "README.md").read_text("utf-8")


def test_the_trips_lead_through_modules_that_are_there() -> None:
    section = (DOCS / "architecture.md").read_text("utf-8").split("## Four trips")[1].split("\n## ")[0]
    steps = re.findall(
        r"`((?:session|preflight|strategies|render|fields|catalog|aws|logs|specs|report|emulator|hosting)[\w/]*)`",
        section,
    )
    assert len(steps) > 20
    for step in steps:
        places = [ROOT / "sm_trn" / room / step for room in ("", "core")]
        assert any(place.with_suffix(".py").exists() or place.is_dir() for place in places), step


def test_every_room_of_the_emulator_is_on_the_map() -> None:
    section = (DOCS / "architecture.md").read_text("utf-8").split("## Rooms of the emulator")[1].split("\n## ")[0]
    there = {
        path.name
        for path in (ROOT / "sm_trn" / "emulator").iterdir()
        if path.is_dir() and not path.name.startswith("__") and path.name != "commands"
    }
    assert there == set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_every_room_of_the_core_is_on_the_map() -> None:
    section = (DOCS / "architecture.md").read_text("utf-8").split("## Rooms of the core")[1].split("\n## ")[0]
    there = {
        path.name for path in (ROOT / "sm_trn" / "core").iterdir() if path.is_dir() and not path.name.startswith("__")
    }
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert there <= {name for row in rows for name in re.findall(r"`(\w+)`", row)}
