"""The life of jobs: made, described in every phase, ended well and badly; their tags, and where lists and searches put them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ....core.specs.json import Json, Object
from ..bench import Bench
from ..jobs import JOBS, request_of
from ..journal import TAG
from ..probe import LIFE, Probe

_MAKE = ("s3:PutObject", "sagemaker:CreateTrainingJob", "sagemaker:DescribeTrainingJob")
OURS = "sm-trn:"  # of every tag that a run sets; an account may add tags of its own


def _life(key: str, bench: Bench) -> None:
    bench.until(key)


def _again(bench: Bench) -> None:
    bench.job("plain")
    bench.ask("sagemaker:CreateTrainingJob", request_of(JOBS["plain"], bench.place), "the same name again")


def _training(bench: Bench) -> None:
    bench.until("stopped", "Training")


def _deleted_while_it_runs(bench: Bench) -> None:
    bench.until("stopped", "Training", kept=False)
    bench.ask("sagemaker:DeleteTrainingJob", {"TrainingJobName": bench.name("stopped")}, "while it trains")


def own_tags(answer: Object) -> Json:
    """The tags that a run set, in the order of the answer."""
    tags = answer.get("Tags")
    rows = tags if isinstance(tags, Sequence) and not isinstance(tags, str) else ()
    kept = [row for row in rows if isinstance(row, Mapping) and str(row.get("Key", "")).startswith(OURS)]
    return {**answer, "Tags": kept}


def _tags(bench: Bench) -> None:
    bench.job("plain")
    arn = bench.ask("sagemaker:DescribeTrainingJob", {"TrainingJobName": bench.name("plain")}, kept=False).text(
        "TrainingJobArn"
    )
    more = [{"Key": f"{OURS}line", "Value": "1"}]
    bench.ask("sagemaker:ListTags", {"ResourceArn": arn}, "as it was made", keep=own_tags)
    bench.ask("sagemaker:AddTags", {"ResourceArn": arn, "Tags": more}, keep=own_tags)
    bench.ask("sagemaker:DeleteTags", {"ResourceArn": arn, "TagKeys": [f"{OURS}line"]})
    bench.ask("sagemaker:ListTags", {"ResourceArn": arn}, "after one was added and deleted", keep=own_tags)


def _page(bench: Bench) -> None:
    """The run's own jobs, two a page: their order, and that the second page goes on where the first ends."""
    for key in ("plain", "stopped", "failing"):
        bench.job(key)
    request: Object = {
        "NameContains": bench.place.run,
        "SortBy": "CreationTime",
        "SortOrder": "Ascending",
        "MaxResults": 2,
    }
    first = bench.ask("sagemaker:ListTrainingJobs", request, "first page")
    token = first.text("NextToken")
    if token:
        bench.ask("sagemaker:ListTrainingJobs", {**request, "NextToken": token}, "second page")


def _by_name(bench: Bench) -> None:
    for key in ("plain", "stopped", "failing"):
        bench.job(key)
    request: Object = {
        "NameContains": bench.place.run,
        "SortBy": "Name",
        "SortOrder": "Descending",
        "StatusEquals": "Failed",
    }
    bench.until("failing", kept=False)
    bench.ask("sagemaker:ListTrainingJobs", request, "by name, failed ones")


def _names(answer: Object) -> Json:
    rows = answer.get("Results")
    found = [row.get("TrainingJob") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    jobs = [{**job, **_as_tags(job)} for job in found if isinstance(job, Mapping)]
    return {"Results": [{"TrainingJob": job} for job in jobs]}


def _as_tags(job: Object) -> Object:
    tags = own_tags({"Tags": job.get("Tags")})
    return tags if isinstance(tags, Mapping) else {}


def _found(bench: Bench) -> None:
    """Search is an index that follows: how soon it knows of a job is a delay that is kept."""
    bench.until("plain", kept=False)
    name = bench.name("plain")
    filters: Json = [
        {"Name": f"Tags.{TAG}", "Operator": "Equals", "Value": bench.place.run},
        {"Name": "TrainingJobName", "Operator": "Equals", "Value": name},
    ]
    request: Object = {"Resource": "TrainingJob", "SearchExpression": {"Filters": filters}}

    def ended(answer: Object) -> bool:
        rows = answer.get("Results")
        first = rows[0] if isinstance(rows, list) and rows else {}
        job = first.get("TrainingJob") if isinstance(first, Mapping) else {}
        return isinstance(job, Mapping) and job.get("TrainingJobStatus") == "Completed"

    bench.polled("sagemaker:Search", request, ended, "by tag and name", _names)


PROBES: Final = (
    Probe(name="a job that completes", battery=LIFE, sends=_MAKE, send=partial(_life, "plain"), jobs=("plain",)),
    Probe(
        name="create with a name that is taken",
        battery=LIFE,
        sends=("sagemaker:CreateTrainingJob",),
        send=_again,
        jobs=("plain",),
    ),
    Probe(
        name="a job that fails with a reason",
        battery=LIFE,
        sends=_MAKE,
        send=partial(_life, "failing"),
        jobs=("failing",),
    ),
    Probe(
        name="a script that raises", battery=LIFE, sends=_MAKE, send=partial(_life, "script"), jobs=("script",)
    ),
    Probe(name="a job in Training", battery=LIFE, sends=_MAKE, send=_training, jobs=("stopped",)),
    Probe(
        name="delete a job in Training",
        battery=LIFE,
        sends=("sagemaker:DeleteTrainingJob", "sagemaker:DescribeTrainingJob"),
        send=_deleted_while_it_runs,
        jobs=("stopped",),
    ),
    Probe(
        name="tags of a job",
        battery=LIFE,
        sends=(
            "sagemaker:DescribeTrainingJob",
            "sagemaker:ListTags",
            "sagemaker:AddTags",
            "sagemaker:DeleteTags",
        ),
        send=_tags,
        jobs=("plain",),
    ),
    Probe(
        name="two pages of jobs",
        battery=LIFE,
        sends=("sagemaker:ListTrainingJobs",),
        send=_page,
        jobs=("plain", "stopped", "failing"),
    ),
    Probe(
        name="failed jobs by name",
        battery=LIFE,
        sends=("sagemaker:ListTrainingJobs", "sagemaker:DescribeTrainingJob"),
        send=_by_name,
        jobs=("plain", "stopped", "failing"),
    ),
    Probe(
        name="search a job by its tag",
        battery=LIFE,
        sends=("sagemaker:Search", "sagemaker:DescribeTrainingJob"),
        send=_found,
        jobs=("plain",),
    ),
)  # fmt: skip
