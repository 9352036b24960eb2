"""A change that a problem proposes, as the line that a job file wants. Advice in words is left as it is."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from typing import Any

from ...core.jobfile import schema
from ...core.specs.problems import AnyOf, Change, Named
from ...core.strategies import STRATEGIES

_BARE = re.compile(r"[A-Za-z0-9_-]+")  # a key of TOML that needs no quotes
_NAMED = {cls.__name__: cls for cls in STRATEGIES.values()}


def in_file(fix: str, form: str) -> str:
    """``distribution=TorchDistributed()`` as ``distribution = { kind = "torch_distributed" }`` in TOML, and so on."""
    if isinstance(fix, AnyOf):
        return ", or ".join(in_file(choice, form) for choice in fix.choices)
    if not isinstance(fix, Change):
        return fix
    lines = ", ".join(_line(name, _tree(value), form) for name, value in fix.fields.items())
    return f"{lines}, {fix.note}" if fix.note else lines


def _tree(value: Any) -> Any:
    """The value as a job file holds it."""
    made = _NAMED[value]() if isinstance(value, Named) else value.value if isinstance(value, enum.Enum) else value
    return schema.part(made) if dataclasses.is_dataclass(made) else made


def _line(key: str, value: Any, form: str) -> str:
    if value is None:
        return f"leave {key} out"
    if form == "toml":
        return f"{key} = {_toml(value)}"
    return f'"{key}": {json.dumps(value)}' if form == "json" else f"{key}: {json.dumps(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{key if _BARE.fullmatch(key) else _toml(key)} = {_toml(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # the one that JSON takes as it is
