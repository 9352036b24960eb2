"""Calls in the making: arguments as the program's own source, with their comments, put into calls of other classes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import libcst as cst

Name: TypeAlias = Callable[[str], str]  # what a dotted name is called in the program, which then imports it
WIDTH = 100


class RefusedError(Exception):
    """SDK v3 cannot say a construct, or how it does is not known here. The message is the reason."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The source of a value. Comments stand in lines before it, or after it on its line."""

    text: str
    before: tuple[str, ...] = ()
    after: str = ""

    def saying(self, text: str) -> Piece:
        """Another value with the same comments."""
        return Piece(text, self.before, self.after)


@dataclass(slots=True)
class Made:
    """``cls(**parts)``, then each method of ``chain`` with its own parts."""

    cls: str
    parts: dict[str, Made | Piece] = field(default_factory=dict)
    chain: dict[str, Made] = field(default_factory=dict)

    def written(self, name: Name, column: int) -> str:
        """The source, whose first line begins in a line that is indented by ``column``."""
        methods = "".join(f".{method}{each.arguments(name, column)}" for method, each in self.chain.items())
        made = name(self.cls) if "." in self.cls else self.cls
        return f"{made}{self.arguments(name, column)}{methods}"

    def arguments(self, name: Name, column: int) -> str:
        """The arguments in their parentheses: on one line where there is one, else each on its own."""
        rows = [(key, part, _written(part, name, column + 4)) for key, part in self.parts.items()]
        bare = [part for _, part, _ in rows if isinstance(part, Made) or not (part.before or part.after)]
        short = sum(len(key) + len(text) for key, _, text in rows) < WIDTH - column - 20
        if len(rows) < 2 and len(bare) == len(rows) and short:
            return f"({', '.join(f'{key}={text}' for key, _, text in rows)})"
        margin = " " * (column + 4)
        lines = ["("]
        for key, part, text in rows:
            before, after = ((), "") if isinstance(part, Made) else (part.before, part.after)
            lines += [margin + comment for comment in before]
            lines.append(f"{margin}{key}={text},{'  ' if after else ''}{after}")
        return "\n".join([*lines, " " * column + ")"])


def _written(part: Made | Piece, name: Name, column: int) -> str:
    return part.written(name, column) if isinstance(part, Made) else part.text


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call by name, and the comments after the last one."""

    named: dict[str, Piece]
    rest: tuple[str, ...] = ()


def arguments_of(call: cst.Call, parameters: Sequence[str], source: Callable[[cst.CSTNode], str]) -> Arguments:
    """The arguments of a call whose parameters are these. Raises RefusedError for ``*`` and ``**``, whose names are not there to read."""
    named: dict[str, Piece] = {}
    before = _comments(call.whitespace_before_args)
    for position, arg in enumerate(call.args):
        if arg.star:
            raise RefusedError(f"{arg.star}{source(arg.value)}: which arguments it holds does not stand in the call")
        if arg.keyword is None and position >= len(parameters):
            raise RefusedError(f"its argument {position + 1} has no name")
        name = arg.keyword.value if arg.keyword is not None else parameters[position]
        after, following = _around(arg)
        named[name] = Piece(source(arg.value), before, after)
        before = following
    return Arguments(named, before)


def _around(arg: cst.Arg) -> tuple[str, tuple[str, ...]]:
    """The comment on an argument's line, and those in lines of their own before the next."""
    spaces = [arg.whitespace_after_arg]
    if isinstance(arg.comma, cst.Comma):
        spaces += [arg.comma.whitespace_before, arg.comma.whitespace_after]
    same, own = "", list[str]()
    for space in spaces:
        if isinstance(space, cst.ParenthesizedWhitespace):
            comment = space.first_line.comment
            same = same or (comment.value if comment is not None else "")
            own += [line.comment.value for line in space.empty_lines if line.comment is not None]
    return same, tuple(own)


def _comments(space: cst.BaseParenthesizableWhitespace) -> tuple[str, ...]:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return ()
    lines = [space.first_line.comment, *(line.comment for line in space.empty_lines)]
    return tuple(comment.value for comment in lines if comment is not None)


def literal(text: str) -> object:
    """The value of a literal; ``...`` for all that is none."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ...


def entries(text: str) -> dict[str, str] | None:
    """The values of a mapping that is written out, by their keys, as source; None for what is no such mapping."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    return dict(_entries(node, text.strip())) if isinstance(node, (ast.Dict, ast.Call)) and _has_keys(node) else None


def items_of(text: str) -> list[str] | None:
    """The items of a list that is written out, as source; None for what is no such list."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(node, ast.List) or any(isinstance(item, ast.Starred) for item in node.elts):
        return None
    return [ast.get_source_segment(text.strip(), item) or "" for item in node.elts]


def _has_keys(node: ast.Dict | ast.Call) -> bool:
    if isinstance(node, ast.Call):
        plain = isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args
        return plain and all(word.arg for word in node.keywords)
    return all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys)


def _entries(node: ast.Dict | ast.Call, text: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        yield from ((word.arg or "", ast.get_source_segment(text, word.value) or "") for word in node.keywords)
        return
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant):
            yield str(key.value), ast.get_source_segment(text, value) or ""
