"""CloudWatch's measurements of a training job's hosts: processor, accelerator, memory, disk.

https://docs.aws.amazon.com/sagemaker/latest/dg/monitoring-cloudwatch.html (training jobs: dimension Host, one minute)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3

from ..specs.metrics import MetricPoint
from ..specs.snapshot import JobSnapshot
from .backend import make_client
from .errors import as_cloud_error

NAMESPACE = "/aws/sagemaker/TrainingJobs"
METRICS = (
    "CPUUtilization", "MemoryUtilization", "DiskUtilization", "GPUUtilization", "GPUMemoryUtilization",
)  # fmt: skip
_QUERIES = 500  # of one GetMetricData call
_DAY_S = 86_400
# How long CloudWatch keeps which resolution:
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html (metrics retention)
_KEPT = ((15 * _DAY_S, 60), (63 * _DAY_S, 300))


class CloudWatchUtilization:
    """The ``Utilization`` port over a boto3 session."""

    def __init__(self, session: boto3.Session) -> None:
        self._session = session

    def fetch_utilization(self, snapshot: JobSnapshot, *, now: float) -> tuple[MetricPoint, ...]:
        return fetch_utilization(self._session, snapshot, now=now)


def fetch_utilization(session: boto3.Session, snapshot: JobSnapshot, *, now: float) -> tuple[MetricPoint, ...]:
    """Averages in percent by host and time; 100 is one core or one GPU, so eight GPUs reach 800. Raises CloudError.

    Empty for a job that has not begun, and where CloudWatch has nothing.
    """
    begin = snapshot.started or snapshot.created
    if begin is None:
        return ()
    end = snapshot.ended.timestamp() if snapshot.ended else now
    period = next((period for age, period in _KEPT if now - begin.timestamp() < age), 3600)
    hosts = [f"algo-{number}" for number in range(1, snapshot.count + 1)]
    queries = [_query(snapshot.name, host, name, period) for host in hosts for name in METRICS]
    client = make_client(session, "cloudwatch")
    points: list[MetricPoint] = []
    for at in range(0, len(queries), _QUERIES):
        asked = {
            "MetricDataQueries": [
                {**query, "Id": f"q{index}"} for index, query in enumerate(queries[at : at + _QUERIES], start=at)
            ],
            "StartTime": begin.timestamp() // period * period,
            "EndTime": end + period,
            "ScanBy": "TimestampAscending",
        }
        with as_cloud_error("GetMetricData", snapshot.name):
            for page in client.get_paginator("get_metric_data").paginate(**asked):
                points.extend(_points(page, hosts))
    return tuple(sorted(points, key=lambda point: (point.time_s or 0.0, point.host, point.name)))


def _query(job: str, host: str, name: str, period: int) -> dict[str, Any]:
    metric = {
        "Namespace": NAMESPACE,
        "MetricName": name,
        "Dimensions": [{"Name": "Host", "Value": f"{job}/{host}"}],
    }
    return {"MetricStat": {"Metric": metric, "Period": period, "Stat": "Average"}, "ReturnData": True}


def _points(page: dict[str, Any], hosts: list[str]) -> Iterator[MetricPoint]:
    for result in page["MetricDataResults"]:
        host, name = divmod(int(result["Id"][1:]), len(METRICS))
        for when, value in zip(result["Timestamps"], result["Values"], strict=True):
            yield MetricPoint(METRICS[name], float(value), time_s=when.timestamp(), host=hosts[host])
