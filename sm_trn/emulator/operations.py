"""The one table of SageMaker's operations: each name with the function that answers it, checked against botocore's shape.

What moto keeps honest records of is forwarded to it; anything else is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .api import shapes
from .api.tags import add_tags, check_tags, delete_tags, list_tags

if TYPE_CHECKING:
    from .api.shapes import Body
    from .api.tags import Tagged
    from .hosting.api import HostingApi
    from .state.resources import Resources
    from .training.api import TrainingApi

Handler = Callable[[Any], "Mapping[str, Any] | None"]  # each takes its own operation's request
# Operations that moto answers, because its records of them are honest: verbs, and the nouns that they go with. moto's
# jobs and endpoints are not: they are finished, or in service, without anything having run.
_VERBS: Final = (
    "Create", "Describe", "List", "Delete", "Add", "Update", "BatchDescribe", "Associate", "Disassociate",
)  # fmt: skip
_NOUNS: Final = (
    "ModelPackage", "ModelPackages", "ModelPackageGroup", "ModelPackageGroups", "Tags",
    "Experiment", "Experiments", "Trial", "Trials", "TrialComponent", "TrialComponents",
)  # fmt: skip


class Operations:
    """The operations of one region."""

    def __init__(self, training: TrainingApi, hosting: HostingApi, resources: Resources) -> None:
        self._training = training
        self._resources = resources
        self.table: Final[Mapping[str, Handler]] = {
            "CreateTrainingJob": training.create,
            "DescribeTrainingJob": training.describe,
            "ListTrainingJobs": training.listed,
            "StopTrainingJob": training.stop,
            "DeleteTrainingJob": training.delete,
            "Search": training.search,
            "CreateModel": hosting.create_model,
            "DescribeModel": partial(hosting.describe, "model"),
            "ListModels": partial(resources.listed, "model"),
            "DeleteModel": partial(hosting.delete, "model"),
            "CreateEndpointConfig": hosting.create_config,
            "DescribeEndpointConfig": partial(hosting.describe, "endpoint-config"),
            "ListEndpointConfigs": partial(resources.listed, "endpoint-config"),
            "DeleteEndpointConfig": partial(hosting.delete, "endpoint-config"),
            "CreateEndpoint": hosting.create_endpoint,
            "DescribeEndpoint": partial(hosting.describe, "endpoint"),
            "ListEndpoints": partial(resources.listed, "endpoint"),
            "DeleteEndpoint": hosting.delete_endpoint,
            "AddTags": partial(self._change_tags, add_tags),
            "ListTags": partial(self._change_tags, list_tags),
            "DeleteTags": partial(self._change_tags, delete_tags),
        }

    def answer(self, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer; None when the operation, or the resource that it names, is not ours. Raises AwsError."""
        if operation not in self.table:
            return None
        shapes.check(operation, body)
        check_tags(body.get("Tags") or ())
        return self.table[operation](shapes.known(operation, body))

    def _change_tags(self, change: Callable[[Tagged, Body], Body], body: Body) -> Mapping[str, Any] | None:
        """Change or list the tags of whatever has the ARN; None where that is nothing of ours."""
        tagged = self._training.tagged(body["ResourceArn"]) or self._resources.tagged(body["ResourceArn"])
        return change(tagged, body) if tagged is not None else None


def is_motos(operation: str) -> bool:
    """Return whether moto's answer to an operation is worth passing on."""
    noun = next((operation.removeprefix(verb) for verb in _VERBS if operation.startswith(verb)), "")
    return noun in _NOUNS or operation == "Search"
