"""Templates of projects: for each kind of training its script, rows and hyperparameters; and the user's request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ..core import _entry
from ..core.specs.job import HyperValue, JobSpec

OWN_SCRIPTS = Path(__file__).parent / "scripts"
LARGE = 1e9  # parameters, from which additions are trained (LoRA) and activations computed again
TEXTS = ("text", "content", "sentence", "review", "tweet", "comment", "body", "document", "message")
LABELS = ("label", "labels", "sentiment", "class", "category", "target", "rating", "stars", "gold_label")
TRL = ("transformers", "datasets", "accelerate", "trl", "peft")
TRAINER = ("transformers", "datasets", "accelerate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One kind of training. ``columns`` are sets of column names by which its data is known; ``rows`` says them in words.

    ``packages`` are what its script imports beside PyTorch. ``head`` ends the name of transformers' class of models
    (AutoModelFor…); empty where the script brings its own model. ``large`` are hyperparameters of models from a billion
    parameters on, ``few`` those of the first steps.
    """

    name: str
    title: str
    script: str
    rows: str
    head: str = ""
    model: str = ""
    columns: tuple[frozenset[str], ...] = ()
    packages: tuple[str, ...] = ()
    model_argument: str = "model_name_or_path"
    length_argument: str = ""
    arguments: Mapping[str, HyperValue] = field(default_factory=dict)
    large: Mapping[str, HyperValue] = field(default_factory=dict)
    few: Mapping[str, HyperValue] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        """The file of the script."""
        own = OWN_SCRIPTS / self.script
        return own if own.exists() else _entry.scripts_folder() / self.script

    @property
    def shipped(self) -> bool:
        """Return True if the script is one of the entry scripts, which need the folder kit."""
        return self.source.parent == _entry.scripts_folder()


LORA: Mapping[str, HyperValue] = {"use_peft": True, "gradient_checkpointing": True}
STEPS: Mapping[str, HyperValue] = {
    "max_steps": 3,
    "logging_steps": 1,
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 1,
}
BATCHES: Mapping[str, HyperValue] = {
    "bf16": True,
    "per_device_train_batch_size": 1,
    "gradient_accumulation_steps": 16,
    "logging_steps": 10,
}

TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        template.name: template
        for template in (
            Template(
                name="classification",
                title="classify texts",
                script="train_text_classification.py",
                rows="a text and a label",
                head="SequenceClassification",
                model="distilbert-base-uncased",
                columns=tuple(frozenset({text, label}) for text in TEXTS for label in LABELS),
                packages=("transformers",),
                model_argument="model",
                length_argument="max_length",
                arguments={
                    "epochs": 3,
                    "bf16": True,
                    "per_device_batch_size": 32,
                    "gradient_accumulation_steps": 1,
                    "max_length": 256,
                },
                few={"epochs": 1, "per_device_batch_size": 8, "gradient_accumulation_steps": 1, "logging_steps": 1},
            ),
            Template(
                name="language-model",
                title="train a language model on texts",
                script="train_language_model.py",
                rows="a text",
                head="CausalLM",
                model="gpt2",
                columns=tuple(frozenset({text}) for text in TEXTS),
                packages=TRAINER,
                length_argument="block_size",
                arguments={**BATCHES, "num_train_epochs": 1, "block_size": 1024},
                large={"gradient_checkpointing": True},
                few=STEPS,
            ),
            Template(
                name="chat",
                title="fine-tune a chat model on conversations (SFT)",
                script="finetune.py",
                rows="messages, conversations, or a prompt and its completion",
                head="CausalLM",
                model="Qwen/Qwen3-0.6B",
                columns=(
                    frozenset({"messages"}),
                    frozenset({"conversations"}),
                    frozenset({"prompt", "completion"}),
                ),
                packages=TRL,
                length_argument="max_length",
                arguments={**BATCHES, "num_train_epochs": 1, "max_length": 2048},
                large=LORA,
                few=STEPS,
            ),
            Template(
                name="preference",
                title="train a chat model on preferences (DPO)",
                script="finetune.py",
                rows="a chosen and a rejected answer, with a prompt where they do not hold it",
                head="CausalLM",
                model="Qwen/Qwen3-0.6B",
                columns=(frozenset({"chosen", "rejected"}),),
                packages=TRL,
                length_argument="max_length",
                arguments={**BATCHES, "method": "dpo", "num_train_epochs": 1, "max_length": 1024},
                large=LORA,
                few=STEPS,
            ),
            Template(
                name="reward",
                title="train a chat model by a reward function (GRPO)",
                script="train_reward.py",
                rows="a prompt and the answer that is right",
                head="CausalLM",
                model="Qwen/Qwen3-0.6B",
                columns=(frozenset({"prompt", "answer"}),),
                packages=TRL,
                length_argument="max_completion_length",
                arguments={
                    **BATCHES,
                    "max_steps": 200,
                    "num_generations": 8,
                    "per_device_train_batch_size": 8,
                    "gradient_accumulation_steps": 2,
                    "max_completion_length": 256,
                },
                large=LORA,
                few={**STEPS, "max_steps": 1, "num_generations": 2, "max_completion_length": 8},
            ),
            Template(
                name="question-answering",
                title="find answers in texts",
                script="train_question_answering.py",
                rows="a question, a context and its answers, as in SQuAD",
                head="QuestionAnswering",
                model="distilbert-base-uncased",
                columns=(frozenset({"question", "context", "answers"}),),
                packages=TRAINER,
                length_argument="max_seq_length",
                arguments={**BATCHES, "num_train_epochs": 2, "max_seq_length": 384},
                few=STEPS,
            ),
            Template(
                name="vision",
                title="classify images",
                script="train_images.py",
                rows="images, in one folder for each class",
                head="ImageClassification",
                model="google/vit-base-patch16-224",
                packages=("transformers", "accelerate", "pillow"),
                arguments={
                    **BATCHES,
                    "num_train_epochs": 3,
                    "per_device_train_batch_size": 32,
                    "gradient_accumulation_steps": 1,
                },
                few=STEPS,
            ),
            Template(
                name="pytorch",
                title="your own PyTorch script, or one to begin with",
                script="train.py",
                rows="numbers in a CSV, the last column to be predicted",
                arguments={"epochs": 10, "learning_rate": 0.01, "batch_size": 64},
                few={"epochs": 1},
            ),
        )
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRequest:
    """The user's request. ``script`` is a file of their own; ``budget_usd`` the most that the job may cost; ``examples`` how many
    there are, where the data lies in S3."""

    data: str
    template: str | None = None
    model: str | None = None
    budget_usd: float | None = None
    deadline_s: float | None = None
    name: str | None = None
    script: Path | None = None
    instance: str | None = None
    examples: float | None = None
    region: str = "us-west-2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project that ``init`` writes, and its reasons. ``job`` names its script and data from the working directory."""

    template: Template
    job: JobSpec
    requirements: tuple[str, ...]
    reasons: tuple[str, ...]
    others: tuple[str, ...]
    request: ProjectRequest
    most_usd: float | None = None
