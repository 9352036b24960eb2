"""What a cause is, and what is known of a job that went wrong: values, shown elsewhere."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ...core.specs.problems import Advice, AnyOf, Change
from ..health.health import Health

UNKNOWN = "unknown"
NOTHING: Mapping[str, str] = MappingProxyType({})


class Confidence(enum.Enum):
    """How much a cause's evidence says: the service or the exception names it, a pattern speaks for it, or nothing does.

    >>> [each.value for each in st.results.Confidence]
    ['certain', 'likely', 'unknown']
    """

    CERTAIN = "certain"
    LIKELY = "likely"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One line that speaks for a cause. ``stream`` is a host, or ``describe``; ``time_s`` is epoch seconds, NaN where unknown.

    ``line`` counts from 1 in the text that was read.
    """

    text: str
    stream: str = ""
    rank: int | None = None
    time_s: float = math.nan
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a job went wrong. ``id`` is the row of the dictionary, ``unknown`` without one.

    ``error`` is the exception as Python prints it, ``place`` the last line of the user's own code (``train.py:21``), ``code`` what
    stands there, ``facts`` what the text names: an action, a resource, a module, a limit. ``fix`` is or holds a ``Change`` where
    it is one of the spec's fields.

    >>> smaller = job.replace(hyperparameters={"per_device_train_batch_size": 16})
    >>> found = st.why("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", spec=smaller)
    >>> found.cause.fix.choices[0].fields
    {'hyperparameters': {'per_device_train_batch_size': 8, 'gradient_accumulation_steps': 2}}
    """

    id: str
    what: str
    confidence: Confidence
    fix: Change | Advice | AnyOf
    source: str = ""
    error: str = ""
    place: str = ""
    code: str = ""
    host: str = ""
    rank: int | None = None
    time_s: float = math.nan
    evidence: tuple[Evidence, ...] = ()
    facts: Mapping[str, str] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why a job failed, stopped or hangs. ``cause`` is None where nothing says that anything went wrong.

    ``consequences`` came later because of the cause. ``tail`` holds the last lines of the log where the cause is unknown.
    ``ranks`` is how many workers complained. ``health`` is how a live job is.

    >>> found = st.why("RuntimeError: CUDA out of memory. Tried to allocate 1.53 GiB (GPU 3; 39.59 GiB total capacity)")
    >>> found.id, found.confidence.value, found.cause.facts["wanted"]
    ('mem.cuda_oom', 'certain', '1.53 GiB')
    """

    name: str
    status: str = ""
    cause: Cause | None = None
    consequences: tuple[Cause, ...] = ()
    tail: tuple[Evidence, ...] = ()
    ranks: int = 0
    health: Health | None = None

    @property
    def id(self) -> str:
        """The cause's id: a row of the dictionary, ``unknown``, or ``none`` where nothing went wrong."""
        return self.cause.id if self.cause is not None else "none"

    @property
    def confidence(self) -> Confidence:
        """That of the cause; UNKNOWN where there is none."""
        return self.cause.confidence if self.cause is not None else Confidence.UNKNOWN

    def __str__(self) -> str:
        if self.cause is None:
            return f"{self.name}: nothing says that anything went wrong"
        sure = "" if self.confidence is Confidence.UNKNOWN else f" ({self.confidence.value}, {self.id})"
        return f"{self.name}: {self.cause.what}{sure}"
