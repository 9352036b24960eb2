"""Owns how SageMaker's hyperparameters become checked arguments; must not know any script's own flags."""

from __future__ import annotations

import argparse
import difflib
from typing import Callable, NoReturn, Sequence, TypeVar

from _console import Mistake

T = TypeVar("T", int, float)


class Parser(argparse.ArgumentParser):
    """Raises a Mistake where argparse would print its usage; refuses unknown flags with a suggestion."""

    def error(self, message: str) -> NoReturn:
        raise Mistake(message.replace("argument --", "--", 1))

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


def _checked(convert: Callable[[str], T], holds: Callable[[T], bool], wanted: str) -> Callable[[str], T]:
    def parse(text: str) -> T:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not holds(value):
            raise argparse.ArgumentTypeError(f"got {text!r}, wanted {wanted}")
        return value

    return parse


def integer(least: int) -> Callable[[str], int]:
    return _checked(int, lambda value: value >= least, f"a whole number, at least {least}")


not_negative = _checked(float, lambda value: 0 <= value < float("inf"), "a number, 0 or more")
fraction = _checked(float, lambda value: 0 <= value < 1, "a number from 0 to below 1")
proper_fraction = _checked(float, lambda value: 0 < value < 1, "a number above 0 and below 1")
