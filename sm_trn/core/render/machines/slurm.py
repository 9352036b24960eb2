"""Target ``slurm``: a script for sbatch that lays /opt/ml out in a folder and starts the job's workers with srun. Starts nothing.

It is submitted from a folder that all nodes share. The job's folder there is named by the job and Slurm's number of it, is the
same after a requeue, and stands in for /opt/ml. The nodes' own Python runs the script.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ...catalog import efa, images
from ...catalog.instances import find_instance
from ...preflight.source import command_line
from ...specs.compute import Accelerator
from ...specs.destination import Destination
from ...specs.job import JobSpec
from ...specs.launch import LaunchPlan, Runner
from ...strategies import plan
from ..request import encode
from . import layout
from .layout import ML, Step

FOLDER: Final = "$SAGEMAKER_BASE_DIR"  # what the training toolkit calls the folder that stands in for /opt/ml
GRACE_S: Final = 120  # between SageMaker's SIGTERM at max_run and its SIGKILL: API reference, StopTrainingJob
DEVICES: Final = {Accelerator.CUDA: "/dev/nvidia0", Accelerator.NEURON: "/dev/neuron0"}
_ML_IN_TEXT: Final = re.compile(r"(?<![\w./-])/opt/ml(?![\w.-])")
_NOT_IN_A_NAME: Final = re.compile(
    r"[^\w.-]+", re.ASCII
)  # SageMaker refuses such names, and a comment of bash is one line
_BREAK: Final = " \\\n  "


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """A script for sbatch: ``str`` of it is the file.

    ``options`` are sbatch's, by their names. ``fetch`` runs once, on the first node, in the folder of the submission;
    ``node`` is what each node's task does before the script, and ``arguments`` are the script's. ``deliver`` follows success, ``keep``
    any end. /opt/ml in them is the job's folder.
    """

    name: str
    title: str
    options: Mapping[str, str]
    files: Mapping[str, str]
    fetch: tuple[Step, ...]
    node: tuple[str, ...]
    environment: Mapping[str, str]
    arguments: tuple[str, ...]
    keep: tuple[Step, ...]
    deliver: tuple[Step, ...]
    restarts: int | None

    def __str__(self) -> str:
        parts = (
            self._head(),
            self._limit_of_restarts(),
            self._layout(),
            self._start(),
            self._end(),
        )
        return "\n\n".join(part for part in parts if part)

    def _head(self) -> str:
        options = [
            f"#SBATCH --{name}={value}" if value else f"#SBATCH --{name}" for name, value in self.options.items()
        ]
        return "\n".join(("#!/bin/bash", f"# {' '.join(self.title.split())}", *options, "set -eo pipefail"))

    def _limit_of_restarts(self) -> str:
        """Slurm itself starts a job again after each failure of a node."""
        if self.restarts is None:
            return ""
        return (
            f'if [ "${{SLURM_RESTART_COUNT:-0}}" -gt {self.restarts} ]; then\n'
            f'  echo "the job has used its restarts: retries is {self.restarts}" >&2\n'
            "  exit 1\nfi"
        )

    def _layout(self) -> str:
        lines = [
            f'export SAGEMAKER_BASE_DIR="$SLURM_SUBMIT_DIR"/{self.name}-"$SLURM_JOB_ID"',
            f'if [ ! -e "{FOLDER}/laid-out" ]; then',
            *(f"  {_command(step)}" for step in self.fetch),
            *(f"  printf '%s' {_word(text)} > {_word(path)}" for path, text in self.files.items()),
            f'  touch "{FOLDER}/laid-out"',
            "fi",
        ]
        return "\n".join(lines)

    def _start(self) -> str:
        variables = [_word(f"{name}={value}") for name, value in self.environment.items()]
        words = zip(self.arguments[::2], self.arguments[1::2], strict=True)
        flags = [_command(pair) for pair in words]
        node = "\n    ".join(self.node)
        srun = f'srun "${{resume[@]}}" --kill-on-bad-exit=1 --chdir={_word(f"{ML}/code")} env'
        return "\n".join(
            (
                'hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed \'s/.*/"&"/\' | paste -sd, -)',
                "resume=()",
                "if [ -d /opt/sagemaker_cluster ]; then  # HyperPod: a node that fails is replaced, and the step runs again",
                "  resume=(--auto-resume=1)",
                "fi",
                "status=0",
                _BREAK.join((srun, *variables, '"SM_HOSTS=[$hosts]"', f"bash -c '\n    {node}' node", *flags))
                + " || status=$?",
            )
        )

    def _end(self) -> str:
        lines = [_command(step) for step in self.keep]
        if self.deliver:
            lines += ['if [ "$status" = 0 ]; then', *(f"  {_command(step)}" for step in self.deliver), "fi"]
        return "\n".join((*lines, 'exit "$status"')) + "\n"


def _command(step: Step) -> str:
    return " ".join(map(_word, step))


def _word(text: str) -> str:
    """A word for bash. /opt/ml in it is the job's folder, wherever that is."""
    first, *rest = _ML_IN_TEXT.split(text)
    words = [shlex.quote(first) if first or not rest else ""]
    for part in rest:
        words += [f'"{FOLDER}"', shlex.quote(part) if part else ""]
    return "".join(words)


def render(job: JobSpec, at: Destination) -> SlurmJob:
    """The script for a job that has none of ``slurm_problems``' errors. Of ``at`` the name counts, no role and no bucket."""
    name = _NOT_IN_A_NAME.sub("-", at.named(job))
    launch = plan(job)
    hosts = job.compute.hosts
    nodes = f"{hosts} node{'s' if hosts > 1 else ''} of {launch.workers_per_host} worker{'s' if launch.workers_per_host > 1 else ''}"
    channels = {channel: layout.data_folder(channel) for channel in job.channels}
    checkpoints = layout.checkpoint_folder(job)
    keep: tuple[Step, ...] = ()
    if job.checkpoints is not None and checkpoints is not None:
        keep = ((*layout.SYNC, checkpoints, job.checkpoints.s3_uri),)
    return SlurmJob(
        name=name,
        title=f"{name}: {nodes}, made for {job.compute.instances[0]} and {images.describe(job)}; sbatch it in a shared folder",
        options=MappingProxyType(_options(job, name)),
        files=MappingProxyType(_files(job)),
        fetch=tuple(_fetch(job, name)),
        node=tuple(_node(job, launch)),
        environment=MappingProxyType({**layout.variables(job, ML, channels), "TRAINING_JOB_NAME": name}),
        arguments=command_line(job),
        keep=keep,
        deliver=tuple(_deliver(job, name)),
        restarts=job.retries if job.spot is None else None,
    )


def _options(job: JobSpec, name: str) -> dict[str, str]:
    """Whole nodes, as SageMaker gives whole instances; SIGTERM at ``max_run_s`` and the end two minutes later, as there."""
    again = job.spot is not None or job.retries is not None
    return {
        "job-name": name,
        "nodes": str(job.compute.hosts),
        "ntasks-per-node": "1",
        "exclusive": "",
        "time": str(math.ceil((job.max_run_s + GRACE_S) / 60)),
        "signal": f"TERM@{GRACE_S}",
        "requeue" if again else "no-requeue": "",
        "open-mode": "append",
        "output": "%x-%j.out",
    }


def _files(job: JobSpec) -> dict[str, str]:
    """What the toolkit finds in the container's folder of settings, and scripts may read."""
    return {f"{ML}/input/config/hyperparameters.json": json.dumps(encode(job.arguments))}


def _fetch(job: JobSpec, name: str) -> Iterator[Step]:
    yield ("mkdir", "-p", *(f"{ML}/{folder}" for folder in layout.FOLDERS))
    yield from layout.source_steps(job, ML, f"{name}-*")
    for channel, source in job.channels.items():
        there = layout.data_folder(channel)
        if source.uri.startswith("s3://"):
            yield (*layout.SYNC, source.uri, there)
        elif Path(source.uri).is_file():
            yield ("mkdir", "-p", there)
            yield ("cp", source.uri, f"{there}/")
        else:
            yield ("ln", "-sfnr", source.uri, there)
    checkpoints = layout.checkpoint_folder(job)
    if job.checkpoints is not None and checkpoints is not None:
        yield ("mkdir", "-p", checkpoints)
        yield (*layout.SYNC, job.checkpoints.s3_uri, checkpoints)


def _node(job: JobSpec, launch: LaunchPlan) -> Iterator[str]:
    """What each node's task runs: who it is, how it reaches the others, and the script. It stands in single quotes."""
    row = find_instance(job.compute.instances[0])
    yield "export SM_CURRENT_HOST=$SLURMD_NODENAME"
    toolkit = efa.toolkits()[-1]
    name = job.compute.instances[0]
    if name in toolkit.efa:
        rdma = " FI_EFA_USE_DEVICE_RDMA=1 RDMAV_FORK_SAFE=1" if name in toolkit.rdma else ""
        yield f"if [ -e /dev/infiniband/uverbs0 ]; then export FI_PROVIDER=efa{rdma}; fi"
    device = DEVICES.get(row.accelerator) if row is not None else None
    if row is not None and device is not None:
        yield f'[ -e {device} ] || echo "$SLURMD_NODENAME has no {device}; the job is made for {row.name}" >&2'
    entry = _in_single_quotes(layout.entry_of(job))
    if launch.runner is not Runner.TORCHRUN:
        yield f'exec {"sh" if layout.entry_of(job).endswith(".sh") else "python"} {entry} "$@"'
        return
    compile_first = "neuron_parallel_compile " if job.variables.get("RUN_NEURON_PARALLEL_COMPILE") == "1" else ""
    port = "$((20000 + SLURM_JOB_ID % 10000))"
    others = f"--nnodes={job.compute.hosts} --node_rank=$SLURM_NODEID --master_addr=$SLURM_LAUNCH_NODE_IPADDR --master_port={port}"
    yield f'exec {compile_first}torchrun {others} --nproc_per_node={launch.workers_per_host} {entry} "$@"'


def _in_single_quotes(text: str) -> str:
    """A word of a text that itself stands in single quotes."""
    return shlex.quote(text).replace("'", "'\\''")


def _deliver(job: JobSpec, name: str) -> Iterator[Step]:
    """A job that names no place leaves its model in its folder, which all nodes share."""
    if job.output.s3_uri is not None:
        yield from layout.delivery_steps(job, f"{job.output.s3_uri.rstrip('/')}/{name}/output")
