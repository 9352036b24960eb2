"""Service jobs of AWS Batch on a virtual clock: queued, never started. What is answered is botocore's model of Batch and its API text
(https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitServiceJob.html).

A second request with the client token of a first one makes nothing. The API text says that it "is rejected", and no answer of that kind
is public: here it is the first one's answer, or – where ``rejects`` says so – an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

QUEUE = "arn:aws:batch:us-west-2:123456789012:job-queue/training"


class Batch:
    """Answers by operation. ``submitted`` counts the jobs that were made, by name."""

    def __init__(self, now: Callable[[], float], refusal: type[Exception]) -> None:
        self._now = now
        self._refusal = refusal
        self.jobs: dict[str, dict[str, Any]] = {}
        self.submitted: Counter[str] = Counter()
        self.rejects = False
        self.list_lag_s = 0.0
        self._tokens: dict[str, str] = {}

    def answers(self, operation: str) -> bool:
        return operation.endswith(("ServiceJob", "ServiceJobs")) or operation == "GetJobQueueSnapshot"

    def answer(self, operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "SubmitServiceJob": self._submit,
            "DescribeServiceJob": self._job,
            "ListServiceJobs": self._list,
            "TerminateServiceJob": self._terminate,
            "GetJobQueueSnapshot": self._front,
        }[operation](body)

    def _job(self, body: Mapping[str, Any]) -> dict[str, Any]:
        found = self.jobs.get(body["jobId"].rsplit("/", 1)[-1])
        if found is None:
            raise self._refusal("ClientException", f"Service job {body['jobId']} does not exist")
        return found

    def _submit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        token = str(body["clientToken"])
        if token in self._tokens and self.rejects:
            raise self._refusal("ClientException", "A request with this client token was received before")
        if token not in self._tokens:
            number = f"00000000-0000-4000-8000-{len(self.jobs):012d}"
            self._tokens[token] = number
            self.submitted[body["jobName"]] += 1
            self.jobs[number] = {
                **{key: value for key, value in body.items() if key != "clientToken"},
                "jobId": number,
                "jobArn": f"arn:aws:batch:us-west-2:123456789012:service-job/{number}",
                "jobQueue": QUEUE,
                "status": "RUNNABLE",
                "createdAt": int(self._now() * 1000),
                "startedAt": 0,
            }
        made = self.jobs[self._tokens[token]]
        return {name: made[name] for name in ("jobArn", "jobName", "jobId")}

    def _list(self, body: Mapping[str, Any]) -> dict[str, Any]:
        known = [each for each in self.jobs.values() if each["createdAt"] <= (self._now() - self.list_lag_s) * 1000]
        for wanted in body.get("filters", ()):
            if wanted["name"] == "JOB_NAME":
                known = [each for each in known if each["jobName"].lower() == wanted["values"][0].lower()]
        if not body.get("filters"):
            known = [each for each in known if each["status"] == body.get("jobStatus", "RUNNING")]
        rows = sorted(known, key=lambda each: -each["createdAt"])
        start, size = int(body.get("nextToken") or 0), body.get("maxResults", 100)
        names = ("jobArn", "jobId", "jobName", "serviceJobType", "status", "createdAt", "latestAttempt", "statusReason")
        page = [{name: each[name] for name in names if name in each} for each in rows[start : start + size]]
        more = {"nextToken": str(start + size)} if start + size < len(rows) else {}
        return {"jobSummaryList": page, **more}

    def _terminate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        job = self._job(body)
        if job["status"] == "RUNNABLE":
            job |= {"status": "FAILED", "isTerminated": True, "statusReason": body["reason"]}
        return {}

    def _front(self, _body: Mapping[str, Any]) -> dict[str, Any]:
        rows = [each for each in self.jobs.values() if each["status"] == "RUNNABLE"]
        rows.sort(key=lambda each: (-each.get("schedulingPriority", 0), each["createdAt"]))
        return {
            "frontOfQueue": {"jobs": [{"jobArn": each["jobArn"], "earliestTimeAtPosition": 0} for each in rows[:100]]}
        }
