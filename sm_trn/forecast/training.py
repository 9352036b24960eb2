"""How a job's own script trains, as far as it says so: the defaults of its arguments, and what it gives to Trainer's class of arguments."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from ..core.preflight import source
from ..core.preflight.spot import MODEL
from ..core.specs.job import JobSpec
from ..core.specs.json import Json
from ..scripts.programs import Programs, programs
from ..scripts.syntax import called, constants, is_literal, keyword, last_name, literal

# Classes of Trainer's arguments, and all whose names end so, as Seq2SeqTrainingArguments.
_ARGUMENTS = ("TrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "ORPOConfig", "RewardConfig")
_DEFAULTS: dict[str, Json] = {"per_device_train_batch_size": 8, "num_train_epochs": 3}  # transformers 4.21 to 5.17
_CONFIGURATIONS = (
    "config",
    "config_file",
    "config_path",
)  # arguments that name a file of arguments: trl's and axolotl's
# What a script decides when it runs, as ``bf16=torch.cuda.is_bf16_supported()``.
DECIDED_LATER = "decided when it runs"
_CODE, _CHANNELS = PurePosixPath("/opt/ml/code"), PurePosixPath("/opt/ml/input/data")
_DEVICE = ("bf16_supported", "bf16_available", "device_capability")


def arguments_of(job: JobSpec) -> Mapping[str, Json]:
    """All arguments of training that the job's script has: those it is given, and below them those that it sets itself.

    A shipped script, and one that is not on this machine, sets none that are known here.
    """
    given: dict[str, Json] = {
        name.replace("-", "_"): value for name, value in job.arguments.items()
    }  # as argparse does
    for name in _CONFIGURATIONS:
        if name in given:
            given = {**_in_file(source.text(file_here(job, str(given[name]))) or ""), **given}
    if job.script is None or job.script.source_dir is None:
        return given
    texts = programs(job)
    found = dict(_stated(texts))
    for name in given.keys() - found.keys():
        meant = [each for each in found if each.startswith(name)]
        found |= {meant[0]: given[name]} if len(meant) == 1 else {}  # argparse takes the beginning of a name
    trainers = _trainers(texts)
    if len(trainers) == 1:
        call, text = trainers[0]
        words = {str(each.arg): each.value for each in call.keywords}
        words |= dict(zip(["output_dir"], call.args, strict=False))
        missing = {name: value for name, value in _DEFAULTS.items() if {name, "None"}.isdisjoint(words)}  # None: ``**``
        if "max_steps" in words:
            missing.pop("num_train_epochs", None)
        found |= missing | _plain({name: _value(name, node, text, {**found, **given}) for name, node in words.items()})
    elif not trainers and any(_parses_arguments(text) for _, text in texts):
        found = _DEFAULTS | found
    return found | given


def _in_file(text: str) -> dict[str, Json]:
    """The plain values of a YAML or JSON file of arguments."""
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError:
        return {}
    return _plain(tree) if isinstance(tree, dict) else {}


def _plain(values: Mapping[Any, object]) -> dict[str, Json]:
    return {str(name): value for name, value in values.items() if isinstance(value, (str, int, float, bool))}


@functools.lru_cache(maxsize=source.KEPT)
def _stated(texts: Programs) -> Mapping[str, Json]:
    """Literal defaults of arguments of argparse, and of fields of dataclasses; the entry script's own word is the last."""
    found: dict[str, Json] = {}
    for _, text in reversed(texts):
        for name, default in _defaults(text):
            if default is not None:
                found |= _plain({name: _value(name, default, text, {})})
    return found


def _defaults(text: str) -> list[tuple[str, ast.expr | None]]:
    calls = [(getattr(call.args[0], "value", ""), call) for call in source.argument_calls(text) if call.args]
    defaults = [(str(name).lstrip("-").replace("-", "_"), keyword(call, "default")) for name, call in calls]
    for node in ast.walk(source.tree(text)):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(each) for each in node.decorator_list):
            for line in (each for each in node.body if isinstance(each, ast.AnnAssign)):
                field = line.value if isinstance(line.value, ast.Call) and called(line.value) == "field" else None
                defaults.append((ast.unparse(line.target), keyword(field, "default") if field else line.value))
    return defaults


def _parses_arguments(text: str) -> bool:
    """Whether a program hands a class of Trainer's arguments to a parser."""
    makers = [ast.unparse(call) for call in source.calls(text) if called(call).endswith("Parser")]
    return any(name in maker for maker in makers for name in _ARGUMENTS)


@functools.lru_cache(maxsize=source.KEPT)
def _trainers(texts: Programs) -> tuple[tuple[ast.Call, str], ...]:
    """The calls that make arguments of a Trainer, also by the script's own classes without an ``__init__``, and their programs."""
    bases = {
        node.name: last_name(node.bases[0])
        for _, text in texts
        for node in source.tree(text).body
        if isinstance(node, ast.ClassDef) and len(node.bases) == 1 and "__init__" not in ast.unparse(node)
    }
    calls = [(call, text) for _, text in texts for call in source.calls(text)]
    return tuple((call, text) for call, text in calls if bases.get(called(call), called(call)).endswith(_ARGUMENTS))


def _value(name: str, node: ast.expr, text: str, arguments: Mapping[str, Json]) -> object:
    """A literal, or the value of an argument of the script; None for anything else. ``name`` is what gets the value."""
    words = ast.unparse(node)
    if isinstance(node, ast.Call) and called(node) in {"int", "float", "bool"} and len(node.args) == 1:
        return _value(name, node.args[0], text, arguments)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        parsed = node.value.id in _namespaces(text) or node.value.id.endswith("args")
        return arguments.get(node.attr) if parsed else None
    if "SM_MODEL_DIR" in words:
        return MODEL
    if name in {"bf16", "fp16"} and any(word in words for word in _DEVICE):
        return DECIDED_LATER
    return literal(node, constants(text)) if is_literal(node, constants(text)) else None


@functools.lru_cache(maxsize=source.KEPT)
def _namespaces(text: str) -> frozenset[str]:
    """The names to which a program binds what a parser returns."""
    targets = [
        target
        for node in ast.walk(source.tree(text))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and called(node.value).startswith("parse_")
        for target in node.targets
    ]
    return frozenset(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))


def file_here(job: JobSpec, path: str) -> Path | None:
    """The file of this machine that a job finds at ``path``: in its source folder or in a channel; None where it lies elsewhere."""
    folder, inside = source.source_folder(job), PurePosixPath(path)
    if inside.is_relative_to(_CHANNELS) and len(inside.parts) > len(_CHANNELS.parts) + 1:
        name, *rest = inside.relative_to(_CHANNELS).parts
        uri = str(job.channels[name].uri) if name in job.channels else "://"
        return None if "://" in uri else Path(uri, *rest)
    if inside.is_relative_to(_CODE):
        inside = inside.relative_to(_CODE)
    return None if folder is None or inside.is_absolute() else folder / inside
