"""Modules that stand in for a package that is not here, for as long as a test needs them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def module(name: str, content: dict[str, Any]) -> ModuleType:
    """A module, and a package, that holds ``content``."""
    made = ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    made.__path__ = []
    made.__dict__.update(content)
    return made


@contextlib.contextmanager
def standing_in(package: str, modules: Iterable[ModuleType]) -> Iterator[None]:
    """``modules`` are all that can be imported of ``package``; what was loaded of it comes back."""
    ours = {each.__name__: each for each in modules}
    hidden = {name: each for name, each in sys.modules.items() if name.split(".")[0] == package}
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del sys.modules[name]
        sys.modules.update(hidden)
