"""Libraries that only some installations have: what is missing is answered with one sentence and the line that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from .errors import MissingLibrary

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
