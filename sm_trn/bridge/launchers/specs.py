"""A request read from a launcher as a spec in the launcher's own words: its script, its versions, its git – where that renders
the very same request."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Final

from ...core.errors import SmTrnError
from ...core.render import request as target
from ...core.render.from_request import parse_request
from ...core.render.keeping import kept_parts
from ...core.specs.framework import HuggingFaceNeuronX, NeuronX
from ...core.specs.job import Git, JobSpec, Script
from .language.nodes import TIME
from .requests import Read


def spec_of(read: Read) -> JobSpec:
    """The spec; rendered at ``read.at`` it is ``read.request``. Raises SmTrnError where the request is none that a spec can be."""
    if read.request is None:
        raise SmTrnError("request: got none, wanted the CreateTrainingJob request of a complete launch")
    job = parse_request(read.request, at=read.at)
    for change in _CHANGES:
        better = _if_same(change(job, read), read, len(job.kept))
        job = better if better is not None else job
    return job


def _named(job: JobSpec, read: Read) -> JobSpec:
    """Without the placeholder of a moment: submit adds one of its own."""
    del read
    name = re.sub(rf"-?{TIME}-?", "-", job.name).strip("-")
    return job.replace(name=name) if name else job


def _stored(job: JobSpec, read: Read) -> JobSpec:
    own = job.output.s3_uri == f"s3://{read.at.bucket}/"
    return job.replace(output=dataclasses.replace(job.output, s3_uri=None)) if own else job


def _framed(job: JobSpec, read: Read) -> JobSpec:
    del read
    if isinstance(job.framework, (NeuronX, HuggingFaceNeuronX)):
        return job.replace(framework=dataclasses.replace(job.framework, python=None, neuron_sdk=None))
    return job


def _scripted(job: JobSpec, read: Read) -> JobSpec:
    return job.replace(script=_script(read)) if job.script is not None and read.entry else job


# Other ways to say the same, each better to read.
_CHANGES: Final[tuple[Callable[[JobSpec, Read], JobSpec], ...]] = (_named, _stored, _framed, _scripted)


def _script(read: Read) -> Script:
    entry, folder = str(read.entry), read.source_dir
    if folder is None:
        before, _, entry = entry.rpartition("/")
        folder = before or (None if read.git else ".")
    git = read.git
    if git and isinstance(git.get("repo"), str):
        return Script(
            entry,
            source_dir=folder,
            git=Git(git["repo"], branch=git.get("branch"), commit=git.get("commit")),
            dependencies=read.dependencies,
        )
    return Script(entry, source_dir=folder, dependencies=read.dependencies)


def _if_same(job: JobSpec, read: Read, most: int) -> JobSpec | None:
    """The job with what it has to keep; None where it would keep more than before or renders something else."""
    request = read.request or {}
    try:
        kept = kept_parts(target.typed(job, read.at), request)
        job = job.replace(kept=kept)
        return job if len(kept) <= most and target.render(job, read.at) == request else None
    except (SmTrnError, ValueError, TypeError):
        return None
