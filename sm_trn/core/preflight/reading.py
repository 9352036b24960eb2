"""Names in a job's source: the words of the entry script, of the modules it imports and of the files it mentions.

Reads text and syntax trees, runs nothing, and knows no rule: what a word means is said where a rule asks for it.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ..specs.job import JobSpec
from ..specs.problems import Field, Line
from . import source

FILES = 200  # of a source folder that are looked at: a folder with more is a data set
SUFFIXES = frozenset({".py", ".sh", ".json", ".yaml", ".yml"})
_WORD = re.compile(r"[A-Za-z_][\w.]*")
# Classes of Trainer's arguments, and all whose names end so (transformers 4.21 to 5.17, trl 0.8 to 1.11).
TRAINERS = ("TrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "ORPOConfig", "RewardConfig")
_SETTING = re.compile(
    r"""(?m)^[\s{]*["']?(\w+)["']?\s*:\s*["']?([^"'#,\n{}\[]+?)["']?,?\s*(?:#.*)?$"""
)  # of JSON and YAML
_VARIABLE = re.compile(r"os\.(?:environ\[|environ\.get\(|getenv\()'(\w+)'")
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


def files(job: JobSpec) -> tuple[Path, ...]:
    """The entry script of the job's own source and every file of its folder that it, its arguments, or a file reached before imports or
    names; empty where the source lies in S3 or in git, is not there, or is a shipped script, of which it is known what it does.
    """
    folder, entry = source.source_folder(job), source.entry_path(job)
    if folder is None or source.shipped(job) or source.text(entry) is None:
        return ()
    return tuple(_reached(folder, entry, " ".join(map(str, job.hyperparameters.values()))))


def words(job: JobSpec) -> Words | None:
    """The words of the job's own source; None where ``files`` has none."""
    readings = [_of_file(path) for path in files(job)]
    sure = frozenset().union(*(each.all - each.undecided for each in readings))
    everything = frozenset().union(*(each.all for each in readings))
    asked_for = frozenset().union(*(each.asked_for for each in readings))
    used = frozenset().union(*(each.all - each.undecided - each.asked_for for each in readings))
    return Words(everything, everything - sure, asked_for - used) if readings else None


def keywords(job: JobSpec) -> dict[str, set[object]]:
    """Return literal values that the source passes by name: ``{"padding": {"max_length"}}``. Empty as ``words`` is None."""
    values: dict[str, set[object]] = {}
    for each in (each for _, call in literals(job).calls for each in call.keywords if each.arg is not None):
        if isinstance(each.value, (ast.Constant, ast.Attribute)):
            value = each.value.value if isinstance(each.value, ast.Constant) else ast.unparse(each.value)
            values.setdefault(str(each.arg), set()).add(value)
    return values


Pairs: TypeAlias = tuple[tuple[str, str], ...]


class Literals:
    """The values of expressions of a job's source, as far as they are literals, names that are bound once to one, hyperparameters or
    literal defaults of arguments, settings of a file of configuration, or variables of the job's environment.

    ``calls`` are all of the source's with their files, ``sent`` the settings from outside, ``text`` the source without comments,
    ``printed`` the texts in calls of print, without templates.
    """

    def __init__(self, texts: Pairs, arguments: Pairs, environment: Pairs) -> None:
        self.text = "\n".join(re.sub(r"(?m)(^|\s)#.*$", "", text) for _, text in texts)
        self.calls: list[tuple[Path, ast.Call]] = []
        self._trees: list[ast.Module] = []
        self._names: dict[str, ast.expr | None] = {}
        self._defaults: dict[str, ast.expr] = {}
        self._variables = dict(environment)
        self.sent: dict[str, str] = {}
        for file, text in texts:
            path = Path(file)
            if path.suffix != ".py":
                self.sent |= dict(_SETTING.findall(text))
            elif source.parses(text):
                self.calls += [(path, call) for call in source.calls(text)]
                self._trees.append(source.tree(text))
        self.sent |= {name.replace("-", "_"): value for name, value in arguments}
        strings = (each for _, call in self.calls if ast.unparse(call.func) == "print" for each in ast.walk(call))
        texts_printed = {
            str(each.value) for each in strings if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        self.printed = frozenset(text for text in texts_printed if not re.search("[%{]", text))
        for tree in self._trees:
            self._bind(tree)
        for _, call in self.calls:
            self._argue(call)

    def _bind(self, tree: ast.Module) -> None:
        """Note the names of a program: those of parameters, and those that are bound twice, are unknown."""
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                self._names[node.arg] = None
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Attribute):
                        self.sent.pop(target.attr, None)
                        self._names[f".{target.attr}"] = None
                    elif isinstance(target, ast.Name):
                        self._names[target.id] = None if target.id in self._names else node.value
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._names.setdefault(node.id, None)

    def _argue(self, call: ast.Call) -> None:
        """Note what a parser or Trainer's arguments have by default."""
        name, given = ast.unparse(call.func), {each.arg: each.value for each in call.keywords}
        if name.endswith("add_argument") and "default" in given:
            flags = [each.value for each in call.args if isinstance(each, ast.Constant)]
            self._defaults |= {str(flag).lstrip("-").replace("-", "_"): given["default"] for flag in flags}
        elif name.endswith(TRAINERS):
            given |= {"output_dir": call.args[0]} if call.args else {}
            for word in {"output_dir", "save_strategy"} & given.keys():
                self._defaults.setdefault(word, given[word])

    def value(self, node: ast.expr | None, *, tries: int = 8) -> object:
        """The value of an expression; None where it is not known."""
        if isinstance(node, ast.Constant):
            return node.value
        if tries == 0 or node is None:
            return None
        if isinstance(node, ast.Name) and node.id in self._names:
            return self.value(self._names[node.id], tries=tries - 1)
        if isinstance(node, ast.Attribute):
            return self.setting(node.attr, tries=tries - 1)
        variable = _VARIABLE.match(ast.unparse(node))
        return self._variables.get(variable[1]) if variable is not None else None

    def place(self, node: ast.expr, *, tries: int = 8) -> str | None:
        """Return the beginning of the path that an expression joins; None where it is not known."""
        if isinstance(node, ast.Name) and self._names.get(node.id) is not None and tries:
            return self.place(self._names[node.id], tries=tries - 1)  # type: ignore[arg-type]  # see the line above
        if isinstance(node, ast.JoinedStr) and node.values:
            return self.place(node.values[0], tries=tries)
        if isinstance(node, ast.FormattedValue):
            return self.place(node.value, tries=tries)
        if isinstance(node, ast.BinOp):
            return self.place(node.left, tries=tries)
        if isinstance(node, ast.Call) and node.args and re.search(r"(join|Path|str|path)$", ast.unparse(node.func)):
            return self.place(node.args[0], tries=tries)
        value = self.value(node, tries=tries)
        return value if isinstance(value, str) else None

    def setting(self, name: str, *, tries: int = 8) -> object:
        """The value of an argument of the script, or of its Trainer; None where it is not known."""
        if name in self.sent or f".{name}" in self._names:
            return self.sent.get(name)
        return self.value(self._defaults.get(name), tries=tries)

    def where(self, name: str, job: JobSpec) -> Field | Line:
        """Where a setting is given: in the job, or in a call; else at the beginning of the script."""
        calls = (
            Line(path.name, call.lineno) for path, call in self.calls for each in call.keywords if each.arg == name
        )
        return (
            Field(f"hyperparameters.{name}")
            if name in job.hyperparameters
            else next(calls, Line(source.entry_name(job), 1))
        )

    def guarded(self, words: re.Pattern[str]) -> set[ast.AST]:
        """The nodes that stand in a ``try``, or under a condition that has one of some words."""
        nodes = [node for tree in self._trees for node in ast.walk(tree)]
        blocks: list[ast.AST] = [
            node for node in nodes if isinstance(node, (ast.If, ast.IfExp)) and words.search(ast.unparse(node.test))
        ]
        blocks += [node for node in nodes if isinstance(node, ast.Try)]
        return {node for block in blocks for node in ast.walk(block)}


def models(job: JobSpec) -> tuple[str, ...]:
    """The models that the job's arguments name, or its source in ``from_pretrained("…")`` and ``SFTTrainer(model="…")``."""
    names = [str(job.arguments[flag]) for flag in source.MODEL_FLAGS if flag in job.arguments]
    for _, call in literals(job).calls:
        name, given = ast.unparse(call.func), {each.arg: each.value for each in call.keywords}
        if re.search(r"(?:Model\w*|For[A-Z]\w+)\.from_pretrained$", name):
            names.append(
                str(literals(job).value(next(iter(call.args), given.get("pretrained_model_name_or_path"))) or "")
            )
        elif name.endswith("Trainer") and isinstance(given.get("model"), ast.Constant):
            names.append(str(literals(job).value(given["model"])))
    return tuple(dict.fromkeys(filter(None, names)))


def trained_model(job: JobSpec) -> tuple[str, ...]:
    """The one model that the source writes out and trains; empty where there are several, or none, or nothing is trained."""
    names = models(job)
    trains = any(word == "backward" or word.endswith("Trainer") for word in source_words(job).all)
    return names if len(names) == 1 and trains else ()


def of_transformers(job: JobSpec) -> bool:
    """Return False for a source that trains no model of transformers."""
    vocabulary = words(job)
    return vocabulary is None or bool(
        vocabulary.any_of("transformers", "trl", "peft", "optimum", "sentence_transformers", "from_pretrained")
    )


def source_words(job: JobSpec) -> Words:
    """The words of the job's own source; none where ``words`` is None."""
    return words(job) or Words()


def sure_words(job: JobSpec) -> frozenset[str]:
    """Those of them that stand under no condition."""
    known = source_words(job)
    return known.all - known.undecided - known.asked_for


def literals(job: JobSpec) -> Literals:
    """The literal values of the job's own source; those of no source where ``files`` has none."""
    texts = tuple((str(path), source.text(path) or "") for path in files(job))
    arguments = tuple((name, str(value)) for name, value in job.arguments.items())
    return _literals(texts, arguments, tuple(job.environment.items()))


_literals = functools.lru_cache(maxsize=8)(Literals)


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
