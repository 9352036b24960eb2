"""A training script for launchers that bring none: a line is fitted, and its weights are the model."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--learning-rate", "--learning_rate", type=float, default=0.1)
arguments, _ = parser.parse_known_args()
weight = torch.zeros(1, requires_grad=True)
for epoch in range(arguments.epochs):
    loss = (weight * 2 - 6).square().mean()
    loss.backward()
    with torch.no_grad():
        weight -= arguments.learning_rate * weight.grad
    weight.grad = None
    print(f"epoch={epoch} loss={loss.item():.4f}")
Path(os.environ["SM_MODEL_DIR"], "weight.json").write_text(json.dumps(weight.tolist()))
