"""What a job's own script takes and reads, held against the job: its arguments, its channels, its keywords of libraries."""

from ..core.preflight import JobRule
from . import arguments, reads, trainers

RULES: tuple[JobRule, ...] = (*arguments.RULES, *reads.RULES, *trainers.RULES)
