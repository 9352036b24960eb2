"""Jobs share a section, and percentages, only if they did the same work: data, and source or arguments."""

from __future__ import annotations

from typing import Any

import pytest
from report_jobs import describe

from sm_trn.core.specs import JobRecord, parse_snapshot
from sm_trn.core.specs.record import record
from sm_trn.report import Comparison, compare


def ran(name: str, *, source: str = "s3://bucket-east/src/1.tar.gz", data: str = "s3://bucket-east/imdb", seconds: int = 600,
        **arguments: Any) -> JobRecord:  # fmt: skip
    told = {
        "sagemaker_program": '"train.py"',
        "sagemaker_submit_directory": f'"{source}"',
        **{key: f'"{value}"' for key, value in arguments.items()},
    }
    channel = {"ChannelName": "train", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": data}}}
    answer = describe(name, HyperParameters=told, InputDataConfig=[channel], BillableTimeInSeconds=seconds)
    return record(parse_snapshot(answer), [], workload="train")


def percentages(item: Comparison) -> list[float]:
    return [float(value) for value in item.frame["cost_saving_pct"].dropna()]


def test_two_unrelated_scripts_of_one_name_are_two_workloads() -> None:
    item = compare(
        [
            ran("reviews", epochs=3),
            ran("houses", source="s3://b/other.tar.gz", data="s3://b/houses", trees=9, seconds=900),
        ]
    )
    assert ["train, as reviews", "train, as houses"] == [section.workload for section in item.sections]
    assert [] == percentages(item)


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 3e-5, "epochs": 9},  # another value is what a comparison is about
        {"learning_rate": 1e-5, "epochs": 3, "source": "s3://bucket-east/src/2.tar.gz"},  # an edited script
        {
            "learning_rate": 1e-5,
            "epochs": 3,
            "data": "s3://bucket-west/imdb/",
        },  # the same data, in another region's bucket
        {"learning_rate": 1e-5, "epochs": 3, "seed": 1},  # one argument more of the same source
    ],
)
def test_the_same_work_stays_together(changes: dict[str, Any]) -> None:
    item = compare([ran("a", learning_rate=1e-5, epochs=3), ran("b", seconds=900, **changes)])
    assert ["train"] == [section.workload for section in item.sections]
    assert [-50.0] == percentages(item)


def test_other_data_are_other_work() -> None:
    assert 2 == len(compare([ran("a", epochs=3), ran("b", epochs=3, data="s3://bucket-east/amazon")]).sections)


def test_a_workload_that_somebody_named_is_believed() -> None:
    one, other = ran("a"), ran("b", data="s3://b/houses")
    named = [record(item.snapshot, [], workload="my benchmark") for item in (one, other)]
    assert ["my benchmark"] == [section.workload for section in compare(named).sections]
