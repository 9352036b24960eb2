"""What transformers and trl refuse when their objects are made: names that a release lacks, settings that exclude each other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Line, Problem, rules_of
from ..core.specs.value import suggestion
from .fields import Fields, library_class
from .sources import programs, releases_of
from .training import UNKNOWN, objects, settings, true

_RULES = rules_of(__package__)
SCRIPT017 = _RULES["SCRIPT017"]
SCRIPT018 = _RULES["SCRIPT018"]

_STEPS = 500  # eval_steps and save_steps where nothing is said: eval_steps is then logging_steps, which is 500 too


def unknown_names(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT017: a dataclass's ``__init__`` ends with a TypeError at a name that it does not have."""
    releases = {library: at for library, at in releases_of(job) if at is not None}
    for file, text in programs(job) if releases else ():
        for made in objects(text):
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
