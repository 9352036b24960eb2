"""Which numbers of a log count: ranks, repeats, trial runs, the job's own expressions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.logs import LogEvent, MetricReader, dicts, points
from sm_trn.core.logs.dicts import _scanned
from sm_trn.core.specs import TRAINER_METRICS, MetricRule

DICT = "{'loss': 0.5, 'epoch': 1.0}"


def losses(lines: list[tuple[float, str, str]]) -> list[tuple[float, str]]:
    found = points(LogEvent(at, host, text) for at, host, text in lines)
    return [(point.time_s or -1.0, point.host) for point in found if point.name == "loss"]


@pytest.mark.parametrize(
    "prefix", ["[1,{0}]<stdout>:", "[1,mpirank:{0},algo-1]<stdout>:", "[rank{0}]: ", "[{0}]:", "[default{0}]:"]
)
def test_what_several_ranks_say_counts_once_whenever_they_say_it(prefix: str) -> None:
    lines = [(60.0 * rank, "algo-1", prefix.format(rank) + DICT) for rank in range(4)]
    assert [(-1.0, "algo-1")] == losses(lines)


@pytest.mark.parametrize("prefix", ["", "[1,0]<stdout>:"])
def test_the_same_values_at_a_later_time_on_the_same_rank_are_real(prefix: str) -> None:
    lines = [(at, "algo-1", prefix + DICT) for at in (1.0, 61.0, 121.0)]
    assert [1.0, 61.0, 121.0] == [at for at, _ in losses(lines)]


def test_a_repeat_that_every_rank_says_counts_once_each_time() -> None:
    lines = [(at + rank / 10, f"algo-{rank + 1}", DICT) for at in (1.0, 60.0) for rank in range(3)]
    assert [1.0, 60.0] == [at for at, _ in losses(lines)]


def test_hosts_that_each_say_what_all_ranks_say_count_once() -> None:
    prefixes = [f"[1,mpirank:{rank},algo-{rank + 1}]<stdout>:" for rank in range(2)]
    lines = [(1.0, host, prefix + DICT) for host in ("algo-1", "algo-2") for prefix in prefixes]
    assert 1 == len(losses(lines))


def test_workers_without_a_prefix_on_one_host_count_once() -> None:
    lines = [(1.0 + worker / 100, "algo-1", DICT) for worker in range(8)]
    assert 1 == len(losses(lines))


def test_equal_lines_without_a_step_are_never_taken_for_copies_of_one_worker() -> None:
    assert 3 == len(losses([(1.0, "algo-1", "{'loss': 0.0}")] * 3))


def test_the_same_nan_from_two_ranks_counts_once() -> None:
    for text in ("{'loss': nan, 'step': 1}", '{"loss": NaN, "step": 1}', "{'loss': 'nan', 'step': 1}"):
        lines = [(1.0, "algo-1", f"[1,{rank}]<stdout>:{text}") for rank in range(2)]
        assert 1 == len(losses(lines)), text


def test_copies_are_known_over_several_readings_and_memory_ends_somewhere() -> None:
    reader = MetricReader()
    found = 0
    for step in range(20_000):
        for rank in range(2):
            event = LogEvent(float(step), "algo-1", f"[1,{rank}]<stdout>:{{'loss': {step}.5, 'step': {step}}}")
            found += len(list(reader.lines([event])))
    assert 20_000 == found
    assert len(reader._copies._young) + len(reader._copies._old) <= 2 * 4096


def test_a_line_of_several_dicts_is_several_metric_lines() -> None:
    bar = "#015 10%|#   | 1/10{'loss': 2.0, 'step': 1}#015 20%|##  | 2/10{'loss': 1.0, 'step': 2}"
    assert [2.0, 1.0] == [line.values["loss"] for line in MetricReader().lines([LogEvent(1.0, "algo-1", bar)])]


def test_a_trial_run_of_the_compiler_is_not_the_training() -> None:
    lines = [
        "{'loss': 9.0, 'step': 1}",
        "2023-09-05 INFO ||PARALLEL_COMPILE||: Running trial run (add option to terminate trial run early)",
        "{'train_runtime': 6.5, 'train_loss': 0.5, 'epoch': 2.0}",
        "2023-09-05 INFO ||NEURON_PARALLEL_COMPILE||: Current remaining items are 7",
        "{'train_runtime': 600.0, 'train_loss': 0.5, 'epoch': 2.0}",
    ]
    found = [line.values for line in MetricReader().lines(LogEvent(0.0, "algo-1", text) for text in lines)]
    assert [9.0, 600.0] == [next(iter(values.values())) for values in found]


def test_the_toolkits_settings_are_no_metrics() -> None:
    assert [] == dicts('SM_HPS={"epochs":3,"learning_rate":5e-05}')
    assert [{"loss": 1.0}] == dicts("TrainOutput(global_step=1, metrics={'loss': 1.0})")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{'a': np.float64(0.5), 'b': tensor(2.0, device='cuda:0')}", [{"a": 0.5, "b": 2.0}]),
        ("{'text': 'a } b', 'loss': 1.0, 'none': None}", [{"loss": 1.0}]),
        ('{"text": "don\'t", "loss": 1.0}', [{"loss": 1.0}]),
        ("{'loss': 1.0, 'ok': True, 'shape': (1, 2)}", [{"loss": 1.0}]),
        ("{'train': {'loss': 1}, 'eval': {'loss': 2}}", [{"loss": 1.0, "eval/loss": 2.0}]),
        ("{'train': {'loss': nan}, 'eval': {'loss': inf}, 'epoch': None}", [{"loss": math.nan, "eval/loss": math.inf}]),
        ("\x1b[1m{\x1b[0m'loss': '0.5'\x1b[1m}\x1b[0m", [{"loss": 0.5}]),
        ("{'loss': 1.0", []),
        ("'loss': 1.0}", []),
        ("{'loss': " + "1" * 5000 + "}", [{"loss": math.inf}]),
    ],
)
def test_dicts_as_jobs_print_them(line: str, expected: list[dict[str, float]]) -> None:
    assert repr(expected) == repr(dicts(line))


KEYS = some.from_regex(r"[a-z][a-z_/]{0,6}", fullmatch=True)
TREES = some.recursive(
    some.dictionaries(KEYS, some.floats(allow_nan=False, allow_infinity=False), max_size=4),
    lambda inner: some.dictionaries(KEYS, some.floats(0, 1) | inner, max_size=3),
    max_leaves=6,
)


@given(TREES)
def test_both_ways_of_reading_a_dict_agree(tree: dict[str, object]) -> None:
    assert list(_scanned(repr(tree), 0)) == dicts(repr(tree))


def test_rules_take_the_first_group_of_every_line_and_exponents_whole() -> None:
    rules = [MetricRule("rate", r"rate=([0-9.]*)"), MetricRule("n", r"n [0-9]+"), MetricRule("word", r"(\w+)")]
    reader = MetricReader(rules)
    found = [
        (p.name, p.value) for p in reader.read([LogEvent(1.0, "algo-1", "rate=2.38e-05"), LogEvent(2.0, "", "n 7")])
    ]
    assert [("rate", 2.38e-05)] == found  # the service would keep 2.38


@pytest.mark.parametrize(
    ("rules", "lines", "expected"),
    [
        ([("loss", "'epoch': ([0-9.]+)")], [DICT], [("loss", 1.0)]),
        ([("loss", "loss=([0-9.]+)")], ["loss=0.3", "{'loss': 9, 'step': 2}"], [("loss", 0.3), ("step", 2.0)]),
        ([], ['{"eval_steps": 500, "loss": 3}', "{'loss': 0.5, 'step': 1}", "{'seed': 42, 'loss': 99}"], [("loss", 0.5)]),
        ([], ["{'loss': 0.5, 'batch_size': 8, 'step': 1}"], [("loss", 0.5), ("batch_size", 8.0)]),
        ([], ["Traceback (most recent call last):", 'load({"data": {"column": 1}})', "KeyError: 'c'", "{'a': 0.5}"], [("a", 0.5)]),
        ([], ["step 0 loss: 1.000"], [("loss", 1.0)]),
        ([], ["Epoch 1/3 | train loss: 0.07 | val acc: 99.5 %"], [("train_loss", 0.07), ("val_acc", 99.5)]),
        ([], ["Test set: Accuracy: 9/10", "the loss is 3", "port: 29500", "learning_rate: 0.1", "loss: mse"], []),
        ([], ["{'eval_loss': 0.5, 'epoch': 1.0}", "eval_loss = 0.5"], [("eval_loss", 0.5)]),
        ([("n", "n=([0-9]+)")], ["step 0 loss: 1.000"], []),
    ],
)  # fmt: skip
def test_rules_win_and_settings_tracebacks_and_prose_are_no_metrics(
    rules: list[tuple[str, str]], lines: list[str], expected: list[tuple[str, float]]
) -> None:
    reader = MetricReader([MetricRule(*rule) for rule in rules])
    found = list(reader.read([LogEvent(float(at), "algo-1", line) for at, line in enumerate(lines)]))
    assert expected == [(point.name, point.value) for point in found]
    assert all(point.guessed is ("{" not in "".join(lines) and not rules) for point in found)


def test_an_endless_or_wrong_rule_is_switched_off_and_named_and_the_others_go_on() -> None:
    rules = {"endless": r"(a|aa)+$", "bad": "(", "word": "! (x)", "good": r"x=(\d+)"}
    reader = MetricReader([MetricRule(*rule) for rule in rules.items()])
    lines = [LogEvent(float(at), "algo-1", "a" * 80 + f"! x={at}") for at in range(3)]
    assert [0.0, 1.0, 2.0] == [point.value for point in reader.read(lines)]
    assert {"endless", "bad", "word"} == set(reader.rules.problems)
    assert "no number in '! x', wanted one such as 97.5 in its first group" == reader.rules.problems["word"]


def test_the_shipped_rules_read_what_the_service_reads() -> None:
    line = "{'loss': 2.5, 'learning_rate': 2.38e-05, 'epoch': 1.0}"
    values = MetricReader(TRAINER_METRICS).rules.values(line)
    assert {"train_loss": 2.5, "learning_rate": 2.38e-05, "epoch": 1.0} == values


def test_views_are_by_what_a_line_holds() -> None:
    lines = ["{'loss': 1.0}", "{'eval_accuracy': 0.9}", "{'train_runtime': 5.0, 'epoch': 1.0}", "{'perplexity': 3}"]
    found = [line.view for line in MetricReader().lines(LogEvent(1.0, "", text) for text in lines)]
    assert ["train", "eval", "summary", "other"] == found


@pytest.mark.parametrize("prefix", ["[rank{}]: ", ""])
def test_what_rules_find_in_another_ranks_copy_is_no_news(prefix: str) -> None:
    rule = MetricRule("my_loss", r"'loss': ([0-9.]+)")
    events = [
        LogEvent(float(step), "algo-1", f"{prefix.format(rank)}{{'loss': 0.5, 'step': {step}}}")
        for step in range(2)
        for rank in range(2)
    ]
    wanted = [{"loss": 0.5, "step": 0.0, "my_loss": 0.5}, {"loss": 0.5, "step": 1.0, "my_loss": 0.5}]
    assert wanted == [dict(line.values) for line in MetricReader([rule]).lines(events)]
