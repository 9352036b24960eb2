"""A loop of plain torch without any library beside it, and the lines of sm_spot."""

import sm_spot

import argparse
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir")
    parser.add_argument("--save_steps", type=int, default=5)
    args, _ = parser.parse_known_args()
    stop, checkpoints = sm_spot.StopRequest(), sm_spot.Checkpoints(args.output_dir, {"lr": 0.01}, keep=2)
    rank, size = sm_spot.place()[:2]
    if size > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step = 0
    newest = sm_spot.last_complete_checkpoint(args.output_dir, {"lr": 0.01})
    if newest:
        state = torch.load(Path(newest, "state.pt"))
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    while step < 120:
        sm_spot.seed(42, step, rank)
        inputs = torch.randn(16, 8)
        loss = torch.nn.functional.cross_entropy(model(inputs), (inputs.sum(dim=1) > 0).long())
        loss.backward()
        for parameter in model.parameters():
            if size > 1:
                dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        sm_spot.say(sm_spot.metric_line({"loss": loss, "step": step}))
        stopping = stop.agreed()
        if stopping or step % args.save_steps == 0:
            if sm_spot.place().local_rank == 0:
                checkpoints.path(step).mkdir(parents=True, exist_ok=True)
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
                torch.save(state, checkpoints.path(step) / "state.pt")
            checkpoints.seal_together(step)
        if stopping:
            raise sm_spot.Interrupted(f"after step {step}")
    if rank == 0:
        Path(args.output_dir, "model").mkdir(parents=True, exist_ok=True)
        save_file(model.state_dict(), Path(args.output_dir, "model", "model.safetensors"))


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))
