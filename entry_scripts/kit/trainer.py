"""Trainer, as it is, in a job that may be interrupted: flags of any version, one callback, resuming from proven checkpoints.

Flags are translated by what the installed TrainingArguments has, never by its version: the containers patch theirs.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import sys
import time
import warnings
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator, Mapping, NoReturn, Optional, Sequence

import sm_spot
from kit.data import Table, class_names, lengths_of, read_table, table_from
from kit.device import Meter, choose, detect, load_model, set_environment
from kit.job import CHECKPOINTS, GRAPHS_ONLY_STEPS, Console, check_folder, graphs_only, refuse_nan, refuse_unknown
from sm_spot import Checkpoints, SpotCallback, UsageError, first_line

import torch
from transformers import DataCollatorWithPadding, HfArgumentParser, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback

# Several names for one thing, with the same values; the first is today's.
SYNONYMS = (
    ("eval_strategy", "evaluation_strategy"),
    ("use_cpu", "no_cuda"),
    ("per_device_train_batch_size", "per_gpu_train_batch_size"),
    ("per_device_eval_batch_size", "per_gpu_eval_batch_size"),
    ("hub_model_id", "push_to_hub_model_id"),
    ("hub_token", "push_to_hub_token"),
    ("ddp_backend", "xpu_backend"),
    ("zero_1", "zero1"),  # optimum-neuron's, today and in its first versions
)
# As Hugging Face's examples for SageMaker call their hyperparameters.
OTHER_NAMES = {
    "--epochs": "--num_train_epochs",
    "--train_batch_size": "--per_device_train_batch_size",
    "--eval_batch_size": "--per_device_eval_batch_size",
    "--model_name": "--model_name_or_path",
}
# Of optimum-neuron's arguments, with the values that ask for no more than happens without it.
NEURON_ONLY: Mapping[str, tuple[str, ...] | None] = {
    "tensor_parallel_size": ("1",),
    "pipeline_parallel_size": ("1",),
    "pipeline_parallel_num_microbatches": ("-1", "1"),
    **dict.fromkeys(("zero_1", "zero1"), ("False", "false", "0")),
    **dict.fromkeys(
        (
            "disable_sequence_parallel",
            "kv_size_multiplier",
            "num_local_ranks_per_step",
            "use_xser",
        )
    ),
    **dict.fromkeys(
        (
            "async_save",
            "stochastic_rounding_enabled",
            "skip_cache_push",
            "use_autocast",
        )
    ),
}
# Of some version, and without a meaning, or with another way to say it, in another: left out with a line in the log.
SOMETIMES = frozenset(
    (
        "accelerator_config",
        "activation_checkpointing",
        "activation_checkpointing_kwargs",
        "adafactor",
        "auto_find_batch_size",
        "average_tokens_across_devices",
        "batch_eval_metrics",
        "bf16",
        "bf16_full_eval",
        "data_seed",
        "dataloader_in_order",
        "dataloader_multiprocessing_context",
        "dataloader_persistent_workers",
        "dataloader_prefetch_factor",
        "ddp_broadcast_buffers",
        "ddp_bucket_cap_mb",
        "ddp_static_graph",
        "ddp_timeout",
        "dispatch_batches",
        "enable_jit_checkpoint",
        "eval_delay",
        "eval_do_concat_batches",
        "eval_on_start",
        "eval_use_gather_object",
        "fp16_backend",
        "fp16_opt_level",
        "fsdp",
        "fsdp_config",
        "fsdp_min_num_params",
        "fsdp_transformer_layer_cls_to_wrap",
        "full_determinism",
        "gradient_checkpointing",
        "gradient_checkpointing_kwargs",
        "group_by_length",
        "half_precision_backend",
        "hub_always_push",
        "hub_private_repo",
        "hub_revision",
        "hub_strategy",
        "include_for_metrics",
        "include_inputs_for_metrics",
        "include_num_input_tokens_seen",
        "include_tokens_per_second",
        "jit_mode_eval",
        "liger_kernel_config",
        "log_level",
        "log_level_replica",
        "log_on_each_node",
        "logging_dir",
        "logging_nan_inf_filter",
        "lr_scheduler_kwargs",
        "mp_parameters",
        "neftune_noise_alpha",
        "optim",
        "optim_args",
        "optim_target_modules",
        "overwrite_output_dir",
        "parallelism_config",
        "past_index",
        "project",
        "push_to_hub_organization",
        "ray_scope",
        "restore_callback_states_from_checkpoint",
        "save_on_each_node",
        "save_only_model",
        "save_safetensors",
        "sharded_ddp",
        "split_batches",
        "tf32",
        "torch_compile",
        "torch_compile_backend",
        "torch_compile_mode",
        "torch_empty_cache_steps",
        "torchdynamo",
        "tpu_metrics_debug",
        "tpu_num_cores",
        "trackio_bucket_id",
        "trackio_space_id",
        "trackio_static_space_id",
        "train_sampling_strategy",
        "use_cache",
        "use_ipex",
        "use_legacy_prediction_loop",
        "use_liger_kernel",
        "use_mps_device",
        "warmup_ratio",
    )
)
# The least that a number may be, and what it has to be below. Of our own flags others are 1 or more, or fractions.
LIMITS: Mapping[str, tuple[float, float]] = {
    "per_device_train_batch_size": (1, math.inf),
    "per_device_eval_batch_size": (1, math.inf),
    "gradient_accumulation_steps": (1, math.inf),
    "learning_rate": (0, math.inf),
    "weight_decay": (0, math.inf),
    "adam_epsilon": (0, math.inf),
    "max_grad_norm": (0, math.inf),
    "num_train_epochs": (0, math.inf),
    "warmup_steps": (0, math.inf),
    "dataloader_num_workers": (0, math.inf),
    "adam_beta1": (0, 1),
    "adam_beta2": (0, 1),
    "label_smoothing_factor": (0, 1),
    "warmup_ratio": (0, 1),
    "block_size": (2, math.inf),  # of one token nothing can be foretold
    "max_seq_length": (2, math.inf),
    "seed": (0, 2**32),
    "validation_split_percentage": (1, 100),
    "mlm_probability": (0.001, 1),
    "null_score_diff_threshold": (-math.inf, math.inf),
}
# What makes two runs the same run, where the installed version has it.
IDENTITY = (
    "seed",
    "data_seed",
    "learning_rate",
    "weight_decay",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "max_grad_norm",
    "num_train_epochs",
    "max_steps",
    "lr_scheduler_type",
    "warmup_steps",
    "warmup_ratio",
    "label_smoothing_factor",
    "bf16",
    "fp16",
    "tf32",
    "optim",
    "group_by_length",
    "train_sampling_strategy",
    "gradient_accumulation_steps",
)


# --- flags ---


@dataclass
class SharedArguments:
    """The flags of every script beside its own and those of TrainingArguments."""

    tokenizer_name: Optional[str] = field(default=None, metadata={"help": "default: the model's"})
    model_revision: Optional[str] = field(default=None, metadata={"help": "branch, tag or commit of the model"})
    token: Optional[str] = field(default=None, metadata={"help": "of the hub; default: the one you logged in with"})
    cache_dir: Optional[str] = field(default=None, metadata={"help": "where what the hub sends is kept"})
    trust_remote_code: bool = field(default=False, metadata={"help": "run the code that comes with the model"})
    use_fast_tokenizer: bool = field(default=True, metadata={"help": "accepted; it always is where there is one"})
    dataset_name: Optional[str] = field(default=None, metadata={"help": "of the Hugging Face hub, or `sample`"})
    dataset_config_name: Optional[str] = None
    train_file: Optional[str] = field(
        default_factory=lambda: channel("train", "training"), metadata={"help": "csv, json, parquet, txt; or a folder"}
    )
    validation_file: Optional[str] = field(default_factory=lambda: channel("validation", "test"))
    encoding: Optional[str] = field(default=None, metadata={"help": "where it is not UTF-8: latin-1, cp1252, utf-16"})
    max_train_samples: Optional[int] = field(default=None, metadata={"help": "examples at most"})
    max_eval_samples: Optional[int] = field(default=None, metadata={"help": "examples at most"})
    attn_implementation: Optional[str] = field(default=None, metadata={"help": "eager (XLA), sdpa, flash_attention_2"})
    preprocessing_num_workers: Optional[int] = field(default=None, metadata={"help": "accepted; threads do that work"})
    overwrite_cache: bool = field(default=False, metadata={"help": "accepted; there is no cache"})
    output_dir: Path = field(default_factory=lambda: Path(os.environ.get("SM_MODEL_DIR") or "model"))
    checkpoint_dir: Optional[Path] = field(
        default_factory=lambda: CHECKPOINTS if CHECKPOINTS.is_dir() else None,
        metadata={
            "help": "the run goes on from the newest complete checkpoint in it; default: --output_dir. "
            "Two are kept; --save_total_limit says how many"
        },
    )
    overwrite_output_dir: bool = field(
        default=False, metadata={"help": "forget the checkpoints in --output_dir, but never those in --checkpoint_dir"}
    )

    def hub(self) -> dict[str, Any]:
        """What `from_pretrained` is to know beside a name; nothing where no flag was given."""
        options = {"revision": self.model_revision, "token": self.token, "cache_dir": self.cache_dir}
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if self.trust_remote_code:
            given["trust_remote_code"] = True
        return given

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                check_range(name, value, LIMITS.get(name, (1, math.inf) if isinstance(value, int) else (0, 1)))


def check_range(name: str, value: Any, limits: tuple[float, float]) -> None:
    """Of a number, or of a flag's text; one that is no number is argparse's to refuse."""
    least, below = limits
    try:
        good = least <= float(value) < below
    except ValueError:
        return
    if not good:
        wanted = f", at least {least}" if below == math.inf else f" from {least} to below {below}"
        kind = "a whole number" if isinstance(value, int) else "a number"
        raise UsageError(f"--{name}: got {value}, wanted {kind}{wanted}")


def channel(*names: str) -> str | None:
    """Where SageMaker has put the files of the first of these channels that there is."""
    return next((found for found in (os.environ.get("SM_CHANNEL_" + name.upper()) for name in names) if found), None)


def parse_flags(
    own_class: Any, argv: Sequence[str] | None, defaults: Mapping[str, Any], kind: Any = TrainingArguments
) -> tuple[Any, Any, list[str]]:
    """The script's own flags, TrainingArguments (or a library's own class like it), and what is to be said about them.

    `defaults` are by their newest names and give way to the command line.
    """
    set_environment()
    how: Any = {"description": own_class.__doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    own, rest = parse(own_class, [renamed(token) for token in (sys.argv[1:] if argv is None else argv)], **how)
    fields = {field.name for field in fields_of(kind) if field.init}
    given = dict(pairs(rest))
    known = {*fields, *SOMETIMES, *NEURON_ONLY, *(name for names in SYNONYMS for name in names)}
    for name, value in given.items():
        if name not in known:
            refuse_unknown("--" + name, ["--" + other for other in (*known, *vars(own))])
        if name in LIMITS:
            check_range(name, value, LIMITS[name])
    wanted, notes = translate(given, fields)
    ours = {**(trainer_defaults(fields) if issubclass(kind, TrainingArguments) else {}), **defaults}
    by_default, _ = translate({name: str(value) for name, value in ours.items()}, fields)
    flags = {**by_default, **wanted}
    args, _ = parse(kind, [part for name, value in flags.items() for part in ("--" + name, *value.split("\n"))])
    if getattr(args, "bf16", False) and "bf16" not in given:
        notes.append("computing in bfloat16, which this device has; --bf16 False computes in float32")
    if getattr(args, "resume_from_checkpoint", None):
        notes.append(
            "--resume_from_checkpoint: left out; a run goes on from the newest complete one in --checkpoint_dir"
        )
    if graphs_only():
        few = GRAPHS_ONLY_STEPS
        args.max_steps = min(args.max_steps, few) if args.max_steps > 0 else few
        args.save_strategy = type(args.save_strategy)("no")
        notes.append(f"{args.max_steps} steps, to collect graphs only: nothing is saved and no number is printed")
    if hasattr(args, "trust_remote_code"):  # trl's own
        args.trust_remote_code = own.trust_remote_code
    args.output_dir = str(own.checkpoint_dir or own.output_dir)
    return own, args, notes


def renamed(token: str) -> str:
    """A flag by the name that the scripts have for it; other words as they are."""
    flag, equals, value = token.partition("=")
    return OTHER_NAMES.get(flag, flag) + equals + value


def trainer_defaults(fields: Collection[str]) -> dict[str, Any]:
    """What we want unless asked otherwise."""
    name = choose()
    ours: dict[str, Any] = {
        "output_dir": "model", "do_train": True, "report_to": "none", "logging_steps": 20, "save_steps": 200,
        "save_total_limit": 2, "disable_tqdm": True, "dataloader_drop_last": True, "log_level": "error", "logging_nan_inf_filter": False,
    }  # fmt: skip
    if name == "cpu":  # without `use_cpu`, Trainer 5 leaves torchrun's CPU workers unconnected, each training alone
        gloo = {"ddp_backend": "gloo"} if int(os.environ.get("WORLD_SIZE", "1")) > 1 else {}
        ours.update({"use_cpu": True, "dataloader_pin_memory": False, **gloo})
    elif name == "xla":  # the fused optimizer is not for XLA
        ours["optim"] = "adamw_torch"
    else:
        ours["bf16"] = detect(connect=False).bf16
    known = {field.name: str(field.default) for field in fields_of(TrainingArguments)}
    if "fused" not in known.get("optim", ""):
        ours.setdefault("optim", "adamw_torch")  # the default of old versions warns
    return {key: value for key, value in ours.items() if key in fields or key in dict(SYNONYMS)}


def pairs(tokens: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and value of `--name value`, `--name=value`, and of a bare `--name`, which means True.

    Several values of one flag are separated by line ends.
    """
    name, values = "", []  # type: str, list[str]
    for token in [*tokens, "--"]:
        if not token.startswith("--"):
            if not name:
                raise UsageError(f"arguments: got {token!r}, wanted flags like --learning_rate 0.00005")
            values.append(token)
            continue
        if name:
            yield name, "\n".join(values) or "True"
        flag, _, value = token[2:].partition("=")
        name, values = flag.replace("-", "_"), [value] if value else []


def translate(given: Mapping[str, str], fields: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """Into the names that `fields` has. What it has no name for is left out, and said."""
    flags: dict[str, str] = {}
    notes: list[str] = []
    for name, value in given.items():
        if name in fields and not (name == "warmup_steps" and "." in value and "warmup_ratio" in fields):
            flags[name] = value
            continue
        harmless = NEURON_ONLY.get(name, (value,))
        other = next((pair for pair in _other_words(name, value) if pair[0] in fields), None)
        if other is not None:
            flags[other[0]] = other[1]
            notes.append(f"--{name} {value}: passed on as --{other[0]} {other[1]}")
        elif harmless is None or value in harmless:
            notes.append(f"--{name} {value}: this transformers has no such argument; left out")
        else:
            got = f"--{name}: got {value!r}, which only optimum-neuron on Trainium can do"
            raise UsageError(f"{got}; leave it out here")
    return flags, notes


def _other_words(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Every other way, old or new, to say the same."""
    yes = value.lower() in {"true", "1"}
    yield from ((other, value) for names in SYNONYMS if name in names for other in names if other != name)
    if name == "adafactor" and yes:
        yield "optim", "adafactor"
    elif name == "group_by_length":
        yield "train_sampling_strategy", "group_by_length" if yes else "random"
    elif name == "train_sampling_strategy" and value in {"group_by_length", "random"}:
        yield "group_by_length", str(value == "group_by_length")
    elif name in {"warmup_ratio", "warmup_steps"}:  # below 1 a share of all steps
        yield ({"warmup_ratio", "warmup_steps"} - {name}).pop(), value


def parse(kind: Any, argv: Sequence[str] | None, **more: Any) -> Any:
    """The dataclass, its values converted by transformers' own parser, and what was no flag of it."""

    class Strict(HfArgumentParser):  # type: ignore[misc]  # transformers is untyped here
        def error(self, message: str) -> NoReturn:
            raise UsageError(re.sub(r"^argument (--\w+)(/--[\w-]+)*", r"\1", message))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of one library about another's defaults
            parser = Strict(kind, allow_abbrev=False, **more)
            return parser.parse_args_into_dataclasses(argv, return_remaining_strings=True, look_for_args_file=False)
    except (ValueError, TypeError, ImportError, RuntimeError) as error:
        raise UsageError(f"arguments: {first_line(error)}") from error


def check_size(samples: int, args: Any) -> None:
    sizes = f"{args.per_device_train_batch_size} per device x {args.world_size} workers"
    needed, sizes = samples_per_step(args), f"{sizes} x {args.gradient_accumulation_steps} micro-batches"
    if args.do_train and samples < needed:
        wanted = f"wanted at least {needed} (= {sizes})"
        raise UsageError(f"data: got {samples} examples, {wanted}; lower --per_device_train_batch_size")


def samples_per_step(args: Any) -> int:
    return int(args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size)


def drop_printers(trainer: Any) -> None:
    """Trainer's own, of which one rounds to words and the other draws bars."""
    for printer in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printer)


def in_order(args: Any) -> None:
    """Held-out examples are judged in their order and to the last: Trainer would group them by length as well, and give
    predictions in that order, and leave out those that fill no batch. Once the training loader is made.
    """
    args.dataloader_drop_last = False
    if hasattr(args, "group_by_length"):
        args.group_by_length = False
    if getattr(args, "train_sampling_strategy", "random") == "group_by_length":
        args.train_sampling_strategy = "random"


# --- the callback ---


class KitCallback(SpotCallback):
    """SpotCallback, and speed, padding and what the device says in every line. A loss that is no number ends the run."""

    def __init__(self, runtime: Any, args: Any, *, reseed: bool = True) -> None:
        super().__init__(reseed=reseed)
        self.runtime = runtime
        self.console = Console(is_main=runtime.is_main)
        self.meter = Meter(runtime, samples_per_step(args))
        self._heard = 0.0

    def collate(self, model: Any, collator: Any) -> Any:
        """Wrap a collator, so that the tokens and padding of what it makes for training are counted."""

        def counted(features: Any) -> Any:
            batch = collator(features)
            if model.training:
                size = batch["input_ids"].numel()
                self.meter.batch(batch["attention_mask"].sum() if "attention_mask" in batch else size, size)
            return batch

        return counted

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        super().on_train_begin(args, state, control, **more)
        in_order(args)  # the training loader is made
        self.meter.start()

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self._heard:  # since the last step ended, Trainer has only fetched batches
            self.meter.waited(time.perf_counter() - self._heard)
        super().on_step_begin(args, state, control, **more)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> Any:
        self.meter.step()
        control = super().on_step_end(args, state, control, **more)
        if state.global_step == self.first_step:
            self.meter.lap(args.gradient_accumulation_steps)  # compilation and warm-up are in no step line's speed
        self._heard = time.perf_counter()
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:  # noqa: ARG002 - Trainer's signature
        self.meter.start()
        self._heard = 0.0
        if model is not None:
            model.train()  # the next batch is fetched before Trainer says so

    def on_prediction_step(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.meter.stop()
        super().on_prediction_step(args, state, control, **more)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        values = {name: value for name, value in (logs or {}).items() if name != "total_flos"}
        for name in ("loss", "train_loss"):
            refuse_nan(float(values.get(name, 0.0)))
        if "train_runtime" in values and not self.interrupted:
            self.meter.lap(args.gradient_accumulation_steps)
            values.update({**self.meter.summary(), "train_runtime": values["train_runtime"]})
        elif "loss" in values:
            values.update(self.meter.lap(args.gradient_accumulation_steps))
        super().on_log(args, state, control, logs=values, **more)

    def metrics(self, state: Any, values: Mapping[str, Any]) -> None:
        if not graphs_only():
            super().metrics(state, values)


def train(trainer: Any, spot: KitCallback, own: Any, identity: Mapping[str, Any], *, resumable: bool = True) -> None:
    """From the newest proven checkpoint to the end; raises Interrupted after a SIGTERM, when all is saved.

    A trainer that is not `resumable` begins anew, and puts the checkpoints that it finds aside.
    """
    args = trainer.args
    same = {name: getattr(args, name) for name in IDENTITY if hasattr(args, name)}
    spot.identity = {**same, "samples_per_step": samples_per_step(args), **identity}
    # Trainer 5 believes that every model which takes **kwargs divides its loss by the number of labels in the whole step.
    # BERT's heads do not: with several workers or micro-batches their gradients came out a multiple.
    if type(trainer) is Trainer:
        trainer.model_accepts_loss_kwargs = False
    drop_printers(trainer)
    if not len(trainer.train_dataset):
        raise UsageError("data: got no example with something to learn, wanted some; allow longer ones, or add others")
    trainer.model.train()
    if graphs_only():
        trainer.train()
        return
    anew = own.overwrite_output_dir and own.checkpoint_dir is None
    if spot.runtime.is_main and (anew or not resumable):
        checkpoints = Checkpoints(args.output_dir)
        newest = checkpoints.newest()
        if newest and not anew:
            spot.console.say(f"checkpoint-{newest} is put aside: this trainer cannot go on from a checkpoint")
        checkpoints.put_aside(newer_than=0)
    spot.runtime.barrier()
    try:
        sm_spot.train(trainer)
    except (ImportError, KeyError) as error:  # of a library that a flag asks for; of a metric that there is not
        if isinstance(error, KeyError) and "metric_for_best_model" not in str(error):
            raise
        raise UsageError(f"arguments: {first_line(error)}") from error


# --- what the scripts have in common ---


def begin(own: Any, args: Any, notes: Iterable[str], *, reseed: bool = True) -> KitCallback:
    check_folder("output_dir", own.output_dir)
    check_folder("checkpoint_dir", own.checkpoint_dir)
    args.device  # noqa: B018 - asking for it connects the workers
    spot = KitCallback(detect(connect=False), args, reseed=reseed)
    spot.console.say(*notes)
    return spot


@contextlib.contextmanager
def asked() -> Iterator[None]:
    """Around what a library makes of the flags: what it refuses before it trains is the user's to put right."""
    try:
        yield
    except Exception as error:
        library = type(error).__module__.partition(".")[0]
        online = library in {"httpx", "httpx2", "huggingface_hub", "requests"}  # as for --push_to_hub
        if not (online or isinstance(error, (ValueError, ImportError, OSError)) or "install" in str(error)):
            raise  # such as a device without memory
        raise UsageError(f"arguments: {first_line(error)}") from error


def read_tables(own: Any, sample: Path, names: Sequence[str] = ("train", "validation")) -> dict[str, Table]:
    """Those of `names` that there are: from files or channels, else the hub, else the sample."""
    if own.train_file is None and own.dataset_name not in {None, "sample"}:
        parts = load_hub(own.dataset_name, own.dataset_config_name)
        return {name: parts[name] for name in names if name in parts}
    files = {name: getattr(own, f"{name}_file") for name in names}
    return {
        name: read_table(sample if file == "sample" else file, f"{name}_file", split=name, encoding=own.encoding)
        for name, file in {**files, "train": own.train_file or "sample"}.items()
        if file
    }


def first_held_out(count: int, percentage: int) -> int:
    """How many texts are held out where no others are to judge on: the first, as in `train[:5%]`."""
    if count < 2:
        wanted = "wanted two or more, of which one is held out; add some, or give --validation_file"
        raise UsageError(f"--train_file: got {count} texts, {wanted}")
    return max(1, count * percentage // 100)


def load_hub(name: str, config: str | None) -> dict[str, Table]:
    """A data set of the hub, with the library `datasets`, which containers of Hugging Face have."""
    try:
        import datasets

        datasets.disable_progress_bar()
        parts = datasets.load_dataset(name, config)
        return {split: table_from(part[:], split, class_names(part.features)) for split, part in parts.items()}
    except Exception as error:
        raise UsageError(
            f"--dataset_name: got {name!r} ({config}), which does not load ({first_line(error)}); wanted a data set of the "
            "hub and the library `datasets`, or files"
        ) from error


def model_of(own: Any, args: Any, runtime: Any, config: Any, head: str, *, tokenizer: Any) -> Any:
    """On XLA on its device at once; elsewhere Trainer, or what it drives, knows when."""
    torch.manual_seed(args.seed)  # the new head, and all of a tiny one
    with runtime.loading_turn():
        attention = own.attn_implementation or runtime.attention
        model = load_model(own.model_name_or_path, config, head, attention, len(tokenizer), **own.hub())
        return model.to(args.device) if runtime.name == "xla" else model


def padding_of(own: Any, tokenizer: Any, runtime: Any, sets: Iterable[Any]) -> DataCollatorWithPadding:
    """To the longest of a batch; to one length for all where each is compiled, or where it is asked for."""
    longest = max(max(lengths_of(examples)) for examples in sets)
    length = own.max_seq_length if own.pad_to_max_length else -(-longest // 8) * 8
    one = {"padding": "max_length", "max_length": length} if own.pad_to_max_length or runtime.name == "xla" else {}
    return DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8, **one)


def save(trainer: Any, spot: KitCallback, tokenizer: Any, folder: Path) -> None:
    """Weights, configuration and tokenizer, as `from_pretrained` reads them; the main worker writes."""
    if graphs_only():
        return
    trainer.save_model(str(folder))
    if spot.runtime.is_main:
        tokenizer.save_pretrained(str(folder))
