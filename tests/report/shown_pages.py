"""The pages and notebook outputs that a person sees, as HTML files, for the tests that look at them as a browser does."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from many_jobs import named, november, tuned
from report_jobs import START, describe, emulated_job, gpt2_pair, transitions
from test_report_fleet import mixed

import sm_trn as st
from sm_trn.core.ports import StoredObjects
from sm_trn.core.pricing import snapshot_book
from sm_trn.core.specs import MetricPoint, WallSeconds, parse_snapshot
from sm_trn.report import compare, fleet, published_record, watch_html
from sm_trn.report.comparison.page import pictures
from sm_trn.report.jobs import WatchRow

NOW = datetime.fromtimestamp(START, tz=timezone.utc) + timedelta(minutes=30)


def _published() -> str:
    return _report([published_record(f"published/bert-{name}") for name in ("p4d", "trn1")])


def _jobs(count: int) -> str:
    return _report(named(count))


def _mixed() -> str:
    interrupted = emulated_job("bert-b", number=1, interrupted=True)
    return _report([*gpt2_pair(), emulated_job("bert-a"), interrupted])


def _fleet(count: int) -> str:
    """A fleet's page with its figures and names as long as the service allows."""
    long = [
        (dataclasses.replace(snapshot, name=f"{snapshot.name}-{'x' * 62}"[:63]), tags)
        for snapshot, tags in november(count)
    ]
    item = fleet(long, title="November")
    return item.page(by="tag:owner", now=NOW)


def _known(record: st.results.JobRecord, number: int) -> st.results.JobRecord:
    """Another job's record with every column known, an accuracy too, and a name as jobs of a sweep have it."""
    label = f"{record.label}-lr-3e-05-warmup-0.{number}"
    snapshot = dataclasses.replace(record.snapshot, name=f"{label}-251120-174512-9f3ac1")
    learned = MetricPoint("eval_accuracy", 0.9 + number / 1000, epoch=3.0)
    return dataclasses.replace(record, snapshot=snapshot, label=label, points=(*record.points, learned))


def _report(records: list[Any]) -> str:
    item = compare(records)
    return item.page(pictures(item.sections), now=NOW)


def document(cards: list[str], *, dark: bool = False) -> str:
    """The cards as a notebook shows them, one below the other."""
    theme = f'data-jp-theme-light="{"false" if dark else "true"}" style="background:{"#111" if dark else "#fff"}"'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Widgets</title></head><body {theme}><main><h1 '
        f'style="color:{"#fff" if dark else "#000"}">Widgets</h1>{"<hr>".join(cards)}</main></body></html>'
    )


def widgets() -> list[str]:
    """Every kind of notebook output once."""
    spec = st.JobSpec(
        name="bert-trn1",
        script=st.Script("train_text_classification.py"),
        framework=st.NeuronX("2.9.0"),
        compute=st.Compute("ml.trn1.32xlarge"),
        distribution=st.SMDataParallel(),
        hyperparameters={"model": "bert-base-uncased", "epochs": 3, "batch_size": 8},
        inputs={"train": "s3://a-bucket/imdb/train"},
        spot=st.Spot(max_wait_s=60_000),
        max_run_s=86_400,
    )
    bert = compare([published_record("published/bert-p4d"), published_record("published/bert-trn1")])  # type: ignore[list-item]  # both are there
    training = snapshot_book().find("ml.trn1.32xlarge", "us-west-2")
    assert training is not None
    rows = [row(number) for number in range(8)]
    return [
        spec._repr_html_(),
        st.check(spec)._repr_html_(),
        st.specs.Problems()._repr_html_(),
        st.diff(spec, spec.replace(spot=None, max_run_s=3600))._repr_html_(),
        watch_html(rows[:1], NOW),
        watch_html(rows, NOW, ["The login expired; it is renewed."]),
        st.results.JobCost(
            usd=Decimal("41.43"), billable_s=WallSeconds(6033), instances=1, price=training
        )._repr_html_(),
        bert._repr_html_(),
        compare([emulated_job("a"), emulated_job("b", number=1)])._repr_html_(),
        mixed()._repr_html_(),
    ]


def row(number: int) -> WatchRow:
    """One of eight jobs: training at several ages, failed, compiling, starting, completed, emulated."""
    ended = {5: "Completed", 6: "Failed"}.get(number)
    phases = [("Starting", 120.0), ("Downloading", 60.0), ("Training", -1.0)]
    if number == 3:
        phases = [("Starting", -1.0)]
    answer = describe(
        f"bert-seed{number}",
        emulated=number == 7,
        ResourceConfig={"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 1 + number % 2},
        TrainingJobStatus=ended or "InProgress",
        SecondaryStatus=ended or phases[-1][0],
        SecondaryStatusTransitions=transitions(*phases),
        FailureReason="AlgorithmError: CUDA out of memory. Tried to allocate 2.00 GiB" if ended == "Failed" else "",
    )
    if not ended:
        answer["BillableTimeInSeconds"] = None
        answer["TrainingEndTime"] = None
    answer = {key: value for key, value in answer.items() if value not in (None, "")}
    points = [
        MetricPoint(name=name, value=value, step=step, time_s=START + 180 + step)
        for step in range(50, 850, 50)
        for name, value in (("loss", 2.0 / (1 + step / 200)), ("steps_per_second", 6.6 + 0.1 * (step % 3)))
        if number != 3
    ]
    return WatchRow(
        snapshot=parse_snapshot(answer),
        label=f"bert-seed{number}",
        points=tuple(points),
        price=snapshot_book().find("ml.trn1.32xlarge", "us-west-2"),
        total_steps=2000,
        checkpoints=StoredObjects(uri="s3://b/c", size_bytes=1, count=3, newest=NOW - timedelta(minutes=4))
        if number < 2
        else None,
    )


PAGES: dict[str, Callable[[], str]] = {
    "report": _published,
    "report-mixed": _mixed,
    **{f"report-{count}": functools.partial(_jobs, count) for count in (1, 2, 8, 40)},
    "report-tuned": lambda: _report(tuned(12)),
    "report-full": lambda: _report([_known(record, number) for number in range(4) for record in gpt2_pair()]),
    "fleet": lambda: mixed().page(by="instance", now=NOW),
    **{f"fleet-{count}": functools.partial(_fleet, count) for count in (1, 2, 8, 40)},
    "widgets": lambda: document(widgets()),
    "widgets-dark": lambda: document(widgets(), dark=True),
}


@functools.cache
def page_of(name: str) -> str:
    """The whole document of one of ``PAGES``, drawn when a test first asks for it."""
    return PAGES[name]()
