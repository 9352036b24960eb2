"""What to change: fields of the spec where the mend is one, else words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from ...core.specs.job import JobSpec
from ...core.specs.problems import Advice, AnyOf, Change

_BATCHES = ("per_device_train_batch_size", "per_device_batch_size", "train_batch_size", "batch_size")
_STEPS = "gradient_accumulation_steps"
_VOLUME_GB = 30
_DAYS_28_S = 28 * 86_400  # the most that MaxRuntimeInSeconds allows
Fix = Callable[[JobSpec, Mapping[str, str]], "Change | None"]


def fix_of(name: str, words: str, spec: JobSpec | None, facts: Mapping[str, str]) -> Change | Advice | AnyOf:
    """The mend of the cause ``name``: a change of ``spec`` where there is one, with ``words`` as the other choice."""
    change = _CHANGES[name](spec, facts) if spec is not None and name in _CHANGES else None
    return Advice(words) if change is None else AnyOf(change, words)


def _smaller_batch(spec: JobSpec, _facts: Mapping[str, str]) -> Change | None:
    values = dict(spec.hyperparameters)
    name = next((each for each in _BATCHES if each in values), None)
    size = values.get(name) if name is not None else None
    if name is None or isinstance(size, bool) or not isinstance(size, int) or size < 2:
        return None
    steps = values.get(_STEPS, 1)
    smaller = {**values, name: size // 2}
    if isinstance(steps, int) and not isinstance(steps, bool) and name != "batch_size":
        smaller[_STEPS] = steps * 2
    return Change(hyperparameters=smaller)


def _larger_volume(spec: JobSpec, _facts: Mapping[str, str]) -> Change | None:
    size = spec.compute.volume_gb
    return Change(compute=dataclasses.replace(spec.compute, volume_gb=max(_VOLUME_GB, size or 0) * 4))


def _longer(spec: JobSpec, _facts: Mapping[str, str]) -> Change | None:
    longer = min(_DAYS_28_S, spec.max_run_s * 2)
    return Change("then job.resume()", max_run_s=longer) if longer > spec.max_run_s else None


def _without(spec: JobSpec, facts: Mapping[str, str]) -> Change | None:
    unknown = {
        word.removeprefix("--").partition("=")[0]
        for word in facts.get("arguments", "").split()
        if word.startswith("--")
    }
    kept = {
        name: value
        for name, value in spec.hyperparameters.items()
        if name.replace("-", "_") not in unknown and name not in unknown
    }
    return Change(hyperparameters=kept) if unknown and len(kept) < len(spec.hyperparameters) else None


_CHANGES: Mapping[str, Fix] = {
    "mem.cuda_oom": _smaller_batch,
    "mem.neuron_oom": _smaller_batch,
    "disk.full": _larger_volume,
    "data.too_large": _larger_volume,
    "stop.max_runtime": _longer,
    "script.arguments": _without,
}
