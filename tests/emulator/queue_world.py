"""Batch over a store in memory, on a clock of its own: training jobs are made, and run as long as the test says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from emulator.contract import World, misfits

from sm_trn.emulator.api.shapes import service_model
from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.queueing.api import JOB
from sm_trn.emulator.queueing.service import Batch
from sm_trn.emulator.training.engine import Event

REQUEST = {
    "RoleArn": "arn:aws:iam::000000000000:role/SageMakerExecutionRole",
    "AlgorithmSpecification": {"TrainingImage": "a", "TrainingInputMode": "File"},
    "OutputDataConfig": {"S3OutputPath": "s3://b/out"},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
}


class QueueWorld(World):
    """``started`` are the service jobs in the order in which training jobs were made for them."""

    def __init__(self) -> None:
        super().__init__()
        self.batch = Batch(self.resources, self.jobs, self.training)
        self.batch.scheduler.shutdown()  # no thread: the tests look themselves
        self.training_jobs: list[str] = []
        self.stopped: set[str] = set()

    def start(self, name: str) -> None:
        """A training job was made."""
        self.training_jobs.append(name)

    def stop(self, name: str) -> None:
        """A training job is asked to stop, and does at once."""
        self.stopped.add(name)
        self.jobs.apply(name, Event.STOP)
        self.jobs.apply(name, Event.FINISH)

    def call(self, operation: str, **body: Any) -> Mapping[str, Any]:
        """The answer, which has the model's shape. Raises AwsError, with a code of the model."""
        model = service_model("batch").operation_model(operation)
        try:
            answer = self.batch.answer(operation, body)
        except AwsError as fault:
            if fault.code not in {shape.name for shape in model.error_shapes} or not fault.message:
                raise TypeError(f"{operation}: {fault.code} is no error of the model") from fault
            raise
        assert answer is not None
        assert [] == misfits(model.output_shape, answer), operation
        return answer

    def queue(self, capacity: int, *, unit: str = "NUM_INSTANCES", policy: Mapping[str, Any] | None = None) -> None:
        """A queue ``q`` with one service environment, and a policy."""
        kind = {"serviceEnvironmentType": "SAGEMAKER_TRAINING"}
        limits = [{"maxCapacity": capacity, "capacityUnit": unit}]
        self.call("CreateServiceEnvironment", serviceEnvironmentName="env", capacityLimits=limits, **kind)
        chosen = {}
        if policy is not None:
            chosen = {"schedulingPolicyArn": self.call("CreateSchedulingPolicy", name="policy", **policy)["arn"]}
        order = [{"order": 1, "serviceEnvironment": "env"}]
        self.call("CreateJobQueue", jobQueueName="q", priority=1, serviceEnvironmentOrder=order, **chosen)

    def submit(self, name: str = "job", *, count: int = 1, instance: str = "ml.m5.large", **body: Any) -> str:
        """The id of a new job."""
        cluster = {"InstanceType": instance, "InstanceCount": count, "VolumeSizeInGB": 1}
        payload = json.dumps({**REQUEST, "TrainingJobName": name, "ResourceConfig": cluster})
        kind = {"serviceJobType": "SAGEMAKER_TRAINING", "jobQueue": "q"}
        return str(self.call("SubmitServiceJob", jobName=name, serviceRequestPayload=payload, **kind, **body)["jobId"])

    def look(self, seconds: float = 1.0) -> list[str]:
        """Let time pass and the scheduler look; the ids of the jobs that it started, in order."""
        self.now += seconds
        before = len(self.training_jobs)
        self.batch.scheduler.look()
        owner = {
            each.facts["attempts"][-1].get("name"): each.name
            for each in self.resources.of_kind(JOB)
            if each.facts["attempts"]
        }
        return [owner[name] for name in self.training_jobs[before:]]

    def training_of(self, job: str) -> str:
        return str(self.resources.get(JOB, job).facts["attempts"][-1]["name"])

    def run(self, job: str) -> None:
        for event in (Event.DOWNLOAD, Event.TRAIN):
            self.jobs.apply(self.training_of(job), event)

    def finish(self, job: str, *, reason: str = "") -> None:
        """The newest training job of a service job completes, or fails for a reason."""
        for event in (Event.DOWNLOAD, Event.TRAIN, *((Event.FAIL,) if reason else (Event.UPLOAD, Event.FINISH))):
            self.jobs.apply(self.training_of(job), event, reason=reason)

    def status(self, job: str) -> str:
        return str(self.call("DescribeServiceJob", jobId=job)["status"])
