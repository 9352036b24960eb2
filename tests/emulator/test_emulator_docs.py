"""The emulator's page names tests that exist, and each line of who is let in names at least one."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "sm_trn/docs/emulator.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


def written() -> set[tuple[str, str]]:
    return {
        (file.name, name)
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    }


def rows(section: str) -> list[str]:
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [line for line in text.splitlines() if line.startswith("| ")][1:]


def test_every_line_of_who_is_let_in_names_a_test() -> None:
    assert len(rows("Who is let in")) >= 20
    assert [] == [row for row in rows("Who is let in") if not NAMED.search(row)]


def test_every_test_that_the_page_names_exists() -> None:
    assert set() == set(NAMED.findall(PAGE)) - written()


def test_the_page_says_plainly_that_a_job_runs_as_you() -> None:
    assert "**A job runs as you.**" in PAGE
