"""Values made visible: comparisons, figures, pages, text, and the watch display. Reads no clock, prints nothing.

Importing this loads neither pandas nor matplotlib; they come with the first frame or figure.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .findings import Finding as Finding
    from .published import published_names as published_names
    from .published import published_record as published_record
    from .table import COLUMNS as COLUMNS

_HOMES = {
    "COLUMNS": "table",
    "Comparison": "comparison",
    "Finding": "findings",
    "compare": "comparison",
    "published_names": "published",
    "published_record": "published",
}
__all__ = ["COLUMNS", "Comparison", "Finding", "compare", "published_names", "published_record"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
