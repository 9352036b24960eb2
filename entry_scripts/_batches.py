"""Owns the way from labelled texts to padded batches, and their order; must not know files, devices or the loop.

Every batch of a run has one shape: on XLA each new shape is a new compilation, of minutes.
"""

from __future__ import annotations

import hashlib
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

import torch

from _console import Mistake
from _data import Rows, label_names, label_numbers

LENGTH_MULTIPLE = 8


class Encoded(NamedTuple):
    """Token ids [examples, length] padded on the right, true lengths [examples], label numbers [examples]."""

    ids: Any
    lengths: Any
    labels: Any

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def length(self) -> int:
        return int(self.ids.shape[1])

    def batch(self, indices: Any) -> dict[str, Any]:
        """Index -1 is a filler: it has a shape and weighs nothing."""
        weight = (indices >= 0).float()
        rows = indices.clamp(min=0)
        mask = torch.arange(self.length)[None, :] < self.lengths[rows][:, None]
        return {
            "input_ids": self.ids[rows].long(),
            "attention_mask": mask.long(),
            "labels": self.labels[rows],
            "weight": weight,
        }

    def fingerprint(self) -> str:
        """Of the training data, for recognising a run's own checkpoints."""
        digest = hashlib.sha256(self.ids.numpy().tobytes())
        digest.update(self.labels.numpy().tobytes())
        return digest.hexdigest()[:16]


class Batches:
    """Batches of one epoch, of known number; an iterable that loaders of every device accept."""

    def __init__(self, data: Encoded, indices: Any) -> None:
        self._data = data
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._data.batch(row) for row in self._indices)


class Layout(NamedTuple):
    """How one optimizer step is shared out: `per_device` examples × `workers` × `accumulation` micro-batches."""

    per_device: int
    workers: int
    accumulation: int

    @property
    def samples_per_step(self) -> int:
        return self.per_device * self.workers * self.accumulation


class Data(NamedTuple):
    """Everything the loop reads. The texts themselves are kept for the baselines."""

    label_names: list[str]
    train: Encoded
    held_out: Encoded
    texts: tuple[Rows, Rows]
    layout: Layout

    @property
    def steps_per_epoch(self) -> int:
        return len(self.train) // self.layout.samples_per_step


def encode_data(
    rows: tuple[Rows, Rows], tokenizer: Any, layout: Layout, *, max_length: int, num_labels: int | None
) -> Data:
    """Training and held-out rows in tensors of one length. A Mistake if they do not fill a single step."""
    if len(rows[0].texts) < layout.samples_per_step:
        raise Mistake(
            f"--train: got {len(rows[0].texts)} examples, wanted at least {layout.samples_per_step} "
            f"(= {layout.per_device} per device x {layout.workers} workers x {layout.accumulation} micro-batches); "
            "lower --per_device_batch_size or --gradient_accumulation_steps"
        )
    names = label_names(rows[0].labels, num_labels)
    numbers = [label_numbers(part.labels, names, flag) for part, flag in zip(rows, ("train", "validation"))]
    pieces = [tokenize(part.texts, tokenizer, max_length) for part in rows]
    length = static_length(pieces[0] + pieces[1], max_length)
    train, held_out = (encode(ids, n, length, tokenizer.pad_token_id) for ids, n in zip(pieces, numbers))
    return Data(names, train, held_out, rows, layout)


def tokenize(texts: Sequence[str], tokenizer: Any, max_length: int) -> list[list[int]]:
    pieces: list[list[int]] = []
    for start in range(0, len(texts), 1000):
        chunk = list(texts[start : start + 1000])
        pieces += tokenizer(chunk, truncation=True, max_length=max_length, return_attention_mask=False)["input_ids"]
    return pieces


def static_length(pieces: Iterable[Sequence[int]], max_length: int) -> int:
    """The one length of the run: what the longest text needs, and no more. Padding is the largest avoidable cost."""
    longest = max(len(ids) for ids in pieces)
    return min(max_length, -(-longest // LENGTH_MULTIPLE) * LENGTH_MULTIPLE)


def encode(pieces: Sequence[Sequence[int]], labels: Sequence[int], length: int, pad_id: int) -> Encoded:
    cut = [list(ids[:length]) for ids in pieces]
    padded = [ids + [pad_id] * (length - len(ids)) for ids in cut]
    return Encoded(
        ids=torch.tensor(padded, dtype=torch.int32),
        lengths=torch.tensor([len(ids) for ids in cut], dtype=torch.int32),
        labels=torch.tensor(labels, dtype=torch.int64),
    )


def train_order(count: int, layout: Layout, seed: int, epoch: int) -> Any:
    """Indices [steps, accumulation, workers, per_device] of one epoch: a function of (seed, epoch), nothing else.

    The last, incomplete step is dropped. A step's examples do not depend on how many workers share them.
    """
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**31)
    steps = count // layout.samples_per_step
    order = torch.randperm(count, generator=generator)[: steps * layout.samples_per_step]
    return order.view(steps, layout.accumulation, layout.workers, layout.per_device)


def eval_order(count: int, workers: int, per_device: int) -> Any:
    """Indices [batches, workers, per_device]: each example once, -1 where the last batch has none."""
    batches = -(-count // (workers * per_device))
    order = torch.full((batches * workers * per_device,), -1, dtype=torch.int64)
    order[:count] = torch.arange(count)
    return order.view(batches, workers, per_device)
