"""Why a value is not there. Each reason has one word, and the word stands in this module only."""

from __future__ import annotations

import enum
from typing import Any


class Missing(enum.Enum):
    """A reason that stands in place of a value. ``str`` gives its word, for people; files and frames hold None."""

    EMULATED = "emulated"
    NO_PRICE = "no price"
    NOT_BILLED_YET = "not billed yet"
    IN_TOKENS = "billed in tokens"
    NOT_LOGGED = "not logged"
    TOO_SHORT = "too short"
    NOT_SET = "not set"
    NOT_KNOWN = "not known"
    NONE_YET = "none yet"
    TOO_EARLY = "?"  # an estimate, before there is enough to estimate from
    NO_REASON = "no reason given"
    NOTHING = "-"  # no value is expected: a rate before the job trains, a saving without spot

    def __str__(self) -> str:
        return self.value


# The same fact at the beginning of a sentence.
EMULATED_COST = "EMULATED: no cost"


def known(value: Any, reason: Missing = Missing.NOTHING) -> Any:
    """The value, or the reason where it is None."""
    return reason if value is None else value


def missing_cost(*, emulated: bool, billed: bool, in_tokens: bool = False) -> Missing:
    """Why a job, a group of jobs or an endpoint has no cost: it is emulated, billed in tokens – a serverless job – not billed yet,
    or its price is not known."""
    if emulated:
        return Missing.EMULATED
    if in_tokens:
        return Missing.IN_TOKENS
    return Missing.NO_PRICE if billed else Missing.NOT_BILLED_YET


def no_price_for(instance: str, region: str = "") -> str:
    """``no price for ml.trn2.48xlarge in us-west-2``."""
    return f"{Missing.NO_PRICE} for {instance}{f' in {region}' if region else ''}"
