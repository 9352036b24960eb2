"""How a job's own script trains, as far as it says so: the defaults of its arguments, and what it gives to Trainer's class of arguments."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import yaml

from ..core.preflight import source
from ..core.preflight.spot import MODEL
from ..core.specs.job import HyperValue, JobSpec
from ..core.specs.json import Json
from ..core.specs.problems import Field, Line
from .parsers import called, constants, literal
from .sources import Programs, file_here, programs

# Classes of Trainer's arguments: these, and all whose names end so, as Seq2SeqTrainingArguments.
_ARGUMENTS = ("TrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "ORPOConfig", "RewardConfig")
_CLASSES = ("Arguments", "Config", "Trainer")
# Source: transformers 4.21 to 5.17, TrainingArguments; trl's classes inherit them.
_OF_TRAINER: Mapping[str, Json] = MappingProxyType({"per_device_train_batch_size": 8, "num_train_epochs": 3})
# What a script decides when it runs, as ``bf16=torch.cuda.is_bf16_supported()``: the names, and the words that ask the device.
DECIDED_LATER = "decided when it runs"
_HALVES = ("bf16", "fp16")
# Arguments that name a file of arguments: trl's and axolotl's.
_CONFIGURATIONS = frozenset({"config", "config_file", "config_path"})
_DEVICE = ("bf16_supported", "bf16_available", "device_capability")


class _Unknown:
    """A value that is not written out."""


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True)
class _Argument:
    """The value of an argument of the script: ``args.bf16``."""

    name: str


@dataclass(frozen=True, slots=True)
class Made:
    """A call that makes an object of a library: its class, its line, its keywords, their values, and from where it is imported."""

    name: str
    line: int
    values: Mapping[str, object]
    library: str
    whole: bool  # no ``**``

    @property
    def sets_trainer(self) -> bool:
        """Whether it is of Trainer's classes of arguments."""
        return self.name.endswith(_ARGUMENTS)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a Trainer, and where they stand: the job's hyperparameters, or a call in the script."""

    values: Mapping[str, object]
    where: Field | Line


def settings(job: JobSpec) -> Iterator[Settings]:
    """The settings of each Trainer: the job's hyperparameters where a parser makes its arguments, and those of each call.

    The script's own arguments stand there with what the job gives them, else with their defaults.
    """
    texts = programs(job)
    if any({"parse_args_into_dataclasses", "parse_args_and_config"} & source.methods(text) for _, text in texts):
        yield Settings(job.hyperparameters, Field("hyperparameters"))
    for file, text in texts:
        for made in objects(text):
            if made.sets_trainer and made.whole:
                yield Settings(_resolved(made, arguments_of(job)), Line(file, made.line))


def arguments_of(job: JobSpec) -> Mapping[str, Json]:
    """All arguments of training that the job's script has: those it is given, and below them those that it sets itself.

    A shipped script, and one that is not on this machine, sets none that are known here.
    """
    given = {name.replace("-", "_"): value for name, value in job.arguments.items()}  # as argparse does
    for named in _CONFIGURATIONS & given.keys():
        given = {**_in_file(source.text(file_here(job, str(given[named]))) or ""), **given}
    if job.script is None or job.script.source_dir is None:
        return given
    return _arguments(programs(job), json.dumps(given))


def _in_file(text: str) -> dict[str, HyperValue]:
    """The plain values of a YAML or JSON file of arguments, as PyYAML reads it for their parsers; none where it is neither."""
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError:
        return {}
    values = tree if isinstance(tree, dict) else {}
    return {str(name): value for name, value in values.items() if isinstance(value, (str, int, float, bool))}


@functools.lru_cache(maxsize=source.KEPT)
def _arguments(texts: Programs, given: str) -> Mapping[str, Json]:
    said: dict[str, Json] = json.loads(given)
    found: dict[str, Json] = {}
    for _, text in reversed(texts):  # the entry script's own word is the last
        found |= _defaults(text)
    found |= _by_prefix(found, said)
    trainers = [made for _, text in texts for made in objects(text) if made.sets_trainer]
    if len(trainers) == 1:
        found |= _of_trainer(trainers[0], {**found, **said})
    elif not trainers and any(_parsed(text) for _, text in texts):
        found = {**_OF_TRAINER, **found}
    return MappingProxyType({**found, **said})


def _of_trainer(made: Made, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """What a class of Trainer's arguments holds, as far as it is a plain value. What the call does not say is Trainer's default."""
    missing = {name: value for name, value in _OF_TRAINER.items() if made.whole and name not in made.values}
    if "max_steps" in made.values:
        missing.pop("num_train_epochs", None)
    plain: dict[str, Json] = {
        name: value for name, value in _resolved(made, arguments).items() if isinstance(value, (str, int, float, bool))
    }
    return {**missing, **plain}


def _resolved(made: Made, arguments: Mapping[str, Json]) -> dict[str, object]:
    """The values of a call with those of the script's own arguments in their place."""
    return {
        name: arguments.get(value.name, UNKNOWN) if isinstance(value, _Argument) else value
        for name, value in made.values.items()
    }


@functools.lru_cache(maxsize=source.KEPT)
def _defaults(text: str) -> dict[str, Json]:
    """Defaults of arguments of argparse, and of dataclasses that a parser fills, where they are plain values."""
    stated: dict[str, ast.expr] = {}
    for call in source.argument_calls(text):
        name = str(getattr(call.args[0], "value", "")).lstrip("-").replace("-", "_") if call.args else ""
        default = [word.value for word in call.keywords if word.arg == "default"]
        if name and default:
            stated[name] = default[0]
    for node in ast.walk(source.tree(text)):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(each) for each in node.decorator_list):
            stated |= _fields(node)
    names = constants(text)
    found = {name: _value(name, node, names, frozenset()) for name, node in stated.items()}
    return {name: value for name, value in found.items() if isinstance(value, (str, int, float, bool))}


def _fields(node: ast.ClassDef) -> dict[str, ast.expr]:
    """What the fields of a dataclass start with."""
    found: dict[str, ast.expr] = {}
    for line in node.body:
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name) or line.value is None:
            continue
        words = line.value.keywords if isinstance(line.value, ast.Call) and called(line.value) == "field" else None
        default = [line.value] if words is None else [word.value for word in words if word.arg == "default"]
        if default:
            found[line.target.id] = default[0]
    return found


def _by_prefix(given: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """What is given by the beginning of a name alone: argparse takes ``--max_seq_len`` for ``--max_seq_length``."""
    found: dict[str, Json] = {}
    for said, value in arguments.items():
        meant = [name for name in given if name.startswith(said)] if said not in given else []
        if len(meant) == 1:
            found[meant[0]] = value
    return found


def _parsed(text: str) -> bool:
    """Whether a program hands a class of Trainer's arguments to a parser."""
    return any(
        called(call).endswith("Parser") and any(name in ast.unparse(call) for name in _ARGUMENTS)
        for call in source.calls(text)
    )


@functools.lru_cache(maxsize=source.KEPT)
def objects(text: str) -> tuple[Made, ...]:
    """The calls of a program that may make a Trainer or its arguments."""
    libraries = {
        alias.name: (node.module or "").split(".")[0]
        for node in ast.walk(source.tree(text))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names, namespaces, derived = constants(text), _namespaces(text), _derived(text)
    found = []
    for call in source.calls(text):
        name = derived.get(called(call), called(call))
        if not name.endswith(_CLASSES):
            continue
        words = {word.arg: word.value for word in call.keywords if word.arg is not None}
        if call.args and name.endswith(_ARGUMENTS):
            words["output_dir"] = call.args[0]
        values = {each: _value(each, node, names, namespaces) for each, node in words.items()}
        whole = all(word.arg is not None for word in call.keywords)
        found.append(Made(name, call.lineno, values, libraries.get(name, ""), whole))
    return tuple(found)


def _derived(text: str) -> dict[str, str]:
    """The script's own classes that are made as their only base is, by name: those without an ``__init__`` of their own."""
    bases: dict[str, str] = {}
    for node in source.tree(text).body:
        if not isinstance(node, ast.ClassDef) or len(node.bases) != 1 or node.keywords or node.decorator_list:
            continue
        own = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        base = ast.unparse(node.bases[0]).rpartition(".")[2]
        if not own & {"__init__", "__new__"}:
            bases[node.name] = bases.get(base, base)
    return bases


def _namespaces(text: str) -> frozenset[str]:
    """The names to which a program binds what a parser returns."""
    return frozenset(
        target.id
        for node in ast.walk(source.tree(text))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and called(node.value).startswith("parse_")
        for each in node.targets
        for target in ast.walk(each)
        if isinstance(target, ast.Name)
    )


def _value(name: str, node: ast.expr, names: Mapping[str, object], namespaces: frozenset[str]) -> object:
    """A literal, an argument of the script, or UNKNOWN. ``name`` is what gets the value."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        held = node.value.id
        return _Argument(node.attr) if held in namespaces or held.endswith("args") else UNKNOWN
    if isinstance(node, ast.Call) and called(node) in {"int", "float", "bool"} and len(node.args) == 1:
        return _value(name, node.args[0], names, namespaces)
    try:
        value: object = literal(node, names)
    except ValueError:
        words = ast.unparse(node)
        if "SM_MODEL_DIR" in words:
            return MODEL
        return DECIDED_LATER if name in _HALVES and any(word in words for word in _DEVICE) else UNKNOWN
    return value


def true(value: object) -> bool:
    """Whether a setting is on, as a bool or as HfArgumentParser's text for it."""
    return value is True or str(value).lower() in {"true", "yes", "1"}
