"""What two records say differently, field by field. Both were scrubbed: what legitimately varies is the same placeholder in both.

It must not know who was asked, nor what a probe is about.
"""

from __future__ import annotations

import difflib
import enum
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from ...core.specs.json import Json, Object
from .answers import Answered, Answers, Step
from .scrub import NUMBER, TIME

_NAME = re.compile(r"<name-\d+>")
_CLASSES = ((5.0, "at once"), (45.0, "seconds"), (150.0, "a minute"))
_LAST = "minutes"
_HOLDS = {True: "holds", False: "does not hold"}
_LONG, _BEFORE = 160, 40  # letters of a text that are shown, and of them before the place where two part
_SLACK_S, _TIMES = 5.0, 3.0  # two times near the border of two classes are no difference


class Kind(enum.Enum):
    """What differs."""

    PRESENCE = "presence"
    TYPE = "type"
    VALUE = "value"
    CODE = "error code"
    TEXT = "text"
    ORDER = "order"
    TIMING = "timing"
    RELATION = "relation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field of one step: ``one`` and ``other`` are what each record holds, in words; ``absent`` where it holds nothing."""

    probe: str
    step: str
    kind: Kind
    field: str
    one: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """All of two records. ``names`` are what each is called; ``unanswered`` the probes that one of them could not be asked, and why."""

    names: tuple[str, str]
    compared: int
    found: tuple[Difference, ...]
    unanswered: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @property
    def differing(self) -> tuple[str, ...]:
        """The probes that differ, in their order."""
        return tuple(dict.fromkeys(each.probe for each in self.found))

    def _lines(self) -> Iterator[str]:
        count = len(self.differing)
        ends = "None differs." if not count else f"{count} differ{'s' if count == 1 else ''}:"
        yield f"{self.compared - count} of {self.compared} agree. {ends}"
        last = ""
        for each, more in _folded(self.found):
            title = f"  {each.probe}: {each.step}" + (f", and {more} more steps" if more else "")
            if title != last:
                yield title
            last = title
            yield from _shown(each, self.names)
        for probe, why in self.unanswered.items():
            yield f"  {probe}: not compared: {why}"


def differences(one: Answers, other: Answers) -> Differences:
    """Compare two records, probe by probe. A probe that only one holds is not compared.

    >>> record = st.conformance.Answers(source="emulator", date="2026-11-23", region="us-west-2", versions={})
    >>> differences(record, record).compared
    0
    """
    there = {each.probe: each for each in other.probes}
    found, missing, compared = list[Difference](), dict[str, str](), 0
    for each in one.probes:
        match = there.get(each.probe)
        if match is None:
            missing[each.probe] = f"{other.source} was not asked"
        elif each.unanswered or match.unanswered:
            missing[each.probe] = each.unanswered or match.unanswered
        else:
            compared += 1
            found += _of_probe(each, match)
    names = (one.source, other.source) if one.source != other.source else ("one", "other")
    return Differences(names=names, compared=compared, found=tuple(found), unanswered=missing)


def timing(seconds: float) -> str:
    """The class of a time: the service's seconds are never the emulator's.

    >>> timing(0.2), timing(70)
    ('at once', 'a minute')
    """
    return next((name for most, name in _CLASSES if seconds < most), _LAST)


def _of_probe(one: Answered, other: Answered) -> Iterator[Difference]:
    """Steps are matched by their names; one that was met by chance need not be in both."""
    matches = {step.name: step for step in other.steps}
    for step in one.steps:
        match = matches.get(step.name)
        if match is not None:
            yield from _of_step(one.probe, step, match)
        elif not step.optional:
            yield _difference(one.probe, step, Kind.PRESENCE, "step", "present", "absent")
    known = {step.name for step in one.steps}
    for step in other.steps:
        if step.name not in known and not step.optional:
            yield _difference(one.probe, step, Kind.PRESENCE, "step", "absent", "present")


def _of_step(probe: str, one: Step, other: Step) -> Iterator[Difference]:
    if one.code != other.code:
        yield _difference(probe, one, Kind.CODE, "error code", one.code or "no error", other.code or "no error")
    elif one.status != other.status:
        yield _difference(probe, one, Kind.CODE, "status", str(one.status), str(other.status))
    elif _numbered(one.message) != _numbered(other.message):
        yield _difference(probe, one, Kind.TEXT, "message", _quoted(one.message), _quoted(other.message))
    if not one.code and not other.code:
        for kind, where, mine, theirs in _of_values(one.answer, other.answer, ""):
            yield _difference(probe, one, kind, where or "answer", mine, theirs)
        for name in one.relations:
            if name in other.relations and one.relations[name] != other.relations[name]:
                holds = [_HOLDS[each.relations[name]] for each in (one, other)]
                yield _difference(probe, one, Kind.RELATION, name, *holds)
    if not one.paced and not other.paced and not one.optional and _apart(one.seconds, other.seconds):
        yield _difference(probe, one, Kind.TIMING, "time", timing(one.seconds), timing(other.seconds))


def _difference(probe: str, step: Step, kind: Kind, where: str, one: str, other: str) -> Difference:  # noqa: PLR0917 - its parts
    return Difference(probe=probe, step=step.name, kind=kind, field=where, one=one, other=other)


_Found = tuple[Kind, str, str, str]


def _of_values(one: Json, other: Json, where: str) -> Iterator[_Found]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        yield from _of_structures(one, other, where)
    elif _is_list(one) and _is_list(other):
        yield from _of_lists(list(one), list(other), where)  # type: ignore[arg-type]  # both are lists
    elif _type(one) != _type(other):
        yield Kind.TYPE, where, f"{_type(one)} {_said(one)}", f"{_type(other)} {_said(other)}"
    elif _numbered(one) != _numbered(other):
        kind = Kind.TEXT if isinstance(one, str) and (" " in one or " " in str(other)) else Kind.VALUE
        yield kind, where, _said(one), _said(other)


def _of_structures(one: Object, other: Object, where: str) -> Iterator[_Found]:
    for name in dict.fromkeys([*one, *other]):
        path = f"{where}.{name}" if where else name
        if name not in other:
            yield Kind.PRESENCE, path, _said(one[name]), "absent"
        elif name not in one:
            yield Kind.PRESENCE, path, "absent", _said(other[name])
        else:
            yield from _of_values(one[name], other[name], path)


def _of_lists(one: Sequence[Json], other: Sequence[Json], where: str) -> Iterator[_Found]:
    """Rows in another order are one difference; a row too many or too few is one, too."""
    mine, theirs = [_key(each) for each in one], [_key(each) for each in other]
    if mine == theirs:
        return
    if sorted(mine) == sorted(theirs):
        yield Kind.ORDER, where, _said(list(one)), _said(list(other))
        return
    matcher = difflib.SequenceMatcher(a=mine, b=theirs, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        for at, (left, right) in enumerate(zip_longest(range(a, b), range(c, d)), a):
            path = f"{where}[{at}]"
            if right is None and left is not None:
                yield Kind.PRESENCE, path, _said(one[left]), "absent"
            elif left is None and right is not None:
                yield Kind.PRESENCE, path, "absent", _said(other[right])
            elif left is not None and right is not None:
                yield from _of_values(one[left], other[right], path)


def _is_list(value: Json) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _type(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)) or value in (TIME, NUMBER):
        return "number"
    if value is None:
        return "null"
    if isinstance(value, str):
        return "text"
    return "structure" if isinstance(value, Mapping) else "list"


def _key(value: Json) -> str:
    return _NAME.sub("<name>", json.dumps(value, sort_keys=True))


def _numbered(value: Json) -> Json:
    """Names are numbered in the order in which they are met: which number one has is no difference."""
    return _NAME.sub("<name>", value) if isinstance(value, str) else value


def _quoted(text: str) -> str:
    return f'"{text}"' if text else "absent"


def _said(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _apart(one: float, other: float) -> bool:
    near = min(one, other) + _SLACK_S
    return timing(one) != timing(other) and max(one, other) >= _TIMES * near


def _folded(found: Sequence[Difference]) -> Iterator[tuple[Difference, int]]:
    """The same difference of one operation once, with the number of further steps that have it."""
    groups = dict[tuple[str, ...], list[Difference]]()
    for each in found:
        key = (each.step.partition(",")[0], each.kind.value, each.field, each.one, each.other)
        groups.setdefault(key, []).append(each)
    yield from ((group[0], len(group) - 1) for group in groups.values())


def _shown(each: Difference, names: tuple[str, str]) -> Iterator[str]:
    """On one line where that can be read, else one below the other, each where they part."""
    start = max(0, _shared(each.one, each.other) - _BEFORE)
    mine, theirs = (
        f"{name}: {_excerpt(text, start)}" for name, text in zip(names, (each.one, each.other), strict=True)
    )
    if len(mine) + len(theirs) < 70:
        yield f"    {each.field:<28} {mine:<24} {theirs}"
    else:
        yield f"    {each.field}"
        yield f"      {mine}"
        yield f"      {theirs}"


def _shared(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _excerpt(text: str, start: int) -> str:
    start = 0 if len(text) <= _LONG else start
    cut = text[start : start + _LONG].replace("\n", "\\n")
    return f"{'…' * (start > 0)}{cut}{'…' * (start + _LONG < len(text))}"
