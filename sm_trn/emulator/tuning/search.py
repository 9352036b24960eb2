"""The choice of the hyperparameters of the next training job: by seeded dice, or by a grid in its order.

It is pure. A Bayesian search is these dice too: what it would learn from the jobs before is not emulated.
https://docs.aws.amazon.com/sagemaker/latest/dg/automatic-model-tuning-define-ranges.html
"""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .request import NumberRange, Ranges


def grid_size(ranges: Ranges) -> int:
    """Return how many jobs a grid has: every combination of the categorical values."""
    return math.prod(len(each["Values"]) for each in ranges.get("CategoricalParameterRanges") or ())


def chosen(ranges: Ranges, strategy: str, seed: int, number: int) -> Mapping[str, str]:
    """Return the values of job ``number``, from 0, as they stand in HyperParameters; the same for the same arguments.

    >>> ranges = {"CategoricalParameterRanges": [{"Name": "a", "Values": ["1", "2"]}, {"Name": "b", "Values": ["x", "y"]}]}
    >>> dict(chosen(ranges, "Grid", 0, 1))
    {'a': '1', 'b': 'y'}
    """
    choices = ranges.get("CategoricalParameterRanges") or []
    if strategy == "Grid":
        rows = itertools.product(*(each["Values"] for each in choices))
        row = next(itertools.islice(rows, number % max(1, grid_size(ranges)), None))
        return {each["Name"]: value for each, value in zip(choices, row, strict=True)}
    dice = random.Random(f"{seed}/{number}")  # noqa: S311 - dice to be repeated, not to be secret
    values = {each["Name"]: dice.choice(each["Values"]) for each in choices}
    for each in ranges.get("IntegerParameterRanges") or ():
        low, high = math.ceil(float(each["MinValue"])), math.floor(float(each["MaxValue"]))
        values[each["Name"]] = str(min(high, max(low, round(_between(each, dice)))))
    for each in ranges.get("ContinuousParameterRanges") or ():
        values[each["Name"]] = repr(_between(each, dice))
    return values


def wrong_range(ranges: Ranges) -> str:
    """Return what is wrong with a range of numbers; empty where nothing is."""
    for each in (*(ranges.get("IntegerParameterRanges") or ()), *(ranges.get("ContinuousParameterRanges") or ())):
        try:
            low, high = float(each["MinValue"]), float(each["MaxValue"])
        except ValueError:
            return f"{each['Name']}: MinValue and MaxValue: wanted numbers, got {each['MinValue']!r} and {each['MaxValue']!r}"
        if not low < high or not math.isfinite(high - low):
            return f"{each['Name']}: MinValue: got {low:g}, wanted less than MaxValue, {high:g}"
        scaling = each.get("ScalingType")
        if scaling == "Logarithmic" and low <= 0:
            return f"{each['Name']}: ScalingType Logarithmic: wanted values greater than 0, got {low:g}"
        if scaling == "ReverseLogarithmic" and not 0 <= low < high < 1:
            return f"{each['Name']}: ScalingType ReverseLogarithmic: wanted a range in [0, 1), got {low:g} to {high:g}"
    return ""


def _between(asked: NumberRange, dice: random.Random) -> float:
    low, high = float(asked["MinValue"]), float(asked["MaxValue"])
    there, back = _SCALES.get(asked.get("ScalingType", "Linear"), _SCALES["Linear"])
    return min(high, max(low, back(dice.uniform(there(low), there(high)))))


def _same(value: float) -> float:
    return value


_Scale = tuple["Callable[[float], float]", "Callable[[float], float]"]
_SCALES: Mapping[str, _Scale] = {
    "Linear": (_same, _same),
    "Logarithmic": (math.log, math.exp),
    "ReverseLogarithmic": (lambda value: -math.log1p(-value), lambda value: -math.expm1(-value)),
}
