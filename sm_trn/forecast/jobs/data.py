"""How much there is to train on: counted from a local file by a quick sample, or known of a public data set."""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .facts import EPOCHS, STEPS, Facts, MissingFact

SAMPLE = 2_000_000  # bytes that are read of a file to learn how long its rows are
ROWS = 1_000  # rows of them whose texts are kept
# Characters a token of byte-pair tokenizers: English prose 4 to 5, code about 3, Chinese and Japanese 1 to 1.7.
LATIN, DENSE = 4.2, 1.5
DENSE_FROM = "\u2e80"  # CJK, and what stands behind it in Unicode
SPECIAL = 2  # tokens that a tokenizer puts around a text
# Training examples of public data sets, and tokens of those that are trained in blocks: their cards on the Hugging Face hub;
# SQuAD: features of 384 tokens with a stride of 128.
SETS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "wikitext-103-v1": (1_801_350, 118e6),
        "wikitext-103-raw-v1": (1_801_350, 118e6),
        "wikitext-2-raw-v1": (36_718, 2.4e6),
        "wikitext-2-v1": (36_718, 2.4e6),
        "squad": (88_524, 34e6),
        "squad_v2": (131_754, 50e6),
        "imdb": (25_000, 6.8e6),
        "dolly": (15_011, 3.3e6),
        "alpaca": (52_002, 5.5e6),
        "amazon_polarity": (3_600_000, 370e6),
        "yelp_polarity": (560_000, 90e6),
        "ag_news": (120_000, 6e6),
        "emotion": (16_000, 0.35e6),
        "mrpc": (3668, 0.2e6),
        "sst2": (67_349, 0.8e6),
        "cola": (8551, 0.08e6),
        "mnli": (392_702, 15e6),
        "qnli": (104_743, 5e6),
        "qqp": (363_846, 11e6),
        "rte": (2490, 0.2e6),
        "stsb": (5749, 0.2e6),
        "xsum": (204_045, 96e6),
        "cnn_dailymail": (287_113, 260e6),
        "samsum": (14_732, 2.2e6),
        "food101": (75_750, 0.0),
        "imagenet-1k": (1_281_167, 0.0),
        "cifar10": (50_000, 0.0),
    }
)
NAMED = ("dataset_config_name", "dataset_name", "dataset", "dataset_id", "task_name")


@dataclass(frozen=True, slots=True)
class Data:
    """Training ``examples``, ``tokens`` in all (0: not known), where the count is from; of some rows the texts, and their tokens as
    characters tell them."""

    examples: float
    tokens: float
    source: str
    texts: tuple[str, ...] = ()
    sampled: tuple[float, ...] = ()


def count(facts: Facts) -> Data:
    """The training data of a job. Raises MissingFact."""
    known = facts.known
    counted = count_file(Path(str(known["data"]))) if "data" in known else None
    if "examples" in known or "tokens" in known:
        examples = float(known.get("examples", 0)) or (counted.examples if counted else math.nan)
        share = counted.tokens * examples / counted.examples if counted else 0.0
        tokens = float(known.get("tokens", share))
        return (
            Data(examples, tokens, "given") if counted is None else replace(counted, examples=examples, tokens=tokens)
        )
    if counted is not None:
        return counted
    most = facts.number(("max_train_samples",))
    found = _named(facts) or _channel(facts)
    if found is None and most is None:
        raise MissingFact("examples", "the number of training examples", "--examples 15011, or --data ./train.jsonl")
    if found is None or (most is not None and most < found.examples):
        assert most is not None  # noqa: S101 - one of them is there
        share = found.tokens * most / found.examples if found else 0.0
        told = found or Data(0.0, 0.0, "")
        return replace(told, examples=most, tokens=share, source="max_train_samples")
    return found


def _named(facts: Facts) -> Data | None:
    for name in NAMED:
        said = facts.text((name,)).lower()
        short = said.split("/")[-1].replace("-", "_")
        for known, (examples, tokens) in SETS.items():
            if said and (said.split("/")[-1] == known or short in {known.replace("-", "_"), f"databricks_{known}_15k"}):
                return Data(examples, tokens, f"{known}: known of this data set")
    return None


def _channel(facts: Facts) -> Data | None:
    """The training channel, or a file named by an argument, where it lies on this machine."""
    places = [str(facts.job.channels[name].uri) for name in ("train", "training", "data") if name in facts.job.channels]
    places += [facts.text((name,)) for name in ("train_file", "train_data", "data_path")]
    for place in places:
        if place and "://" not in place and Path(place).exists():
            return count_file(Path(place))
    return None


def count_file(path: Path) -> Data:
    """Examples of a file, or of the largest text file in a folder: its rows. Raises MissingFact.

    A large file is not read whole: its rows are as long as those of its first two million bytes.
    """
    try:
        if path.is_dir():
            kinds = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet")
            inside = [each for each in sorted(path.rglob("*"))[:1000] if each.suffix in kinds and each.is_file()]
            if not inside:
                raise MissingFact("examples", f"the number of training examples in {path}", "--examples 15011")
            path = max(inside, key=lambda each: ("train" in each.name, each.stat().st_size))
        found = path.stat()
        return _file(path, found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise MissingFact(
            "data", f"what {path} holds ({error.strerror})", "--data ./train.jsonl, or --examples 15011"
        ) from error


@functools.lru_cache(maxsize=8)
def _file(path: Path, size: int, changed: int) -> Data:
    """A file as it was at one moment: ``plan`` asks for it once a machine."""
    del changed
    if path.suffix == ".parquet":
        return _parquet(path)
    with path.open("rb") as stream:
        return _lines(path, stream.read(SAMPLE), size)


def _lines(path: Path, sample: bytes, size: int) -> Data:
    whole = len(sample) == size
    text = sample.decode("utf-8", errors="replace")
    rows = _rows(path, text if whole else text[: text.rfind("\n") + 1] or text)
    if not rows:
        raise MissingFact("examples", f"the number of training examples in {path.name}", "--examples 15011")
    examples = len(rows) if whole else round(len(rows) * size / len(sample))
    said = "counted in" if whole else "estimated from the first rows of"
    return _counted(examples, rows, f"{said} {path.name}")


def _rows(path: Path, text: str) -> list[Any]:
    """The rows of a file, or of its beginning, as its kind has them."""
    if path.suffix in {".csv", ".tsv"}:
        return list(csv.reader(io.StringIO(text), delimiter="\t" if path.suffix == ".tsv" else ","))[1:]
    if path.suffix == ".json" and text.lstrip()[:1] == "[":
        try:
            return list(json.loads(text))
        except ValueError:  # the beginning of a long list
            return [match.group() for match in re.finditer(r"\{[^{}]*\}", text)]
    lines = [line for line in text.split("\n") if line.strip()]
    return [_row(line) for line in lines] if path.suffix in {".jsonl", ".json"} else lines


def _row(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _parquet(path: Path) -> Data:
    try:
        from pyarrow import parquet  # noqa: PLC0415 - an extra, and needed for this kind alone
    except ImportError:
        raise MissingFact(
            "examples", f"the number of rows of {path.name} without pyarrow", "--examples 15011"
        ) from None
    try:
        file = parquet.ParquetFile(path)
        first = next(file.iter_batches(batch_size=ROWS), None)
        rows = first.to_pylist() if first is not None else []
    except Exception as error:
        raise MissingFact("examples", f"the number of rows of {path.name} ({error})", "--examples 15011") from error
    return _counted(file.metadata.num_rows, rows, f"counted in {path.name}")


def _counted(examples: int, rows: Sequence[Any], source: str) -> Data:
    """The data of which ``rows`` are a part: spread over the part, so that a sorted file does not show its shortest rows alone."""
    texts = texts_of(rows[:: max(1, len(rows) // ROWS)])
    sampled = tuple(map(guessed_tokens, texts))
    return Data(float(examples), sum(sampled) / len(sampled) * examples, source, texts, sampled)


def guessed_tokens(text: str) -> float:
    """Tokens of a text by its characters."""
    dense = sum(letter >= DENSE_FROM for letter in text)
    return SPECIAL + dense / DENSE + (len(text) - dense) / LATIN


def texts_of(rows: Sequence[Any]) -> tuple[str, ...]:
    """The text of each row: all its strings in one, chats with their turns. What a row is labelled with is short, and counts little."""
    return tuple("\n".join(_strings(row)) for row in rows)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _strings(each)]
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in _strings(each)]
    return []


def steps_of(facts: Facts, *, packed: bool, global_batch: float, length: float) -> tuple[float, str, float]:
    """Optimizer steps of the job, how they were found, and training examples (nan where only steps are known). Raises MissingFact.

    ``packed``: texts are joined and cut into blocks of ``length`` tokens.
    """
    asked = facts.known.get("steps") or (None if "epochs" in facts.known else facts.number(STEPS))
    if asked is not None:
        return float(asked), "steps as given", float(asked) * global_batch
    epochs = facts.known.get("epochs") or facts.number(EPOCHS)
    if epochs is None:
        raise MissingFact("epochs", "how many epochs it trains", "--epochs 3, or --steps 1000")
    data = count(facts)
    packed = packed and data.tokens > 0
    examples = data.tokens / length if packed else data.examples
    if math.isnan(examples):
        examples = data.tokens / length
    each = max(1.0, math.ceil(examples / global_batch))
    how = f"{examples:,.0f} {'sequences' if packed else 'examples'} ({data.source}) × {epochs:g} epochs"
    return each * float(epochs), how, examples * float(epochs)
