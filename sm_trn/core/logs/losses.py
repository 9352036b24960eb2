"""The training loss that a log line tells, in whatever words, and whether it is a number."""

from __future__ import annotations

import math
import re

LONGEST = 2_000  # characters of a line that are looked at
_NUMBER = r"['\"]?\s{0,3}[:=]\s{0,3}['\"]?(?P<value>[-+]?(?:nan|inf(?:inity)?|\d[\d.]*(?:e[-+]?\d+)?))"
_LOSS = re.compile(rf"(?<![\w.])loss{_NUMBER}", re.IGNORECASE)
_NORM = re.compile(rf"(?<![\w.])grad_norm{_NUMBER}", re.IGNORECASE)


def loss_of(text: str) -> float | None:
    """The training loss that a line tells, NaN and infinity too; None where it tells none.

    >>> loss_of("{'loss': nan, 'epoch': 1.0}")
    nan
    """
    if "loss" not in text and "Loss" not in text:
        return None
    return _last(_LOSS, text)


def is_lost(text: str) -> bool | None:
    """Whether a line tells a loss that is no number; None where it tells none. Hugging Face's Trainer leaves such a loss out of
    its mean and prints 0 (``logging_nan_inf_filter``): there the norm of the gradients is NaN."""
    loss = loss_of(text)
    if loss is None:
        return None
    norm = _last(_NORM, text)
    return not math.isfinite(loss) or (loss == 0 and norm is not None and math.isnan(norm))


def _last(pattern: re.Pattern[str], text: str) -> float | None:
    found = None
    for each in pattern.finditer(text[-LONGEST:]):
        found = each
    if found is None:
        return None
    try:
        return float(found["value"])
    except ValueError:
        return math.nan
