"""What a strategy and the compiler add to the hyperparameters for the toolkit in the container."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ....core.specs.destination import Destination
from ....core.specs.json import Json
from ..values import Cause, Instance, Reason
from .asked import Asked
from .words import enabled, inner

_SWITCHES: Final = {
    "pytorchxla": "sagemaker_pytorch_xla_multi_worker_enabled",
    "parameter_server": "sagemaker_parameter_server_enabled",
}


def distributed(asked: Asked, at: Destination) -> dict[str, Json]:
    """What the strategy and the compiler add for the toolkit in the container."""
    raw = asked.raw.get("distribution")
    named = {key: value for key, value in raw.items() if key != "instance_groups"} if isinstance(raw, dict) else raw
    options = asked.ledger.plain(named) or {}
    if not isinstance(options, dict):
        asked.ledger.lacks(Cause(Reason.VALUE, asked.site.place, "distribution", give="distribution"))
        return {}
    # Scikit-learn's and XGBoost's classes take the argument and do nothing with it.
    found = _strategy(asked, options) if asked.site.cls not in {"SKLearn", "XGBoost"} else {}
    if asked.site.cls == "TensorFlow" and asked.get("model_dir") is not False:
        output = str(asked.get("output_path") or f"s3://{at.bucket}/").rstrip("/")
        default = "/opt/ml/model" if enabled(options, "mpi") else f"{output}/{at.job_name}/model"
        found["model_dir"] = asked.get("model_dir") or default
    compiler = asked.compiler()
    if compiler is not None:
        settings = asked.resolved(compiler)
        found |= {
            "sagemaker_training_compiler_enabled": settings.get("enabled", True),
            "sagemaker_training_compiler_debug_mode": settings.get("debug", False),
        }
    return found


def _strategy(asked: Asked, options: dict[str, Json]) -> dict[str, Json]:
    torch = asked.site.cls in {"PyTorch", "HuggingFace"}
    if asked.site.cls == "PyTorch" and "pytorchddp" in options:
        options = {
            **{key: value for key, value in options.items() if key != "pytorchddp"},
            "smdistributed": {"dataparallel": options["pytorchddp"]},
        }
    machine = asked.get("instance_type")
    kind = {"sagemaker_instance_type": machine} if machine is not None else {}
    if torch and enabled(options, "pytorchddp"):
        return {"sagemaker_pytorch_ddp_enabled": True, **kind}
    if torch and "pytorchddp" not in options and enabled(options, "torch_distributed"):
        inner = _toolkit(asked, options) if asked.site.cls == "PyTorch" and "smdistributed" in options else {}
        return {**inner, "sagemaker_torch_distributed_enabled": True, **kind}
    return _toolkit(asked, options)


def _toolkit(asked: Asked, options: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    groups = _distributed_groups(asked)
    if groups:
        found["sagemaker_distribution_instance_groups"] = groups
    for word, name in _SWITCHES.items():
        if word in options:
            found[name] = enabled(options, word)
    if "mpi" in options:
        mpi = inner(options, "mpi")
        found["sagemaker_mpi_enabled"] = mpi.get("enabled", False)
        if mpi.get("processes_per_host"):
            found["sagemaker_mpi_num_of_processes_per_host"] = mpi["processes_per_host"]
        found["sagemaker_mpi_custom_mpi_options"] = mpi.get("custom_mpi_options", "")
    if "smdistributed" in options:
        found |= _smdistributed(asked, inner(options, "smdistributed"))
    if "multi_worker_mirrored_strategy" in options:
        found["sagemaker_multi_worker_mirrored_strategy_enabled"] = enabled(options, "multi_worker_mirrored_strategy")
    return found


def _smdistributed(asked: Asked, parallel: Mapping[str, Json]) -> dict[str, Json]:
    model, data = inner(parallel, "modelparallel"), inner(parallel, "dataparallel")
    found: dict[str, Json] = {}
    if model.get("enabled") and model.get("parameters"):
        found["mp_parameters"] = model["parameters"]
    found["sagemaker_distributed_dataparallel_enabled"] = data.get("enabled", False)
    found["sagemaker_instance_type"] = asked.get("instance_type")
    if data.get("enabled"):
        found["sagemaker_distributed_dataparallel_custom_mpi_options"] = data.get("custom_mpi_options", "")
    return found


def _distributed_groups(asked: Asked) -> list[Json]:
    """The groups that workers are started on: those that ``distribution`` names, or the only one there is."""
    raw = asked.raw.get("distribution")
    if not isinstance(raw, dict):
        return []
    named = raw.get("instance_groups")
    chosen = named if isinstance(named, list) and named else asked.groups() if len(asked.groups()) == 1 else []
    found = [asked.resolved(item).get("instance_group_name") for item in chosen if isinstance(item, Instance)]
    options = {str(key): asked.ledger.plain(value) for key, value in raw.items() if key != "instance_groups"}
    if found and not enabled(options, "mpi") and not enabled(inner(options, "smdistributed"), "dataparallel"):
        why = "instance groups need mpi or smdistributed.dataparallel"
        asked.ledger.lacks(Cause(Reason.REFUSED, asked.site.place, "distribution", "distribution", why))
    return found
