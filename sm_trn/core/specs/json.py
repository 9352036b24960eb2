"""The values that a JSON text can hold: requests, answers, hyperparameters, job files. Nothing is known of their meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, Union

Json: TypeAlias = Union[bool, int, float, str, "Sequence[Json]", "Mapping[str, Json]", None]
Object: TypeAlias = Mapping[str, Json]
NOTHING: Mapping[str, Any] = MappingProxyType({})
