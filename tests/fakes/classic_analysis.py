"""The published compiler notebook's way to read a log, as an oracle: the text between a line's first braces is a Python
literal; a dict with a loss is training, with an eval_loss evaluation, with a train_runtime the summary."""

from __future__ import annotations

import ast
from typing import Any


def classic_lines(text: str) -> dict[str, Any]:
    """``{"train": [dict, …], "eval": [dict, …], "summary": dict}``, and the notebook's blind spots with it: one dict a
    line, nothing nested, every ``nan`` in the line – in a word too – is turned into a string."""
    views: dict[str, Any] = {"train": [], "eval": [], "summary": {}}
    for line in text.split("\n"):
        opened, closed = line.find("{"), line.find("}")
        if opened < 0 or closed < 0:
            continue
        found = _literal(line[opened : closed + 1].replace("nan", "'nan'"))
        if not found:
            continue
        if "loss" in found:
            views["train"].append(found)
        elif "eval_loss" in found:
            views["eval"].append(found)
        elif "train_runtime" in found:
            views["summary"].update(found)
    return views


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
