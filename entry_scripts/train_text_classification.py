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

import importlib.util
import shutil
import time
from dataclasses import dataclass, field
from typing import Any, Iterator, NoReturn, Optional, Sequence

import kit.trainer as kit
import sm_spot
from kit.data import read_table
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
from kit.labels import classified_sets, head_for
from kit.models import length_of, load_config, load_model, load_tokenizer
from sm_spot import Checkpoints, Interrupted, StopRequest, UsageError

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs, PartialState
from datasets import ClassLabel, Dataset, DatasetDict
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
    if args.baselines and not importlib.util.find_spec("sklearn"):
        wanted = "wanted the library scikit-learn, which is not here"
        raise UsageError(f"--baselines: {wanted}; install it, or drop the flag")
    check_folder("model_dir", args.model_dir)
    check_folder("checkpoint_dir", args.checkpoint_dir)
    if args.bf16 is None:
        args.bf16 = has_bf16(choose())
    return args


# --- data ---


def load_raw_datasets(args: Arguments) -> DatasetDict:
    """`train` and `eval`: the columns text and label."""
    tables = {}
    for flag, name, split in (("train", "train", "train"), ("validation", "eval", "validation")):
        where = getattr(args, flag)
        if where:
            path = SAMPLES / "reviews.csv" if where == "sample" else where
            tables[name] = read_table(path, flag, split=split, encoding=args.encoding)
    raw_datasets = classified_sets(tables, args)
    train = raw_datasets["train"]
    if not isinstance(train.features["label"], ClassLabel):
        raise UsageError(
            "--train: got scores in the column of labels, wanted classes; name one with --label_column"
        )
    if "text_pair" in train.column_names:
        raise UsageError("--train: got pairs of texts, wanted texts; name one with --text_column")
    sm_spot.say(f"read {len(train)} texts to train on and {len(raw_datasets['eval'])} held out")
    return raw_datasets


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
        self, args: Arguments, accelerator: Accelerator, model: Any, datasets: Any, tokenizer: Any
    ) -> None:
        self.args = args
        self.accelerator = accelerator
        self.progress = Progress()
        self.stop = StopRequest()
        self.checkpoints: Optional[Checkpoints] = None
        self.saved_step = 0
        self.first_step = 1
        self.started = 0.0
        self.train = datasets["train"]
        workers = accelerator.num_processes
        micro_batches = args.gradient_accumulation_steps
        self.samples_per_step = args.per_device_batch_size * micro_batches * workers
        self.meter = Meter(self.samples_per_step, micro_batches)
        self.steps_per_epoch = len(self.train) // self.samples_per_step
        if graphs_only():
            args.epochs = 1
            self.steps_per_epoch = min(self.steps_per_epoch, GRAPHS_ONLY_STEPS)
            self.train = self.train.select(range(self.steps_per_epoch * self.samples_per_step))
        self.total_steps = self.steps_per_epoch * args.epochs
        # uploaded: to XLA a constant would be another graph
        self.losses = torch.zeros(()).to(accelerator.device)
        self.sampler = EpochSampler(
            self.train["length"], self.samples_per_step, args.seed, by_length=args.group_by_length
        )
        pad = DataCollatorWithPadding(tokenizer, **kit.padding(datasets))
        train_loader = DataLoader(
            self.train.remove_columns("length"),
            args.per_device_batch_size,
            sampler=self.sampler,
            drop_last=True,
            collate_fn=self.meter.counting(pad),
            num_workers=args.dataloader_num_workers,
            # of its own: a loader draws from torch's, and dropout would differ after a resume
            generator=torch.Generator(),
        )
        eval_loader = DataLoader(
            datasets["eval"].remove_columns("length"),
            args.per_device_batch_size,
            collate_fn=pad,
            generator=torch.Generator(),
        )
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

    def say_metrics(self, values: dict[str, Any], gauges: Optional[dict[str, Any]] = None) -> None:
        if not graphs_only():
            step = self.progress.step
            epoch = round(step / self.steps_per_epoch, 4)
            line = {**values, "epoch": epoch, "step": step, **(gauges or {})}
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
    with torch.autocast(device, dtype=torch.bfloat16, enabled=bool(run.args.bf16)):
        logits = run.model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).logits.float()
    return torch.nn.functional.cross_entropy(logits, batch["labels"], reduction="none"), logits


def fit(run: Run) -> None:
    """Every step still to be done; raises Interrupted when any worker was asked to stop."""
    run.started = time.perf_counter()
    run.first_step = run.progress.step + 1
    run.model.train()
    for epoch in range(run.progress.step // run.steps_per_epoch, run.args.epochs):
        run.meter.start()
        train_epoch(run, epoch)
        run.meter.stop()
        if epoch + 1 < run.args.epochs:
            run.say_metrics(evaluate(run))
    run.meter.lap()


def train_epoch(run: Run, epoch: int) -> None:
    """What of it is still to be done."""
    args = run.args
    accelerator = run.accelerator
    run.sampler.epoch = epoch
    loader = run.train_loader
    done = run.progress.step - epoch * run.steps_per_epoch
    if done:
        loader = accelerator.skip_first_batches(loader, done * args.gradient_accumulation_steps)
    for batch in run.meter.timed(loader):  # on XLA each cuts the graph
        if accelerator.sync_gradients:  # a step begins, and dropout is a function of these
            sm_spot.seed(args.seed, run.progress.step, accelerator.process_index)
        # only the last micro-batch talks to the other workers
        with accelerator.accumulate(run.model):
            loss = loss_of(run, batch)[0].mean()
            accelerator.backward(loss)
            if accelerator.sync_gradients and args.max_grad_norm > 0:
                accelerator.clip_grad_norm_(run.model.parameters(), args.max_grad_norm)
            run.optimizer.step()
            run.optimizer.zero_grad()
        run.losses += loss.detach() / args.gradient_accumulation_steps
        if accelerator.sync_gradients:
            run.scheduler.step()
            end_step(run)


def end_step(run: Run) -> None:
    """What is said and saved waits for the device, and so does not happen in every step."""
    if choose() == "xla":
        sm_spot.cut_graph()  # xm.mark_step: whoever now fetches a number compiles nothing more
    args = run.args
    progress = run.progress
    run.meter.step()
    progress.step += 1
    progress.window_steps += 1
    first = progress.step == run.first_step
    last = progress.step == run.total_steps
    logging = progress.step % args.logging_steps == 0
    saving = last or progress.step % args.save_steps == 0
    alone_and_asked = run.stop.seen and run.accelerator.num_processes == 1
    if not (first or last or logging or saving or alone_and_asked):
        return
    collect_losses(run)
    stopping = run.stop.agreed() and not last
    if first:
        seconds = round(time.perf_counter() - run.started, 3)
        run.say_metrics({"first_step_seconds": seconds, "total_steps": run.total_steps})
    if logging:
        log_step(run)
    elif first:
        run.meter.lap()  # compilation and warm-up are in no step line's speed
    if saving or stopping:
        save_checkpoint(run)
    if stopping:
        interrupt(run)


def collect_losses(run: Run) -> None:
    """From the device, as the mean of all workers."""
    losses = run.losses
    if run.accelerator.num_processes > 1:  # alone it would be one more graph on XLA
        losses = run.accelerator.reduce(losses, reduction="mean")
    loss = float(losses.cpu())
    refuse_nan(loss)
    run.losses = torch.zeros(()).to(run.accelerator.device)
    run.progress.window_loss += loss
    run.progress.total_loss += loss


def log_step(run: Run) -> None:
    progress = run.progress
    loss = round(progress.window_loss / progress.window_steps, 6)
    rate = run.scheduler.get_last_lr()[0]
    run.say_metrics({"loss": loss, "learning_rate": rate}, run.meter.lap())
    progress.window_loss = 0.0
    progress.window_steps = 0


def evaluate(run: Run) -> dict[str, Any]:
    """Loss and accuracy over the held-out texts, each counted once, whichever worker had it.

    Raises Interrupted where any worker was asked to stop on the way: an evaluation can take longer
    than there is time.
    """
    run.model.eval()
    figures = []  # of each batch: losses, and whether the guess is right
    for number, batch in enumerate(run.eval_loader):
        if number % ASK_BATCHES == 0 and run.stop.agreed():
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
    """Model, optimizer, schedule and progress, sealed in the background. A full disk does not end
    the run.
    """
    step = run.progress.step
    if run.checkpoints is None or run.saved_step == step:
        return
    run.checkpoints.finish()
    refused = ""
    try:
        run.accelerator.save_state(str(run.checkpoints.path(step)))
    except Exception as error:
        if not sm_spot.disk_refused(error):
            raise
        refused = sm_spot.first_line(error)
    if sm_spot.agree(int(bool(refused))):
        if run.accelerator.is_local_main_process:
            shutil.rmtree(run.checkpoints.path(step), ignore_errors=True)
        sm_spot.say(
            f"checkpoint of step {step} is not saved ({refused}); going on, the one before is kept"
        )
        return
    run.saved_step = step
    run.checkpoints.seal_together(step, background=True)


def resume(run: Run, folder: str) -> None:
    """From the newest checkpoint that every host has complete, if there is one."""
    identity = {name: getattr(run.args, name) for name in IDENTITY}
    identity["total_steps"] = run.total_steps
    identity["samples_per_step"] = run.samples_per_step
    identity["data"] = kit.fingerprint(run.train)
    newest = sm_spot.last_complete_checkpoint(folder, identity)
    run.checkpoints = Checkpoints(folder, identity, sm_spot.KEEP)
    if newest:
        run.accelerator.load_state(newest)
        run.saved_step = run.progress.step


def interrupt(run: Run) -> NoReturn:
    kept = "no --checkpoint_dir, nothing saved"
    if run.checkpoints is not None:
        kept = run.checkpoints.kept(run.progress.step)
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
    methods = {"majority": DummyClassifier(), "bag_of_words": LogisticRegression(max_iter=1000)}
    for name, method in methods.items():
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


def make_model(args: Arguments, config: Any, tokenizer: Any, device: Any) -> Any:
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
        ).to(device)
    if args.gradient_checkpointing:
        model.gradient_checkpointing_enable()
    if args.torch_compile:  # Neuron's compiler is another backend than the default
        model = torch.compile(model, backend="neuron" if device.type == "neuron" else "inductor")
    return model


def main(argv: Sequence[str] | None = None) -> None:
    args = parse_arguments(argv)
    accelerator = make_accelerator(args)
    raw_datasets = load_raw_datasets(args)
    with loading_turn():
        tokenizer = load_tokenizer(args.model)
    config = load_config(args.model, tokenizer, **head_for(raw_datasets["train"]))
    max_length = length_of("max_length", args.max_length, 128, config)

    def tokenize(examples: Any) -> Any:
        return tokenizer(
            examples["text"], truncation=True, max_length=max_length, return_length=True
        )

    datasets = raw_datasets.map(tokenize, batched=True, remove_columns=["text"])
    datasets = datasets.select_columns(["input_ids", "length", "label"])
    datasets = datasets.rename_column("label", "labels")
    micro_batches = args.gradient_accumulation_steps * accelerator.num_processes
    kit.check_size(datasets["train"], args.per_device_batch_size * micro_batches)
    model = make_model(args, config, tokenizer, accelerator.device)
    run = Run(args, accelerator, model, datasets, tokenizer)
    longest = max(*datasets["train"]["length"], *datasets["eval"]["length"])
    sm_spot.say(
        f"{args.model} on {accelerator.device}: {accelerator.num_processes} worker(s), "
        f"{'bfloat16' if args.bf16 else 'float32'}, batches of {args.per_device_batch_size} x up to {longest} tokens, "
        f"{run.samples_per_step} samples per step, {run.total_steps} steps"
    )
    if args.checkpoint_dir and not graphs_only():
        resume(run, args.checkpoint_dir)
    try:
        fit(run)
    finally:
        if run.checkpoints is not None:
            run.checkpoints.finish()
    run.say_metrics(evaluate(run))
    train_loss = round(run.progress.total_loss / run.total_steps, 6)
    run.say_metrics({**run.meter.summary(), "train_loss": train_loss})
    if not graphs_only():
        save_model(run, tokenizer)
        if args.baselines:
            sm_spot.say(sm_spot.metric_line(baseline_accuracies(*raw_datasets.values())))


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))
