"""A figure as inline SVG for a page: no document of its own, no ids that clash, colours as the page's variables."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import matplotlib as mpl
from matplotlib.figure import Figure

from ...core.formatting.markup import text
from ...core.formatting.theme import LIGHT
from .described import Described
from .style import Sheet, rc

_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", re.DOTALL)
_ROOT = re.compile(r"<svg [^>]*?viewBox=\"([^\"]+)\"[^>]*>", re.DOTALL)
_COLOR = re.compile("|".join(re.escape(value) for value in LIGHT.values()))
_NAMES = {value: name for name, value in LIGHT.items()}
_REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


_SCREEN = Sheet(headings=False, text=13, label=12, foot=12, side=2)
_WIDTHS = (("wide", 528.0), ("slim", 344.0))
_FULL_WIDTHS = (("wide", 1072.0), ("middle", 600.0), ("slim", 344.0))


def page_figure(name: str, info: Described, draw: Callable[[Sheet], Figure], *, wide: bool) -> Iterator[str]:
    """The figure as HTML: once for each width that a page may have, of which its style shows one."""
    yield f'<figure aria-labelledby="t-{name}"{" class=full" if wide else ""}>'
    yield f'<figcaption><h3 id="t-{name}">{text(info.title)}</h3><p>{text(info.subtitle)}</p></figcaption>'
    for kind, width in _FULL_WIDTHS if wide else _WIDTHS:
        yield inline_svg(draw(replace(_SCREEN, width=width)), name=f"{name}-{kind}", alt=info.alt, kind=kind)
    yield (f"<p>{text(info.foot)}</p>" if info.foot else "") + "</figure>"


def inline_svg(figure: Figure, *, name: str, alt: str, kind: str) -> str:
    """The figure as ``<svg class=kind>``; ``name`` is unique on the page, ``alt`` its values in a sentence."""
    written = io.StringIO()
    with mpl.rc_context({**rc("light"), "svg.hashsalt": name}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    body = _DROPPED.sub("", written.getvalue())
    label = html.escape(alt, quote=True)
    body = _ROOT.sub(
        lambda root: f'<svg class="{kind}" viewBox="{root[1]}" role="img" aria-label="{label}">', body, count=1
    )
    body = _REFERENCE.sub(lambda found: f"{found[1]}{name}-", body)
    body = _COLOR.sub(lambda found: f"var(--{_NAMES[found[0]]})", body)
    return re.sub(r"\n\s*", "\n", body).strip()
