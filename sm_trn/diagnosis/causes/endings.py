"""How a process ended, as programs tell it: by an exit code, a signal's number or its name."""

from __future__ import annotations

import re

_WORDS = ("exit", "return", "signal", "(sig", "{sig", "wtermsig")
_ENDED = re.compile(  # in small letters: "exited with code 137", "exitcode : -9", "killed by signal: 9"
    r"(?:exit|return)\w{0,8}[ _-]?(?:with |the |an? |return |exit |error |non-zero ){0,4}(?:code|status)[^\w\n-]{0,4}"
    r"(?:of |is |was )?(?P<code>-?\d{1,3})\b|\b(?:signals?|wtermsig)(?:\.sig\w{1,8})?[ :(=]{1,3}(?P<signal>\d{1,2})\b"
    r"|(?:\bsignals?[ :(.]{1,3}|[({])sig(?P<name>abrt|bus|ill|kill|segv)\b"
)
_NAMES = {"abrt": 6, "bus": 7, "ill": 4, "kill": 9, "segv": 11}
_BEYOND_SIGNALS = 128  # a shell adds it to the number of the signal that ended a program


def _number(found: re.Match[str]) -> int:
    """An exit code, or the negative number of a signal."""
    signal, name = found["signal"], found["name"]
    if signal or name:
        return -int(signal) if signal else -_NAMES[name]
    code = int(found["code"])
    return _BEYOND_SIGNALS - code if code > _BEYOND_SIGNALS else code


def speaks(lowered: str) -> bool:
    """Whether a line in small letters, its digits taken out or not, may tell how a process ended."""
    return any(word in lowered for word in _WORDS)


def endings(lowered: str) -> list[int]:
    """The exit codes that a line in small letters tells, and the signals, as negative numbers.

    >>> endings("failed (exitcode: -9)"), endings("returned non-zero exit status 137."), endings("caught signal 11")
    ([-9], [-9], [-11])
    """
    return [_number(each) for each in _ENDED.finditer(lowered)] if speaks(lowered) else []
