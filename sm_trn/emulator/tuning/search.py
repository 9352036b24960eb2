"""The choice of the hyperparameters of the next training job: by Optuna, or by a grid in its order.

Bayesian is Optuna's TPE, Random its random sampler, Hyperband its pruner beside random values, early stopping its median pruner: the
same ideas as the service's own, which are not public, and not the same choices.
https://docs.aws.amazon.com/sagemaker/latest/dg/automatic-model-tuning-how-it-works.html
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final

from .request import definitions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from optuna.distributions import BaseDistribution

    from .request import Config, Definition, NumberRange, Ranges, TuningRequest

# API reference, HyperbandStrategyConfig: where MaxResource is inferred from.
EPOCHS: Final = ("epochs", "numepochs", "n-epochs", "n_epochs", "num_epochs")
_REVERSE: Final = "ReverseLogarithmic"
_SEEDS: Final = 2**32  # numpy takes smaller ones alone; RandomSeed has no greatest


def grid_size(ranges: Ranges) -> int:
    """Return how many jobs a grid has: every combination of the categorical values."""
    return math.prod(len(each["Values"]) for each in ranges.get("CategoricalParameterRanges") or ())


def grid_values(ranges: Ranges, number: int) -> Mapping[str, str]:
    """Return the values of job ``number`` of a grid, from 0.

    >>> ranges = {"CategoricalParameterRanges": [{"Name": "a", "Values": ["1", "2"]}, {"Name": "b", "Values": ["x", "y"]}]}
    >>> dict(grid_values(ranges, 1))
    {'a': '1', 'b': 'y'}
    """
    choices = ranges.get("CategoricalParameterRanges") or []
    rows = itertools.product(*(each["Values"] for each in choices))
    row = next(itertools.islice(rows, number % max(1, grid_size(ranges)), None))
    return {each["Name"]: value for each, value in zip(choices, row, strict=True)}


def min_resource(request: TuningRequest) -> int:
    """Return the least epochs of a training job of Hyperband."""
    strategy = request["HyperParameterTuningJobConfig"].get("StrategyConfig") or {}
    return (strategy.get("HyperbandStrategyConfig") or {}).get("MinResource", 1)


def max_resource(request: TuningRequest, definition: Definition) -> int | None:
    """Return the most epochs of a training job of Hyperband; None where nothing says it."""
    strategy = request["HyperParameterTuningJobConfig"].get("StrategyConfig") or {}
    said = (strategy.get("HyperbandStrategyConfig") or {}).get("MaxResource")
    static = definition.get("StaticHyperParameters") or {}
    told = (static[name].strip('"') for name in EPOCHS if name in static)
    return said or next((int(text) for text in told if text.isdigit()), None)


def stops_early(config: Config) -> bool:
    """Return whether training jobs that will not be the best are stopped."""
    return config["Strategy"] == "Hyperband" or config.get("TrainingJobEarlyStoppingType") == "Auto"


def needs_optuna(config: Config) -> bool:
    """Return whether the search is Optuna's: a grid is tried in its own order."""
    return config["Strategy"] != "Grid" or stops_early(config)


class Search:
    """The search of one definition: what it tries, and what it hears of that."""

    def __init__(self, request: TuningRequest, number: int) -> None:
        config = request["HyperParameterTuningJobConfig"]
        definition = definitions_of(request)[number]
        self._ranges = definition["HyperParameterRanges"]
        self._grid = config["Strategy"] == "Grid"
        self._trials: dict[str, Any] = {}
        self._told: dict[str, int] = {}
        self._asked = 0
        self._stops = stops_early(config)
        if not needs_optuna(config):
            return
        import optuna  # noqa: PLC0415 - few emulators search

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        seed = (config.get("RandomSeed", 0) + number) % _SEEDS
        bayesian = config["Strategy"] == "Bayesian"
        sampler = optuna.samplers.TPESampler(seed=seed) if bayesian else optuna.samplers.RandomSampler(seed=seed)
        pruner: Any = optuna.pruners.MedianPruner() if self._stops else optuna.pruners.NopPruner()
        if config["Strategy"] == "Hyperband":
            least, most = min_resource(request), max_resource(request, definition)
            pruner = optuna.pruners.HyperbandPruner(min_resource=least, max_resource=most or least)
        greater = definition.get("TuningObjective", {}).get("Type") == "Maximize"
        goal = optuna.study.StudyDirection.MAXIMIZE if greater else optuna.study.StudyDirection.MINIMIZE
        # Hyperband sorts trials into brackets by the study's name too: one name, and a seed chooses the same.
        self._study = optuna.create_study(study_name=f"search {number}", direction=goal, sampler=sampler, pruner=pruner)
        self._distributions = _distributions(self._ranges)

    def values(self) -> tuple[Any, Mapping[str, str]]:
        """Return what stands for the next training job, and its values as they stand in HyperParameters."""
        number, self._asked = self._asked, self._asked + 1
        if self._grid:
            trial = self._study.ask() if self._stops else None
            return trial, grid_values(self._ranges, number)
        trial = self._study.ask(self._distributions)
        return trial, _texts(self._ranges, trial.params)

    def started(self, name: str, trial: Any) -> None:
        """Keep the name of a training job that was started for a trial."""
        if trial is not None:
            self._trials[name] = trial

    def hopeless(self, name: str, values: Sequence[float]) -> bool:
        """Hear the objective's values so far, one an epoch. Return whether the training job is to be stopped."""
        if not self._stops or name not in self._trials:
            return False
        trial, known = self._trials[name], self._told.get(name, 0)
        for step, value in enumerate(values[known:], known + 1):
            trial.report(value, step)
            self._told[name] = step
            if trial.should_prune():
                return True
        return False

    def ended(self, name: str, value: float | None, *, stopped: bool) -> None:
        """Hear how a training job ended: the last value of its objective, None where it has none."""
        trial = self._trials.pop(name, None)
        if trial is None:
            return
        if stopped:
            self._study.tell(trial, state=_state("PRUNED"))
        elif value is None or not math.isfinite(value):
            self._study.tell(trial, state=_state("FAIL"))
        else:
            self._study.tell(trial, value)


def _state(word: str) -> Any:
    from optuna.trial import TrialState  # noqa: PLC0415 - as above

    return TrialState[word]


def _numbers(ranges: Ranges) -> Iterable[tuple[NumberRange, bool]]:
    """The ranges of numbers, and whether each is of whole ones."""
    yield from ((each, True) for each in ranges.get("IntegerParameterRanges") or ())
    yield from ((each, False) for each in ranges.get("ContinuousParameterRanges") or ())


def _distributions(ranges: Ranges) -> dict[str, BaseDistribution]:
    """The ranges as Optuna says them. It has no reverse logarithmic scale: there the distance from 1 is searched."""
    from optuna import distributions  # noqa: PLC0415 - as above

    choices = ranges.get("CategoricalParameterRanges") or ()
    made: dict[str, BaseDistribution] = {
        each["Name"]: distributions.CategoricalDistribution(each["Values"]) for each in choices
    }
    for each, whole in _numbers(ranges):
        low, high = float(each["MinValue"]), float(each["MaxValue"])
        log = each.get("ScalingType") == "Logarithmic"
        if whole:
            made[each["Name"]] = distributions.IntDistribution(math.ceil(low), math.floor(high), log=log)
        elif each.get("ScalingType") == _REVERSE:
            made[each["Name"]] = distributions.FloatDistribution(1 - high, 1 - low, log=True)
        else:
            made[each["Name"]] = distributions.FloatDistribution(low, high, log=log)
    return made


def _texts(ranges: Ranges, chosen: Mapping[str, str | int | float]) -> dict[str, str]:
    texts = {name: str(value) for name, value in chosen.items()}
    for each, whole in _numbers(ranges):
        if not whole and each.get("ScalingType") == _REVERSE:
            low, high = float(each["MinValue"]), float(each["MaxValue"])
            texts[each["Name"]] = repr(min(high, max(low, 1 - float(chosen[each["Name"]]))))
    return texts


def wrong_range(ranges: Ranges) -> str:
    """Return what is wrong with a range of numbers; empty where nothing is."""
    for each, whole in _numbers(ranges):
        try:
            low, high = float(each["MinValue"]), float(each["MaxValue"])
        except ValueError:
            return f"{each['Name']}: MinValue and MaxValue: wanted numbers, got {each['MinValue']!r} and {each['MaxValue']!r}"
        if not low < high or not math.isfinite(high - low):
            return f"{each['Name']}: MinValue: got {low:g}, wanted less than MaxValue, {high:g}"
        if whole and math.ceil(low) > math.floor(high):
            return f"{each['Name']}: MinValue: got {low:g} to {high:g}, wanted a whole number between them"
        scaling = each.get("ScalingType")
        if scaling == "Logarithmic" and (low <= 0 or (whole and math.ceil(low) < 1)):
            return f"{each['Name']}: ScalingType Logarithmic: wanted values greater than 0, got {low:g}"
        if scaling == _REVERSE and not 0 <= low < high < 1:
            return f"{each['Name']}: ScalingType ReverseLogarithmic: wanted a range in [0, 1), got {low:g} to {high:g}"
    return ""
