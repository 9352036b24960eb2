"""The imports of a program: those of SDK v2 go, and those of SDK v3 stand in the place of the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import libcst as cst

from .names import Imports
from .reading import Reading, dotted

Statement = TypeVar("Statement", bound=cst.CSTNode)
_HERE: Final = "_imports_of_sdk_v3_"
SPLIT: Final = "_each_on_its_line_"  # before statements that stand for one


def without_sdk(
    old: Sequence[cst.CSTNode], new: Sequence[cst.CSTNode], reading: Reading
) -> tuple[list[cst.CSTNode], list[cst.EmptyLine]]:
    """The statements of a block without the imports of SDK v2, and the comments that stood before the last ones that went."""
    body: list[cst.CSTNode] = []
    comments: list[cst.EmptyLine] = []
    for before, after in zip(old, new, strict=True):
        for statement in _kept(before, after, reading):
            if isinstance(statement, cst.EmptyLine):
                comments.append(statement)
            else:
                body.append(_below(comments, statement))
                comments = []
    return body, comments


def _kept(before: cst.CSTNode, after: cst.CSTNode, reading: Reading) -> list[cst.CSTNode]:
    if not isinstance(before, cst.SimpleStatementLine) or not isinstance(after, cst.SimpleStatementLine):
        return [after]
    if not any(small in reading.imports for small in before.body):
        return [after]
    kept: list[cst.BaseSmallStatement] = []
    for small, new in zip(before.body, after.body, strict=True):
        other = _without_sdk(new) if small in reading.imports else new
        kept += [] if other is None else [other]
    if any(small is reading.anchor for small in before.body):
        kept.append(cst.Expr(cst.Name(_HERE)))
    if not kept:
        return [line for line in after.leading_lines if line.comment is not None]
    return [after.with_changes(body=[each.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for each in kept])]


class _Importer(cst.CSTTransformer):
    """Puts the new imports where the mark stands, and statements that stand for one on lines of their own."""

    def __init__(self, statements: list[cst.SimpleStatementLine]) -> None:
        super().__init__()
        self._statements = statements

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel:
        del original_node
        if isinstance(updated_node.body[0], cst.Expr) and _is(updated_node.body[0], SPLIT):
            lines = [
                cst.SimpleStatementLine([small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
                for small in updated_node.body[1:]
            ]
            lines[0] = lines[0].with_changes(leading_lines=updated_node.leading_lines)
            lines[-1] = lines[-1].with_changes(trailing_whitespace=updated_node.trailing_whitespace)
            return cst.FlattenSentinel(lines)
        rest = [small for small in updated_node.body if not _is(small, _HERE)]
        if len(rest) == len(updated_node.body):
            return updated_node
        lines = [*self._statements, *([updated_node.with_changes(body=rest, leading_lines=[])] if rest else [])]
        return (
            cst.FlattenSentinel([_below(updated_node.leading_lines, lines[0]), *lines[1:]])
            if lines
            else cst.RemoveFromParent()
        )


def with_imports(module: cst.Module, imports: Imports, reading: Reading) -> cst.Module:
    """The module with the new imports in the place of the first old one; where each function has its own, below the docstring."""
    texts = [text.replace("\n", module.default_newline) for text in imports.statements()]
    statements = [cst.parse_statement(text, module.config_for_parsing) for text in texts]
    lines = [each for each in statements if isinstance(each, cst.SimpleStatementLine)]
    module = module.visit(_Importer(lines))
    if reading.anchor is not None:
        return module
    first = next((at for at, each in enumerate(module.body) if not _is_head(each)), len(module.body))
    return module.with_changes(body=[*module.body[:first], *lines, *module.body[first:]])


def _is_head(statement: cst.CSTNode) -> bool:
    """Whether it is a docstring or an import of the future, which nothing stands before."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if isinstance(small, cst.Expr):
        return isinstance(small.value, cst.SimpleString)
    return isinstance(small, cst.ImportFrom) and small.module is not None and dotted(small.module) == "__future__"


def _is(small: cst.BaseSmallStatement, mark: str) -> bool:
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.Name) and small.value.value == mark


def _without_sdk(statement: cst.BaseSmallStatement) -> cst.BaseSmallStatement | None:
    """An import without its names of the SDK; None where it has no others."""
    if not isinstance(statement, cst.Import):
        return None
    names = [alias for alias in statement.names if dotted(alias.name).split(".")[0] != "sagemaker"]
    if not names:
        return None
    return statement.with_changes(names=[*names[:-1], names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)])


def _below(comments: Sequence[cst.EmptyLine], statement: Statement) -> Statement:
    if not comments:
        return statement
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    return statement.with_changes(leading_lines=[*comments, *lines])
