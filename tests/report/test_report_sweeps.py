"""Sweeps: ranked by a metric, hyperparameters as columns, one sentence of result; who has no result is named and in no mean."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from many_jobs import sweep
from report_jobs import START, describe, step_lines

from sm_trn.core.errors import UnknownName
from sm_trn.core.formatting import numbers as fmt
from sm_trn.core.specs import JobRecord, MetricPoint, parse_snapshot
from sm_trn.core.specs.record import record
from sm_trn.report import Comparison, compare
from sm_trn.report.sections.sweep import lower_is_better, setting_text


def trial(number: int, value: float | None, *, metric: str = "eval_accuracy", status: str = "Completed", emulated: bool = False,
          instance: str = "ml.g5.xlarge", **settings: Any) -> JobRecord:  # fmt: skip
    answer = describe(
        f"j{number}",
        created=START + number,
        emulated=emulated,
        TrainingJobStatus=status,
        SecondaryStatus="Training" if status == "InProgress" else status,
        ResourceConfig={"InstanceType": instance, "InstanceCount": 1},
        HyperParameters={key: f'"{each}"' for key, each in settings.items()},
    )
    points = [] if value is None else [MetricPoint(metric, value, step=1)]
    return record(parse_snapshot(answer), points, workload="w")


@pytest.fixture(scope="module")
def eight() -> Comparison:
    return compare(sweep(8))


def test_the_best_is_the_best_value_and_its_settings(eight: Comparison) -> None:
    best = eight.best("eval_accuracy")
    assert ("reviews-lr3e-5-seed1", 0.931, {"learning_rate": 3e-5}, 1) == (
        best.job, best.value, dict(best.settings), best.rank,
    )  # fmt: skip


def test_those_without_a_result_come_last_and_say_why(eight: Comparison) -> None:
    trials = eight.ranking().trials
    assert [1, 2, 3, 4, 5, 6, None, None] == [each.rank for each in trials]
    assert ["✗ failed", "✗ NaN at step 810"] == [each.note for each in trials[6:]]


def test_a_sweep_is_one_sentence_and_no_sentence_for_each_pair(eight: Comparison) -> None:
    kinds = [finding.kind.value for finding in eight.findings]
    assert 1 == kinds.count("sweep")
    assert not {"cost", "billable", "throughput", "changed"} & set(kinds)
    (said,) = [finding.text for finding in eight.findings if finding.kind == "sweep"]
    assert said == (
        "learning_rate 3e-5 is best: eval_accuracy 0.931 against 0.926 for learning_rate 2e-5. 6 of 8 jobs have a result; "
        "without: reviews-lr1e-4-seed1 (✗ failed) and reviews-lr8e-4-seed1 (✗ NaN at step 810)."
    )


def test_forty_jobs_are_compared_by_the_means_of_their_seeds() -> None:
    item = compare(sweep(40))
    (said,) = [finding.text for finding in item.findings if finding.kind == "sweep"]
    assert (
        "learning_rate 3e-5 is best: eval_accuracy 0.933 against 0.927 for learning_rate 2e-5 (means of up to 5 seeds)."
        in said
    )
    assert "34 of 40 jobs have a result" in said
    assert ["learning_rate"] == list(item.ranking().tuned)
    assert 7 == len(item.ranking().setups)


def test_the_table_has_the_hyperparameters_best_first(eight: Comparison) -> None:
    lines = str(eight).splitlines()
    head = next(number for number, line in enumerate(lines) if "LEARNING_RATE" in line)
    assert ["3e-5", "2e-5", "5e-5", "8e-5", "1e-5", "3e-4", "1e-4", "8e-4"] == [
        next(word for word in line.split() if word[1:3] == "e-") for line in lines[head + 1 : head + 9]
    ]
    text = eight.page()
    assert (
        text.index("1. reviews-lr3e-5-seed1")
        < text.index("2. reviews-lr2e-5-seed1")
        < text.index("6. reviews-lr3e-4-seed1")
    )
    assert 'data-label="learning_rate"' in text
    assert "<h1>learning_rate 3e-5 is best" in text.replace("\xa0", " ")


def test_hyperparameters_that_differ_are_columns_of_the_frame(eight: Comparison) -> None:
    frame = eight.frame
    assert [1e-5, 2e-5, 3e-5] == frame["hyperparameters.learning_rate"].tolist()[:3]  # in the order that was given
    assert "hyperparameters.epochs" not in frame.columns
    text = compare([trial(1, 0.5, optim="adam"), trial(2, 0.6, optim="sgd"), trial(3, 0.7)]).frame
    assert ["adam", "sgd", None] == text["hyperparameters.optim"].tolist()


def test_equal_to_the_digits_shown_is_the_same_rank_and_no_win() -> None:
    item = compare([trial(n, value, lr=n) for n, value in enumerate((0.9301, 0.9299, 0.9, 0.95))])
    assert [1, 2, 2, 4] == [each.rank for each in item.ranking().trials]
    tied = compare([trial(n, value, lr=n) for n, value in enumerate((0.9301, 0.9299, 0.9302))])
    assert "No difference measured in eval_accuracy (0.930)." in str(tied)


def test_seeds_whose_ranges_overlap_are_no_win() -> None:
    values = {(1, 1): 0.930, (1, 2): 0.936, (2, 1): 0.931, (2, 2): 0.933, (3, 1): 0.80, (3, 2): 0.81}
    item = compare([trial(10 * lr + seed, value, lr=lr, seed=seed) for (lr, seed), value in values.items()])
    said = " ".join(str(item).split())
    assert "lr 1 and lr 2 are best, with no difference measured between them: eval_accuracy 0.930 to 0.936." in said


def test_an_unknown_metric_is_answered_with_those_that_are_known(eight: Comparison) -> None:
    with pytest.raises(UnknownName, match=r"got 'eval_acc'.*did you mean 'eval_accuracy'"):
        eight.best("eval_acc")


@pytest.mark.parametrize(
    ("metric", "lower"),
    [("eval_loss", True), ("eval_accuracy", False), ("eval_wer", True), ("perplexity", True), ("eval_f1", False),
     ("eval_losslessness", False), ("train_runtime", True)],
)  # fmt: skip
def test_losses_and_errors_are_better_low(metric: str, lower: bool) -> None:
    assert lower == lower_is_better(metric)
    best = compare([trial(n, float(n), metric=metric, lr=n) for n in range(3)]).best(metric)
    assert ("j0" if lower else "j2") == best.job


@pytest.mark.parametrize(
    "jobs",
    [
        [trial(n, 0.5, lr=n) for n in range(2)],  # a pair
        [trial(n, 0.5, lr=n, instance=f"ml.g5.{size}xlarge") for n, size in enumerate(("", "2", "4"))],
        [trial(n, 0.5, lr=n, sagemaker_distributed_dataparallel_enabled=bool(n)) for n in range(3)],
        [trial(n, 0.5, lr=1) for n in range(3)],  # repeated, not swept
        [trial(n, 0.5, output_dir=f"s3://b/{n}") for n in range(3)],
    ],
    ids=["pair", "instances", "strategies", "repeats", "places"],
)
def test_what_differs_in_more_or_in_nothing_is_no_sweep(jobs: list[JobRecord]) -> None:
    assert all(section.sweep is None for section in compare(jobs).sections)


def test_a_baseline_that_was_asked_for_is_compared_with() -> None:
    item = compare(sweep(8), baseline="reviews-lr1e-5-seed1")
    assert item.section().sweep is None
    assert any(finding.kind == "cost" for finding in item.findings)


def test_emulated_jobs_are_ranked_among_themselves() -> None:
    emulated = [trial(n, 0.9 + n / 100, emulated=True, lr=n) for n in range(3)]
    only = compare(emulated)
    assert "EMULATED: lr 2 is best" in " ".join(str(only).split())
    mixed = compare([*emulated, *(trial(10 + n, 0.5 + n / 100, lr=n) for n in range(3))])
    assert ("j12", ("j10", "j11", "j12")) == (
        mixed.best().job,
        tuple(sorted(each.job for each in mixed.ranking().trials)),
    )
    assert "EMULATED: lr 2 is best" in " ".join(str(mixed).split())


@given(some.lists(some.one_of(some.none(), some.floats(allow_nan=True)), min_size=3, max_size=12), some.booleans())
def test_a_ranking_holds_each_job_once_best_first(values: list[float | None], lowest: bool) -> None:
    item = compare([trial(n, value, lr=n) for n, value in enumerate(values)])
    if all(value is None for value in values):
        return
    found = item.ranking("eval_accuracy", lowest=lowest)
    assert sorted(f"j{n}" for n in range(len(values))) == sorted(each.job for each in found.trials)
    known = [each.value for each in found.ranked if each.value is not None]
    assert known == sorted(known, reverse=not lowest)
    assert len(known) == sum(value is not None and math.isfinite(value) for value in values)
    ranks = [each.rank for each in found.ranked]
    for place, (one, value) in enumerate(zip(ranks, known, strict=True), start=1):
        assert one is not None
        assert one <= place
        assert (one == place) == (place == 1 or fmt.loss(value) != fmt.loss(known[place - 2]))


@pytest.mark.parametrize(
    ("value", "text"),
    [(3e-5, "3e-5"), (16.0, "16"), (0.1, "0.1"), ("adamw", "adamw"), (None, "not set"), (-2.5, "-2.5")],
)
def test_a_setting_is_written_as_people_write_it(value: Any, text: str) -> None:
    assert text == setting_text(value)


def test_more_than_four_hyperparameters_are_named_where_they_have_no_column() -> None:
    jobs = [trial(n, 0.5 + n / 10, a=n, b=n * 2, c=n * 3, d=n * 4, e=n * 5, f=n * 6) for n in range(3)]
    assert "Also different, as in compare.csv: e and f." in str(compare(jobs))
    assert "Also different, as in compare.csv: e and f." in compare(jobs).page()


def test_the_json_has_the_ranking(eight: Comparison) -> None:
    (found,) = json.loads(eight.to_json())["sweeps"]
    assert ("eval_accuracy", False, 8) == (found["metric"], found["lowest_is_best"], len(found["trials"]))
    first, last = found["trials"][0], found["trials"][-1]
    assert {
        "job": "reviews-lr3e-5-seed1",
        "rank": 1,
        "value": 0.931,
        "settings": {"learning_rate": 3e-5},
        "note": None,
    } == first
    assert (None, "✗ NaN at step 810") == (last["rank"], last["note"])


def test_a_sweep_of_batch_sizes_shows_their_throughput(eight: Comparison) -> None:
    jobs = [
        record(
            parse_snapshot(describe(f"b{n}", created=START + n, HyperParameters={"batch_size": f'"{8 << n}"'})),
            step_lines(400, 40, rate=5.0 - n, batch=8 << n, first_s=130, epochs=2, final=0.3),
        )
        for n in range(3)
    ]
    item = compare(jobs)
    assert "SAMPLES/S" in str(item)
    assert 'data-label="Throughput, samples/s"' in item.page().replace("\xa0", " ")
    assert "IT/S" not in str(eight)  # the same everywhere
