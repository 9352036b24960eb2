"""The one table of SageMaker's operations: each name with the function that answers it, checked against botocore's shape.

What moto keeps honest records of is forwarded to it; anything else is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from .api import shapes
from .api.listing import MARKS, check_tags, tag_list, tags_of
from .api.shapes import Body
from .errors import validation
from .hosting.endpoints import Endpoints
from .state.registry import Registry
from .state.resources import Resources
from .training.api import TrainingApi

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
    """SageMaker's operations that this package answers."""

    def __init__(self, training: TrainingApi, hosting: Endpoints, resources: Resources) -> None:
        self._registries: tuple[Registry[Any], ...] = (training.jobs, resources)
        # Each takes the checked request; None is the answer of an operation on a resource that is not ours.
        self.table: Final[Mapping[str, Callable[[Any], Mapping[str, Any] | None]]] = {
            "CreateTrainingJob": training.create,
            "DescribeTrainingJob": training.describe,
            "ListTrainingJobs": training.listed,
            "StopTrainingJob": training.stop,
            "DeleteTrainingJob": training.delete,
            "CreateModel": hosting.create_model,
            "CreateEndpointConfig": hosting.create_config,
            "CreateEndpoint": hosting.create_endpoint,
            "DeleteEndpoint": hosting.delete_endpoint,
            "DescribeEndpoint": hosting.describe_endpoint,
            "ListModels": partial(resources.listed, "model"),
            "DescribeModel": partial(resources.describe, "model"),
            "DeleteModel": partial(resources.delete, "model"),
            "ListEndpointConfigs": partial(resources.listed, "endpoint-config"),
            "DescribeEndpointConfig": partial(resources.describe, "endpoint-config"),
            "DeleteEndpointConfig": partial(resources.delete, "endpoint-config"),
            "ListEndpoints": partial(resources.listed, "endpoint"),
            "AddTags": self._change_tags,
            "ListTags": self._change_tags,
            "DeleteTags": self._change_tags,
        }

    def answer(self, operation: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer; None when the operation, or the resource that it names, is not ours. Raises AwsError."""
        if operation not in self.table:
            return None
        shapes.check(operation, body)
        check_tags(body.get("Tags") or ())
        return self.table[operation](shapes.known(operation, body))

    def _change_tags(self, body: Body) -> Mapping[str, Any] | None:
        """Add, delete or list the tags of whatever has the ARN. The marks of a rehearsal stay."""
        for registry in self._registries:
            resource = registry.by_arn(body["ResourceArn"])
            if resource is None:
                continue
            tags = dict(resource.tags)
            if "TagKeys" in body:
                tags = {key: value for key, value in tags.items() if key in MARKS or key not in body["TagKeys"]}
            elif "Tags" in body:
                check_tags(body["Tags"], tags)
                tags |= tags_of(body["Tags"])
            if tags != resource.tags:
                registry.retag(resource, tags)
            return {} if "TagKeys" in body else {"Tags": tag_list(tags)}
        if ":training-job/" in body["ResourceArn"]:
            raise validation(f"Could not find training job {body['ResourceArn']!r}")
        return None


def is_motos(operation: str) -> bool:
    """Return whether moto's answer to an operation is worth passing on."""
    noun = next((operation.removeprefix(verb) for verb in _VERBS if operation.startswith(verb)), "")
    return noun in _NOUNS or operation == "Search"
