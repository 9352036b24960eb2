"""Every exception of the package.

SmTrnError
├── InvalidJob          a spec that must not be sent; carries every problem
│   └── OverBudget      it may cost more than was allowed (sm_trn.core.session.budget)
├── InvalidJobFile      a job file that cannot be read as specs; carries every fault
├── UnknownName         an instance, image, target or job that does not exist
├── NotConfigured       role, bucket or region is missing
│   └── MissingLibrary  a library of an extra is not installed; an ImportError too
├── CloudError          an AWS call failed; carries operation and error code
│   ├── JobFailed       a waited-for job ended in Failed
│   └── LaunchUnknown   nobody knows whether a job or an endpoint runs: it may, and be billed
└── EmulatorError       the embedded SageMaker could not start, answer or stop
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any


class SmTrnError(Exception):
    """Root of the tree. The message says what, got, wanted and fix.

    >>> issubclass(st.errors.UnknownName, st.SmTrnError)
    True
    """


class InvalidJob(SmTrnError):  # noqa: N818 - the vocabulary names it
    """A spec with errors. ``problems`` holds every one of them, not the first.

    >>> st.errors.InvalidJob("bert", ("error[X001] name: too short",)).problems
    ('error[X001] name: too short',)
    """

    def __init__(self, name: str, problems: tuple[Any, ...]) -> None:
        self.problems = problems
        lines = "\n".join(f"  {problem}" for problem in problems)
        counted = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"{name}: {counted}, nothing was started\n{lines}")


class InvalidJobFile(SmTrnError):  # noqa: N818 - as InvalidJob
    """A job file with faults. ``faults`` holds every one of them, each with its line where it can be found.

    >>> try:
    ...     st.load_jobs('name = "a"', "toml")
    ... except st.errors.InvalidJobFile as error:
    ...     error.faults[0].what
    'missing key "framework"'
    """

    def __init__(self, faults: tuple[Any, ...]) -> None:
        self.faults = faults
        super().__init__("\n\nerror: ".join(str(fault) for fault in faults))


class UnknownName(SmTrnError):  # noqa: N818 - the vocabulary names it
    """A name that is not in the table it was looked up in.

    >>> try:
    ...     st.render(job, "requst")
    ... except st.errors.UnknownName as error:
    ...     "did you mean 'request'?" in str(error)
    True
    """


class NotConfigured(SmTrnError):  # noqa: N818 - the vocabulary names it
    """Something the environment must give is missing; the message says how to give it.

    >>> issubclass(st.errors.NotConfigured, st.SmTrnError)
    True
    """


class MissingLibrary(NotConfigured, ImportError):  # noqa: N818 - as NotConfigured
    """A library of an extra is not installed; the message names the line that installs it."""


class CloudError(SmTrnError):
    """An AWS call failed. Raised ``from`` botocore's own error.

    >>> st.errors.CloudError("no access", operation="CreateTrainingJob", code="AccessDeniedException").code
    'AccessDeniedException'
    """

    def __init__(self, message: str, *, operation: str = "", code: str = "") -> None:
        super().__init__(message)
        self.operation = operation
        self.code = code


class JobFailed(CloudError):  # noqa: N818 - the vocabulary names it
    """A job that was waited for ended in Failed. ``diagnosis`` is what ``job.why()`` says of it."""

    def __init__(self, message: str, *, operation: str = "", code: str = "", diagnosis: Any = None) -> None:
        super().__init__(message, operation=operation, code=code)
        self.diagnosis = diagnosis


class LaunchUnknown(CloudError):  # noqa: N818 - as InvalidJob
    """A create was sent and nobody knows what became of it. The job or endpoint ``name`` may run, and be billed."""

    def __init__(self, message: str, *, name: str, code: str = "", operation: str = "CreateTrainingJob") -> None:
        super().__init__(message, operation=operation, code=code)
        self.name = name


class EmulatorError(SmTrnError):
    """The embedded SageMaker could not start, answer or stop."""


OWN = __name__.partition(".")[0]


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Import the libraries of the extra ``name`` in this block. Raises MissingLibrary where one of them is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library == OWN:
            raise
        raise missing_library(library, name, purpose) from None


def expect_library(library: str, extra: str, purpose: str) -> None:
    """Raises MissingLibrary where ``library`` is not installed. Does not import it."""
    if find_spec(library) is None:
        raise missing_library(library, extra, purpose)


def missing_library(library: str, extra: str, purpose: str) -> MissingLibrary:
    """The error that says what needs the library, and the line for pip."""
    return MissingLibrary(f'{purpose} needs {library}; pip install "{OWN}[{extra}]"')
