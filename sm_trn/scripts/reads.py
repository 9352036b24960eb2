"""DATA007 and SCRIPT020: channels and variables of the environment that a script reads and the job does not give."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.launch import Runner
from ..core.specs.problems import Advice, Line, Problem, rules_of
from ..core.specs.value import suggestion
from ..core.strategies import plan
from .programs import programs
from .syntax import called, unconditional

_RULES = rules_of(__package__)
_FOLDER = re.compile(r"/opt/ml/input/data/([A-Za-z0-9._-]{1,64})")
_OPENS = frozenset({"join", "open", "read_csv", "load_from_disk", "Path", "listdir", "read_parquet", "from_pretrained"})
# A launcher sets these for its workers: aws/sagemaker-pytorch-training-toolkit, training.py, _set_distributed_environment.
_OF_WORKERS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE"})
# Keys of services, which no image holds, and hyperparameters.
_KEY = re.compile(
    r"(WANDB|HF|HUGGING_?FACE|HUGGINGFACEHUB|COMET|NEPTUNE|OPENAI|KAGGLE|CLEARML|DATABRICKS|GITHUB|SM_HP)_\w+"
)


def surroundings(job: JobSpec) -> Iterator[Problem]:
    """DATA007, SCRIPT020: a channel, or a variable, that a script cannot do without and the job does not give."""
    channels = {name.upper() for name in job.inputs}
    sent = {f"SM_HP_{name}".upper().replace("-", "_") for name in job.arguments} | job.environment.keys()
    alone = plan(job).runner is Runner.PYTHON and not job.own_entrypoint
    for file, text in programs(job):
        for name, line in sorted(_needed(text, runs=file == source.entry_name(job))):
            channel = name.removeprefix("SM_CHANNEL_").removeprefix("/")
            if name in sent:
                continue
            if channel != name and channel.upper() not in channels:
                yield _RULES["DATA007"].problem(
                    Line(file, line),
                    f"the script reads the channel {channel.lower()!r}, which the job does not have",
                    got=", ".join(map(repr, job.inputs)) or "no inputs",
                    wanted=f"a channel {channel.lower()!r}",
                    fix=Advice(f"add it to inputs, or correct the name{suggestion(channel.lower(), job.inputs)}"),
                )
            elif (name in _OF_WORKERS and alone) or _KEY.fullmatch(name):
                yield _RULES["SCRIPT020"].problem(
                    Line(file, line),
                    f"the script needs the variable {name}, which nothing sets",
                    got="no distribution, so one process" if name in _OF_WORKERS else "an environment without it",
                    wanted="workers that a launcher starts" if name in _OF_WORKERS else f"{name} in environment",
                    fix=Advice("a distribution" if name in _OF_WORKERS else f"add {name} to environment"),
                )


@functools.lru_cache(maxsize=source.KEPT)
def _needed(text: str, *, runs: bool) -> frozenset[tuple[str, int]]:
    """The variables that a program reads under no condition and does not set or look for, and the channels' folders that it opens
    so, which begin with a slash: with their lines.
    """
    tree = source.tree(text)
    calls = {called(call) for call in source.calls(text)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name not in calls]
    idle = {each for node in functions if not node.decorator_list for each in ast.walk(node)}
    known = re.findall(r"""environ\[["'](\w+)["']\] *=[^=]|["'](\w+)["'] (?:not )?in os|setdefault\(["'](\w+)""", text)
    needed: set[tuple[str, int]] = set()
    for node in set(unconditional(tree, runs=runs)) - idle:
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            needed.add((str(getattr(node.slice, "value", "")), node.lineno))
        elif isinstance(node, ast.Call) and called(node) in _OPENS:
            folders = (_FOLDER.match(str(getattr(each, "value", ""))) for each in node.args)
            needed |= {(f"/{folder[1]}", node.lineno) for folder in folders if folder is not None}
    return frozenset((name, line) for name, line in needed if not any(name in names for names in known))


RULES = (surroundings,)
