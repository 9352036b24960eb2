"""This module holds the one table of SageMaker's operations and of who answers each.

A new operation is a function from request to answer in its room, and one line here. It must not know HTTP.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .api import shapes
from .api.tags import add_tags, check_tags, delete_tags, list_tags
from .experiments.api import COMPONENT, EXPERIMENT, SEARCHED, TRIAL, ExperimentsApi

if TYPE_CHECKING:
    from .api.search import SearchRequest
    from .api.tags import Tagged, TagList, TagsRequest
    from .hosting.api import HostingApi
    from .processing.api import ProcessingApi
    from .training.api import TrainingApi
    from .tuning.api import TuningApi

# Operations that moto answers, because its records of them are honest: verbs, and the nouns that they go with. moto's
# jobs and endpoints are not: they are finished, or in service, without anything having run.
_VERBS: Final = (
    "Create", "Describe", "List", "Delete", "Add", "Update", "BatchDescribe",
)  # fmt: skip
_NOUNS: Final = (
    "ModelPackage", "ModelPackages", "ModelPackageGroup", "ModelPackageGroups", "Tags",
)  # fmt: skip


Handler = Callable[[Any], "Mapping[str, Any] | None"]  # each takes the type of its own operation's request


class Operations:
    """The operations of one region. ``names`` are those that are ours, if only for some resources."""

    def __init__(
        self,
        training: TrainingApi,
        hosting: HostingApi,
        processing: ProcessingApi,
        tuning: TuningApi,
        experiments: ExperimentsApi,
    ) -> None:
        self._taggable = (training.tagged, experiments.tagged, hosting.tagged)
        self._table: Final[Mapping[str, Handler]] = {
            **_jobs(training, processing, tuning),
            **_hosted(hosting),
            **_experiments(experiments),
            "Search": partial(_search, training, experiments),
            "AddTags": self._tagging(add_tags),
            "ListTags": self._tagging(list_tags),
            "DeleteTags": self._tagging(delete_tags),
        }
        for name, handler in self._table.items():
            _check_handler(name, handler)
        self.names: Final = frozenset(self._table)

    def answer(self, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer; None when the operation, or the resource that it names, is not ours. Raises AwsError."""
        if operation not in self._table:
            return None
        shapes.check(operation, body)
        check_tags(body.get("Tags") or ())
        return self._table[operation](shapes.known(operation, body))

    def _tagging(self, change: Callable[[Tagged, TagsRequest], TagList]) -> Handler:
        """An operation on whatever has the ARN; None where that is nothing of ours."""

        def answer(body: TagsRequest) -> TagList | None:
            for tagged in self._taggable:
                found = tagged(body["ResourceArn"])
                if found is not None:
                    return change(found, body)
            return None

        return answer


def _jobs(training: TrainingApi, processing: ProcessingApi, tuning: TuningApi) -> Mapping[str, Handler]:
    """The operations on jobs that end by themselves, transform jobs left out: those are of a model."""
    return {
        "CreateTrainingJob": training.create,
        "DescribeTrainingJob": training.describe,
        "ListTrainingJobs": training.listed,
        "StopTrainingJob": training.stop,
        "UpdateTrainingJob": training.update,
        "DeleteTrainingJob": training.delete,
        "CreateProcessingJob": processing.create,
        "DescribeProcessingJob": processing.describe,
        "ListProcessingJobs": processing.listed,
        "StopProcessingJob": processing.stop,
        "DeleteProcessingJob": processing.delete,
        "CreateHyperParameterTuningJob": tuning.create,
        "DescribeHyperParameterTuningJob": tuning.describe,
        "ListHyperParameterTuningJobs": tuning.listed,
        "ListTrainingJobsForHyperParameterTuningJob": tuning.training_jobs,
        "StopHyperParameterTuningJob": tuning.stop,
        "DeleteHyperParameterTuningJob": tuning.delete,
    }


def _hosted(hosting: HostingApi) -> Mapping[str, Handler]:
    """The operations on models, endpoints and transform jobs."""
    return {
        "CreateModel": hosting.create_model,
        "DescribeModel": partial(hosting.describe, "model"),
        "ListModels": partial(hosting.listed, "model"),
        "DeleteModel": hosting.delete_model,
        "CreateEndpointConfig": hosting.create_config,
        "DescribeEndpointConfig": partial(hosting.describe, "endpoint-config"),
        "ListEndpointConfigs": partial(hosting.listed, "endpoint-config"),
        "DeleteEndpointConfig": hosting.delete_config,
        "CreateEndpoint": hosting.create_endpoint,
        "DescribeEndpoint": partial(hosting.describe, "endpoint"),
        "ListEndpoints": partial(hosting.listed, "endpoint"),
        "UpdateEndpoint": hosting.update_endpoint,
        "DeleteEndpoint": hosting.delete_endpoint,
        "CreateTransformJob": hosting.create_transform,
        "DescribeTransformJob": partial(hosting.describe, "transform-job"),
        "ListTransformJobs": partial(hosting.listed, "transform-job"),
        "StopTransformJob": hosting.stop_transform,
    }


def _experiments(experiments: ExperimentsApi) -> Mapping[str, Handler]:
    """The operations on experiments, trials and components."""
    named = {"Experiment": EXPERIMENT, "Trial": TRIAL, "TrialComponent": COMPONENT}
    return {
        **{f"Create{word}": partial(experiments.create, kind) for word, kind in named.items()},
        **{f"Describe{word}": partial(experiments.describe, kind) for word, kind in named.items()},
        **{f"Update{word}": partial(experiments.update, kind) for word, kind in named.items()},
        **{f"Delete{word}": partial(experiments.delete, kind) for word, kind in named.items()},
        **{f"List{word}s": partial(experiments.listed, kind) for word, kind in named.items()},
        "AssociateTrialComponent": experiments.associate,
        "DisassociateTrialComponent": experiments.disassociate,
        "ListAssociations": experiments.no_associations,
    }


def _search(training: TrainingApi, experiments: ExperimentsApi, body: SearchRequest) -> Mapping[str, Any] | None:
    """Search among what is ours; None for a search among what is moto's."""
    if body["Resource"] == "TrainingJob":
        return training.search(body)
    return experiments.search(body) if body["Resource"] in SEARCHED else None


def _check_handler(operation: str, handler: Handler) -> None:
    """Raise TypeError for a line of the table that could answer nothing."""
    if not callable(handler):
        raise TypeError(f"operations: {operation}: got {handler!r}, wanted a function from the request to the answer")
    try:
        inspect.signature(handler).bind({})
    except TypeError as error:
        raise TypeError(f"operations: {operation}: wanted a function of the request alone: {error}") from error


def is_motos(operation: str) -> bool:
    """Return whether moto's answer to an operation is worth passing on."""
    noun = next((operation.removeprefix(verb) for verb in _VERBS if operation.startswith(verb)), "")
    return noun in _NOUNS or operation == "Search"
