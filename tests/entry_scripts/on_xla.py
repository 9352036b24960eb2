"""The classification loop over 96 steps in this interpreter: its losses, and what XLA compiled and executed for them.

python on_xla.py LOGGING_STEPS SHAPES   with SM_TRN_RUNTIME=xla or cpu; prints one JSON object
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "entry_scripts"))

import train_text_classification as script
from kit.data import encode, read_table
from kit.device import detect, load_config, load_model, load_tokenizer
from kit.job import Console
from kit.labels import labels_of
from kit.loop import BackgroundCheckpoints, prepare, to_cpu
from sm_spot import StopRequest

STEPS, BATCH = 96, 8


class RecordingRun(script.Run):
    """Keeps the losses as they are, before they are rounded for a line."""

    def collect(self, *, stop: bool) -> bool:
        before = self.total
        stopping = super().collect(stop=stop)
        self.__dict__.setdefault("losses_of_steps", []).append(self.total - before)
        return stopping


def main() -> None:
    runtime = detect()
    table = read_table(script.HERE / "sample" / "reviews.csv", "train")
    texts, labels = table.texts("content"), labels_of(table, "label").values
    tokenizer = load_tokenizer("tiny-random")
    parts = [
        encode(tokenizer, texts[a:b], max_length=64, labels=labels[a:b]) for a, b in ((0, STEPS * BATCH), (3000, 3040))
    ]
    config = load_config("tiny-random", tokenizer, num_labels=2)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0  # drawn otherwise on each device
    torch.manual_seed(7)
    model = prepare(runtime, load_model("tiny-random", config, "SequenceClassification", runtime.attention))
    flags = [
        "--epochs",
        "1",
        "--per_device_batch_size",
        str(BATCH),
        "--logging_steps",
        sys.argv[1],
        "--shapes",
        sys.argv[2],
    ]
    args = script.parse_arguments([*flags, "--learning_rate", "0.002", "--bf16", "False"])
    run = RecordingRun(args, runtime, model, parts, tokenizer.pad_token_id)
    script.fit(run, Console(is_main=False), None, StopRequest())
    out: dict[str, Any] = {
        "shapes": len(run.shapes),
        "device": str(runtime.device),
        "steps": run.step,
        "losses": run.__dict__["losses_of_steps"],
    }
    if runtime.name == "xla":
        from torch_xla.debug import metrics

        out["said"] = run.meter.device()
        out["compiles"] = metrics.metric_data("CompileTime")[0]
        out["executions"] = metrics.metric_data("ExecuteTime")[0]
        out["fallbacks"] = sorted(name for name in metrics.counter_names() if name.startswith("aten::"))
    out["evaluation"] = script.evaluate(run)
    checkpoints = BackgroundCheckpoints(Path.cwd() / "checkpoints", run.identity())
    checkpoints.save(run.step, run.state())
    checkpoints.finish()
    model.save_pretrained(str(Path.cwd() / "model"), state_dict=to_cpu(model.state_dict()))
    print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # torch_xla's threads outlive the interpreter now and then
