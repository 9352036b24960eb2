"""Tells a script's own lines from the training toolkit's, and finds the exception that ended a script."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..formatting.printable import plain
from .events import LogEvent
from .prefixes import prefix_of

# sagemaker-training 5.1.4: logging_config.py (the format), entry_point.py and process.py (what is said before and after a script).
_TOOLKIT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?:sagemaker[\w.-]*|botocore[\w.]*|root) +[A-Z]+ ")
_BEGINS = "Invoking script with the following command:"
_ENDS = ("Reporting training SUCCESS", "Reporting training FAILURE")
SIMULATED = "sm_trn emulator: SIMULATED "  # what a script's numbers cannot be taken for
_AROUND = ("sm_trn emulator: ", "bash: cannot set terminal", "bash: no job control")
_LONGEST = 2000  # lines of a traceback, with those that led to it
TRACEBACK = "Traceback (most recent call last):"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_USAGE = re.compile(r"\S+: error: .+")  # argparse: print_usage, then "prog: error: message"
_RAISED = re.compile(
    r"(?P<kind>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Iteration|Exit|Failure|Timeout|NotFound|OutOfMemory\w*))"
    r"(?P<colon>:)?(?P<text>(?<=:).*)?"
)

_NAMED = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Iteration|Exit|Failure|Timeout|NotFound|Expired|OutOfMemory\w*)(?::(?: |$)|$)"
)


def raised(line: str) -> str:
    """The exception that a line names as Python prints one, ``ValueError: no column``; empty when it names none.

    >>> raised("ValueError: no column 'label'")
    "ValueError: no column 'label'"
    """
    found = _NAMED.match(line[:_LONGEST])
    return line if found is not None else ""


class ScriptLines:
    """Keeps the lines that a job's script wrote; keep one per job, for it remembers where each host is.

    What the toolkit says before the script (its environment, its command), beside it and behind it is left out. A job without
    the toolkit keeps all its lines.
    """

    def __init__(self) -> None:
        self._toolkit: dict[str, bool] = {}  # by host: whether the toolkit speaks
        self._command: set[str] = set()  # hosts whose next line is the command

    def wants(self, event: LogEvent) -> bool:
        """Whether the script wrote this line."""
        host, text = event.host, event.text
        if _TOOLKIT.match(text):
            if self._toolkit.get(host) is not False or any(end in text for end in _ENDS):
                self._toolkit[host] = True
            return False
        if text.startswith(_BEGINS):
            self._toolkit[host] = False
            self._command.add(host)
            return False
        if host in self._command:
            self._command.discard(host)
            return False
        return text.startswith(SIMULATED) or not (self._toolkit.get(host, False) or text.startswith(_AROUND))


def exception_of(events: Iterable[LogEvent]) -> str:
    """Return the exception that ended the first worker to fail, as Python prints it; empty when no traceback is there.

    Where there is no traceback, argparse's complaint counts. Of exceptions that led to one another the last one counts. The
    toolkit reads a pipe in pieces and strips each (process.py, watch), so that the name, the colon and the text of an exception
    may stand on lines of their own: they are joined again.

    >>> from sm_trn.core.logs import LogEvent
    >>> lines = ["Traceback (most recent call last):", "main()", "ValueError", ":", "no column 'label'"]
    >>> exception_of(LogEvent(0.0, "algo-1", line) for line in lines)
    "ValueError: no column 'label'"
    """
    reader = ExceptionReader()
    reader.read(events)
    return reader.found()


class ExceptionReader:
    """``exception_of`` for a log that comes in parts: keeps the lines of the first worker whose traceback began."""

    def __init__(self) -> None:
        self._worker: tuple[str, int | None] | None = None
        self._lines: list[str] = []
        self._usage = ""

    def read(self, events: Iterable[LogEvent]) -> None:
        """Take the next lines of the log."""
        for event in events:
            if len(self._lines) == _LONGEST:
                return
            prefix = prefix_of(event.text)
            text = plain(event.text[prefix.length :]).strip()
            if self._worker is None and text.startswith(TRACEBACK):
                self._worker = event.host, prefix.rank
            elif self._worker == (event.host, prefix.rank) and text and not _TOOLKIT.match(text):
                self._lines.append(text)
            elif self._worker is None and not self._usage and _USAGE.fullmatch(text):
                self._usage = text

    def found(self) -> str:
        """Return the exception so far, else argparse's complaint about the arguments; empty when neither came."""
        found = ""
        for at, line in enumerate(self._lines):
            raised = _RAISED.fullmatch(line)
            if raised is None:
                continue
            after = self._lines[at + 1 : at + 4]
            told = (raised["text"] or "").strip()
            if not told and (raised["colon"] or after[:1] == [":"]):
                after = after if raised["colon"] else after[1:]
                told, after = "".join(after[:1]), after[1:]
            elif not told and after and after[0].startswith(":"):
                told, after = after[0][1:].strip(), after[1:]
            found = f"{raised['kind']}: {told}" if told else raised["kind"]
            if not any(line.startswith(_CHAINED) for line in after[:1]):
                break
        return found or self._usage
