"""Training queues of one region: Batch's operations, by their paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..api import shapes
from ..errors import AwsError
from ..http.response import document, json_body
from ..service import Handler, HttpAnswer, ReadBody, RegionParts, Service
from .api import QueueApi
from .jobs import JobApi
from .request import client_error
from .scheduler import QueueScheduler

if TYPE_CHECKING:
    from ..state.resources import Resources
    from ..training.api import TrainingApi
    from ..training.jobs import Jobs


class QueueService(Service):
    """It starts the training jobs that wait in queues."""

    def __init__(self, parts: RegionParts) -> None:
        self.operations = {}
        self.batch = Batch(parts.resources, parts.jobs, parts.training)

    def answer(self, method: str, path: str, body: ReadBody, fields: Mapping[str, str]) -> HttpAnswer | None:
        """Answer one of Batch's operations on service jobs; None for any other path, and for what is not ours."""
        del fields
        found = shapes.operation_at("batch", method, path)
        if found is None or found[0] not in self.batch.operations:
            return None
        answer = self.batch.answer(found[0], {**document(body()), **found[1]})
        return None if answer is None else json_body(answer)

    def restore(self) -> None:
        self.batch.scheduler.restore()

    def shutdown(self) -> None:
        self.batch.scheduler.shutdown()


class Batch:
    """The table of Batch's operations that are ours, and their one scheduler."""

    def __init__(self, resources: Resources, jobs: Jobs, training: TrainingApi) -> None:
        queues = QueueApi(resources)
        self.scheduler = QueueScheduler(resources, jobs, training, queues)
        self.operations = operations(queues, JobApi(resources, queues, self.scheduler))

    def answer(self, operation: str, body: Mapping[str, object]) -> Mapping[str, object] | None:
        """The answer to a request that has the shape of one. Raises AwsError."""
        try:
            shapes.check(operation, body, "batch")
        except AwsError as fault:
            raise client_error(fault.message) from fault
        return self.operations[operation](shapes.known(operation, body, "batch"))


def operations(queues: QueueApi, jobs: JobApi) -> Mapping[str, Handler]:
    """Each operation and who answers it."""
    return {
        "CreateServiceEnvironment": queues.create_environment,
        "DescribeServiceEnvironments": queues.describe_environments,
        "UpdateServiceEnvironment": queues.update_environment,
        "DeleteServiceEnvironment": queues.delete_environment,
        "CreateSchedulingPolicy": queues.create_policy,
        "DescribeSchedulingPolicies": queues.describe_policies,
        "ListSchedulingPolicies": queues.list_policies,
        "UpdateSchedulingPolicy": queues.update_policy,
        "DeleteSchedulingPolicy": queues.delete_policy,
        "CreateJobQueue": queues.create_queue,
        "DescribeJobQueues": queues.describe_queues,
        "UpdateJobQueue": queues.update_queue,
        "DeleteJobQueue": queues.delete_queue,
        "CreateQuotaShare": queues.create_share,
        "DescribeQuotaShare": queues.describe_share,
        "ListQuotaShares": queues.list_shares,
        "UpdateQuotaShare": queues.update_share,
        "DeleteQuotaShare": queues.delete_share,
        "GetJobQueueSnapshot": jobs.snapshot,
        "SubmitServiceJob": jobs.submit,
        "DescribeServiceJob": jobs.describe,
        "ListServiceJobs": jobs.listed,
        "UpdateServiceJob": jobs.update,
        "TerminateServiceJob": jobs.terminate,
        "TerminateServiceJobs": jobs.terminate_all,
        "ListTagsForResource": queues.tags,
        "TagResource": queues.tag,
        "UntagResource": queues.untag,
    }
