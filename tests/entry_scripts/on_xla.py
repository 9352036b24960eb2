"""The classification loop over 96 steps in this interpreter: its losses, and what XLA compiled and executed for them.

python on_xla.py LOGGING_STEPS   with SM_TRN_RUNTIME=xla or cpu; prints one JSON object
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "entry_scripts"))

import train_text_classification as script
from datasets import Dataset
from kit.common import choose, load_config, load_model, load_tokenizer
from kit.data import DataArguments, read_sets
from sm_spot import KEEP, Checkpoints
from transformers import AutoModelForSequenceClassification

STEPS, BATCH = 96, 8


def main() -> None:
    flags = ["--epochs", "1", "--per_device_batch_size", str(BATCH), "--logging_steps", sys.argv[1]]
    args = script.parse_arguments([*flags, "--learning_rate", "0.002", "--bf16", "False"])
    accelerator = script.make_accelerator(args)
    rows = read_sets(DataArguments(), "reviews.csv")["train"]
    texts, labels = rows["content"][:], [int(label) for label in rows["label"]]
    tokenizer = load_tokenizer("tiny-random")
    parts = {}
    for name, begin, end in (("train", 0, STEPS * BATCH), ("validation", 3000, 3040)):
        ids = tokenizer(texts[begin:end], truncation=True, max_length=64)["input_ids"]
        columns = {"input_ids": ids, "labels": labels[begin:end], "length": [len(one) for one in ids]}
        parts[name] = Dataset.from_dict(columns)
    config = load_config("tiny-random", tokenizer, num_labels=2)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0  # drawn otherwise on each device
    attention = {"attn_implementation": "eager"} if choose() == "xla" else {}
    args.seed, args.device = 7, accelerator.device  # type: ignore[attr-defined]  # as the script does
    model = load_model(AutoModelForSequenceClassification, "tiny-random", config, tokenizer, args, **attention)
    run = script.Run(args, accelerator, model, parts, tokenizer)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        script.fit(run)
    lines = [ast.literal_eval(line) for line in said.getvalue().splitlines() if line.startswith("{")]
    out: dict[str, Any] = {
        "device": str(accelerator.device),
        "steps": run.step,
        "losses": [line["loss"] for line in lines if "loss" in line],
    }
    if choose() == "xla":
        from torch_xla.debug import metrics

        out["said"] = lines[-1]
        out["compiles"] = metrics.metric_data("CompileTime")[0]
        out["executions"] = metrics.metric_data("ExecuteTime")[0]
        out["fallbacks"] = sorted(name for name in metrics.counter_names() if name.startswith("aten::"))
    out["evaluation"] = script.evaluate(run)
    args.checkpoint_dir, args.model_dir = "checkpoints", "model"
    run.checkpoints = Checkpoints("checkpoints", {}, KEEP)
    script.save_checkpoint(run)
    run.checkpoints.finish()  # it is sealed in the background
    script.save_model(run, tokenizer)
    print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # torch_xla's threads outlive the interpreter now and then
