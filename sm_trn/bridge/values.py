"""Values that only the user knows, put into a copy of the launcher in place of what it assigns."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from ..core.errors import SmTrnError
from .sites import Source

ACCOUNT_NAMES = ("role", "bucket", "region", "account")  # the recorder answers with them


def with_values(source: Source, values: Mapping[str, object]) -> dict[int, str]:
    """Return the code of each cell with ``values`` in place of what is assigned to their names, wherever that is.

    Raises SmTrnError for a name that the file assigns nowhere, and that is none of ACCOUNT_NAMES.
    """
    texts, used = {cell.number: cell.code for cell in source.cells}, set[str]()
    for cell, tree in source.trees:
        lines = [line.encode() for line in cell.code.splitlines(keepends=True)]
        for target, value in sorted(_assignments(tree, values), key=lambda pair: -pair[1].lineno):
            used.add(target)
            end = value.end_lineno or value.lineno
            head, tail = lines[value.lineno - 1][: value.col_offset], lines[end - 1][value.end_col_offset or 0 :]
            kept = b"\n" * (end - value.lineno)  # the lines behind it keep their numbers
            text = repr(values[target]).encode()
            lines[value.lineno - 1 : end] = [head + b"(" + text + kept + b")" + tail]
            lines = b"".join(lines).splitlines(keepends=True)
        texts[cell.number] = b"".join(lines).decode()
    _expect_used(values, used)
    return texts


def _assignments(tree: ast.Module, values: Collection[str]) -> list[tuple[str, ast.expr]]:
    pairs = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        if isinstance(target, ast.Name) and target.id in values:
            pairs.append((target.id, value))
    return pairs


def _expect_used(values: Collection[str], used: Collection[str]) -> None:
    for name in values:
        if name not in used and name not in ACCOUNT_NAMES:
            raise SmTrnError(
                f"--set: got {name!r}, which the launcher assigns nowhere; wanted a name that it assigns, or one of "
                f"{', '.join(ACCOUNT_NAMES)}. Arguments of its command line follow --, variables are given by --env"
            )
