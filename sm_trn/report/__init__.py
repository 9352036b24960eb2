"""Values made visible: comparisons, figures, pages, text, and the watch display. Reads no clock, prints nothing.

Importing this loads neither pandas nor matplotlib; they come with the first frame or figure.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .columns import COLUMNS as COLUMNS
    from .columns import FLEET_COLUMNS as FLEET_COLUMNS
    from .comparison.compare import Comparison as Comparison
    from .comparison.compare import compare as compare
    from .fleets.fleet import Fleet as Fleet
    from .fleets.fleet import fleet as fleet
    from .jobs import WatchRow as WatchRow
    from .metrics import metrics_frame as metrics_frame
    from .published import published_names as published_names
    from .published import published_record as published_record
    from .sections.findings import Finding as Finding
    from .watch.display import Display as Display
    from .watch.display import LineDisplay as LineDisplay
    from .watch.display import NotebookDisplay as NotebookDisplay
    from .watch.display import TerminalDisplay as TerminalDisplay
    from .watch.display import display_for as display_for
    from .watch.display import in_notebook as in_notebook
    from .watch.display import writes_unicode as writes_unicode
    from .watch.text import watch_html as watch_html
    from .watch.text import watch_lines as watch_lines
    from .watch.text import watch_text as watch_text

_HOMES = {
    "columns": ("COLUMNS", "FLEET_COLUMNS"),
    "comparison.compare": ("Comparison", "compare"),
    "fleets.fleet": ("Fleet", "fleet"),
    "jobs": ("WatchRow",),
    "metrics": ("metrics_frame",),
    "published": ("published_names", "published_record"),
    "sections.findings": ("Finding",),
    "watch.display": ("Display", "LineDisplay", "NotebookDisplay", "TerminalDisplay", "display_for", "in_notebook", "writes_unicode"),
    "watch.text": ("watch_html", "watch_lines", "watch_text"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - a list


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
