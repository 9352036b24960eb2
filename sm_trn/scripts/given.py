"""The words that a script is given: what the training toolkit makes of the hyperparameters, and what a shell makes of that.

Which toolkit lets a shell read the words of a Python script: ``core.catalog.toolkit``. Those of a shell script are quoted in each:
sagemaker-training 5.1.2 and 5.1.3, process.py, _create_command.
"""

from __future__ import annotations

import re
import shlex

from ..core.catalog import images, toolkit
from ..core.preflight import source
from ..core.specs.job import JobSpec

Words = tuple[str, ...]
# What a shell does more with than to split words and to take quotes away.
_SPECIAL = re.compile(r"[$`\\;&|<>()*?\n]|(?:^|\s)[#~]")


def through_shell(words: Words) -> Words | None:
    """What a shell makes of words that are joined with spaces; None where that depends on more than the words.

    >>> through_shell(("--name", "a b", "--flag", ""))
    ('--name', 'a', 'b', '--flag')
    """
    joined = " ".join(words)
    try:
        return None if _SPECIAL.search(joined) else tuple(shlex.split(joined))
    except ValueError:  # a quotation mark that nothing closes
        return None


def shell_reads(job: JobSpec) -> bool | None:
    """Whether a shell reads the arguments of the job's script: False of a shell script, None where the image may have either toolkit."""
    if job.script is None or not job.script.entry.endswith(".py"):
        return False
    if job.image_uri is not None:
        return toolkit.shell_reads_in(job.image_uri)
    row = images.choose(job)
    return toolkit.shell_reads(row.pytorch) if row is not None else None


def lines(job: JobSpec) -> tuple[Words | None, ...]:
    """The words that the job's script may be given; None for a line of which only a shell knows what it is."""
    exact, shell = source.command_line(job), shell_reads(job)
    read = through_shell(exact) if shell is not False else exact
    return (read,) if shell is not None else tuple(dict.fromkeys((read, exact)))
