"""For a training loop of one's own: the order of examples, their batches, AdamW with the linear schedule, and what is kept.

Orders are functions of (seed, epoch), so that a run that was interrupted goes on with the examples it would have had.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import shutil
from typing import Any, Callable, Mapping, NoReturn, Sequence

from kit.device import Meter
from kit.job import refuse_nan, refuse_unknown
from sm_spot import KEEP, Checkpoints, Interrupted, UsageError, first_line, say

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

WINDOW_STEPS = 32  # within which texts of like length come together; longer would make an epoch's order less random


# --- flags ---


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would print its usage; refuses unknown flags with a suggestion."""

    def __init__(self, description: str | None = None) -> None:
        how: Any = argparse.RawDescriptionHelpFormatter
        super().__init__(description=description, formatter_class=how, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message.replace("argument --", "--", 1))

    def parse_strictly(self, argv: Sequence[str] | None) -> argparse.Namespace:
        args, unknown = self.parse_known_args(argv)
        if unknown:
            refuse_unknown(unknown[0].split("=")[0], self._option_string_actions)
        return args


def str2bool(text: str) -> bool:
    """SageMaker passes hyperparameters as words: --bf16 True."""
    if text.lower() not in {"true", "false", "1", "0"}:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted True or False")
    return text.lower() in {"true", "1"}


def number(kind: Callable[[str], Any], holds: Callable[[Any], bool], wanted: str) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        with contextlib.suppress(ValueError):
            if holds(kind(text)):
                return kind(text)
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted {wanted}")

    return parse


def integer(least: int) -> Callable[[str], Any]:
    return number(int, lambda value: value >= least, f"a whole number, at least {least}")


not_negative = number(float, lambda value: 0 <= value < float("inf"), "a number, 0 or more")
fraction = number(float, lambda value: 0 <= value < 1, "a number from 0 to below 1")
proper_fraction = number(float, lambda value: 0 < value < 1, "a number above 0 and below 1")


# --- batches ---


class Batches:
    """One worker's batches of an epoch, by number: what a DataLoader with processes of its own can make ahead.

    `order` [batches, workers, per_device] is everybody's, so that a batch is as long on all workers. Index -1 is a filler:
    it has a shape and weighs nothing.
    """

    def __init__(self, tokens: Any, order: Any, rank: int, lengths: Sequence[int], pad_id: int) -> None:
        self._tokens, self._rows, self._pad_id = tokens, order[:, rank], pad_id
        own = torch.as_tensor(tokens.lengths)
        longest = own[order.clamp(min=0)].flatten(start_dim=1).max(dim=1).values
        self.lengths = torch.tensor(lengths)[torch.bucketize(longest, torch.tensor(lengths))].tolist()
        self.filled = own[self._rows.clamp(min=0)].sum(dim=1).tolist()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> dict[str, Any]:
        rows, length = self._rows[number], self.lengths[number]
        ids = torch.full((len(rows), length), self._pad_id)
        mask = torch.zeros((len(rows), length), dtype=torch.int64)
        labels = torch.zeros(len(rows), dtype=torch.int64)
        for place, row in enumerate(rows.clamp(min=0).tolist()):
            example = self._tokens[row]
            own = torch.as_tensor(example["input_ids"])[:length]
            ids[place, : len(own)], mask[place, : len(own)], labels[place] = own, 1, int(example["labels"])
        return {"input_ids": ids, "attention_mask": mask, "labels": labels, "weight": (rows >= 0).float()}


def batch_lengths(lengths: Any, max_length: int, shapes: int | None, multiple: int = 8) -> list[int]:
    """The lengths that batches may have. `shapes` of them: as many texts under each; None: every multiple of 8."""
    longest = min(max_length, -(-int(lengths.max()) // multiple) * multiple)
    if shapes is None:
        return [*range(multiple, longest, multiple), longest]
    ranked = sorted(lengths.tolist())
    edges = (ranked[-(-len(ranked) * part // shapes) - 1] for part in range(1, shapes + 1))
    return sorted({min(longest, -(-edge // multiple) * multiple) for edge in edges})


def train_order(lengths: Any, layout: Sequence[int], seed: int, epoch: int, *, alike: bool) -> Any:
    """Indices [steps, accumulation, workers, per_device] of one epoch: a function of (seed, epoch), nothing else.

    Texts that are `alike` in length share a step; the step with the longest text comes first: where memory does not
    suffice, it ends there. The last, incomplete step is dropped. A step's texts do not depend on the number of workers.
    """
    samples = layout[0] * layout[1] * layout[2]
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**31)
    steps = len(lengths) // samples
    order = torch.randperm(len(lengths), generator=generator)[: steps * samples]
    if alike and steps:
        window, parts = max(1, min(WINDOW_STEPS, steps // 4)), []  # several: an epoch's steps are not the next one's
        for part in order.split(window * samples):
            ranked = part[torch.sort(lengths[part], stable=True).indices].view(-1, samples)
            parts.append(ranked[torch.randperm(len(ranked), generator=generator)])  # short texts are not always first
        order = torch.cat(parts)
        own = lengths[order].long()
        longest, tokens = own.max(dim=1).values.tolist(), own.sum(dim=1).tolist()
        most = max(range(steps), key=lambda step: (longest[step], tokens[step]))
        order[[0, most]] = order[[most, 0]]
    return order.reshape(steps, *layout)


def eval_order(lengths: Any, workers: int, per_device: int) -> Any:
    """Indices [batches, workers, per_device]: each example once, the longest first, and -1 where the last batch has none."""
    order = torch.full((-(-len(lengths) // (workers * per_device)) * workers * per_device,), -1, dtype=torch.int64)
    order[: len(lengths)] = torch.sort(lengths, descending=True, stable=True).indices
    return order.view(-1, workers, per_device)


# --- a model and its batches on the device ---


def prepare(runtime: Any, model: Any, *, find_unused_parameters: bool = False) -> Any:
    """On the device, the same on every worker."""
    model = model.to(runtime.device)
    if runtime.world_size == 1 or runtime.name == "xla":  # there weights come from the same files and the same seed
        return model
    if runtime.overlap:
        ids = None if runtime.device.type == "cpu" else [runtime.local_rank]
        more = {"gradient_as_bucket_view": True, "find_unused_parameters": find_unused_parameters}
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=ids, **more)
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=0)
    return model


def unwrap(model: Any) -> Any:
    model = getattr(model, "module", model)  # of DistributedDataParallel
    return getattr(model, "_orig_mod", model)  # of torch.compile


def on_device(runtime: Any, batches: Batches, num_workers: int) -> Any:
    """Made ahead by `num_workers` processes, in pinned memory for CUDA. The loader's generator is its own: it would draw from
    torch's, and dropout would differ after a resume.
    """
    how = {"num_workers": num_workers, "pin_memory": runtime.name.startswith("cuda"), "generator": torch.Generator()}
    loader: Any = DataLoader(batches, batch_size=None, **how)
    if runtime.name == "xla":  # uploads in the background, and cuts the graph between batches
        made = importlib.import_module("torch_xla.distributed.parallel_loader").MpDeviceLoader
        return iter(made(loader, runtime.device))
    return ({name: one.to(runtime.device, non_blocking=True) for name, one in batch.items()} for batch in loader)


def autocast(runtime: Any, *, bf16: bool) -> Any:
    """On XLA never by XLA_USE_BF16: it turns the attention mask's minimum into infinities, and losses into NaN."""
    kind = "xla" if runtime.name == "xla" else runtime.device.type
    return torch.autocast(kind, dtype=torch.bfloat16) if bf16 else contextlib.nullcontext()


def accumulating(model: Any, *, last: bool) -> Any:
    """Around a micro-batch: only the last one of a step needs to talk to the other workers."""
    return contextlib.nullcontext() if last or not hasattr(model, "no_sync") else model.no_sync()


def optimizer_step(runtime: Any, optimizer: Any, scheduler: Any, max_grad_norm: float) -> None:
    """Reduce, clip, step, schedule, zero, cut the graph: nothing else does these."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if runtime.name == "xla":
        runtime.xm.reduce_gradients(optimizer)
    elif runtime.world_size > 1 and not runtime.overlap:  # under DDP the last backward has reduced already
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        flat /= runtime.world_size
        for gradient, mean in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
            gradient.copy_(mean.view_as(gradient))
    if max_grad_norm > 0:
        torch.nn.utils.clip_grad_norm_(parameters, max_grad_norm)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    if runtime.name == "xla":
        (getattr(importlib.import_module("torch_xla"), "sync", None) or runtime.xm.mark_step)()  # until 2.6 or so


def to_cpu(state: Any) -> Any:
    """Copy every tensor of a nested state to the host. The originals stay where they are."""
    if isinstance(state, torch.Tensor):
        return state.detach().cpu().clone()
    if isinstance(state, Mapping):
        return {key: to_cpu(value) for key, value in state.items()}
    return type(state)(to_cpu(value) for value in state) if isinstance(state, (list, tuple)) else state


# --- optimizer ---


def adamw_with_linear_schedule(
    model: Any, learning_rate: float, weight_decay: float, *, warmup_steps: int, total_steps: int
) -> tuple[Any, Any]:
    """No decay for biases and norms; transformers' linear schedule: from 0 to the peak, and down to 0 after the last step."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": weight_decay},
        {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
    ]

    def factor(step: int) -> float:
        if step < warmup_steps:
            return step / warmup_steps
        return max(0.0, (total_steps - step) / max(1, total_steps - warmup_steps))

    optimizer = _adamw(groups, learning_rate)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def _adamw(groups: Any, learning_rate: float) -> Any:
    """In one kernel where torch has one: for CUDA since 2.0, for CPU since 2.4. Of other devices it may only believe so."""
    if {weight.device.type for group in groups for weight in group["params"]} <= {"cpu", "cuda"}:
        with contextlib.suppress(RuntimeError, TypeError):  # not for this device; not in this torch
            return torch.optim.AdamW(groups, lr=learning_rate, fused=True)
    return torch.optim.AdamW(groups, lr=learning_rate)


def load_optimizer(optimizer: Any, state: Mapping[str, Any]) -> None:
    """What was saved, but for how a step is computed: that is this device's, and by `fused` torch also decides where the
    count of steps lies.
    """
    own = [{name: group[name] for name in ("fused", "foreach") if name in group} for group in optimizer.param_groups]
    groups = [{**saved, **mine} for saved, mine in zip(state["param_groups"], own)]
    optimizer.load_state_dict({**state, "param_groups": groups})


# --- one run ---


class BackgroundCheckpoints(Checkpoints):
    """Of one file each, written in the background."""

    def __init__(self, folder: Any, identity: Mapping[str, Any]) -> None:
        super().__init__(folder, identity, KEEP)

    def save(self, step: int, state: Mapping[str, Any]) -> None:
        """Begin to write. `state` must be a copy. One worker calls this."""
        self.begin(lambda: self._write(step, state))

    def _write(self, step: int, state: Mapping[str, Any]) -> None:
        partial = self.folder / f".partial-{step}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for abandoned in self.folder.glob(".partial-*"):  # by a process that was killed while it wrote
                shutil.rmtree(abandoned, ignore_errors=True)
            partial.mkdir()
            torch.save(dict(state), partial / "state.pt")
            self.seal(step, partial)
        except (OSError, RuntimeError) as error:  # a full disk does not end the run
            shutil.rmtree(partial, ignore_errors=True)
            say(f"checkpoint of step {step} is not saved ({first_line(error)}); going on, the one before is kept")

    def load(self, step: int) -> dict[str, Any]:
        fault = self.fault(step)
        if fault:
            raise UsageError(
                f"checkpoint_dir: got {self.path(step)} unusable on this worker ({fault}), wanted what the others resume "
                "from; give every machine the same checkpoints, or an empty folder"
            )
        # Tensors, numbers and names only: a checkpoint from a bucket must not be able to run code.
        safe = {"weights_only": True} if "weights_only" in inspect.signature(torch.load).parameters else {}
        state: dict[str, Any] = torch.load(self.path(step) / "state.pt", map_location="cpu", **safe)
        return state


class Loop:
    """What a step changes, and a checkpoint therefore holds."""

    def __init__(self, runtime: Any, model: Any, samples_per_step: int) -> None:
        self.runtime, self.model, self.samples = runtime, model, samples_per_step
        self.step, self.total_steps, self.steps_per_epoch = 0, 0, 1
        self.optimizer: Any = None
        self.scheduler: Any = None
        self.meter = Meter(runtime, samples_per_step)
        self.losses = torch.zeros(()).to(runtime.device)  # uploaded: to XLA a constant would be another graph
        self.window, self.total = [0.0, 0], 0.0  # loss and steps since the last line; loss since the first step

    def state(self) -> dict[str, Any]:
        return {
            "model": to_cpu(unwrap(self.model).state_dict()),
            "optimizer": to_cpu(self.optimizer.state_dict()),
            "scheduler": self.scheduler.state_dict(),
            "losses": {"window": list(self.window), "total": self.total},
        }

    def resume(self, checkpoints: BackgroundCheckpoints) -> None:
        """From the newest checkpoint that every worker has complete, if there is one."""
        self.step = checkpoints.newest_of_all()
        if self.step:
            state = checkpoints.load(self.step)
            unwrap(self.model).load_state_dict(state["model"])
            load_optimizer(self.optimizer, state["optimizer"])
            self.scheduler.load_state_dict(state["scheduler"])
            self.window, self.total = state["losses"]["window"], state["losses"]["total"]

    def collect(self, *, stop: bool) -> bool:
        """Fetch the losses from the device and agree with the other workers: was any of us asked to stop?"""
        loss, stops = self.runtime.sum_over_workers([self.losses, float(stop)])
        refuse_nan(loss)
        self.losses = torch.zeros(()).to(self.runtime.device)
        self.window[0] += loss / self.runtime.world_size
        self.total += loss / self.runtime.world_size
        return bool(stops > 0)

    def line(self, **values: Any) -> dict[str, Any]:
        return {**values, "epoch": round(self.step / self.steps_per_epoch, 4), "step": self.step}

    def interrupt(self, checkpoints: BackgroundCheckpoints | None, folder: Any) -> NoReturn:
        kept = "no --checkpoint_dir, nothing saved"
        if checkpoints is not None:
            checkpoints.finish()
            saved = not self.runtime.is_main or checkpoints.saved_step == self.step
            kept = f"saved in {folder}" if saved else "not saved"
        self.runtime.barrier()  # nobody leaves, and makes torchrun kill the others, before all is saved
        raise Interrupted(f"after step {self.step} of {self.total_steps}; {kept}")
