"""How a value shows itself in a notebook without knowing how it looks.

Jupyter asks the value itself (``_repr_html_``), but what a value looks like belongs to ``report``, which stands above the values
and imports them. An import of it here, even inside the method, would close a circle of modules; so the place of the cards is
one name, looked up when a notebook asks. A test asks every card, which a wrong name would fail.
"""

from __future__ import annotations

from importlib import import_module

CARDS = "sm_trn.report.cards.registry"


class HasCard:
    """A value with a card in ``CARDS``."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = import_module(CARDS).card(self)
        return html
