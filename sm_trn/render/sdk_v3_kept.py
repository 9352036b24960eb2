"""What SDK v3's ModelTrainer cannot say of an attached job's request, as problems. Must not know how a job is rendered.

Ids TARGET018 to TARGET020, of those of ``sdk_v3_problems``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..specs import Container, JobSpec, Problem, Severity
from . import unsaid

FIELDS: Final = "sagemaker 3.27.0, ModelTrainer's fields"
STAY: Final = "submit it with Session.submit: the request target says it"


def kept(job: JobSpec) -> Iterator[Problem]:
    """TARGET018, TARGET019, TARGET020: parts of an attached job's request, and programs, that ModelTrainer has no words for."""
    lost, harmless = unsaid.parts(job)
    if lost:
        yield Problem(
            id="TARGET018",
            severity=Severity.ERROR,
            where="kept",
            what="SDK v3 cannot say what this job's request says",
            got=unsaid.listed(lost),
            wanted="a job without it",
            fix=f"{STAY}; or replace(kept=()) to leave it out",
            evidence=FIELDS,
        )
    if harmless:
        yield Problem(
            id="TARGET019",
            severity=Severity.WARNING,
            where="kept",
            what="SDK v3 says this its own way",
            got=unsaid.listed(harmless),
            fix="nothing, if its defaults will do",
            evidence=FIELDS,
        )
    if isinstance(job.framework, Container) and not job.image_uri:
        yield Problem(
            id="TARGET020",
            severity=Severity.ERROR,
            where="image_uri",
            what="this target starts images only",
            got=repr(job.framework.algorithm or "neither image nor algorithm"),
            wanted="image_uri=…",
            fix=STAY,
            evidence=FIELDS,
        )
