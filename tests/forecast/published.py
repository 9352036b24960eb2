"""The table of published training speeds behind the estimates: where each figure stands, its date, and why a row is left out."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from sm_trn.core.specs.json import Object


@functools.cache
def published_rows() -> tuple[Object, ...]:
    """Every row as a mapping; ``flag`` says why a row is not used, and is None where it is."""
    body = json.loads(Path(__file__).with_name("published.json").read_text("utf-8"))
    found = [dict(zip(body["columns"], row, strict=True)) for row in body["rows"]]
    return tuple({**row, "source": body["sources"][row["source"]]} for row in found)
