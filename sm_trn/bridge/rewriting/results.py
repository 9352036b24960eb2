"""What rewriting gives, and what it is told: a text with its refusals, and the jobs that a run of the old program has started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...core.specs.json import Json
from ..launchers.values import Place
from .names import base_name


@dataclass(frozen=True, slots=True)
class Refusal:
    """A construct that SDK v3 does not have, or that is not known to mean the same there, and where it stands."""

    place: Place
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A file's new text, and why it is none that runs: nothing is written then. ``launches`` are the estimators in the old text,
    ``starts`` the first and last lines of what starts them; ``trainers`` are where the new text makes and starts trainers."""

    text: str
    launches: tuple[Place, ...]
    starts: tuple[tuple[Place, int], ...] = ()
    trainers: tuple[Place, ...] = ()
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """A job that a run of the old program has started: the file's line that did, its request, and whether its source has a
    requirements.txt."""

    place: Place
    request: Mapping[str, Json]
    requirements: bool

    @property
    def channels(self) -> tuple[str, ...]:
        """The names of its channels."""
        listed = self.request.get("InputDataConfig")
        items = listed if isinstance(listed, list) else ()
        return tuple(str(item["ChannelName"]) for item in items if isinstance(item, dict))

    @property
    def base(self) -> str:
        """What its name begins with."""
        return base_name(str(self.request.get("TrainingJobName", "")))
