"""How a mistyped field is answered: with the field that was meant. Knows nothing of jobs."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The known name closest to ``word`` as `` (did you mean …?)``, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def suggesting(cls: type[T]) -> type[T]:
    """Make the dataclass ``cls`` refuse unknown fields with a TypeError that names the nearest one."""
    accepts = [field.name for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]  # always a dataclass
    original = cls.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the class's own
        unknown = [name for name in kwargs if name not in accepts]
        if unknown:
            hints = ", ".join(f"{name!r}{suggestion(name, accepts)}" for name in unknown)
            raise TypeError(f"{cls.__name__}: unknown field {hints}; fields are {', '.join(accepts)}")
        original(self, *args, **kwargs)

    cls.__init__ = __init__  # type: ignore[method-assign]  # same call, clearer refusal
    return cls
