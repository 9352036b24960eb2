"""Owns how one set of flags becomes TrainingArguments of any transformers, 4.6 to 5.x; must not know any script's own.

Flags are translated by what the installed dataclass has, never by its version number: the containers patch theirs.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Collection, Iterable, Iterator, Mapping, NamedTuple, NoReturn, Sequence

from _arguments import Parser, str2bool
from _console import GRAPHS_ONLY_STEPS, Mistake, graphs_only
from _peers import on_cpu, on_xla, set_environment
from _runtime import Place

if TYPE_CHECKING:
    import argparse

GROUP_BY_LENGTH = {"train_sampling_strategy": "group_by_length"}  # for scripts whose texts differ in length
# Several names for one thing, with the same values.
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
# Of optimum-neuron's arguments; without it they may only ask for what happens anyway.
NEURON_ONLY = {
    "tensor_parallel_size": ("1",),
    "pipeline_parallel_size": ("1",),
    "pipeline_parallel_num_microbatches": ("-1", "1"),
    "zero_1": ("False", "false", "0"),
    "zero1": ("False", "false", "0"),
    "disable_sequence_parallel": None,
    "kv_size_multiplier": None,
    "num_local_ranks_per_step": None,
    "use_xser": None,
    "async_save": None,
    "stochastic_rounding_enabled": None,
    "skip_cache_push": None,
    "use_autocast": None,
}
# Of some version, and without a meaning, or with another way to say it, in another: dropped with a line in the log.
SOMETIMES = frozenset(
    """
    accelerator_config activation_checkpointing activation_checkpointing_kwargs adafactor auto_find_batch_size
    average_tokens_across_devices batch_eval_metrics bf16 bf16_full_eval data_seed dataloader_in_order
    dataloader_multiprocessing_context dataloader_persistent_workers dataloader_prefetch_factor
    ddp_broadcast_buffers ddp_bucket_cap_mb ddp_static_graph ddp_timeout dispatch_batches enable_jit_checkpoint
    eval_delay eval_do_concat_batches eval_on_start eval_use_gather_object fp16_backend fp16_opt_level fsdp
    fsdp_config fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap full_determinism gradient_checkpointing
    gradient_checkpointing_kwargs group_by_length half_precision_backend hub_always_push hub_private_repo
    hub_revision hub_strategy include_for_metrics include_inputs_for_metrics include_num_input_tokens_seen
    include_tokens_per_second jit_mode_eval liger_kernel_config log_level log_level_replica log_on_each_node
    logging_dir logging_nan_inf_filter lr_scheduler_kwargs mp_parameters neftune_noise_alpha optim optim_args
    optim_target_modules overwrite_output_dir parallelism_config past_index project push_to_hub_organization
    ray_scope restore_callback_states_from_checkpoint save_on_each_node save_only_model save_safetensors sharded_ddp
    split_batches tf32 torch_compile torch_compile_backend torch_compile_mode torch_empty_cache_steps torchdynamo
    tpu_metrics_debug tpu_num_cores trackio_bucket_id trackio_space_id trackio_static_space_id
    train_sampling_strategy use_cache use_ipex use_legacy_prediction_loop use_liger_kernel use_mps_device
    warmup_ratio
    """.split()
)


class Translated(NamedTuple):
    """Flags that the installed TrainingArguments has, and what to tell the user about those it has not."""

    flags: dict[str, str]
    notes: list[str]


def parse_flags(
    parser: Parser, argv: Sequence[str] | None, defaults: Mapping[str, Any], arguments_class: Any = None
) -> tuple[argparse.Namespace, Any, list[str]]:
    """The script's own arguments, TrainingArguments, and what was renamed or dropped on the way.

    `defaults` are by their newest names and give way to the command line. `arguments_class` stands for
    TrainingArguments where a library brings its own. An unknown flag is a Mistake with a suggestion.
    """
    set_environment()
    own, rest = parser.parse_known_args(argv)
    if arguments_class is None:
        from transformers import TrainingArguments

        arguments_class = TrainingArguments
    fields = {field.name for field in dataclasses.fields(arguments_class) if field.init}
    own_names = [name.lstrip("-") for name in parser._option_string_actions]  # noqa: SLF001 - argparse has no public list
    given = dict(pairs(rest))
    refuse_unknown(given, own_names, fields)
    wanted = translate(given, fields)
    by_default = translate({name: str(value) for name, value in defaults.items()}, fields).flags
    args, notes = build(arguments_class, {**by_default, **wanted.flags}), wanted.notes
    if graphs_only():
        args.max_steps = min(args.max_steps, GRAPHS_ONLY_STEPS) if args.max_steps > 0 else GRAPHS_ONLY_STEPS
        args.save_strategy = type(args.save_strategy)("no")
        notes.append(f"{args.max_steps} steps, to collect graphs only: nothing is saved and no number is printed")
    return own, args, notes


def pairs(tokens: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and value of `--name value`, `--name=value`, and of a bare `--name`, which means True.

    Several values of one flag are separated by line ends.
    """
    name, values = "", []  # type: str, list[str]
    for token in [*tokens, "--"]:
        if not token.startswith("--"):
            if not name:
                raise Mistake(f"arguments: got {token!r}, wanted flags like --learning_rate 0.00005")
            values.append(token)
            continue
        if name:
            yield name, "\n".join(values) or "True"
        flag, _, value = token[2:].partition("=")
        name, values = flag.replace("-", "_"), [value] if value else []


def refuse_unknown(given: Iterable[str], own: Iterable[str], fields: Collection[str]) -> None:
    known = {*own, *fields, *SOMETIMES, *NEURON_ONLY, *(name for names in SYNONYMS for name in names)}
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, sorted(known), n=1)
            raise Mistake(f"--{name}: unknown flag; " + (f"did you mean --{close[0]}?" if close else "see --help"))


def translate(given: Mapping[str, str], fields: Collection[str]) -> Translated:
    """Into the names that `fields` has. What it has no name for is dropped, and said."""
    flags: dict[str, str] = {}
    notes: list[str] = []
    for name, value in given.items():
        if name in fields and not (name == "warmup_steps" and _is_share(value) and "warmup_ratio" in fields):
            flags[name] = value
            continue
        harmless = NEURON_ONLY.get(name, (value,))
        other = next((pair for pair in _other_words(name, value) if pair[0] in fields), None)
        if other is None and harmless is not None and value not in harmless:
            raise Mistake(f"--{name}: got {value!r}, which only optimum-neuron on Trainium can do; leave it out here")
        if other is None:
            notes.append(f"--{name} {value}: this transformers has no such argument; left out")
        else:
            flags[other[0]] = other[1]
            notes.append(f"--{name} {value}: passed on as --{other[0]} {other[1]}")
    return Translated(flags, notes)


def _other_words(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Every other way, old or new, to say the same."""
    for names in SYNONYMS:
        if name in names:
            yield from ((other, value) for other in names if other != name)
    rule = REWORDED.get(name)
    if rule is not None:
        yield from rule(value)


def _if_among(name: str, values: Mapping[str, str]) -> Callable[[str], Iterator[tuple[str, str]]]:
    def reword(given: str) -> Iterator[tuple[str, str]]:
        if given.lower() in values:
            yield name, values[given.lower()]

    return reword


STRATEGIES = {"true": "group_by_length", "1": "group_by_length", "false": "random", "0": "random"}
REWORDED: Mapping[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "adafactor": _if_among("optim", {"true": "adafactor", "1": "adafactor"}),
    "group_by_length": _if_among("train_sampling_strategy", STRATEGIES),
    "train_sampling_strategy": _if_among("group_by_length", {"group_by_length": "True", "random": "False"}),
    "warmup_ratio": lambda value: iter([("warmup_steps", value)]),  # a share of all steps, where below 1
    "warmup_steps": lambda value: iter([("warmup_ratio", value)]),
}


def _is_share(value: str) -> bool:
    try:
        return 0 < float(value) < 1
    except ValueError:
        return False


def build(arguments_class: Any, flags: Mapping[str, str]) -> Any:
    """The dataclass, its values converted by transformers' own parser."""
    from transformers import HfArgumentParser

    class Strict(HfArgumentParser):  # type: ignore[misc]  # transformers is untyped here
        def error(self, message: str) -> NoReturn:
            raise Mistake(re.sub(r"^argument (--\w+)(/--[\w-]+)*", r"\1", message))

    argv = [part for name, value in flags.items() for part in ("--" + name, *value.split("\n"))]
    try:
        (arguments,) = Strict(arguments_class).parse_args_into_dataclasses(argv)
    except (ValueError, TypeError, ImportError) as error:
        raise Mistake(f"arguments: {str(error).strip().splitlines()[0]}") from error
    return arguments


# --- flags that all Trainer scripts share ---


def add_folders(parser: Parser) -> None:
    """Where the model goes, and where checkpoints do."""
    in_job = Path("/opt/ml/checkpoints")  # exists in a job that was given a checkpoint_s3_uri
    parser.add_argument("--output_dir", type=Path, default=Path(os.environ.get("SM_MODEL_DIR") or "model"))
    parser.add_argument(
        "--checkpoint_dir",
        type=Path,
        default=in_job if in_job.is_dir() else None,
        help="checkpoints are written to it, and the run goes on from the newest complete one; default: --output_dir",
    )
    parser.add_argument(
        "--overwrite_output_dir",
        type=str2bool,
        nargs="?",
        const=True,
        default=False,
        help="forget the checkpoints in --output_dir; those in --checkpoint_dir are always gone on from",
    )


def fused_by_default() -> bool:
    """Whether this transformers, with this torch, would take the fused AdamW itself."""
    from transformers import TrainingArguments

    (field,) = (field for field in dataclasses.fields(TrainingArguments) if field.name == "optim")
    return str(getattr(field.default, "value", field.default)) == "adamw_torch_fused"


def trainer_defaults() -> dict[str, Any]:
    """What we want unless asked otherwise. `optim`: before 5.0 or so the default warns, and the fused one is not for XLA."""
    # Without `use_cpu`, Trainer 5 leaves torchrun's CPU workers unconnected, each training alone.
    cpu: dict[str, Any] = {"use_cpu": True, "dataloader_pin_memory": False} if on_cpu() else {}
    if cpu and Place.read(os.environ).world_size > 1:
        cpu["ddp_backend"] = "gloo"
    if on_xla() or not fused_by_default():
        cpu["optim"] = "adamw_torch"
    return {
        **cpu,
        "output_dir": "model",
        "do_train": True,
        "report_to": "none",
        "logging_steps": 20,
        "save_steps": 200,
        "save_total_limit": 2,
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_drop_last": True,
        "ddp_find_unused_parameters": False,
        "log_level": "error",
    }
