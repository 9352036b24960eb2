"""Where a launch stands in its file, and what else the file does with the estimator: what a rewriting must not break."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from .source import Cell, Unread, cells, parsed
from .values import Place

Position: TypeAlias = tuple[int, int, int]  # the cell's index, the line, the column
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)
_HOLDING: Final = (ast.stmt, ast.ExceptHandler, ast.match_case)  # what statements stand in


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that stands alone on its lines, in the cell of this index, and the nodes above it, the outermost first."""

    node: ast.stmt
    index: int
    above: tuple[ast.AST, ...]

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last."""
        return self.node.lineno, self.node.end_lineno or self.node.lineno

    @property
    def begins(self) -> Position:
        return self.index, self.node.lineno, self.node.col_offset

    @property
    def ends(self) -> Position:
        return self.index, self.node.end_lineno or self.node.lineno, self.node.end_col_offset or 0

    def repeated(self) -> str:
        """Why it may run with other values than those that were read; '' where it runs once."""
        for node in self.above:
            if isinstance(node, _LOOPS):
                return "it stands in a loop"
            if isinstance(node, _FUNCTIONS) and next(ast.iter_child_nodes(node.args), None) is not None:
                return "it stands in a function with arguments"
        return ""


@dataclass(frozen=True, slots=True)
class Use:
    """A name that is used: for this attribute, '' for the object itself."""

    position: Position
    attribute: str
    stored: bool


class Code:
    """The parsed cells of a launcher."""

    def __init__(self, text: str, name: str) -> None:
        self._name = name
        self._cells: list[tuple[Cell, ast.Module]] = []
        for cell in cells(name, text.replace("\r\n", "\n")):
            tree = parsed(cell)
            if not isinstance(tree, Unread):
                self._cells.append((cell, tree))

    def place(self, position: Position) -> Place:
        """The place of a position."""
        return Place(self._name, self._cells[position[0]][0].number, position[1])

    def statement(self, place: Place | None) -> Statement | None:
        """The assignment or call at a place, where nothing else stands on its lines."""
        if place is None or place.file != self._name:
            return None
        found = next((index for index, (cell, _) in enumerate(self._cells) if cell.number == place.cell), None)
        return None if found is None else self._statement(found, place.line)

    def _statement(self, index: int, line: int) -> Statement | None:
        cell, tree = self._cells[index]
        todo: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
        while todo:
            node, above = todo.pop()
            if isinstance(node, (ast.Assign, ast.Expr)) and node.lineno <= line <= (node.end_lineno or node.lineno):
                lines = cell.raw.split("\n")
                before = lines[node.lineno - 1].encode()[: node.col_offset]
                after = lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset or 0 :]
                return None if before.strip() or after.strip() else Statement(node, index, above)
            todo.extend((child, (*above, node)) for child in ast.iter_child_nodes(node) if isinstance(child, _HOLDING))
        return None

    def uses(self, name: str, around: Statement) -> list[Use]:
        """Every use of a name in the function, or the file, that a statement stands in, by position."""
        function = next((node for node in reversed(around.above) if isinstance(node, _FUNCTIONS)), None)
        roots = [(around.index, function)] if function else [(at, tree) for at, (_, tree) in enumerate(self._cells)]
        return sorted((use for index, root in roots for use in _uses(index, root, name)), key=lambda use: use.position)


def _uses(index: int, root: ast.AST, name: str) -> Iterator[Use]:
    todo: list[tuple[ast.AST, ast.AST]] = [(child, root) for child in ast.iter_child_nodes(root)]
    while todo:
        node, above = todo.pop()
        if isinstance(node, ast.Name) and node.id == name:
            attribute = above if isinstance(above, ast.Attribute) else None
            stored = isinstance(node.ctx, (ast.Store, ast.Del))
            yield Use((index, node.lineno, node.col_offset), attribute.attr if attribute else "", stored)
        if not (isinstance(node, _FUNCTIONS) and _binds(node, name)):
            todo.extend((child, node) for child in ast.iter_child_nodes(node))


def _binds(function: ast.AST, name: str) -> bool:
    """Whether a function has a name of its own that is called so."""
    return any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
        for node in ast.walk(function)
    )
