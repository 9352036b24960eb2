"""A spec in a notebook: what was asked for, in the words of its fields. Asks nothing, and knows no rule and no price."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...core.formatting.html import Fact, block, facts, title

if TYPE_CHECKING:
    from ...core.specs.job import JobSpec

_SHOWN = 12  # entries of a mapping; the rest is counted


def job_spec_card(job: JobSpec) -> str:
    """The spec's fields that say something; defaults are left out."""
    compute = job.compute
    machines = " + ".join(compute.instances) + (f" × {compute.hosts}" if compute.hosts > 1 else "")
    return block(title(job.name, f"a job for {machines}, not launched by being shown") + facts(_facts(job)))


def _facts(job: JobSpec) -> Iterator[tuple[str, str | Fact]]:
    if job.script is not None:
        git, folder = job.script.git, job.script.source_dir
        where = f" of {git.repo}" if git else f" in {folder}" if folder else ", which ships with the package"
        yield "script", ", beside ".join((job.script.entry + where, *job.script.dependencies))
    yield "framework", _said(job.framework)
    if job.image_uri:
        yield "image", Fact(job.image_uri, code=True)
    for name in ("distribution", "compiler", "spot", "checkpoint", "neuron", "network"):
        value = getattr(job, name)
        if value is not None:
            yield name, _said(value)
    for name, values in (("hyperparameters", job.hyperparameters), ("inputs", job.inputs), ("tags", job.tags)):
        if values:
            yield name, _listed(values)
    if job.environment:
        yield "environment", ", ".join(job.environment)  # names only: values may be secrets
    yield "at most", f"{job.max_run_s:,} s on each instance"
    if job.kept:
        yield "kept", ", ".join(part.at for part in job.kept)


def _listed(values: Mapping[str, Any]) -> str:
    first = [f"{key} = {_said(value)}" for key, value in list(values.items())[:_SHOWN]]
    more = len(values) - len(first)
    return ", ".join([*first, *([f"and {more} more"] if more else [])])


def _said(value: Any) -> str:
    """A value in its own words: its class, and the fields that differ from their defaults."""
    if not dataclasses.is_dataclass(value):
        return str(value)
    given = [
        f"{field.name}={getattr(value, field.name)!r}"
        for field in dataclasses.fields(value)
        if getattr(value, field.name) not in (field.default, None)
    ]
    return f"{type(value).__name__}({', '.join(given)})"
