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
from typing import Any, NamedTuple, Sequence

import _data
import torch
from _arguments import AT_LEAST_1, AT_LEAST_2, FRACTION, NOT_NEGATIVE, PROPER_FRACTION, Parser, check_ranges, str2bool
from _baselines import bag_of_words_accuracy, majority_accuracy
from _checkpoint import Checkpoints, StopRequest
from _console import Console, Interrupted, Mistake, exit_code_of
from _meter import Meter
from _models import load_classifier, load_config, load_tokenizer, longest_input
from _runtime import detect, to_cpu

CHECKPOINTS = Path("/opt/ml/checkpoints")  # exists in a job that was given a checkpoint_s3_uri
RANGES = {
    "validation_fraction": PROPER_FRACTION,
    "num_labels": AT_LEAST_2,
    "epochs": AT_LEAST_1,
    "per_device_batch_size": AT_LEAST_1,
    "gradient_accumulation_steps": AT_LEAST_1,
    "learning_rate": PROPER_FRACTION,
    "weight_decay": NOT_NEGATIVE,
    "warmup_ratio": FRACTION,
    "max_grad_norm": NOT_NEGATIVE,
    "max_length": AT_LEAST_2,
    "seed": NOT_NEGATIVE,
    "logging_steps": AT_LEAST_1,
    "save_steps": AT_LEAST_1,
}

# --- arguments -----------------------------------------------------------------------------------------------------


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    channel = {name: os.environ.get("SM_CHANNEL_" + name) for name in ("TRAIN", "TRAINING", "VALIDATION", "TEST")}
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("--model", default="bert-base-cased", help="hub id, local folder, or tiny-random")
    add("--train", default=channel["TRAIN"] or channel["TRAINING"] or "sample", help="file, folder, or `sample`")
    add("--validation", default=channel["VALIDATION"] or channel["TEST"], help="as --train; default: a part of it")
    add("--validation_fraction", type=float, default=0.1, help="how much of the training data is then held out")
    add("--num_labels", type=int, help="default: as many as the training data has")
    add("--epochs", type=int, default=3)
    add("--per_device_batch_size", type=int, default=16, help="examples per worker and micro-batch")
    add("--gradient_accumulation_steps", type=int, default=1, help="micro-batches per optimizer step")
    add("--learning_rate", type=float, default=5e-5, help="at its peak; from there linear to 0")
    add("--weight_decay", type=float, default=0.01)
    add("--warmup_ratio", type=float, default=0.1, help="part of the steps in which the learning rate rises")
    add("--max_grad_norm", type=float, default=1.0, help="0: do not clip")
    add("--max_length", type=int, default=128, help="tokens per text at most; shorter data makes shorter batches")
    add("--bf16", type=str2bool, default=False, help="compute in bfloat16; the weights stay in float32")
    add("--seed", type=int, default=42)
    add("--logging_steps", type=int, default=20)
    add("--save_steps", type=int, default=200, help="steps between checkpoints, where there is a --checkpoint_dir")
    add("--baselines", type=str2bool, default=False, help="also print what simple methods reach on the same texts")
    add("--model_dir", type=Path, default=Path(os.environ.get("SM_MODEL_DIR") or "model"))
    add("--checkpoint_dir", type=Path, default=CHECKPOINTS if CHECKPOINTS.is_dir() else None)
    args = parser.parse_strictly(argv)
    check_ranges(args, RANGES)
    return args


# --- data ----------------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Everything the loop reads. The texts themselves are kept for the baselines."""

    labels: list[str]
    train: _data.Encoded
    held_out: _data.Encoded
    texts: tuple[_data.Rows, _data.Rows]
    layout: _data.Layout

    @property
    def steps_per_epoch(self) -> int:
        return len(self.train) // self.layout.samples_per_step


def load_rows(args: argparse.Namespace, console: Console) -> tuple[_data.Rows, _data.Rows]:
    rows = _data.read_rows(args.train, "train")
    if args.validation:
        train, held_out = rows, _data.read_rows(args.validation, "validation")
    else:
        train, held_out = _data.split(rows, args.validation_fraction)
    skipped = rows.skipped + (held_out.skipped if args.validation else 0)
    if skipped:
        console.say(f"skipped {skipped} rows without a text and a label")
    return train, held_out


def encode_data(args: argparse.Namespace, runtime: Any, rows: tuple[_data.Rows, _data.Rows], tokenizer: Any) -> Data:
    layout = _data.Layout(args.per_device_batch_size, runtime.world_size, args.gradient_accumulation_steps)
    if len(rows[0].texts) < layout.samples_per_step:
        raise Mistake(
            f"--train: got {len(rows[0].texts)} examples, wanted at least {layout.samples_per_step} "
            f"(= {layout.per_device} per device × {layout.workers} workers × {layout.accumulation} micro-batches); "
            "lower --per_device_batch_size or --gradient_accumulation_steps"
        )
    names = _data.label_names(rows[0].labels, args.num_labels)
    flags = ("train", "validation")
    numbers = [_data.label_numbers(part.labels, names, flag) for part, flag in zip(rows, flags)]
    pieces = [_data.tokenize(part.texts, tokenizer, args.max_length) for part in rows]
    length = _data.static_length(pieces[0] + pieces[1], args.max_length)
    train, held_out = (_data.encode(ids, n, length, tokenizer.pad_token_id) for ids, n in zip(pieces, numbers))
    return Data(names, train, held_out, rows, layout)


# --- model ---------------------------------------------------------------------------------------------------------


def load_model(args: argparse.Namespace, runtime: Any, tokenizer: Any, data: Data) -> Any:
    """The same weights on every worker."""
    config = load_config(args.model, tokenizer, data.labels)
    longest = longest_input(config)
    if longest is not None and data.train.length > longest:
        raise Mistake(
            f"--max_length: got {data.train.length}, wanted at most {longest}, the positions of {args.model!r}"
        )
    torch.manual_seed(args.seed)  # the new head, and all of tiny-random
    return load_classifier(args.model, config, eager_attention=runtime.eager_attention)


def make_optimizer(args: argparse.Namespace, model: Any, total_steps: int) -> tuple[Any, Any]:
    """AdamW without decay of biases and norms; linear warm-up, then linear to 0."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in parameters if parameter.ndim > 1], "weight_decay": args.weight_decay},
        {"params": [parameter for parameter in parameters if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    warmup_steps = int(args.warmup_ratio * total_steps)

    def factor(step: int) -> float:
        return min((step + 1) / (warmup_steps + 1), (total_steps - step) / (total_steps - warmup_steps))

    optimizer = torch.optim.AdamW(groups, lr=args.learning_rate)
    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


# --- fit -----------------------------------------------------------------------------------------------------------


class Run:
    """What one step changes, and what a checkpoint therefore holds."""

    def __init__(self, args: argparse.Namespace, runtime: Any, model: Any, data: Data) -> None:
        self.step = 0
        self.total_steps = data.steps_per_epoch * args.epochs
        self.model = model
        self.optimizer, self.scheduler = make_optimizer(args, model, self.total_steps)
        self.meter = Meter(runtime, data.layout.samples_per_step)

    def state(self, runtime: Any) -> dict[str, Any]:
        return {
            "model": runtime.cpu_state_dict(self.model),
            "optimizer": to_cpu(self.optimizer.state_dict()),
            "scheduler": self.scheduler.state_dict(),
            "meter": self.meter.state(),
        }

    def resume(self, runtime: Any, checkpoints: Checkpoints) -> None:
        """From the newest checkpoint that every worker has complete."""
        step = int(min(runtime.workers_values(checkpoints.newest())))
        if step:
            state = checkpoints.load(step)
            runtime.unwrap(self.model).load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.scheduler.load_state_dict(state["scheduler"])
            self.meter.load(state["meter"])
            self.step = step


def identity(args: argparse.Namespace, data: Data, total_steps: int) -> dict[str, Any]:
    """Two runs with the same identity are the same run. The number of workers is not in it."""
    same = "model seed learning_rate weight_decay warmup_ratio max_grad_norm bf16".split()
    return {
        **{name: getattr(args, name) for name in same},
        "total_steps": total_steps,
        "samples_per_step": data.layout.samples_per_step,
        "data": data.train.fingerprint(),
    }


def loss_of(model: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
    """Loss [examples] in float32, and logits [examples, labels]."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits.float()
    return torch.nn.functional.cross_entropy(logits, batch["labels"], reduction="none"), logits


def fit(
    args: argparse.Namespace, runtime: Any, console: Console, data: Data, run: Run, checkpoints: Any, stop: StopRequest
) -> None:
    meter, layout = run.meter, data.layout
    first_step, started = run.step + 1, time.perf_counter()
    run.model.train()
    for epoch in range(run.step // data.steps_per_epoch, args.epochs):
        order = _data.train_order(len(data.train), layout, args.seed, epoch)[run.step % data.steps_per_epoch :]
        mine = order[:, :, runtime.rank].reshape(-1, layout.per_device)
        batches = runtime.batches(_data.Batches(data.train, mine))
        meter.restart_clock()
        for _ in range(len(order)):
            runtime.seed_step(args.seed, run.step)
            for micro in range(layout.accumulation):
                batch = next(batches)
                with runtime.accumulating(run.model, last=micro + 1 == layout.accumulation):
                    with runtime.autocast(bf16=args.bf16):
                        loss = loss_of(run.model, batch)[0].mean() / layout.accumulation
                    loss.backward()
                meter.add(loss)
            runtime.step(run.optimizer, run.scheduler, args.max_grad_norm)
            meter.end_step()
            run.step += 1

            logging, last = run.step % args.logging_steps == 0, run.step == run.total_steps
            saving = checkpoints is not None and run.step % args.save_steps == 0
            alone = runtime.world_size == 1 and stop.seen
            if not (logging or saving or last or alone or run.step == first_step):
                continue  # nothing below here may run in every step: `collect` waits for the device
            stopping = meter.collect(stop=stop.seen) and not last
            if run.step == first_step:
                console.metrics({"first_step_seconds": round(time.perf_counter() - started, 3)})
            if logging:
                console.metrics(step_line(run, data))
            if checkpoints is not None and (saving or stopping) and runtime.is_main:
                checkpoints.save(run.step, run.state(runtime))
            if stopping:
                kept = (
                    f"saved in {args.checkpoint_dir}"
                    if checkpoints is not None
                    else "no --checkpoint_dir, nothing saved"
                )
                raise Interrupted(f"stopped after step {run.step} of {run.total_steps}; {kept}")
        meter.lap()
        if epoch + 1 < args.epochs:
            console.metrics(evaluate(args, runtime, data, run))


def step_line(run: Run, data: Data) -> dict[str, Any]:
    return {
        "loss": round(run.meter.take_window_loss(), 4),
        "learning_rate": run.scheduler.get_last_lr()[0],
        "epoch": round(run.step / data.steps_per_epoch, 4),
        "step": run.step,
        **run.meter.lap(),
    }


def summary(run: Run, data: Data) -> dict[str, Any]:
    """Speed of this process, evaluations left out; loss of the whole run, also of the part before a resume."""
    steps_per_second = run.meter.steps / max(run.meter.seconds, 1e-9)
    return {
        "train_runtime": round(run.meter.seconds, 4),
        "train_samples_per_second": round(steps_per_second * data.layout.samples_per_step, 3),
        "train_steps_per_second": round(steps_per_second, 3),
        "train_loss": round(run.meter.total_loss / run.total_steps, 4),
        "epoch": round(run.step / data.steps_per_epoch, 4),
        "step": run.step,
    }


# --- evaluate ------------------------------------------------------------------------------------------------------


def evaluate(args: argparse.Namespace, runtime: Any, data: Data, run: Run) -> dict[str, Any]:
    """Loss and accuracy over the held-out examples, each counted once, whichever worker had it."""
    model = runtime.unwrap(run.model)
    model.eval()
    order = _data.eval_order(len(data.held_out), runtime.world_size, args.per_device_batch_size)
    sums = torch.zeros(3).to(runtime.device)
    with torch.no_grad():
        for batch in runtime.batches(_data.Batches(data.held_out, order[:, runtime.rank])):
            with runtime.autocast(bf16=args.bf16):
                losses, logits = loss_of(model, batch)
            right = (logits.argmax(dim=-1) == batch["labels"]).float()
            sums += (torch.stack([losses, right, torch.ones_like(right)]) * batch["weight"]).sum(dim=1)
    model.train()
    loss, right, count = runtime.sum_over_workers(list(sums))
    return {
        "eval_loss": round(loss / count, 4),
        "eval_accuracy": round(right / count, 6),
        "eval_samples": int(count),
        "epoch": round(run.step / data.steps_per_epoch, 4),
        "step": run.step,
    }


def baselines(data: Data) -> dict[str, float]:
    train, held_out = (
        (rows.texts, part.labels.tolist()) for rows, part in zip(data.texts, (data.train, data.held_out))
    )
    return {
        "baseline_majority_accuracy": round(majority_accuracy(train[1], held_out[1]), 6),
        "baseline_bag_of_words_accuracy": round(bag_of_words_accuracy(train, held_out, len(data.labels)), 6),
    }


# --- save ----------------------------------------------------------------------------------------------------------


def save(folder: Path, runtime: Any, model: Any, tokenizer: Any) -> None:
    """Weights, configuration and tokenizer, as `from_pretrained` reads them. The live model stays on its device."""
    runtime.unwrap(model).save_pretrained(str(folder), state_dict=runtime.cpu_state_dict(model))
    tokenizer.save_pretrained(str(folder))


# --- main ----------------------------------------------------------------------------------------------------------


def train(args: argparse.Namespace, runtime: Any, stop: StopRequest) -> None:
    console = Console(is_main=runtime.is_main)
    rows = load_rows(args, console)
    with runtime.local_main_first():
        tokenizer = load_tokenizer(args.model)
    data = encode_data(args, runtime, rows, tokenizer)
    with runtime.local_main_first():
        model = load_model(args, runtime, tokenizer, data)
    model = runtime.prepare(model)
    run = Run(args, runtime, model, data)
    checkpoints = None
    if args.checkpoint_dir is not None:
        checkpoints = Checkpoints(args.checkpoint_dir, identity(args, data, run.total_steps), console)
        run.resume(runtime, checkpoints)
    console.say(
        f"{args.model} on {runtime.name}, {runtime.world_size} worker(s), {'bfloat16' if args.bf16 else 'float32'}, "
        f"batches of {args.per_device_batch_size} x {data.train.length} tokens, {data.layout.samples_per_step} samples "
        f"per step, {len(data.train)} train and {len(data.held_out)} held-out examples, {run.total_steps} steps, "
        + (f"resuming after step {run.step}" if run.step else "from the start")
    )
    fit(args, runtime, console, data, run, checkpoints, stop)
    console.metrics(evaluate(args, runtime, data, run))
    console.metrics(summary(run, data))
    if runtime.is_main:
        save(args.model_dir, runtime, model, tokenizer)
        if args.baselines:
            console.metrics(baselines(data))


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
    sys.exit(exit_code_of(main))
