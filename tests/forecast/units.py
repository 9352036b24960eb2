"""Units of published speeds: how seconds of an optimizer step become a row's own unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sm_trn.core.specs.json import Object
from sm_trn.forecast.configuration import Configuration
from sm_trn.forecast.work import model_flop

from .fields import Refusal, number, text

# Training examples of public data sets, as their recipes count them: dataset cards of the Hugging Face hub.
EXAMPLES: Mapping[str, float] = {
    "squad": 88_524,  # features of 384 tokens with a stride of 128
    "mrpc": 3668,
    "sst-2": 67_349,
    "sst2": 67_349,
    "mnli": 392_702,
    "qqp": 363_846,
    "qnli": 104_743,
    "cola": 8551,
    "cnn": 287_113,
    "xsum": 204_045,
    "samsum": 14_732,
    "imdb": 25_000,
    "amazonpolarity": 3_600_000,
    "amazon_polarity": 3_600_000,
    "imagenet": 1_281_167,
    "alpaca": 52_002,
    "dolly": 15_011,
    "food101": 75_750,
    "yelp": 650_000,
    "ag_news": 120_000,
    "emotion": 16_000,
}


@dataclass(frozen=True, slots=True)
class Unit:
    """``factor / seconds`` for a rate, ``factor * seconds + plus`` for a duration; ``doubt`` is what the row leaves open."""

    factor: float
    rate: bool
    plus: float = 0.0
    doubt: float = 1.0


def _examples(row: Object) -> float | None:
    words = f"{text(row, 'task')} {text(row, 'notes')}".lower()
    said = re.search(r"([\d,]{4,})\s*(?:training )?(samples|examples|features|records|sequences|images)", words)
    if said:
        return float(said[1].replace(",", ""))
    return next((count for name, count in EXAMPLES.items() if name in words), None)


def _epochs(row: Object) -> float | None:
    found = re.search(r"(\d+(?:\.\d+)?)\s*epochs?", f"{text(row, 'task')} {text(row, 'notes')}".lower())
    if found:
        return float(found[1])
    recipe = {"squad": 2.0, "mrpc": 3.0, "sst-2": 3.0, "sst2": 3.0}
    return next((count for name, count in recipe.items() if name in text(row, "task").lower()), None)


_SECONDS: Mapping[str, float] = {
    **dict.fromkeys(("s", "secs"), 1.0),
    **dict.fromkeys(("ms", "millis"), 1e-3),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("day", "days", "d"), 86_400.0),
}
_SAMPLES = r"seq|sample|image|img|example|record|sentence|query|queries|pairs|items|inputs"
_STEPS = r"it\b|its\b|iter|step|batch"
_DEVICE = r"/\s*(gpu|device|core|worker|accelerator|chip|nc)"
COST = Refusal("a cost is a time multiplied by a price that the row does not name")
START_S = 20.0  # of a whole job on GPUs before its first steps run at full speed
NEURON_START_S = 120.0  # loading graphs that were compiled before


def unit_of(row: Object, c: Configuration) -> Unit | Refusal:
    """How seconds of an optimizer step become this row's unit, or why they cannot."""
    unit = re.sub(r"\bsec(ond)?s?\b", "s", text(row, "unit").strip().lower().replace(" per ", "/"))
    metric = text(row, "metric").lower()
    if "usd" in unit or "$" in unit or "dollar" in unit or "cost" in metric:
        return COST
    return _rate(unit, metric, c) or _work_rate(unit, c) or _duration(row, unit, metric, c)


def _rate(unit: str, metric: str, c: Configuration) -> Unit | None:
    """Tokens, samples or steps in a time."""
    devices = c.workers if re.search(_DEVICE, unit) or "per device" in metric else 1
    per = 1.0 if re.search(r"/\s*s(?![a-z])|ps\b", unit) else 0.0
    longer = re.search(r"/\s*(hour|hr|h|minute|min|day)\b", unit)
    if longer:
        per = _SECONDS[longer[1]]
    if not per or "flop" in unit or re.match(r"(ms|s|min)\b", unit):
        return None
    scale = {"k": 1e-3, "m": 1e-6, "b": 1e-9}.get((re.match(r"([kmb])[\s-]?tok", unit) or " ")[0][:1], 1.0)
    if re.search(r"tok|word|^tps", unit):
        return Unit(c.global_batch * (c.sequence + c.target) / devices * scale * per, rate=True)
    if re.search(_SAMPLES, unit) or "fps" in unit:
        return Unit(c.global_batch / devices * per, rate=True)
    return Unit(per, rate=True) if re.search(_STEPS, unit) else None


def _work_rate(unit: str, c: Configuration) -> Unit | None:
    """FLOP in a second as papers count them, or their share of the peak."""
    if "flop" in unit:
        devices = c.workers if re.search(_DEVICE, unit) else 1
        scale = 1e15 if "pflop" in unit else 1e9 if "gflop" in unit else 1e12
        return Unit(model_flop(c) / devices / scale, rate=True, doubt=1.1)
    if "mfu" in unit or unit == "%":
        peak = c.chip.peak("fp8" if c.precision == "fp8" else c.half) or c.chip.fp32 * 1e12
        return Unit(model_flop(c) / c.workers / peak * 100, rate=True, doubt=1.1)
    return None


def _duration(row: Object, unit: str, metric: str, c: Configuration) -> Unit | Refusal:
    """Seconds of a step, of a sample, of an epoch or of a whole job."""
    scale = _SECONDS.get(re.split(r"[/\s]", unit)[0])
    if scale is None:
        return Refusal(f"unit {unit[:40]!r} is not known")
    if re.search(rf"/\s*({_STEPS})", unit) or re.search(r"step|iteration|batch", metric):
        return Unit(1 / scale, rate=False)
    if re.search(rf"/\s*({_SAMPLES})", unit):
        return Unit(1 / scale / c.global_batch, rate=False)
    epoch = "epoch" in unit or "epoch" in metric
    steps = number(row, "steps") or _steps_said(row)
    if steps is None:
        examples, epochs = _examples(row), 1.0 if epoch else _epochs(row)
        if examples is None or epochs is None:
            return Refusal("a whole job: the row does not say how many steps, or examples and epochs, it trains")
        steps = max(1.0, examples * epochs / c.global_batch)
    start = 0.0 if epoch else NEURON_START_S if c.neuron else START_S
    return Unit(steps / scale, rate=False, plus=start / scale, doubt=1.6)


def _steps_said(row: Object) -> float | None:
    words = f"{text(row, 'task')} {text(row, 'notes')}".lower()
    found = re.search(r"([\d,]+)\s*(?:optimizer |training |update )?(steps|iterations)", words)
    return float(found[1].replace(",", "")) if found else None
