"""SageMaker's operations on training jobs: they check, record and describe, and ask the supervisor to start, stop or interrupt."""

from __future__ import annotations

from typing import Any

from ..api import shapes
from ..api.listing import select, tags_of
from ..api.shapes import Body, given
from ..container.context import Context
from ..errors import AwsError, validation
from ..options import EMULATED_ACCOUNT, SUBSTITUTED_TAG
from . import engine, rules
from .jobs import KIND, Job, Jobs
from .plan import DAY, plan_of
from .supervisor import Supervisor

_CHANGED = {
    "TrainingJobName",
    "StoppingCondition",
    "InputDataConfig",
    "OutputDataConfig",
}  # not described as they were sent


class TrainingApi:
    """The operations on training jobs, and the emulator's own on them. Every one raises AwsError."""

    def __init__(self, context: Context, jobs: Jobs, supervisor: Supervisor) -> None:
        self.jobs = jobs
        self._context = context
        self._supervisor = supervisor

    def interrupt(self, name: str, *, notice: bool) -> None:
        """Take a spot job's capacity away, with or without notice: the emulator's own control. Raises AwsError."""
        job = self.jobs.get(name)
        if not job.state.spot:
            raise validation(f"{job.name!r} is no managed spot job; only those can be interrupted")
        if job.state.secondary != "Training":
            raise validation(f"{job.name!r} is in {job.state.secondary}; only a job in Training can be interrupted")
        self._supervisor.interrupt(job.name, notice=notice)

    def create(self, body: Body) -> dict[str, str]:
        """Answer CreateTrainingJob: the job runs, or waits."""
        context, objects = self._context, self._context.objects
        objects.ready.wait()
        rules.check_request(body, lambda bucket, prefix: bool(objects.keys(bucket, prefix)), context.region)
        name = body["TrainingJobName"]
        arn = f"arn:aws:sagemaker:{context.region}:{EMULATED_ACCOUNT}:{KIND}/{name.lower()}"
        tags = tags_of(body.pop("Tags", []))
        substituted = plan_of(body, context.options).substituted
        if substituted:
            tags[SUBSTITUTED_TAG] = substituted
        state = engine.begin(self.jobs.now(), spot=bool(body.get("EnableManagedSpotTraining")))
        objects.save()  # the job's source and data: while it waits it survives a kill
        self.jobs.add(Job(name=name, arn=arn, request=body, state=state, tags=tags))
        self._supervisor.start(name)
        return {"TrainingJobArn": arn}

    def describe(self, body: Body) -> dict[str, Any]:
        return self._described(self.jobs.get(body["TrainingJobName"]))

    def listed(self, body: Body) -> dict[str, Any]:
        """Answer ListTrainingJobs. StatusEquals thins a page after it was cut, as the service documents."""
        plan, status = body.get("TrainingPlanArnEquals"), body.get("StatusEquals")
        jobs = [] if body.get("WarmPoolStatusEquals") else self.jobs.all()  # there are no warm pools here
        if plan is not None:
            jobs = [job for job in jobs if job.request["ResourceConfig"].get("TrainingPlanArn") == plan]
        rows, more = select(jobs, body)
        summaries = [
            given(
                TrainingJobName=job.name,
                TrainingJobArn=job.arn,
                CreationTime=job.created,
                LastModifiedTime=job.modified,
                TrainingJobStatus=job.status,
                SecondaryStatus=job.state.secondary,
                TrainingEndTime=job.state.ended,
                TrainingPlanArn=job.request["ResourceConfig"].get("TrainingPlanArn") or None,
            )
            for job in rows
            if status in {None, job.status}
        ]
        return {"TrainingJobSummaries": summaries, **more}

    def stop(self, body: Body) -> dict[str, str]:
        """Answer StopTrainingJob. Raises AwsError for a job that has ended."""
        job = self.jobs.get(body["TrainingJobName"])
        if job.state.terminal:
            raise validation(f"The request was rejected because the training job is in status {job.status}.")
        self._supervisor.stop(job.name)
        return {}

    def delete(self, body: Body) -> dict[str, str]:
        """Answer DeleteTrainingJob. Raises AwsError for a job that still runs."""
        job = self.jobs.get(body["TrainingJobName"])
        if not job.state.terminal:
            raise AwsError(
                "ResourceInUse", f"The request was rejected because the training job is in status {job.status}."
            )
        self.jobs.remove(KIND, job.name)
        return {}

    def _described(self, job: Job) -> dict[str, Any]:
        """Return the whole answer of DescribeTrainingJob. Times are epoch seconds, as on the wire."""
        now, request, state = self.jobs.now(), job.request, job.state
        trained = state.training_seconds(now)
        answered = shapes.service_model().shape_for("DescribeTrainingJobResponse").members
        flags = [name for name, shape in answered.items() if shape.type_name == "boolean"]
        rows = [
            given(Status=row.status, StartTime=row.start, EndTime=row.end, StatusMessage=row.message)
            for row in state.transitions
        ]
        plain = {"CompressionType": "None", "RecordWrapperType": "None"}
        metrics = [{"MetricName": each.name, "Value": each.value, "Timestamp": each.timestamp} for each in job.metrics]
        sent = {
            name: value
            for name, value in request.items()
            if name in answered and value and name not in {*_CHANGED, *flags}
        }
        return given(
            TrainingJobName=job.name,
            TrainingJobArn=job.arn,
            ModelArtifacts={"S3ModelArtifacts": job.model_uri} if job.model_uri is not None else None,
            TrainingJobStatus=state.status,
            SecondaryStatus=state.secondary,
            FailureReason=state.failure_reason,
            **sent,
            StoppingCondition={"MaxRuntimeInSeconds": DAY, **request.get("StoppingCondition", {})},
            InputDataConfig=[{**plain, **channel} for channel in request.get("InputDataConfig") or ()] or None,
            OutputDataConfig={"KmsKeyId": "", "CompressionType": "GZIP", **request["OutputDataConfig"]},
            **{name: bool(request.get(name)) for name in flags},
            CreationTime=state.created,
            TrainingStartTime=state.started,
            TrainingEndTime=state.ended,
            LastModifiedTime=state.modified,
            # No answer of the service with 0 is known: the member is absent until a job has instances, then at least what is billed.
            TrainingTimeInSeconds=None if trained is None else max(1, trained),
            BillableTimeInSeconds=state.billable_seconds(now, self._context.options.spot_discount),
            SecondaryStatusTransitions=rows,
            FinalMetricDataList=metrics or None,
            ProfilingStatus="Disabled",
        )
