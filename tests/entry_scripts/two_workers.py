"""Under torchrun with two workers: do they, together, take the step that one process takes on all the examples?"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "entry_scripts"))

import torch.distributed as dist
from kit.device import TorchRuntime
from kit.loop import accumulating, optimizer_step, prepare, unwrap
from sm_spot import agree


def model_of(seed: int) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))


def train(runtime: Any, model: Any, micro_batches: list[Any]) -> Any:
    """One optimizer step over the micro-batches; the weights after it."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
    for number, batch in enumerate(micro_batches):
        with accumulating(model, last=number + 1 == len(micro_batches)):
            (model(batch).square().mean() / len(micro_batches)).backward()
    optimizer_step(runtime, optimizer, scheduler, 1.0)
    return torch.cat([parameter.detach().flatten() for parameter in unwrap(model).parameters()])


def main() -> None:
    examples = torch.randn(3, 2, 4, 6, generator=torch.Generator().manual_seed(1))  # micro-batches, workers, examples
    alone = TorchRuntime("cpu", {})
    wanted = train(alone, model_of(0), [batch.reshape(8, 6) for batch in examples])
    runtime = TorchRuntime("cpu", os.environ)
    for name, overlap in (("flat", False), ("overlap", True)):
        runtime.overlap = overlap
        # Each worker begins with its own weights: `prepare` must make them those of the first.
        got = train(runtime, prepare(runtime, model_of(runtime.rank)), [batch[runtime.rank] for batch in examples])
        assert torch.allclose(wanted, got, atol=1e-6), name
        assert (0, 1) == (agree(runtime.rank, most=False), agree(runtime.rank))
        if runtime.is_main:
            print(name, "agrees", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
