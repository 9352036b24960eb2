"""A comparison as a notebook output: static HTML in one scoped block, no script, no id. Every fact is also a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .page_parts import TAG, rehearsal_table, table, text, variables

if TYPE_CHECKING:
    from .comparison import Comparison

_SHOWN = (
    "throughput",
    "billable",
    "cost",
    "flip",
    "repriced",
    "scaling",
    "padding",
    "data_wait",
    "compiles",
    "changed",
    "runs",
    "missing",
)
CSS = " ".join(
    (
        f".smtrn{{{variables('light')} max-width:860px; font:14px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)}}",
        ".smtrn{color:var(--ink); background:var(--bg); border:1px solid var(--line); border-radius:4px; padding:12px 16px}",
        ".smtrn{font-variant-numeric:tabular-nums}",
        f'[data-jp-theme-light="false"] .smtrn,.vscode-dark .smtrn,html[theme="dark"] .smtrn{{{variables("dark")}}}',
        ".smtrn p{margin:4px 0; color:var(--ink2)}",
        ".smtrn .title{color:var(--ink); font-size:15.5px; font-weight:620}",
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
        ".smtrn .missing,.smtrn .ink3{color:var(--ink3)} .smtrn .ink2{color:var(--ink2)}",
        ".smtrn .ok{color:var(--ok)} .smtrn .warn{color:var(--warn)} .smtrn .err{color:var(--err)} .smtrn .info{color:var(--info)}",
        *(f".smtrn .c{slot}{{color:var(--s{slot})}}" for slot in range(1, 7)),
    )
)


def comparison_card(item: Comparison) -> str:
    """Sections, tables and findings; rehearsals after the measured jobs."""
    blocks = []
    for section in item.sections:
        if not section.measured:
            continue
        base = f"Baseline {section.base.label}." if section.base and len(section.measured) > 1 else ""
        said = [
            finding.text for finding in item.findings if finding.workload == section.workload and finding.kind in _SHOWN
        ]
        lines = "".join(f"<p>{text(line)}</p>" for line in said)
        blocks.append(
            f'<p class="title">{text(section.workload or "Jobs")}</p><div class="wide">{table(section, caption=base)}</div>{lines}'
        )
    for section in item.sections:
        if section.emulated:
            caption = "No speed-up, no cost: emulated jobs have none. Seconds are this machine's."
            inner = rehearsal_table(section.rehearsal, caption=caption)
            blocks.append(
                f'<p class="title">{TAG} {text(section.workload or "Jobs")}</p><div class="wide">{inner}</div>'
            )
    return f'<div class="smtrn"><style>{CSS}</style>{"".join(blocks)}</div>'
