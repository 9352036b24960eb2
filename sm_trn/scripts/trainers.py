"""What transformers and trl refuse when their objects are made: names that a release lacks, settings that exclude each other."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Line, Problem, rules_of
from ..core.specs.value import suggestion
from .fields import Fields, library_class
from .parsers import called, constants, literal
from .sources import programs, releases_of

_RULES = rules_of(__package__)
SCRIPT017 = _RULES["SCRIPT017"]
SCRIPT018 = _RULES["SCRIPT018"]

_ARGUMENTS = (
    "TrainingArguments",
    "Seq2SeqTrainingArguments",
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
    "KTOConfig",
    "ORPOConfig",
    "RewardConfig",
)
_CLASSES = ("Arguments", "Config", "Trainer")
_STEPS = 500  # eval_steps and save_steps where nothing is said: eval_steps is then logging_steps, which is 500 too


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a Trainer, and where they stand: the job's hyperparameters, or a call in the script."""

    values: Mapping[str, object]
    where: Field | Line


@dataclass(frozen=True, slots=True)
class Made:
    """A call that makes an object of a library: its class, its line, its keywords, their values, and from where it is imported."""

    name: str
    line: int
    values: Mapping[str, object]
    library: str
    written: bool  # no ``**``


@functools.lru_cache(maxsize=source.KEPT)
def _objects(text: str) -> tuple[Made, ...]:
    """The calls of a program that may make a Trainer or its arguments."""
    libraries = {
        alias.name: (node.module or "").split(".")[0]
        for node in ast.walk(source.tree(text))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = constants(text)
    return tuple(
        Made(
            called(call),
            call.lineno,
            {word.arg: _value(word.value, names) for word in call.keywords if word.arg is not None},
            libraries.get(called(call), ""),
            all(word.arg is not None for word in call.keywords),
        )
        for call in source.calls(text)
        if called(call).endswith(_CLASSES)
    )


def unknown_names(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT017: a dataclass's ``__init__`` ends with a TypeError at a name that it does not have."""
    releases = {library: at for library, at in releases_of(job) if at is not None}
    for file, text in programs(job) if releases else ():
        for made in _objects(text):
            known = library_class(made.library, made.name, releases[made.library]) if made.library in releases else None
            names = _names(known, releases) if known is not None else None
            for name in made.values.keys() - names if names is not None else ():
                yield SCRIPT017.problem(
                    Line(file, made.line),
                    f"{made.name} of {made.library} {releases[made.library]} takes no {name}",
                    got=name,
                    wanted="a name that this release has",
                    fix=Advice(
                        f"correct the name{suggestion(name, names or ())}, or ask for another release in requirements.txt"
                    ),
                )


def _names(found: Fields, releases: Mapping[str, str]) -> frozenset[str] | None:
    """The names that a class takes, with those of its bases; None where one takes any, or is not known."""
    names = frozenset(found.own)
    for base in found.bases:
        known = (library_class(library, base, at) for library, at in releases.items())
        above = next((each for each in known if each is not None), None)
        more = _names(above, releases) if above is not None else None
        if more is None:
            return None
        names |= more
    return None if found.open else names


def settings(job: JobSpec) -> Iterator[Settings]:
    """The settings of each Trainer: the job's hyperparameters where a parser makes its arguments, and the literals of each call."""
    texts = programs(job)
    if any(_parses_dataclasses(text) for _, text in texts):
        yield Settings(job.hyperparameters, Field("hyperparameters"))
    for file, text in texts:
        for made in _objects(text):
            if made.name in _ARGUMENTS and made.written:
                yield Settings(_given(made.values, job), Line(file, made.line))


def _given(values: Mapping[str, object], job: JobSpec) -> dict[str, object]:
    """Settings with the values of the script's own arguments in their place: what the job gives, else their defaults."""
    from .written import arguments_of  # noqa: PLC0415 - only a script that trains by Trainer needs its defaults

    arguments = arguments_of(job)
    return {
        name: arguments.get(value.name, UNKNOWN) if isinstance(value, _Argument) else value
        for name, value in values.items()
    }


@functools.lru_cache(maxsize=source.KEPT)
def _parses_dataclasses(text: str) -> bool:
    return bool({"parse_args_into_dataclasses", "parse_args_and_config"} & source.methods(text))


class _Unknown:
    """A value that is not written out."""


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True)
class _Argument:
    """The value of an argument of the script: ``args.bf16``."""

    name: str


def _value(node: ast.expr, names: Mapping[str, object]) -> object:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id.endswith("args"):
        return _Argument(node.attr)
    try:
        value: object = literal(node, names)
    except ValueError:
        return UNKNOWN
    return value


def true(value: object) -> bool:
    """Whether a setting is on, as a bool or as HfArgumentParser's text for it."""
    return value is True or str(value).lower() in {"true", "yes", "1"}


def contradictions(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT018: TrainingArguments refuses fp16 with bf16, and a best model without an evaluation for each save."""
    for each in settings(job):
        values = each.values
        if true(values.get("fp16")) and true(values.get("bf16")):
            yield SCRIPT018.problem(
                each.where,
                "at most one of fp16 and bf16 can be on",
                got="fp16 and bf16",
                fix=Advice("leave one of them out"),
                evidence="transformers 4.49.0, TrainingArguments.__post_init__",
            )
        if true(values.get("load_best_model_at_end")) and UNKNOWN not in values.values() and (said := _no_best(values)):
            yield SCRIPT018.problem(
                each.where,
                f"load_best_model_at_end needs an evaluation for each save: {said}",
                got=said,
                wanted="the same strategy for both, and save_steps a multiple of eval_steps",
                fix=Advice("give eval_strategy and save_strategy the same value"),
                evidence="transformers 4.49.0, TrainingArguments.__post_init__",
            )


def deepspeed(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT018: the Trainer refuses a DeepSpeed file whose precision is not its own."""
    folder = source.source_folder(job)
    for each in settings(job) if folder is not None else ():
        path = each.values.get("deepspeed")
        text = source.text(folder / path) if folder is not None and isinstance(path, str) and "\n" not in path else None
        try:
            said = json.loads(text) if text else {}
        except ValueError:
            continue
        for ours, other in (("bf16", "fp16"), ("fp16", "bf16")):
            precision = said.get(other) if isinstance(said, dict) else None
            if isinstance(precision, dict) and precision.get("enabled") is True and true(each.values.get(ours)):
                yield SCRIPT018.problem(
                    each.where,
                    f"{path} turns {other} on, and the Trainer {ours}",
                    got=f"{other} and {ours}",
                    wanted=f'"enabled": "auto" for {other}, or {ours} left out',
                    fix=Advice('say "auto" in the DeepSpeed file'),
                    evidence="transformers 4.49.0, integrations/deepspeed.py, HfTrainerDeepSpeedConfig.trainer_config_process",
                )


def _no_best(values: Mapping[str, object]) -> str:
    """What keeps the best model from being found; empty where nothing does."""
    evaluates = str(values.get("eval_strategy", values.get("evaluation_strategy", "no")))
    if "eval_steps" in values and evaluates == "no" and true(values.get("do_eval")):
        return ""  # older releases turn the evaluation on by themselves
    saves = str(values.get("save_strategy", "steps"))
    if saves == "best":
        return ""
    if evaluates != saves:
        return f"eval_strategy {evaluates!r} and save_strategy {saves!r}"
    each, every = _number(values.get("eval_steps", _STEPS)), _number(values.get("save_steps", _STEPS))
    if evaluates == "steps" and each and every and each >= 1 and every >= 1 and every % each:
        return f"eval_steps {each:g} and save_steps {every:g}"
    return ""


def _number(value: object) -> float:
    """The number that a setting is; 0 where it is none."""
    try:
        return float(str(value))
    except ValueError:
        return 0.0


RULES = (unknown_names, contradictions, deepspeed)
