"""What SageMaker's Debugger is asked for: tensors to save, rules to evaluate, how often machines are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType

from .value import suggesting


@suggesting
@dataclass(frozen=True, slots=True)
class TensorCollection:
    """Tensors that the debugger hook saves together, and how often: a ``CollectionConfiguration``.

    >>> st.specs.TensorCollection("losses", parameters={"save_interval": "500"}).name
    'losses'
    """

    name: str
    _: KW_ONLY
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class DebugHook:
    """What the debugger hook saves: ``DebugHookConfig``. ``s3_uri`` None is where the job's output goes.

    >>> st.specs.DebugHook(collections=(st.specs.TensorCollection("gradients"),)).s3_uri is None
    True
    """

    s3_uri: str | None = None
    local_path: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    collections: tuple[TensorCollection, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "collections", tuple(self.collections))
        if any(self.collections.count(each) > 1 for each in self.collections):
            raise ValueError("collections: got one twice, wanted each once: SDK v2 sends it once")


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class DebugRule:
    """A rule that is evaluated while the job runs: a ``DebugRuleConfiguration`` or a ``ProfilerRuleConfiguration``.

    ``image_uri`` is the evaluator: AWS's of the job's region, or one of your own, which runs on ``instance`` and is billed.

    >>> rule = st.specs.DebugRule(
    ...     name="LossNotDecreasing",
    ...     image_uri="895741380848.dkr.ecr.us-west-2.amazonaws.com/sagemaker-debugger-rules:latest",
    ...     parameters={"rule_to_invoke": "LossNotDecreasing"},
    ... )
    >>> rule.instance is None
    True
    """

    name: str
    image_uri: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    instance: str | None = None
    volume_gb: int | None = None
    s3_uri: str | None = None
    local_path: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Profiling:
    """How machines are measured: ``ProfilerConfig``. ``interval_ms`` None is AWS's own; ``s3_uri`` None is where the output goes.

    ``parameters`` are what is captured of the framework: ``ProfilingParameters``.

    >>> st.specs.Profiling(interval_ms=1000).s3_uri is None
    True
    """

    interval_ms: int | None = None
    s3_uri: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
