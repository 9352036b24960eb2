"""A problem's fix, which is Python, as the line that a job file wants. What is not one is left as it is."""

from __future__ import annotations

import ast
import json
from typing import Any

from ..jobfile import schema
from ..specs import Compute, Spot, TrainingCompiler
from ..strategies import STRATEGIES

_PARTS = {
    cls.__name__: cls for cls in (*STRATEGIES.values(), *schema.FRAMEWORKS.values(), Compute, Spot, TrainingCompiler)
}


def in_file(fix: str, form: str) -> str:
    """``distribution=TorchDistributed()`` as ``distribution = { kind = "torch_distributed" }`` in TOML, and so on."""
    try:
        call = ast.parse(f"fix({fix})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not call.keywords:
            return fix
        return ", ".join(_line(str(word.arg), _tree(word.value), form) for word in call.keywords)
    except (SyntaxError, ValueError, TypeError):
        return fix


def _tree(node: ast.expr) -> Any:
    """The value as a job file holds it. Raises ValueError, or what a spec's class raises, for anything else than a literal or a spec."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    cls: Any = _PARTS.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if cls is None:
        raise ValueError(f"not a part of a spec: {ast.unparse(node)}")
    made = cls(
        *map(ast.literal_eval, node.args), **{str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    )
    return schema.part(made)


def _line(key: str, value: Any, form: str) -> str:
    if value is None:
        return f"leave {key} out"
    if form == "toml":
        return f"{key} = {_toml(value)}"
    return f'"{key}": {json.dumps(value)}' if form == "json" else f"{key}: {json.dumps(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
