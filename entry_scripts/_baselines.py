"""What a model must beat: always the commonest label, and counted words. For --baselines of train_text_classification.py.

The second is logistic regression on word counts, with scikit-learn's tokenisation, penalty (L2, C = 1) and optimum.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate
from typing import Any, Mapping, Sequence

import torch
from torch.nn.functional import cross_entropy, embedding_bag

WORD = re.compile(r"\b\w\w+\b")
MAX_WORDS = 20_000  # the commonest; keeps the weights of a large corpus small


def baseline_accuracies(train: tuple[Sequence[str], Any], held_out: tuple[Sequence[str], Any]) -> dict[str, float]:
    """Of both, on the texts that the model is judged on; each pair is texts and their labels."""
    learnt, judged = (train[0], train[1].values), (held_out[0], held_out[1].values)
    return {
        "baseline_majority_accuracy": round(majority_accuracy(learnt[1], judged[1]), 6),
        "baseline_bag_of_words_accuracy": round(bag_of_words_accuracy(learnt, judged, len(train[1].names)), 6),
    }


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
    weights, bias = _fit(_bags(train[0], columns), torch.tensor(train[1]), len(columns), labels)
    guesses = _logits(_bags(held_out[0], columns), weights, bias).argmax(dim=1)
    return float((guesses == torch.tensor(held_out[1])).double().mean())


def _bags(texts: Sequence[str], columns: Mapping[str, int]) -> tuple[Any, Any]:
    """The known words of all texts in one row, and where each text begins."""
    bags = [[columns[word] for word in WORD.findall(text.lower()) if word in columns] for text in texts]
    starts = list(accumulate((len(bag) for bag in bags), initial=0))[:-1]
    return torch.tensor([word for bag in bags for word in bag], dtype=torch.int64), torch.tensor(starts)


def _logits(bags: tuple[Any, Any], weights: Any, bias: Any) -> Any:
    """Summing a text's rows of `weights` is multiplying them with its word counts."""
    return embedding_bag(bags[0], weights, bags[1], mode="sum") + bias


def _fit(bags: tuple[Any, Any], labels: Any, words: int, classes: int) -> tuple[Any, Any]:
    """Minimise the summed cross-entropy + |w|²/2 by L-BFGS; the objective is convex, the bias is not penalised.

    With two classes scikit-learn penalises one weight vector w; here there are two, ±w/2, so the penalty counts double.
    """
    weights = torch.zeros(words, classes, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=500, tolerance_grad=1e-5, line_search_fn="strong_wolfe")
    penalty = 1.0 if classes == 2 else 0.5

    def closure() -> Any:
        optimizer.zero_grad()
        loss = cross_entropy(_logits(bags, weights, bias), labels, reduction="sum") + penalty * weights.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.detach(), bias.detach()
