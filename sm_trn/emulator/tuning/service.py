"""Tuning jobs of one region."""

from __future__ import annotations

from collections.abc import Mapping

from ..service import Handler, RegionParts, Service
from .api import TuningApi
from .tuner import JobTuner


class TuningService(Service):
    """It starts the training jobs that they try."""

    def __init__(self, parts: RegionParts) -> None:
        self._tuner = JobTuner(
            parts.resources, parts.jobs, parts.training, parts.context.metrics.values, parts.shared.root
        )
        self.operations = operations(TuningApi(parts.resources, parts.jobs, self._tuner))

    def restore(self) -> None:
        self._tuner.restore()

    def shutdown(self) -> None:
        self._tuner.shutdown()


def operations(tuning: TuningApi) -> Mapping[str, Handler]:
    """The operations on tuning jobs."""
    return {
        "CreateHyperParameterTuningJob": tuning.create,
        "DescribeHyperParameterTuningJob": tuning.describe,
        "ListHyperParameterTuningJobs": tuning.listed,
        "ListTrainingJobsForHyperParameterTuningJob": tuning.training_jobs,
        "StopHyperParameterTuningJob": tuning.stop,
        "DeleteHyperParameterTuningJob": tuning.delete,
    }
