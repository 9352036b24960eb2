"""Answers with status 200 that are not the service's: of a proxy, of a sign-in page. A watch goes on, everything else is a CloudError."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fakes.recorder import Recorder
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, attached

import sm_trn as st
from sm_trn.core.aws.online import _answer
from sm_trn.core.session.waits import Wait
from sm_trn.core.specs.problems import Problem
from sm_trn.report.watch.progress import progress_of

FOREIGN = (
    b"", b"<html><body>Please sign in</body></html>", b"{}", b"[]", b"null", b"7", b'"text"', b'{"message": "moved"}',
    b'{"events": null}', b'{"events": [{}], "nextForwardToken": "f/1"}', b'{"events": [{"timestamp": 1}]}',
    b'{"events": [{"timestamp": "x", "message": "y"}], "nextForwardToken": "f/1"}',
    b'{"events": [{"timestamp": 1, "message": null}], "nextForwardToken": "f/1"}', b'{"events": [7], "nextForwardToken": "f/1"}',
    b'{"events": [{"timestamp": 1, "message": ["a"]}], "nextForwardToken": "f/1"}',
    b'{"logStreams": [{}]}', b'{"logStreams": null}', b'{"TrainingJobSummaries": [{}]}', b'{"TrainingJobName": 7}',
)  # fmt: skip
LINES = {
    host: tuple((141 + 2.0 * n, str({"loss": 1.0, "step": n})) for n in range(220)) for host in ("algo-1", "algo-2")
}
OPERATIONS = (
    "DescribeTrainingJob", "ListTrainingJobs", "DescribeLogStreams", "GetLogEvents", "ListTags", "StopTrainingJob", "Search",
    "ListObjectsV2", "HeadObject", "GetObject",
)  # fmt: skip


def garble(here: World, seed: int, share: float = 0.05) -> None:
    chance = random.Random(seed)

    def meddle(_operation: str, done: bool) -> bytes | None:
        return chance.choice(FOREIGN) if done and chance.random() < share else None

    here.wire.meddle = meddle


@pytest.mark.parametrize("seed", range(8))
def test_a_wait_goes_on_and_reads_every_number(here: World, seed: int) -> None:
    for name in ("one", "two"):
        here.service.add(name, created=here.clock.now(), story=Story(lines=LINES))
    garble(here, seed)
    shown = Recorder()
    jobs = tuple(attached(here.session, name) for name in ("one", "two"))
    final = Wait(session=here.session, jobs=jobs, observers=(progress_of(here.session, jobs, shown),)).run()
    assert ["Completed", "Completed"] == [snapshot.status_word for snapshot in final]
    for name in ("one", "two"):
        assert 220 == sum(point.name == "loss" for point in shown.rows[name].points)


@pytest.mark.parametrize("seed", range(8))
def test_a_follower_goes_on_and_no_line_is_lost_or_doubled(here: World, seed: int) -> None:
    here.service.add("followed", created=here.clock.now(), story=Story(lines=LINES))
    garble(here, seed)
    lines = [event.text for event in attached(here.session, "followed").logs(follow=True)]
    assert sorted(text for host in LINES.values() for _, text in host) == sorted(lines)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_whatever_is_asked_once_is_answered_or_a_cloud_error(here: World, tmp_path: Path, operation: str) -> None:
    job = here.service.add("asked", created=here.clock.now() - 5000, story=Story(lines=LINES))
    job.request = {**job.request, "CheckpointConfig": {"S3Uri": "s3://a-bucket/checkpoints"}}
    handle = attached(here.session, "asked")
    asked: dict[str, Callable[[], object]] = {
        "snapshot": handle.snapshot,
        "checkpoints": handle.checkpoints,
        "record": handle.record,
        "resume": handle.resume,
        "logs": lambda: list(handle.logs()),
        "metrics": handle.metrics,
        "save": lambda: handle.save_logs(tmp_path / "a.log"),
        "cost": handle.cost,
        "why": handle.why,
        "attach": lambda: here.session.attach("asked"),
        "jobs": here.session.jobs,
        "fleet": here.session.fleet,
        "running": lambda: here.session.running(containing=""),
        "stop": handle.stop,
        "objects": lambda: here.session.storage.fetch_objects("s3://a-bucket/checkpoints"),
        "text": lambda: here.session.storage.fetch_text("s3://a-bucket/nothing"),
        "put": lambda: here.session.storage.put_text("key", "text"),
    }
    wrong = []
    for answer, name in itertools.product(FOREIGN, asked):
        here.wire.meddle = partial(_answer_to, operation, answer)
        try:
            asked[name]()
        except st.SmTrnError:
            continue
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            wrong.append(f"{name} answered {answer!r}: {error!r}")
    assert [] == wrong


def _answer_to(operation: str, answer: bytes, asked: str, done: bool) -> bytes | None:
    return answer if done and asked == operation else None


def test_storage_that_cannot_be_reached_is_a_cloud_error_too(here: World) -> None:
    storage = here.session.storage
    here.wire.down = True
    with pytest.raises(st.errors.CloudError, match="GetObject of 's3://a-bucket/key'"):
        storage.fetch_text("s3://a-bucket/key")
    with pytest.raises(st.errors.CloudError, match="HeadObject of 's3://a-bucket/"):
        storage.put_input(__file__)


@pytest.mark.parametrize("answer", [{}, {"Quotas": [{}]}, {"Quotas": None}, {"Role": None}])
def test_a_question_to_the_account_that_is_answered_by_somebody_else_was_not_answered(answer: object) -> None:
    def question() -> Iterator[Problem]:
        found: Any = answer
        yield from [quota["Value"] for quota in found["Quotas"]]

    (problem,) = _answer("the quota", question)
    assert "ONLINE005" == problem.id
