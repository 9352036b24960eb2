"""Run by a Python that has an SDK: reads dotted names as a JSON list, and prints what each is. Knows nothing of the package."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from importlib import metadata
from typing import Any


def told(path: str) -> dict[str, object] | None:
    """What a dotted name is; None where the installed packages have none of it."""
    try:
        value, rest = _found(path)
    except (ImportError, AttributeError):
        return None
    if inspect.ismodule(value):
        return {"home": value.__name__, "kind": "module", "rest": rest}
    if not callable(value):
        return {"home": path, "kind": "value", "rest": rest}
    kind = "class" if inspect.isclass(value) else "function"
    row: dict[str, object] = {"home": f"{value.__module__}.{value.__qualname__}", "kind": kind, "rest": rest}
    try:
        row["parameters"] = [name for name in inspect.signature(value).parameters if name != "self"]
    except (TypeError, ValueError):
        row["parameters"] = []
    if kind == "class":
        fields = (*getattr(value, "model_fields", ()), *getattr(value, "__private_attributes__", ()))
        row["attributes"] = sorted({*dir(value), *fields, *_set_on_objects(value)})
    return row


def _set_on_objects(cls: type) -> set[str]:
    """The attributes that the methods of a class set."""
    try:
        return set(re.findall(r"\bself\.(\w+)\s*(?::[^=\n]+)?=[^=]", inspect.getsource(cls)))
    except (OSError, TypeError):
        return set()


def _found(path: str) -> tuple[Any, list[str]]:
    """The module, or what is in it; of a class, what the name goes on with is left."""
    words = path.split(".")
    for end in range(len(words), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(words[:end]))
        except ImportError:
            continue
        rest = words[end:]
        while rest and not inspect.isclass(value):
            value = getattr(value, rest.pop(0))
        return value, rest
    raise ImportError(path)


if __name__ == "__main__":
    del sys.path[0]  # this folder, whose modules have names of others
    names = {path: told(path) for path in json.load(sys.stdin)}
    sys.stdout.write("\n" + json.dumps({"version": metadata.version("sagemaker"), "names": names}))
