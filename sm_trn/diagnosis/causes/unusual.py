"""The lines of an unknown failure that are most unlike a healthy log: rare shapes that speak of trouble, near the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ...core.formatting.printable import shown
from .cause import Evidence
from .entries import shape

MOST = 10
_TROUBLE = (
    "error",
    "fail",
    "exception",
    "warn",
    "abort",
    "kill",
    "cannot",
    "could not",
    "unable",
    "invalid",
    "refused",
    "traceback",
)
_HEALTHY = (
    "reporting training",
    "invoking script",
    "sm_training_env",
    "'loss'",
    "it/s",
    "s/it",
    "info",
    "downloading",
    "setting omp",
)


def unusual(lines: Sequence[bytes], parse: Callable[[str], tuple[float, str, str]]) -> tuple[Evidence, ...]:
    """Return at most ten of the last ``lines``, in their order."""
    texts = [parse(line[:8_000].decode("utf-8", "replace")) for line in lines if line.strip()]
    known = Counter(shape(text) for _, _, text in texts)
    scored = [(_score(text, known[shape(text)], at / max(1, len(texts))), at) for at, (_, _, text) in enumerate(texts)]
    best = sorted(at for score, at in sorted(scored, reverse=True)[:MOST] if score > 0)
    return tuple(
        Evidence(text=shown(texts[at][2])[:400], stream=texts[at][1], time_s=texts[at][0])
        for at in best
        if shown(texts[at][2])
    )


def _score(text: str, often: int, place: float) -> float:
    low = text[:2_000].lower()
    if not low.strip():
        return 0.0
    trouble = sum(word in low for word in _TROUBLE)
    healthy = sum(word in low for word in _HEALTHY)
    return 1.0 + 2.0 * trouble - 1.5 * healthy - 0.3 * min(often - 1, 10) + place
