"""Numbers that a script prints in its own way, offered as rules. Nothing is read with them until somebody takes them over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..formatting.printable import plain
from ..specs.metrics import MetricRule
from .dicts import dicts
from .events import LogEvent
from .rules import RuleReader
from .script import ScriptLines

LINES = 20_000  # of the script that are looked at: the loop prints its lines again and again
NAMES = 64  # that are remembered
LEAST = 3  # lines with a name, with two values at least: a setting is printed once, or never changes
_LONGEST = 1_000  # characters of a line
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
_PAIR = re.compile(
    rf"(?<![\w./-])(?P<name>[A-Za-z][\w@-]*(?:[ /][A-Za-z][\w@-]*){{0,2}})(?P<between>\s?[:=]\s?|\s)(?P<value>{_NUMBER})(?![\w.:-])",
)
_NO_NAME = re.compile(
    r"(?:.*rank|pid|port|line|version|device|gpu|cuda.*|node|host|worker|algo-.*|[kmg]b)$", re.IGNORECASE
)
_BETWEEN_CELLS = re.compile(r"[|\t]|#011|\s{2,}")
_TITLE = re.compile(r"[A-Za-z][\w /.%@()-]*")
_CELL = re.compile(_NUMBER + r"\s?%?")


_RESULT = re.compile(
    r"loss|acc(?:uracy)?(?:$|_)|(?:^|_)(?:err(?:or)?|auc|f1|rmse|mse|mae|ppl|perplexity|bleu|rouge\w*|score|map|iou)(?:$|_)"
)
_HINTS = ("loss", "acc", "err", "auc", "f1", "mse", "mae", "ppl", "perplexity", "bleu", "rouge", "score", "map", "iou")
_COUNTS = {
    "step": "step",
    "steps": "step",
    "iter": "step",
    "iteration": "step",
    "global_step": "step",
    "epoch": "epoch",
}


def guessed(line: str) -> dict[str, float]:
    """The numbers of a line in ordinary words, ``Epoch 1/3 | train loss: 0.07 | val acc: 99.5 %``; empty where it names no result.

    >>> guessed("step 0 loss: 1.000")
    {'step': 0.0, 'loss': 1.0}
    """
    found: dict[str, float] = {}
    lower = line.lower()
    text = plain(line)[:_LONGEST] if any(hint in lower for hint in _HINTS) else ""  # most lines name no result
    for each in _PAIR.finditer(text):
        words = re.sub(r"\W+", "_", each["name"].lower()).strip("_")
        name = _COUNTS.get(words.rpartition("_")[2], words)
        whole = each["value"].isdecimal() and (each["between"].isspace() or text[each.end() : each.end() + 1] == "/")
        if name in {"step", "epoch"} or (not whole and _NO_NAME.match(words) is None):
            found.setdefault(name, float(each["value"]))
    return found if any(map(_RESULT.search, found)) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A rule for a number that a script prints: in how many lines it stood, and one of them with what the rule reads there."""

    rule: MetricRule
    lines: int
    example: str
    value: float


@dataclass(slots=True)
class Suggester:
    """Hears a log and offers rules for its own numbers: ``loss: 0.41``, ``val acc: 84 %``, ``step 3/100``, columns of a table.

    Numbers in dicts are left out: they are read without a rule.
    """

    _script: ScriptLines = field(default_factory=ScriptLines)
    _left: int = LINES
    _titles: Sequence[str] = ()
    _lines: dict[tuple[str, str], list[tuple[str, str]]] = field(
        default_factory=dict
    )  # by name and rule: (line, number)

    def hear(self, events: Iterable[LogEvent]) -> None:
        """Take in lines."""
        for event in events:
            if not self._left:
                return
            if self._script.wants(event):
                self._left -= 1
                self._line(plain(event.message)[:_LONGEST])

    def _line(self, line: str) -> None:
        if "{" in line and dicts(line):
            return
        cells = [cell.strip() for cell in _BETWEEN_CELLS.split(line) if cell.strip()]
        if len(cells) > 1 and all(_TITLE.fullmatch(cell) for cell in cells):
            self._titles = cells
            return
        if cells and len(cells) == len(self._titles) and _CELL.fullmatch(cells[0]):
            for at, (title, cell) in enumerate(zip(self._titles, cells, strict=True)):
                if _CELL.fullmatch(cell):
                    self._add(title, _column(at, len(cells)), line, cell.rstrip(" %"))
            return
        for found in _PAIR.finditer(line):
            name, bare = found["name"], found["between"].isspace()
            words, whole = name.split(), found["value"].isdecimal()
            if _NO_NAME.match(words[-1]) is None and not (bare and whole and len(words) > 1):
                between = r"\s" if bare else r"\s?[:=]\s?"
                self._add(name, rf"\b{re.escape(name)}{between}({_NUMBER})", line, found["value"])

    def _add(self, name: str, expression: str, line: str, value: str) -> None:
        key = (re.sub(r"\W+", "_", name.lower()).strip("_"), expression)
        if key in self._lines or len(self._lines) < NAMES:
            self._lines.setdefault(key, []).append((line, value))

    def suggestions(self) -> tuple[Suggestion, ...]:
        """The rules, one a name: results first, then the most frequent. Each reads every line that it was made of as
        the line says it."""
        names: dict[str, Suggestion] = {}
        for each in sorted(self._suggestions(), key=lambda each: (not _RESULT.search(each.rule.name), -each.lines)):
            names.setdefault(each.rule.name, each)
        return tuple(names.values())

    def _suggestions(self) -> Iterator[Suggestion]:
        for (name, expression), lines in self._lines.items():
            rule = MetricRule(name, expression)
            reader = RuleReader([rule])
            values = [reader.values(line).get(name) for line, _ in lines]
            right = [str(float(number)) for _, number in lines] == [str(value) for value in values]
            if name and len(lines) >= LEAST and len(set(map(str, values))) > 1 and right:
                yield Suggestion(rule=rule, lines=len(lines), example=lines[-1][0], value=values[-1] or 0.0)


def _column(at: int, columns: int) -> str:
    """The expression for a number in a column of a table."""
    cells = [r"[^|\s]+"] * columns
    cells[at] = f"({_NUMBER})"
    return r"^[|\s]*" + r"[|\s%]+".join(cells) + r"[|\s%]*$"
