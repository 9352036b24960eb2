"""No secret, account, name or address of anybody is in a record, wherever an answer may hold one."""

from __future__ import annotations

import io
import json
import string
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from email.utils import format_datetime
from typing import Any

import boto3
import pytest
from account_answers import LOADER
from botocore.awsrequest import AWSResponse
from hypothesis import assume, given, settings
from hypothesis import strategies as some
from wired import QuickClock

from sm_trn.account.conformance.answers import Answered, Answers, dump_answers
from sm_trn.account.conformance.bench import Bench, Unanswered
from sm_trn.account.conformance.jobs import Place
from sm_trn.account.conformance.probes import HOSTED, PROBES
from sm_trn.account.conformance.probes.life import own_tags
from sm_trn.account.conformance.probes.telemetry import own_lines
from sm_trn.account.conformance.scrub import Scrubber
from sm_trn.account.conformance.target import Target
from sm_trn.account.conformance.vocabulary import vocabulary

REGION, RUN = "us-west-2", "0a1b2c3d"
_LETTERS = string.ascii_letters + string.digits
# Names that people give: no word of AWS's documentation, which a record may hold.
_names = some.builds(
    lambda one, two: f"{one}{two}",
    some.text(_LETTERS, min_size=6, max_size=20),
    some.sampled_from(("7q9x2z", "-qzxjv")),
)
_accounts = some.text(string.digits, min_size=12, max_size=12)
_keys = some.builds(
    lambda rest: f"AKIA{rest}", some.text(string.ascii_uppercase + string.digits, min_size=16, max_size=16)
)
_secrets = some.text(_LETTERS + "+/", min_size=40, max_size=40)
_mails = some.builds(lambda name: f"{name}@example.org", _names)
_addresses = some.builds(lambda a, b: f"10.{a}.{b}.17", some.integers(10, 255), some.integers(10, 255))
_hosts = some.builds(lambda name: f"{name}.example.internal", _names)


@some.composite
def canaries(draw: Any) -> dict[str, str]:
    found = {
        "account": draw(_accounts), "key": draw(_keys), "secret": draw(_secrets), "token": draw(_secrets), "role": draw(_names),
        "user": draw(_names), "bucket": draw(_names).lower(), "tag": draw(_names), "variable": draw(_names), "value": draw(_secrets),
        "mail": draw(_mails), "address": draw(_addresses), "host": draw(_hosts), "line": draw(_names), "agent": draw(_names),
        "hyperparameter": draw(_names), "request": draw(some.uuids()).hex, "job": draw(_names), "path": draw(_names),
    }  # fmt: skip
    assume(not any(value.lower() in vocabulary() for value in found.values()))
    return found


class _Body(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.getvalue()


class Talkative:
    """A service whose every answer holds every canary, in each place where one could stand."""

    def __init__(self, canaries: Mapping[str, str]) -> None:
        self.canaries = canaries
        everything = " ".join(canaries.values())
        c, arn = canaries, f"arn:aws:sagemaker:{REGION}:{canaries['account']}:training-job/{canaries['job']}"
        self.sentence = (
            f'User: arn:aws:iam::{c["account"]}:user/{c["user"]} may not see s3://{c["bucket"]}/{c["path"]}/x of role "{c["role"]}" '
            f"on https://{c['host']}/?X-Amz-Signature={c['token']} from {c['address']}, {c['mail']}: {everything}"
        )
        tags = [{"Key": c["tag"], "Value": c["value"]}, {"Key": f"sm-trn:{c['tag']}", "Value": c["mail"]}]
        self.job = {
            "TrainingJobName": c["job"],
            "TrainingJobArn": arn,
            "TrainingJobStatus": "Completed",
            "SecondaryStatus": "Completed",
            "FailureReason": self.sentence,
            "ModelArtifacts": {"S3ModelArtifacts": f"s3://{c['bucket']}/{c['path']}/model.tar.gz"},
            "HyperParameters": {c["hyperparameter"]: c["secret"], "epoch": self.sentence},
            "Environment": {c["variable"]: c["value"], "AWS_SECRET_ACCESS_KEY": c["secret"]},
            "AlgorithmSpecification": {"TrainingImage": f"{c['account']}.dkr.ecr.{REGION}.amazonaws.com/{c['path']}:1"},
            "RoleArn": f"arn:aws:iam::{c['account']}:role/{c['role']}",
            "VpcConfig": {"Subnets": [c["path"]], "SecurityGroupIds": [c["host"]]},
            "SecondaryStatusTransitions": [{"Status": c["line"], "StartTime": 1.0, "StatusMessage": self.sentence}],
            "FinalMetricDataList": [{"MetricName": c["line"], "Value": float(int(c["account"])), "Timestamp": 1.0}],
            "WarmPoolStatus": {"Status": "Terminated", "ReusedByJob": c["job"]},
            "Tags": tags,
            c["variable"]: {c["tag"]: [c["secret"], int(c["account"])]},
        }
        self.answers: dict[str, Any] = {
            "DescribeTrainingJob": self.job,
            "ListTrainingJobs": {"TrainingJobSummaries": [self.job], "NextToken": c["token"]},
            "Search": {"Results": [{"TrainingJob": self.job}], "NextToken": c["token"]},
            "ListTags": {"Tags": tags},
            "AddTags": {"Tags": tags},
            "DescribeLogStreams": {"logStreams": [{"logStreamName": f"{c['job']}/{c['host']}", "arn": arn}]},
            "GetLogEvents": {
                "events": [{"message": f"conformance {self.sentence}", "timestamp": 1}, {"message": self.sentence}],
                "nextForwardToken": c["token"],
            },
            "CreateTrainingJob": {"TrainingJobArn": arn},
        }

    def answer(self, request: Any, **_event: Any) -> AWSResponse:
        c, operation = (
            self.canaries,
            str(request.headers.get("X-Amz-Target", b""), "ascii", "ignore").rpartition(".")[2],
        )
        headers = {
            "content-type": "application/x-amz-json-1.1", "x-amzn-requestid": c["request"], "server": c["host"], "via": c["agent"],
            "date": format_datetime(datetime.now(timezone.utc), usegmt=True), "x-amz-bucket": c["bucket"], "etag": f'"{c["token"]}"',
        }  # fmt: skip
        body = str(getattr(request, "body", b"") or b"")
        if operation in self.answers and "absent" not in body and "refused" not in body:
            return AWSResponse(request.url, 200, headers, _Body(json.dumps(self.answers[operation]).encode()))
        if operation:
            said = json.dumps({"__type": "ValidationException", "message": self.sentence, "Owner": c["user"]})
            return AWSResponse(request.url, 400, headers, _Body(said.encode()))
        if request.method in {"PUT", "HEAD"}:
            return AWSResponse(request.url, 200, headers, _Body())
        xml = f"<Error><Code>NoSuchKey</Code><Message>{_escaped(self.sentence)}</Message><HostId>{c['token']}</HostId></Error>"
        return AWSResponse(request.url, 404, {**headers, "content-type": "application/xml"}, _Body(xml.encode()))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def record_of(found: Mapping[str, str]) -> str:
    """The file of a run against the talkative service."""
    session = boto3.Session(
        aws_access_key_id=found["key"],
        aws_secret_access_key=found["secret"],
        aws_session_token=found["token"],
        region_name=REGION,
    )
    session._session.register_component("data_loader", LOADER)
    session.events.register("before-send", Talkative(found).answer)
    target = Target(
        session=session,
        region=REGION,
        role=f"arn:aws:iam::{found['account']}:role/{found['role']}",
        bucket=found["bucket"],
        account=found["account"],
        caller=f"arn:aws:sts::{found['account']}:assumed-role/{found['role']}/{found['user']}",
        settle_s=0.0,
    )
    place = Place(run=RUN, region=REGION, role=target.role, bucket=target.bucket, emulated=False)
    bench, answered = Bench(target, place, _Nothing(), QuickClock()), []
    for probe in (*PROBES, *HOSTED[:3]):
        if probe.name == "presigned URLs":  # fetched past botocore: what is kept of it is a status and a length
            continue
        bench.begin()
        try:
            probe.send(bench)
        except Unanswered:
            continue
        answered.append(Answered(probe=probe.name, battery=probe.battery, steps=bench.steps))
    assert len(answered) > 40
    return dump_answers(Answers(source="aws", date="2026-11-23", region=REGION, versions={}, probes=tuple(answered)))


class _Nothing:
    def write(self, kind: str, name: str) -> None:
        pass


@settings(max_examples=8)
@given(found=canaries())
def test_no_canary_is_in_the_record(found: dict[str, str]) -> None:
    text = record_of(found).lower()
    assert [] == [name for name, value in found.items() if value.lower() in text]


@settings(max_examples=60)
@given(name=_names, secret=_secrets, account=_accounts, mail=_mails, before=some.text(max_size=5))
def test_no_canary_is_in_a_text(name: str, secret: str, account: str, mail: str, before: str) -> None:
    assume(name.lower() not in vocabulary())
    scrubber = Scrubber({name: "<role>"})
    for value in (name, secret, account, mail):
        for text in (
            f"{before}{value}",
            f"role/{value}.",
            f"'{value}'",
            f"a={value};b",
            f"s3://{value}/x",
            f"{value}\n{value}",
        ):
            assert value not in scrubber.text(text)


def test_of_a_log_only_the_lines_of_the_runs_own_scripts_are_kept() -> None:
    events = [{"message": "conformance line 1"}, {"message": "training of the owner begins"}]
    assert {"events": events[:1]} == own_lines({"events": events})


def test_of_tags_only_those_of_the_run_are_kept() -> None:
    tags = [{"Key": "sm-trn:line", "Value": "1"}, {"Key": "owner", "Value": "team"}]
    assert {"Tags": tags[:1]} == own_tags({"Tags": tags})


def test_equal_names_have_the_same_placeholder_and_others_another() -> None:
    scrubber = Scrubber({})
    assert "<name-1> <name-2> <name-1>" == scrubber.text("zoe7q zoe8q zoe7q")


def test_the_words_of_the_service_stay() -> None:
    said = "1 validation error detected: Value '0' at 'resourceConfig.instanceCount' failed to satisfy constraint"
    assert said == Scrubber({"my-bucket": "<bucket>"}).text(said)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("arn:aws:iam::111122223333:role/x", "arn:aws:iam::<account>:role/x"),
        ("AKIAIOSFODNN7EXAMPLE", "<key>"),
        ("at 2026-11-23T05:00:00Z", "at <time>"),
        ("/home/zoe7q/.venv/bin/python", "<path>"),
        ("/opt/ml/checkpoints", "/opt/ml/checkpoints"),
        ("ip 10.0.3.4", "ip <address>"),
        ("see https://a.example/b?c=d.", "see <url>"),
    ],
)
def test_what_looks_like_a_secret_is_one(text: str, wanted: str) -> None:
    assert wanted == Scrubber({}).text(text)


def test_a_name_that_is_a_word_of_the_service_stays_a_word_where_it_is_one() -> None:
    target = Target(
        session=boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name=REGION),
        region=REGION,
        role="arn:aws:iam::111122223333:role/training",
        bucket="a-bucket",
        account="111122223333",
        caller="arn:aws:iam::111122223333:user/zoe7q",
        settle_s=0.0,
    )
    scrubber = Scrubber(target.secrets())
    assert "training job by <role>, <caller>" == scrubber.text(
        "training job by arn:aws:iam::111122223333:role/training, zoe7q"
    )
