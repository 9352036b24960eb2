"""Which image the SDK chooses for an estimator."""

from __future__ import annotations

from collections.abc import Mapping

from ....core.catalog import algorithms
from ....core.catalog import images as catalog
from ....core.errors import SmTrnError
from ....core.specs.compute import Compute, InstanceGroup
from ....core.specs.framework import HuggingFace, PyTorch, TrainingCompiler
from ....core.specs.job import JobSpec
from ....core.specs.json import Json
from ....core.strategies.smp_v2 import SMModelParallelV2
from ..values import Cause, Instance, Reason
from .asked import Asked
from .words import inner


def image(asked: Asked) -> str | None:
    own = asked.text("image_uri")
    if (
        own
        or asked.site.cls in {"Estimator", "AlgorithmEstimator"}
        or ("image_uri" in asked.raw and asked.raw["image_uri"] is not None)
    ):
        if own is None and asked.site.cls == "Estimator" and asked.raw.get("image_uri") is None:
            asked.ledger.lacks(Cause(Reason.REFUSED, asked.site.place, "image_uri", give="image_uri"))
        return own
    try:
        return _chosen_image(asked)
    except (SmTrnError, ValueError, TypeError) as error:
        if not asked.ledger.causes:
            asked.ledger.lacks(
                Cause(Reason.IMAGE, asked.site.place, f"{asked.site.cls}(…)", give="image_uri", detail=str(error))
            )
        return None


def _chosen_image(asked: Asked) -> str:
    get = asked.get
    version, python, machine = get("framework_version"), get("py_version"), asked.machine()
    raw = asked.raw.get("distribution")
    options = (
        asked.ledger.plain({key: value for key, value in raw.items() if key != "instance_groups"})
        if isinstance(raw, dict)
        else None
    )
    distribution: Mapping[str, Json] = options if isinstance(options, Mapping) else {}
    if asked.site.cls == "PyTorch" and machine and catalog.processor(machine) == "neuron" and not asked.groups():
        return catalog.neuron_image_of_sdk_v2(str(version), python, asked.region)
    if asked.site.cls in {"PyTorch", "HuggingFace"} and get("tensorflow_version") is None:
        if asked.site.cls == "PyTorch":
            framework: PyTorch | HuggingFace = PyTorch(version, python=python)
        else:
            framework = HuggingFace(get("transformers_version"), pytorch=get("pytorch_version"), python=python)
        model = inner(inner(distribution, "smdistributed"), "modelparallel")
        v2 = "torch_distributed" in distribution and bool(model) and model.get("enabled", True)
        job = JobSpec(
            name="image", framework=framework, compute=_compute(asked, machine),
            compiler=TrainingCompiler() if asked.compiler() else None,
            distribution=SMModelParallelV2() if v2 else None,
        )  # fmt: skip
        return _with_build(asked, catalog.image_uri(job, asked.region), distribution)
    name = {
        "TensorFlow": "tensorflow", "MXNet": "mxnet", "SKLearn": "sklearn", "XGBoost": "xgboost", "HuggingFace": "huggingface-tensorflow",
    }.get(asked.site.cls)  # fmt: skip
    if asked.site.cls == "HuggingFace":
        version = f"{get('tensorflow_version')}-transformers{get('transformers_version')}"
    if name is None or asked.compiler():
        raise ValueError(f"no table has the image of {asked.site.cls} with these versions")
    wanted = algorithms.Wanted(
        version=version, instance=machine, smdistributed="smdistributed" in distribution,
        python=python or ("py3" if name in {"sklearn", "xgboost"} else None),
    )  # fmt: skip
    return algorithms.training_image(name, asked.region, wanted)


def _with_build(asked: Asked, uri: str, distribution: Mapping[str, Json]) -> str:
    """PyTorch 1.6 on smdistributed has a build of its own: the table adds it for a strategy, and here none is named."""
    build = {"1.6": "cu110-ubuntu18.04-v3", "1.6.0": "cu110-ubuntu18.04"}.get(str(asked.get("framework_version")))
    wanted = build and asked.site.cls == "PyTorch" and "-gpu-" in uri and "smdistributed" in distribution
    return f"{uri}-{build}" if wanted and not uri.endswith(str(build)) else uri


def _compute(asked: Asked, machine: str) -> Compute:
    made = tuple(_group(asked, group) for group in asked.groups())
    return Compute(groups=made) if made else Compute(machine)


def _group(asked: Asked, group: Instance) -> InstanceGroup:
    name, kind, count = (
        asked.ledger.plain(group.arguments.get(f"instance_{word}")) for word in ("group_name", "type", "count")
    )
    return InstanceGroup(name=name, instance=kind, count=count)
