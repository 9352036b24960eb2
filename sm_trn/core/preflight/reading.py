"""What a job's source names: the words of the entry script, of the modules it imports and of the files it mentions.

Reads text and syntax trees, runs nothing, and knows no rule: what a word means is said where a rule asks for it.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..specs.job import JobSpec
from . import source

FILES = 200  # of a source folder that are looked at: a folder with more is a data set
SUFFIXES = frozenset({".py", ".sh", ".json", ".yaml", ".yml"})
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_TEXT_CAP = 2_000  # characters of a text in a program: longer ones are prose or data


@dataclass(frozen=True, slots=True)
class Words:
    """``all`` words, and those that stand under an ``if`` only: the script decides about them when it runs. ``asked_for`` are those
    that are imported without condition and used under one.

    Words are names, the parts of dotted names, names of arguments and of imported modules, and the words
    of texts. Comments and docstrings are left out.
    """

    all: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    asked_for: frozenset[str] = frozenset()

    def any_of(self, *words: str) -> tuple[str, ...]:
        """Those of ``words`` that the source names."""
        return tuple(word for word in words if word in self.all)


def words(job: JobSpec) -> Words | None:
    """The words of the job's own source; None when it lies in S3 or in git, is not there, or is a shipped script.

    A shipped script is ours: what it does is known, and it needs a launcher for its workers.
    """
    folder, entry = source.source_folder(job), source.entry_path(job)
    if folder is None or job.script is None or job.script.source_dir is None or source.text(entry) is None:
        return None
    named = " ".join(str(value) for value in job.hyperparameters.values())
    found = [_of_file(path) for path in _reached(folder, entry, named)]
    sure = frozenset().union(*(each.all - each.undecided for each in found))
    everything = frozenset().union(*(each.all for each in found))
    asked_for = frozenset().union(*(each.asked_for for each in found))
    used = frozenset().union(*(each.all - each.undecided - each.asked_for for each in found))
    return Words(everything, everything - sure, asked_for - used)


def keywords(job: JobSpec) -> dict[str, frozenset[object]]:
    """What the source gives to arguments by name, where it stands there: ``{"padding": {"max_length"}}``. Empty as ``words`` is None."""
    folder, entry = source.source_folder(job), source.entry_path(job)
    found: dict[str, frozenset[object]] = {}
    if folder is None or words(job) is None:
        return found
    for path in _reached(folder, entry, ""):
        for name, values in _given(source.text(path) or "").items() if path.suffix == ".py" else ():
            found[name] = found.get(name, frozenset()) | values
    return found


@functools.lru_cache(maxsize=source.KEPT)
def _given(text: str) -> dict[str, frozenset[object]]:
    given: dict[str, set[object]] = {}
    for node in ast.walk(source.tree(text)) if source.parses(text) else ():
        for each in node.keywords if isinstance(node, ast.Call) else ():
            if each.arg is not None and isinstance(each.value, ast.Constant):
                given.setdefault(each.arg, set()).add(each.value.value)
            elif each.arg is not None and isinstance(each.value, ast.Attribute):
                given.setdefault(each.arg, set()).add(ast.unparse(each.value))
    return {name: frozenset(values) for name, values in given.items()}


def _reached(folder: Path, entry: Path | None, named: str) -> Iterator[Path]:
    """The entry script and every file of the folder that it, or a file reached before, imports or names."""
    waiting = [] if entry is None else [entry]
    others = [path for path, _ in zip(sorted(folder.iterdir()), range(FILES), strict=False)
              if path.suffix in SUFFIXES and path != entry]  # fmt: skip
    while waiting:
        path = waiting.pop()
        yield path
        text = f"{source.text(path) or ''} {named}"
        imported = _of_file(path).all
        reached = [each for each in others if each.name in text or (each.suffix == ".py" and each.stem in imported)]
        waiting += reached
        others = [each for each in others if each not in reached]


def _of_file(path: Path) -> Words:
    text = source.text(path) or ""
    if path.suffix == ".py":
        return _of_program(text)
    return Words(frozenset(_WORD.findall(re.sub(r"(?m)(^|\s)#.*$", "", text))))


@functools.lru_cache(maxsize=source.KEPT)
def _of_program(text: str) -> Words:
    if not source.parses(text):
        return Words(frozenset(_WORD.findall(text)))
    reader = _Reader()
    reader.visit(source.tree(text))
    sure = frozenset(reader.sure | reader.imported)
    return Words(
        sure | reader.undecided,
        frozenset(reader.undecided - sure),
        frozenset((reader.undecided & reader.imported) - reader.sure),
    )


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.sure: set[str] = set()
        self.undecided: set[str] = set()
        self.imported: set[str] = set()
        self._under_if = 0

    def _add(self, *found: str) -> None:
        (self.undecided if self._under_if else self.sure).update(found)

    def _import(self, *found: str) -> None:
        (self.undecided if self._under_if else self.imported).update(found)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        main = "__name__" in {name.id for name in ast.walk(node.test) if isinstance(name, ast.Name)}
        self._under_if += not main
        for each in (*node.body, *node.orelse):
            self.visit(each)
        self._under_if -= not main

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self._under_if += 1
        self.visit(node.body)
        self.visit(node.orelse)
        self._under_if -= 1

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        self._add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._add(node.attr)
        self.visit(node.value)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg is not None:
            self._add(node.arg)
        self.visit(node.value)

    def visit_Import(self, node: ast.Import) -> None:
        self._import(*(part for name in node.names for part in name.name.split(".")))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._import(*(node.module or "").split("."), *(name.name for name in node.names))

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and len(node.value) <= _TEXT_CAP:
            self._add(*_WORD.findall(node.value))
