"""Owns examples of one task as tensors and their way into batches; must not know what the columns mean.

On XLA every batch has the full length; elsewhere a batch is as long as its longest example, which changes no result.
"""

from __future__ import annotations

import hashlib
from typing import Any, Iterable, Iterator, Mapping, Sequence

import torch
from torch.utils.data import Dataset, Sampler

from _batches import Layout, train_order
from _filling import Filling
from _parts import Grain, cut, rounded

PARTS = "parts"  # the one key of a batch that comes in several


class Examples(Dataset):  # type: ignore[misc]  # torch is untyped here
    """Columns [examples, length] of tokens, padded on the right, and columns [examples] of labels."""

    def __init__(self, tokens: Mapping[str, Any], lengths: Any, labels: Mapping[str, Any]) -> None:
        self.tokens, self.lengths, self.labels = dict(tokens), lengths, dict(labels)
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> int:
        return index

    @property
    def length(self) -> int:
        return int(self.tokens["input_ids"].shape[1])

    def fill(self) -> float:
        """The share of positions that hold a token rather than padding."""
        return float(self.lengths.float().mean()) / self.length

    def fingerprint(self) -> str:
        """For recognising a run's own checkpoints."""
        digest = hashlib.sha256()
        for column in (*self.tokens.values(), *self.labels.values()):
            digest.update(column.numpy().tobytes())
        return digest.hexdigest()[:16]


class LikeLengths(Sampler):  # type: ignore[misc]  # torch is untyped here
    """Examples of like length in a step: a function of (seed, epoch). All workers' batches in turn, or only `rank`'s."""

    def __init__(self, examples: Examples, layout: Layout, seed: int, rank: int | None) -> None:
        self._examples, self._layout, self._seed, self._rank = examples, layout, seed, rank

    def __len__(self) -> int:
        steps = len(self._examples) // self._layout.samples_per_step
        return steps * self._layout.samples_per_step // (1 if self._rank is None else self._layout.workers)

    def __iter__(self) -> Iterator[int]:
        examples = self._examples
        order = train_order(len(examples), self._layout, self._seed, examples.epoch, examples.lengths)
        return iter((order if self._rank is None else order[:, :, self._rank]).flatten().tolist())


class Collator(Filling):
    """A batch is fetched at once, whole or, for a trainer that takes them, in `parts` of like length.

    Without a `grain` batches stay whole.
    """

    def __init__(self, examples: Examples, *, trim: bool, grain: Grain | None = None) -> None:
        self._examples, self._trim, self._grain = examples, trim, grain if trim else None

    def __call__(self, indices: Iterable[int]) -> dict[str, Any]:
        examples, rows = self._examples, torch.tensor(list(indices))
        lengths = examples.lengths[rows]
        if self._grain is None:
            length = min(examples.length, rounded(int(lengths.max()))) if self._trim else examples.length
            self.count(int(lengths.sum()), length * len(rows))
            return self._whole(rows, length)
        parts = cut(lengths.tolist(), self._grain, examples.length)
        self.count(int(lengths.sum()), sum(len(part.members) * part.length for part in parts))
        return {PARTS: [self._whole(rows[part.members], part.length) for part in parts]}

    def _whole(self, rows: Any, length: int) -> dict[str, Any]:
        examples, lengths = self._examples, self._examples.lengths[rows]
        batch = {name: column[rows, :length].long() for name, column in examples.tokens.items()}
        batch["attention_mask"] = (torch.arange(length)[None, :] < lengths[:, None]).long()
        batch.update({name: column[rows] for name, column in examples.labels.items()})
        return batch


def padded(pieces: Sequence[Sequence[int]], length: int, filler: int) -> Any:
    """[examples, length] in 4 bytes a token."""
    rows = torch.full((len(pieces), length), filler, dtype=torch.int32)
    for row, ids in zip(rows, pieces):
        row[: len(ids)] = torch.tensor(ids, dtype=torch.int32)
    return rows


def encode_examples(
    encoded: Mapping[str, Sequence[Sequence[int]]], labels: Mapping[str, Sequence[int]], *, length: int, pad_id: int
) -> Examples:
    """From a tokenizer's lists. Their attention masks are dropped: right padding says as much."""
    lengths = torch.tensor([len(ids) for ids in encoded["input_ids"]], dtype=torch.int32)
    names = [name for name in ("input_ids", "token_type_ids") if name in encoded]
    tokens = {name: padded(encoded[name], length, pad_id if name == "input_ids" else 0) for name in names}
    return Examples(tokens, lengths, {name: torch.tensor(list(values)) for name, values in labels.items()})
