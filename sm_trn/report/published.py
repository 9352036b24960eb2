"""Published jobs as records, so that a claim can be recomputed offline. Holds what was printed, and nothing else."""

from __future__ import annotations

from importlib.resources import files

from ..core.errors import UnknownName
from ..core.specs.record import JobRecord, parse_record
from ..core.specs.value import suggestion

_PREFIX = "published/"


def published_names() -> tuple[str, ...]:
    """``published/bert-p4d``, … – names that ``published_record`` knows."""
    found = files(__package__).joinpath("published").iterdir()
    return tuple(sorted(f"{_PREFIX}{item.name[:-5]}" for item in found if item.name.endswith(".json")))


def published_record(name: str) -> JobRecord | None:
    """Return the record of a published job; None for a name without ``published/``, which is a job or a file of one's own.

    Raises UnknownName for a published name that is not there.
    """
    if not name.startswith(_PREFIX):
        return None
    names = published_names()
    if name not in names:
        raise UnknownName(f"job: got {name!r}, wanted one of {', '.join(names)}{suggestion(name, names)}")
    text = files(__package__).joinpath("published").joinpath(f"{name[len(_PREFIX) :]}.json").read_text("utf-8")
    return parse_record(text, where=name)
