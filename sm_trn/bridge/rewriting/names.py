"""What the program calls the things of an SDK: which names of SDK v2 it uses, and what they are called in SDK v3."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .pieces import WIDTH

# Modules that have another name, or another place, than below sagemaker.core. Whether the name is there is asked of the SDK.
_MOVED: Final[Mapping[str, str]] = {
    "sagemaker.session": "sagemaker.core.helper.session_helper",
    "sagemaker.utils": "sagemaker.core.common_utils",
    "sagemaker.instance_group.InstanceGroup": "sagemaker.core.training.configs.InstanceGroup",
    "sagemaker": "sagemaker.core",
}


def moved(home: str) -> str:
    """Where SDK v3 would have what is at ``home`` in SDK v2.

    >>> moved("sagemaker.utils.name_from_base")
    'sagemaker.core.common_utils.name_from_base'
    """
    words = home.split(".")
    for end in range(len(words), 0, -1):
        above = ".".join(words[:end])
        if above in _MOVED:
            return ".".join([_MOVED[above], *words[end:]])
    return home


_STAMP: Final = re.compile(r"-(\d{4}(-\d\d){5}-\d{3}|\d{14})$")


def base_name(name: str) -> str:
    """What a job's name begins with, before the time stamp of an SDK.

    >>> base_name("bert-2026-11-20-16-15-23-990")
    'bert'
    """
    return _STAMP.sub("", name)


class Imports:
    """The imports that the new program needs, and what it calls each. ``taken`` are the names that stand for something else."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._names: dict[str, str] = {}
        self._lines: dict[tuple[str, str, str], None] = {}

    def name(self, path: str) -> str:
        """What ``path`` is called in the program: a class by its name, a function by its module's and its own."""
        module, _, last = path.rpartition(".")
        if not module:
            return self._import("", path)
        if last[:1].islower() and module.rpartition(".")[2] == "image_uris":
            return f"{self.name(module)}.{last}"
        return self._import(module, last)

    def _import(self, module: str, last: str) -> str:
        path = f"{module}.{last}"
        if path not in self._names:
            local = f"sagemaker_{last}" if last in self._taken else last
            self._names[path] = local
            self._lines[module, last, local] = None
            self._taken.add(local)
        return self._names[path]

    def keep(self, local: str, path: str) -> None:
        """Go on calling ``path`` by the name that the program has for it."""
        module, _, last = path.rpartition(".")
        self._names.setdefault(path, local)
        self._lines[module, last, local] = None
        self._taken.add(local)

    def statements(self) -> list[str]:
        """The import statements, sorted."""
        by_module: dict[str, list[str]] = {}
        for module, last, local in self._lines:
            by_module.setdefault(module, []).append(last if last == local else f"{last} as {local}")
        plain = [f"import {each}" for each in sorted(by_module.pop("", ()))]
        return plain + [_from(module, sorted(by_module[module])) for module in sorted(by_module)]


def _from(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    return (
        line if len(line) <= WIDTH else f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
    )
