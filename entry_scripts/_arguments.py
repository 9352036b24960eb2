"""Owns how SageMaker's hyperparameters become checked arguments; must not know any script's own flags."""

from __future__ import annotations

import argparse
import difflib
from typing import Callable, Mapping, NamedTuple, NoReturn, Sequence

from _console import Mistake


class Parser(argparse.ArgumentParser):
    """Raises a Mistake where argparse would print its usage; refuses unknown flags with a suggestion."""

    def error(self, message: str) -> NoReturn:
        raise Mistake(message)

    def parse_strictly(self, argv: Sequence[str] | None) -> argparse.Namespace:
        args, unknown = self.parse_known_args(argv)
        if unknown:
            flag = unknown[0].split("=")[0]
            close = difflib.get_close_matches(flag, self._option_string_actions, n=1)
            raise Mistake(f"{flag}: unknown flag; " + (f"did you mean {close[0]}?" if close else "see --help"))
        return args


def str2bool(text: str) -> bool:
    """SageMaker passes hyperparameters as words: --bf16 True."""
    if text.lower() not in {"true", "false", "1", "0"}:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted True or False")
    return text.lower() in {"true", "1"}


class Range(NamedTuple):
    """What a number must satisfy, and the words for it."""

    holds: Callable[[float], bool]
    wanted: str


AT_LEAST_1 = Range(lambda value: value >= 1, "at least 1")
AT_LEAST_2 = Range(lambda value: value >= 2, "at least 2")
NOT_NEGATIVE = Range(lambda value: value >= 0, "0 or more")
PROPER_FRACTION = Range(lambda value: 0 < value < 1, "above 0 and below 1")
FRACTION = Range(lambda value: 0 <= value < 1, "0 or more and below 1")


def check_ranges(args: argparse.Namespace, ranges: Mapping[str, Range]) -> None:
    """Every number out of its range, in one Mistake. None is absent, and fits everywhere."""
    given = ((name, getattr(args, name), wanted) for name, wanted in ranges.items())
    faults = [
        f"--{name}: got {value}, wanted {allowed.wanted}"
        for name, value, allowed in given
        if value is not None and not allowed.holds(value)
    ]
    if faults:
        raise Mistake("; ".join(faults))
