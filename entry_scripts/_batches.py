"""Owns the way from labelled texts to padded batches, and their order; must not know files, devices or the loop.

Where each new shape is a compilation, of minutes, all batches have one length, or one of a few that are asked for.
Elsewhere a batch is cut into parts of like length, each no longer than its longest text needs.
"""

from __future__ import annotations

import hashlib
from typing import Any, Iterator, NamedTuple, Sequence

import torch

from _console import Mistake
from _data import Rows, label_names, label_numbers
from _parts import Grain, cut, rounded

WINDOW_STEPS = 32  # within which texts of like length come together; longer would make an epoch's order less random


class Encoded(NamedTuple):
    """Token ids [examples, length] padded on the right, true lengths [examples], label numbers [examples].

    A batch is cut to the shortest of `shapes` that its longest text needs; the last of them is the whole length.
    """

    ids: Any
    lengths: Any
    labels: Any
    shapes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def length(self) -> int:
        return int(self.ids.shape[1])

    def shapes_of(self, order: Any) -> Any:
        """The length [batches] of each batch of `order` [batches, workers, per_device]: the same on every worker."""
        longest = self.lengths[order.clamp(min=0)].flatten(start_dim=1).max(dim=1).values
        return torch.tensor(self.shapes)[torch.bucketize(longest, torch.tensor(self.shapes))]

    def batch(self, indices: Any, length: int) -> dict[str, Any]:
        """Index -1 is a filler: it has a shape and weighs nothing."""
        weight = (indices >= 0).float()
        rows = indices.clamp(min=0)
        mask = torch.arange(length)[None, :] < self.lengths[rows][:, None]
        return {
            "input_ids": self.ids[rows, :length].long(),
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
    """One worker's share of the batches of an epoch, of known number; an iterable that loaders of every device accept.

    `order` [batches, workers, per_device] is everybody's: without a `grain` a batch has one length on all workers
    and is one pass through the model. With it, it is cut: into how many parts, which come one by one, `passes` says.
    """

    def __init__(self, data: Encoded, order: Any, rank: int, grain: Grain | None = None) -> None:
        self._data, workers = data, order.shape[1]
        rows = order[:, rank]
        if grain is None:
            everybody = data.lengths[order.clamp(min=0)].flatten(start_dim=1).sum(dim=1).tolist()
            self._parts = list(zip(rows, data.shapes_of(order).tolist()))
            self.passes = [1] * len(rows)
        else:
            cuts = [cut(lengths, grain, data.length) for lengths in data.lengths[rows.clamp(min=0)].tolist()]
            self._parts = [(row[part.members], part.length) for row, parts in zip(rows, cuts) for part in parts]
            everybody = [int(data.lengths[part.clamp(min=0)].sum()) * workers for part, _ in self._parts]
            self.passes = [len(parts) for parts in cuts]
        # Of all workers: tokens, and positions padding included. Where each cuts its own, the others are taken to be alike.
        self.filling = [(own, length * len(part) * workers) for own, (part, length) in zip(everybody, self._parts)]

    @property
    def lengths(self) -> list[int]:
        return [length for _, length in self._parts]

    def passes_per_step(self, accumulation: int) -> list[int]:
        starts = range(0, len(self.passes), accumulation)
        return [sum(self.passes[start : start + accumulation]) for start in starts]

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._data.batch(part, length) for part, length in self._parts)


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
    grain: Grain | None = None  # where batches may have any length

    @property
    def steps_per_epoch(self) -> int:
        return len(self.train) // self.layout.samples_per_step

    @property
    def lengths(self) -> str:
        return ("" if self.grain is None else "up to ") + "/".join(map(str, self.train.shapes))

    @property
    def shapes(self) -> dict[str, int]:
        """For the log: how many lengths there are, where that is bounded."""
        return {"shapes": len(self.train.shapes)} if self.grain is None else {}

    def train_order(self, seed: int, epoch: int, *, alike: bool) -> Any:
        """As `train_order` has it; the same on every device, whatever lengths its batches may have."""
        return train_order(len(self.train), self.layout, seed, epoch, self.train.lengths if alike else None)

    def train_batches(self, order: Any, rank: int) -> Batches:
        return Batches(self.train, order.flatten(end_dim=1), rank, self.grain)

    def eval_batches(self, rank: int) -> Batches:
        """Each held-out example once, those of like length together: order changes no result."""
        order = eval_order(self.held_out.lengths, self.layout.workers, self.layout.per_device)
        return Batches(self.held_out, order, rank, self.grain)


def first_steps(data: Data, steps: int) -> Data:
    """Fewer steps of the same shapes."""
    kept, train = steps * data.layout.samples_per_step, data.train
    return data._replace(train=Encoded(train.ids[:kept], train.lengths[:kept], train.labels[:kept], train.shapes))


def encode_data(
    rows: tuple[Rows, Rows],
    tokenizer: Any,
    layout: Layout,
    *,
    max_length: int,
    num_labels: int | None,
    shapes: int = 1,
    grain: Grain | None = None,
) -> Data:
    """Training and held-out rows in tensors, their batches of at most `shapes` lengths, or with a `grain` of any.

    Raises Mistake where there are too few rows for one step.
    """
    if len(rows[0].texts) < layout.samples_per_step:
        raise Mistake(
            f"--train: got {len(rows[0].texts)} examples, wanted at least {layout.samples_per_step} "
            f"(= {layout.per_device} per device x {layout.workers} workers x {layout.accumulation} micro-batches); "
            "lower --per_device_batch_size or --gradient_accumulation_steps"
        )
    names = label_names(rows[0].labels, num_labels)
    numbers = [label_numbers(part.labels, names, flag) for part, flag in zip(rows, ("train", "validation"))]
    pieces = [tokenize(part.texts, tokenizer, max_length) for part in rows]
    lengths = batch_lengths([len(ids) for ids in pieces[0] + pieces[1]], max_length, shapes)
    train, held_out = (encode(ids, n, lengths, tokenizer.pad_token_id) for ids, n in zip(pieces, numbers))
    return Data(names, train, held_out, rows, layout, grain)


def tokenize(texts: Sequence[str], tokenizer: Any, max_length: int) -> list[list[int]]:
    pieces: list[list[int]] = []
    for start in range(0, len(texts), 1000):
        chunk = list(texts[start : start + 1000])
        pieces += tokenizer(chunk, truncation=True, max_length=max_length, return_attention_mask=False)["input_ids"]
    return pieces


def batch_lengths(lengths: Sequence[int], max_length: int, shapes: int) -> tuple[int, ...]:
    """At most `shapes` lengths that batches may have: as many texts under each; the last is what the longest text needs.

    One shape is no longer than the data needs: padding is the largest avoidable cost.
    """
    ranked = sorted(lengths)
    edges = [ranked[-(-len(ranked) * part // shapes) - 1] for part in range(1, shapes + 1)]
    return tuple(sorted({min(max_length, rounded(edge)) for edge in edges}))


def encode(pieces: Sequence[Sequence[int]], labels: Sequence[int], shapes: tuple[int, ...], pad_id: int) -> Encoded:
    length = shapes[-1]
    cut = [list(ids[:length]) for ids in pieces]
    padded = [ids + [pad_id] * (length - len(ids)) for ids in cut]
    return Encoded(
        ids=torch.tensor(padded, dtype=torch.int32),
        lengths=torch.tensor([len(ids) for ids in cut], dtype=torch.int32),
        labels=torch.tensor(labels, dtype=torch.int64),
        shapes=shapes,
    )


def train_order(count: int, layout: Layout, seed: int, epoch: int, lengths: Any = None) -> Any:
    """Indices [steps, accumulation, workers, per_device] of one epoch: a function of (seed, epoch), nothing else.

    With `lengths` [count], texts of like length share a step, and the one with the longest comes first: where memory
    does not suffice, it ends there. The last, incomplete step is dropped. A step's examples do not depend on how many
    workers share them.
    """
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**31)
    steps = count // layout.samples_per_step
    order = torch.randperm(count, generator=generator)[: steps * layout.samples_per_step]
    if lengths is not None:
        windows = order.split(window_steps(steps) * layout.samples_per_step)
        alike = torch.cat([_alike(part, lengths, layout.samples_per_step, generator) for part in windows])
        order = _longest_first(alike.view(steps, layout.samples_per_step), lengths)
    return order.view(steps, layout.accumulation, layout.workers, layout.per_device)


def window_steps(steps: int) -> int:
    """Within how many steps texts are sorted: in a short epoch fewer, so that its steps are not the same in each."""
    return max(1, min(WINDOW_STEPS, steps // 4))


def _alike(window: Any, lengths: Any, samples: int, generator: Any) -> Any:
    """Sorted by length, cut into steps, and the steps shuffled: short texts are not always learnt first."""
    steps = window[torch.sort(lengths[window], stable=True).indices].view(-1, samples)
    return steps[torch.randperm(len(steps), generator=generator)].flatten()


def _longest_first(order: Any, lengths: Any) -> Any:
    """The step [samples] that has the longest text changes places with the first; of several, the one with most tokens."""
    if not len(order):
        return order
    own = lengths[order].long()
    longest, total = own.max(dim=1).values, own.sum(dim=1)
    place = int((longest * (total.max() + 1) + total).argmax())
    order[[0, place]] = order[[place, 0]]
    return order


def eval_order(lengths: Any, workers: int, per_device: int) -> Any:
    """Indices [batches, workers, per_device]: each example once, the longest first, and -1 where the last batch has none."""
    batches = -(-len(lengths) // (workers * per_device))
    order = torch.full((batches * workers * per_device,), -1, dtype=torch.int64)
    order[: len(lengths)] = torch.sort(lengths, descending=True, stable=True).indices
    return order.view(batches, workers, per_device)
