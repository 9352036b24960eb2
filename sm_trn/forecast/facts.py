"""What a job's spec, its arguments and its script say of how it trains, and what they leave open."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from typing_extensions import TypedDict

from ..core.errors import SmTrnError
from ..core.preflight import reading, source
from ..core.specs.job import JobSpec
from ..core.specs.json import Json
from ..scripts.programs import programs
from ..scripts.syntax import constants, is_literal, keyword, literal
from .models import Architecture, find_model, in_folder

MODEL = (
    "model_name_or_path", "model_name", "model_id", "model", "pretrained_model_name_or_path", "base_model", "config_name", "model_type",
)  # fmt: skip
BATCH = ("per_device_train_batch_size", "per_device_batch_size", "train_batch_size", "micro_batch_size", "batch_size")
LENGTH = (
    "max_seq_length", "max_length", "block_size", "seq_length", "sequence_length", "max_source_length", "seq_len", "sequence_len",
    "model_max_length",
)  # fmt: skip
TARGET = ("max_target_length", "target_max_length", "generation_max_length")
EPOCHS = ("num_train_epochs", "epochs", "num_epochs", "max_epochs", "epoch")
STEPS = ("max_steps", "max_train_steps", "total_steps", "train_steps", "num_steps")
ACCUMULATION = ("gradient_accumulation_steps", "grad_accum", "accumulation_steps")
NO = frozenset({"", "0", "false", "none", "no", "off"})
# What a script may write out in a call: names that Trainer's arguments have, and hardly any other function.
WRITTEN = frozenset({
    "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps", "max_seq_length", "block_size", "bf16",
    "fp16", "tf32", "optim", "gradient_checkpointing", "output_dir", "save_strategy", "save_steps", "save_total_limit", "group_by_length",
    "attn_implementation",
})  # fmt: skip


class Known(TypedDict, total=False):
    """What the caller knows and the spec does not say.

    ``examples``: training examples; ``tokens``: of all of them; ``data``: a local file to count; ``length``: tokens of an example as
    trained; ``batch``: of one worker; ``epochs``, ``steps``: how long; ``model``: a hub id, a size or a folder; ``precision``: fp32,
    tf32, fp16, bf16 or fp8.
    """

    examples: float
    tokens: float
    data: str
    length: float
    batch: float
    epochs: float
    steps: float
    model: str
    precision: str


KNOWN = tuple(Known.__annotations__)
COUNTS = ("examples", "tokens", "length", "batch", "epochs", "steps")  # those of them that are numbers above 0


class MissingFact(SmTrnError):  # noqa: N818 - what is missing, as NotConfigured
    """An estimate needs a fact that neither the spec nor the caller gives. ``fact`` is its name, as ``estimate`` takes it;
    ``why`` says, where a machine has no such number, what it lacks.

    >>> try:
    ...     st.estimate(job.replace(hyperparameters={}))
    ... except st.errors.MissingFact as missing:
    ...     missing.fact
    'model'
    """

    def __init__(self, fact: str, what: str, fix: str, *, why: str = "") -> None:
        self.fact, self.fix = fact, fix
        self.why = why or f"cannot tell {what}"
        super().__init__(f"cannot tell {what}{why and f': {why}'}\n  fix: {fix}")


@dataclass(frozen=True, slots=True)
class Facts:
    """The ``arguments`` with which a job's script trains, with what the caller knows above them."""

    job: JobSpec
    known: Known
    arguments: Mapping[str, Json]

    def number(self, names: tuple[str, ...]) -> float | None:
        """The first of these arguments that is a positive number."""
        for name in names:
            try:
                value = float(str(self.arguments.get(name)))
            except ValueError:
                continue
            if 0 < value < 1e15:
                return value
        return None

    def given(self, *names: str) -> bool:
        """Whether one of these arguments is given and is not a way to say no."""
        return any(str(self.arguments.get(name, "")).lower() not in NO for name in names)

    def text(self, *names: str) -> str:
        """The first of these arguments as text; empty where none is given."""
        return next((str(self.arguments[name]) for name in names if self.arguments.get(name)), "")

    def model(self) -> Architecture:
        """The model's shape. Raises MissingFact."""
        named = [str(self.arguments[name]) for name in MODEL if self.arguments.get(name)]
        named += [
            self.job.variables[name] for name in ("HF_MODEL_ID", "MODEL_ID", "MODEL_NAME") if name in self.job.variables
        ]
        named = named or list(reading.trained_model(self.job))
        if "model" in self.known:
            named = [str(self.known["model"])]
        for name in named:
            model = in_folder(name) or find_model(name)
            if model is not None and (not model.generic or "model" in self.known):
                return model
        got = (
            f", got {named[0]!r}, which is neither an id of the table nor a folder with a config.json" if named else ""
        )
        raise MissingFact(
            "model", f"the model's shape{got}", "--model FOLDER that holds the model's config.json, --model bert-base-uncased, or a "
            "size such as --model 7b",
        )  # fmt: skip

    def batch(self) -> float:
        """Samples of one worker's micro-step. Raises MissingFact."""
        batch = self.known.get("batch") or self.number(BATCH)
        if batch is None:
            raise MissingFact(
                "batch", "the batch of one worker", "--batch 8, or the hyperparameter per_device_train_batch_size"
            )
        return float(batch)

    def words(self) -> str:
        """What the script and its arguments are called, for what only names tell."""
        entry = self.job.script.entry if self.job.script is not None else ""
        return f"{entry} {self.text('objective', 'task', 'task_name', 'dataset_name')}".lower()


@functools.cache
def known_data() -> Any:
    """Public data sets, and what the shipped scripts do when they are not told."""
    return json.loads(files(__package__).joinpath("known_data.json").read_text("utf-8"))


def facts_of(job: JobSpec, known: Known) -> Facts:
    """What the caller knows, what the job's arguments say, and below them what its script writes out: the literal defaults of its parser,
    what it gives to arguments of these names, and Trainer's own defaults.
    """
    given: dict[str, Json] = {name.replace("-", "_"): value for name, value in job.arguments.items()}  # as argparse
    if job.script is not None and source.shipped(job):
        return Facts(job, known, {**known_data()["shipped_scripts"].get(job.script.entry, {}), **given})
    stated: dict[str, Any] = {}
    for _, text in reversed(programs(job)):
        for call in source.argument_calls(text):
            default = keyword(call, "default")
            if call.args and default is not None and is_literal(default, constants(text)):
                name = str(getattr(call.args[0], "value", "")).lstrip("-").replace("-", "_")
                stated[name] = literal(default, constants(text))
    written = {name: values for name, values in reading.keywords(job).items() if name in WRITTEN and len(values) == 1}
    stated |= {name: next(iter(values)) for name, values in written.items()}
    words, defaults = reading.source_words(job).all, dict[str, Json]()
    if any(word.endswith(reading.TRAINERS) for word in words):  # where the script names none of them itself
        named = words | stated.keys() | given.keys()
        defaults |= {BATCH[0]: 8} if named.isdisjoint(BATCH) else {}
        defaults |= {EPOCHS[0]: 3} if named.isdisjoint((*EPOCHS, *STEPS)) else {}
    plain = {name: value for name, value in stated.items() if isinstance(value, (str, int, float, bool))}
    return Facts(job, known, {**defaults, **plain, **given})
