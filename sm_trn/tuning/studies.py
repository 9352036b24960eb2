"""Studies of Optuna whose trials are training jobs: Optuna chooses the values, this package launches, waits, reads and pays attention."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..core.errors import CloudError, UnknownName, extra
from ..core.formatting import numbers as fmt
from ..core.ports import Trouble
from ..core.pricing.cost import ceiling, job_cost
from ..core.session.budget import as_usd
from ..core.session.handles import Session, TrainingJob, remember
from ..core.session.launches import launch_all, unique_names
from ..core.session.waits import poller_for
from ..core.specs.job import HyperValue, JobSpec, expect_spec
from ..core.specs.metrics import MetricRule
from ..core.specs.snapshot import JobSnapshot, JobStatus
from ..core.specs.sweeps import TRIAL_TAG
from ..core.specs.tuning import Categorical, Integer, Range, Scale
from ..core.specs.units import Usd
from .worst_case import allow_study, refuse_over

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

    Space: TypeAlias = Mapping[str, Range] | Callable[[optuna.Trial], Mapping[str, HyperValue]]

JOB: Final = "sm_trn:job"  # attribute of a trial: the name of its training job
VALUES: Final = "sm_trn:values"  # and what that is told


def tune(  # noqa: PLR0913 - what a study and a launch are told
    study: optuna.Study,
    job: JobSpec,
    space: Space,
    metric: str | MetricRule,
    *,
    session: Session[Any],
    n_trials: int,
    parallel: int = 1,
    max_usd: Usd | float | None = None,
    ignore: Sequence[str] = (),
    tell: Callable[[str], None] = print,
) -> optuna.Study:
    """Try ``n_trials`` training jobs like ``job`` with values that ``study`` chooses, and tell it the last value of ``metric``.

    ``space`` maps hyperparameters to ranges, or is a function of a trial that suggests their values and returns them. ``parallel`` jobs
    run at a time. ``max_usd`` is one budget of all: what ended jobs cost, with the worst case of those that run, never passes it; the
    study ends before. A job that fails, is stopped or prints no value is a failed trial. The same seed chooses the same trials as
    Optuna alone.

    Each trial knows the name of its job before that is launched: called again with the same study, after a kill or Ctrl-C, jobs that
    run are waited for, and none is launched twice. A team's ``sm_trn.toml`` holds for all trials together, as for a sweep's.

    Raises MissingLibrary without Optuna, UnknownName for a metric that no rule of the job has the name of, InvalidJob, OverBudget,
    CloudError.

    >>> import optuna
    >>> try:
    ...     st.tune(optuna.create_study(), job, {"lr": st.specs.Continuous(0.1, 0.9)}, "los", session=None, n_trials=1)
    ... except st.errors.UnknownName as error:
    ...     "no metric of this name" in str(error)
    True
    """
    with extra("tune", "A study"):
        import optuna as _optuna  # noqa: F401, PLC0415 - few searches are studies
    expect_spec(job)
    limit = None if max_usd is None else as_usd(max_usd)
    measured = _measured(job, metric)
    allow_study(session, measured, n_trials, limit)
    search = _Study(
        study=study,
        job=measured,
        space=space,
        metric=metric if isinstance(metric, str) else metric.name,
        session=session,
        parallel=parallel,
        limit=None if session.emulated else limit,
        ignore=ignore,
        tell=tell,
    )
    search.run(n_trials)
    return study


def _measured(job: JobSpec, metric: str | MetricRule) -> JobSpec:
    """The job with a rule for the metric. Raises UnknownName where it has none."""
    if isinstance(metric, MetricRule):
        return job.replace(metrics=(*(rule for rule in job.metrics if rule.name != metric.name), metric))
    names = [rule.name for rule in job.metrics]
    if metric not in names:
        raise UnknownName(
            f"metric: got {metric!r}, and {job.name} has no metric of this name; it has {', '.join(names)}"
        )
    return job


@dataclass(kw_only=True)
class _Study:
    """A study that goes on. ``running`` are the numbers of trials by the name of their job, ``spent`` is what ended jobs cost."""

    study: optuna.Study
    job: JobSpec
    space: Space
    metric: str
    session: Session[Any]
    parallel: int
    limit: Usd | None
    ignore: Sequence[str]
    tell: Callable[[str], None]
    running: dict[str, int] = field(default_factory=dict)
    spent: Usd = Decimal(0)

    def run(self, n_trials: int) -> None:
        """Try so many more; those that an earlier call left running are among them."""
        self._adopt()
        left = n_trials - len(self.running)
        each = ceiling(self.job, self.session.price_of(self.job.compute.machines)) if self.limit is not None else None
        if self.limit is not None and left > 0:
            refuse_over(self.job.name, 1, each, self.limit)
        while left > 0 or self.running:
            count = min(left, self.parallel - len(self.running), self._affordable(each))
            if count > 0:
                self._launch([self._ask() for _ in range(count)])
                left -= count
            elif not self.running:
                self.tell(f"The study ends {fmt.counted(left, 'trial')} early: one more could pass max_usd.")
                return
            for ended in self._next_ended():
                self._hear(ended)

    def _affordable(self, each: Usd | None) -> int:
        """How many more jobs the budget has room for, should all of them cost the most they can."""
        if self.limit is None or not each:
            return self.parallel
        return int((self.limit - self.spent - each * len(self.running)) // each)

    def _ask(self) -> int:
        """The next trial; the name of its job and its values are kept with it before anything is launched."""
        if callable(self.space):
            trial = self.study.ask()
            values = dict(self.space(trial))
        else:
            trial = self.study.ask({name: distribution(values) for name, values in self.space.items()})
            values = dict(trial.params)
        (name,) = unique_names([f"{self.job.name[:36].rstrip('-')}-t{trial.number}"], self.session.clock.now())
        trial.set_user_attr(VALUES, json.dumps(values))
        trial.set_user_attr(JOB, name)
        return trial.number

    def _attributes(self, number: int) -> tuple[str, JobSpec]:
        """The name of a trial's job, and its spec."""
        kept = self.study.trials[number].user_attrs
        values = {**self.job.hyperparameters, **json.loads(kept[VALUES])}
        tags = {**self.job.tags, TRIAL_TAG: f"{self.study.study_name}/{number}"[:256]}
        return kept[JOB], self.job.replace(hyperparameters=values, tags=tags)

    def _launch(self, numbers: Sequence[int]) -> None:
        """Launch the jobs of trials, each under the name that its trial has."""
        by_name = dict(self._attributes(number) for number in numbers)
        specs = self.session.allowed(list(by_name.values()))
        requests = self.session.requests_of(specs, list(by_name), ignore=self.ignore)
        launch_all(
            requests,
            lambda request: remember(self.session.storage, by_name[request["TrainingJobName"]], request),
            self.session.backend.create_job,
            handle=self._handle,
            clock=self.session.clock,
            paced=not self.session.emulated,
        )
        self.running |= dict(zip(by_name, numbers, strict=True))

    def _handle(self, name: str) -> TrainingJob:
        return self.session.job_class(name=name, session=self.session, spec=self.job)

    def _adopt(self) -> None:
        """Take over the trials that an earlier call left: their jobs run, have ended, or were never made."""
        from optuna.trial import TrialState  # noqa: PLC0415 - as above

        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if JOB not in trial.user_attrs:
                if VALUES in trial.user_attrs:  # cut off before it had a name: nothing was launched
                    self.study.tell(trial.number, state=TrialState.FAIL)
                continue
            name, _ = self._attributes(trial.number)
            try:
                self.session.backend.fetch_snapshot(name)
            except CloudError as error:
                if self.session.backend.trouble(error) is not Trouble.NOT_FOUND:
                    raise
                self._launch([trial.number])
            self.running[name] = trial.number

    def _next_ended(self) -> list[JobSnapshot]:
        """The jobs that have ended at the first look that finds one."""
        handles = [self._handle(name) for name in self.running]
        for known in poller_for(self.session, tuple(handles), self.tell, detailed=True).sweeps(list(self.running)):
            ended = [known[name] for name in self.running if name in known and known[name].over]
            if ended:
                return ended
        return []

    def _hear(self, ended: JobSnapshot) -> None:
        """Tell the study how a trial went, and add up what it cost."""
        from optuna.trial import TrialState  # noqa: PLC0415 - as above

        number = self.running.pop(ended.name)
        cost = job_cost(ended, self.session.price_of(ended.machines))
        most = None if self.limit is None else ceiling(self.job, self.session.price_of(self.job.compute.machines))
        self.spent += cost.usd if cost is not None else most or Decimal(0)
        value = self._value(ended)
        if value is None:
            self.study.tell(number, state=TrialState.FAIL)
            self.tell(f"{ended.name} {ended.status_word}, no value of {self.metric}: a failed trial")
            return
        self.study.tell(number, value)
        self.tell(
            f"{ended.name} {ended.status_word}, {self.metric} {fmt.small(value)}, best {fmt.small(self.study.best_value)}"
        )

    def _value(self, ended: JobSnapshot) -> float | None:
        """The last value of the metric in the job's log; None for a job that did not complete, and where there is none."""
        if ended.status is not JobStatus.COMPLETED:
            return None
        values = [point.value for point in self._handle(ended.name).points() if point.name == self.metric]
        value = values[-1] if values else ended.final_metrics.get(self.metric)
        return value if value is not None and math.isfinite(value) else None


def distribution(values: Range) -> BaseDistribution:
    """A range as Optuna says it. Raises ValueError for a reverse logarithmic scale, which it does not have."""
    from optuna import distributions  # noqa: PLC0415 - as above

    if isinstance(values, Categorical):
        return distributions.CategoricalDistribution(values.values)
    if values.scale is Scale.REVERSE_LOGARITHMIC:
        raise ValueError(
            "scale: got ReverseLogarithmic, which Optuna does not have; wanted Linear, Logarithmic or Auto"
        )
    log = values.scale is Scale.LOGARITHMIC
    if isinstance(values, Integer):
        return distributions.IntDistribution(values.low, values.high, log=log)
    return distributions.FloatDistribution(values.low, values.high, log=log)
