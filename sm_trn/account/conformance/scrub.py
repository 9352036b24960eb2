"""Answers without what is somebody's own: accounts, keys, names, addresses become placeholders before anything is kept.

A text keeps the words that AWS's own models use (``vocabulary``) and loses every other: a secret that nobody foresaw is lost too.
It must not know who answered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ...core.specs.json import Json
from .vocabulary import vocabulary

if TYPE_CHECKING:
    from botocore.model import Shape

# Whole values that are opaque or vary by nature, whatever they hold.
OPAQUE: Final = frozenset({
    "NextToken", "nextToken", "nextForwardToken", "nextBackwardToken", "ETag", "VersionId", "uploadSequenceToken", "eventId",
    "NextContinuationToken", "ContinuationToken", "RequestId", "x-amz-request-id",
})  # fmt: skip
# Numbers that are measured, or that a plan chose by how long its target takes.
MEASURED: Final = frozenset({
    "TrainingTimeInSeconds", "BillableTimeInSeconds", "ResourceRetainedBillableTimeInSeconds", "MaxRuntimeInSeconds",
    "MaxWaitTimeInSeconds", "storedBytes", "Size", "ContentLength",
})  # fmt: skip
TIME, NUMBER, OPAQUE_MARK, BYTES = "<time>", "<number>", "<opaque>", "<bytes>"
_LARGEST = 10**9  # a number from here on may be an account's
_SHORT = 8  # a known value of fewer letters is replaced as a whole word only
_DIGITS = 5  # of the longest number that a text keeps
_PATTERNS: Final = (
    ("url", r"https?://[^\s\"'<>()\\]+"),
    ("email", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("time", r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
    ("id", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    ("path", r"(?<![\w:/.>~-])~?/(?!opt/ml\b|aws/)[\w.+@-]+(?:/[\w.+@-]+)+"),
    ("address", r"\d{1,3}(?:\.\d{1,3}){3}"),
    ("host", r"(?:[A-Za-z0-9_-]+\.)+(?:amazonaws\.com(?:\.cn)?|compute\.internal|internal|local|aws|com|net|org|io)\b"),
    ("key", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|AROA|AIDA|ABIA|ACCA|AGPA|ANPA|AIPA)[A-Z0-9]{12,}"),
    ("account", r"(?<!\d)\d{12}(?!\d)"),
    ("word", r"\w+"),
)


class Scrubber:
    """Placeholders for one probe's answers: the same word has the same one throughout, so that equality still shows.

    ``known`` maps values that must go to what stands for them (``<bucket>``).

    >>> Scrubber({"my-bucket": "<bucket>"}).text("No objects in s3://my-bucket/zoe2 of 111122223333.")
    'No objects in s3://<bucket>/<name-1> of <account>.'
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = {value.lower(): mark for value, mark in known.items() if value}
        self._names: dict[str, str] = {}
        values = sorted(self._known, key=len, reverse=True)
        said = "|".join(_bounded(value) for value in values)
        parts = ([f"(?P<known>{said})"] if said else []) + [f"(?P<{name}>{each})" for name, each in _PATTERNS]
        self._pattern = re.compile("|".join(parts), re.IGNORECASE)

    def text(self, value: str) -> str:
        """A text without names, numbers of accounts, keys and addresses."""
        return self._pattern.sub(self._placeholder, value)

    def answer(self, value: Json, shape: Shape | None = None, name: str = "") -> Json:
        """An answer as it may be kept. ``shape`` is botocore's model of it; ``name`` the member that it is."""
        if isinstance(value, Mapping):
            members = shape.members if shape is not None and shape.type_name == "structure" else {}
            return {
                key if key in members else self.text(str(key)): self.answer(each, _member(shape, key), key)
                for key, each in value.items()
            }
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self.answer(each, getattr(shape, "member", None), name) for each in value]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return OPAQUE_MARK if name in OPAQUE and value else self.text(value)
        if shape is not None and shape.type_name == "timestamp":
            return TIME
        return NUMBER if name in MEASURED or abs(value) >= _LARGEST else value

    def _placeholder(self, found: re.Match[str]) -> str:
        kind, text = found.lastgroup or "word", found[0]
        if kind == "known":
            return self._known[text.lower()]
        if kind != "word":
            return f"<{kind}>"
        if text.isdecimal():
            return text if len(text) <= _DIGITS else NUMBER
        if text.lower() in vocabulary():
            return text
        return self._names.setdefault(text.lower(), f"<name-{len(self._names) + 1}>")


def _bounded(value: str) -> str:
    return re.escape(value) if len(value) >= _SHORT else rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])"


def _member(shape: Shape | None, key: str) -> Shape | None:
    if shape is None:
        return None
    if shape.type_name == "structure":
        found: Shape | None = shape.members.get(key)
        return found
    return getattr(shape, "value", None)
