"""One scoped block of static HTML for a notebook: no script, no id, every fact a word, so that it survives a sanitiser.

Light and dark follow Jupyter, VS Code and ``html[theme]``. It must not know what is shown.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from . import numbers as fmt
from .printable import printable
from .theme import PALETTES

# A table that is too wide scrolls, and what scrolls must be reached without a mouse.
WIDE = '<div class="wide" role="region" tabindex="0" aria-label="Table">'
TAG = '<span class="tag">EMULATED</span>'


def variables(theme: str) -> str:
    """The palette as CSS variables."""
    return " ".join(f"--{name}: {value};" for name, value in PALETTES[theme].items())


CSS = " ".join(
    (
        f".smtrn{{{variables('light')} max-width:960px; font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)}}",
        ".smtrn{color:var(--ink); background:var(--bg); border:1px solid var(--line); border-radius:4px; padding:12px 16px}",
        ".smtrn{font-variant-numeric:tabular-nums}",
        f'[data-jp-theme-light="false"] .smtrn,.vscode-dark .smtrn,html[theme="dark"] .smtrn{{{variables("dark")}}}',
        ".smtrn p{margin:4px 0; color:var(--ink2)}",
        ".smtrn .title{color:var(--ink); font-size:15.5px; font-weight:620}",
        ".smtrn .title .ink3{font-size:13.5px; font-weight:400}",
        ".smtrn .narrow table{width:auto; min-width:260px}",
        ".smtrn .wide{overflow-x:auto}",
        ".smtrn table{table-layout:auto}",
        ".smtrn table{border-collapse:collapse; margin:8px 0!important; border:0; width:100%; font-size:13.5px; color:inherit}",
        ".smtrn tr{background:none!important}",
        ".smtrn caption{text-align:left; color:var(--ink3); font-size:13px; padding:0 0 4px}",
        ".smtrn th,.smtrn td{border:0; padding:5px 0 5px 16px; text-align:right; vertical-align:top; font-weight:400}",
        ".smtrn th:first-child,.smtrn td.words,.smtrn th.words,.smtrn .hatched td{text-align:left}",  # as specific as Jupyter's own
        ".smtrn th:first-child{padding-left:0}",
        ".smtrn tbody tr>*{border-top:1px solid var(--line)}",
        ".smtrn thead th{color:var(--ink3); vertical-align:bottom}",
        ".smtrn small,.smtrn .sub{display:block; font-size:12.5px; color:var(--ink3); font-weight:400}",
        ".smtrn .job,.smtrn b{font-weight:600; white-space:nowrap}",
        ".smtrn th .sub{white-space:nowrap}",
        ".smtrn .mark{width:11px; height:11px; margin-right:6px; fill:currentColor; stroke:currentColor; stroke-width:1.4}",
        ".smtrn .hollow{fill:var(--bg)}",
        ".smtrn .tag{font-weight:700; font-size:11px; letter-spacing:.06em; color:var(--emu); background:var(--emut)}",
        ".smtrn .tag{border:1.5px dashed var(--emu); border-radius:2px; padding:2px 5px}",
        ".smtrn code{font-size:12.5px; color:inherit; background:var(--panel); padding:0 3px; overflow-wrap:break-word}",
        ".smtrn td{white-space:nowrap} .smtrn td.words{white-space:normal; overflow-wrap:break-word}",
        ".smtrn .sides code{overflow-wrap:anywhere; white-space:normal} .smtrn .sides tr>:first-child{min-width:17em; white-space:normal}",
        ".smtrn td.words.wide{min-width:13em} .smtrn td.words.state{white-space:nowrap}",
        ".smtrn .spark{font-family:var(--jp-code-font-family,ui-monospace,monospace); font-size:11px; color:var(--ink3); white-space:pre}",
        ".smtrn .phases{display:flex; height:9px; min-width:96px; margin:5px 0; border-bottom:1px solid var(--axis)}",
        ".smtrn .phases i{display:block; min-width:2px; background:var(--info)}",
        ".smtrn .phases .waiting{background:none; border:1px dashed var(--axis); border-bottom:0}",
        ".smtrn .phases .transfer{background:repeating-linear-gradient(135deg,var(--info) 0 2px,transparent 2px 5px)}",
        ".smtrn .phases .interrupted{background:var(--warn)} .smtrn .phases .left{background:none}",
        ".smtrn table.facts{width:auto} .smtrn table.facts th{color:var(--ink3); white-space:nowrap}",
        ".smtrn .missing,.smtrn .ink3{color:var(--ink3)} .smtrn .ink2{color:var(--ink2)}",
        ".smtrn .ok{color:var(--ok)} .smtrn .warn{color:var(--warn)} .smtrn .err{color:var(--err)} .smtrn .info{color:var(--info)}",
        *(f".smtrn .c{slot}{{color:var(--s{slot})}}" for slot in range(1, 7)),
    )
)


@dataclass(frozen=True, slots=True)
class Fact:
    """What is said of a name; ``code`` as a computer would read it."""

    words: str
    code: bool = False


def cleaned(value: str) -> str:
    """Foreign or own text as one line of printable characters. Marks that turn the direction of text go too."""
    line = printable(value)
    return " ".join("".join(letter if letter.isprintable() else " " for letter in line).split())


def escaped(value: str) -> str:
    """Foreign or own text for HTML: one printable line, escaped."""
    return html.escape(cleaned(value), quote=True)


def text(value: str) -> str:
    """The same, with numbers held to their units."""
    return fmt.unbroken(escaped(value))


def block(inner: str) -> str:
    """``inner``, which is HTML, in the scoped block with its style."""
    return f'<div class="smtrn"><style>{CSS}</style>{inner}</div>'


def bar(parts: Iterable[tuple[str, float]]) -> str:
    """Styles with their shares of a length, drawn. Whoever draws it says the same in words."""
    drawn = "".join(f'<i class="{style}" style="width:{100 * share:.1f}%"></i>' for style, share in parts)
    return f'<div class="phases" aria-hidden="true">{drawn}</div>' if drawn else ""


def title(name: str, under: str = "", *, emulated: bool = False) -> str:
    """The line at the top: what it is, and in grey what kind."""
    tag = f"{TAG} " if emulated else ""
    more = f' <span class="ink3">{escaped(under)}</span>' if under else ""
    return f'<p class="title">{tag}<b>{escaped(name)}</b>{more}</p>'


def facts(rows: Iterable[tuple[str, str | Fact]]) -> str:
    """Names and what is said of them; nothing when there is nothing to say."""
    lines = []
    for name, value in rows:
        fact = Fact(value) if isinstance(value, str) else value
        words = f"<code>{escaped(fact.words)}</code>" if fact.code else escaped(fact.words)
        wide = " wide" if len(fact.words) > 40 else ""
        lines.append(f'<tr><th scope="row">{escaped(name)}</th><td class="words{wide}">{words}</td></tr>')
    return f'<table class="facts"><tbody>{"".join(lines)}</tbody></table>' if lines else ""
