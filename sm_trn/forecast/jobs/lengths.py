"""How many tokens, or pixels, a sample has as it is computed: from the data, the cap, and how the script fills a batch up.

Memory follows from the longest batch, time from the average one. What nothing says widens the interval, and is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.preflight import reading
from ...core.specs.job import JobSpec
from ..architectures import Architecture, ImageModel, Model
from .data import Data, count
from .facts import LENGTH, Facts, MissingFact
from .images import pixels

UNSURE = 1.25  # times more or fewer tokens than characters tell
UNKNOWN = 8.0  # a sample whose length nobody says has between an eighth of the cap and the cap
SMALLEST = 28.0**2  # pixels of MNIST's images
ENCODER_CAP = 512  # positions of BERT and its kin


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of a sample: in the longest batch, in the average one, and between what bounds that average lies."""

    longest: float
    average: float
    least: float
    most: float
    assumed: str = ""


def _exactly(tokens: float, assumed: str = "") -> Lengths:
    return Lengths(tokens, tokens, tokens, tokens, assumed)


def lengths(facts: Facts, model: Model) -> Lengths:
    """Tokens of a sample of the job. Raises MissingFact where neither data, cap nor caller says any."""
    if "length" in facts.known:
        return _exactly(float(facts.known["length"]))
    if not isinstance(model, Architecture):
        return _of_images(facts, model)
    if model.kind == "vision":
        return _exactly(197.0)
    cap = facts.number(LENGTH)
    filling = _filling(facts)
    if cap is not None and filling in {"packed", "one length"}:
        return _exactly(cap, f"every sample has {cap:g} tokens: texts are {_WORDS[filling]}")
    data = _data(facts)
    if data is not None and (data.texts or data.tokens / data.examples > 0):
        return _of_data(facts, model, data, cap, filling)
    if cap is None:
        raise MissingFact(
            "length",
            "how long an example is",
            "--data ./train.jsonl, --length 512, or the hyperparameter max_seq_length",
        )
    return Lengths(
        longest=cap, average=cap, least=cap / UNKNOWN, most=cap,
        assumed=f"every sample has {cap:g} tokens, the most that the job allows; shorter ones take less: --data FILE or --length N tells",
    )  # fmt: skip


def _of_images(facts: Facts, model: ImageModel) -> Lengths:
    """Pixels of an image. Where nothing says them it may be as small as the smallest of public data sets."""
    said = pixels(facts)
    if said is not None:
        return _exactly(said)
    most = float(model.resolution**2)
    return Lengths(
        longest=most, average=most, least=SMALLEST, most=most,
        assumed=f"images have {model.resolution} × {model.resolution} pixels; smaller ones take less: --length N gives their pixels",
    )  # fmt: skip


_WORDS = {"packed": "joined and cut into blocks", "one length": "filled up to one length"}


def packs(facts: Facts, model: Model) -> bool:
    """Whether the script joins texts and cuts them into blocks, so that tokens and not texts are counted."""
    return "run_clm" in facts.words() or (bool(getattr(model, "causal", False)) and _filling(facts) == "packed")


def _filling(facts: Facts) -> str:
    """How a batch is filled up: ``packed``, ``one length``, ``like lengths``, ``longest``; empty where nothing says."""
    job = facts.job
    if "block_size" in facts.arguments or facts.said(("packing", "sample_packing")) or "run_clm" in facts.words():
        return "packed"
    static = job.neuron is not None or job.compute.instances[0].startswith(("ml.trn", "ml.inf")) or job.compiled
    if static or facts.said(("pad_to_max_length",)) or facts.text(("padding",)) == "max_length":
        return "one length"  # a graph is compiled for each shape
    if facts.said(("group_by_length",)):
        return "like lengths"
    if job.script is not None and job.script.source_dir is None:
        return "like lengths" if job.script.entry == "train_text_classification.py" else "longest"
    return _filling_of_script(job)


def _filling_of_script(job: JobSpec) -> str:
    words, said = reading.words(job), reading.keywords(job)
    padding = said.get("padding", frozenset())
    if words is None:
        return ""
    if True in said.get("packing", ()) or "group_texts" in words.all:
        return "packed"
    if "max_length" in padding or True in said.get("pad_to_max_length", ()):
        return "one length"
    padded = words.any_of("DataCollatorWithPadding", "DataCollatorForSeq2Seq", "DataCollatorForLanguageModeling")
    return "longest" if padded or padding & {True, "longest"} else ""


def _data(facts: Facts) -> Data | None:
    try:
        return count(facts)
    except MissingFact:
        return None


def _of_data(facts: Facts, model: Architecture, data: Data, cap: float | None, filling: str) -> Lengths:
    tokens, unsure, how = _tokens(facts, data)
    if cap is None and model.kind != "decoder":
        cap = float(ENCODER_CAP)
    kept = [min(each, cap) if cap else each for each in tokens]
    mean = sum(kept) / len(kept)
    longest = max(kept)
    batch = max(1, round(facts.batch()))
    padded = mean if filling == "like lengths" or len(kept) == 1 else _longest_of(kept, batch)
    least, most = mean / unsure, padded * unsure
    if not filling:
        most = max(most, cap or longest)
    most = min(most, cap) if cap else most
    said = f"{padded:,.0f} tokens a sample as computed, {mean:,.0f} of them text ({how})"
    if not filling:
        said += "; how the script fills a batch up is not known: to the cap, time and memory are the cap's"
    top = longest * unsure if len(kept) > 1 else cap or longest * unsure
    top = min(top, cap) if cap else top
    return Lengths(
        longest=max(top, padded), average=padded, least=min(least, padded), most=max(most, padded), assumed=said
    )


def _longest_of(kept: Sequence[float], batch: int) -> float:
    """The mean of the longest sample of a batch drawn at random: what every sample of it is filled up to."""
    number = len(kept)
    shares = ((rank + 1, (rank / number) ** batch) for rank in range(number))
    return sum(
        length * ((rank / number) ** batch - before)
        for length, (rank, before) in zip(sorted(kept), shares, strict=True)
    )


def _tokens(facts: Facts, data: Data) -> tuple[list[float], float, str]:
    """Tokens of each sampled text, by how much they may be wrong, and how they were counted."""
    if not data.texts:
        return [data.tokens / data.examples], UNSURE, data.source
    tokenizer = _tokenizer(facts)
    if tokenizer is not None:
        return [float(tokenizer(text)) for text in data.texts], 1.03, "counted by the model's own tokenizer"
    return list(data.sampled), UNSURE, f"by characters of {len(data.texts):,} sampled texts, ±{UNSURE - 1:.0%}"


def _tokenizer(facts: Facts) -> Callable[[str], int] | None:
    """The tokenizer of a model in a local folder, where the library ``tokenizers`` is installed."""
    named = str(facts.known.get("model") or facts.text(("model_name_or_path", "model_name", "model_id", "model")))
    path = Path(named, "tokenizer.json")
    if not named or "\n" in named or not path.is_file():
        return None
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - large, and seldom there

        loaded: Any = Tokenizer.from_file(str(path))
    except Exception:  # noqa: BLE001 - a file of another version: characters then
        return None
    return lambda text: len(loaded.encode(text).ids)
