"""What the script's own parser says of the hyperparameters, and which of them nobody reads.

The parser is made again from what the script writes out, and is given the words that the training toolkit would pass. Where it cannot
be read, nothing is said of what depends on it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import shlex
from collections.abc import Iterator

from ..core._entry import scripts_folder
from ..core.preflight import source
from ..core.preflight.secrets import holds_secret, is_named_secret
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Line, Problem, Severity, rules_of
from ..core.specs.value import suggestion
from .commands import Command, of_click
from .given import Words, lines, shell_reads, through_shell
from .huggingface import of_dataclasses, of_shipped
from .parsers import Declared, Refused, called, of_argparse, of_hydra
from .sources import Programs, programs, releases_of

_RULES = rules_of(__package__)
SCRIPT004 = _RULES["SCRIPT004"]
SCRIPT006 = _RULES["SCRIPT006"]
SCRIPT007 = _RULES["SCRIPT007"]
SCRIPT008 = _RULES["SCRIPT008"]
SCRIPT014 = _RULES["SCRIPT014"]
SCRIPT015 = _RULES["SCRIPT015"]
SCRIPT019 = _RULES["SCRIPT019"]

# Whether a shell reads the arguments, where the image may have either toolkit.
_EITHER = {
    True: "where the image has a toolkit before 5.1.3, which AWS does not say",
    False: "where the image has toolkit 5.1.3 or a later one, which AWS does not say",
}
# Actions whose argument takes no value.
_FLAGS = frozenset({"store_true", "store_false", "store_const", "append_const", "count", "BooleanOptionalAction"})
# A program that holds one of these can read a list as one.
_READS_JSON = ("json", "SM_HPS", "hyperparameters", "literal_eval", "eval(", "yaml", "SM_TRAINING_ENV")
# A name of a program that can read hyperparameters in a way that is not followed.
_READERS = ("argv", "arg", "SM_HP", "SM_TRAINING_ENV", "hyperparam", "environ", "config", "click", "typer", "fire", "hydra", "flags",
            "settings", "exec", "system", "subprocess", "run", "main", "cli", "getopt", "input")  # fmt: skip


def declared(job: JobSpec) -> Declared | Command | None:
    """The parser that the job's script asks for its arguments; None where there is none, or it cannot be read."""
    texts = programs(job)
    if not texts or job.own_entrypoint:
        return None
    (_, entry), *modules = texts
    if job.script is not None and job.script.source_dir is None and job.script.git is None:
        shipped = of_shipped(entry, source.text(scripts_folder() / "kit" / "trainer.py") or "")
        if shipped is not None:
            return shipped
    made = of_dataclasses(texts, releases_of(job), configured="config" in job.hyperparameters)
    if made is not None:
        return made
    command = of_click(entry, frozenset(job.environment))
    if command is not None:
        return command
    hydra = of_hydra(entry)
    if hydra is not None:
        return hydra
    defined = [entry, *(text for _, text in modules if _called_in(entry, text))]
    found = [each for text in defined if (each := of_argparse(text)) is not None]
    return found[0] if len(found) == 1 else None


@functools.lru_cache(maxsize=source.KEPT)
def _called_in(entry: str, module: str) -> bool:
    """Whether a program calls a function that a module of its own defines to make its parser."""
    if "parse_" not in module:
        return False
    made = {
        node.name
        for node in source.tree(module).body
        if isinstance(node, ast.FunctionDef) and "parse_" in ast.unparse(node)
    }
    return any(called(call) in made for call in source.calls(entry))


def refused(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT008, SCRIPT014: words that the parser does not know, or does not take, end the job with exit code 2."""
    parser = declared(job)
    if parser is None:
        return
    entry, exact = source.entry_name(job), source.command_line(job)
    given = [exact if line is None else line for line in lines(job)]
    refusals = [(line, why) for line in given if (why := _refusal(parser, line, job))]
    if refusals:
        line, why = refusals[0]
        sure = len(refusals) == len(given) and None not in lines(job)
        yield SCRIPT014.problem(
            Field("hyperparameters"),
            f"{entry} {'refuses' if sure else 'may refuse'} its arguments: {_shown(why, job)}",
            severity=Severity.ERROR if sure else Severity.WARNING,
            got=(_shown(shlex.join(line), job) or "no hyperparameter")
            + ("" if len(given) == 1 else f", {_EITHER[line != exact]}"),
            wanted="arguments that its parser takes",
            fix=Advice("correct the hyperparameters, or the parser"),
        )
        return
    rest = parser.leftover(given[0])
    for flag in (word for word in rest if parser.strict and word.startswith("-")):
        name = flag.lstrip("-")
        if name in job.arguments:
            short = name in parser.names and len(name) == 1
            fix = f"a longer name: one of one letter is passed as {flag}" if short else "correct the name"
            yield SCRIPT008.problem(
                Field(f"hyperparameters.{name}" if name in job.hyperparameters else "neuron"),
                f"{entry} does not declare {flag}",
                got=repr(name),
                wanted="one of " + ", ".join(sorted(parser.names)),
                fix=Advice(f"{fix}{'' if short else suggestion(name, parser.names)}"),
            )


def _refusal(parser: Declared | Command, line: Words, job: JobSpec) -> str:
    """Why a parser does not take a line; empty where it does. A name that it does not know is SCRIPT008's."""
    try:
        rest = parser.leftover(line)
    except Refused as error:
        return str(error)
    pieces = [word for word in rest if word not in source.command_line(job) and parser.strict]
    return f"unrecognized arguments: {' '.join(pieces)}" if pieces else ""


def read_by_shell(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT004: a text that is another one once a shell has read it."""
    shell, parser = shell_reads(job), declared(job)
    if shell is False or job.own_entrypoint:
        return
    for name, value in job.hyperparameters.items():
        read = through_shell((value,)) if isinstance(value, str) else ()
        if not isinstance(value, str) or read in {(), (value,)} or (shell and read is not None and len(read) == 1):
            continue  # a text in quotes is written for a shell
        if read is not None and len(read) > 1 and _takes(job, read):
            continue
        yield SCRIPT004.problem(
            Field(f"hyperparameters.{name}"),
            "a shell reads this before the script does"
            if read is None
            else f"the script is given {_shown(shlex.join((source.flag(name), *read)), job)}: a shell reads this before it does",
            severity=Severity.INFO if parser is None else Severity.WARNING,
            got=_shown(repr(value), job) + ("" if shell else f", {_EITHER[True]}"),
            wanted="a text that a shell leaves as it is",
            fix=Advice(
                repr(shlex.quote(value))
                if shell and value == _shown(value, job)
                else "a text without spaces, quotes and signs, or a file in source_dir"
            ),
        )


def _shown(text: str, job: JobSpec) -> str:
    """A text of a problem without the secrets among the hyperparameters, nor the words that a shell makes of them."""
    for name, value in job.hyperparameters.items():
        if isinstance(value, str) and value and (is_named_secret(name, value) or holds_secret(value)):
            parts = {value, *(part for part in re.split(r"[\s'\"]+", value) if len(part) > 3)}
            for part in sorted(parts, key=len, reverse=True):
                text = text.replace(part, f"({len(part)} characters)")
    return text


def _takes(job: JobSpec, read: Words) -> bool:
    """Whether the parser takes each of the words that a text is split into."""
    parser = declared(job)
    left: set[str] = set()
    with contextlib.suppress(Refused):
        for line in lines(job):
            left |= set(parser.leftover(line)) if parser is not None and line is not None else set(read)
        return not left & set(read)
    return False


def unread(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT015: a name that the parser passes over, or any name where the script reads no arguments at all."""
    texts, parser = programs(job), declared(job)
    if (
        not texts
        or not job.hyperparameters
        or job.own_entrypoint
        or job.script is None
        or job.script.source_dir is None
    ):
        return
    entry = source.entry_name(job)
    if parser is None:
        if not any(_may_read(text) for _, text in texts):
            yield SCRIPT015.problem(
                Field("hyperparameters"),
                f"{entry} reads no arguments",
                got=", ".join(job.hyperparameters),
                wanted="a script that reads them, with argparse or from SM_HPS",
                fix=Advice("read them in the script, or leave them out"),
            )
        return
    for name in _passed_over(job, parser, texts):
        yield SCRIPT015.problem(
            Field(f"hyperparameters.{name}"),
            f"{entry} passes over {name}",
            got=repr(job.hyperparameters[name]),
            wanted="one of " + ", ".join(sorted(parser.names)),
            fix=Advice(f"correct the name{suggestion(name, parser.names)}, or leave it out"),
        )


def _passed_over(job: JobSpec, parser: Declared | Command, texts: Programs) -> tuple[str, ...]:
    """The hyperparameters that ``parse_known_args`` leaves, where the script does nothing with what is left."""
    if parser.strict or not isinstance(parser, Declared) or not parser.whole:
        return ()
    if any("argv" in text or "SM_HP" in text for _, text in texts):
        return ()
    try:
        rest = parser.leftover(source.command_line(job))
    except Refused:
        return ()
    if any(_keeps_the_rest(text) for _, text in texts):
        return ()
    names = (word.lstrip("-") for word in rest if word.startswith("-"))
    return tuple(name for name in names if name in job.hyperparameters)


@functools.lru_cache(maxsize=source.KEPT)
def _keeps_the_rest(text: str) -> bool:
    """Whether a program uses what ``parse_known_args`` does not know, or hands its answer on as it is."""
    asked = [call for call in source.calls(text) if called(call) == "parse_known_args"]
    tree = source.tree(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and node.value in asked:
            asked.remove(node.value)
        if isinstance(node, ast.Assign) and node.value in asked and isinstance(node.targets[0], ast.Tuple):
            rest = ast.unparse(node.targets[0].elts[-1])
            used = (each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
            asked = asked if rest in used else [call for call in asked if call is not node.value]
    return bool(asked)


@functools.lru_cache(maxsize=source.KEPT)
def _may_read(text: str) -> bool:
    """Whether a program could read arguments in any way."""
    nodes = list(ast.walk(source.tree(text)))
    words = {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }
    words |= {str(node.value) for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words |= {alias.name for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
    words |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return any(reader in word for word in words for reader in _READERS)


def boolean_arguments(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT006, SCRIPT007: bool('False') is True, and a flag takes no value: SageMaker always passes one."""
    program = source.program(job)
    if program is None or job.script is None:
        return
    for call in source.argument_calls(program):
        name = _name_of(call, job)
        kind = next((word.value for word in call.keywords if word.arg == "type"), None)
        action = next((word.value for word in call.keywords if word.arg == "action"), None)
        place = Line(job.script.entry, call.lineno)
        if isinstance(kind, ast.Name) and kind.id == "bool":
            sent = name in job.hyperparameters
            false = job.hyperparameters.get(name) in {False, "False", "false", "0"} and name in job.hyperparameters
            yield SCRIPT006.problem(
                place,
                f"--{name} False would be read as True",
                severity=Severity.ERROR if false else Severity.INFO,
                got="type=bool" + (f", and the job sends {job.hyperparameters[name]!r}" if sent else ""),
                wanted="a function that reads 'True' and 'False'",
                fix=Advice("type=str2bool"),
            )
        elif (
            action is not None
            and (flag := _action(action)) in _FLAGS
            and name in job.hyperparameters
            and not _harmless(job, program, flag, job.hyperparameters[name])
        ):
            empty = job.hyperparameters[name] == "" and shell_reads(job) is not False
            yield SCRIPT007.problem(
                place,
                f"--{name} takes no value, but SageMaker {'may pass' if empty else 'passes'} one",
                severity=Severity.WARNING if empty else Severity.ERROR,
                got=f"action={ast.unparse(action)}, and the job sends {job.hyperparameters[name]!r}",
                wanted="an argument with a value",
                fix=Advice("type=str2bool instead of the action"),
            )


def _name_of(call: ast.Call, job: JobSpec) -> str:
    """The hyperparameter that an argument is for: that of its flags which the job sends, else the first as a Python name."""
    texts = [str(word.value) for word in call.args if isinstance(word, ast.Constant)]
    flags = [text.removeprefix("--") for text in texts if text.startswith("--")]
    sent = [flag for flag in flags if flag in job.hyperparameters]
    return sent[0] if sent else flags[0].replace("-", "_") if flags else ""


def _action(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return ast.unparse(node).rpartition(".")[2]


def _harmless(job: JobSpec, program: str, action: str, value: object) -> bool:
    """Whether the parser takes the value as another argument, or leaves it over, and the flag alone says the same."""
    says = "true" if action == "BooleanOptionalAction" else action.removeprefix("store_")
    if str(value).lower() not in {says, ""}:
        return False
    if value == "" and shell_reads(job):
        return True  # of an empty text a shell makes no word
    parser = declared(job)
    with contextlib.suppress(Refused):
        return "parse_known_args" in source.methods(program) or (
            parser is not None and str(value) not in parser.leftover(source.command_line(job))
        )
    return False


def lists(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT019: the toolkit passes a list, a table or None as one text."""
    texts = programs(job)
    if not texts or job.own_entrypoint or any(word in text for _, text in texts for word in _READS_JSON):
        return
    line = source.command_line(job)
    for flag, passed in zip(line[::2], line[1::2], strict=True):
        name = flag.removeprefix("-").removeprefix("-")
        value = job.hyperparameters.get(name, "")
        if type(value) in {str, int, float, bool}:
            continue
        read = (through_shell((passed,)) if shell_reads(job) else None) or (passed,)
        yield SCRIPT019.problem(
            Field(f"hyperparameters.{name}"),
            f"the script gets this as {'one argument' if len(read) == 1 else f'{len(read)} arguments'}, {' '.join(map(repr, read))}",
            got=repr(value),
            wanted="a text, number or boolean",
            fix=Advice("a text that the script splits, type=json.loads, or a file in source_dir"),
        )


RULES = (read_by_shell, boolean_arguments, refused, unread, lists)
