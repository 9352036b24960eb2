"""Target ``local``: the commands that run the same script on a machine of one's own, as plain data. Starts nothing.

Everything lies under one folder named like the job, as ``/opt/ml`` does in a container: ``code``, where the script runs,
``data``, ``model`` and ``output``. Paths are relative, so that the commands can be carried to the machine that runs them.
"""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from .. import _entry
from ..catalog import images
from ..catalog.instances import find_instance
from ..preflight.source import TOOLKIT_PREFIX, command_line
from ..specs.compute import Accelerator
from ..specs.destination import Destination
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.launch import Runner
from ..strategies import plan

MASTER = "YOUR-FIRST-HOST"  # the placeholder of a run on several hosts: the address of the first
MASTER_PORT = 7777  # sagemaker-training 5.1.4, torch_distributed.MASTER_PORT
UP = "../.."  # from the script's folder to where the commands are run
BREAK = " \\\n    "


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalHost:
    """The command of one host: ``argv`` with ``environment`` added to its own, in ``folder``.

    ``launcher`` is the command up to the script, ``arguments`` are the script's.
    """

    launcher: tuple[str, ...]
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str

    @property
    def argv(self) -> tuple[str, ...]:
        return (*self.launcher, *self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRun:
    """``prepare`` runs on every host first, and may run again: it fetches the source and the data."""

    title: str
    prepare: tuple[tuple[str, ...], ...]
    hosts: tuple[LocalHost, ...]

    def __str__(self) -> str:
        """A snippet for bash; of several hosts, one part for each."""
        title = f"# {' '.join(self.title.split())}"  # a comment is one line
        if len(self.hosts) == 1:
            return f"{title}\n{self._part(self.hosts[0])}"
        parts = [
            f"# host {number} of {len(self.hosts)}: paste this there, with the first host's address for {MASTER}\n{self._part(host)}"
            for number, host in enumerate(self.hosts, 1)
        ]
        return "\n\n".join((title, *parts))

    def _part(self, host: LocalHost) -> str:
        steps = " &&\n".join(map(shlex.join, self.prepare))
        variables = [shlex.quote(f"{name}={value}") for name, value in host.environment.items()]
        flags = map(shlex.join, zip(host.arguments[::2], host.arguments[1::2], strict=True))
        command = BREAK.join(("env", *variables, shlex.join(host.launcher), *flags))
        return f"{steps} &&\n(cd {shlex.quote(host.folder)} && {command})"


def render(job: JobSpec, at: Destination) -> LocalRun:
    """The commands for a job that has none of ``local_problems``' errors. The account in ``at`` has no meaning here."""
    del at
    launch = plan(job)
    hosts = tuple(
        LocalHost(
            launcher=tuple(_launcher(job, rank)),
            arguments=command_line(job),
            environment=MappingProxyType(_environment(job, rank)),
            folder=f"{job.name}/code",
        )
        for rank in range(job.compute.hosts)
    )
    workers = f"{launch.workers_per_host} worker{'s' if launch.workers_per_host > 1 else ''}"
    many = f"{len(hosts)} hosts of {workers}" if len(hosts) > 1 else workers
    title = f"{job.name}: {many}, made for {images.describe(job)}; writes into ./{job.name} only"
    return LocalRun(title=title, prepare=tuple(_prepare(job)), hosts=hosts)


def _launcher(job: JobSpec, rank: int) -> Iterator[str]:
    launch = plan(job)
    if launch.runner is Runner.TORCHRUN:
        if job.variables.get("RUN_NEURON_PARALLEL_COMPILE") == "1":
            yield "neuron_parallel_compile"
        yield "torchrun"
        if job.compute.hosts > 1:
            yield from (f"--nnodes={job.compute.hosts}", f"--node_rank={rank}")
            yield from (f"--master_addr={MASTER}", f"--master_port={MASTER_PORT}")
        yield f"--nproc_per_node={launch.workers_per_host}"
    else:
        yield "sh" if _entry_file(job).endswith(".sh") else "python"
    yield _entry_file(job)


def _environment(job: JobSpec, rank: int) -> dict[str, str]:
    """The job's own variables, and those of the toolkit that scripts read."""
    hosts = [f"algo-{number}" for number in range(1, job.compute.hosts + 1)]
    channels = {name: _channel(job, name) for name in job.channels}
    return {
        **_variables(job, channels),
        "SM_HOSTS": json.dumps(hosts, separators=(",", ":")),
        "SM_CURRENT_HOST": hosts[rank],
    }


def _channel(job: JobSpec, name: str) -> str:
    """A channel's folder, seen from the script's."""
    uri = job.channels[name].uri
    if uri.startswith("s3://") or Path(uri).is_file():
        return f"../data/{name}"
    return uri if posixpath.isabs(uri) else posixpath.normpath(f"{UP}/{uri}")


def _prepare(job: JobSpec) -> Iterator[tuple[str, ...]]:
    fetched = {
        name: uri for name, channel in job.channels.items() if (uri := channel.uri).startswith("s3://") or Path(uri).is_file()
    }  # fmt: skip
    folders = ["code", "model", "output/data", *(f"data/{name}" for name in fetched)]
    yield ("mkdir", "-p", *(f"{job.name}/{folder}" for folder in folders))
    yield from _source_steps(job)
    for name, uri in fetched.items():
        there = f"{job.name}/data/{name}"
        yield ("aws", "s3", "sync", uri, there) if uri.startswith("s3://") else ("cp", uri, there)


def _source_steps(job: JobSpec) -> Iterator[tuple[str, ...]]:
    """Copy the source to ``code``: the script runs in a folder of its own, as in a container."""
    script, base = job.script, job.name
    if script is None:
        return
    code = f"{base}/code"
    packed = f"{base}/sourcedir.tar.gz"
    folder = script.source_dir or ("." if script.git else str(_entry.scripts_folder()))
    if script.git is not None:
        clone = f"{base}/repository"
        commit = script.git.commit or script.git.branch or "HEAD"
        yield ("git", "init", "--quiet", clone)
        yield ("git", "-C", clone, "fetch", "--depth=1", script.git.repo, commit)
        yield ("git", "-C", clone, "checkout", "--quiet", "FETCH_HEAD")
        folder = posixpath.normpath(f"{clone}/{folder}")
    if folder.startswith("s3://") and not folder.endswith(".tar.gz"):
        yield ("aws", "s3", "sync", folder, code)
        return
    if folder.startswith("s3://"):
        yield ("aws", "s3", "cp", folder, packed)
    else:  # the folder may hold the one that the job writes into
        exclude = (f"--exclude=./{base}", "--exclude=.git", "--exclude=__pycache__")
        yield ("tar", *exclude, "-czf", packed, "-C", folder, ".")
    yield ("tar", "-xzf", packed, "-C", code)
    for path in script.dependencies:
        beside = posixpath.normpath(f"{base}/repository/{path}") if script.git else path.rstrip("/")
        whole = posixpath.basename(path) in {"", "."}
        yield ("cp", "-R", f"{beside}/." if whole else beside, f"{code}/")


def _variables(job: JobSpec, channels: Mapping[str, str]) -> dict[str, str]:
    """Return the job's own variables and those that the toolkit sets for scripts.

    Source: sagemaker-training 5.1.4, environment.py and params.py.
    """
    row = find_instance(job.compute.instances[0])
    gpus = row.chips if row is not None and row.accelerator is Accelerator.CUDA else 0
    own = {key: value for key, value in job.arguments.items() if not key.startswith(TOOLKIT_PREFIX)}
    return {
        **job.variables,
        **{f"SM_CHANNEL_{name.upper()}": folder for name, folder in channels.items()},
        "SM_CHANNELS": _text(sorted(channels)),
        "SM_MODEL_DIR": "../model",
        "SM_OUTPUT_DATA_DIR": "../output/data",
        "SM_NUM_GPUS": str(gpus),
        "SM_USER_ENTRY_POINT": _entry_file(job),
        "SM_USER_ARGS": _text(list(command_line(job))),
        "SM_HPS": _text(own),
        **{f"SM_HP_{name.upper()}": _text(value) for name, value in own.items()},
    }


def _text(value: Json) -> str:
    """Write a variable as the toolkit does: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))


def _entry_file(job: JobSpec) -> str:
    """Return the script's file; "" for a job without one, which is not rendered (TARGET062)."""
    return job.script.entry if job.script is not None else ""
