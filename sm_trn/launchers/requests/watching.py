"""Debugger, profiler and TensorBoard."""

from __future__ import annotations

import re

from ...catalog import limits
from ...specs.json import Json
from ..values import Cause, Instance, Reason, causes_in
from .asked import Asked
from .words import enabled, given


def watched(asked: Asked, where: str) -> dict[str, Json]:
    """Debugger, profiler and TensorBoard."""
    supported = asked.region not in limits.NO_DEBUGGER
    found: dict[str, Json] = {}
    if asked.raw.get("rules"):
        asked.ledger.lacks(*causes_in(asked.raw["rules"]))
        asked.ledger.lacks(
            Cause(
                Reason.VALUE,
                asked.site.place,
                "rules=[…]",
                give="rules",
                detail="debugger rules have no word in a spec",
            )
        )
    wish = asked.raw.get("distribution")
    server = isinstance(wish, dict) and enabled(
        {"parameter_server": asked.ledger.plain(wish.get("parameter_server"))}, "parameter_server"
    )
    hook = _hook(asked, where) if supported and not (server and asked.site.cls == "TensorFlow") else None
    if hook is not None:
        found["DebugHookConfig"] = hook
    board = asked.raw.get("tensorboard_output_config")
    if isinstance(board, Instance):
        settings = asked.resolved(board)
        found["TensorBoardOutputConfig"] = given(
            S3OutputPath=settings.get("s3_output_path"), LocalPath=settings.get("container_local_output_path")
        )
    elif board is not None:
        asked.ledger.plain(board)
    found["ProfilerConfig"] = _profiler(asked, where, supported=supported)
    return found


def _hook(asked: Asked, where: str) -> dict[str, Json] | None:
    hook = asked.raw.get("debugger_hook_config")
    if _dropped(asked) or hook is False:
        return None
    if isinstance(hook, Instance):
        settings = hook.arguments
        collections = settings.get("collection_configs")
        listed = [_collection(asked, item) for item in collections] if isinstance(collections, (list, tuple)) else []
        if collections is not None and not isinstance(collections, (list, tuple)):
            asked.ledger.plain(collections)
        path = asked.ledger.plain(settings.get("s3_output_path")) or where
        return {
            "S3OutputPath": path,
            **given(
                LocalPath=asked.ledger.plain(settings.get("container_local_output_path")),
                HookParameters=asked.ledger.plain(settings.get("hook_parameters")),
            ),
            "CollectionConfigurations": listed,
        }  # fmt: skip
    if hook is not None and hook is not True and hook != {}:
        asked.ledger.plain(hook)
    return {"S3OutputPath": where, "CollectionConfigurations": []}


def _collection(asked: Asked, item: object) -> dict[str, Json]:
    if not isinstance(item, Instance) or item.cls != "CollectionConfig":
        asked.ledger.plain(item)
        return {}
    settings = asked.resolved(item)
    return {"CollectionName": settings.get("name")} | given(CollectionParameters=settings.get("parameters"))


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
