"""Published largest batches as configurations."""

from __future__ import annotations

import re

from sm_trn.core.catalog.chips import find_chip
from sm_trn.core.catalog.instances import find_instance
from sm_trn.core.specs.json import Object
from sm_trn.forecast.architectures import ImageModel, find_model
from sm_trn.forecast.configuration import Configuration, Head, Style

from .fields import Refusal

XSUM_SOURCE, XSUM_TARGET = 1024, 128  # the summarization script's default source length; its target length


def batch_configuration(row: Object, *, compiled: bool) -> Configuration | Refusal:
    """The configuration whose largest batch a row publishes: ``native`` or with the Training Compiler."""
    model = find_model(str(row.get("model") or "").removeprefix("DetectionTransformer-"))
    named = str(row.get("instance") or "")
    instance = find_instance(named) or find_instance(f"ml.{named}")
    chip = find_chip(instance.chip) if instance else None
    if model is None or instance is None or chip is None:
        return Refusal(f"no shape of {row.get('model')!r}, or no instance {named!r}, is known")
    if str(row.get("model")).startswith("Detection"):
        return Refusal("detection: its images have no one size")
    framework = str(row.get("framework") or "").lower()
    tensorflow = "tensorflow" in framework
    said = row.get("seq_len")
    length = float(said) if isinstance(said, (int, float)) else 0.0
    if not isinstance(model, ImageModel) and not length:
        if model.kind != "vision":
            return Refusal("the row does not say how long its sequences are")
        length = 197.0
    both = getattr(model, "kind", "") == "encoder-decoder"
    summaries = both and "xsum" in str(row.get("dataset") or "")
    source, target = (XSUM_SOURCE, length or XSUM_TARGET) if summaries else (length, length if both else 0)
    precision = str(row.get("precision") or "").lower()
    return Configuration(
        model=model,
        chip=chip,
        precision="fp32" if "32" in precision else "fp16",
        style=Style.COMPILED if compiled else Style.EAGER,
        family="tensorflow" if tensorflow else "transformers",
        sequence=float(source) if not isinstance(model, ImageModel) else float(model.resolution**2),
        target=float(target),
        micro_batch=1,
        data=instance.workers,
        workers_per_host=instance.workers,
        head=Head.LABEL if isinstance(model, ImageModel) or model.kind == "vision" else Head.TOKENS,
        release=_release(framework),
    )


def _release(framework: str) -> float:
    """When the framework came out: its version decides what it keeps in float32."""
    pytorch = re.search(r"pytorch (\d+)\.(\d+)", framework)
    if pytorch:
        return 2021.5 if (int(pytorch[1]), int(pytorch[2])) <= (1, 9) else 2022.5
    return 2022.5


# Rows of the Training Compiler's table that are no largest batch, by what they say of themselves, and why.
_DOUBTS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        ".*",
        ".*",
        "tensorflow 2.5.1",
        "native",
        "not maxima: four to sixteen samples where the compiled run takes 64 to 96",
    ),
    ("vit$", ".*", "pytorch", ".*", "more than 80 MB a sample allow: another size or resolution"),
    ("resnet152", ".*", "pytorch", ".*", "the same batch on 16 and on 24 GiB: the search stopped early"),
    (
        "resnet|visiontransformer",
        "g5.48xlarge",
        "tensorflow 2.10",
        ".*",
        "eight times what one GPU of it takes: a global batch",
    ),
    (".*deberta-base", "p3.2xlarge", "pytorch 1.12", ".*", "more on 16 GiB than on 24"),
    (".*minilm", ".*", "pytorch 1.9", ".*", "half the width takes less than DistilBERT"),
    (
        "distilbert-base-uncased$",
        ".*",
        "pytorch 1.9",
        ".*",
        "twice as much on one size of an instance as on another with the same GPU",
    ),
    ("distilbert", "g4dn", "tensorflow 2.10", ".*", "powers of two beside other steps: the search stopped early"),
)


def batch_flag(row: Object, kind: str) -> str:
    """Why a published largest batch is not used; empty where it is. ``kind`` is ``native`` or ``compiler``."""
    said = (str(row.get("model") or ""), str(row.get("instance") or ""), str(row.get("framework") or ""), kind)
    for *patterns, why in _DOUBTS:
        if all(re.search(pattern, text.lower()) for pattern, text in zip(patterns, said, strict=True)):
            return why
    return ""
