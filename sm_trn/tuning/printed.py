"""The lines that a script prints, read from its text: what an expression can be tried on before anything runs. Runs none of it."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..core.preflight import source
from ..core.specs.job import JobSpec

FILES: Final = 200  # of a source folder that are read
NUMBERS: Final = ("0.5", "1")  # stand where a line has a value: an expression may want whole numbers alone
HOLE: Final = "\0"
# What is called to print a line: print itself, and the methods of loggers.
_PRINTS: Final = frozenset({"print", "debug", "info", "warning", "error", "write", "log"})
_PERCENT: Final = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]")
_BRACES: Final = re.compile(r"\{[^{}]*\}")
# A dict as the Trainer prints it: transformers 4 alone, 5 with its numbers in quotes. The names of evaluations are the script's own.
TRAINER: Final = (
    "{'loss': \0, 'grad_norm': \0, 'learning_rate': \0, 'epoch': \0}",
    "{'eval_loss': \0, 'eval_runtime': \0, 'epoch': \0}",
    "{'train_runtime': \0, 'train_samples_per_second': \0, 'train_steps_per_second': \0, 'train_loss': \0, 'epoch': \0}",
)


@dataclass(frozen=True, slots=True)
class Printed:
    """The ``lines`` that a script can print, with numbers where it puts values in. ``whole`` says whether it can print others too
    that its text does not show: those of libraries, and those that it puts together elsewhere.
    """

    lines: tuple[str, ...]
    whole: bool


def printed(job: JobSpec) -> Printed | None:
    """What the job's script prints. None where there is no script to read here: in S3, in git, in an image, or not Python."""
    program = source.program(job)
    folder = source.source_folder(job)
    if program is None or folder is None:
        return None
    texts = [program, *_beside(job, folder)]
    patterns = [pattern for text in texts for pattern in _patterns(text)]
    trained = any("Trainer" in text for text in texts)
    if trained:
        patterns += [*TRAINER, *(line.replace(HOLE, f"'{HOLE}'") for line in TRAINER)]
    known = [pattern for pattern in patterns if pattern.strip(f"{HOLE} ")]
    lines = (pattern.replace(HOLE, number) for pattern in known for number in NUMBERS)
    return Printed(tuple(dict.fromkeys(lines)), whole=bool(known) and len(known) == len(patterns) and not trained)


def _beside(job: JobSpec, folder: Path) -> Iterator[str]:
    """The other modules of the source's folder."""
    for path in itertools.islice(sorted(folder.glob("*.py")), FILES):
        if job.script is not None and path.name != job.script.entry:
            yield source.text(path) or ""


def _patterns(text: str) -> Iterator[str]:
    """A line for each call that prints, with a hole for each value; a line of holes alone is not known."""
    try:
        calls = source.calls(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in _PRINTS and call.args:
            yield _line(call.args, logs=name != "print")


def _line(arguments: Sequence[ast.expr], *, logs: bool) -> str:
    first = _words(arguments[0])
    if logs:  # the values that follow stand in the first text
        return _PERCENT.sub(HOLE, first) if len(arguments) > 1 else first
    return " ".join([first, *map(_words, arguments[1:])])


def _words(node: ast.expr) -> str:
    """An expression as it is printed, with holes where its value is not in the text."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)
    if isinstance(node, ast.Dict):
        pairs = (f"{_key(key)}: {_words(value)}" for key, value in zip(node.keys, node.values, strict=True))
        return "{" + ", ".join(pairs) + "}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.Add)):
        left = _words(node.left)
        return _PERCENT.sub(HOLE, left) if isinstance(node.op, ast.Mod) else left + _words(node.right)
    return _called(node) if isinstance(node, ast.Call) else HOLE


def _called(node: ast.Call) -> str:
    """A call whose text can be seen: ``"…".format(…)``, ``json.dumps({…})``, ``str(…)``."""
    if not isinstance(node.func, ast.Attribute):
        return HOLE
    if node.func.attr == "format":
        return _BRACES.sub(HOLE, _words(node.func.value))
    if node.func.attr == "dumps" and node.args and isinstance(node.args[0], ast.Dict):
        return _words(node.args[0]).replace("'", '"')
    return HOLE


def _key(node: ast.expr | None) -> str:
    return repr(node.value) if isinstance(node, ast.Constant) else HOLE
