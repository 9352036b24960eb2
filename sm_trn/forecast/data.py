"""How much there is to train on, and how many tokens a sample has as it is computed: from the data, the cap, and how batches are filled."""

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
from typing import Any

from ..core.preflight import reading, source
from .facts import EPOCHS, LENGTH, STEPS, Facts, MissingFact, known_data
from .models import Architecture

SAMPLE = 2_000_000  # bytes that are read of a file to learn how long its rows are
ROWS = 1_000  # rows of them whose texts are measured
# Characters a token of byte-pair tokenizers: English prose 4 to 5, code about 3, Chinese and Japanese 1 to 1.7.
LATIN, DENSE = 4.2, 1.5
DENSE_FROM = "\u2e80"  # CJK, and what stands behind it in Unicode
UNSURE = 1.25  # times more or fewer tokens than characters tell
UNKNOWN = 8.0  # a sample whose length nobody says has between an eighth of the cap and the cap
ENCODER_CAP = 512.0  # positions of BERT and its kin
SETS = ("dataset_config_name", "dataset_name", "dataset", "dataset_id", "task_name")
KINDS = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet")
ASK = "--examples 15011, or --data ./train.jsonl"


@dataclass(frozen=True, slots=True)
class Data:
    """Training ``examples``, ``tokens`` in all (0: not known), where the count is from, and tokens of some rows by their characters."""

    examples: float
    tokens: float
    source: str
    sampled: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of a sample: in the longest batch, in the average one, and between what bounds that average lies."""

    longest: float
    average: float
    least: float
    most: float
    assumed: str = ""


def count(facts: Facts) -> Data:
    """The training data of a job. Raises MissingFact."""
    known, channels = facts.known, facts.job.channels
    data = count_file(Path(str(known["data"]))) if "data" in known else None
    if "examples" in known or "tokens" in known:
        examples = float(known.get("examples", 0)) or (data.examples if data else math.nan)
        tokens = known.get("tokens", data.tokens * examples / data.examples if data else 0.0)
        return replace(data or Data(examples, 0.0, "given"), examples=examples, tokens=float(tokens))
    if data is not None:
        return data
    places = [str(channels[name].uri) for name in ("train", "training", "data") if name in channels]
    places += [facts.text(name) for name in ("train_file", "train_data", "data_path")]
    here = (Path(place) for place in places if place and "://" not in place and Path(place).exists())
    data = _named(facts) or next((count_file(path) for path in here), None)
    most = facts.number(("max_train_samples",))
    if most is not None and (data is None or most < data.examples):
        share = data.tokens * most / data.examples if data else 0.0
        return replace(data or Data(0.0, 0.0, ""), examples=most, tokens=share, source="max_train_samples")
    if data is None:
        raise MissingFact("examples", "the number of training examples", ASK)
    return data


def _named(facts: Facts) -> Data | None:
    names = [facts.text(name).lower().rpartition("/")[2].replace("-", "_") for name in SETS]
    for known, (examples, tokens) in known_data()["data_sets"].items():
        plain = known.replace("-", "_")
        if plain in names or f"databricks_{plain}_15k" in names:
            return Data(float(examples), float(tokens), f"{known}: known of this data set")
    return None


def count_file(path: Path) -> Data:
    """Examples of a file, or of the largest text file in a folder: its rows. Raises MissingFact.

    A large file is not read whole: its rows are as long as those of its first two million bytes.
    """
    try:
        if path.is_dir():
            inside = [each for each in sorted(path.rglob("*"))[:1000] if each.suffix in KINDS and each.is_file()]
            path = max(inside, key=lambda each: ("train" in each.name, each.stat().st_size), default=path)
        status = path.stat()
        data = _file(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise MissingFact("data", f"what {path} holds ({error.strerror})", ASK) from error
    if not data.examples:
        raise MissingFact("examples", f"the number of training examples in {path}", ASK)
    return data


@functools.lru_cache(maxsize=8)
def _file(path: Path, size: int, changed: int) -> Data:
    """A file as it was at one moment: a plan asks for it once a machine."""
    del changed
    if path.suffix == ".parquet":
        examples, rows = _parquet(path)
    else:
        with path.open("rb") as stream:
            sample = stream.read(SAMPLE)
        text = sample.decode("utf-8", errors="replace")
        rows = _rows(path, text if len(sample) == size else text.rpartition("\n")[0] or text)
        examples = len(rows) if len(sample) == size else max(1, round(len(rows) * size / len(sample)))
    # Spread over the sample, so that a sorted file does not show its shortest rows alone.
    sampled = tuple(_tokens("\n".join(_strings(row))) for row in rows[:: max(1, len(rows) // ROWS)]) or (0.0,)
    whole = path.suffix == ".parquet" or size <= SAMPLE
    source = f"{'counted in' if whole else 'estimated from the first rows of'} {path.name}"
    return Data(float(examples), sum(sampled) / len(sampled) * examples, source, sampled)


def _rows(path: Path, text: str) -> Sequence[Any]:
    if path.suffix in {".csv", ".tsv"}:
        return list(csv.reader(io.StringIO(text), delimiter="\t" if path.suffix == ".tsv" else ","))[1:]
    lines = [line for line in text.split("\n") if line.strip()]
    if path.suffix == ".txt":
        return lines
    listed = text.lstrip().startswith("[")
    try:
        return list(json.loads(text)) if listed else [json.loads(line) for line in lines]
    except ValueError:  # the beginning of a long list, or lines that are no JSON
        return re.findall(r"\{[^{}]*\}", text) if listed else lines


def _parquet(path: Path) -> tuple[int, Sequence[Any]]:
    try:
        from pyarrow import parquet  # noqa: PLC0415 - an extra, and needed for this kind alone

        file = parquet.ParquetFile(path)
        first = next(file.iter_batches(batch_size=ROWS), None)
    except Exception as error:
        raise MissingFact("examples", f"the number of rows of {path.name} ({error})", ASK) from error
    return file.metadata.num_rows, first.to_pylist() if first is not None else []


def _tokens(text: str) -> float:
    """Tokens of a text by its characters, with the two that a tokenizer puts around it."""
    dense = sum(letter >= DENSE_FROM for letter in text)
    return 2 + dense / DENSE + (len(text) - dense) / LATIN


def _strings(value: Any) -> list[str]:
    """All texts of a row, chats with their turns. What a row is labelled with is short, and counts little."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [text for each in parts for text in _strings(each)]


def steps_of(facts: Facts, *, packed: bool, global_batch: float, length: float) -> tuple[float, str, float]:
    """Optimizer steps of the job, how they were counted, and training examples. Raises MissingFact.

    ``packed``: texts are joined and cut into blocks of ``length`` tokens.
    """
    steps = facts.known.get("steps") or (None if "epochs" in facts.known else facts.number(STEPS))
    if steps is not None:
        return float(steps), "steps as given", float(steps) * global_batch
    epochs = facts.known.get("epochs") or facts.number(EPOCHS)
    if epochs is None:
        raise MissingFact("epochs", "how many epochs it trains", "--epochs 3, or --steps 1000")
    data = count(facts)
    packed = packed and data.tokens > 0
    examples = data.tokens / length if packed or math.isnan(data.examples) else data.examples
    each = max(1.0, math.ceil(examples / global_batch))
    how = f"{examples:,.0f} {'sequences' if packed else 'examples'} ({data.source}) × {epochs:g} epochs"
    return each * float(epochs), how, examples * float(epochs)


def lengths(facts: Facts, model: Architecture) -> Lengths:
    """Tokens of a sample of the job. Raises MissingFact where neither data, cap nor caller says any."""
    exact = facts.known.get("length") or (197.0 if model.kind == "vision" else None)
    if exact is not None:
        tokens = float(exact)
        return Lengths(tokens, tokens, tokens, tokens)
    cap, filling = facts.number(LENGTH), _filling(facts)
    if cap is not None and filling in {"packed", "one length"}:
        how = "joined and cut into blocks" if filling == "packed" else "filled up to one length"
        return Lengths(cap, cap, cap, cap, f"every sample has {cap:g} tokens: texts are {how}")
    try:
        data = count(facts)
    except MissingFact:
        data = None
    if data is not None and data.tokens / data.examples > 0:
        return _of_data(facts, model, data, cap, known=bool(filling))
    if cap is None:
        fix = "--data ./train.jsonl, --length 512, or the hyperparameter max_seq_length"
        raise MissingFact("length", "how long an example is", fix)
    most = f"every sample has {cap:g} tokens, the most that the job allows"
    return Lengths(cap, cap, cap / UNKNOWN, cap, f"{most}; shorter ones take less: --data FILE or --length N tells")


def packs(facts: Facts, model: Architecture) -> bool:
    """Whether the script joins texts and cuts them into blocks, so that tokens and not texts are counted."""
    return model.causal and _filling(facts) == "packed"


def _filling(facts: Facts) -> str:
    """How a batch is filled up: ``packed``, to ``one length``, to its ``longest``; empty where nothing says."""
    job, words, given = facts.job, reading.words(facts.job), reading.keywords(facts.job)
    padding = given.get("padding", set())
    if "block_size" in facts.arguments or facts.given("packing", "sample_packing") or "run_clm" in facts.words():
        return "packed"
    if True in given.get("packing", ()) or (words is not None and "group_texts" in words.all):
        return "packed"
    static = job.neuron is not None or job.compute.instances[0].startswith(("ml.trn", "ml.inf")) or job.compiled
    if static or facts.given("pad_to_max_length") or "max_length" in {facts.text("padding"), *padding}:
        return "one length"  # a graph is compiled for each shape
    collators = ("DataCollatorWithPadding", "DataCollatorForSeq2Seq", "DataCollatorForLanguageModeling")
    padded = words is not None and (words.any_of(*collators) or padding & {True, "longest"})
    return "longest" if padded or (job.script is not None and source.shipped(job)) else ""


def _of_data(facts: Facts, model: Architecture, data: Data, cap: float | None, *, known: bool) -> Lengths:
    top = cap or (math.inf if model.causal else ENCODER_CAP)
    kept = sorted(min(each, top) for each in data.sampled or (data.tokens / data.examples,))
    mean, number, batch = sum(kept) / len(kept), len(kept), max(1, round(facts.batch()))
    # The longest of a batch drawn at random: what every sample of it is filled up to, unless those of like length go together.
    shares = [(rank / number) ** (1 if facts.given("group_by_length") else batch) for rank in range(number + 1)]
    padded = sum(length * (shares[at + 1] - shares[at]) for at, length in enumerate(kept))
    how = f"by characters of {number:,} sampled texts, ±{UNSURE - 1:.0%}" if data.sampled else data.source
    assumed = f"{padded:,.0f} tokens a sample as computed, {mean:,.0f} of them text ({how})"
    if not known:
        assumed += "; how the script fills a batch up is not known: to the cap, time and memory are the cap's"
    longest = kept[-1] * UNSURE if number > 1 or cap is None else cap
    most = padded * UNSURE if known else max(padded * UNSURE, cap or kept[-1])
    least = min(mean / UNSURE, padded)
    return Lengths(max(min(longest, top), padded), padded, least, max(min(most, top), padded), assumed)
