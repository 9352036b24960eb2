"""Steps of Hugging Face's Trainer on this GPU: python tests/benchmarks/bench_trainer.py. On demand.

Trains the rows of trainer.json again, with random data and weights, and prints seconds of a step and GiB of each beside those of the H200
of tests/forecast/rows.json; ``--largest`` looks for the largest batches too. ``--json OUT`` appends each row as it ends. Wants a GPU,
transformers, accelerate, and peft.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import transformers

GIB = 2**30
SHORT = 512  # tokens up to which a step is timed over 40 steps instead of 16
MASKED = {"bert", "roberta", "distilbert"}


class Samples(torch.utils.data.Dataset):  # type: ignore[misc]  # torch is untyped here
    """Random tokens, or pictures, in the row's lengths."""

    def __init__(self, row: dict[str, Any], config: Any, count: int) -> None:
        self.row, self.config, self.count = row, config, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = self.row
        if self.config.model_type == "vit":
            return {"pixel_values": torch.rand(3, 224, 224), "labels": 0}
        tokens = torch.randint(5, self.config.vocab_size - 5, (row["length"],))
        sample = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens}
        if row["target"]:
            sample["labels"] = torch.randint(5, 1000, (row["target"],))
        elif row["head"] == "label":
            sample["labels"] = 0
        return sample


class Clock(transformers.TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
    """Mean seconds of a step after the first ones."""

    def __init__(self, first: int) -> None:
        self.first, self.started, self.step_s = first, 0.0, 0.0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - Trainer's own
        if state.global_step == self.first:
            torch.cuda.synchronize()
            self.started = time.perf_counter()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - Trainer's own
        torch.cuda.synchronize()
        self.step_s = (time.perf_counter() - self.started) / (state.global_step - self.first)


def build(row: dict[str, Any], sizes: dict[str, Any]) -> Any:
    """The row's model with random weights, on the GPU."""
    config = transformers.AutoConfig.for_model(sizes["kind"], **{k: v for k, v in sizes.items() if k != "kind"})
    config.use_cache = False
    if sizes["kind"] == "vit":
        kind = transformers.AutoModelForImageClassification
    elif sizes["kind"] in {"t5", "bart"}:
        kind = transformers.AutoModelForSeq2SeqLM
    elif row["head"] == "label":
        kind = transformers.AutoModelForSequenceClassification
    elif sizes["kind"] in MASKED:
        kind = transformers.AutoModelForMaskedLM
    else:
        kind = transformers.AutoModelForCausalLM
    with torch.device("cuda"):
        model = kind.from_config(config, dtype=torch.bfloat16 if row["precision"] == "pure" else torch.float32)
    if row["lora"]:
        from peft import LoraConfig, get_peft_model

        model.enable_input_require_grads()
        lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
        model = get_peft_model(model, lora)
    return model


def train(row: dict[str, Any], sizes: dict[str, Any], batch: int, steps: int) -> tuple[float, float]:
    """Seconds of a step, and GiB that the device has in use at the end."""
    gc.collect()
    torch.cuda.empty_cache()
    model = build(row, sizes)
    with tempfile.TemporaryDirectory() as folder:
        args = transformers.TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=batch,
            max_steps=steps,
            bf16=row["precision"] in {"bf16", "pure"},
            fp16=row["precision"] == "fp16",
            gradient_checkpointing=row["checkpointing"],
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            dataloader_num_workers=4,
            remove_unused_columns=False,
        )
        clock = Clock(max(1, steps // 3))
        data = Samples(row, model.config, batch * steps)
        transformers.Trainer(model=model, args=args, train_dataset=data, callbacks=[clock]).train()
    free, whole = torch.cuda.mem_get_info()
    return clock.step_s, (whole - free) / GIB


def fits(row: dict[str, Any], sizes: dict[str, Any], batch: int) -> bool:
    """Whether three steps of this batch run."""
    try:
        train(row, sizes, batch, 3)
    except torch.OutOfMemoryError:
        return False
    return True


def search(row: dict[str, Any], sizes: dict[str, Any], guess: int) -> int:
    """The largest batch that trains, to a twelfth."""
    low, high = 0, max(2, guess)
    while fits(row, sizes, high):
        low, high = high, high * 2
    while high - low > max(1, low // 12):
        middle = (low + high) // 2
        if fits(row, sizes, middle):
            low = middle
        else:
            high = middle
    return low


def rows_of(part: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The rows of a part of the file by column, each with the sizes of its model's config.json."""
    body = json.loads(Path(__file__).with_name("trainer.json").read_text("utf-8"))
    columns = body["columns"] if part == "rows" else body["largest_columns"]
    rows = [dict(zip(columns, row, strict=True)) for row in body[part]]
    return [(row, body["configs"][row["model"]]) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", action="store_true", help="look for the largest batches too")
    parser.add_argument("--json", metavar="OUT", type=Path, help="append each row to this file")
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    for row, sizes in rows_of("rows"):
        steps = 40 if row["length"] <= SHORT and not row["lora"] else 16
        step_s, gib = train(row, sizes, row["batch"], steps)
        print(f"{row['model']:34} {row['length']:5} x {row['batch']:<4} {step_s * 1000:7.1f} ms, {row['step_ms']:7.1f} there; "
              f"{gib:5.1f} GiB, {row['gib']:5.1f} there", flush=True)  # fmt: skip
        keep(args.json, {**row, "step_ms": round(step_s * 1000, 1), "gib": round(gib, 1)})
    for row, sizes in rows_of("largest") if args.largest else []:
        found = search(row, sizes, row["batch"])
        print(f"{row['model']:34} {row['length']:5} largest batch {found}, {row['batch']} there", flush=True)
        keep(args.json, {**row, "batch": found})


def keep(path: Path | None, row: dict[str, Any]) -> None:
    """Appends the row as a line of JSON."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
