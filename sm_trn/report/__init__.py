"""Values made visible: comparisons, figures, pages, text, and the watch display. Reads no clock, prints nothing.

Importing this loads neither pandas nor matplotlib; they come with the first frame or figure.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison.compare import Comparison as Comparison
    from .comparison.compare import compare as compare
    from .comparison.table import COLUMNS as COLUMNS
    from .fleets.fleet import Fleet as Fleet
    from .fleets.fleet import fleet as fleet
    from .fleets.table import FLEET_COLUMNS as FLEET_COLUMNS
    from .metrics import metrics_frame as metrics_frame
    from .published import published_names as published_names
    from .published import published_record as published_record
    from .sections.findings import Finding as Finding
    from .watch.card import watch_html as watch_html
    from .watch.display import Display as Display
    from .watch.display import LineDisplay as LineDisplay
    from .watch.display import NotebookDisplay as NotebookDisplay
    from .watch.display import TerminalDisplay as TerminalDisplay
    from .watch.display import display_for as display_for
    from .watch.display import in_notebook as in_notebook
    from .watch.display import writes_unicode as writes_unicode
    from .watch.rows import WatchRow as WatchRow
    from .watch.rows import watch_lines as watch_lines
    from .watch.table import watch_text as watch_text

_HOMES = {
    "COLUMNS": "comparison.table",
    "Comparison": "comparison.compare",
    "Display": "watch.display",
    "FLEET_COLUMNS": "fleets.table",
    "Finding": "sections.findings",
    "Fleet": "fleets.fleet",
    "LineDisplay": "watch.display",
    "NotebookDisplay": "watch.display",
    "TerminalDisplay": "watch.display",
    "WatchRow": "watch.rows",
    "compare": "comparison.compare",
    "display_for": "watch.display",
    "fleet": "fleets.fleet",
    "in_notebook": "watch.display",
    "metrics_frame": "metrics",
    "published_names": "published",
    "published_record": "published",
    "watch_html": "watch.card",
    "watch_lines": "watch.rows",
    "watch_text": "watch.table",
    "writes_unicode": "watch.display",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
