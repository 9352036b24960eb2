"""Padding, waiting and compiling: read from the log, shown as columns, said when they are too much."""

from __future__ import annotations

import math

import pytest
from report_jobs import describe

from sm_trn.core.specs import JobRecord, MetricPoint, parse_snapshot, record
from sm_trn.report import compare
from sm_trn.report.sections.rows import Work, read_work


def job(*points: MetricPoint, name: str = "one", emulated: bool = False) -> JobRecord:
    return record(parse_snapshot(describe(name, emulated=emulated)), points, workload="one workload")


def lines(**series: list[float]) -> list[MetricPoint]:
    """One point a quarter of an epoch, for each name."""
    return [
        MetricPoint(name, value, step=10.0 * place, epoch=0.25 * place)
        for name, values in series.items()
        for place, value in enumerate(values, start=1)
    ]


def said(kind: str, *points: MetricPoint) -> list[str]:
    return [finding.text for finding in compare([job(*points)]).findings if finding.kind == kind]


def test_shares_are_means_and_counts_are_the_last_and_what_is_not_finite_is_left_out() -> None:
    found = read_work(
        job(
            *lines(padding_fill=[0.5, 0.7, math.nan], data_wait=[0.1, 0.3], compiles=[3, 4], compile_seconds=[9, 12.5])
        ),
        emulated=False,
    )
    assert pytest.approx(0.6) == found.padding_fill
    assert pytest.approx(0.2) == found.data_wait
    assert (4, 12.5) == (found.compiles, found.compile_s)


def test_what_is_not_logged_is_missing() -> None:
    assert Work() == read_work(job(), emulated=False)
    cells = compare([job()]).frame.iloc[0]
    assert all(math.isnan(cells[name]) for name in ("padding_fill", "data_wait", "compiles", "compile_s"))


def test_the_columns_hold_what_was_read() -> None:
    points = lines(padding_fill=[0.75], data_wait=[0.01], compiles=[5], compile_seconds=[17.1])
    cells = compare([job(*points)]).frame.iloc[0]
    assert [0.75, 0.01, 5, 17.1] == [cells[name] for name in ("padding_fill", "data_wait", "compiles", "compile_s")]


def test_an_emulated_job_shows_its_padding_and_neither_waiting_nor_compiling() -> None:
    points = lines(padding_fill=[0.3], data_wait=[0.9], compiles=[50], compile_seconds=[1])
    found = compare([job(*points, emulated=True)])
    cells = found.frame.iloc[0]
    assert 0.3 == cells["padding_fill"]
    assert all(math.isnan(cells[name]) for name in ("data_wait", "compiles", "compile_s"))
    assert not {"padding", "data_wait", "compiles"} & {finding.kind for finding in found.findings}


@pytest.mark.parametrize(("fill", "times"), [(0.49, 1), (0.5, 0)])
def test_less_than_half_full_is_said(fill: float, times: int) -> None:
    assert times == len(said("padding", *lines(padding_fill=[fill])))


def test_the_padding_is_said_with_its_share() -> None:
    filled = "one filled 24.0 % of its batches with text, the rest is padding;"
    assert [f"{filled} pad each batch to its own longest text, not to one length."] == said(
        "padding", *lines(padding_fill=[0.24])
    )
    assert [f"{filled} give it more --shapes."] == said(
        "padding", *lines(padding_fill=[0.24]), MetricPoint("shapes", 1)
    )


@pytest.mark.parametrize(("wait", "times"), [(0.21, 1), (0.2, 0)])
def test_more_than_a_fifth_of_the_time_without_data_is_said(wait: float, times: int) -> None:
    assert times == len(said("data_wait", *lines(data_wait=[wait])))


@pytest.mark.parametrize(("compiles", "times"), [(7, 1), (6, 0)])
def test_more_compilations_than_shapes_and_two_are_said(compiles: int, times: int) -> None:
    assert times == len(said("compiles", *lines(compiles=[compiles]), MetricPoint("shapes", 4)))


def test_a_compilation_after_the_first_epoch_is_said() -> None:
    shapes = MetricPoint("shapes", 4)
    assert [] == said("compiles", *lines(compiles=[3, 4, 4, 4, 4]), shapes)
    (text,) = said("compiles", *lines(compiles=[3, 3, 3, 4, 5], compile_seconds=[9, 9, 9, 12, 15]), shapes)
    assert text.startswith("one compiled 1 of 5 times in 15 s after its first epoch")


def test_without_a_number_of_shapes_only_late_compilations_are_said() -> None:
    assert [] == said("compiles", *lines(compiles=[40]))


# --- the figure ---
