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
from _batches import Layout, encode_data
from _checkpoint import Checkpoints, StopRequest
from _console import Console
from _data import Rows, read_rows
from _meter import Meter
from _models import load_classifier, load_config, load_tokenizer
from _runtime import detect

STEPS, BATCH = 96, 8


class RecordingMeter(Meter):
    """Keeps the losses as they are, before they are rounded for a line."""

    def __init__(self, runtime: Any, samples_per_step: int) -> None:
        super().__init__(runtime, samples_per_step)
        self.losses: list[float] = []

    def take_window_loss(self) -> float:
        self.losses.append(super().take_window_loss())
        return self.losses[-1]


def main() -> None:
    runtime = detect()
    rows = read_rows("sample", "train")
    parts = [Rows(rows.texts[a:b], rows.labels[a:b], 0) for a, b in ((0, STEPS * BATCH), (3000, 3040))]
    tokenizer = load_tokenizer("tiny-random")
    layout, shapes = Layout(BATCH, 1, 1), int(sys.argv[2])
    data = encode_data((parts[0], parts[1]), tokenizer, layout, max_length=64, num_labels=None, shapes=shapes)
    config = load_config("tiny-random", tokenizer, data.label_names)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0  # drawn otherwise on each device
    torch.manual_seed(7)
    model = runtime.prepare(load_classifier("tiny-random", config, eager_attention=runtime.eager_attention))
    flags = ["--epochs", "1", "--per_device_batch_size", str(BATCH), "--logging_steps", sys.argv[1]]
    args = script.parse_arguments([*flags, "--learning_rate", "0.002"])
    run = script.Run(args, runtime, model, data)
    run.meter = RecordingMeter(runtime, BATCH)
    script.fit(run, Console(is_main=False), None, StopRequest())
    out: dict[str, Any] = {
        "shapes": len(data.train.shapes),
        "device": str(runtime.device),
        "steps": run.step,
        "losses": run.meter.losses,
    }
    if runtime.name == "xla":
        from torch_xla.debug import metrics

        run.meter.lap()
        out["said"] = run.meter._gauges.values()
        out["compiles"] = metrics.metric_data("CompileTime")[0]
        out["executions"] = metrics.metric_data("ExecuteTime")[0]
        out["fallbacks"] = sorted(name for name in metrics.counter_names() if name.startswith("aten::"))
    out["evaluation"] = script.evaluate(run)
    Checkpoints(Path.cwd() / "checkpoints", run.identity(), Console(is_main=False)).save(run.step, run.state())
    script.save(Path.cwd() / "model", runtime, run.model, tokenizer)
    print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # torch_xla's threads outlive the interpreter now and then
