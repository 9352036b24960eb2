"""Fine-tune a model to classify texts: on CPU, CUDA, Trainium, or under the SageMaker Training Compiler.

    python train_text_classification.py --model tiny-random --train sample
    torchrun --nproc_per_node=2 train_text_classification.py --model tiny-random --train sample --epochs 6
    torchrun --nproc_per_node=32 train_text_classification.py --model bert-base-cased --train ./tweets --bf16 True

In a SageMaker job the channels `train` and, if there is one, `validation` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, Sequence

import torch

from _arguments import Parser, fraction, integer, not_negative, proper_fraction, str2bool
from _baselines import baseline_accuracies
from _batches import Data, Layout, encode_data, first_steps
from _checkpoint import Checkpoints, StopRequest
from _console import GRAPHS_ONLY_STEPS, Console, Interrupted, Mistake, exit_code_of, graphs_only, leave
from _data import Rows, read_parts
from _meter import Meter
from _models import load_classifier, load_config, load_tokenizer, longest_input
from _optimizer import adamw_with_linear_schedule, load_optimizer
from _runtime import detect, to_cpu

CHECKPOINTS = Path("/opt/ml/checkpoints")  # exists in a job that was given a checkpoint_s3_uri

# --- arguments ---


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    channel = {name: os.environ.get("SM_CHANNEL_" + name) for name in ("TRAIN", "TRAINING", "VALIDATION", "TEST")}
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("--model", default="bert-base-cased", help="hub id, local folder, or tiny-random")
    add("--train", default=channel["TRAIN"] or channel["TRAINING"] or "sample", help="file, folder, or `sample`")
    add("--validation", default=channel["VALIDATION"] or channel["TEST"], help="as --train; default: a part of it")
    add("--validation_fraction", type=proper_fraction, default=0.1, help="how much of it is then held out")
    add("--num_labels", type=integer(2), help="default: as many as the training data has")
    add("--epochs", type=integer(1), default=3)
    add("--per_device_batch_size", type=integer(1), default=16, help="examples per worker and micro-batch")
    add("--gradient_accumulation_steps", type=integer(1), default=1, help="micro-batches per optimizer step")
    add("--learning_rate", type=proper_fraction, default=5e-5, help="at its peak; from there linear to 0")
    add("--weight_decay", type=not_negative, default=0.01)
    add("--warmup_ratio", type=fraction, default=0.1, help="part of the steps in which the learning rate rises")
    add("--max_grad_norm", type=not_negative, default=1.0, help="0: do not clip")
    add("--max_length", type=integer(2), default=128, help="tokens per text at most; shorter data, shorter batches")
    add("--shapes", type=integer(1), help="lengths of batches at most; default: 1 where each is compiled, else any")
    add("--group_by_length", type=str2bool, default=True, help="texts of like length share a step: less padding")
    add("--bf16", type=str2bool, default=False, help="compute in bfloat16; the weights stay in float32")
    add("--seed", type=integer(0), default=42)
    add("--logging_steps", type=integer(1), default=20)
    add("--save_steps", type=integer(1), default=200, help="between checkpoints, where there is a --checkpoint_dir")
    add("--baselines", type=str2bool, default=False, help="also print what simple methods reach on the same texts")
    add("--model_dir", type=Path, default=Path(os.environ.get("SM_MODEL_DIR") or "model"))
    add("--checkpoint_dir", type=Path, default=CHECKPOINTS if CHECKPOINTS.is_dir() else None)
    return parser.parse_strictly(argv)


# --- data ---


def load_rows(args: argparse.Namespace, console: Console) -> tuple[Rows, Rows]:
    train, held_out, skipped = read_parts(args.train, args.validation, args.validation_fraction)
    lost = f"; skipped {skipped} rows without a text and a label" if skipped else ""
    console.say(f"read {len(train.texts)} texts to train on and {len(held_out.texts)} held out{lost}")
    return train, held_out


# --- model ---


def load_model(args: argparse.Namespace, runtime: Any, tokenizer: Any, data: Data) -> Any:
    """The same weights on every worker."""
    config = load_config(args.model, tokenizer, data.label_names)
    longest = longest_input(config)
    if longest is not None and data.train.length > longest:
        raise Mistake(
            f"--max_length: got {data.train.length}, wanted at most {longest}, the positions of {args.model!r}"
        )
    torch.manual_seed(args.seed)  # the new head, and all of tiny-random
    return load_classifier(args.model, config, eager_attention=runtime.eager_attention)


# --- fit ---


class Run:
    """One training run: what it was asked, what it reads, and what a step changes and a checkpoint therefore holds."""

    def __init__(self, args: argparse.Namespace, runtime: Any, model: Any, data: Data) -> None:
        self.args, self.runtime, self.model, self.data = args, runtime, model, data
        self.step, self.total_steps = 0, data.steps_per_epoch * args.epochs
        self.optimizer, self.scheduler = adamw_with_linear_schedule(
            model,
            learning_rate=args.learning_rate,
            weight_decay=args.weight_decay,
            warmup_steps=int(args.warmup_ratio * self.total_steps),
            total_steps=self.total_steps,
        )
        self.meter = Meter(runtime, data.layout.samples_per_step)

    @property
    def epoch(self) -> float:
        return round(self.step / self.data.steps_per_epoch, 4)

    def identity(self) -> dict[str, Any]:
        """Two runs with the same identity are the same run. The number of workers is not in it."""
        same = "model seed learning_rate weight_decay warmup_ratio max_grad_norm bf16 group_by_length".split()
        per_step = self.data.layout.samples_per_step
        sizes = {"total_steps": self.total_steps, "samples_per_step": per_step, "lengths": list(self.data.train.shapes)}
        return {**{name: getattr(self.args, name) for name in same}, **sizes, "data": self.data.train.fingerprint()}

    def state(self) -> dict[str, Any]:
        return {
            "model": self.runtime.cpu_state_dict(self.model),
            "optimizer": to_cpu(self.optimizer.state_dict()),
            "scheduler": self.scheduler.state_dict(),
            "meter": self.meter.state(),
        }

    def resume(self, checkpoints: Checkpoints) -> None:
        """From the newest checkpoint that every worker has complete, if there is one."""
        self.step = int(min(self.runtime.workers_values(checkpoints.newest())))
        if self.step:
            state = checkpoints.load(self.step)
            self.runtime.unwrap(self.model).load_state_dict(state["model"])
            load_optimizer(self.optimizer, state["optimizer"])
            self.scheduler.load_state_dict(state["scheduler"])
            self.meter.load(state["meter"])


def loss_of(model: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
    """Loss [examples] in float32, and logits [examples, labels]."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits.float()
    return torch.nn.functional.cross_entropy(logits, batch["labels"], reduction="none"), logits


def fit(run: Run, console: Console, checkpoints: Checkpoints | None, stop: StopRequest) -> None:
    """Every step still to be done; raises Interrupted when any worker was asked to stop."""
    args, data, runtime, layout = run.args, run.data, run.runtime, run.data.layout
    first_step, started = run.step + 1, time.perf_counter()
    run.model.train()
    share = layout.per_device * layout.accumulation
    for epoch in range(run.step // data.steps_per_epoch, args.epochs):
        order = data.train_order(args.seed, epoch, alike=args.group_by_length)[run.step % data.steps_per_epoch :]
        mine = data.train_batches(order, runtime.rank)
        batches = run.meter.watch(runtime.batches(mine), mine.filling)
        run.meter.start_clock()
        for passes in mine.passes_per_step(layout.accumulation):
            runtime.seed_step(args.seed, run.step)
            for number in range(1, passes + 1):
                batch = next(batches)
                with runtime.accumulating(run.model, last=number == passes):
                    with runtime.autocast(bf16=args.bf16):
                        loss = loss_of(run.model, batch)[0].sum() / share
                    loss.backward()
                run.meter.add(loss)
            runtime.step(run.optimizer, run.scheduler, args.max_grad_norm)
            run.meter.end_step()
            run.step += 1

            first, last = run.step == first_step, run.step == run.total_steps
            logging = run.step % args.logging_steps == 0
            saving = checkpoints is not None and run.step % args.save_steps == 0
            if not (first or last or logging or saving or (stop.seen and runtime.world_size == 1)):
                continue  # what follows waits for the device, and so must not happen in every step
            stopping = run.meter.collect(stop=stop.seen) and not last
            if first:
                seconds = round(time.perf_counter() - started, 3)
                console.metrics({"first_step_seconds": seconds, "total_steps": run.total_steps, **data.shapes})
            if logging:
                console.metrics(step_line(run))
            elif first:
                run.meter.lap()  # compilation and warm-up are in no step line's speed
            if checkpoints is not None and (saving or stopping) and runtime.is_main:
                checkpoints.save(run.step, run.state())
            if stopping:
                runtime.barrier()  # nobody leaves, and makes torchrun kill the others, before all is saved
                kept = f"saved in {args.checkpoint_dir}" if checkpoints else "no --checkpoint_dir, nothing saved"
                raise Interrupted(f"after step {run.step} of {run.total_steps}; {kept}")
        run.meter.stop_clock()
        if epoch + 1 < args.epochs:
            console.metrics(evaluate(run))
    run.meter.lap()


def step_line(run: Run) -> dict[str, Any]:
    loss, learning_rate = round(run.meter.take_window_loss(), 4), run.scheduler.get_last_lr()[0]
    return {"loss": loss, "learning_rate": learning_rate, "epoch": run.epoch, "step": run.step, **run.meter.lap()}


def summary(run: Run) -> dict[str, Any]:
    """Speed of this process, evaluations left out; loss of the whole run, also of the part before a resume."""
    return {
        "train_runtime": round(run.meter.seconds, 4),
        **{"train_" + name: rate for name, rate in run.meter.total_rates().items()},
        "train_loss": round(run.meter.total_loss / run.total_steps, 4),
        "epoch": run.epoch,
        "step": run.step,
    }


# --- evaluate ---


def evaluate(run: Run) -> dict[str, Any]:
    """Loss and accuracy over the held-out examples, each counted once, whichever worker had it."""
    args, data, runtime, model = run.args, run.data, run.runtime, run.runtime.unwrap(run.model)
    model.eval()
    sums = torch.zeros(3).to(runtime.device)
    with torch.no_grad():
        for batch in runtime.batches(data.eval_batches(runtime.rank)):
            with runtime.autocast(bf16=args.bf16):
                losses, logits = loss_of(model, batch)
            right = (logits.argmax(dim=-1) == batch["labels"]).float()
            sums += (torch.stack([losses, right, torch.ones_like(right)]) * batch["weight"]).sum(dim=1)
    model.train()
    loss, right_count, count = runtime.sum_over_workers(list(sums.cpu()))
    return {
        "eval_loss": round(loss / count, 4),
        "eval_accuracy": round(right_count / count, 6),
        "eval_samples": int(count),
        "epoch": run.epoch,
        "step": run.step,
    }


# --- save ---


def save(folder: Path, runtime: Any, model: Any, tokenizer: Any) -> None:
    """Weights, configuration and tokenizer, as `from_pretrained` reads them. The live model stays on its device."""
    runtime.unwrap(model).save_pretrained(str(folder), state_dict=runtime.cpu_state_dict(model))
    tokenizer.save_pretrained(str(folder))


# --- main ---


def train(args: argparse.Namespace, runtime: Any, stop: StopRequest) -> None:
    console = Console(is_main=runtime.is_main)
    rows = load_rows(args, console)
    with runtime.loading_turn():
        tokenizer = load_tokenizer(args.model)
    layout = Layout(args.per_device_batch_size, runtime.world_size, args.gradient_accumulation_steps)
    lengths: Any = {"shapes": args.shapes or 1, "grain": None if args.shapes else runtime.grain}
    data = encode_data(rows, tokenizer, layout, max_length=args.max_length, num_labels=args.num_labels, **lengths)
    if graphs_only():
        data, args.epochs, args.checkpoint_dir = first_steps(data, GRAPHS_ONLY_STEPS), 1, None
    with runtime.loading_turn():
        model = load_model(args, runtime, tokenizer, data).to(runtime.device)
    model = runtime.prepare(model)
    run = Run(args, runtime, model, data)
    checkpoints = None
    if args.checkpoint_dir is not None:
        checkpoints = Checkpoints(args.checkpoint_dir, run.identity(), console)
        run.resume(checkpoints)
    console.say(
        f"{args.model} on {runtime.name}: {runtime.world_size} worker(s), {'bfloat16' if args.bf16 else 'float32'}, "
        f"batches of {layout.per_device} x {data.lengths} tokens, {layout.samples_per_step} "
        f"samples per step, {run.total_steps} steps, {f'resuming after step {run.step}' if run.step else 'from the start'}"
    )
    fit(run, console, checkpoints, stop)
    console.metrics(evaluate(run))
    console.metrics(summary(run))
    if runtime.is_main and not graphs_only():
        save(args.model_dir, runtime, model, tokenizer)
        if args.baselines:
            console.metrics(baseline_accuracies(data))


def main(argv: Sequence[str] | None = None) -> None:
    stop = StopRequest()
    stop.install()
    args = parse_arguments(argv)
    runtime = detect()
    try:
        train(args, runtime, stop)
    finally:
        runtime.close()


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    sys.exit(exit_code_of(main))


if __name__ == "__main__":
    leave(exit_code_of(main))
