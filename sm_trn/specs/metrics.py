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
    """One number out of a log. ``time_s`` is epoch seconds; what the line did not say is None."""

    name: str
    value: float
    _: KW_ONLY
    step: float | None = None
    epoch: float | None = None
    time_s: float | None = None
    host: str = ""


# What the Hugging Face Trainer prints, as the classic Training Compiler notebooks read it. The service searches them in
# order and keeps the last value of each. They do not understand exponents ('5e-05' is read as 5): `sm_trn.logs` does.
TRAINER_METRICS: tuple[MetricRule, ...] = (
    MetricRule("summary_train_runtime", r"'train_runtime': ([0-9.]*)"),
    MetricRule("summary_train_samples_per_second", r"'train_samples_per_second': ([0-9.]*)"),
    MetricRule("summary_train_steps_per_second", r"'train_steps_per_second': ([0-9.]*)"),
    MetricRule("summary_train_loss", r"'train_loss': ([0-9.]*)"),
    MetricRule("epoch", r"'epoch': ([0-9.]*)"),
    MetricRule("train_loss", r"'loss': ([0-9.]*)"),
    MetricRule("learning_rate", r"'learning_rate': ([0-9.]*)"),
)
EVALUATION_METRICS: tuple[MetricRule, ...] = (
    MetricRule("eval_loss", r"'eval_loss': ([0-9.]+)"),
    MetricRule("eval_accuracy", r"'eval_accuracy': ([0-9.]+)"),
)
