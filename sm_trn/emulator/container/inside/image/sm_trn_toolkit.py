"""This program runs the training toolkit, and loads what only the runners of MPI and SMDDP use when they use it.

Neither runs on an emulated host, and to load their parts is half of what the toolkit takes before a script begins.
"""

from __future__ import annotations

import importlib
import runpy
import sys
import types
from typing import Any

_SELDOM = ("paramiko", "psutil")


def load_when_used(name: str) -> None:
    """Let ``import name`` give a module that becomes the real one when something of it is asked for."""
    stand_in = types.ModuleType(name)

    def attribute(wanted: str) -> Any:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(importlib.import_module(name), wanted)

    stand_in.__getattr__ = attribute  # type: ignore[method-assign]  # PEP 562
    sys.modules[name] = stand_in


if __name__ == "__main__":
    for name in _SELDOM:
        load_when_used(name)
    runpy.run_module("sagemaker_training.cli.train", run_name="__main__", alter_sys=True)
