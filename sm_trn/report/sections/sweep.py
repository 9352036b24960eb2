"""Jobs that differ in hyperparameters only: which values did best, by which metric, in what order. Draws and writes nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ...core.errors import UnknownName
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.specs.snapshot import JobStatus
from ...core.specs.value import suggestion
from .rows import ComparedJob, settings

LEAST = 3  # jobs of a sweep: two are a pair, which percentages say better
TRAINING_LOSS = "loss"
_WORDY = 2  # of more hyperparameters a sentence names the job, and the table has the values
Setting = str | float

_SEEDS = frozenset({"seed", "data_seed", "random_seed", "random_state"})
_PLACES = frozenset({"output_dir", "output_data_dir", "run_name", "logging_dir"})  # each job has its own
_RATES = frozenset({"eval_runtime", "eval_samples_per_second", "eval_steps_per_second", "eval_epoch"})
_FIRST = ("eval_accuracy", "eval_f1", "eval_exact_match")
_LOWER = frozenset(
    {"loss", "error", "perplexity", "ppl", "wer", "cer", "mae", "mse", "rmse", "runtime", "seconds", "time"}
)
_OWN = frozenset(
    {"sagemaker_job_name", "sagemaker_submit_directory", "sagemaker_region", "sagemaker_container_log_level"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One job of a sweep. ``rank`` and ``value`` are None where the job has no result, and ``note`` says why."""

    row: ComparedJob = field(repr=False)
    metric: str
    settings: Mapping[str, Setting]
    value: float | None
    rank: int | None
    note: str = ""

    @property
    def job(self) -> str:
        return self.row.label

    def __str__(self) -> str:
        result = self.note if self.value is None else fmt.loss(self.value)
        told = f", {_values(self.settings)}" if self.settings else ""
        return f"{self.job}: {self.metric} {result}{told}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The jobs of one combination of values, which differ in their seeds at most. ``mean``, ``low`` and ``high`` are of their metric."""

    settings: Mapping[str, Setting]
    trials: tuple[Trial, ...]
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A section's jobs ranked by one metric, best first; those without a result last. ``names`` are the hyperparameters that differ."""

    workload: str
    metric: str
    lowest: bool
    names: tuple[str, ...]
    trials: tuple[Trial, ...]
    emulated: bool = False

    def __str__(self) -> str:
        return "\n".join([sweep_sentence(self), *(f"{trial.rank or '-'} {trial}" for trial in self.trials)])

    @property
    def tuned(self) -> tuple[str, ...]:
        """The hyperparameters that differ, without seeds."""
        return tuple(name for name in self.names if name not in _SEEDS)

    @property
    def ranked(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.rank is not None)

    @property
    def setups(self) -> tuple[Setup, ...]:
        """The combinations of values, best mean first."""
        groups: dict[tuple[Setting | None, ...], list[Trial]] = {}
        for trial in self.ranked:
            groups.setdefault(tuple(trial.settings.get(name) for name in self.tuned), []).append(trial)
        found = [_setup(self.tuned, trials) for trials in groups.values()]
        return tuple(sorted(found, key=lambda each: each.mean if self.lowest else -each.mean))


def _setup(names: Sequence[str], trials: Sequence[Trial]) -> Setup:
    values = [trial.value for trial in trials if trial.value is not None]
    return Setup(
        settings={name: trials[0].settings[name] for name in names if name in trials[0].settings},
        trials=tuple(trials),
        mean=math.fsum(value / len(values) for value in values),  # no sum of large losses overflows
        low=min(values),
        high=max(values),
    )


def varied(rows: Sequence[ComparedJob]) -> tuple[str, ...]:
    """The scripts' own hyperparameters that differ between the jobs, in the first job's order, seeds last."""
    told = [settings(row) for row in rows]
    names = dict.fromkeys(name for each in told for name in each)
    differ = [name for name in names if name not in _PLACES and len({each.get(name) for each in told}) > 1]
    return tuple(sorted(differ, key=lambda name: name in _SEEDS))


def typed_settings(row: ComparedJob, names: Sequence[str]) -> Mapping[str, Setting]:
    """Those of the job's hyperparameters that are named: numbers as numbers."""
    own = row.snapshot.hyperparameters
    return MappingProxyType({name: _number(own[name], settings(row)[name]) for name in names if name in own})


def setting_text(value: Setting | None) -> str:
    """A hyperparameter's value as a person would write it."""
    if value is None:
        return str(Missing.NOT_SET)
    if isinstance(value, str):
        return value
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    return fmt.small(value)


def setting_key(value: Setting | None) -> tuple[bool, bool, float, str]:
    """Orders values: numbers by size, then texts, what is not set last."""
    number = isinstance(value, (int, float))
    return value is None, not number, float(value) if number and value is not None else 0.0, str(value)


def find_sweep(rows: Sequence[ComparedJob], *, workload: str) -> Sweep | None:
    """The ranking of ``rows`` if they are a sweep: three or more jobs on the same instances, in the same image and with the
    same strategy, whose hyperparameters differ.
    """
    if len(rows) < LEAST or len({_ground(row) for row in rows}) > 1 or not varied(rows):
        return None
    return ranking(rows, metric=None, lowest=None, workload=workload)


def ranking(rows: Sequence[ComparedJob], *, metric: str | None, lowest: bool | None, workload: str) -> Sweep:
    """``rows`` by a metric: by the first that the jobs logged of accuracy, F1, exact match, others, evaluation and training loss.

    Raises UnknownName for a metric that no job logged.
    """
    logged = dict.fromkeys(point.name for row in rows for point in row.record.points)
    logged |= dict.fromkeys(name for row in rows for name in row.snapshot.final_metrics)
    known = preferred(logged, trained=any(row.final_loss is not None for row in rows))
    if metric is None:
        metric = known[0] if known else TRAINING_LOSS
    elif metric not in known:
        every = ", ".join(map(repr, known)) or "nothing: no job logged a metric"
        raise UnknownName(f"metric: got {metric!r}, wanted one of {every}{suggestion(metric, known)}")
    down = lower_is_better(metric) if lowest is None else lowest
    names = varied(rows)

    def place(result: tuple[ComparedJob, float | None, str]) -> tuple[Any, ...]:
        row, value, _ = result
        settings = typed_settings(row, names)
        order = tuple(setting_key(settings.get(name)) for name in names)
        return value is None, (value or 0.0) if down else -(value or 0.0), order

    trials: list[Trial] = []
    for number, (row, value, note) in enumerate(sorted([(row, *_result(row, metric)) for row in rows], key=place), 1):
        before = trials[-1] if trials else None
        tied = value is not None and before is not None and before.value is not None
        rank = before.rank if tied and before and fmt.loss(before.value or 0.0) == fmt.loss(value or 0.0) else number
        trials.append(
            Trial(
                row=row, metric=metric, settings=typed_settings(row, names), value=value,
                rank=None if value is None else rank, note=note,
            )
        )  # fmt: skip
    return Sweep(
        workload=workload,
        metric=metric,
        lowest=down,
        names=names,
        trials=tuple(trials),
        emulated=all(row.emulated for row in rows),
    )


def lower_is_better(metric: str) -> bool:
    """Whether a metric of this name is a loss, an error or a time."""
    return any(word in _LOWER for word in re.split(r"[^a-z0-9]+", metric.lower()))


def preferred(logged: Iterable[str], *, trained: bool) -> list[str]:
    """Metrics in the order in which one would rank jobs by them: accuracy and F1, other evaluations, the training loss, the rest.

    ``trained``: a training loss is known.
    """
    names = sorted(logged)
    evaluations = [name for name in names if name.startswith("eval_") and name not in _RATES]
    higher = [name for name in evaluations if not lower_is_better(name)]
    others = [name for name in names if not name.startswith(("eval_", "baseline_")) and name not in {"loss", "epoch"}]
    first = [name for name in _FIRST if name in higher]
    return list(dict.fromkeys([*first, *higher, *evaluations, *([TRAINING_LOSS] if trained else []), *others]))


def _result(row: ComparedJob, metric: str) -> tuple[float | None, str]:
    """The job's value of the metric, or None and why."""
    if row.final_loss is not None and not math.isfinite(row.final_loss):
        step = next((point.step for point in row.record.series("loss") if not math.isfinite(point.value)), None)
        return None, f"✗ {fmt.not_finite(row.final_loss)}" + (f" at step {fmt.count(step)}" if step is not None else "")
    if row.snapshot.status not in {JobStatus.COMPLETED, JobStatus.STOPPED}:
        return None, f"{row.look.glyph} {row.look.word}"
    value = row.final_loss if metric == TRAINING_LOSS else row.record.last(metric)
    if value is None:
        value = row.snapshot.final_metrics.get(metric)  # the service's own, of a job whose log was not read
    return (value, "") if value is not None and math.isfinite(value) else (None, str(Missing.NOT_LOGGED))


def _ground(row: ComparedJob) -> tuple[object, ...]:
    """What has to be the same for hyperparameters alone to differ: instances, image, and what starts the workers."""
    job = row.snapshot
    toolkit = {
        name: value for name, value in job.hyperparameters.items() if name.startswith("sagemaker_") and name not in _OWN
    }
    return (job.machines, job.image, tuple(sorted(toolkit.items())))


def _number(sent: str, shown: str) -> Setting:
    """SageMaker stores hyperparameters as JSON, SDK v2 numbers as such and texts in quotes; a text of a number is one."""
    try:
        value = json.loads(sent)
        value = float(value) if isinstance(value, str) else value
    except ValueError:
        return shown
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else shown


def sweep_sentence(sweep: Sweep) -> str:
    """The result in a sentence: the best values against the next best, or that no difference was measured."""
    return f"{sweep_headline(sweep)} {sweep_rest(sweep)}".strip()


def sweep_headline(sweep: Sweep) -> str:
    """``learning_rate 3e-5 is best: eval_accuracy 0.931 against 0.915 (means of 2 seeds).``"""
    mark = "EMULATED: " if sweep.emulated else ""
    if not sweep.setups:
        return f"{mark}No job of the sweep has a result."
    best, *others = sweep.setups
    if not others:
        return f"{mark}{_values(best.settings) or best.trials[0].job}: {sweep.metric} {_range(best.low, best.high)}."
    tied = [best, *(each for each in others if _equal(best, each))]
    if len(tied) == len(sweep.setups):
        span = _range(min(each.low for each in tied), max(each.high for each in tied))
        return f"{mark}No difference measured in {sweep.metric} ({span})."
    if len(tied) > 1:
        which = fmt.listing([_values(each.settings) for each in tied]) if len(tied) <= 3 else f"{len(tied)} settings"
        result = f"{sweep.metric} {_range(best.low, best.high)}"
        return f"{mark}{which} are best, with no difference measured between them: {result}."
    counts = {len(each.trials) for each in sweep.setups}
    what, most = "seeds" if _SEEDS & set(sweep.names) else "runs", "up to " if len(counts) > 1 else ""
    means = f" (means of {most}{max(counts)} {what})" if max(counts) > 1 else ""
    result = f"{sweep.metric} {fmt.loss(best.mean)} against {fmt.loss(others[0].mean)}"
    if len(best.settings) > _WORDY and not means:
        return f"{mark}{best.trials[0].job} is best: {result} for {others[0].trials[0].job}."
    other = {name: value for name, value in others[0].settings.items() if best.settings.get(name) != value}
    verb = "is" if len(best.settings) == 1 else "are"
    return f"{mark}{_values(best.settings)} {verb} best: {result} for {_values(other)}{means}."


def _equal(one: Setup, other: Setup) -> bool:
    """Equal as far as is shown, or – with several seeds – ranges that overlap."""
    if fmt.loss(one.mean) == fmt.loss(other.mean):
        return True
    several = len(one.trials) > 1 and len(other.trials) > 1
    return several and one.low <= other.high and other.low <= one.high


def _range(low: float, high: float) -> str:
    return fmt.loss(low) if fmt.loss(low) == fmt.loss(high) else f"{fmt.loss(low)} to {fmt.loss(high)}"


def _values(values: Mapping[str, Setting]) -> str:
    return fmt.listing([f"{name} {setting_text(value)}" for name, value in values.items()])


def sweep_rest(sweep: Sweep) -> str:
    """Who is in no mean, and why."""
    without = [trial for trial in sweep.trials if trial.rank is None]
    if not without:
        return ""
    said = [f"{trial.job} ({trial.note})" for trial in without[:3]]
    said += [f"{len(without) - 3} more"] if len(without) > 3 else []
    return (
        f"{fmt.count(len(sweep.ranked))} of {fmt.jobs(len(sweep.trials))} have a result; without: {fmt.listing(said)}."
    )
