"""Steps of Hugging Face's Trainer on an H200, as ``tests/benchmarks/bench_trainer.py`` measured them: eager, mixed precision, LoRA."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm_trn.core.catalog.chips import chips
from sm_trn.forecast.architectures import Architecture, find_model
from sm_trn.forecast.configuration import Configuration, Head, Recompute, Style

NO_FUSED_ATTENTION = ("disentangled-encoder", "encoder-decoder")
RELEASE = 2026.9


@dataclass(frozen=True, slots=True)
class Trained:
    """A row: its configuration, on which host it ran, and what was measured; ``step_s`` and ``gib`` are 0 of a largest batch."""

    name: str
    host: int
    configuration: Configuration
    step_s: float = 0.0
    gib: float = 0.0


def trained() -> list[Trained]:
    """All rows with seconds of a step and GiB."""
    return [
        Trained(row["model"], row["host"], configuration(row), row["step_ms"] / 1000, row["gib"])
        for row, _ in rows_of("rows")
    ]


def largest() -> list[Trained]:
    """The largest batches that trained, each the micro-batch of its configuration."""
    return [Trained(row["model"], row["host"], configuration(row)) for row, _ in rows_of("largest")]


def rows_of(part: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The rows of a part of the file by column, each with the sizes of its model's config.json."""
    body = json.loads(Path(__file__).with_name("trainer.json").read_text("utf-8"))
    columns = body["columns"] if part == "rows" else body["largest_columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in body[part]]
    return [(row, body["configs"][row["model"]]) for row in rows]


def configuration(row: dict[str, Any]) -> Configuration:
    """How a row was trained."""
    model = find_model(row["model"])
    assert isinstance(model, Architecture)
    pure = row["precision"] == "pure"
    return Configuration(
        model=model,
        chip=chips()["H200"],
        precision="bf16" if pure else row["precision"],
        style=Style.EAGER,
        family="transformers",
        sequence=float(row["length"]),
        target=float(row["target"]),
        micro_batch=float(row["batch"]),
        recompute=Recompute.FULL if row["checkpointing"] else Recompute.NONE,
        head=Head.LABEL if row["head"] == "label" else Head.TOKENS,
        adapters=row["lora"],
        autocast=row["precision"] in {"bf16", "fp16"},
        half_states=pure and not row["lora"],
        flash=model.kind not in NO_FUSED_ATTENTION or "bart" in model.name,
        release=RELEASE,
    )
