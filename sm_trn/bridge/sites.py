"""Where a launcher makes estimators and trainers or starts jobs, by its syntax: every such call, reached or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .cells import Cell, parse, read_cells

# Classes of SDK v2 and v3 that start training jobs, or are started by a tuner, a pipeline or a queue.
ESTIMATORS: Final = frozenset({
    "Estimator", "HuggingFace", "PyTorch", "TensorFlow", "MXNet", "Chainer", "SKLearn", "XGBoost", "RLEstimator", "Framework",
    "AlgorithmEstimator", "JumpStartEstimator", "ModelTrainer", "SFTTrainer", "DPOTrainer", "KMeans", "PCA", "LinearLearner",
    "FactorizationMachines", "LDA", "NTM", "RandomCutForest", "KNN", "Object2Vec", "IPInsights",
})  # fmt: skip
_CALLS: Final = frozenset({"create_training_job", "create_hyper_parameter_tuning_job"})


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; ``cell`` counts a notebook's code cells from 1, and is 0 for a file that is none."""

    file: str
    line: int
    cell: int = 0

    def __str__(self) -> str:
        cell = f"cell {self.cell}, " if self.cell else ""
        return f"{self.file}, {cell}line {self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A call that makes an estimator or starts a job. ``call`` is the function of the file that would come to it; '' for none."""

    place: Place
    end_line: int
    cls: str
    call: str = ""
    node: ast.Call = field(repr=False, compare=False)

    def covers(self, place: Place) -> bool:
        """Return True for a line of the call."""
        same = (place.file, place.cell) == (self.place.file, self.place.cell)
        return same and self.place.line <= place.line <= self.end_line


@dataclass(frozen=True, slots=True)
class Source:
    """A launcher's file: its trees by cell, and the cells that are no Python, each with the reason."""

    path: Path
    cells: tuple[Cell, ...]
    trees: tuple[tuple[Cell, ast.Module], ...]
    unread: tuple[tuple[Place, str], ...]

    @property
    def sdk3(self) -> bool:
        """Return True for a program that imports SDK v3."""
        names = [name for _, tree in self.trees for name in _imports(tree)]
        return any(name.startswith(("sagemaker.train", "sagemaker.core", "sagemaker.serve")) for name in names)


def read_source(path: Path) -> Source:
    """Read a script or notebook. Raises SmTrnError for what is neither."""
    trees, unread = list[tuple[Cell, ast.Module]](), list[tuple[Place, str]]()
    cells = read_cells(path)
    for cell in cells:
        try:
            trees.append((cell, parse(cell)))
        except SyntaxError as error:  # noqa: PERF203 - a cell that is no Python costs that cell only
            unread.append((Place(path.name, error.lineno or 1, cell.number), f"no Python 3: {error.msg}"))
    return Source(path, tuple(cells), tuple(trees), tuple(unread))


def find_sites(source: Source) -> list[Site]:
    """Return every launch site of a file, in order."""
    names = _class_names([tree for _, tree in source.trees])
    functions = [node for _, tree in source.trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    sites = []
    for cell, tree in source.trees:
        for node, within in _calls(tree):
            cls = _launched(node.func, names)
            if cls:
                place = Place(source.path.name, node.lineno, cell.number)
                call = _caller(within[0], functions) if within else ""
                end = node.end_lineno or node.lineno
                sites.append(Site(place=place, end_line=end, cls=cls, call=call, node=node))
    return sites


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _caller(name: str, functions: list[ast.FunctionDef]) -> str:
    """Return the last function that names this function or class, or one that does."""
    known, last = {name}, ""
    for node in functions:
        if node.name == name or any(isinstance(inner, ast.Name) and inner.id in known for inner in ast.walk(node)):
            known.add(node.name)
            last = node.name
    return last


def _class_names(trees: list[ast.Module]) -> dict[str, str]:
    """Return local names of estimators' classes, and of classes that are derived from them."""
    names: dict[str, str] = {}
    nodes = [node for tree in trees for node in ast.walk(tree)]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sagemaker":
            names |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in ESTIMATORS}
            if any(alias.name == "*" for alias in node.names):
                names |= {each: each for each in ESTIMATORS}
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            base = next((_last(each) for each in node.bases if _last(each) in {*names, *ESTIMATORS}), None)
            if base is not None:
                names[node.name] = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
            word = _last(node.value)
            if word in names or (isinstance(node.value, ast.Attribute) and word in ESTIMATORS):
                names |= {target.id: names.get(word, word) for target in node.targets if isinstance(target, ast.Name)}
    return names


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, tuple[str, ...]]]:
    """Yield each call with the functions and classes that it stands in, in the order of the file."""
    todo: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while todo:
        node, within = todo.pop()
        if isinstance(node, ast.Call):
            yield node, within
        inner = within
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*within, node.name)
        todo.extend((child, inner) for child in reversed(list(ast.iter_child_nodes(node))))


def _launched(function: ast.expr, names: dict[str, str]) -> str:
    """Return the class that a call makes an object of, or the operation that it starts; '' for any other call."""
    last = _last(function)
    if isinstance(function, ast.Name):
        return names.get(last, "")
    if not isinstance(function, ast.Attribute):
        return ""
    if last == "create" and _last(function.value) == "TrainingJob":
        return "TrainingJob.create"
    own = isinstance(function.value, ast.Name) and function.value.id == "self"
    return last if last in _CALLS or (last in ESTIMATORS and not own) else ""


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else str(getattr(node, "id", ""))
