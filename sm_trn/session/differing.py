"""What differs between two jobs, live or not: the comparison itself is render's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..render import Diff
from ..render import diff as compared
from ..specs import JobSpec
from .handles import TrainingJob

Side = JobSpec | TrainingJob | Mapping[str, Any]


def diff(before: Side, after: Side) -> Diff:
    """What ``after`` asks for that ``before`` does not: specs, live jobs, requests or describe answers, in any mixture.

    Hyperparameters are compared by value, and what the service adds equals what was not sent. A spec is compared with a job as
    if it had gone to the same account and bucket; what is in its source and local data is then not compared. Raises CloudError.
    """
    one, two = (side.request() if isinstance(side, TrainingJob) else side for side in (before, after))
    titles = [
        side.name if isinstance(side, (TrainingJob, JobSpec)) else str(side.get("TrainingJobName"))
        for side in (before, after)
    ]
    return compared(one, two, names=(titles[0], titles[1]))
