"""Small notebook outputs: a job's handle, a spot rehearsal. Static HTML like the comparison's card; knows no session, asks nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .card import CSS
from .page_parts import TAG, text


def job_card(name: str, *, machine: str, emulated: bool, steps: Sequence[str]) -> str:
    """What a handle knows without asking: the job's name and, of one that it submitted, the machines; then what to type next."""
    tag = f"{TAG} " if emulated else ""
    under = f' <span class="ink3">{text(machine)}</span>' if machine else ""
    told = ", ".join(f"<code>{text(step)}</code>" for step in steps)
    return _block(
        f'<p class="title">{tag}<b>{text(name)}</b>{under}</p><p class="ink3">Not asked for its status. {told}</p>'
    )


def rehearsal_card(lines: Sequence[str], files: Mapping[str, bool]) -> str:
    """What interruptions did: the sentences, then each file of the model, the same or not. It is always emulated."""
    first, *others = lines
    said = "".join(f"<p>{text(line)}</p>" for line in others)
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td class="words"><span class="{"ok" if same else "warn"}">'
        f"{'✓ the same bytes' if same else '▲ different bytes'}</span></td></tr>"
        for name, same in files.items()
    )
    head = '<th scope="col">File of the model</th><th scope="col" class="words">Left alone and interrupted</th>'
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    return _block(f'<p class="title">{TAG} {text(first.removeprefix("EMULATED "))}</p>{said}{table if rows else ""}')


def _block(inner: str) -> str:
    return f'<div class="smtrn"><style>{CSS}</style>{inner}</div>'
