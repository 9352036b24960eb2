"""HyperPod's own models and Kubernetes' schemas, asked about manifests: a program for a Python that has them (.ci/hyperpod).

Reads a JSON object of manifests by name, and writes one of what is wrong with each. Nothing of sm_trn is imported.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

warnings.simplefilter("ignore")
import kubernetes_validate  # noqa: E402
from hyperpod_pytorch_job_template.v1_1.model import PyTorchJobConfig  # noqa: E402
from sagemaker.hyperpod.training.config.hyperpod_pytorch_job_unified_config import (  # noqa: E402
    ReplicaSpec,
    RunPolicy,
    _HyperPodPytorchJob,
)
from sagemaker.hyperpod.training.hyperpod_pytorch_job import API_VERSION, KIND, TRAINING_GROUP  # noqa: E402
from sagemaker.hyperpod.training.quota_allocation_util import (  # noqa: E402
    _get_resources_from_instance,
    _validate_accelerators_inputs,
    _validate_efa_inputs,
)

KUBERNETES = "1.31"
ACCELERATORS = ("nvidia.com/gpu", "aws.amazon.com/neurondevice")
EFA = "vpc.amazonaws.com/efa"


def faults(manifest: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a manifest, by each of those who know."""
    wanted = (f"{TRAINING_GROUP}/{API_VERSION}", KIND)
    if (manifest["apiVersion"], manifest["kind"]) != wanted:
        yield f"not {wanted}"
    spec = manifest["spec"]
    (replicas,) = spec["replicaSpecs"]
    parsed = _HyperPodPytorchJob.model_validate(spec, by_name=True)
    if any(key not in type(parsed).model_fields for key in spec):  # this class alone ignores what it does not know
        yield f"unknown fields: {sorted(spec)}"
    for cls, part in ((RunPolicy, spec["runPolicy"]), (ReplicaSpec, replicas)):
        again = json.loads(cls.model_validate(part, by_name=True).model_dump_json(exclude_unset=True))
        if again != part:
            yield f"{cls.__name__} reads {again}"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": replicas["template"]["metadata"],
        "spec": replicas["template"]["spec"],
    }
    kubernetes_validate.validate(pod, KUBERNETES, strict=True)
    yield from _faults_by_the_template(manifest, replicas)
    yield from _faults_of_resources(replicas["template"]["spec"])


def _faults_by_the_template(manifest: dict[str, Any], replicas: dict[str, Any]) -> Iterator[str]:
    """The template's model takes the same job, and makes the same of it where it has words for it."""
    pod = replicas["template"]["spec"]
    (container,) = pod["containers"]
    limits = container["resources"]["limits"]
    accelerators = next((int(limits[key]) for key in ACCELERATORS if key in limits), None)
    efa = int(limits[EFA]) if EFA in limits else None
    config = PyTorchJobConfig(
        job_name=manifest["metadata"]["name"],
        image=container["image"],
        command=container["command"],
        args=[word for word in container["args"] if word.strip()]
        or None,  # it refuses empty words, which Kubernetes takes
        environment={each["name"]: each["value"] for each in container["env"] if each["name"].isidentifier()} or None,
        instance_type=pod["nodeSelector"]["node.kubernetes.io/instance-type"],
        replica_count=replicas["replicas"],
        tasks_per_node=manifest["spec"]["nprocPerNode"],
        accelerators=accelerators,
        accelerators_limit=accelerators,
        efa=efa,
        efa_limit=efa,
        max_retry=manifest["spec"]["runPolicy"].get("jobMaxRetryCount"),
    )
    made = json.loads(config.to_domain().model_dump_json(exclude_none=True))
    (theirs,) = made["replicaSpecs"]
    (their_container,) = theirs["template"]["spec"]["containers"]
    pairs = [
        (made["nprocPerNode"], manifest["spec"]["nprocPerNode"]),
        (theirs["replicas"], replicas["replicas"]),
        (theirs["name"], replicas["name"]),
        (theirs["template"]["spec"]["nodeSelector"], pod["nodeSelector"]),
        *((their_container[name], container[name]) for name in ("name", "image", "command")),
    ]
    yield from (f"the template makes {left}, the manifest has {right}" for left, right in pairs if left != right)


def _faults_of_resources(pod: dict[str, Any]) -> Iterator[str]:
    instance = pod["nodeSelector"]["node.kubernetes.io/instance-type"]
    limits = pod["containers"][0]["resources"]["limits"]
    whole = {
        key: str(value)
        for key, value in _get_resources_from_instance(instance, 1).items()
        if key not in {"cpu", "memory"}
    }
    if {key: value for key, value in whole.items() if value != "0"} != limits:
        yield f"HyperPod gives {instance} {whole}, the manifest asks for {limits}"
    accelerators = next((int(limits[key]) for key in ACCELERATORS if key in limits), None)
    efa = int(limits[EFA]) if EFA in limits else None
    if accelerators is not None:
        _validate_accelerators_inputs(instance, accelerators, accelerators)
    _validate_efa_inputs(instance, efa, efa)


def answer(manifest: dict[str, Any]) -> list[str]:
    """All faults; what a model raises is one of them."""
    try:
        return list(faults(manifest))
    except Exception as error:  # noqa: BLE001 - whatever a model raises is what it says
        return [f"{type(error).__name__}: {error}"]


if __name__ == "__main__":
    json.dump({name: answer(manifest) for name, manifest in json.load(sys.stdin).items()}, sys.stdout)
