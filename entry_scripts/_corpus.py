"""Owns running text for language models: where it comes from, and its blocks of one length; must not know models.

Texts follow one another without padding, so every batch has one shape and every position is learnt from.
"""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

import torch
from torch.utils.data import Dataset

from _console import Mistake
from _data import READERS, REVIEWS, files_of
from _filling import Filling

TEXT_COLUMNS = ("text", "content", "sentence")
TEXT_KINDS = (".txt", *READERS)
CHUNK = 1000  # texts that the tokenizer's threads share at a time
IGNORED = -100  # a label that cross-entropy leaves out


class Texts(NamedTuple):
    train: list[str]
    held_out: list[str]


# --- where texts come from ---


def read_texts(own: Any) -> Texts:
    """From files or channels, else the hub, else the bundled sample; without held-out texts a part is held out."""
    if own.train_file is None and own.dataset_name not in {None, "sample"}:
        return _hub_texts(own)
    train = _file_texts(own.train_file or "sample", "train_file", own.text_column)
    if own.validation_file:
        return Texts(train, _file_texts(own.validation_file, "validation_file", own.text_column))
    return _cut(train, own.validation_split_percentage)


def _cut(texts: list[str], percentage: int) -> Texts:
    """The first part is held out, as the usual example scripts do it with `train[:5%]`."""
    held = max(1, len(texts) * percentage // 100)
    return Texts(texts[held:], texts[:held])


def _file_texts(where: str, flag: str, column: str | None) -> list[str]:
    paths = files_of(REVIEWS if where == "sample" else Path(where), flag, TEXT_KINDS)
    texts = [text for path in paths for text in _texts_of(path, flag, column)]
    if not texts:
        raise Mistake(f"--{flag}: got no text in {where!r}, wanted lines of text or a table with a text column")
    return texts


def _texts_of(path: Path, flag: str, column: str | None) -> Iterator[str]:
    if path.suffix == ".txt":
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from (line for line in file if line.strip())
        return
    if path.suffix not in READERS:
        raise Mistake(f"--{flag}: got {path.name!r}, wanted a file that ends in {', '.join(TEXT_KINDS)}")
    for row in READERS[path.suffix](path):
        name = column or next((name for name in TEXT_COLUMNS if name in row), None)
        if not row:
            continue
        if name is None or name not in row:
            raise Mistake(
                f"--{flag}: {path.name} has the columns {', '.join(map(str, row))}, wanted one of "
                f"{'/'.join(TEXT_COLUMNS)}; name yours with --text_column"
            )
        if row[name]:
            yield str(row[name])


def _hub_texts(own: Any) -> Texts:
    datasets = import_datasets()
    parts = load_hub(datasets, own.dataset_name, own.dataset_config_name)
    train = _column(parts["train"], own)
    if "validation" not in parts:
        return _cut(train, own.validation_split_percentage)
    return Texts(train, _column(parts["validation"], own))


def import_datasets() -> Any:
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError as error:
        raise Mistake(
            f"--dataset_name: wanted the library `datasets` to read from the Hugging Face hub ({error}); "
            "install it, or give --train_file"
        ) from error
    datasets.disable_progress_bar()
    return datasets


def load_hub(datasets: Any, name: str, config: str | None) -> Any:
    try:
        return datasets.load_dataset(name, config)
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise Mistake(
            f"--dataset_name: got {name!r} ({config}), which does not load ({reason}); "
            "wanted a data set of the hub, or --train_file"
        ) from error


def _column(part: Any, own: Any) -> list[str]:
    name = own.text_column or next((name for name in TEXT_COLUMNS if name in part.column_names), None)
    if name not in part.column_names:
        raise Mistake(f"--text_column: got {name!r}, wanted one of {', '.join(part.column_names)}")
    return [text for text in part[name] if text]


# --- blocks ---


def pack(texts: Sequence[str], tokenizer: Any, block_size: int) -> Any:
    """Token ids [blocks, block_size]; the rest that fills no block is dropped."""
    ids: list[int] = []
    for start in range(0, len(texts), CHUNK):
        chunk = list(texts[start : start + CHUNK])
        for piece in tokenizer(chunk, return_attention_mask=False, verbose=False)["input_ids"]:
            ids += piece
    count = len(ids) // block_size
    return torch.tensor(ids[: count * block_size], dtype=torch.int32).view(count, block_size)


class Blocks(Dataset):  # type: ignore[misc]  # torch is untyped here
    """An example is its number; the collator fetches a whole batch at once."""

    def __init__(self, ids: Any) -> None:
        self.ids = ids
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> tuple[int, int]:
        return index, self.epoch

    def fingerprint(self) -> str:
        """For recognising a run's own checkpoints."""
        return hashlib.sha256(self.ids.numpy().tobytes()).hexdigest()[:16]


class NextToken(Filling):
    """Every token is to be foretold from those before it; the model itself shifts the labels."""

    def __init__(self, blocks: Blocks) -> None:
        self._ids = blocks.ids

    def __call__(self, examples: Iterable[tuple[int, int]]) -> dict[str, Any]:
        ids = self._ids[[index for index, _ in examples]].long()
        self.count(ids.numel(), ids.numel())
        return {"input_ids": ids, "labels": ids.clone()}


class HiddenTokens(Filling):
    """A fixed share of each block is hidden: which, is a function of (seed, epoch, block), also after a resume.

    The number per block is fixed, so that means over batches and workers are means over tokens. As in BERT, of the
    chosen 80 % show the mask, 10 % any token, 10 % themselves.
    """

    def __init__(self, blocks: Blocks, tokenizer: Any, share: float, seed: int) -> None:
        self._ids, self._seed = blocks.ids, seed
        self._mask_id, self._vocabulary = tokenizer.mask_token_id, len(tokenizer)
        self._special = torch.tensor(sorted(tokenizer.all_special_ids))
        self._count = max(1, round(share * blocks.ids.shape[1]))

    def __call__(self, examples: Iterable[tuple[int, int]]) -> dict[str, Any]:
        rows = [self._hide(index, epoch) for index, epoch in examples]
        self.count(len(rows) * self._ids.shape[1], len(rows) * self._ids.shape[1])
        return {"input_ids": torch.stack([ids for ids, _ in rows]), "labels": torch.stack([own for _, own in rows])}

    def _hide(self, index: int, epoch: int) -> tuple[Any, Any]:
        drawn = hashlib.sha256(f"{self._seed}/{epoch}/{index}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(drawn[:4], "big"))
        ids = self._ids[index].long()
        order = torch.rand(len(ids), generator=generator)
        order[torch.isin(ids, self._special)] += 1.0  # hidden only where nothing else is left
        chosen = order.argsort()[: self._count]
        labels = torch.full_like(ids, IGNORED)
        labels[chosen] = ids[chosen]
        fate = torch.rand(self._count, generator=generator)
        other = torch.randint(self._vocabulary, (self._count,), generator=generator)
        ids = ids.clone()
        ids[chosen] = torch.where(
            fate < 0.8, torch.tensor(self._mask_id), torch.where(fate < 0.9, other, labels[chosen])
        )
        return ids, labels
