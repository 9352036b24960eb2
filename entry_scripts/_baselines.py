"""Owns what a model must beat: the commonest label, and counted words; must not know the model.

The second is logistic regression on word counts, with scikit-learn's tokenisation, penalty (L2, C = 1) and optimum.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Sequence

import torch

WORD = re.compile(r"\b\w\w+\b")
MAX_WORDS = 20_000  # the commonest; keeps the weights of a large corpus small


def majority_accuracy(train: Sequence[int], held_out: Sequence[int]) -> float:
    """How often the commonest training label is right; of equally common ones, the smallest."""
    counts = Counter(train)
    commonest = max(sorted(counts), key=lambda label: counts[label])
    return sum(label == commonest for label in held_out) / len(held_out)


def bag_of_words_accuracy(
    train: tuple[Sequence[str], Sequence[int]], held_out: tuple[Sequence[str], Sequence[int]], labels: int
) -> float:
    """Fit on the first texts and labels, judged on the second."""
    words = Counter(word for text in train[0] for word in WORD.findall(text.lower()))
    columns = {word: number for number, (word, _) in enumerate(words.most_common(MAX_WORDS))}
    weights, bias = _fit(_counts(train[0], columns), torch.tensor(train[1]), labels)
    guesses = (torch.sparse.mm(_counts(held_out[0], columns), weights) + bias).argmax(dim=1)
    return float((guesses == torch.tensor(held_out[1])).double().mean())


def _counts(texts: Sequence[str], columns: dict[str, int]) -> Any:
    """Sparse [texts, words]."""
    cells: Counter[tuple[int, int]] = Counter()
    for row, text in enumerate(texts):
        cells.update((row, columns[word]) for word in WORD.findall(text.lower()) if word in columns)
    where = torch.tensor(sorted(cells), dtype=torch.int64).reshape(-1, 2).t()
    values = torch.tensor([cells[cell] for cell in sorted(cells)], dtype=torch.float64)
    return torch.sparse_coo_tensor(where, values, (len(texts), len(columns)))


def _fit(counts: Any, labels: Any, classes: int) -> tuple[Any, Any]:
    """Minimise the summed cross-entropy + |w|²/2 by L-BFGS; the objective is convex, the bias is not penalised.

    With two classes scikit-learn penalises one weight vector w; here two, ±w/2, so the penalty counts double.
    """
    weights = torch.zeros(counts.shape[1], classes, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=500, tolerance_grad=1e-5, line_search_fn="strong_wolfe")
    penalty = 1.0 if classes == 2 else 0.5

    def closure() -> Any:
        optimizer.zero_grad()
        logits = torch.sparse.mm(counts, weights) + bias
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum") + penalty * weights.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.detach(), bias.detach()
