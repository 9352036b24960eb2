"""Numbers that jobs print: the rule that finds one in a log line, and the number found."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from .value import suggesting


@suggesting
@dataclass(frozen=True, slots=True)
class MetricRule:
    """A ``MetricDefinition``: ``regex``'s first group, searched in every log line, is a float called ``name``.

    >>> st.MetricRule("loss", r"loss: ([0-9.]+)").name
    'loss'
    """

    name: str
    regex: str


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One number out of a log. ``time_s`` is epoch seconds; what the line did not say is None. ``guessed``: by no dict or rule."""

    name: str
    value: float
    _: KW_ONLY
    step: float | None = None
    epoch: float | None = None
    time_s: float | None = None
    host: str = ""
    guessed: bool = False


def _of_trainer(name: str, key: str) -> MetricRule:
    """A number of the Trainer's dict: alone as transformers 4 prints it, in quotes as transformers 5 does, with its exponent; or none."""
    return MetricRule(name, rf"'{key}': '?(-?[0-9.]+(?:e[-+]?[0-9]+)?|nan|-?inf)")


_TRAINER = {
    "summary_train_runtime": "train_runtime",
    "summary_train_samples_per_second": "train_samples_per_second",
    "summary_train_steps_per_second": "train_steps_per_second",
    "summary_train_loss": "train_loss",
    "epoch": "epoch",
    "train_loss": "loss",
    "learning_rate": "learning_rate",
}
_EVALUATION = {"eval_loss": "eval_loss", "eval_accuracy": "eval_accuracy"}
# What the Hugging Face Trainer prints, by the names of the classic Training Compiler notebooks. The service searches the rules in
# order and keeps the last value of each.
TRAINER_METRICS: tuple[MetricRule, ...] = tuple(_of_trainer(name, key) for name, key in _TRAINER.items())
EVALUATION_METRICS: tuple[MetricRule, ...] = tuple(_of_trainer(name, key) for name, key in _EVALUATION.items())
# Rules of jobs that say nothing which the reader of dicts does not say: these, and the notebooks' own, which lose exponents.
READ_ANYWAY: frozenset[MetricRule] = frozenset(
    {
        *TRAINER_METRICS,
        *EVALUATION_METRICS,
        *(MetricRule(name, f"'{key}': ([0-9.]*)") for name, key in _TRAINER.items()),
        *(MetricRule(name, f"'{key}': ([0-9.]+)") for name, key in _EVALUATION.items()),
    }
)
