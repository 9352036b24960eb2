"""Sweeps: one job for each combination of hyperparameter values, with names that carry the values. Starts nothing."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from ..errors import SmTrnError, UnknownName
from ..formatting import numbers as fmt
from .job import HyperValue, JobSpec, expect_spec
from .value import misfit, suggestion

SWEEP_TAG: Final = "sm_trn:sweep"  # the name of the job that a sweep's jobs were made from
TRIAL_TAG: Final = "sm_trn:trial"  # of a training job of a study: its study, and the trial's number
LONGEST: Final = 42  # of the service's 63 characters, submit needs 21 to make a name unique
_SHORT: Final[Mapping[str, str]] = {
    "learning_rate": "lr",
    "batch_size": "bs",
    "per_device_train_batch_size": "bs",
    "train_batch_size": "bs",
    "num_train_epochs": "epochs",
    "gradient_accumulation_steps": "accum",
    "weight_decay": "wd",
    "warmup_ratio": "warmup",
    "max_steps": "steps",
    "model_name_or_path": "model",
    "random_state": "seed",
}


def grid(
    base: JobSpec,
    values: Mapping[str, Sequence[HyperValue]] | None = None,
    /,
    *,
    max_jobs: int = 100,
    **more: Sequence[HyperValue],
) -> tuple[JobSpec, ...]:
    """One job for each combination of hyperparameter values: ``base`` with those values, and a name that carries them.

    ``values`` takes names that are no Python identifiers, or ``max_jobs``. The last hyperparameter changes fastest. The jobs
    are tagged ``sm_trn:sweep`` with the name of ``base``. Raises UnknownName for a name that is nearly one of the base's own,
    SmTrnError for a grid of more than ``max_jobs`` jobs, ValueError for a hyperparameter without values or with one twice,
    and TypeError for what is no list of values.

    >>> [each.name for each in st.grid(job, learning_rate=[1e-5, 3e-5], seed=[1, 2])]
    ['bert-lr1e-5-seed1', 'bert-lr1e-5-seed2', 'bert-lr3e-5-seed1', 'bert-lr3e-5-seed2']
    """
    expect_spec(base)
    axes = {name: _listed(name, given) for name, given in {**(values or {}), **more}.items()}
    if not axes:
        raise ValueError("grid: got no hyperparameter, wanted at least one, such as learning_rate=[1e-5, 3e-5]")
    for name in axes:
        if name not in base.hyperparameters and (hint := suggestion(name, base.hyperparameters)):
            raise UnknownName(
                f"grid: {base.name} has no hyperparameter {name!r}{hint}\n"
                f"  fix  if {name!r} is meant, give it a value in {base.name} first"
            )
    count = math.prod(map(len, axes.values()))
    if count > max_jobs:
        sizes = " × ".join(f"{len(given)} {name}" for name, given in axes.items())
        raise SmTrnError(
            f"grid: got {fmt.count(count)} jobs ({sizes}), wanted at most {fmt.count(max_jobs)}\n"
            f"  fix  fewer values, or max_jobs={count}"
        )
    settings = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
    names = _names(base.name, settings)
    tags = {**base.tags, SWEEP_TAG: base.name[:256]}
    return tuple(
        base.replace(name=name, hyperparameters={**base.hyperparameters, **chosen}, tags=tags)
        for name, chosen in zip(names, settings, strict=True)
    )


def parse_values(text: str) -> tuple[str, tuple[HyperValue, ...]]:
    """``learning_rate=1e-5,3e-5`` as a name and its values: numbers, true and false, or else texts. Raises ValueError."""
    name, mark, values = text.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if not mark or not name.strip() or not all(parts):
        raise ValueError(f"got {text!r}, wanted NAME=VALUE,VALUE, such as learning_rate=1e-5,3e-5")
    return name.strip(), tuple(map(_typed, parts))


def _typed(text: str) -> HyperValue:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (bool, int, float)) and math.isfinite(value) else text


def _listed(name: str, given: object) -> tuple[HyperValue, ...]:
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
        raise TypeError(f"grid: {name}: {misfit(given, f'a list of values, such as {name}=[{given!r}]')}")
    values = tuple(given)
    for value in values:
        if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
            raise TypeError(f"grid: {name}: {misfit(value, 'a number, a text, True or False')}")
    if not values:
        raise ValueError(f"grid: {name}: got no values, wanted at least one")
    twice = next((value for number, value in enumerate(values) if value in values[:number]), None)
    if twice is not None:
        raise ValueError(f"grid: {name}: got {twice!r} twice, wanted each value once")
    return values


def _names(base: str, settings: Sequence[Mapping[str, HyperValue]]) -> list[str]:
    """A name for each: legal characters, room for submit's suffix, no two alike – in words where they fit, else shorter."""
    keys = _keys(settings[0])
    initials = {name: "".join(word[:1] for word in re.findall(r"[a-z0-9]+", name.lower())) for name in settings[0]}
    for keys_used in (keys, initials):
        names = [f"{base}-{_words(keys_used, chosen)}" for chosen in settings]
        if max(map(len, names)) <= LONGEST:
            return _apart(names)
    tails = [_words(keys, chosen) for chosen in settings]
    room = LONGEST - max(map(len, tails)) - 1
    if room >= min(8, len(base)):
        return _apart([f"{base[:room].rstrip('-')}-{tail}" for tail in tails])
    return _apart([f"{base}-{tail}" for tail in tails])


def _keys(settings: Mapping[str, HyperValue]) -> dict[str, str]:
    """A short name of each hyperparameter, for the names of jobs; its own name where two would share one."""
    short = [_SHORT.get(name) for name in settings]
    return {
        name: word if word is not None and short.count(word) == 1 else _legal(name)
        for name, word in zip(settings, short, strict=True)
    }


def _words(keys: Mapping[str, str], chosen: Mapping[str, HyperValue]) -> str:
    return "-".join(_word(keys[name], value) for name, value in chosen.items())


def _word(key: str, value: HyperValue) -> str:
    """``lr3e-5``, ``bs16``, ``wd0p1``, ``fp16-true``, ``optim-adamw``."""
    if isinstance(value, (bool, str)):
        return f"{key}-{_legal(str(value).lower() if isinstance(value, bool) else value)}"
    text = fmt.small(value) if isinstance(value, float) else str(value)
    if float(text) != value:
        text = repr(value)
    text = re.sub(r"e([+-]?)0*(\d)", lambda found: f"e{'-' if found[1] == '-' else ''}{found[2]}", text)
    return f"{key}{text.replace('.', 'p')}" if value >= 0 else f"{key}-minus{text[1:].replace('.', 'p')}"


def _legal(text: str) -> str:
    """``text`` in the letters, digits and hyphens that a job's name may have."""
    return re.sub(r"[^a-zA-Z0-9]+", "-", text).strip("-") or "x"


def _apart(names: Sequence[str]) -> list[str]:
    """``names`` cut to their length; those that are alike then are numbered."""
    cut = [name[:LONGEST].rstrip("-") for name in names]
    alike = [name.lower() for name in cut]
    if len(set(alike)) == len(alike):
        return cut
    digits = len(str(len(names)))
    return [
        f"{name[: LONGEST - digits - 1].rstrip('-')}-{number:0{digits}}" for number, name in enumerate(cut, start=1)
    ]
