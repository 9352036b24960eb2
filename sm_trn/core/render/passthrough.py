"""Problems that both SDKs share: kept parts of its request, and programs that are no image.

Which parts would be lost, and which only spell a default. Ids TARGET100 to TARGET149. Must not know a target.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from .. import fields
from ..specs.framework import Container
from ..specs.job import JobSpec
from ..specs.kept import Kept
from ..specs.problems import Advice, Field, Problem, Rule, python, rules_of

STAY: Final = "submit it with Session.submit: the request target says it"

# Parts that mean what every SDK's own default means: what is measured, how a value is spelled, what a log level is.
_OWN_WAY: Final = (
    "/ProfilerConfig",
    "/AlgorithmSpecification/EnableSageMakerMetricsTimeSeries",
    "/HyperParameters/sagemaker_job_name",
    "/HyperParameters/sagemaker_region",
    "/HyperParameters/sagemaker_container_log_level",
)
_DEFAULTS: Final = ('"GZIP"', '"None"', '""', "false")
_SHOWN = 8

_RULES = rules_of(__package__)


def problems(job: JobSpec) -> Iterator[Problem]:
    """TARGET100, TARGET101, TARGET102: parts of an attached job's request, and programs, that neither SDK has words for."""
    lost, harmless = parts(job)
    if lost:
        yield _RULES["TARGET100"].problem(
            Field("kept"),
            "the SDK's classes cannot say what this job's request says",
            got=listed(lost),
            wanted="a job without it",
            fix=Advice(f"{STAY}; or replace(kept=()) to leave it out"),
        )
    if harmless:
        yield _RULES["TARGET101"].problem(
            Field("kept"),
            "the SDK says this its own way",
            got=listed(harmless),
            fix=Advice("nothing, if its defaults will do"),
        )
    if isinstance(job.framework, Container) and not job.image_uri:
        yield _RULES["TARGET102"].problem(
            Field("image_uri"),
            "the SDK's classes start images only",
            got=repr(job.framework.algorithm or "neither image nor algorithm"),
            wanted="image_uri=…",
            fix=Advice(STAY),
        )


def without_words(job: JobSpec, column: Literal["v2", "v3"], rule: Rule, what: str) -> Iterator[Problem]:
    """A problem of ``rule`` for each field of the job that has no word in ``column``."""
    for unsaid in fields.without_word(job, column):
        got = f"{unsaid.path}={python(unsaid.value)}"
        other, word = ("estimator-v2", unsaid.v2) if column == "v3" else ("model-trainer-v3", unsaid.v3)
        ways = [unsaid.instead, f"target {other}" if word else "", STAY]
        fix = ", or ".join(filter(None, ways))
        yield rule.problem(Field(unsaid.path), what, got=got, wanted="a job without it", fix=Advice(fix))


def parts(job: JobSpec) -> tuple[list[Kept], list[Kept]]:
    """Kept parts that would be lost, and those that a default stands for."""
    harmless = [part for part in job.kept if _harmless(part)]
    return [part for part in job.kept if part not in harmless], harmless


def listed(kept: Iterable[Kept]) -> str:
    """The places of the parts, in words."""
    places = [part.at.lstrip("/") for part in kept]
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return ", ".join(places[:_SHOWN]) + more


def _harmless(part: Kept) -> bool:
    if part.at.startswith(_OWN_WAY) or (part.instead_of is None and part.sent in _DEFAULTS):
        return True
    if part.at.endswith("/S3DataDistributionType") or part.at == "/StoppingCondition/MaxRuntimeInSeconds":
        return part.sent is None
    spelled = part.at.startswith("/HyperParameters/") and part.sent is not None and part.instead_of is not None
    return spelled and _value(part.sent) == _value(part.instead_of)


def _value(text: str | None) -> Any:
    """A hyperparameter's value, whose text is itself JSON, in JSON."""
    inner = json.loads(text or "null")
    try:
        return json.loads(inner)
    except (TypeError, ValueError, RecursionError):
        return inner
