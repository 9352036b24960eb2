"""A call of an SDK's class as plain data, and how it prints as source. Must not know which SDK, nor import one."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .. import _entry
from ..specs.json import NOTHING


class Expression(str):
    """Python source that stands for a value: a name of the program that the call is written into."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorCall:
    """``cls(**kwargs)``, then every method of ``chain``, then ``.method(**fit)`` – or nothing, where ``method`` is ''.
    ``maker`` names a method of the class that makes the object: ``cls.maker(**kwargs)``.

    A value inside any of them may be such a call itself; of that, only the object counts.

    >>> st.render(job, "estimator-v2").kwargs["instance_count"]
    1
    """

    cls: str
    kwargs: Mapping[str, Any]
    chain: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NOTHING)
    method: str = "fit"
    fit: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    maker: str = ""

    def __str__(self) -> str:
        """The call as Python source that can be pasted."""
        imports, made, started = self.statements(_VARIABLES.get(self.method or self.maker, "trainer"))
        return f"{imports}\n\n{made}\n{started}"

    def statements(self, variable: str) -> tuple[str, str, str]:
        """The imports, the statement that assigns the object to ``variable`` with the calls of its chain, and the last call."""
        maker = _maker(self)
        arguments = "".join(f"    {key}={_source(value)},\n" for key, value in self.kwargs.items())
        chained = "".join(f"\n{variable}.{method}({_arguments(kwargs)})" for method, kwargs in self.chain.items())
        made = f"{variable} = {maker}(\n{arguments}){chained}"
        return _imports(self), made, f"{variable}.{self.method}({_arguments(self.fit)})" if self.method else ""


def with_objects(tree: Mapping[str, Any], classes: Callable[[str], str | None]) -> dict[str, Any]:
    """The tree with calls in the place of its parts. ``classes`` names the class of the part under a key; None leaves a dict."""
    return {key: _with_object(value, classes(key), classes) for key, value in tree.items()}


def _with_object(value: Any, cls: str | None, classes: Callable[[str], str | None]) -> Any:
    if isinstance(value, list):
        return [_with_object(item, cls, classes) for item in value]
    if cls is None or not isinstance(value, Mapping):
        return value
    return EstimatorCall(cls=cls, kwargs=MappingProxyType(with_objects(value, classes)), method="")


_VARIABLES = {"fit": "estimator", "deploy": "model", "create": "training_job"}


def _maker(call: EstimatorCall) -> str:
    return f"{_name(call)}.{call.maker}" if call.maker else _name(call)


def _name(call: EstimatorCall) -> str:
    return call.cls.rpartition(".")[2]


def _imports(call: EstimatorCall) -> str:
    names: dict[str, set[str]] = collections.defaultdict(set)
    if any(_below_the_scripts(value) is not None for value in (*call.kwargs.values(), *call.fit.values())):
        names["sm_trn"].add("scripts_folder")
    for made in _calls(call):
        module, _, name = made.cls.rpartition(".")
        names[module].add(name)
    return "\n".join(f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names))


def _calls(value: Any) -> Iterator[EstimatorCall]:
    if isinstance(value, EstimatorCall):
        yield value
        value = [value.kwargs, value.chain, value.fit]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _calls(item)


def _arguments(kwargs: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={_source(value)}" for key, value in kwargs.items())


def _source(value: Any) -> str:
    if isinstance(value, Expression):
        return str.__str__(value)
    if isinstance(value, EstimatorCall):
        return f"{_maker(value)}({_arguments(value.kwargs)})"
    if isinstance(value, list):
        return f"[{', '.join(map(_source, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_source(item)}" for key, item in value.items()) + "}"
    if (below := _below_the_scripts(value)) is not None:
        return f"str(scripts_folder() / {below!r})" if below else "str(scripts_folder())"
    return repr(value)


def _below_the_scripts(value: Any) -> str | None:
    """The path of a shipped script below their folder, whose own place differs from machine to machine; None for all else."""
    folder = str(_entry.scripts_folder())
    if not isinstance(value, str) or (value != folder and not value.startswith(folder + os.sep)):
        return None
    return value[len(folder) + 1 :]
