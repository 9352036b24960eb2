"""How a value shows itself in a notebook without knowing how it looks.

Jupyter asks the value itself (``_repr_html_``), but what a value looks like belongs to ``report``, which may not be installed with
the core. The place of the cards is one name, looked up when a notebook asks. A test asks every card, which a wrong name would fail.
"""

from __future__ import annotations

from html import escape
from importlib import import_module

CARDS = "sm_trn.report.cards"


class HasCard:
    """A value with a card in ``CARDS``."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The card; the value's text where there are no cards here."""
        try:
            html: str = import_module(CARDS).card(self)
        except ImportError:  # MissingLibrary is one too
            return f"<pre>{escape(str(self))}</pre>"
        return html
