"""Debugger, profiler and TensorBoard."""

from __future__ import annotations

import re

from ....core.catalog import limits
from ....core.specs.json import Json
from ..values import Cause, Instance, Reason
from .asked import Asked
from .words import enabled, given


def watched(asked: Asked, where: str, needed: list[dict[str, Json]]) -> dict[str, Json]:
    """Debugger, profiler and TensorBoard; ``needed`` are the tensors that rules ask for."""
    supported = asked.region not in limits.NO_DEBUGGER
    found: dict[str, Json] = {}
    options = asked.raw.get("distribution")
    server = isinstance(options, dict) and enabled(
        {"parameter_server": asked.ledger.plain(options.get("parameter_server"))}, "parameter_server"
    )
    hook = _hook(asked, where, needed) if supported and not (server and asked.site.cls == "TensorFlow") else None
    if hook is not None:
        found["DebugHookConfig"] = hook
    found["ProfilerConfig"] = _profiler(asked, where, supported=supported)
    return found


def _hook(asked: Asked, where: str, needed: list[dict[str, Json]]) -> dict[str, Json] | None:
    """The hook with the tensors that it is given and those that the rules need, each once."""
    hook = asked.raw.get("debugger_hook_config")
    if _dropped(asked) or hook is False:
        return None
    if isinstance(hook, Instance):
        settings = hook.arguments
        listed = asked.collections(settings.get("collection_configs"))
        path = asked.ledger.plain(settings.get("s3_output_path")) or where
        return {
            "S3OutputPath": path,
            **given(
                LocalPath=asked.ledger.plain(settings.get("container_local_output_path")),
                HookParameters=asked.ledger.plain(settings.get("hook_parameters")),
            ),
            "CollectionConfigurations": _once(needed + listed),
        }  # fmt: skip
    if hook is not None and hook is not True and hook != {}:
        asked.ledger.plain(hook)
    return {"S3OutputPath": where, "CollectionConfigurations": _once(needed)}


def _once(collections: list[dict[str, Json]]) -> list[dict[str, Json]]:
    return [each for index, each in enumerate(collections) if each not in collections[:index]]


def _dropped(asked: Asked) -> bool:
    """Framework classes but Hugging Face's drop the hook from distributed jobs with a local checkpoint path."""
    both = asked.raw.get("checkpoint_s3_uri") and asked.raw.get("checkpoint_local_path")
    many = (asked.get("instance_count") or 0) > 1 if isinstance(asked.get("instance_count") or 0, int) else False
    hooked = asked.site.cls in {"PyTorch", "TensorFlow", "MXNet"}
    return bool(both and hooked and (many or asked.site.cls != "MXNet"))


def _profiler(asked: Asked, where: str, *, supported: bool) -> dict[str, Json]:
    config, kind = asked.raw.get("profiler_config"), asked.get("instance_type")
    neuron = isinstance(kind, str) and re.match(r"^ml[._]trn", kind)
    off = bool(asked.get("disable_profiler")) or not supported or bool(neuron)
    if isinstance(config, Instance):
        settings = config.arguments
        if settings.get("framework_profile_params") is not None or settings.get("profile_params") is not None:
            asked.ledger.lacks(
                Cause(
                    Reason.VALUE,
                    config.place,
                    "framework_profile_params",
                    give="profiler_config",
                    detail="framework profiling",
                )
            )
        path = asked.ledger.plain(settings.get("s3_output_path")) or where
        interval = asked.ledger.plain(settings.get("system_monitor_interval_millis"))
        disabled = bool(asked.ledger.plain(settings.get("disable_profiler")))
        return {
            **({} if disabled else {"S3OutputPath": path}),
            "DisableProfiler": disabled,
            **given(ProfilingIntervalInMilliseconds=interval),
        }
    if config is not None:
        asked.ledger.plain(config)
    return {"DisableProfiler": True} if off else {"S3OutputPath": where, "DisableProfiler": False}
