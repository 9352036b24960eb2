"""This program applies a job's metric expressions to its log lines, with a time limit for each search.

Reads one JSON document of definitions, then one ``[timestamp, line]`` per line; writes ``[name, value, timestamp]``
for a match and ``{"disabled": name, "why": …}`` for an expression that is wrong or too slow. Python's matcher looks at
signals while it searches, so an interval timer ends a search that would never end.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import signal
import sys
from typing import Any

LIMIT_S = 0.25  # for one line; an honest expression needs microseconds


class _TooSlow(Exception):  # noqa: N818 - an answer, not a fault of ours
    pass


def _ring(_number: int, _frame: object) -> None:
    raise _TooSlow


def _say(document: Any) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def main() -> None:
    signal.signal(signal.SIGALRM, _ring)
    rules: dict[str, re.Pattern[str]] = {}
    for name, text in json.loads(sys.stdin.readline()):
        try:
            rules[name] = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:  # noqa: PERF203 - a short loop
            _say({"disabled": name, "why": f"not a regular expression: {error}"})
    for row in sys.stdin:
        timestamp, line = json.loads(row)
        for name in list(rules):
            try:
                signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
                try:
                    match = rules[name].search(line)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except _TooSlow:
                del rules[name]
                _say({"disabled": name, "why": f"one line took more than {LIMIT_S} s"})
                continue
            if match is not None:
                with contextlib.suppress(ValueError, TypeError, IndexError):
                    value = float(match.group(1) if match.re.groups else match.group(0))
                    if math.isfinite(value):
                        _say([name, value, timestamp])


if __name__ == "__main__":
    main()
