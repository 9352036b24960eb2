"""The one table of SageMaker's operations and of who answers each.

A new operation is a function from request to answer in its room, and one line here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .api import shapes
from .api.tags import add_tags, check_tags, delete_tags, list_tags

if TYPE_CHECKING:
    from .api.search import SearchRequest
    from .api.tags import Tagged, TagList, TagsRequest
    from .service import Handler, Service
    from .state.resources import Resources
    from .training.api import TrainingApi

# Operations that moto answers, because its records of them are honest: verbs, and the nouns that they go with. moto's
# jobs and endpoints are not: they are finished, or in service, without anything having run.
_VERBS: Final = (
    "Create", "Describe", "List", "Delete", "Add", "Update", "BatchDescribe",
)  # fmt: skip
_NOUNS: Final = (
    "ModelPackage", "ModelPackages", "ModelPackageGroup", "ModelPackageGroups", "Tags",
)  # fmt: skip


class Operations:
    """The operations of one region. ``names`` are those that are ours, if only for some resources."""

    def __init__(self, training: TrainingApi, resources: Resources, services: Sequence[Service]) -> None:
        self._training = training
        self._resources = resources
        self._services = services
        self._table: Final[Mapping[str, Handler]] = {
            **_jobs(training),
            **{name: handler for service in services for name, handler in service.operations.items()},
            "Search": self._search,
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
            tagged = self._training.tagged(body["ResourceArn"]) or self._resources.tagged(body["ResourceArn"])
            return change(tagged, body) if tagged is not None else None

        return answer

    def _search(self, body: SearchRequest) -> Mapping[str, object] | None:
        """Search among what is ours; None for a search among what is moto's."""
        if body["Resource"] == "TrainingJob":
            return self._training.search(body)
        answers = (service.search(body) for service in self._services)
        return next((answer for answer in answers if answer is not None), None)


def _jobs(training: TrainingApi) -> Mapping[str, Handler]:
    """The operations on training jobs."""
    return {
        "CreateTrainingJob": training.create,
        "DescribeTrainingJob": training.describe,
        "ListTrainingJobs": training.listed,
        "StopTrainingJob": training.stop,
        "UpdateTrainingJob": training.update,
        "DeleteTrainingJob": training.delete,
    }


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
