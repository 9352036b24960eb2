"""Train a small network on numbers: a plain PyTorch script for SageMaker, to be changed.

    python train.py --train ./data --epochs 10

Every file *.csv of --train has a row of names; the last column is what the others foretell. A checkpoint an epoch makes the
script go on where a spot interruption ended it.
"""

import argparse
import csv
import os
from pathlib import Path

import torch


def read(folder):
    """Inputs and targets of all rows."""
    rows = []
    for path in sorted(Path(folder).rglob("*.csv")):
        with open(path, encoding="utf-8", newline="") as stream:
            rows += [[float(cell) for cell in row] for row in list(csv.reader(stream))[1:]]
    table = torch.tensor(rows)
    return table[:, :-1], table[:, -1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", default=os.environ.get("SM_CHANNEL_TRAIN", "data"))
    parser.add_argument("--model_dir", default=os.environ.get("SM_MODEL_DIR", "model"))
    parser.add_argument("--checkpoint_dir", default="/opt/ml/checkpoints")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--learning_rate", type=float, default=0.01)
    args = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs, targets = read(args.train)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(inputs.shape[1], 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).to(
        device
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    data = torch.utils.data.TensorDataset(inputs, targets)
    loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True)

    first = 0
    checkpoint = Path(args.checkpoint_dir) / "checkpoint.pt"
    if checkpoint.is_file():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["epoch"] + 1

    for epoch in range(first, args.epochs):
        total = 0.0
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        print({"epoch": epoch + 1, "loss": round(total / len(data), 6)}, flush=True)
        if checkpoint.parent.is_dir():
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
            torch.save(state, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)

    Path(args.model_dir).mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), Path(args.model_dir) / "model.pt")


if __name__ == "__main__":
    main()
