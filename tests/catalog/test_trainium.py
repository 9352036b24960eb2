"""Every sentence of code and pages about what AWS Neuron published names the day of its source."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import sm_trn

PACKAGE = Path(sm_trn.__file__).parent
PAGES = [*PACKAGE.rglob("*.md"), *(page for page in [PACKAGE.parent / "README.md"] if page.exists())]
# What changes with a release of Neuron. A name in code or in an example is no sentence about it.
PUBLISHED = re.compile(
    r"(?<![.`\"'])\bTorchNeuron\b(?![(\"'`])|PyTorch/XLA training|\bNeuron (SDK )?2\.\d\d|closed beta"
)
DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b")


def undated(text: str) -> bool:
    return PUBLISHED.search(text) is not None and DAY.search(text) is None


def units_of_code(file: Path) -> Iterator[tuple[int, str]]:
    """Each function, method and other statement, with its texts of several words and the comments beside them."""
    source = file.read_text("utf-8")
    if PUBLISHED.search(source) is None:
        return
    body = ast.parse(source).body
    for node in [part for each in body for part in (each.body if isinstance(each, ast.ClassDef) else [each])]:
        texts = [str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant)]
        days = DAY.findall(ast.get_source_segment(source, node) or "")
        yield node.lineno, "\n".join([*(text for text in texts if " " in text.strip()), *days])


def statements() -> Iterator[tuple[str, str]]:
    for file in PACKAGE.rglob("*.py"):
        yield from ((f"{file.relative_to(PACKAGE)}:{line}", text) for line, text in units_of_code(file))
    for file in PACKAGE.rglob("rules.json"):
        yield from ((f"{file.name} {key}", json.dumps(row)) for key, row in json.loads(file.read_text()).items())
    for page in PAGES:
        yield from (
            (f"{page.name} {part[:40]!r}", part) for part in re.split(r"\n\s*\n|\n(?=\|)", page.read_text("utf-8"))
        )


def test_a_sentence_about_trainium_names_the_day_of_its_source() -> None:
    assert [] == [place for place, text in statements() if undated(text)]


def test_a_sentence_without_its_day_is_found() -> None:
    assert undated("TorchNeuron is a closed beta")
    assert not undated("TorchNeuron is a closed beta (AWS Neuron, 2026-07-07)")
    assert not undated("framework=TorchNeuron('2.14')")
