"""What a job's own script takes and reads, held against the job: its parser, its channels, its libraries' releases, its chips."""

from ..core.preflight import JobRule
from . import arguments, chips, reads, starting, trainers

RULES: tuple[JobRule, ...] = (*arguments.RULES, *reads.RULES, *trainers.RULES, *chips.RULES, *starting.RULES)
