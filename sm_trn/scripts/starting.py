"""What ends a script as it begins, though each of its lines is right: a file that is not in its source, workers that share a model,
more GPUs than there are, data without a length, a hub that wants a token.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from ..core.catalog.instances import find_instances
from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.launch import Runner
from ..core.specs.problems import Advice, Line, Problem, rules_of
from ..core.strategies import plan
from .parsers import called, unconditional
from .reads import defaults
from .sources import Programs, programs
from .training import UNKNOWN, settings, true

_RULES = rules_of(__package__)
SCRIPT021 = _RULES["SCRIPT021"]
SCRIPT022 = _RULES["SCRIPT022"]

_FILES = ("deepspeed", "fsdp_config", "accelerator_config")  # settings of the Trainer that name a file
_TEXTS = (".json", ".yaml", ".yml", ".toml", ".cfg", ".ini")
_TOKENS = re.compile(r"HF_TOKEN|HUGGING_?FACE_HUB_TOKEN|HF_HOME|login\(|save_token|hub_token|use_auth_token|token=")


def files(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT021: a file of settings that the Trainer or the script opens, and that source_dir does not hold."""
    folder, texts = source.source_folder(job), programs(job)
    if folder is None or job.script is None or job.script.source_dir is None or job.script.dependencies:
        return
    if any("chdir" in text for _, text in texts):
        return
    named = [(each.values.get(name), each.where) for each in settings(job) for name in _FILES]
    named += [
        (job.arguments.get(argument, default), Line(file, line))
        for file, text in texts
        for argument, default, line in _opened(text)
    ]
    for path, where in dict.fromkeys((value, where) for value, where in named if isinstance(value, str)):
        here = path.endswith(_TEXTS) and not path.startswith(("/", "~")) and "://" not in path and "{" not in path
        if here and not (folder / path).exists() and not _written(texts, path):
            yield SCRIPT021.problem(
                where,
                f"{path} is not in the source",
                got=f"no such file in {str(folder)!r}",
                wanted="a file inside source_dir, by its path from there",
                fix=Advice("put it into source_dir, or correct the path"),
            )


@functools.lru_cache(maxsize=source.KEPT)
def _opened(text: str) -> tuple[tuple[str, object, int], ...]:
    """The arguments whose files a program opens under no condition: their names, defaults and lines."""
    given = defaults(text)
    return tuple(
        (word.attr, given[word.attr], node.lineno)
        for node in unconditional(source.tree(text))
        if isinstance(node, ast.Call) and called(node) == "open" and len(node.args) == 1 and not node.keywords
        for word in node.args
        if isinstance(word, ast.Attribute) and word.attr in given
    )


def _written(texts: Programs, path: str) -> bool:
    """Whether a program may make the file itself: it names it beside something that writes."""
    name = Path(path).name
    return any(name in text and re.search(r"dump\(|write|save|copy|download", text) for _, text in texts)


def beginnings(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT022: what a Trainer, Accelerate or Lightning refuses before its first step."""
    texts = programs(job)
    for file, text in texts:
        yield from _shared_model(job, file, text)
        yield from _devices(job, file, text)
        yield from _endless(job, file, text)
    token = any(_TOKENS.search(text) for _, text in texts) or any(map(_TOKENS.search, job.environment))
    for each in settings(job):
        if true(each.values.get("push_to_hub")) and not token and "hub_token" not in each.values:
            yield SCRIPT022.problem(
                each.where,
                "push_to_hub needs a token of the hub",
                got="no HF_TOKEN in environment, and no login in the script",
                wanted="HF_TOKEN in environment",
                fix=Advice("add HF_TOKEN to environment, or leave push_to_hub out"),
            )


def _sure(text: str, *names: str) -> list[ast.Call]:
    """The calls of these names under no condition."""
    nodes = unconditional(source.tree(text))
    return [node for node in nodes if isinstance(node, ast.Call) and called(node) in names]


def _shared_model(job: JobSpec, file: str, text: str) -> Iterator[Problem]:
    """A model that is spread over all GPUs of a host by each of several workers."""
    launched = plan(job)
    if launched.runner is not Runner.TORCHRUN or (launched.workers_per_host or 0) < 2:
        return
    if "Trainer" not in text and "Accelerator" not in text:
        return
    for call in _sure(text, "from_pretrained"):
        if any(word.arg == "device_map" and getattr(word.value, "value", None) == "auto" for word in call.keywords):
            yield SCRIPT022.problem(
                Line(file, call.lineno),
                "device_map='auto' spreads the model over GPUs that other workers train on",
                got=f"device_map='auto' and {launched.workers_per_host} workers a host",
                wanted="device_map={'': local_rank}, or no device_map",
                fix=Advice("leave device_map out, or start one process a host"),
            )


def _devices(job: JobSpec, file: str, text: str) -> Iterator[Problem]:
    """Lightning's Trainer asked for more GPUs than a host has."""
    rows = find_instances(job.compute.instances)
    if not rows or not re.search(r"^\s*(import|from) (lightning|pytorch_lightning)", text, re.MULTILINE):
        return
    there = max(row.workers for row in rows)
    for call in _sure(text, "Trainer"):
        asked = {word.arg: word.value for word in call.keywords}.get("devices")
        count = getattr(asked, "value", None)
        if type(count) is int and count > there:
            yield SCRIPT022.problem(
                Line(file, call.lineno),
                "the Trainer asks for more devices than the instance has",
                got=f"devices={count} on {job.compute.instances[0]} ({there})",
                wanted=f"devices='auto', or at most {there}",
                fix=Advice("say devices='auto'"),
            )


def _endless(job: JobSpec, file: str, text: str) -> Iterator[Problem]:
    """A Trainer on streamed data, which have no length, without max_steps."""
    streamed = any(
        word.arg == "streaming" and getattr(word.value, "value", None) is True
        for call in _sure(text, "load_dataset")
        for word in call.keywords
    )
    for each in settings(job) if streamed and re.search(r"\bTrainer\(", text) else ():
        values = each.values
        if (
            "max_steps" not in values
            and UNKNOWN not in values.values()
            and not re.search(r"\.(take|from_list)\(", text)
        ):
            yield SCRIPT022.problem(
                each.where,
                "streamed data have no length, and the Trainer is not told its steps",
                got=f"streaming=True in {file}, and no max_steps",
                wanted="max_steps",
                fix=Advice("say max_steps"),
            )


RULES = (files, beginnings)
