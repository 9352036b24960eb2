"""Hugging Face's Trainer in a SageMaker job: the flags, sm_spot's callback with gauges, and what is
done round a training.

model_args, data_args, training_args, notes = parse((ModelArguments, DataArguments,
TrainingArguments), argv) trainer = Trainer(...) train(trainer, {"model": …, "data":
fingerprint(dataset)})
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import hashlib
import math
import os
import re
import sys
import warnings
from dataclasses import dataclass, field
from typing import (
    Any,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    NoReturn,
    Optional,
    Sequence,
)

import sm_spot
from kit.device import Meter, choose, has_bf16, set_environment
from kit.job import (
    GRAPHS_ONLY_STEPS,
    check_folder,
    default_checkpoint_dir,
    default_model_dir,
    graphs_only,
    refuse_nan,
)
from kit.models import hub_options
from sm_spot import Checkpoints, SpotCallback, UsageError, first_line

import transformers
from datasets import disable_progress_bars
from transformers import HfArgumentParser, Trainer
from transformers.trainer_callback import PrinterCallback, ProgressCallback

# What a flag is called now: the names of older releases, and those of Hugging Face's examples for
# SageMaker.
RENAMED = {
    "epochs": "num_train_epochs",
    "train_batch_size": "per_device_train_batch_size",
    "eval_batch_size": "per_device_eval_batch_size",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
    "model_name": "model_name_or_path",
    "model_id": "model_name_or_path",
    "evaluation_strategy": "eval_strategy",
    "no_cuda": "use_cpu",
    "group_by_length": "train_sampling_strategy",  # since 5
    "warmup_ratio": "warmup_steps",  # below 1 a share of all steps
    "push_to_hub_model_id": "hub_model_id",
    "push_to_hub_token": "hub_token",
    "xpu_backend": "ddp_backend",
    "torch_dtype": "dtype",
    "zero1": "zero_1",
    "use_lora": "use_peft",
    "block_size": "max_length",
    "max_seq_length": "max_length",
    "dataset_config": "dataset_config_name",
    # those of the Trainer scripts, for the loop of our own
    "model_name_or_path": "model",
    "train_file": "train",
    "validation_file": "validation",
    "num_train_epochs": "epochs",
    "per_device_train_batch_size": "per_device_batch_size",
    "output_dir": "model_dir",
}
# Flags that some release since 4.6 had, or that Hugging Face's examples have, and that mean nothing
# here: left out, with a line in the log.
LEFT_OUT = (
    "adafactor",
    "dispatch_batches",
    "dtype",
    "fp16_backend",
    "fp16_opt_level",
    "fsdp_min_num_params",
    "fsdp_transformer_layer_cls_to_wrap",
    "half_precision_backend",
    "ignore_mismatched_sizes",
    "include_inputs_for_metrics",
    "include_tokens_per_second",
    "jit_mode_eval",
    "keep_linebreaks",
    "logging_dir",
    "low_cpu_mem_usage",
    "mp_parameters",
    "n_best_size",
    "overwrite_cache",
    "past_index",
    "preprocessing_num_workers",
    "push_to_hub_organization",
    "ray_scope",
    "save_safetensors",
    "sharded_ddp",
    "split_batches",
    "torch_dtype",
    "torchdynamo",
    "tpu_metrics_debug",
    "tpu_num_cores",
    "use_fast_tokenizer",
    "use_ipex",
    "use_legacy_prediction_loop",
    "use_mps_device",
)
# The least that a number may be, and what it has to be below. Of our own flags others are 1 or
# more, or fractions.
LIMITS = {
    "per_device_train_batch_size": (1, math.inf),
    "per_device_eval_batch_size": (1, math.inf),
    "gradient_accumulation_steps": (1, math.inf),
    "learning_rate": (0, math.inf),
    "weight_decay": (0, math.inf),
    "max_grad_norm": (0, math.inf),
    "dataloader_num_workers": (0, math.inf),
    "num_train_epochs": (0, math.inf),
    "warmup_steps": (0, math.inf),
    "label_smoothing_factor": (0, 1),
    "seed": (0, 2**32),
    "block_size": (2, math.inf),  # of one token nothing can be foretold
    "max_seq_length": (2, math.inf),
    "max_length": (2, math.inf),
    "validation_split_percentage": (1, 100),
    "mlm_probability": (0.001, 1),
    "null_score_diff_threshold": (-math.inf, math.inf),
}
GROUP_BY_LENGTH = {
    "group_by_length": True,
    "train_sampling_strategy": "group_by_length",
}  # until 4, and since 5
# What makes two runs the same run, where the installed release has it.
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
class ModelArguments:
    """The model, as in Hugging Face's examples."""

    model_name_or_path: Optional[str] = field(
        default=None, metadata={"help": "hub id, local folder, or tiny-random"}
    )
    config_name: Optional[str] = None
    tokenizer_name: Optional[str] = None
    cache_dir: Optional[str] = None
    model_revision: Optional[str] = field(
        default=None, metadata={"help": "branch, tag or commit of the model"}
    )
    token: Optional[str] = field(
        default=None, metadata={"help": "of the hub; default: the one you logged in with"}
    )
    trust_remote_code: bool = field(
        default=False, metadata={"help": "run the code that comes with the model"}
    )
    attn_implementation: Optional[str] = field(
        default=None, metadata={"help": "eager (XLA), sdpa, flash_attention_2"}
    )

    def hub(self) -> dict[str, Any]:
        return hub_options(self, trust_remote_code=self.trust_remote_code)


@dataclass
class JobArguments:
    """A job's folders; a base before TrainingArguments, or before a library's own class like it.

    `output_dir` is where Trainer keeps its checkpoints, and `model_dir` what --output_dir said.
    """

    checkpoint_dir: Optional[str] = field(
        default_factory=default_checkpoint_dir,
        metadata={
            "help": "the run goes on from the newest complete checkpoint in it; default: --output_dir. "
            "Two are kept; --save_total_limit says how many"
        },
    )
    overwrite_output_dir: bool = field(
        default=False,
        metadata={
            "help": "forget the checkpoints in --output_dir, but never those in --checkpoint_dir"
        },
    )
    model_dir: str = field(default="", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # TrainingArguments'
        self.model_dir = self.output_dir  # type: ignore[has-type]
        self.output_dir = self.checkpoint_dir or self.output_dir  # type: ignore[has-type]


@dataclass
class TrainingArguments(JobArguments, transformers.TrainingArguments):  # type: ignore[misc]  # transformers is untyped here
    """transformers' own, and a job's folders."""


def defaults_of_a_job() -> dict[str, Any]:
    """What we want of TrainingArguments unless asked otherwise, where the installed release has
    it.
    """
    device = choose()
    defaults: dict[str, Any] = {
        "output_dir": default_model_dir(),
        "do_train": True,
        "report_to": "none",
        "logging_steps": 20,
        "save_steps": 200,
        "save_total_limit": 2,
        "disable_tqdm": True,
        "dataloader_drop_last": True,
        "log_level": "error",
        "logging_nan_inf_filter": False,
        "bf16": has_bf16(device),
    }
    # without `use_cpu`, Trainer 5 leaves torchrun's CPU workers unconnected, each training alone
    if device == "cpu":
        defaults["use_cpu"] = True
        defaults["dataloader_pin_memory"] = False
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            defaults["ddp_backend"] = "gloo"
    elif device == "xla":
        defaults["optim"] = "adamw_torch"  # the fused one is not for XLA
    return defaults


class Parser(HfArgumentParser):  # type: ignore[misc]  # transformers is untyped here
    """Raises UsageError where argparse would print its usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(re.sub(r"^argument (--\w+)(/--[\w-]+)*", r"\1", message))


def parse(
    kinds: Sequence[Any],
    argv: Sequence[str] | None,
    description: str | None = None,
    **defaults: Any,
) -> tuple[Any, ...]:
    """One value of each of the dataclasses `kinds`, of which the last is TrainingArguments, and
    lines for the log.
    """
    given = sys.argv[1:] if argv is None else argv
    defaults = {**defaults_of_a_job(), **defaults}
    asked, _ = take_flags(given, ["fp16"])
    if asked and not refused(asked["fp16"]):
        defaults["bf16"] = False  # Trainer takes one of them
    *own, training_args, notes = parse_own(kinds, argv, description, **defaults)
    if training_args.bf16 and not any(token.startswith("--bf16") for token in given):
        notes.append(
            "computing in bfloat16, which this device has; --bf16 False computes in float32"
        )
    if getattr(training_args, "resume_from_checkpoint", None):
        notes.append(
            "--resume_from_checkpoint: left out; a run goes on from the newest complete one in --checkpoint_dir"
        )
    if graphs_only():
        notes.append(only_collect_graphs(training_args))
    return (*own, training_args, notes)


def parse_own(
    kinds: Any, argv: Sequence[str] | None, description: str | None = None, **defaults: Any
) -> tuple[Any, ...]:
    """HfArgumentParser's values of the dataclasses `kinds`, and lines for the log; every mistake is
    a UsageError.
    """
    set_environment()
    disable_progress_bars()  # a job's log is read as lines
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    fields = {one.name for kind in kinds for one in dataclasses.fields(kind) if one.init}
    flags, notes = known_flags(argv, fields)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of one library about another's defaults
        parser = Parser(
            kinds,
            allow_abbrev=False,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(**{name: value for name, value in defaults.items() if name in fields})
        try:
            *parsed, unknown = parser.parse_args_into_dataclasses(
                flags, return_remaining_strings=True, look_for_args_file=False
            )
        except (ValueError, TypeError, ImportError, RuntimeError) as error:
            raise UsageError(f"arguments: {first_line(error)}") from error
    if unknown:
        flag = unknown[0].partition("=")[0]
        known = [*fields, *renamed_to(fields)]
        close = difflib.get_close_matches(flag.lstrip("-"), known, n=1, cutoff=0.8)
        advice = f"did you mean --{close[0]}?" if close else "see --help"
        raise UsageError(f"{flag}: unknown flag; {advice}")
    for values in parsed:
        # TrainingArguments, whose other numbers mean many things
        of_a_library = hasattr(values, "lr_scheduler_type")
        check_numbers(values, LIMITS if of_a_library else vars(values))
    return (*parsed, notes)


def take_flags(
    argv: Sequence[str] | None, names: Iterable[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Of the command line the flags `names` with their values, and all the rest."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in names:
        parser.add_argument(f"--{name}", f"--{name.replace('_', '-')}", nargs="*")
    taken, rest = parser.parse_known_args(argv)
    return {name: values for name, values in vars(taken).items() if values is not None}, rest


def refused(values: Sequence[str]) -> bool:
    """Whether a flag's values say no, as transformers read them."""
    return [value.lower() for value in values] in (["false"], ["f"], ["no"], ["n"], ["0"])


def known_flags(argv: Sequence[str] | None, fields: Collection[str]) -> tuple[list[str], list[str]]:
    """The command line by the names that `fields` has, and what is to be said about flags that it
    has not.
    """
    renamed = renamed_to(fields)
    left_out = set(LEFT_OUT) - set(fields)
    taken, flags = take_flags(argv, sorted({*renamed, *left_out}))
    notes: list[str] = []
    for name, given in taken.items():
        values = given
        if name in renamed:
            if name == "group_by_length":
                values = ["random" if refused(given) else name]
            flags += [f"--{renamed[name]}", *values]
            notes.append(f"--{name}: passed on as --{renamed[name]} {' '.join(values)}".rstrip())
        else:
            notes.append(f"--{name}: it means nothing here; left out")
    return flags, notes


def renamed_to(fields: Collection[str]) -> dict[str, str]:
    """Of the names in RENAMED those that stand for one of the `fields`."""
    renamed = {}
    for old, new in RENAMED.items():
        if old not in fields and new in fields:
            renamed[old] = new
    return renamed


def check_numbers(values: Any, names: Iterable[str]) -> None:
    """UsageError for a number that no run can have, by its flag."""
    for name in names:
        value = getattr(values, name, None)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        whole = isinstance(value, int)
        least, below = LIMITS.get(name, (1, math.inf) if whole else (0, 1))
        if not least <= value < below:
            wanted = "a whole number" if whole else "a number"
            wanted += f", at least {least}"
            if below < math.inf:
                wanted += f", below {below}"
            raise UsageError(f"--{name}: got {value}, wanted {wanted}")


def only_collect_graphs(args: Any) -> str:
    """Few steps and nothing saved, under neuron_parallel_compile; returns what is to be said about
    it.
    """
    few = GRAPHS_ONLY_STEPS
    args.max_steps = min(args.max_steps, few) if args.max_steps > 0 else few
    args.save_strategy = type(args.save_strategy)("no")
    return (
        f"{args.max_steps} steps, to collect graphs only: nothing is saved and no number is printed"
    )


def samples_per_step(args: Any) -> int:
    return int(
        args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size
    )


def fingerprint(examples: Iterable[Any]) -> str:
    """For recognising a run's own checkpoints: another one with other data."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode())
    return digest.hexdigest()[:16]


def first_held_out(count: int, percentage: int) -> int:
    """How many examples are held out where no others are to judge on: the first, as in
    `train[:5%]`.
    """
    if count < 2:
        wanted = "wanted two or more, of which one is held out; add some, or give --validation_file"
        raise UsageError(f"--train_file: got {count} texts, {wanted}")
    return max(1, count * percentage // 100)


def evaluates(args: Any) -> bool:
    """Whether a set to judge on is wanted at all."""
    return bool(args.do_eval) or args.eval_strategy != "no"


# --- the callback ---


class JobCallback(SpotCallback):
    """SpotCallback, and speed, padding and what the device says in every line. A loss that is no
    number ends the run.
    """

    def __init__(self, identity: Mapping[str, Any], args: Any, *, reseed: bool = True) -> None:
        super().__init__(identity, reseed=reseed)
        self.meter = Meter(samples_per_step(args))

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        super().on_train_begin(args, state, control, **more)
        judge_in_order(args)  # the training loader is made

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.meter.begin_step()
        super().on_step_begin(args, state, control, **more)

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> Any:
        control = super().on_step_end(args, state, control, **more)
        self.meter.end_step()
        if state.global_step == self.first_step:
            # compilation and warm-up are in no step line's speed
            self.meter.lap()
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:  # noqa: ARG002 - Trainer's signature
        self.meter.pause()
        if model is not None:
            model.train()  # the next batch is fetched before Trainer says so

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        values = dict(logs or {})
        values.pop("total_flos", None)
        for name in ("loss", "train_loss"):
            refuse_nan(float(values.get(name, 0.0)))
        if "train_runtime" in values and not self.interrupted:
            values.update(self.meter.summary())
        elif "loss" in values:
            values.update(self.meter.lap())
        super().on_log(args, state, control, logs=values, **more)

    def say_runtime(self, trainer: Any) -> None:
        """The last line of a trainer that says none."""
        logs = {"train_runtime": 0.0, "epoch": trainer.state.epoch}
        self.on_log(trainer.args, trainer.state, trainer.control, logs=logs)

    def metrics(self, state: Any, values: Mapping[str, Any]) -> None:
        if not graphs_only():
            super().metrics(state, values)


def judge_in_order(args: Any) -> None:
    """Held-out examples are judged in their order and to the last: Trainer would group them by
    length as well, and give predictions in that order, and leave out those that fill no batch. Once
    the training loader is made.
    """
    args.dataloader_drop_last = False
    if hasattr(args, "group_by_length"):
        args.group_by_length = False
    if getattr(args, "train_sampling_strategy", "random") == "group_by_length":
        args.train_sampling_strategy = "random"


# --- what is done round a training ---


def begin(args: Any, notes: Iterable[str]) -> None:
    """Check the folders, connect the workers, and say what the flags became."""
    check_folder("output_dir", args.model_dir)
    check_folder("checkpoint_dir", args.checkpoint_dir)
    args.device  # noqa: B018 - asking for it connects the workers
    for note in notes:
        sm_spot.say(note)


@contextlib.contextmanager
def usage_errors() -> Iterator[None]:
    """Around what a library makes of the flags: what it refuses before it trains is the user's to
    put right.
    """
    try:
        yield
    except Exception as error:
        library = type(error).__module__.partition(".")[0]
        # as for --push_to_hub
        online = library in {"httpx", "httpx2", "huggingface_hub", "requests"}
        if not (
            online
            or isinstance(error, (ValueError, ImportError, OSError))
            or "install" in str(error)
        ):
            raise  # such as a device without memory
        raise UsageError(f"arguments: {first_line(error)}") from error


def say_what_runs(name: Any, args: Any, data: str) -> None:
    sm_spot.say(f"{name} on {args.device}, {args.world_size} worker(s): {data}")


def watch(trainer: Any, identity: Mapping[str, Any], *, reseed: bool = True) -> JobCallback:
    """Put a JobCallback in the place of Trainer's printers, of which one rounds to words and the
    other draws bars.
    """
    args = trainer.args
    same = {name: getattr(args, name) for name in IDENTITY if hasattr(args, name)}
    callback = JobCallback(
        {**same, "samples_per_step": samples_per_step(args), **identity}, args, reseed=reseed
    )
    for printer in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printer)
    trainer.add_callback(callback)
    callback.trainer = trainer
    if getattr(trainer, "data_collator", None) is not None:
        trainer.data_collator = callback.meter.counting(trainer.data_collator, trainer.model)
    # Trainer 5 believes that every model which takes **kwargs divides its loss by the number of
    # labels in the whole step. BERT's heads do not: with several workers or micro-batches their
    # gradients came out a multiple.
    if type(trainer) is Trainer:
        trainer.model_accepts_loss_kwargs = False
    return callback


def train(trainer: Any, *, resumable: bool = True) -> None:
    """From the newest proven checkpoint to the end; raises Interrupted after a SIGTERM, when all is
    saved.

    A trainer that is not `resumable` begins anew, and puts the checkpoints that it finds aside.
    """
    args = trainer.args
    check_size(trainer.train_dataset, samples_per_step(args) if args.dataloader_drop_last else 1)
    trainer.model.train()
    if graphs_only():
        trainer.train()
        return
    anew = args.overwrite_output_dir and args.checkpoint_dir is None
    if (anew or not resumable) and sm_spot.place().rank == 0:
        checkpoints = Checkpoints(args.output_dir)
        for step in checkpoints.steps():
            sm_spot.say(f"checkpoint-{step} is put aside: this run begins anew")
        checkpoints.put_aside(newer_than=0)
    sm_spot.barrier()
    try:
        sm_spot.train(trainer)
    except (ImportError, KeyError) as error:
        # of a library that a flag asks for; of a metric that there is not
        if isinstance(error, KeyError) and "metric_for_best_model" not in str(error):
            raise
        raise UsageError(f"arguments: {first_line(error)}") from error


def check_size(examples: Any, needed: int) -> None:
    """UsageError where the examples do not fill one step: Trainer would train none, and end
    well.
    """
    if not hasattr(examples, "__len__"):  # a data set that streams
        return
    if len(examples) == 0:
        wanted = "wanted some; allow longer ones, or add others"
        raise UsageError(f"data: got no example with something to learn, {wanted}")
    if len(examples) < needed:
        wanted = f"wanted at least {needed}, which all workers take in one step"
        raise UsageError(
            f"data: got {len(examples)} examples to learn from, {wanted}; lower the batch size, or add examples"
        )


def padding(
    datasets: Mapping[str, Any], args: Any, fixed_length: int | None = None
) -> dict[str, Any]:
    """For DataCollatorWithPadding: to the longest of a batch; to one length for all where each is
    compiled, or on request.
    """
    if fixed_length:
        return {"padding": "max_length", "max_length": fixed_length}
    if choose() == "xla":
        longest = max(max(part["length"]) for part in datasets.values())
        return {"padding": "max_length", "max_length": math.ceil(longest / 8) * 8}
    # tensor cores want eights; in float32 they would be computed for nothing
    if args.bf16 or getattr(args, "fp16", False):
        return {"pad_to_multiple_of": 8}
    return {}


def evaluate(trainer: Any, examples: Any = None, name: str = "eval") -> dict[str, float]:
    """Trainer's own, over every example once and in their order."""
    judge_in_order(trainer.args)
    metrics: dict[str, float] = trainer.evaluate(examples, metric_key_prefix=name)
    return metrics


def save(trainer: Any) -> None:
    """Weights, configuration and tokenizer, as `from_pretrained` reads them."""
    if not graphs_only():
        trainer.save_model(trainer.args.model_dir)
