"""A spec as Python source that makes an equal spec."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping

from ... import HOMES
from ...core.specs.job import JobSpec
from ...core.specs.metrics import TRAINER_METRICS
from ...core.specs.tuning import Sweep


def python_source(asked: JobSpec | Sweep) -> str:
    """Statements that import the package and assign the spec to ``job``, or the sweep to ``sweep``. What is left at its default is not
    written.

    >>> from sm_trn.bridge.launchers.write import python_source
    >>> python_source(job).splitlines()[0]
    'import sm_trn as st'
    """
    return f"import sm_trn as st\n\n{'sweep' if isinstance(asked, Sweep) else 'job'} = {_written(asked, 0)}\n"


def _written(value: object, depth: int) -> str:
    if value == TRAINER_METRICS:
        return "st.TRAINER_METRICS"
    if isinstance(value, enum.Enum):
        return f"{_name(value)}.{value.name}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _call(value, depth)
    if isinstance(value, Mapping):
        items = [f"{key!r}: {_written(item, depth + 1)}" for key, item in value.items()]
        return _listed("{", items, "}", depth)
    if isinstance(value, tuple):
        return _listed("(", [_written(item, depth + 1) for item in value], ")", depth, single=",")
    return f"{value:_}" if type(value) is int and value >= 10_000 else repr(value)


def _name(value: object) -> str:
    """The public name of the value's class."""
    name = type(value).__name__
    return f"st.{name}" if name in HOMES else f"st.specs.{name}"


def _call(value: object, depth: int) -> str:
    arguments = []
    fields = dataclasses.fields(value)  # type: ignore[arg-type]  # the caller has looked
    for field in sorted(fields, key=lambda field: field.kw_only is True):
        given = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if field.init and given != default:
            written = _written(given, depth + 1)
            arguments.append(f"{field.name}={written}" if field.kw_only else written)
    return _listed(f"{_name(value)}(", arguments, ")", depth)


def _listed(opening: str, items: list[str], closing: str, depth: int, *, single: str = "") -> str:
    """On one line where that is short, else an item a line."""
    line = f"{opening}{', '.join(items)}{single if len(items) == 1 else ''}{closing}"
    if len(line) + 4 * depth <= 100 and "\n" not in line:
        return line
    inner = "    " * (depth + 1)
    return f"{opening}\n" + "".join(f"{inner}{item},\n" for item in items) + "    " * depth + closing
