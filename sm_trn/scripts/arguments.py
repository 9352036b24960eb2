"""Rules of the hyperparameters as arguments of the script: what its parser refuses, passes over, or takes for another."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..core._entry import scripts_folder
from ..core.catalog import efa, images
from ..core.preflight import source
from ..core.preflight.secrets import holds_secret, is_named_secret
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Problem, Severity, rules_of
from ..core.specs.value import suggestion
from .options import Options, Refused, Unread, options_of
from .programs import programs

_RULES = rules_of(__package__)
# A program with none of these reads no arguments; with one of the others it reads them without a parser.
_READS = re.compile(
    r"argv|environ|subprocess|system\(|exec\(|runpy|getopt|input\(|cli\(|import \*|argparse|Parser|sagemaker_training"
)
_READS_ALL = re.compile(r"SM_HP|SM_TRAINING_ENV|hyperparameters|environ\)|sagemaker_training")


def words_of(job: JobSpec) -> tuple[str, ...]:
    """The words that the container gives the script: toolkits before 5.1.3 let a shell split them.

    Source: sagemaker-training 5.1.2 and 5.1.3, process.py, run_async.
    """
    words = source.command_line(job)
    try:
        return tuple(shlex.split(" ".join(words))) if _shell_reads(job) is True else words
    except ValueError:  # a quotation mark that nothing closes
        return words


def _shell_reads(job: JobSpec) -> bool | None:
    if job.image_uri is not None or job.script is None or not job.script.entry.endswith(".py"):
        return False
    row = images.choose(job)
    return efa.shell_reads(row.pytorch) if row is not None else None


def texts_for_a_shell(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT004: a text that is another one once a shell has read it."""
    for name, value in job.hyperparameters.items():
        if (
            isinstance(value, str)
            and re.search(r"^[^']*[\s$`\\;&|<>()*?\"#~]", value)
            and _shell_reads(job) is not False
        ):
            yield _RULES["SCRIPT004"].problem(
                Field(f"hyperparameters.{name}"),
                "a shell reads this before the script does",
                got=_without_secrets(repr(value), job),
                wanted="a text without spaces, quotes and signs, or one in single quotes",
            )


def options(job: JobSpec) -> Options | None:
    """The literal arguments of the job's script; None where it reads none, or cannot be looked at."""
    texts = programs(job)
    return options_of(texts) if texts and not job.own_entrypoint else None


def literal_arguments(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT006, SCRIPT007, SCRIPT008, SCRIPT014, SCRIPT015: what the literal arguments of a script say of its words."""
    taken = options(job)
    if taken is None:
        return
    for name, place in taken.booleans.items():
        false = str(job.hyperparameters.get(name)).lower() in {"false", "0"}
        yield _RULES["SCRIPT006"].problem(
            place,
            f"--{name} False would be read as True",
            severity=Severity.ERROR if false else Severity.INFO,
            got="type=bool" + (f", and the job sends {job.hyperparameters[name]!r}" if false else ""),
            wanted="a function that reads 'True' and 'False', such as str2bool",
        )
    values = {value for name, value in job.arguments.items() if name in taken.flags}
    for name in taken.flags.keys() & job.hyperparameters.keys():
        harmless = {""} if taken.strict or taken.unread is not None else {"", "true"}
        if str(job.hyperparameters[name]).lower() not in harmless:
            yield _RULES["SCRIPT007"].problem(
                taken.flags[name],
                f"--{name} takes no value, but SageMaker passes one",
                got=f"a flag, and the job sends {job.hyperparameters[name]!r}",
                wanted="an argument with a value",
                fix=Advice("type=str2bool instead of the action"),
            )
    try:
        leftover = [word for word in taken.leftover(words_of(job)) if word not in map(str, values)]
    except Refused as error:
        yield from problems(job, taken.names, refused=str(error))
    else:
        whole = taken.unread is None and not (not taken.strict and keeps_the_rest(job))
        yield from problems(job, taken.names, leftover if whole else (), strict=taken.strict)


def problems(
    job: JobSpec,
    names: Sequence[str],
    leftover: Sequence[str] = (),
    *,
    refused: str = "",
    strict: bool = True,
    doubt: str = "",
) -> Iterator[Problem]:
    """The problems that a parser's answer to the job's words stands for.

    ``refused`` is why it ends the script, in its own words; ``leftover`` are words that it does not know, for which it ends the script
    where it is ``strict``. ``doubt`` is why it may answer otherwise in the container.
    """
    entry, severity = source.entry_name(job), Severity.WARNING if doubt else Severity.ERROR
    words = words_of(job)
    values = [value for flag, value in pairwise(words) if flag in leftover]
    strays = [word for word in leftover if not word.startswith("-") and word not in values]
    refused = refused or (f"unrecognized arguments: {' '.join(strays)}" if strays and strict else "")
    if refused:
        yield _RULES["SCRIPT014"].problem(
            Field("hyperparameters"),
            f"{entry} {'may refuse' if doubt else 'refuses'} its arguments: {_without_secrets(refused, job)}",
            severity=severity,
            got=_without_secrets(shlex.join(words), job) or "no hyperparameter",
            wanted="arguments that its parser takes" + (f"; {doubt}" if doubt else ""),
            fix=Advice("correct the hyperparameters, or the parser"),
        )
        return
    for name in job.arguments:
        flag = source.flag(name)
        meant = {each for each in names if each.startswith(name)}
        if flag in leftover and not is_shipped_name(job, name):
            yield _RULES["SCRIPT008" if strict else "SCRIPT015"].problem(
                Field(f"hyperparameters.{name}" if name in job.hyperparameters else "neuron"),
                f"{entry} {'does not declare' if strict else 'passes over'} {flag}",
                severity=severity if strict else Severity.WARNING,
                got=repr(name),
                wanted="one of " + ", ".join(sorted(names)) if len(names) <= 20 else f"an argument of {entry}",
                fix=Advice("a longer name" if name in names else f"correct the name{suggestion(name, names)}"),
            )
        elif name not in names and flag not in leftover and len(name) > 1 and len(meant) == 1:
            whole = meant.pop()
            yield _RULES["SCRIPT008"].problem(
                Field(f"hyperparameters.{name}"),
                f"{entry} takes {flag} for --{whole}, of which it is the beginning",
                severity=Severity.WARNING,
                got=repr(name),
                wanted=repr(whole),
                fix=Advice("write the whole name"),
            )


def _without_secrets(text: str, job: JobSpec) -> str:
    for name, value in job.hyperparameters.items():
        if isinstance(value, str) and value and (is_named_secret(name, value) or holds_secret(value)):
            for part in (value, *(word for word in value.split() if len(word) > 3)):
                text = text.replace(part, f"({len(part)} characters)")
    return text


def is_shipped_name(job: JobSpec, name: str) -> bool:
    """Whether the package's own script knows a name otherwise than by its own dataclass: an older name, or one of transformers."""
    texts = (source.text(path) or "" for path in (scripts_folder() / "kit").glob("*.py"))
    return source.shipped(job) and any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts)


def keeps_the_rest(job: JobSpec) -> bool:
    """Whether a script may use what ``parse_known_args`` leaves, or read its words in another way."""
    text = "\n".join(text for _, text in programs(job))
    left = re.findall(r", *(\w+) *\)? *= *[\w.]+\.parse_known_args\(", text)
    asked = len(re.findall(r"parse_known_args\(", text)) - len(re.findall(r"parse_known_args\([^()]*\)\[0\]", text))
    used = any(name != "_" and len(re.findall(rf"\b{name}\b", text)) > 1 for name in left)
    return used or len(left) < asked or re.search(r"argv|SM_HP", text) is not None


def unread(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT023, SCRIPT015: a parser, or an argument that the job sends, that was not looked at; and arguments that nobody reads."""
    taken, script, texts = options(job), job.script, programs(job)
    shipped = source.shipped(job)
    if taken is not None:
        if taken.unread is not None and not (
            shipped and all(is_shipped_name(job, name) for name in job.hyperparameters)
        ):
            yield unasked(job, taken.unread)
        for name in taken.vague.keys() & job.arguments.keys() if taken.unread is None else ():
            yield unasked(job, taken.vague[name], of=f"--{name}")
    elif script is None or not job.hyperparameters or job.own_entrypoint or shipped:
        return
    elif source.elsewhere(job):
        yield unasked(job, "its source is not on this machine", fix="sm-trn check in its folder reads it")
    elif texts and not any(_READS.search(text) or _READS_ALL.search(text) for _, text in texts):
        yield _RULES["SCRIPT015"].problem(
            Field("hyperparameters"),
            f"{source.entry_name(job)} reads no arguments",
            got=", ".join(job.hyperparameters),
            wanted="a script that reads them, with argparse or from SM_HPS",
            fix=Advice("read them in the script, or leave them out"),
        )
    elif not any(_READS_ALL.search(text) for _, text in texts):
        yield unasked(job, "none was found" if texts else "it is no Python program", fix="sm-trn rehearse runs it")


def unasked(
    job: JobSpec, reason: Unread | str, *, of: str = "the parser", fix: str = "sm-trn check --run asks it"
) -> Problem:
    """SCRIPT023 for a parser that was neither read nor asked."""
    return _RULES["SCRIPT023"].problem(
        reason.place if isinstance(reason, Unread) else Field("hyperparameters"),
        f"{of} of {source.entry_name(job)} was not read: {reason}",
        severity=Severity.INFO,
        fix=Advice(fix),
    )


RULES = (literal_arguments, unread, texts_for_a_shell)
