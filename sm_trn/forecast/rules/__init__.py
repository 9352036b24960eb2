"""The rules of ``check`` that estimate: what a job needs of memory and time."""

from ...core import preflight
from ...core.preflight import JobRule
from ...scripts import RULES as OF_SCRIPTS
from . import estimates, memory

RULES: tuple[JobRule, ...] = (*memory.RULES, *estimates.RULES)
ALL_RULES: tuple[JobRule, ...] = (*preflight.RULES, *OF_SCRIPTS, *RULES)
