"""What the scripts share as jobs on SageMaker: flags, folders, the device, models by name, and Trainer
with sm_spot's callback and gauges.

    model_args, data_args, training_args = parse((ModelArguments, DataArguments, TrainingArguments), argv)
    trainer = Trainer(...)
    train(trainer, {"model": …, "data": fingerprint(dataset)})
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import math
import os
import re
import socket
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, MutableMapping, NoReturn, Optional, Sequence

import sm_spot
from kit import NEURON_DEVICE, speaks_xla
from sm_spot import CHECKPOINTS, SpotCallback, UsageError, barrier, first_line, place, say

import torch
import transformers
from datasets import disable_progress_bars
from transformers import AutoConfig, AutoTokenizer, HfArgumentParser, Trainer, set_seed
from transformers.trainer_callback import PrinterCallback, ProgressCallback

DEVICES = ("cpu", "cuda", "neuron", "xla")
REFUSALS = (ValueError, OSError, ImportError, KeyError, TypeError)
GRAPHS_ONLY_STEPS = 5  # neuron_parallel_compile sees every graph of a training loop within these
TINY_RANDOM = Path(__file__).resolve().parent.parent / "tiny_random"
TINY = {"tiny-random": "bert", "tiny-bert": "bert", "tiny-gpt2": "gpt2", "tiny-llama": "llama"}
# Set before torch_xla is imported, and only where the job has not set them itself. Values as in
# AWS's own training samples: https://awsdocs-neuron.readthedocs-hosted.com
NEURON_DEFAULTS = {
    "NEURON_CC_FLAGS": "--model-type=transformer --retry_failed_compilation",
    "NEURON_FUSE_SOFTMAX": "1",
    "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": "3",
    "NEURON_RT_STOCHASTIC_ROUNDING_EN": "1",
    "NEURON_RT_STOCHASTIC_ROUNDING_SEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
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
    "warmup_ratio": "warmup_steps",  # since 5; below 1 a share of all steps
    "push_to_hub_model_id": "hub_model_id",
    "push_to_hub_token": "hub_token",
    "use_auth_token": "token",
    "xpu_backend": "ddp_backend",
    "torch_dtype": "dtype",
    "zero1": "zero_1",
    "use_lora": "use_peft",
    "block_size": "max_length",
    "max_seq_length": "max_length",
    "dataset_config": "dataset_config_name",
    "num_warmup_steps": "warmup_steps",
    "max_train_steps": "max_steps",
    "checkpointing_steps": "save_steps",
}
# Flags that some release since 4.6 had, or that Hugging Face's examples have, and that mean nothing
# here.
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
    "past_index",
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
GROUP_BY_LENGTH: dict[str, Any] = {
    "group_by_length": True,
    "train_sampling_strategy": "group_by_length",
}  # 4, 5
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


# --- the job ---


def channel(*names: str) -> Optional[str]:
    """Where SageMaker has put the files of the first of these channels that there is."""
    folders = [os.environ.get("SM_CHANNEL_" + name.upper()) for name in names]
    return next(filter(None, folders), None)


def default_model_dir() -> str:
    return os.environ.get("SM_MODEL_DIR") or "model"


def check_folder(flag: str, folder: Any) -> None:
    """That it can be written to is known before hours are spent, not after."""
    if folder is None or graphs_only():
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        wanted = "wanted a folder that this user may write to"
        raise UsageError(f"--{flag}: got {str(folder)!r} ({error}), {wanted}") from error


def graphs_only() -> bool:
    """Under `neuron_parallel_compile` graphs are collected and not executed: a script makes few
    steps, saves nothing and prints no metric.
    """
    return os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY", "0") not in {"", "0"}


def refuse_nan(loss: float) -> None:
    if not math.isfinite(loss) and not graphs_only():
        wanted = "wanted a finite number; lower the learning rate, or use bf16 instead of fp16"
        raise UsageError(f"loss: got {loss}, {wanted}")


@contextlib.contextmanager
def usage_errors(
    what: str = "arguments", only: tuple[type[Exception], ...] = REFUSALS
) -> Iterator[None]:
    """Around what a library makes of names and flags: what it refuses is the user's to put right."""
    try:
        yield
    except only as error:
        raise UsageError(f"{what}: {first_line(error)}") from error


def fingerprint(examples: Any) -> str:
    """For recognising a run's own checkpoints: of how many examples there are, and a thousand of
    them.
    """
    digest = hashlib.sha256(str(len(examples)).encode())
    for row in range(0, len(examples), max(1, len(examples) // 1000)):
        digest.update(repr(examples[row]).encode())
    return digest.hexdigest()[:16]


# --- the device ---


def choose(environ: Mapping[str, str] = os.environ) -> str:
    """cpu, cuda, neuron or xla; starts nothing. torch_xla being importable is no reason to use it:
    evidence is.
    """
    asked = environ.get("SM_TRN_RUNTIME")
    if asked and asked not in DEVICES:
        raise UsageError(f"SM_TRN_RUNTIME: got {asked!r}, wanted one of {', '.join(DEVICES)}")
    if asked:
        return asked
    # Inferentia's older torch_neuron also adds torch.neuron, without a device in it.
    native = getattr(torch, "neuron", None)
    if native is not None and hasattr(native, "is_available") and native.is_available():
        return "neuron"
    if speaks_xla(environ) and importlib.util.find_spec("torch_xla"):
        return "xla"
    if NEURON_DEVICE.exists():
        raise UsageError(
            f"device: got {NEURON_DEVICE} but neither torch.neuron nor torch_xla, wanted one of them; use an image with "
            "torch-neuronx, or set SM_TRN_RUNTIME=cpu to train on the CPU"
        )
    return "cuda" if torch.cuda.is_available() else "cpu"


def set_environment(environ: MutableMapping[str, str] = os.environ) -> str:
    """Set what is not set, before accelerate and torch_xla are imported, and return the kind of
    device.
    """
    disable_progress_bars()  # a job's log is read as lines
    transformers.utils.logging.disable_progress_bar()
    device = choose(environ)
    if device == "xla":
        for variable, value in NEURON_DEFAULTS.items():
            environ.setdefault(variable, value)
        return device
    environ.setdefault("USE_TORCH_XLA", "0")
    if device != "cpu":
        torch.set_float32_matmul_precision("high")  # TF32 where the GPU has it
        return device
    local = environ.get("MASTER_ADDR", "").startswith(("127.", "localhost"))
    interfaces = [interface for _, interface in socket.if_nameindex()]
    if (local or place(environ).hosts == 1) and "lo" in interfaces:
        environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the host name resolves to
    return device


def has_bf16(device: str) -> bool:
    """Whether the device computes in bfloat16 as fast as it can: Ampere and later, Neuron."""
    if device == "cuda":
        return bool(torch.cuda.get_device_capability()[0] >= 8)
    return device == "neuron" or (device == "xla" and NEURON_DEVICE.exists())


@contextlib.contextmanager
def loading_turn() -> Iterator[None]:
    """The first worker of a machine alone: it prepares what the others then find on the disk.
    Inside there can be no collective.
    """
    first = place().local_rank == 0
    if not first:
        barrier()
    yield  # after a failure in it nobody waits: the launcher ends the others
    if first:
        barrier()


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
    model_revision: str = field(default="main", metadata={"help": "branch, tag or commit"})
    token: Optional[str] = field(
        default=None, metadata={"help": "of the hub; default: the one you logged in with"}
    )
    trust_remote_code: bool = field(
        default=False, metadata={"help": "run the code that comes with the model"}
    )
    attn_implementation: Optional[str] = field(
        default=None, metadata={"help": "eager (XLA), sdpa, flash_attention_2"}
    )


@dataclass
class JobArguments:
    """A job's folders; a base before TrainingArguments, or before a library's own class like it.

    `output_dir` is where Trainer keeps its checkpoints, and `model_dir` what --output_dir said.
    """

    checkpoint_dir: Optional[str] = field(
        default_factory=lambda: str(CHECKPOINTS) if CHECKPOINTS.is_dir() else None,
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


class Parser(HfArgumentParser):  # type: ignore[misc]  # transformers is untyped here
    """Raises UsageError where argparse would print its usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(re.sub(r"^argument (--\w+)(/--[\w-]+)*", r"\1", message))


def parse(
    kinds: Sequence[Any],
    argv: Optional[Sequence[str]],
    description: Optional[str] = None,
    renamed: Mapping[str, str] = RENAMED,
    **defaults: Any,
) -> tuple[Any, ...]:
    """One value of each of the dataclasses `kinds`, by HfArgumentParser; every mistake is a
    UsageError. A first `args.json`, or `--config FILE`, holds flags, which those behind it replace.

    Connects the workers where the last is TrainingArguments.
    """
    device = set_environment()
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--config"] or (words and words[0].endswith((".json", ".yaml", ".yml"))):
        path = Path(words.pop(0) if words[0] != "--config" else words[1])
        words = [*flags_of(path), *(words[2:] if words[:1] == ["--config"] else words)]
    known = {one.name for kind in kinds for one in dataclasses.fields(kind) if one.init}
    words = today(words, known, renamed)
    defaults = {**defaults_of_a_job(device), **defaults}
    if re.search(r"--fp16( (?!f|n|0)|$)", " ".join(words).lower()):
        defaults["bf16"] = False  # Trainer takes one of them
    parser = Parser(
        kinds,
        allow_abbrev=False,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(**{name: value for name, value in defaults.items() if name in known})
    with usage_errors("arguments", (*REFUSALS, RuntimeError)):
        *parsed, unknown = parser.parse_args_into_dataclasses(
            words, return_remaining_strings=True, look_for_args_file=False
        )
    if unknown:
        raise UsageError(f"{unknown[0].partition('=')[0]}: unknown flag; see --help")
    args: Any = parsed[-1]
    if issubclass(kinds[-1], JobArguments):
        check_folder("output_dir", args.model_dir)
        check_folder("checkpoint_dir", args.checkpoint_dir)
        args.device  # noqa: B018 - asking for it connects the workers
        if args.bf16 and "--bf16" not in words:
            say("computing in bfloat16, which this device has; --bf16 False computes in float32")
        if graphs_only():
            args.max_steps = GRAPHS_ONLY_STEPS
            args.save_strategy = type(args.save_strategy)("no")
            say(f"{args.max_steps} steps, to collect graphs only: nothing is saved")
    return tuple(parsed)


def flags_of(path: Path) -> list[str]:
    """What a file of arguments holds, as flags."""
    with usage_errors(str(path)):
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else _yaml(text)
    words = []
    for name, value in values.items():
        written = json.dumps(value) if isinstance(value, dict) else value
        words += [f"--{name}", *map(str, value if isinstance(value, list) else [written])]
    return words


def _yaml(text: str) -> Any:
    import yaml

    return yaml.safe_load(text)


def today(words: Sequence[str], known: set[str], names: Mapping[str, str]) -> list[str]:
    """The command line by the names that the installed release has; a line about what means
    nothing.
    """
    renamed = {old: new for old, new in names.items() if old not in known and new in known}
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in {*renamed, *LEFT_OUT, "group_by_length"} - known:
        parser.add_argument(f"--{name}", f"--{name.replace('_', '-')}", nargs="*")
    taken, flags = parser.parse_known_args(words)
    ignored = []
    for name, values in vars(taken).items():
        if values is None:
            continue
        if name in renamed:
            flags += [f"--{renamed[name]}", *values]
        elif name == "group_by_length" and "train_sampling_strategy" in known:  # since 5
            refused = values and values[0].lower() in {"false", "f", "no", "n", "0"}
            flags += ["--train_sampling_strategy", "random" if refused else name]
        else:
            ignored.append(f"--{name}")
    if ignored:
        say(f"ignored, for it means nothing here: {', '.join(ignored)}")
    return flags


def defaults_of_a_job(device: str) -> dict[str, Any]:
    """What we want of TrainingArguments unless asked otherwise, where the installed release has
    it.
    """
    defaults: dict[str, Any] = {
        "output_dir": default_model_dir(),
        "do_train": True,
        "report_to": "none",
        "logging_steps": 20,
        "save_steps": 200,
        "save_total_limit": 2,
        "disable_tqdm": True,
        "log_level": "error",
        "logging_nan_inf_filter": False,
        "bf16": has_bf16(device),
    }
    # without `use_cpu`, Trainer 5 leaves torchrun's CPU workers unconnected, each training alone
    if device == "cpu":
        defaults["use_cpu"] = True
        defaults["dataloader_pin_memory"] = False
        if place().size > 1:
            defaults["ddp_backend"] = "gloo"
    elif device == "xla":
        defaults["optim"] = "adamw_torch"  # the fused one is not for XLA
        defaults["dataloader_drop_last"] = True  # another shape is another graph
    return defaults


# --- models ---


def hub_options(args: Any) -> dict[str, Any]:
    """What `from_pretrained` is to know beside a name; nothing where no flag was given."""
    names = {"revision": "model_revision", "token": "token", "cache_dir": "cache_dir"}
    options = {name: getattr(args, flag, None) for name, flag in names.items()}
    options["trust_remote_code"] = getattr(args, "trust_remote_code", False) or None
    return {name: value for name, value in options.items() if value not in {None, "main"}}


def attention_of(model_args: Any) -> dict[str, str]:
    """For `from_pretrained`. On XLA SDPA looks into its mask on the host: one more graph and wait
    in every step.
    """
    chosen = model_args.attn_implementation or ("eager" if choose() == "xla" else None)
    return {"attn_implementation": chosen} if chosen else {}


def load_tokenizer(name: str, **hub: Any) -> Any:
    where = str(TINY_RANDOM) if name in TINY else name
    with usage_errors(f"--model: {name} does not load"):
        tokenizer = AutoTokenizer.from_pretrained(where, **hub)
    if tokenizer.pad_token is None:  # GPT-like models
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_config(name: str, tokenizer: Any, **options: Any) -> Any:
    where = str(TINY_RANDOM / f"{TINY[name]}.json") if name in TINY else name
    with usage_errors(f"--model: {name} does not load"):
        config = AutoConfig.from_pretrained(where, **options)
    if name in TINY:
        config._name_or_path = ""  # noqa: SLF001 - peft would look for the file there, and on the hub
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def load_model(
    auto: Any, name: Optional[str], config: Any, tokenizer: Any, args: Any, **options: Any
) -> Any:
    """`auto` is one of transformers' AutoModelFor…; what is new, a head, or all of a tiny model, is
    drawn from the seed. In float32, on the worker's device, with an embedding for each token.
    """
    set_seed(args.seed)
    with usage_errors(f"--model: {name or config.model_type} does not load"):
        if name is None or name in TINY:
            known = ("attn_implementation", "trust_remote_code")
            options = {flag: value for flag, value in options.items() if flag in known}
            model = auto.from_config(config, **options)
        else:
            model = auto.from_pretrained(name, config=config, **options)
        if model.get_input_embeddings().weight.shape[0] < len(tokenizer):
            model.resize_token_embeddings(len(tokenizer))
    return model.to(args.device, torch.float32)


def length_of(flag: str, asked: Optional[int], default: int, tokenizer: Any, config: Any) -> int:
    """What is asked for, if the model takes it; else as much of the default as it takes."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if "roberta" in config.model_type or config.model_type in {"camembert", "mpnet", "longformer"}:
        positions -= config.pad_token_id + 1  # theirs start after the padding's
    takes = int(min(positions, tokenizer.model_max_length)) if positions > 0 else default
    if asked and asked > takes:
        raise UsageError(f"--{flag}: got {asked}, wanted at most {takes}, which the model takes")
    return asked or min(default, takes)


def padding(datasets: Mapping[str, Any], args: Any, fixed_length: Optional[int]) -> dict[str, Any]:
    """For DataCollatorWithPadding: to the longest of a batch; to one length for all where each is
    compiled, or on request.
    """
    if choose() == "xla":
        longest = max(max(part["length"]) for part in datasets.values())
        fixed_length = fixed_length or math.ceil(longest / 8) * 8
    if fixed_length:
        return {"padding": "max_length", "max_length": fixed_length}
    # tensor cores want eights; in float32 they would be computed for nothing
    return {"pad_to_multiple_of": 8 if args.bf16 or getattr(args, "fp16", False) else None}


# --- gauges ---


class Meter:
    """Speed of all workers together and this worker's waiting, between two log lines."""

    def __init__(self, samples_per_step: int) -> None:
        self._samples = samples_per_step
        self._begun = 0.0
        self._ended = 0.0  # 0: what happens until the next step begins is no training
        self._lap: dict[str, float] = defaultdict(float)
        self._total: dict[str, float] = defaultdict(float)

    def begin_step(self) -> None:
        """Its first batch is here; since the last step this worker has waited for it."""
        self._begun = time.perf_counter()
        if self._ended:
            self._lap["waited"] += self._begun - self._ended

    def end_step(self) -> None:
        since = self._ended or self._begun
        self._ended = time.perf_counter()
        self._lap["seconds"] += self._ended - since
        self._lap["steps"] += 1

    def pause(self) -> None:
        """What follows, evaluation above all, counts nowhere."""
        self._ended = 0.0

    def counting(self, collator: Callable[[Any], Any], model: Any) -> Callable[[Any], Any]:
        """The collator, and the tokens of what it makes are counted while `model` trains; of this
        worker, whose like the others are taken to be.
        """

        def collate(features: Any) -> Any:
            batch = collator(features)
            if model.training and "input_ids" in batch:
                mask = batch.get("attention_mask", batch["input_ids"])
                self._lap["tokens"] += int(mask.ne(0).sum())
            return batch

        return collate

    def lap(self) -> dict[str, float]:
        """Since the last lap."""
        lap = self._lap
        self._lap = defaultdict(float)
        for name, value in lap.items():
            self._total[name] += value
        values = self._rates(lap)
        values["data_wait"] = round(min(1.0, lap["waited"] / max(lap["seconds"], 1e-9)), 4)
        if choose() == "xla":
            counted = importlib.import_module("torch_xla.debug.metrics").metric_data("CompileTime")
            count, nanoseconds = counted[:2] if counted else (0, 0)
            values["compiles"] = int(count)
            values["compile_seconds"] = round(float(nanoseconds) / 1e9, 3)
        elif torch.cuda.is_available():
            values["accelerator_memory_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 3)
        return values

    def summary(self) -> dict[str, float]:
        """Speed of all workers together since this process began to train."""
        self.lap()
        rates = {f"train_{name}": value for name, value in self._rates(self._total).items()}
        return {"train_runtime": round(float(self._total["seconds"]), 4), **rates}

    def _rates(self, sums: Mapping[str, float]) -> dict[str, float]:
        seconds = max(sums["seconds"], 1e-9)
        rates = {
            "samples_per_second": round(sums["steps"] * self._samples / seconds, 3),
            "steps_per_second": round(sums["steps"] / seconds, 3),
        }
        if sums["tokens"]:  # none where loaders have processes
            rates["tokens_per_second"] = round(place().size * sums["tokens"] / seconds, 1)
        return rates


# --- Trainer ---


class JobCallback(SpotCallback):
    """SpotCallback, and speed and what the device says in every line. A loss that is no number ends
    the run.
    """

    meter: Meter

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
            self.meter.lap()  # compilation and warm-up are in no step line's speed
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

    def metrics(self, state: Any, values: Mapping[str, Any]) -> None:
        if not graphs_only():
            super().metrics(state, values)


def judge_in_order(args: Any) -> None:
    """Held-out examples are judged in their order and to the last: Trainer would group them by
    length as well, and give predictions in that order. Once the training loader is made.
    """
    args.dataloader_drop_last = False
    if hasattr(args, "group_by_length"):
        args.group_by_length = False
    if getattr(args, "train_sampling_strategy", "random") == "group_by_length":
        args.train_sampling_strategy = "random"


def watch(trainer: Any, identity: Mapping[str, Any], *, reseed: bool = True) -> JobCallback:
    """Put a JobCallback in the place of Trainer's printers."""
    args = trainer.args
    same = {name: getattr(args, name) for name in IDENTITY if hasattr(args, name)}
    samples = samples_per_step(args)
    callback = JobCallback({**same, "samples_per_step": samples, **identity}, reseed=reseed)
    callback.meter = Meter(samples)
    for printer in (PrinterCallback, ProgressCallback):  # one rounds to words, the other draws bars
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


def samples_per_step(args: Any) -> int:
    batch = args.per_device_train_batch_size * args.gradient_accumulation_steps
    return int(batch * args.world_size)


def train(trainer: Any, *, resumable: bool = True) -> None:
    """From the newest proven checkpoint to the end; raises Interrupted after a SIGTERM, when all is
    saved. A trainer that is not `resumable` begins anew, and puts the checkpoints that it finds
    aside.
    """
    args = trainer.args
    samples = samples_per_step(args)
    check_size(trainer.train_dataset, samples if args.dataloader_drop_last else 1)
    trainer.model.train()
    if graphs_only():
        trainer.train()
        return
    anew = args.overwrite_output_dir and args.checkpoint_dir is None
    if (anew or not resumable) and place().rank == 0:
        sm_spot.Checkpoints(args.output_dir).put_aside(newer_than=0)
        say(f"begins anew: checkpoints in {args.output_dir} are put aside")
    barrier()
    with usage_errors("arguments", only=(ImportError,)):  # of a library that a flag asks for
        sm_spot.train(trainer)


def say_what_runs(name: Any, args: Any, data: str) -> None:
    say(f"{name} on {args.device}, {args.world_size} worker(s): {data}")


def check_size(examples: Any, needed: int) -> None:
    """UsageError where the examples do not fill one step: Trainer would train none, and end well."""
    if hasattr(examples, "__len__") and len(examples) < needed:
        wanted = f"wanted at least {needed}, which all workers take in one step"
        raise UsageError(
            f"data: got {len(examples)} examples to learn from, {wanted}; lower the batch size, or add examples"
        )


def finish(trainer: Any, sets: Mapping[str, Any]) -> None:
    """Judge on the sets by their names, each example once and in their order, and save the model as
    `from_pretrained` reads it.
    """
    args = trainer.args
    judge_in_order(args)
    if args.do_eval:
        for name, examples in sets.items():
            trainer.evaluate(examples, metric_key_prefix=name)
    if args.do_train and not graphs_only():
        trainer.save_model(args.model_dir)
