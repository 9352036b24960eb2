"""Published jobs as records, so that a claim can be recomputed offline. Holds what was printed, and nothing else."""

from __future__ import annotations

from importlib.resources import files

from ..specs.record import JobRecord, parse_record

_PREFIX = "published/"


def published_names() -> tuple[str, ...]:
    """``published/bert-p4d``, … – names that ``published_record`` knows."""
    found = files(__package__).joinpath("published").iterdir()
    return tuple(sorted(f"{_PREFIX}{item.name[:-5]}" for item in found if item.name.endswith(".json")))


def published_record(name: str) -> JobRecord | None:
    """The record of a published job, or None. The prefix ``published/`` may be left out."""
    full = name if name.startswith(_PREFIX) else _PREFIX + name
    if full not in published_names():
        return None
    text = files(__package__).joinpath("published").joinpath(f"{full[len(_PREFIX) :]}.json").read_text("utf-8")
    return parse_record(text, where=full)
