"""Owns the formulas by which answers are judged; must not know models or data. No library that needs the network."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from typing import Sequence

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = frozenset(string.punctuation)


def accuracy(wanted: Sequence[int], got: Sequence[int]) -> float:
    return sum(one == other for one, other in zip(wanted, got)) / len(wanted)


def f1_of(label: int, wanted: Sequence[int], got: Sequence[int]) -> float:
    """2TP / (2TP + FP + FN) of one label; 0 where it is neither wanted nor given."""
    pairs = Counter((one == label, other == label) for one, other in zip(wanted, got))
    hits = 2 * pairs[True, True]
    total = hits + pairs[True, False] + pairs[False, True]
    return hits / total if total else 0.0


def f1(wanted: Sequence[int], got: Sequence[int], labels: int) -> float:
    """Of label 1 where there are two, else the mean over the labels that occur."""
    if labels == 2:
        return f1_of(1, wanted, got)
    occurring = sorted({*wanted, *got})
    return sum(f1_of(label, wanted, got) for label in occurring) / len(occurring)


def perplexity(loss: float) -> float:
    """e to the mean loss per foretold token; infinite where that is more than a float holds."""
    return round(math.exp(loss), 6) if loss < 700 else math.inf


# --- answers as texts: the formulas of SQuAD's own evaluation ---


def normal(text: str) -> str:
    """Lower case, without punctuation, articles and extra blanks."""
    bare = "".join(letter for letter in text.lower() if letter not in PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", bare).split())


def exact_match(gold: Sequence[str], answer: str) -> float:
    """1 if the answer is one of the right ones. No right answer at all means the empty one."""
    return float(any(normal(answer) == normal(one) for one in gold or [""]))


def answer_f1(gold: Sequence[str], answer: str) -> float:
    """Overlap of words with the right answer that it is nearest to."""
    return max(_overlap(normal(one).split(), normal(answer).split()) for one in gold or [""])


def _overlap(gold: Sequence[str], answer: Sequence[str]) -> float:
    if not gold or not answer:
        return float(gold == answer)
    common = sum((Counter(gold) & Counter(answer)).values())
    return 2 * common / (len(gold) + len(answer))
