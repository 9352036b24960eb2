"""The training loss that a log line tells, in whatever words, and whether it is a number."""

from __future__ import annotations

import math
import re

LONGEST = 2_000  # characters of a line that are looked at
_VALUE = r"[-+]?(?:nan|inf(?:inity)?|\d[\d.]*(?:e[-+]?\d+)?)"
# ``loss: 0.4``, ``'loss': '0.4'``, ``loss=nan``; and ``loss 0.41`` of a table, where a bare whole number could count anything.
_NUMBER = rf"['\"]?(?:\s{{0,3}}[:=]\s{{0,3}}['\"]?(?P<value>{_VALUE})|\s{{1,3}}(?P<bare>[-+]?(?:\d+\.\d[\d]*(?:e[-+]?\d+)?|nan|inf)\b))"
# Lightning's bar says ``train_loss=``; the Trainer's summary says 'train_loss' of the mean of a whole run, which is none.
_TRAINING = r"(?:(?:total|lm|mean|avg|batch)_|train(?:ing)?_(?=loss(?:_step)?=))?"
_NOT_OF_EVALUATION = "".join(rf"(?<!{word}[ /])" for word in ("eval", "val", "valid", "validation", "test", "dev"))
_LOSS = re.compile(rf"(?<![\w.]){_NOT_OF_EVALUATION}{_TRAINING}loss(?:_step)?{_NUMBER}", re.IGNORECASE)
_NORM = re.compile(rf"(?<![\w.])grad[ _]norm{_NUMBER}", re.IGNORECASE)
# MAE, DETR and YOLOX say so before they give up, fairseq and apex when their scale is used up.
_NOT_FINITE = re.compile(
    r"\bloss is (?:nan|inf)\b|\bloss = nan\b|\bnan loss\b|\bnon-?finite (?:loss|grad)|minimum loss scale reached|already at minimum",
    re.IGNORECASE,
)


def loss_of(text: str) -> float | None:
    """The training loss that a line tells, NaN and infinity too; None where it tells none.

    >>> loss_of("{'loss': nan, 'epoch': 1.0}")
    nan
    """
    if "loss" not in text and "Loss" not in text:
        return None
    return _last(_LOSS, text)


def norm_of(text: str) -> float | None:
    """The norm of the gradients that a line tells, NaN and infinity too; None where it tells none."""
    return _last(_NORM, text) if "rad" in text else None


def says_not_finite(text: str) -> bool:
    """Whether a line says in words that the loss or the gradients are no numbers."""
    return _NOT_FINITE.search(text[-LONGEST:]) is not None


def _last(pattern: re.Pattern[str], text: str) -> float | None:
    found = None
    for each in pattern.finditer(text[-LONGEST:]):
        found = each
    if found is None:
        return None
    try:
        return float(found["value"] or found["bare"])
    except ValueError:
        return math.nan
