"""Fine-tune a model to classify texts in a loop of our own, on Accelerate: CPU, CUDA, SMDDP,
Trainium (XLA or native).

    python train_text_classification.py --model tiny-random --train sample
    torchrun --nproc_per_node=2 train_text_classification.py --model tiny-random --train sample --epochs 6
    torchrun --nproc_per_node=32 train_text_classification.py --model bert-base-cased --train ./tweets --bf16 True
    accelerate launch train_text_classification.py --model bert-base-cased --train ./tweets

In a SageMaker job the channels `train` and, if there is one, `validation` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again
to continue.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Iterator, NoReturn, Optional, Sequence

import kit.common as kit
import sm_spot
from kit.common import Meter, choose
from kit.common import parse as parse_own
from kit.data import DataArguments, label_sets, read_sets
from sm_spot import CHECKPOINTS, Checkpoints, Interrupted, StopRequest, UsageError

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs, PartialState
from datasets import ClassLabel
from torch.utils.data import DataLoader, Sampler
from transformers import (
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    get_scheduler,
)
from transformers.trainer_pt_utils import get_length_grouped_indices
from transformers.utils import is_sagemaker_dp_enabled

# Two runs that agree in these are the same run. The number of workers is not among them.
IDENTITY = (
    "model",
    "seed",
    "epochs",
    "learning_rate",
    "weight_decay",
    "lr_scheduler_type",
    "warmup_ratio",
    "warmup_steps",
    "max_grad_norm",
    "bf16",
    "group_by_length",
    "gradient_checkpointing",
)
# What this loop calls the flags of Hugging Face's examples.
RENAMED = {
    "model_name_or_path": "model",
    "model_name": "model",
    "num_train_epochs": "epochs",
    "train_batch_size": "per_device_batch_size",
    "per_device_train_batch_size": "per_device_batch_size",
    "train_file": "train",
    "validation_file": "validation",
    "output_dir": "model_dir",
    "num_warmup_steps": "warmup_steps",
    "max_train_steps": "max_steps",
    "checkpointing_steps": "save_steps",
}


@dataclass
class Arguments:
    model: str = field(
        default="bert-base-cased", metadata={"help": "hub id, local folder, or tiny-random"}
    )
    train: str = field(
        default_factory=lambda: kit.channel("train", "training") or "sample",
        metadata={"help": "file, folder, or `sample`"},
    )
    validation: Optional[str] = field(
        default_factory=lambda: kit.channel("validation", "test"),
        metadata={"help": "as --train; default: a part of it"},
    )
    validation_fraction: float = field(
        default=0.1, metadata={"help": "how much of it is then held out"}
    )
    encoding: Optional[str] = field(
        default=None, metadata={"help": "of files that are not UTF-8: latin-1, cp1252"}
    )
    text_column: Optional[str] = field(
        default=None, metadata={"help": "default: by the names that data sets use"}
    )
    label_column: Optional[str] = field(
        default=None, metadata={"help": "default: by the names that data sets use"}
    )
    num_labels: Optional[int] = field(
        default=None, metadata={"help": "default: as many as the training data has"}
    )
    epochs: int = 3
    max_steps: int = field(default=-1, metadata={"help": "in place of --epochs"})
    per_device_batch_size: int = field(
        default=16, metadata={"help": "examples per worker and micro-batch"}
    )
    gradient_accumulation_steps: int = field(
        default=1, metadata={"help": "micro-batches per optimizer step"}
    )
    learning_rate: float = field(default=5e-5, metadata={"help": "at its peak"})
    weight_decay: float = field(
        default=0.01, metadata={"help": "of weights; biases and norms have none"}
    )
    lr_scheduler_type: str = "linear"
    warmup_ratio: float = field(
        default=0.1, metadata={"help": "part of the steps in which the rate rises from 0"}
    )
    warmup_steps: int = field(default=0, metadata={"help": "in place of --warmup_ratio"})
    max_grad_norm: float = field(default=1.0, metadata={"help": "0: do not clip"})
    max_length: Optional[int] = field(
        default=None,
        metadata={"help": "tokens per text at most; default: 128, or what the model takes"},
    )
    group_by_length: bool = field(
        default=True, metadata={"help": "texts of like length share a step: less padding"}
    )
    bf16: Optional[bool] = field(
        default=None,
        metadata={
            "help": "compute in bfloat16, weights stay in float32; default: where the device has it"
        },
    )
    torch_compile: bool = False
    gradient_checkpointing: bool = field(
        default=False, metadata={"help": "less memory, more computing"}
    )
    attn_implementation: Optional[str] = field(
        default=None, metadata={"help": "eager, sdpa, flash_attention_2"}
    )
    dataloader_num_workers: int = field(
        default=0, metadata={"help": "processes that make batches ahead"}
    )
    seed: int = 42
    logging_steps: int = 20
    save_steps: int = field(
        default=200, metadata={"help": "between checkpoints, where there is a --checkpoint_dir"}
    )
    model_dir: str = field(default_factory=kit.default_model_dir)
    checkpoint_dir: Optional[str] = field(
        default_factory=lambda: str(CHECKPOINTS) if CHECKPOINTS.is_dir() else None
    )


def parse_arguments(argv: Optional[Sequence[str]] = None) -> Arguments:
    args: Arguments
    (args,) = parse_own((Arguments,), argv, __doc__, renamed=RENAMED)
    kit.check_folder("model_dir", args.model_dir)
    kit.check_folder("checkpoint_dir", args.checkpoint_dir)
    if args.bf16 is None:
        args.bf16 = kit.has_bf16(choose())
    return args


# --- data ---


def load_datasets(args: Arguments, tokenizer: Any, max_length: int) -> Any:
    """`train` and `validation`, as the model takes them, and the columns label and length."""
    data_args = DataArguments(
        train_file=args.train, validation_file=args.validation, encoding=args.encoding
    )
    raw_datasets = label_sets(read_sets(data_args, "reviews.csv"), args)
    if not isinstance(raw_datasets["train"].features["label"], ClassLabel):
        raise UsageError(
            "--train: got scores in the column of labels, wanted classes; name one with --label_column"
        )
    train, held_out = map(len, raw_datasets.values())
    sm_spot.say(f"read {train} texts to train on and {held_out} held out")

    def preprocess(rows: Any) -> Any:
        return tokenizer(rows["text"], truncation=True, max_length=max_length, return_length=True)

    columns = [name for name in raw_datasets["train"].column_names if name != "label"]
    return raw_datasets.map(preprocess, batched=True, remove_columns=columns)


class EpochSampler(Sampler):  # type: ignore[misc]  # torch is untyped here
    """The whole steps of one epoch, in an order that is a function of seed and epoch: the same
    after a resume.

    Every worker has the same one, and Accelerate deals its batches out in turn: what
    DistributedSampler does for a plain loop. Texts of like length share a step; the step with the
    longest comes first: where memory lacks, it ends there.
    """

    def __init__(
        self, lengths: Sequence[int], samples_per_step: int, seed: int, *, by_length: bool
    ) -> None:
        self.lengths = lengths
        self.samples_per_step = samples_per_step
        self.seed = seed
        self.by_length = by_length
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths) // self.samples_per_step * self.samples_per_step

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + self.epoch) % 2**31)
        if self.by_length:
            order = get_length_grouped_indices(
                self.lengths, self.samples_per_step, generator=generator
            )
        else:
            order = torch.randperm(len(self.lengths), generator=generator).tolist()
        return iter(order[: len(self)])


# --- one run ---


class Run:
    """Model, data and progress of one training."""

    def __init__(
        self, args: Arguments, accelerator: Accelerator, model: Any, datasets: Any, tokenizer: Any
    ) -> None:
        self.args = args
        self.accelerator = accelerator
        self.stop = StopRequest()
        self.checkpoints: Optional[Checkpoints] = None
        self.step = 0
        self.started = 0.0  # 0: the first step is done
        train = datasets["train"]
        micro_batches = args.gradient_accumulation_steps * accelerator.num_processes
        self.samples_per_step = args.per_device_batch_size * micro_batches
        self.meter = Meter(self.samples_per_step)
        self.steps_per_epoch = len(train) // self.samples_per_step
        self.total_steps = self.steps_per_epoch * args.epochs
        if args.max_steps > 0:
            self.total_steps = args.max_steps
        if kit.graphs_only():
            self.total_steps = min(self.total_steps, kit.GRAPHS_ONLY_STEPS)
        # Since the last line. Uploaded: to XLA a constant would be another graph.
        self.losses = torch.zeros(()).to(accelerator.device)
        self.steps = 0
        self.sampler = EpochSampler(
            train["length"], self.samples_per_step, args.seed, by_length=args.group_by_length
        )
        pad = DataCollatorWithPadding(tokenizer, **kit.padding(datasets, args, None))
        loaders = {}
        for name, collate in (("train", self.meter.counting(pad, model)), ("validation", pad)):
            loaders[name] = DataLoader(
                datasets[name].remove_columns("length"),
                args.per_device_batch_size,
                sampler=self.sampler if name == "train" else None,
                drop_last=name == "train",
                collate_fn=collate,
                num_workers=args.dataloader_num_workers,
                # of its own: a loader draws from torch's, and dropout would differ after a resume
                generator=torch.Generator(),
            )
        optimizer = adamw(model, args.learning_rate, args.weight_decay)
        # Batches to the device, gradients reduced, each worker its share: DistributedDataParallel
        # on GPUs. On XLA it is MpDeviceLoader, which uploads in the background and cuts the graph
        # (xm.mark_step) between two batches, and optimizer.step() reduces the gradients first, as
        # xm.optimizer_step does.
        self.model, self.optimizer, self.train_loader, self.eval_loader = accelerator.prepare(
            model, optimizer, loaders["train"], loaders["validation"]
        )
        accelerator._dataloaders.clear()  # noqa: SLF001 - their state is not kept, and on XLA save_state would fail over them
        warmup = args.warmup_steps or int(args.warmup_ratio * self.total_steps)
        self.scheduler = get_scheduler(args.lr_scheduler_type, optimizer, warmup, self.total_steps)
        accelerator.register_for_checkpointing(self.scheduler)

    def say_metrics(self, values: dict[str, Any], gauges: Optional[dict[str, Any]] = None) -> None:
        if not kit.graphs_only():
            epoch = round(self.step / self.steps_per_epoch, 4)
            line = {**values, "epoch": epoch, "step": self.step, **(gauges or {})}
            sm_spot.say(sm_spot.metric_line(line))


def adamw(model: Any, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """No decay for biases and norms; in one kernel where torch has one for the device."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": weight_decay},
        {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
    ]
    fused = weights[0].device.type in {"cpu", "cuda"}
    return torch.optim.AdamW(groups, lr=learning_rate, fused=fused)


def loss_of(run: Run, batch: dict[str, Any]) -> tuple[Any, Any]:
    """Loss of each example and its logits in float32; on a device with bfloat16 computed in it.

    By autocast, and on XLA never by XLA_USE_BF16: that turns the attention mask's minimum into
    infinities.
    """
    device = run.accelerator.device.type
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    with torch.autocast(device, dtype=torch.bfloat16, enabled=bool(run.args.bf16)):
        logits = run.model(**inputs).logits.float()
    return torch.nn.functional.cross_entropy(logits, batch["labels"], reduction="none"), logits


def fit(run: Run) -> None:
    """Every step still to be done; raises Interrupted when any worker was asked to stop."""
    run.started = time.perf_counter()
    run.model.train()
    while run.step < run.total_steps:
        train_epoch(run)
        run.meter.pause()
        if run.step < run.total_steps:
            run.say_metrics(evaluate(run))


def train_epoch(run: Run) -> None:
    """What of it is still to be done."""
    args = run.args
    accelerator = run.accelerator
    run.sampler.epoch, done = divmod(run.step, run.steps_per_epoch)
    loader = run.train_loader
    if done:
        loader = accelerator.skip_first_batches(loader, done * args.gradient_accumulation_steps)
    for batch in loader:  # on XLA each cuts the graph
        if accelerator.sync_gradients:  # a step begins, and dropout is a function of these
            run.meter.begin_step()
            sm_spot.seed(args.seed, run.step, accelerator.process_index)
        # only the last micro-batch talks to the other workers
        with accelerator.accumulate(run.model):
            loss = loss_of(run, batch)[0].mean()
            accelerator.backward(loss)
            if accelerator.sync_gradients:  # on XLA Accelerate's step() reduces whatever this says
                if args.max_grad_norm > 0:
                    accelerator.clip_grad_norm_(run.model.parameters(), args.max_grad_norm)
                run.optimizer.step()
                run.optimizer.zero_grad()
        run.losses += loss.detach() / args.gradient_accumulation_steps
        if accelerator.sync_gradients:
            run.scheduler.step()
            end_step(run)
        if run.step == run.total_steps:
            break


def end_step(run: Run) -> None:
    """What is said and saved waits for the device, and so does not happen in every step."""
    if choose() == "xla":
        sm_spot.cut_graph()  # xm.mark_step: whoever now fetches a number compiles nothing more
    run.meter.end_step()
    run.step += 1
    run.steps += 1
    last = run.step == run.total_steps
    stopping = run.stop.due() and not last
    if run.started:
        mean_loss(run)
        seconds = round(time.perf_counter() - run.started, 3)
        run.started = 0.0
        run.say_metrics({"first_step_seconds": seconds, "total_steps": run.total_steps})
        if run.args.logging_steps > 1:
            run.meter.lap()  # compilation and warm-up are in no step line's speed
    if run.step % run.args.logging_steps == 0:
        values = {"loss": mean_loss(run), "learning_rate": run.scheduler.get_last_lr()[0]}
        run.say_metrics(values, run.meter.lap())
        run.losses = torch.zeros(()).to(run.accelerator.device)
        run.steps = 0
    if stopping or last or run.step % run.args.save_steps == 0:
        save_checkpoint(run)
    if stopping:
        interrupt(run)


def mean_loss(run: Run) -> float:
    """Since the last line, of all workers."""
    losses = run.losses
    if run.accelerator.num_processes > 1:  # alone it would be one more graph on XLA
        losses = run.accelerator.reduce(losses, reduction="mean")
    loss = float(losses.cpu()) / run.steps
    kit.refuse_nan(loss)
    return round(loss, 6)


def evaluate(run: Run) -> dict[str, Any]:
    """Loss and accuracy over the held-out texts, each counted once, whichever worker had it.

    Raises Interrupted where any worker was asked to stop on the way: an evaluation can take longer
    than there is time.
    """
    run.model.eval()
    figures = []  # of each batch: losses, and whether the guess is right
    for batch in run.eval_loader:
        if run.stop.due("evaluation"):
            save_checkpoint(run)
            interrupt(run)
        with torch.no_grad():
            loss, logits = loss_of(run, batch)
        right = (logits.argmax(dim=-1) == batch["labels"]).float()
        gathered = run.accelerator.gather_for_metrics(torch.stack([loss, right], dim=1))
        figures.append(gathered.cpu())  # without the last batch's fillers
    run.model.train()
    every = torch.cat(figures)
    loss, accuracy = every.mean(dim=0).tolist()
    return {
        "eval_loss": round(loss, 6),
        "eval_accuracy": round(accuracy, 6),
        "eval_samples": len(every),
    }


# --- what is kept ---


def save_checkpoint(run: Run) -> None:
    """Model, optimizer and schedule, sealed in the background."""
    if run.checkpoints is None or run.checkpoints.saved_step == run.step:
        return
    run.checkpoints.finish()
    run.accelerator.save_state(str(run.checkpoints.path(run.step)))
    run.checkpoints.seal_together(run.step, background=True)


def resume(run: Run, folder: str, data: Any) -> None:
    """From the newest checkpoint that every host has complete, if there is one."""
    identity = {name: getattr(run.args, name) for name in IDENTITY}
    identity["total_steps"] = run.total_steps
    identity["samples_per_step"] = run.samples_per_step
    identity["data"] = kit.fingerprint(data)
    newest = sm_spot.last_complete_checkpoint(folder, identity)
    run.checkpoints = Checkpoints(folder, identity, sm_spot.KEEP)
    if newest:
        # by way of the host: safetensors 0.8 opens no file on the device neuron
        run.accelerator.load_state(newest, map_location="cpu")
        run.step = run.checkpoints.saved_step = run.scheduler.last_epoch


def interrupt(run: Run) -> NoReturn:
    kept = "no --checkpoint_dir, nothing saved"
    if run.checkpoints is not None:
        kept = run.checkpoints.kept(run.step)
    sm_spot.barrier()  # nobody leaves, and makes torchrun kill the others, before all is saved
    raise Interrupted(f"after step {run.step} of {run.total_steps}; {kept}")


def save_model(run: Run, tokenizer: Any) -> None:
    """As `from_pretrained` reads it. `accelerator.save` writes on the main worker; on XLA it is
    xm.save, which first brings every tensor to the host.
    """
    state = run.accelerator.get_state_dict(run.model)
    model = run.accelerator.unwrap_model(run.model, keep_torch_compile=False)
    if run.accelerator.is_main_process:
        state = {name: tensor.cpu() for name, tensor in state.items()}
        model.save_pretrained(
            run.args.model_dir, state_dict=state, save_function=run.accelerator.save
        )
        tokenizer.save_pretrained(run.args.model_dir)


# --- main ---


def make_accelerator(args: Arguments) -> Accelerator:
    """The workers connected: gloo, NCCL, SMDDP, XLA or Neuron, by what there is."""
    if is_sagemaker_dp_enabled():
        PartialState(_use_sagemaker_dp=True)
    ddp = DistributedDataParallelKwargs(
        find_unused_parameters=not args.gradient_checkpointing, gradient_as_bucket_view=True
    )
    return Accelerator(
        cpu=choose() == "cpu",
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        kwargs_handlers=[ddp],
    )


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = parse_arguments(argv)
    accelerator = make_accelerator(args)
    args.device = accelerator.device  # type: ignore[attr-defined]  # as TrainingArguments has it
    with kit.loading_turn():
        tokenizer = kit.load_tokenizer(args.model)
        config = kit.load_config(args.model, tokenizer)
        max_length = kit.length_of("max_length", args.max_length, 128, tokenizer, config)
        datasets = load_datasets(args, tokenizer, max_length)
        names = datasets["train"].features["label"].names
        config.id2label = dict(enumerate(names))
        config.label2id = {label: number for number, label in enumerate(names)}
        model = kit.load_model(
            AutoModelForSequenceClassification,
            args.model,
            config,
            tokenizer,
            args,
            ignore_mismatched_sizes=True,
            **kit.attention_of(args),
        )
    if args.gradient_checkpointing:
        model.gradient_checkpointing_enable()
    if args.torch_compile:  # Neuron's compiler is another backend than the default
        model = torch.compile(model, backend="neuron" if choose() == "neuron" else "inductor")
    micro_batches = args.gradient_accumulation_steps * accelerator.num_processes
    kit.check_size(datasets["train"], args.per_device_batch_size * micro_batches)
    run = Run(args, accelerator, model, datasets, tokenizer)
    sm_spot.say(
        f"{args.model} on {accelerator.device}: {accelerator.num_processes} worker(s), "
        f"{'bfloat16' if args.bf16 else 'float32'}, {run.samples_per_step} samples per step, {run.total_steps} steps"
    )
    if args.checkpoint_dir and not kit.graphs_only():
        resume(run, args.checkpoint_dir, datasets["train"])
    try:
        fit(run)
    finally:
        if run.checkpoints is not None:
            run.checkpoints.finish()
    labels = Counter(datasets["validation"]["label"])
    commonest = Counter(datasets["train"]["label"]).most_common(1)[0][0]
    baseline = round(labels[commonest] / len(datasets["validation"]), 6)  # what a model must beat
    run.say_metrics({**evaluate(run), "baseline_majority_accuracy": baseline})
    run.say_metrics(run.meter.summary())
    if not kit.graphs_only():
        save_model(run, tokenizer)


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))
