"""Debugger and profiler of a request as values; None and nothing where a part has no word in them, which is then kept as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict

from ..specs.debugging import DebugHook, DebugRule, Profiling, TensorCollection
from ..specs.json import Json

_RULE: Final = frozenset({
    "RuleConfigurationName", "RuleEvaluatorImage", "InstanceType", "VolumeSizeInGB", "LocalPath", "S3OutputPath", "RuleParameters",
})  # fmt: skip
_HOOK: Final = frozenset({"S3OutputPath", "LocalPath", "HookParameters", "CollectionConfigurations"})


class Debugging(TypedDict):
    """Fields of a spec."""

    debugger: bool
    debug_hook: DebugHook | None
    debug_rules: tuple[DebugRule, ...]
    profiler: bool
    profiling: Profiling | None
    profiler_rules: tuple[DebugRule, ...]


def debugging(request: Mapping[str, Json]) -> Debugging:
    """The fields of a spec that say what the request says of its debugger and profiler."""
    hook, profiler = _table(request.get("DebugHookConfig")), _table(request.get("ProfilerConfig"))
    output = _table(request.get("OutputDataConfig")).get("S3OutputPath")
    return {
        "debugger": bool(hook),
        "debug_hook": _hook(hook, output),
        "debug_rules": tuple(_rules(request.get("DebugRuleConfigurations"))),
        "profiler": profiler.get("DisableProfiler") is False,
        "profiling": _profiling(profiler, output),
        "profiler_rules": tuple(_rules(request.get("ProfilerRuleConfigurations"))),
    }


def _table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Json) -> list[Mapping[str, Json]]:
    return [_table(item) for item in value] if isinstance(value, (list, tuple)) else []


def _hook(config: Mapping[str, Json], output: Json) -> DebugHook | None:
    items = _items(config.get("CollectionConfigurations"))
    collections = [each for item in items if (each := _collection(item)) is not None]
    parameters, place, local = _texts(config.get("HookParameters")), config.get("S3OutputPath"), config.get("LocalPath")
    known = parameters is not None and set(config) <= _HOOK and len(collections) == len(items)
    if not known or any(collections.count(each) > 1 for each in collections):
        return None
    found = DebugHook(
        s3_uri=_other(place, output),
        local_path=_text(local),
        parameters=parameters or {},
        collections=tuple(collections),
    )
    return None if found == DebugHook() else found


def _collection(item: Mapping[str, Json]) -> TensorCollection | None:
    name, parameters = item.get("CollectionName"), _texts(item.get("CollectionParameters"))
    if not isinstance(name, str) or parameters is None or not set(item) <= {"CollectionName", "CollectionParameters"}:
        return None
    return TensorCollection(name, parameters=parameters)


def _rules(value: Json) -> list[DebugRule]:
    """All rules of a list, or none where one has a part that is not known: a list is kept as one."""
    found = [_rule(item) for item in _items(value)]
    known = [rule for rule in found if rule is not None]
    return known if len(known) == len(found) else []


def _rule(item: Mapping[str, Json]) -> DebugRule | None:
    name, image, volume = item.get("RuleConfigurationName"), item.get("RuleEvaluatorImage"), item.get("VolumeSizeInGB")
    parameters = _texts(item.get("RuleParameters"))
    if not isinstance(name, str) or not isinstance(image, str) or parameters is None or not set(item) <= _RULE:
        return None
    return DebugRule(
        name=name, image_uri=image, parameters=parameters, instance=_text(item.get("InstanceType")),
        volume_gb=volume if isinstance(volume, int) else None, s3_uri=_text(item.get("S3OutputPath")),
        local_path=_text(item.get("LocalPath")),
    )  # fmt: skip


def _profiling(config: Mapping[str, Json], output: Json) -> Profiling | None:
    """The settings of a profiler that runs."""
    interval = config.get("ProfilingIntervalInMilliseconds")
    if config.get("DisableProfiler") is not False:
        return None
    found = Profiling(
        interval_ms=interval if isinstance(interval, int) else None, s3_uri=_other(config.get("S3OutputPath"), output)
    )
    return None if found == Profiling() else found


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _other(place: Json, output: Json) -> str | None:
    """A place that is not the output's."""
    return None if place == output else _text(place)


def _texts(value: Json) -> dict[str, str] | None:
    """A mapping of texts; None where a value is none."""
    found = _table(value)
    texts = {key: text for key, text in found.items() if isinstance(text, str)}
    return texts if len(texts) == len(found) else None
