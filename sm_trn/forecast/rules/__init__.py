"""The rules of ``check`` that estimate: what a job needs of memory and time. And all rules there are."""

from ...core import preflight
from ...core.preflight import JobRule
from ...images.rules import RULES as OF_IMAGES
from ...scripts import RULES as OF_SCRIPTS
from . import estimates, memory

RULES: tuple[JobRule, ...] = (*memory.RULES, *estimates.RULES)
ALL_RULES: tuple[JobRule, ...] = (*preflight.RULES, *OF_SCRIPTS, *OF_IMAGES, *RULES)
