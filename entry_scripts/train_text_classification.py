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

import math
import shutil
import time
from dataclasses import dataclass, field
from typing import Any, Iterator, NoReturn, Optional, Sequence

import kit.trainer as kit
import sm_spot
from kit.data import pick_columns, read_table, say_what_was_read
from kit.device import Meter, choose, has_bf16, loading_turn, wants_smddp
from kit.job import (
    GRAPHS_ONLY_STEPS,
    SAMPLES,
    channel,
    check_folder,
    default_checkpoint_dir,
    default_model_dir,
    graphs_only,
    refuse_nan,
)
from kit.labels import classified, drop_missing, hold_out, labels_of
from kit.models import load_config, load_model, load_tokenizer, longest_input
from sm_spot import Checkpoints, Interrupted, StopRequest, UsageError

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs, PartialState
from datasets import Dataset
from torch.utils.data import DataLoader, Sampler
from transformers import (
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    get_linear_schedule_with_warmup,
    set_seed,
)
from transformers.trainer_pt_utils import get_length_grouped_indices

ASK_BATCHES = 20  # of an evaluation, between two questions whether anybody was asked to stop
# Two runs that agree in these are the same run. The number of workers is not among them.
IDENTITY = (
    "model",
    "seed",
    "epochs",
    "learning_rate",
    "weight_decay",
    "warmup_ratio",
    "max_grad_norm",
    "bf16",
    "group_by_length",
    "gradient_checkpointing",
)


@dataclass
class Arguments:
    model: str = field(
        default="bert-base-cased", metadata={"help": "hub id, local folder, or tiny-random"}
    )
    train: str = field(
        default_factory=lambda: channel("train", "training") or "sample",
        metadata={"help": "file, folder, or `sample`"},
    )
    validation: Optional[str] = field(
        default_factory=lambda: channel("validation", "test"),
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
    per_device_batch_size: int = field(
        default=16, metadata={"help": "examples per worker and micro-batch"}
    )
    gradient_accumulation_steps: int = field(
        default=1, metadata={"help": "micro-batches per optimizer step"}
    )
    learning_rate: float = field(
        default=5e-5, metadata={"help": "at its peak; from there linear to 0"}
    )
    weight_decay: float = field(
        default=0.01, metadata={"help": "of weights; biases and norms have none"}
    )
    warmup_ratio: float = field(
        default=0.1, metadata={"help": "part of the steps in which the rate rises from 0"}
    )
    max_grad_norm: float = field(default=1.0, metadata={"help": "0: do not clip"})
    max_length: int = field(
        default=128, metadata={"help": "tokens per text at most; shorter data, shorter batches"}
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
    ddp_find_unused_parameters: bool = field(
        default=True, metadata={"help": "False is faster where all are used"}
    )
    dataloader_num_workers: int = field(
        default=0, metadata={"help": "processes that make batches ahead"}
    )
    seed: int = 42
    logging_steps: int = 20
    save_steps: int = field(
        default=200, metadata={"help": "between checkpoints, where there is a --checkpoint_dir"}
    )
    baselines: bool = field(
        default=False, metadata={"help": "also print what simple methods reach on the same texts"}
    )
    model_dir: str = field(default_factory=default_model_dir)
    checkpoint_dir: Optional[str] = field(default_factory=default_checkpoint_dir)


def parse_arguments(argv: Sequence[str] | None = None) -> Arguments:
    args: Arguments
    args, _notes = kit.parse_own(Arguments, argv, __doc__)
    if args.baselines:
        try:
            import sklearn  # noqa: F401 - whether it is there
        except ImportError as error:
            wanted = "wanted the library scikit-learn, which is not here"
            raise UsageError(f"--baselines: {wanted}; install it, or drop the flag") from error
    check_folder("model_dir", args.model_dir)
    check_folder("checkpoint_dir", args.checkpoint_dir)
    if args.bf16 is None:
        args.bf16 = has_bf16(choose())
    return args


# --- data ---


def load_raw_datasets(args: Arguments) -> tuple[Dataset, Dataset]:
    """What to train on, and what is held out: the columns text and label."""
    where = SAMPLES / "reviews.csv" if args.train == "sample" else args.train
    table = read_table(where, "train", split="train", encoding=args.encoding)
    columns = pick_columns(table, text=args.text_column, label=args.label_column)
    labels = labels_of(table, columns.label, num_labels=args.num_labels)
    table, labels = drop_missing(table, columns, labels)
    if not labels.names:
        raise UsageError(f"--train: got scores in {columns.label!r}, wanted classes")
    train = classified(table, columns._replace(pair=None), labels)
    tables = {"train": table}
    if args.validation:
        where = SAMPLES / "reviews.csv" if args.validation == "sample" else args.validation
        other = read_table(where, "validation", split="validation", encoding=args.encoding)
        columns = pick_columns(other, text=args.text_column, label=args.label_column)
        other, others_labels = drop_missing(
            other, columns, labels_of(other, columns.label, names=labels.names)
        )
        held_out = classified(other, columns._replace(pair=None), others_labels)
        tables["validation"] = other
    else:
        train, held_out = hold_out(train, args.validation_fraction, table)
    say_what_was_read(tables)
    sm_spot.say(f"read {len(train)} texts to train on and {len(held_out)} held out")
    return train, held_out


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


class Progress:
    """What a checkpoint holds beside model, optimizer and schedule; Accelerate saves it with
    them.
    """

    def __init__(self) -> None:
        self.step = 0
        # since the last line
        self.window_loss = 0.0
        self.window_steps = 0
        self.total_loss = 0.0  # since the first step

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


class Run:
    """Model, data and progress of one training."""

    def __init__(
        self, args: Arguments, accelerator: Accelerator, model: Any, parts: Any, tokenizer: Any
    ) -> None:
        self.args = args
        self.accelerator = accelerator
        train, held_out = parts
        self.train = train
        workers = accelerator.num_processes
        self.samples_per_step = (
            args.per_device_batch_size * args.gradient_accumulation_steps * workers
        )
        self.steps_per_epoch = len(train) // self.samples_per_step
        self.total_steps = self.steps_per_epoch * args.epochs
        if graphs_only():
            self.total_steps = min(self.total_steps, GRAPHS_ONLY_STEPS)
        self.meter = Meter(self.samples_per_step)
        self.progress = Progress()
        self.stop = StopRequest()
        # uploaded: to XLA a constant would be another graph
        self.losses = torch.zeros(()).to(accelerator.device)

        self.longest = max(*train["length"], *held_out["length"])
        padding: dict[str, Any] = {"pad_to_multiple_of": 8}
        # every length of a batch is a graph of its own, and minutes of compilation
        if choose() == "xla":
            padding = {"padding": "max_length", "max_length": math.ceil(self.longest / 8) * 8}
        pad = DataCollatorWithPadding(tokenizer, **padding)

        def pad_and_count(features: Any) -> Any:
            batch = pad(features)
            # here, on the host: asking the device for a number would make it wait
            self.meter.batch(batch)
            return batch

        self.sampler = EpochSampler(
            train["length"], self.samples_per_step, args.seed, by_length=args.group_by_length
        )
        # A generator of its own: a loader draws from torch's, and dropout would differ after a
        # resume.
        how = {
            "batch_size": args.per_device_batch_size,
            "num_workers": args.dataloader_num_workers,
            "generator": torch.Generator(),
        }
        columns = ["length"]
        train_loader = DataLoader(
            train.remove_columns(columns),
            sampler=self.sampler,
            drop_last=True,
            collate_fn=pad_and_count,
            **how,
        )
        eval_loader = DataLoader(held_out.remove_columns(columns), collate_fn=pad, **how)
        optimizer = adamw(model, args.learning_rate, args.weight_decay)
        # Batches to the device, gradients reduced, each worker its share: DistributedDataParallel
        # on GPUs. On XLA it is MpDeviceLoader, which uploads in the background and cuts the graph
        # (xm.mark_step) between two batches, and optimizer.step() reduces the gradients first, as
        # xm.optimizer_step does.
        self.model, self.optimizer, self.train_loader, self.eval_loader = accelerator.prepare(
            model, optimizer, train_loader, eval_loader
        )
        accelerator._dataloaders.clear()  # noqa: SLF001 - their state is not kept, and on XLA save_state would fail over them
        self.scheduler = get_linear_schedule_with_warmup(
            optimizer, int(args.warmup_ratio * self.total_steps), self.total_steps
        )
        accelerator.register_for_checkpointing(self.scheduler, self.progress)

    def line(self, **values: Any) -> dict[str, Any]:
        epoch = round(self.progress.step / self.steps_per_epoch, 4)
        return {**values, "epoch": epoch, "step": self.progress.step}


def adamw(model: Any, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """No decay for biases and norms; in one kernel where torch has one for the device."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": weight_decay},
        {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0},
    ]
    fused = weights[0].device.type in {"cpu", "cuda"}
    return torch.optim.AdamW(groups, lr=learning_rate, fused=fused)


def say_metrics(values: dict[str, Any]) -> None:
    if not graphs_only():
        sm_spot.say(sm_spot.metric_line(values))


def loss_of(run: Run, batch: dict[str, Any]) -> tuple[Any, Any]:
    """Loss of each example and its logits in float32; on a device with bfloat16 computed in it.

    By autocast, and on XLA never by XLA_USE_BF16: that turns the attention mask's minimum into
    infinities.
    """
    device = run.accelerator.device.type
    with torch.autocast(device, dtype=torch.bfloat16, enabled=bool(run.args.bf16)):
        logits = run.model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).logits.float()
    return torch.nn.functional.cross_entropy(logits, batch["labels"], reduction="none"), logits


def take_step(run: Run, batches: Iterator[Any]) -> None:
    """The batches of one optimizer step, forward and backward, and the step. Nothing here waits for
    the device.
    """
    args = run.args
    accelerator = run.accelerator
    meter = run.meter
    # dropout is a function of these
    sm_spot.seed(args.seed, run.progress.step, accelerator.process_index)
    for _ in range(args.gradient_accumulation_steps):
        before = time.perf_counter()
        batch = next(batches)  # on XLA this cuts the graph
        meter.waited(time.perf_counter() - before)
        # only the last micro-batch talks to the other workers
        with accelerator.accumulate(run.model):
            loss = loss_of(run, batch)[0].mean()
            accelerator.backward(loss)
            if accelerator.sync_gradients and args.max_grad_norm > 0:
                accelerator.clip_grad_norm_(run.model.parameters(), args.max_grad_norm)
            run.optimizer.step()
            if accelerator.sync_gradients:
                run.scheduler.step()
            run.optimizer.zero_grad()
        run.losses += loss.detach() / args.gradient_accumulation_steps
    if choose() == "xla":
        sm_spot.cut_graph()  # xm.mark_step: whoever now fetches a number compiles nothing more
    meter.step()
    run.progress.step += 1
    run.progress.window_steps += 1


def collect(run: Run) -> bool:
    """Fetch the losses from the device and agree with the other workers: was any of us asked to
    stop?
    """
    losses = run.losses
    if run.accelerator.num_processes > 1:  # alone it would be one more graph on XLA
        losses = run.accelerator.reduce(losses, reduction="mean")
    loss = float(losses.cpu())
    refuse_nan(loss)
    run.losses = torch.zeros(()).to(run.accelerator.device)
    run.progress.window_loss += loss
    run.progress.total_loss += loss
    return run.stop.agreed()


def log_step(run: Run) -> None:
    progress = run.progress
    loss = round(progress.window_loss / progress.window_steps, 6)
    values = run.line(loss=loss, learning_rate=run.scheduler.get_last_lr()[0])
    say_metrics({**values, **run.meter.lap(run.args.gradient_accumulation_steps)})
    progress.window_loss = 0.0
    progress.window_steps = 0


def fit(run: Run, checkpoints: Checkpoints | None) -> None:  # noqa: C901 - one training, from top to bottom
    """Every step still to be done; raises Interrupted when any worker was asked to stop."""
    args = run.args
    progress = run.progress
    first_step = progress.step + 1
    started = time.perf_counter()
    run.model.train()
    while progress.step < run.total_steps:
        epoch, done = divmod(progress.step, run.steps_per_epoch)
        run.sampler.epoch = epoch
        loader = run.train_loader
        if done:
            loader = run.accelerator.skip_first_batches(
                loader, done * args.gradient_accumulation_steps
            )
        batches = iter(loader)
        run.meter.start()
        for _ in range(min(run.steps_per_epoch - done, run.total_steps - progress.step)):
            take_step(run, batches)
            first = progress.step == first_step
            last = progress.step == run.total_steps
            logging = progress.step % args.logging_steps == 0
            saving = checkpoints is not None and (last or progress.step % args.save_steps == 0)
            alone_and_asked = run.stop.seen and run.accelerator.num_processes == 1
            if not (first or last or logging or saving or alone_and_asked):
                continue  # what follows waits for the device, and so must not happen in every step
            stopping = collect(run) and not last
            if first:
                seconds = round(time.perf_counter() - started, 3)
                say_metrics({"first_step_seconds": seconds, "total_steps": run.total_steps})
            if logging:
                log_step(run)
            elif first:
                # compilation and warm-up are in no step line's speed
                run.meter.lap(args.gradient_accumulation_steps)
            if saving or stopping:
                save_checkpoint(run, checkpoints)
            if stopping:
                interrupt(run, checkpoints)
        for _ in batches:  # none is left: the loader says so, and Accelerate forgets it
            pass
        run.meter.stop()
        if progress.step < run.total_steps:
            metrics = evaluate(run)
            if metrics is None:
                save_checkpoint(run, checkpoints)
                interrupt(run, checkpoints)
            say_metrics(metrics)
    run.meter.lap(args.gradient_accumulation_steps)


def evaluate(run: Run) -> dict[str, Any] | None:
    """Loss and accuracy over the held-out texts, each counted once, whichever worker had it.

    None where any worker was asked to stop on the way: an evaluation can take longer than there is
    time.
    """
    run.model.eval()
    figures = []  # of each batch: losses, and whether the guess is right
    stopping = False
    with torch.no_grad():
        for number, batch in enumerate(run.eval_loader):
            if number % ASK_BATCHES == 0 and not stopping:
                stopping = run.stop.agreed()
            if stopping:
                continue  # to the loader's end, which is near: nothing is computed
            loss, logits = loss_of(run, batch)
            right = (logits.argmax(dim=-1) == batch["labels"]).float()
            gathered = run.accelerator.gather_for_metrics(torch.stack([loss, right], dim=1))
            figures.append(gathered.cpu())  # without the last batch's fillers
    run.model.train()
    if stopping:
        return None
    every = torch.cat(figures)
    loss, accuracy = every.mean(dim=0).tolist()
    samples = len(every)
    return run.line(
        eval_loss=round(loss, 6), eval_accuracy=round(accuracy, 6), eval_samples=samples
    )


# --- what is kept ---


def save_checkpoint(run: Run, checkpoints: Checkpoints | None) -> None:
    """Model, optimizer, schedule and progress, sealed in the background. A full disk does not end
    the run.
    """
    if checkpoints is None:
        return
    step = run.progress.step
    checkpoints.finish()
    refused = ""
    try:
        run.accelerator.save_state(str(checkpoints.path(step)))
    except Exception as error:
        if not sm_spot.disk_refused(error):
            raise
        refused = sm_spot.first_line(error)
    if sm_spot.agree(int(bool(refused))):
        if run.accelerator.is_local_main_process:
            shutil.rmtree(checkpoints.path(step), ignore_errors=True)
        sm_spot.say(
            f"checkpoint of step {step} is not saved ({refused}); going on, the one before is kept"
        )
        return
    checkpoints.seal_together(step, background=True)


def resume(run: Run, folder: str) -> Checkpoints:
    """From the newest checkpoint that every host has complete, if there is one."""
    identity = {name: getattr(run.args, name) for name in IDENTITY}
    identity["total_steps"] = run.total_steps
    identity["samples_per_step"] = run.samples_per_step
    identity["data"] = kit.fingerprint(run.train)
    checkpoints = Checkpoints(folder, identity, sm_spot.KEEP)
    checkpoints.claim()
    step = checkpoints.newest_of_all()
    if run.accelerator.is_local_main_process:
        checkpoints.put_aside(newer_than=step)
    sm_spot.barrier()
    if step:
        run.accelerator.load_state(str(checkpoints.path(step)))
    return checkpoints


def interrupt(run: Run, checkpoints: Checkpoints | None) -> NoReturn:
    kept = "no --checkpoint_dir, nothing saved"
    if checkpoints is not None:
        checkpoints.finish()
        saved = (
            not run.accelerator.is_local_main_process or checkpoints.saved_step == run.progress.step
        )
        kept = f"saved in {checkpoints.folder}" if saved else "not saved"
    sm_spot.barrier()  # nobody leaves, and makes torchrun kill the others, before all is saved
    raise Interrupted(f"after step {run.progress.step} of {run.total_steps}; {kept}")


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


def baseline_accuracies(train: Dataset, held_out: Dataset) -> dict[str, float]:
    """What a model must beat: always the commonest label, and counted words."""
    from sklearn.dummy import DummyClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    counter = CountVectorizer()
    seen = counter.fit_transform(train["text"])
    unseen = counter.transform(held_out["text"])
    accuracies = {}
    for name, method in {
        "majority": DummyClassifier(),
        "bag_of_words": LogisticRegression(max_iter=1000),
    }.items():
        accuracy = method.fit(seen, train["label"]).score(unseen, held_out["label"])
        accuracies[f"baseline_{name}_accuracy"] = round(float(accuracy), 6)
    return accuracies


# --- main ---


def make_accelerator(args: Arguments) -> Accelerator:
    """The workers connected: gloo, NCCL, SMDDP, XLA or Neuron, by what there is."""
    if wants_smddp():
        PartialState(_use_sagemaker_dp=True)
    ddp = DistributedDataParallelKwargs(
        find_unused_parameters=args.ddp_find_unused_parameters and not args.gradient_checkpointing,
        gradient_as_bucket_view=True,
    )
    return Accelerator(
        cpu=choose() == "cpu",
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        kwargs_handlers=[ddp],
    )


def check_sizes(args: Arguments, samples: int, longest: int, workers: int, config: Any) -> None:
    needed = args.per_device_batch_size * args.gradient_accumulation_steps * workers
    if samples < needed:
        sizes = f"{args.per_device_batch_size} per device x {workers} workers"
        wanted = f"wanted at least {needed} (= {sizes} x {args.gradient_accumulation_steps} micro-batches)"
        raise UsageError(
            f"--train: got {samples} examples, {wanted}; lower --per_device_batch_size"
        )
    takes = longest_input(config)
    if takes and longest > takes:
        raise UsageError(
            f"--max_length: got {args.max_length}, wanted at most {takes}, which the model takes"
        )


def main(argv: Sequence[str] | None = None) -> None:
    args = parse_arguments(argv)
    accelerator = make_accelerator(args)
    raw_train, raw_held_out = load_raw_datasets(args)
    with loading_turn():
        tokenizer = load_tokenizer(args.model)

    def tokenize(examples: Any) -> Any:
        tokens = tokenizer(
            examples["text"], truncation=True, max_length=args.max_length, return_length=True
        )
        return {
            "input_ids": tokens["input_ids"],
            "length": tokens["length"],
            "labels": examples["label"],
        }

    train = raw_train.map(tokenize, batched=True, remove_columns=["text", "label"])
    held_out = raw_held_out.map(tokenize, batched=True, remove_columns=["text", "label"])
    names = raw_train.features["label"].names
    label2id = {name: number for number, name in enumerate(names)}
    config = load_config(
        args.model,
        tokenizer,
        num_labels=len(names),
        id2label=dict(enumerate(names)),
        label2id=label2id,
    )
    longest = max(*train["length"], *held_out["length"])
    check_sizes(args, len(train), longest, accelerator.num_processes, config)

    attention = kit.ModelArguments(attn_implementation=args.attn_implementation).attention()
    with loading_turn():
        set_seed(args.seed)  # the new head, and all of tiny-random
        model = load_model(
            AutoModelForSequenceClassification,
            args.model,
            config,
            tokenizer,
            ignore_mismatched_sizes=True,
            **attention,
        ).to(accelerator.device)
    if args.gradient_checkpointing:
        model.gradient_checkpointing_enable()
    if args.torch_compile:  # Neuron's compiler is another backend than the default
        model = torch.compile(
            model, backend="neuron" if accelerator.device.type == "neuron" else "inductor"
        )
    run = Run(args, accelerator, model, (train, held_out), tokenizer)
    checkpoints = None
    if args.checkpoint_dir and not graphs_only():
        checkpoints = resume(run, args.checkpoint_dir)
    sm_spot.say(
        f"{args.model} on {accelerator.device}: {accelerator.num_processes} worker(s), "
        f"{'bfloat16' if args.bf16 else 'float32'}, batches of {args.per_device_batch_size} x up to {longest} tokens, "
        f"{run.samples_per_step} samples per step, {run.total_steps} steps, "
        f"{f'resuming after step {run.progress.step}' if run.progress.step else 'from the start'}"
    )
    try:
        fit(run, checkpoints)
    finally:
        if checkpoints is not None:
            checkpoints.finish()
    metrics = evaluate(run)
    if metrics is None:  # the last step's checkpoint is there
        interrupt(run, checkpoints)
    say_metrics(metrics)
    train_loss = round(run.progress.total_loss / run.total_steps, 6)
    say_metrics(run.line(**run.meter.summary(), train_loss=train_loss))
    if not graphs_only():
        save_model(run, tokenizer)
        if args.baselines:
            say_metrics(baseline_accuracies(raw_train, raw_held_out))


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))
