"""Fine-tune a model to classify texts, in a loop of our own: on CPU, CUDA, Trainium, or under the SageMaker Training Compiler.

    python train_text_classification.py --model tiny-random --train sample
    torchrun --nproc_per_node=2 train_text_classification.py --model tiny-random --train sample --epochs 6
    torchrun --nproc_per_node=32 train_text_classification.py --model bert-base-cased --train ./tweets --bf16 True

In a SageMaker job the channels `train` and, if there is one, `validation` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any, Sequence

import kit.loop as loop
import sm_spot
from kit.data import encode, pick_columns, read_table
from kit.device import detect, load_config, load_model, load_tokenizer, longest_input
from kit.job import CHECKPOINTS, GRAPHS_ONLY_STEPS, Console, check_folder, graphs_only
from kit.labels import drop_missing, labels_of, split
from kit.loop import Parser, fraction, integer, not_negative, proper_fraction, str2bool
from sm_spot import StopRequest, UsageError

import torch

HERE = Path(__file__).resolve().parent
ASK_BATCHES = 20  # of an evaluation, between two questions whether anybody was asked to stop
SPLIT_SEED = 20  # not --seed: runs with different seeds are compared on the same held-out texts


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    train = os.environ.get("SM_CHANNEL_TRAIN") or os.environ.get("SM_CHANNEL_TRAINING") or "sample"
    validation = os.environ.get("SM_CHANNEL_VALIDATION") or os.environ.get("SM_CHANNEL_TEST")
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--model", default="bert-base-cased", help="hub id, local folder, or tiny-random")
    add("--train", default=train, help="file, folder, or `sample`")
    add("--validation", default=validation, help="as --train; default: a part of it")
    add("--validation_fraction", type=proper_fraction, default=0.1, help="how much of it is then held out")
    add("--encoding", help="of the files, where it is not UTF-8: latin-1, cp1252, utf-16")
    add("--text_column", help="default: by the names that data sets use")
    add("--label_column", help="default: by the names that data sets use")
    add("--num_labels", type=integer(2), help="default: as many as the training data has")
    add("--epochs", type=integer(1), default=3)
    add("--per_device_batch_size", type=integer(1), default=16, help="examples per worker and micro-batch")
    add("--gradient_accumulation_steps", type=integer(1), default=1, help="micro-batches per optimizer step")
    add("--learning_rate", type=proper_fraction, default=5e-5, help="at its peak; from there linear to 0")
    add("--weight_decay", type=not_negative, default=0.01, help="of weights; biases and norms have none")
    add("--warmup_ratio", type=fraction, default=0.1, help="part of the steps in which the learning rate rises from 0")
    add("--max_grad_norm", type=not_negative, default=1.0, help="0: do not clip")
    add("--max_length", type=integer(2), default=128, help="tokens per text at most; shorter data, shorter batches")
    add("--shapes", type=integer(1), help="lengths of batches at most; default: 1 where each is compiled, else any")
    add("--group_by_length", type=str2bool, default=True, help="texts of like length share a step: less padding")
    add("--bf16", type=str2bool, help="compute in bfloat16, weights stay in float32; default: where the device has it")
    add("--torch_compile", type=str2bool, default=False)
    add("--gradient_checkpointing", type=str2bool, default=False, help="less memory, more computing")
    add("--attn_implementation", help="eager, sdpa, flash_attention_2; default: transformers' own choice, eager on XLA")
    add("--ddp_find_unused_parameters", type=str2bool, default=True, help="False is faster where every weight is used")
    add("--dataloader_num_workers", type=integer(0), default=0, help="processes that make batches ahead")
    add("--seed", type=integer(0), default=42)
    add("--logging_steps", type=integer(1), default=20)
    add("--save_steps", type=integer(1), default=200, help="between checkpoints, where there is a --checkpoint_dir")
    add("--baselines", type=str2bool, default=False, help="also print what simple methods reach on the same texts")
    add("--model_dir", type=Path, default=Path(os.environ.get("SM_MODEL_DIR") or "model"))
    add("--checkpoint_dir", type=Path, default=CHECKPOINTS if CHECKPOINTS.is_dir() else None)
    args = parser.parse_strictly(argv)
    if args.baselines and not importlib.util.find_spec("sklearn"):
        wanted = "wanted the library scikit-learn, which is not here"
        raise UsageError(f"--baselines: {wanted}; install it, or drop the flag")
    return args


# --- data ---


def load_tables(args: argparse.Namespace, console: Console) -> Any:
    """Two pairs of texts and their labels: what to train on, and what is held out."""

    def read(where: str, flag: str, names: Sequence[str] | None = None) -> Any:
        path = HERE / "sample" / "reviews.csv" if where == "sample" else where
        table = read_table(path, flag, split=flag, encoding=args.encoding)
        columns = pick_columns(table, text=args.text_column, label=args.label_column)
        labels = labels_of(table, columns.label, names=names, num_labels=args.num_labels)
        table, labels = drop_missing(table, columns, labels)
        if not labels.names:
            raise UsageError(f"--{flag}: got scores in {columns.label!r}, wanted classes")
        return table, labels, columns.text

    table, labels, text = read(args.train, "train")
    if args.validation:
        held_out, its, its_text = read(args.validation, "validation", labels.names)
    else:
        (table, labels), (held_out, its) = split(table, labels, args.validation_fraction, seed=SPLIT_SEED)
        its_text = text
    held = f"read {len(table)} texts to train on and {len(held_out)} held out"
    console.say(*dict.fromkeys([*table.said, *held_out.said]), held)
    return (table.texts(text), labels), (held_out.texts(its_text), its)


# --- one run ---


class Run(loop.Loop):
    """What it was asked and what it reads; of loop.Loop: what a step changes, and a checkpoint therefore holds."""

    def __init__(self, args: argparse.Namespace, runtime: Any, model: Any, parts: Any, pad_id: int) -> None:
        self.layout = args.gradient_accumulation_steps, runtime.world_size, args.per_device_batch_size
        super().__init__(runtime, model, self.layout[0] * self.layout[1] * self.layout[2])
        self.args = args
        self.pad_id = pad_id
        self.train, self.held_out = parts
        self.lengths = torch.as_tensor(self.train.lengths)
        shapes = args.shapes or (1 if runtime.name == "xla" else None)
        every = torch.cat([self.lengths, torch.as_tensor(self.held_out.lengths)])
        self.shapes = loop.batch_lengths(every, args.max_length, shapes)
        self.steps_per_epoch = len(self.train) // self.samples
        self.total_steps = self.steps_per_epoch * args.epochs
        if graphs_only():
            self.total_steps = min(self.total_steps, GRAPHS_ONLY_STEPS)
        self.optimizer, self.scheduler = loop.adamw_with_linear_schedule(
            model,
            args.learning_rate,
            args.weight_decay,
            warmup_steps=int(args.warmup_ratio * self.total_steps),
            total_steps=self.total_steps,
        )

    def identity(self) -> dict[str, Any]:
        """Two runs with the same identity are the same run. The number of workers is not in it."""
        same = (
            "model",
            "seed",
            "learning_rate",
            "weight_decay",
            "warmup_ratio",
            "max_grad_norm",
            "bf16",
            "group_by_length",
            "gradient_checkpointing",
        )
        sizes = {"total_steps": self.total_steps, "samples_per_step": self.samples, "longest": self.shapes[-1]}
        return {**{name: getattr(self.args, name) for name in same}, **sizes, "data": self.train.fingerprint()}


def compiled(model: Any, runtime: Any) -> Any:
    """On Trainium's native device Neuron's compiler is another backend of torch.compile than the default."""
    if runtime.device.type == "neuron":
        return torch.compile(model, backend="neuron")
    return torch.compile(model)


def loss_of(model: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
    """Loss [examples] in float32, and logits [examples, labels]."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits.float()
    return torch.nn.functional.cross_entropy(logits, batch["labels"], reduction="none"), logits


def take_step(run: Run, batches: Any, mine: loop.Batches, number: int) -> None:
    """The batches of one optimizer step, forward and backward, and the step. Nothing here waits for the device."""
    runtime, meter, accumulation = run.runtime, run.meter, run.layout[0]
    sm_spot.seed(run.args.seed, run.step, runtime.rank)  # dropout is a function of these, also after a resume
    for place in range(number * accumulation, (number + 1) * accumulation):
        before, compiled = time.perf_counter(), meter.compiled()[1]
        batch = next(batches)  # XLA's loader also cuts the graph here and compiles it, which is no waiting
        meter.waited(time.perf_counter() - before - (meter.compiled()[1] - compiled))
        meter.batch(mine.filled[place], run.args.per_device_batch_size * mine.lengths[place])
        with loop.accumulating(run.model, last=(place + 1) % accumulation == 0):
            with loop.autocast(runtime, bf16=run.args.bf16):
                loss = loss_of(run.model, batch)[0].mean() / accumulation
            loss.backward()
        run.losses += loss.detach()
    loop.optimizer_step(runtime, run.optimizer, run.scheduler, run.args.max_grad_norm)
    meter.step()
    run.step += 1
    run.window[1] += 1


def fit(run: Run, console: Console, checkpoints: loop.BackgroundCheckpoints | None, stop: StopRequest) -> None:
    """Every step still to be done; raises Interrupted when any worker was asked to stop."""
    args, runtime, meter, accumulation = run.args, run.runtime, run.meter, run.layout[0]
    first_step, started = run.step + 1, time.perf_counter()
    run.model.train()
    while run.step < run.total_steps:
        epoch, done = divmod(run.step, run.steps_per_epoch)
        order = loop.train_order(run.lengths, run.layout, args.seed, epoch, alike=args.group_by_length)[done:]
        mine = loop.Batches(run.train, order.flatten(end_dim=1), runtime.rank, run.shapes, run.pad_id)
        batches = loop.on_device(runtime, mine, run.args.dataloader_num_workers)
        meter.start()
        for number in range(min(len(order), run.total_steps - run.step)):
            take_step(run, batches, mine, number)
            first, last = run.step == first_step, run.step == run.total_steps
            logging = run.step % args.logging_steps == 0
            saving = checkpoints is not None and (last or run.step % args.save_steps == 0)
            if not (first or last or logging or saving or (stop.seen and runtime.world_size == 1)):
                continue  # what follows waits for the device, and so must not happen in every step
            stopping = run.collect(stop=stop.seen) and not last
            if first:
                seconds = round(time.perf_counter() - started, 3)
                shapes = {"shapes": len(run.shapes)} if args.shapes or runtime.name == "xla" else {}
                console.metrics({"first_step_seconds": seconds, "total_steps": run.total_steps, **shapes})
            if logging:
                loss, rate = run.window[0] / run.window[1], run.scheduler.get_last_lr()[0]
                console.metrics({**run.line(loss=round(loss, 6), learning_rate=rate), **meter.lap(accumulation)})
                run.window = [0.0, 0]
            elif first:
                meter.lap(accumulation)  # compilation and warm-up are in no step line's speed
            if checkpoints is not None and (saving or stopping) and runtime.is_main:
                checkpoints.save(run.step, run.state())
            if stopping:
                run.interrupt(checkpoints, args.checkpoint_dir)
        meter.stop()
        if run.step < run.total_steps:
            figures = evaluate(run, stop)
            if figures is None:
                if checkpoints is not None and runtime.is_main:
                    checkpoints.save(run.step, run.state())
                run.interrupt(checkpoints, args.checkpoint_dir)
            console.metrics(figures)
    meter.lap(accumulation)


def evaluate(run: Run, stop: StopRequest | None = None) -> dict[str, Any] | None:
    """Loss and accuracy over the held-out texts, each counted once, whichever worker had it; the longest come first.

    None where any worker was asked to `stop` on the way: an evaluation can take longer than there is time.
    """
    runtime, model = run.runtime, loop.unwrap(run.model)
    order = loop.eval_order(torch.as_tensor(run.held_out.lengths), *run.layout[1:])
    mine = loop.Batches(run.held_out, order, runtime.rank, run.shapes, run.pad_id)
    model.eval()
    sums = torch.zeros(3).to(runtime.device)
    with torch.no_grad():
        for number, batch in enumerate(loop.on_device(runtime, mine, run.args.dataloader_num_workers)):
            if stop is not None and number % ASK_BATCHES == 0 and stop.agreed():
                model.train()
                return None
            with loop.autocast(runtime, bf16=run.args.bf16):
                losses, logits = loss_of(model, batch)
            right = (logits.argmax(dim=-1) == batch["labels"]).float()
            sums += (torch.stack([losses, right, torch.ones_like(right)]) * batch["weight"]).sum(dim=1)
    model.train()
    loss, right_count, count = runtime.sum_over_workers(list(sums.cpu()))
    means = {"eval_loss": round(loss / count, 6), "eval_accuracy": round(right_count / count, 6)}
    return run.line(**means, eval_samples=int(count))


def judge(run: Run, console: Console, checkpoints: loop.BackgroundCheckpoints | None, stop: StopRequest) -> None:
    """The figures of the trained model, and the summary of its training."""
    figures = evaluate(run, stop)
    if figures is None:  # the last step's checkpoint is there
        run.interrupt(checkpoints, run.args.checkpoint_dir)
    console.metrics(figures)
    console.metrics(run.line(**run.meter.summary(), train_loss=round(run.total / run.total_steps, 6)))


def baseline_accuracies(train: tuple[Sequence[str], Any], held_out: tuple[Sequence[str], Any]) -> dict[str, float]:
    """What a model must beat: always the commonest label, and counted words; each pair is texts and their labels."""
    from sklearn.dummy import DummyClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    counter, found = CountVectorizer(), {}
    learnt, judged = counter.fit_transform(train[0]), counter.transform(held_out[0])
    for name, method in {"majority": DummyClassifier(), "bag_of_words": LogisticRegression(max_iter=1000)}.items():
        right = method.fit(learnt, train[1].values).score(judged, held_out[1].values)
        found[f"baseline_{name}_accuracy"] = round(float(right), 6)
    return found


# --- main ---


def main(argv: Sequence[str] | None = None) -> None:
    stop = StopRequest()
    args = parse_arguments(argv)
    check_folder("model_dir", args.model_dir)
    check_folder("checkpoint_dir", args.checkpoint_dir)
    runtime = detect()
    console = Console(is_main=runtime.is_main)
    args.bf16 = runtime.bf16 if args.bf16 is None else args.bf16
    texts = load_tables(args, console)
    with runtime.loading_turn():
        tokenizer = load_tokenizer(args.model)
    parts = [encode(tokenizer, part, max_length=args.max_length, labels=labels.values) for part, labels in texts]
    samples = args.per_device_batch_size * args.gradient_accumulation_steps * runtime.world_size
    if len(parts[0]) < samples:
        raise UsageError(
            f"--train: got {len(parts[0])} examples, wanted at least {samples} (= {args.per_device_batch_size} per device x "
            f"{runtime.world_size} workers x {args.gradient_accumulation_steps} micro-batches); lower --per_device_batch_size"
        )
    names = texts[0][1].names
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
    config = load_config(args.model, tokenizer, num_labels=len(names), **labels)
    longest = longest_input(config)
    if longest and max(max(part.lengths) for part in parts) > longest:
        raise UsageError(f"--max_length: got {args.max_length}, wanted at most {longest}, which the model takes")
    torch.manual_seed(args.seed)  # the new head, and all of tiny-random
    with runtime.loading_turn():
        model = load_model(
            args.model, config, "SequenceClassification", args.attn_implementation or runtime.attention, len(tokenizer)
        )
        if args.gradient_checkpointing:
            model.gradient_checkpointing_enable()
        model = model.to(runtime.device)
    unused = args.ddp_find_unused_parameters and not args.gradient_checkpointing
    model = loop.prepare(runtime, model, find_unused_parameters=unused)
    run = Run(args, runtime, compiled(model, runtime) if args.torch_compile else model, parts, tokenizer.pad_token_id)
    checkpoints = None
    if args.checkpoint_dir is not None and not graphs_only():
        checkpoints = loop.BackgroundCheckpoints(args.checkpoint_dir, run.identity())
        checkpoints.claim()
        run.resume(checkpoints)
    console.say(
        f"{args.model} on {runtime.name}: {runtime.world_size} worker(s), {'bfloat16' if args.bf16 else 'float32'}, batches of "
        f"{args.per_device_batch_size} x {'/'.join(map(str, run.shapes)) if len(run.shapes) < 4 else f'up to {run.shapes[-1]}'} "
        f"tokens, {run.samples} samples per step, {run.total_steps} steps, "
        f"{f'resuming after step {run.step}' if run.step else 'from the start'}"
    )
    try:
        fit(run, console, checkpoints, stop)
    finally:
        if checkpoints is not None:
            checkpoints.finish()
    judge(run, console, checkpoints, stop)
    if runtime.is_main and not graphs_only():
        state = loop.to_cpu(loop.unwrap(model).state_dict())  # the live model stays on its device
        loop.unwrap(model).save_pretrained(str(args.model_dir), state_dict=state)
        tokenizer.save_pretrained(str(args.model_dir))
        if args.baselines:
            console.metrics(baseline_accuracies(*texts))


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    sys.exit(sm_spot.exit_code_of(main))


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))
