"""What a job's own script says of its training where no hyperparameter does: defaults of its arguments, and what it gives to Trainer."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Mapping
from types import MappingProxyType

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.json import Json
from .parsers import called
from .sources import Programs, programs

# What an expression of the script decides when it runs, such as ``bf16=torch.cuda.is_bf16_supported()``.
DECIDED_LATER = "decided when it runs"
MODEL_FOLDER = ("SM_MODEL_DIR", "/opt/ml/model")  # the variable in which the toolkit names it, and what it says
# Classes of Trainer's arguments: these, and all whose names end as transformers' own does.
_CLASSES = ("TrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "ORPOConfig", "RewardConfig")
# Source: transformers 4.21 to 5.17, TrainingArguments; trl's classes inherit them.
_OF_TRAINER: Mapping[str, Json] = MappingProxyType({"per_device_train_batch_size": 8, "num_train_epochs": 3})


def arguments_of(job: JobSpec) -> Mapping[str, Json]:
    """All arguments of training that the job's script has: those it is given, and below them those that it sets itself.

    A shipped script, and one that is not on this machine, sets none that are known here.
    """
    given = job.arguments
    if job.script is None or job.script.source_dir is None:
        return given
    return _arguments(programs(job), json.dumps(dict(given)))


@functools.lru_cache(maxsize=source.KEPT)
def _arguments(texts: Programs, given: str) -> Mapping[str, Json]:
    said: dict[str, Json] = json.loads(given)
    found: dict[str, Json] = {}
    for _, text in reversed(texts):  # the entry script's own word is the last
        found |= _defaults(text)
    found |= _by_prefix(found, said)
    calls = [call for _, text in texts for call in source.calls(text) if _of_trainer(call)]
    if len(calls) == 1:
        found |= _given(calls[0], {**found, **said})
    elif not calls and any(_parsed(text) for _, text in texts):
        found = {**_OF_TRAINER, **found}
    return MappingProxyType({**found, **said})


@functools.lru_cache(maxsize=source.KEPT)
def _defaults(text: str) -> dict[str, Json]:
    """Defaults of arguments of argparse, and of dataclasses that a parser fills."""
    found: dict[str, Json] = {}
    for call in source.argument_calls(text):
        given = next((word.value for word in call.keywords if word.arg == "default"), None)
        name = str(getattr(call.args[0], "value", "")).lstrip("-").replace("-", "_") if call.args else ""
        value = None if given is None else _value(given, {})
        if name and value is not None:
            found[name] = value
    for node in ast.walk(source.tree(text)):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(each) for each in node.decorator_list):
            found |= _fields(node)
    return found


def _fields(node: ast.ClassDef) -> dict[str, Json]:
    """The fields of a dataclass that start with a literal."""
    found: dict[str, Json] = {}
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            value = _default_of(line.value)
            if value is not None:
                found[line.target.id] = value
    return found


def _default_of(node: ast.expr | None) -> str | int | float | bool | None:
    """The literal that a field of a dataclass starts with."""
    if isinstance(node, ast.Call) and called(node) == "field":
        node = next((word.value for word in node.keywords if word.arg == "default"), None)
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (str, int, float, bool)) else None


def _by_prefix(given: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """What is given by the beginning of a name alone: argparse takes ``--max_seq_len`` for ``--max_seq_length``."""
    found: dict[str, Json] = {}
    for said, value in arguments.items():
        meant = [name for name in given if name.startswith(said)] if said not in given else []
        if len(meant) == 1:
            found[meant[0]] = value
    return found


def _of_trainer(call: ast.Call) -> bool:
    return called(call).endswith(_CLASSES)


def _parsed(text: str) -> bool:
    """Whether a program hands a class of Trainer's arguments to a parser."""
    return any(
        called(call).endswith("Parser") and any(name in ast.unparse(call) for name in _CLASSES)
        for call in source.calls(text)
    )


def _given(call: ast.Call, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """What the class of Trainer's arguments gets: literals, and arguments of the script. What it does not get is Trainer's default."""
    words = {word.arg: word.value for word in call.keywords if word.arg is not None}
    if call.args:
        words["output_dir"] = call.args[0]
    found: dict[str, Json] = {
        name: value for name, node in words.items() if (value := _value(node, arguments)) is not None
    }
    if len(words) - len(call.args[:1]) < len(call.keywords):  # **words may hold any
        return found
    unsaid = {name for name in _OF_TRAINER if name not in words} - (
        {"num_train_epochs"} if "max_steps" in words else set()
    )
    return {**{name: _OF_TRAINER[name] for name in unsaid}, **found}


def _value(node: ast.expr, arguments: Mapping[str, Json]) -> Json:
    """A literal, the value of ``args.name``, or None where it cannot be told."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (str, int, float, bool)) else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return arguments.get(node.attr)
    if isinstance(node, ast.Call) and called(node) in {"int", "float", "bool"} and len(node.args) == 1:
        return _value(node.args[0], arguments)
    if MODEL_FOLDER[0] in ast.unparse(node):
        return MODEL_FOLDER[1]
    return DECIDED_LATER if _by_device(node) else None


def _by_device(node: ast.expr) -> bool:
    """Whether an expression asks the device what it can."""
    return not isinstance(node, ast.Constant) and any(
        word in ast.unparse(node) for word in ("bf16_supported", "device_capability", "bf16_available")
    )
