"""What probes were answered, as values and as a file: one record of an account, or of an emulator, at one time.

What a record holds was scrubbed before. It must not know how it was asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...core.errors import SmTrnError
from ...core.specs.json import Json, Object

FORMAT = 1
SOURCES = ("aws", "emulator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a probe and what was kept of its answer. ``code`` is empty for an answer that is no error.

    ``seconds`` is how long it took until the answer, or until what was waited for came true; a ``paced`` step waits for machines,
    whose pace is not compared. ``relations`` are between values that are no more in the answer. An ``optional`` step was met by chance
    (a phase that is over soon) and need not be met again.
    """

    call: str
    title: str = ""
    answer: Json = None
    code: str = ""
    message: str = ""
    status: int = 200
    seconds: float = 0.0
    paced: bool = False
    optional: bool = False
    relations: Mapping[str, bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What tells this step from the probe's others."""
        return f"{self.call}, {self.title}" if self.title else self.call


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A probe's steps; ``unanswered`` says why there are no more of them: a quota, a right that is lacking, a failing network."""

    probe: str
    battery: str
    steps: tuple[Step, ...]
    unanswered: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """A record. ``date`` is a day; ``rows`` are measurements of an accelerator, in the fields of ``estimation``'s tables."""

    source: str
    date: str
    region: str
    versions: Mapping[str, str]
    probes: tuple[Answered, ...] = ()
    rows: tuple[Object, ...] = field(default=())


def dump_answers(answers: Answers) -> str:
    """The text of a record's file; ``load_answers`` reads it."""
    body = {"format": FORMAT, **asdict(answers), "versions": dict(answers.versions)}
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def load_answers(text: str, *, where: str = "answers") -> Answers:
    """Read what ``dump_answers`` wrote. Raises SmTrnError for anything else."""
    try:
        body = json.loads(text)
        number = body.pop("format")
        if number != FORMAT:
            raise SmTrnError(
                f"{where}: got format {number!r}, wanted {FORMAT}; make the record again with this version"
            )
        probes = tuple(
            Answered(**{**each, "steps": tuple(Step(**step) for step in each["steps"])}) for each in body.pop("probes")
        )
        found = Answers(**{**body, "versions": dict(body["versions"]), "rows": tuple(body["rows"])}, probes=probes)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SmTrnError(
            f"{where}: not a record ({type(error).__name__}: {error}); wanted a file that sm-trn conformance wrote"
        ) from error
    if found.source not in SOURCES:
        raise SmTrnError(f"{where}: source: got {found.source!r}, wanted one of {', '.join(SOURCES)}")
    return found


def read_answers(path: Path) -> Answers:
    """Read a record's file. Raises SmTrnError for a file that is none, OSError for one that cannot be read."""
    try:
        return load_answers(path.read_text("utf-8"), where=str(path))
    except UnicodeDecodeError as error:
        raise SmTrnError(f"{path}: not a record: no text; wanted a file that sm-trn conformance wrote") from error
