"""What SDK v2's estimators cannot say of a job, as problems. Must not know how a job is rendered.

Ids TARGET100 to TARGET149. Facts are those of sagemaker 2.257.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..specs import Container, JobSpec, Problem, Severity
from . import unsaid

FIELDS: Final = "SageMaker SDK 2.257.7, the estimators' arguments"
STAY: Final = "submit it with Session.submit: the request target says it"


def problems(job: JobSpec) -> Iterator[Problem]:
    """TARGET100, TARGET101, TARGET102: parts of an attached job's request, and programs, that no estimator has words for."""
    lost, harmless = unsaid.parts(job)
    if lost:
        yield Problem(
            id="TARGET100",
            severity=Severity.ERROR,
            where="kept",
            what="an estimator cannot say what this job's request says",
            got=unsaid.listed(lost),
            wanted="a job without it",
            fix=f"{STAY}; or replace(kept=()) to leave it out",
            evidence=FIELDS,
        )
    if harmless:
        yield Problem(
            id="TARGET101",
            severity=Severity.WARNING,
            where="kept",
            what="an estimator says this its own way",
            got=unsaid.listed(harmless),
            fix="nothing, if its defaults will do",
            evidence=FIELDS,
        )
    if isinstance(job.framework, Container) and not job.image_uri:
        yield Problem(
            id="TARGET102",
            severity=Severity.ERROR,
            where="image_uri",
            what="these estimators start images only",
            got=repr(job.framework.algorithm or "neither image nor algorithm"),
            wanted="image_uri=…",
            fix=STAY,
            evidence=FIELDS,
        )
