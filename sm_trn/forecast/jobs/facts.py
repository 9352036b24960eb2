"""What a job's spec and arguments say of how it trains, and what they leave open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from typing_extensions import TypedDict

from ...core.errors import SmTrnError
from ...core.specs.job import JobSpec
from ...core.specs.json import Json
from ..architectures import Architecture, Model, find_model, in_folder

MODEL = (
    "model_name_or_path",
    "model_name",
    "model_id",
    "model",
    "pretrained_model_name_or_path",
    "base_model",
    "config_name",
    "model_type",
)
BATCH = ("per_device_train_batch_size", "per_device_batch_size", "train_batch_size", "micro_batch_size", "batch_size")
LENGTH = (
    "max_seq_length",
    "max_length",
    "block_size",
    "seq_length",
    "sequence_length",
    "max_source_length",
    "seq_len",
    "sequence_len",
    "model_max_length",
)
TARGET = ("max_target_length", "target_max_length", "generation_max_length")
EPOCHS = ("num_train_epochs", "epochs", "num_epochs", "max_epochs", "epoch")
STEPS = ("max_steps", "max_train_steps", "total_steps", "train_steps", "num_steps")
ACCUMULATION = ("gradient_accumulation_steps", "grad_accum", "accumulation_steps")
NO = frozenset({"", "0", "false", "none", "no", "off"})
# What the shipped scripts do when they are not told: their own --help.
SHIPPED: Mapping[str, Mapping[str, Json]] = MappingProxyType(
    {
        "train_text_classification.py": {
            "model": "bert-base-cased",
            "epochs": 3,
            "per_device_batch_size": 16,
            "max_length": 128,
        },
        "train_glue.py": {
            "model_name_or_path": "roberta-base",
            "num_train_epochs": 3,
            "per_device_train_batch_size": 8,
            "max_seq_length": 128,
        },
        "train_question_answering.py": {"num_train_epochs": 3, "per_device_train_batch_size": 8, "max_seq_length": 384},
        "train_language_model.py": {"num_train_epochs": 3, "per_device_train_batch_size": 8, "block_size": 1024},
        "compiler/run_clm.py": {"num_train_epochs": 3, "per_device_train_batch_size": 8, "block_size": 512},
        "run_clm.py": {"num_train_epochs": 3, "per_device_train_batch_size": 8, "block_size": 1024},
        "finetune_llama.py": {
            "model_name_or_path": "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
            "num_train_epochs": 3,
            "per_device_train_batch_size": 1,
            "max_length": 2048,
        },
        "train_preference.py": {
            "model_name_or_path": "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
            "num_train_epochs": 3,
            "per_device_train_batch_size": 2,
        },
    }
)


class Known(TypedDict, total=False):
    """What the caller knows and the spec does not say.

    ``examples``: training examples; ``tokens``: of all of them; ``data``: a local file to count; ``length``: tokens of an example as
    trained; ``batch``: of one worker; ``epochs``, ``steps``: how long; ``model``: a public name or a folder; ``precision``: fp32,
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
            value = self.arguments.get(name)
            try:
                found = float(str(value))
            except ValueError:
                continue
            if 0 < found < 1e15:
                return found
        return None

    def said(self, names: tuple[str, ...]) -> bool:
        """Whether one of these arguments is given and is not a way to say no."""
        return any(str(self.arguments.get(name, "")).lower() not in NO for name in names)

    def text(self, names: tuple[str, ...]) -> str:
        """The first of these arguments as text; empty where none is given."""
        return next((str(self.arguments[name]) for name in names if self.arguments.get(name)), "")

    def model(self) -> Model:
        """The model's shape. Raises MissingFact."""
        named = (
            [str(self.known["model"])]
            if "model" in self.known
            else [str(self.arguments[name]) for name in MODEL if self.arguments.get(name)]
        )
        named += [
            self.job.variables[name] for name in ("HF_MODEL_ID", "MODEL_ID", "MODEL_NAME") if name in self.job.variables
        ]
        for name in named:
            found = in_folder(name) or (find_model(name) if len(name) < 200 else None)
            if found is not None and not (
                isinstance(found, Architecture) and found.generic and "model" not in self.known
            ):
                return found
        got = f", got {named[0]!r}, which is no model of the table, or not of its size" if named else ""
        raise MissingFact(
            "model",
            f"the model's shape{got}",
            "--model FOLDER that holds the model's config.json, --model bert-base-uncased, or a size such as --model 7b",
        )

    def batch(self) -> float:
        """Samples of one worker's micro-step. Raises MissingFact."""
        found = self.known.get("batch") or self.number(BATCH)
        if found is None:
            raise MissingFact(
                "batch", "the batch of one worker", "--batch 8, or the hyperparameter per_device_train_batch_size"
            )
        return float(found)

    def accumulation(self) -> float:
        """Micro-steps of an optimizer step."""
        return self.number(ACCUMULATION) or 1.0

    def words(self) -> str:
        """What the script and its arguments are called, for what only names tell."""
        entry = self.job.script.entry if self.job.script is not None else ""
        return f"{entry} {self.text(('objective', 'task', 'task_name', 'dataset_name'))}".lower()
