"""The rules of the debugger and of the profiler that an estimator is given.

Source: sagemaker 2.257.7, debugger/debugger.py, ``Rule`` and ``ProfilerRule``; estimator.py, ``_prepare_debugger_rules``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ....core import fields
from ....core.catalog import debugger
from ....core.errors import UnknownName
from ....core.specs.debugging import DebugRule, TensorCollection
from ....core.specs.json import Json
from ..values import Cause, Instance, Place, Reason, causes_in
from .asked import Asked
from .words import collection, given


@dataclass(slots=True)
class Rules:
    """What the rules add to a request: their own two lists, and the tensors that they need."""

    debug: list[dict[str, Json]] = field(default_factory=list)
    profiler: list[dict[str, Json]] = field(default_factory=list)
    collections: list[dict[str, Json]] = field(default_factory=list)

    def sent(self) -> dict[str, Json]:
        """The two lists as members of the request."""
        return given(DebugRuleConfigurations=self.debug or None, ProfilerRuleConfigurations=self.profiler or None)


_OBJECTS: Final = frozenset({"base_config", "collections_to_save", "actions"})


def rules(asked: Asked) -> Rules:
    """Return what the argument ``rules`` makes known. The rest is noted in the ledger."""
    found, listed = Rules(), asked.raw.get("rules")
    if listed is None:
        return found
    if not isinstance(listed, (list, tuple)):
        asked.ledger.plain(listed)
        listed = []
    for item in listed:
        if not isinstance(item, Instance) or "." not in item.cls:
            asked.ledger.lacks(*causes_in(item))
            _lacks(asked, asked.site.place, "an item that is no rule")
        else:
            _add(asked, item, found)
    return found


def _add(asked: Asked, item: Instance, found: Rules) -> None:
    cls, _, maker = item.cls.partition(".")
    if item.arguments.get("actions") is not None:
        _lacks(asked, item.place, "actions of a rule")
    said = {name: asked.ledger.plain(value) for name, value in item.arguments.items() if name not in _OBJECTS}
    needed = asked.collections(item.arguments.get("collections_to_save"))
    if maker == "sagemaker":
        base = item.arguments.get("base_config")
        known = _built_in(asked, base, item)
        if known is None or not isinstance(base, Instance):
            return
        rule, tensors = known
        own = {name: asked.ledger.plain(value) for name, value in base.arguments.items() if name}
        said |= {
            "name": said.get("name") or rule.name,
            "image_uri": rule.image_uri,
            "instance_type": None,
            "volume_size_in_gb": None,
        }
        said["rule_parameters"] = {**rule.parameters, **own, **_parameters(asked, said, item)}
        needed = needed or [collection(each.name, dict(each.parameters)) for each in tensors]
    if cls == "Rule":
        found.collections += needed
    (found.debug if cls == "Rule" else found.profiler).append(_row(asked, said, item))


def _built_in(asked: Asked, base: object, item: Instance) -> tuple[DebugRule, tuple[TensorCollection, ...]] | None:
    """A rule of ``rule_configs``; None where no table has it."""
    if not isinstance(base, Instance) or base.cls != "rule_configs":
        asked.ledger.plain(base)
        _lacks(asked, item.place, "a rule whose configuration is not one of rule_configs")
        return None
    function = str(base.arguments[""])
    try:
        known = debugger.rule(function, asked.region)
    except UnknownName as error:
        _lacks(asked, item.place, str(error))
        return None
    if known is None:
        _lacks(asked, item.place, f"no table has rule_configs.{function}")
    return known


def _parameters(asked: Asked, rule: Mapping[str, Json], item: Instance) -> Mapping[str, Json]:
    found = rule.get("rule_parameters") or {}
    if isinstance(found, Mapping):
        return found
    _lacks(asked, item.place, "parameters that are no mapping")
    return {}


def _row(asked: Asked, rule: Mapping[str, Json], item: Instance) -> dict[str, Json]:
    trials = rule.get("other_trials_s3_input_paths")
    others = {f"other_trial_{index}": uri for index, uri in enumerate(trials)} if isinstance(trials, list) else {}
    named = given(source_s3_uri=rule.get("source") or None, rule_to_invoke=rule.get("rule_to_invoke") or None)
    parameters: dict[str, Json] = {**others, **named, **_parameters(asked, rule, item)}
    if item.cls.startswith("ProfilerRule"):
        parameters = {name: str(value) for name, value in parameters.items()}
    else:
        parameters.pop("action_json", None)  # the SDK writes it itself, of actions alone
    if not str(parameters.get("source_s3_uri", "s3://")).startswith("s3://"):
        _lacks(asked, item.place, "a rule's own source is uploaded under a name that only the upload knows")
    said = {name: value for name, value in {**rule, "rule_parameters": parameters}.items() if value}
    return fields.translate(fields.RULE, said, "v2", "request")


def _lacks(asked: Asked, place: Place, detail: str) -> None:
    asked.ledger.lacks(Cause(Reason.VALUE, place, "rules=[…]", give="rules", detail=detail))
