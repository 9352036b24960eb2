"""Fields of a published row, read without trust: texts, numbers, and why a row cannot be used."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sm_trn.core.specs.json import Object

SMALLEST, LARGEST = 1e-6, 1e15  # what a published figure can be


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a row cannot be estimated."""

    reason: str


def text(row: Object, name: str) -> str:
    """The field as text; empty where it is absent."""
    value = row.get(name)
    return "" if value is None else str(value)


def number(row: Object, name: str) -> float | None:
    """The field as a positive number, or the first number in its text; None where there is none."""
    value = row.get(name)
    if isinstance(value, bool) or value is None:
        return None
    if not isinstance(value, (int, float)):
        found = re.search(r"\d[\d,]{0,18}(?:\.\d{1,9})?", str(value)[:200])
        value = float(found[0].replace(",", "")) if found else 0.0
    return float(value) if SMALLEST < value < LARGEST else None


def whole(row: Object, name: str) -> int | None:
    """The field as a count of at least 1; None where it holds none."""
    found = number(row, name)
    return None if found is None else max(1, round(found))
