"""Values made visible: comparisons, figures, pages, text, and the watch display. Reads no clock, prints nothing.

Importing this loads neither pandas nor matplotlib; they come with the first frame or figure.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .display import Display as Display
    from .display import LineDisplay as LineDisplay
    from .display import NotebookDisplay as NotebookDisplay
    from .display import TerminalDisplay as TerminalDisplay
    from .display import display_for as display_for
    from .display import in_notebook as in_notebook
    from .display import wants_color as wants_color
    from .display import writes_unicode as writes_unicode
    from .findings import Finding as Finding
    from .fleet_costs import FLEET_COLUMNS as FLEET_COLUMNS
    from .fleet_costs import Fleet as Fleet
    from .fleet_costs import fleet as fleet
    from .metrics import metrics_frame as metrics_frame
    from .published import published_names as published_names
    from .published import published_record as published_record
    from .table import COLUMNS as COLUMNS
    from .watch import WatchRow as WatchRow
    from .watch import watch_lines as watch_lines
    from .watch_card import watch_html as watch_html
    from .watch_table import watch_text as watch_text

_HOMES = {
    "COLUMNS": "table",
    "Comparison": "comparison",
    "Display": "display",
    "FLEET_COLUMNS": "fleet_costs",
    "Finding": "findings",
    "Fleet": "fleet_costs",
    "LineDisplay": "display",
    "NotebookDisplay": "display",
    "TerminalDisplay": "display",
    "WatchRow": "watch",
    "compare": "comparison",
    "display_for": "display",
    "fleet": "fleet_costs",
    "in_notebook": "display",
    "metrics_frame": "metrics",
    "published_names": "published",
    "published_record": "published",
    "wants_color": "display",
    "watch_html": "watch_card",
    "watch_lines": "watch",
    "watch_text": "watch_table",
    "writes_unicode": "display",
}
__all__ = [
    "COLUMNS",
    "FLEET_COLUMNS",
    "Comparison",
    "Display",
    "Finding",
    "Fleet",
    "LineDisplay",
    "NotebookDisplay",
    "TerminalDisplay",
    "WatchRow",
    "compare",
    "display_for",
    "fleet",
    "in_notebook",
    "metrics_frame",
    "published_names",
    "published_record",
    "wants_color",
    "watch_html",
    "watch_lines",
    "watch_text",
    "writes_unicode",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
