"""A figure as inline SVG for a page: no document of its own, no ids that clash, colours as the page's variables."""

from __future__ import annotations

import html
import io
import re

import matplotlib as mpl
from matplotlib.figure import Figure

from ...formatting.theme import LIGHT
from .style import rc

_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", re.DOTALL)
_ROOT = re.compile(r"<svg [^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)
_COLOR = re.compile("|".join(re.escape(value) for value in LIGHT.values()))
_NAMES = {value: name for name, value in LIGHT.items()}
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


def inline_svg(figure: Figure, *, name: str, alt: str, kind: str) -> str:
    """The figure as ``<svg class=kind>``; ``name`` is unique on the page, ``alt`` its values in a sentence."""
    text = io.StringIO()
    with mpl.rc_context({**rc("light"), "svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    body = _DROPPED.sub("", text.getvalue())
    label = html.escape(alt, quote=True)
    body = _ROOT.sub(
        lambda root: f'<svg class="{kind}" viewBox="{root[1]}" role="img" aria-label="{label}">', body, count=1
    )
    body = _REFERENCE.sub(lambda found: f"{found[1]}{name}-", body)
    body = _COLOR.sub(lambda found: f"var(--{_NAMES[found[0]]})", body)
    return re.sub(r"\n\s*", "\n", body).strip()
