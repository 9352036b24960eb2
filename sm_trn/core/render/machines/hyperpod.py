"""Target ``hyperpod-pytorch-job``: the manifest of a HyperPodPyTorchJob for HyperPod on EKS, which kubectl takes. Sends nothing.

Its pods run the job's image. Each lays /opt/ml out from S3, copies checkpoints there while it runs and the model at the end.
Fields are those of hyperpod-pytorch-job-template 1.5.0 and of sagemaker-hyperpod 3.12.0, hyperpod_pytorch_job_unified_config.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from ...catalog.hyperpod import efa_interfaces
from ...catalog.images import image_uri
from ...catalog.instances import find_instance
from ...preflight.source import REQUIREMENTS, command_line
from ...specs.compute import Accelerator
from ...specs.destination import Destination
from ...specs.job import JobSpec
from ...specs.json import Json
from ...strategies import plan
from . import layout
from .layout import ML, Step

# sagemaker-hyperpod 3.12.0, cli/constants/command_constants.py
DEVICES: Final = {Accelerator.CUDA: "nvidia.com/gpu", Accelerator.NEURON: "aws.amazon.com/neurondevice"}
EFA: Final = "vpc.amazonaws.com/efa"
INSTANCE: Final = "node.kubernetes.io/instance-type"
GRACE_S: Final = 120  # between SageMaker's SIGTERM and its SIGKILL: API reference, StopTrainingJob
COPY_EVERY_S: Final = 60
DELIVERY: Final = f"{ML}/deliver.sh"
_EXPANDED: Final = re.compile(r"\$(?=[$(])")  # what Kubernetes reads in commands and variables: $(NAME), and $$ for a $


def render(job: JobSpec, at: Destination) -> dict[str, Json]:
    """The manifest for a job that has none of ``hyperpod_problems``' errors; JSON of it is a file for ``kubectl apply -f``.

    Raises UnknownName when no image fits the framework or the region.
    """
    name = at.named(job).lower()
    launch = plan(job)
    spec: dict[str, Json] = {
        "nprocPerNode": str(launch.workers_per_host),
        "runPolicy": _policy(job),
        "replicaSpecs": [
            {
                "name": "pod",
                "replicas": job.compute.hosts,
                "template": {"metadata": {"name": name}, "spec": _pod(job, at)},
            }
        ],
    }
    return {
        "apiVersion": "sagemaker.amazonaws.com/v1",
        "kind": "HyperPodPyTorchJob",
        "metadata": {"name": name},
        "spec": spec,
    }


def _policy(job: JobSpec) -> dict[str, Json]:
    policy: dict[str, Json] = {"cleanPodPolicy": "None", "activeDeadlineSeconds": job.max_run_s}
    if job.retries is not None:
        policy["jobMaxRetryCount"] = job.retries
    if job.guard is not None:
        policy["logMonitoringConfiguration"] = job.guard.log_monitoring()
    return policy


def _pod(job: JobSpec, at: Destination) -> dict[str, Json]:
    devices = _devices(job)
    container: dict[str, Json] = {
        "name": "pytorch-job-container",
        "image": image_uri(job, at.region),
        "command": ["bash", "-c", _literal(_script(job, at)), "job"],
        "args": [_literal(word) for word in command_line(job)],
        "env": [{"name": name, "value": _literal(value)} for name, value in _environment(job, at).items()],
        "resources": {"requests": devices, "limits": devices},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - workers of torch share memory there
    }
    return {
        "containers": [container],
        "nodeSelector": {INSTANCE: job.compute.instances[0]},
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }


def _literal(text: str) -> str:
    """A text that Kubernetes hands on as it is."""
    return _EXPANDED.sub("$$", text)


def _devices(job: JobSpec) -> dict[str, str]:
    """All accelerators and EFA interfaces of the instance: SageMaker gives whole instances."""
    row = find_instance(job.compute.instances[0])
    devices = {}
    if row is not None and row.accelerator in DEVICES:
        devices[DEVICES[row.accelerator]] = str(row.chips)
    interfaces = efa_interfaces().get(job.compute.instances[0], 0)
    if interfaces and devices:
        devices[EFA] = str(interfaces)
    return devices


def _environment(job: JobSpec, at: Destination) -> dict[str, str]:
    channels = {name: layout.data_folder(name) for name in job.channels}
    named = {"TRAINING_JOB_NAME": at.named(job), "AWS_REGION": at.region}
    one = {"SM_HOSTS": '["algo-1"]', "SM_CURRENT_HOST": "algo-1"} if job.compute.hosts == 1 else {}
    return {**layout.variables(job, ML, channels), **named, **one}


def _script(job: JobSpec, at: Destination) -> str:
    """What a pod runs. hyperpodrun takes the place of the shell: it has to get the signals."""
    lines = [
        "set -e",
        'command -v aws > /dev/null || python -m pip install --quiet "awscli>=1.32"',
        *(shlex.join(step) for step in _fetch(job, at)),
    ]
    checkpoints = layout.checkpoint_folder(job)
    if job.checkpoints is not None and checkpoints is not None:
        copy = shlex.join((*layout.SYNC, checkpoints, job.checkpoints.s3_uri))
        lines.append(f"while sleep {COPY_EVERY_S}; do {copy}; done &")
    lines += [
        *_write_delivery(job, at),
        f"cd {ML}/code",
        f"if [ -f {REQUIREMENTS} ]; then python -m pip install --quiet -r {REQUIREMENTS}; fi",
        "command -v hyperpodrun > /dev/null || python -m pip install --quiet hyperpod-elastic-agent",
        f'exec {shlex.join(_launcher(job))} "$@"',
    ]
    return "\n".join(lines)


def _fetch(job: JobSpec, at: Destination) -> Iterator[Step]:
    folders = (*layout.FOLDERS, *(f"input/data/{name}" for name in job.channels))
    yield ("mkdir", "-p", *(f"{ML}/{folder}" for folder in folders))
    source = at.source(job)
    if source.endswith(".tar.gz"):
        yield (*layout.COPY, source, f"{ML}/sourcedir.tar.gz")
        yield ("tar", "-xzf", f"{ML}/sourcedir.tar.gz", "-C", f"{ML}/code")
    else:
        yield (*layout.SYNC, source, f"{ML}/code")
    for name, channel in job.channels.items():
        yield (*layout.SYNC, channel.uri, layout.data_folder(name))
    checkpoints = layout.checkpoint_folder(job)
    if job.checkpoints is not None and checkpoints is not None:
        yield ("mkdir", "-p", checkpoints)
        yield (*layout.SYNC, job.checkpoints.s3_uri, checkpoints)


def _write_delivery(job: JobSpec, at: Destination) -> Iterator[str]:
    """A program for after success: checkpoints once more, and of the first pod the model. hyperpodrun starts it on each pod."""
    place = job.output.s3_uri or f"s3://{at.bucket}"
    steps = list(layout.delivery_steps(job, f"{place.rstrip('/')}/{at.named(job)}/output"))
    checkpoints = layout.checkpoint_folder(job)
    body = ["#!/bin/bash", "set -e"]
    if job.checkpoints is not None and checkpoints is not None:
        body.append(shlex.join((*layout.SYNC, checkpoints, job.checkpoints.s3_uri)))
    body += ['[ "${GROUP_RANK:-0}" = 0 ] || exit 0', *map(shlex.join, steps)]
    yield f"printf '%s\\n' {shlex.join(body)} > {DELIVERY}"
    yield f"chmod +x {DELIVERY}"


def _launcher(job: JobSpec) -> tuple[str, ...]:
    entry = layout.entry_of(job)
    program = ("--no-python", "sh", entry) if entry.endswith(".sh") else (entry,)
    return (
        "hyperpodrun",
        f"--nnodes={job.compute.hosts}",
        f"--nproc-per-node={plan(job).workers_per_host}",
        "--rdzv-backend=hyperpod",
        "--shutdown-signal=SIGTERM",
        f"--shutdown-timeout={GRACE_S}",
        f"--post-train-script={DELIVERY}",
        *program,
    )
