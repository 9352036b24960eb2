"""The GLUE script: names of tasks, texts and pairs, accuracy and F1, predictions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from hypothesis import given, settings
from hypothesis import strategies as st
from kit.data import pick_columns, read_table
from kit.labels import classified, hold_out, labels_of
from kit.models import load_config, load_model, load_tokenizer
from sm_spot import UsageError
from train_glue import compute_metrics, load_tables, main, parse_arguments

from launch import Finished, run_here
from make_sample import SAMPLE

pytestmark = pytest.mark.local


def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both libraries read HF_HUB_OFFLINE when they are imported, which may have been before; without it they ask again and again."""
    for module in ("huggingface_hub.constants", "datasets.config"):
        monkeypatch.setattr(pytest.importorskip(module), "HF_HUB_OFFLINE", True)


@pytest.mark.parametrize("name", ["MNLI", "mnli", "SST-2", "sst2"])
def test_tasks_are_known_by_their_written_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offline(monkeypatch)
    with pytest.raises(UsageError, match="--dataset_name: "):  # known, and then the hub is out of reach
        load_tables(parse_arguments(["--task_name", name])[1])
    with pytest.raises(UsageError, match="--task_name: got 'snli', wanted one of cola, mnli"):
        load_tables(parse_arguments(["--task_name", "snli"])[1])


def test_another_data_set_of_the_library_is_read_by_its_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "texts").mkdir()
    for split_name, rows in {"train": "good,1\nbad,0\n", "validation": "fine,1\n", "test": "poor,0\n"}.items():
        (tmp_path / "texts" / f"{split_name}.csv").write_text("text,label\n" + rows)
    tables = load_tables(parse_arguments(["--dataset_name", str(tmp_path / "texts")])[1])
    texts = {name: table.texts("text") for name, table in tables.items()}
    assert {"train": ["good", "bad"], "eval": ["fine"], "test": ["poor"]} == texts


@pytest.fixture
def named_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set as the hub has them: numbers, and their names beside them, in an order that is not the alphabet's."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    names = datasets.Features(
        {"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=["wonderful", "awful"])}
    )
    (tmp_path / "named").mkdir()
    for part, labels in {"train": [0, 1] * 20, "validation": [0, 1] * 10, "test": [-1] * 4}.items():
        rows = {"sentence": ["good" if label == 0 else "bad" for label in labels], "label": labels}
        datasets.Dataset.from_dict(rows, features=names).to_parquet(str(tmp_path / "named" / f"{part}.parquet"))
    return tmp_path / "named"


def sure_of(folder: Path, names: list[str]) -> Path:
    """A model that always says "wonderful", whatever number that has in it."""
    tokenizer = load_tokenizer("tiny-random")
    known = {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
    config = load_config("tiny-random", tokenizer, **known)
    model = load_model(transformers.AutoModelForSequenceClassification, "tiny-random", config)
    torch.nn.init.zeros_(model.classifier.weight)
    model.classifier.bias.data = torch.tensor([float(name.casefold() == "wonderful") for name in names])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("names", [["wonderful", "awful"], ["awful", "wonderful"], ["AWFUL", "Wonderful"]])
@pytest.mark.parametrize("place", ["--dataset_name", "--train_file"])
def test_classes_keep_the_names_that_the_data_set_has_and_a_model_its_own_numbers(
    names: list[str], place: str, named_classes: Path, tmp_path: Path
) -> None:
    model = sure_of(tmp_path / "m", names)
    files = [place, str(named_classes)]
    if place == "--train_file":
        files = ["--train_file", str(named_classes / "train.parquet")]
        files += ["--validation_file", str(named_classes / "validation.parquet")]
        files += ["--test_file", str(named_classes / "test.parquet")]
    flags = ["--do_train", "False", "--do_predict", "True", "--output_dir", str(tmp_path / "out")]
    run = run_here(main, "--model_name_or_path", str(model), *files, *flags)
    assert 0 == run.code, run.err
    assert 0.5 == run.having("eval_accuracy")[0]["eval_accuracy"]
    told = (tmp_path / "out" / "predictions.tsv").read_text().splitlines()
    assert ["index\tprediction", *(f"{row}\twonderful" for row in range(4))] == told


def test_a_model_with_other_names_is_told_of(named_classes: Path, tmp_path: Path) -> None:
    model = sure_of(tmp_path / "m", ["bad", "good"])
    flags = ["--model_name_or_path", str(model), "--do_train", "False", "--output_dir", str(tmp_path / "out")]
    run = run_here(main, *flags, "--dataset_name", str(named_classes))
    assert 0 == run.code, run.err
    own = "--train: the model's own labels are bad, good, those of the data wonderful, awful"
    assert 1 == run.out.count(own)
    assert f"{own}: the model's first is taken for the data's first, and so on." in run.out


def test_a_model_without_names_of_its_own_gets_those_of_the_data_set_in_their_order(
    named_classes: Path, tmp_path: Path
) -> None:
    flags = ["--model_name_or_path", "tiny-random", "--max_steps", "1", "--do_eval", "False", "--save_strategy", "no"]
    run = run_here(main, *flags, "--dataset_name", str(named_classes), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    assert {0: "wonderful", 1: "awful"} == transformers.AutoConfig.from_pretrained(tmp_path / "m").id2label


def test_classes_that_only_their_case_tells_apart_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + "good,Positive\nfine,positive\nbad,negative\n" * 20)
    flags = ["--model_name_or_path", "tiny-random", "--max_steps", "1", "--do_eval", "False", "--save_strategy", "no"]
    run = run_here(main, *flags, "--train_file", str(tmp_path / "a.csv"), "--output_dir", str(tmp_path / "m"))
    assert "'Positive' and 'positive' are different classes, though only the case tells them apart" in run.out


def test_the_hyperparameters_of_hugging_faces_examples_for_sagemaker_are_known(tmp_path: Path) -> None:
    flags = ["--model_name", "tiny-random", "--epochs", "1", "--train_batch_size", "16", "--eval_batch_size", "4"]
    own, _, args, _ = parse_arguments([*flags, "--output_dir", str(tmp_path)])
    assert ("tiny-random", 1.0) == (own.model_name_or_path, args.num_train_epochs)
    assert (16, 4) == (args.per_device_train_batch_size, args.per_device_eval_batch_size)


def test_what_the_hub_is_to_know_reaches_from_pretrained() -> None:
    flags = ["--model_revision", "v2", "--token", "hf_x", "--cache_dir", "cache", "--trust_remote_code", "True"]
    wanted = {"revision": "v2", "token": "hf_x", "cache_dir": "cache", "trust_remote_code": True}
    assert wanted == parse_arguments(flags)[0].hub()
    assert {} == parse_arguments([])[0].hub()


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.lists(st.floats(-9, 9), min_size=3, max_size=3)), min_size=1, max_size=30)
)
def test_accuracy_and_f1_are_scikit_learns(rows: list[tuple[int, list[float]]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels = np.array([label for label, _ in rows])
    for width in (2, 3):
        logits, wanted = np.array([own[:width] for _, own in rows]), labels % width
        got = compute_metrics(SimpleNamespace(predictions=logits, label_ids=wanted))
        kind = {"average": "binary" if width == 2 else "macro", "zero_division": 0}
        assert got["accuracy"] == pytest.approx(metrics.accuracy_score(wanted, logits.argmax(1)), abs=1e-6)
        assert got["f1"] == pytest.approx(metrics.f1_score(wanted, logits.argmax(1), **kind), abs=1e-6)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30))
def test_correlations_are_scipys(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = (np.array([pair[side] for pair in pairs], dtype=float) for side in (0, 1))
    got = compute_metrics(SimpleNamespace(predictions=one[:, None], label_ids=other))
    if one.std() and other.std():
        assert got["pearson"] == pytest.approx(stats.pearsonr(one, other)[0], abs=1e-6)
        assert got["spearmanr"] == pytest.approx(stats.spearmanr(one, other)[0], abs=1e-6)
    else:
        assert 0.0 == got["pearson"] == got["spearmanr"]


def test_scores_are_trained_on_as_scores(tmp_path: Path) -> None:
    rows = [{"sentence1": "good " * (n % 5), "sentence2": "fine", "score": (n % 5) / 2} for n in range(1, 200) if n % 5]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = "--model_name_or_path tiny-random --num_train_epochs 6 --learning_rate 0.003 --save_strategy no"
    run = run_here(main, *flags.split(), "--train_file", str(tmp_path / "a.jsonl"), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    assert run.having("eval_pearson")[0]["eval_pearson"] > 0.8
    assert 1 == transformers.AutoConfig.from_pretrained(tmp_path / "m").num_labels


def test_every_row_of_the_test_data_has_its_prediction_under_its_number(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text('text,label\ngood,1\n"",0\nbad,\n')
    flags = "--model_name_or_path tiny-random --max_steps 2 --do_eval False --save_strategy no --do_predict True"
    run = run_here(main, *flags.split(), "--test_file", str(tmp_path / "test.csv"), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    lines = (tmp_path / "m" / "predictions.tsv").read_text().splitlines()
    assert ["index", "0", "1", "2"] == [line.split("\t")[0] for line in lines]


def test_tokens_of_the_summary_are_those_of_the_lines(learned: tuple[Finished, Path]) -> None:
    (summary,) = learned[0].having("train_tokens_per_second")
    lines = learned[0].having("loss")
    per_sample = [line["tokens_per_second"] / line["samples_per_second"] for line in lines]
    mean = summary["train_tokens_per_second"] / summary["train_samples_per_second"]
    assert mean == pytest.approx(sum(per_sample) / len(per_sample), rel=0.02)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    """With the hyperparameters that SageMaker's model-parallel jobs carry, and steps small enough to end alike on every machine."""
    folder = tmp_path_factory.mktemp("glue")
    (folder / "test.csv").write_text("sentence\nThe screen is not bad.\nThe screen is terrible.\n")
    flags = "--model_name_or_path tiny-random --num_train_epochs 8 --learning_rate 0.0007 --warmup_ratio 0.1 "
    flags += "--per_device_train_batch_size 16 --per_device_eval_batch_size 7 --save_strategy no --do_predict True"
    files = ["--output_dir", str(folder / "model"), "--test_file", str(folder / "test.csv")]
    run = run_here(main, *flags.split(), *files, "--mp_parameters", '{"partitions": 4, "ddp": true}')
    assert 0 == run.code, run.err
    return run, folder / "model"


def test_texts_of_like_length_share_a_step_unless_they_are_not_to(tmp_path: Path) -> None:
    flags = "--model_name_or_path tiny-random --max_steps 20 --logging_steps 20 --save_strategy no --max_eval_samples 8"
    fills = {}
    for wish in ("True", "False"):
        folder = str(tmp_path / wish)
        run = run_here(main, *flags.split(), "--group_by_length", wish, "--output_dir", folder)
        assert 0 == run.code, run.err
        fills[wish] = run.having("padding_fill")[0]["padding_fill"]
    asked_nothing = run_here(main, *flags.split(), "--output_dir", str(tmp_path / "default"))
    assert fills["True"] == asked_nothing.having("padding_fill")[0]["padding_fill"] > fills["False"] + 0.05


def test_a_run_with_its_texts_as_they_come_is_another_run(tmp_path: Path) -> None:
    flags = "--model_name_or_path tiny-random --save_steps 2 --do_eval False --output_dir"
    first = run_here(main, *flags.split(), str(tmp_path), "--max_steps", "2")
    assert 0 == first.code, first.err
    other = run_here(main, *flags.split(), str(tmp_path), "--max_steps", "2", "--group_by_length", "False")
    assert 2 == other.code
    assert re.search("another run .*(group_by_length|train_sampling_strategy): got", other.err)


def test_the_sample_is_learnt(learned: tuple[Finished, Path]) -> None:
    losses = [line["loss"] for line in learned[0].having("loss")]
    (line,) = learned[0].having("eval_accuracy")
    assert losses[-1] < 0.7 * losses[0]
    assert line["eval_accuracy"] > 0.85
    assert 400 == line["eval_samples"]
    assert (400 * line["eval_accuracy"]) == pytest.approx(round(400 * line["eval_accuracy"]))


def test_accuracy_and_f1_are_scikit_learns_over_the_saved_model(learned: tuple[Finished, Path]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    table = read_table(SAMPLE, "train_file")
    _, held_out = hold_out(classified(table, pick_columns(table), labels_of(table, "label")), 0.1, table)
    tokenizer = transformers.AutoTokenizer.from_pretrained(learned[1])
    model = transformers.AutoModelForSequenceClassification.from_pretrained(learned[1]).eval()
    with torch.no_grad():
        logits = model(**tokenizer(held_out["text"][:], padding=True, return_tensors="pt")).logits
    wanted, got = held_out["label"][:], logits.argmax(-1).tolist()
    (line,) = learned[0].having("eval_accuracy")
    assert line["eval_accuracy"] == pytest.approx(metrics.accuracy_score(wanted, got), abs=1e-6)
    assert line["eval_f1"] == pytest.approx(metrics.f1_score(wanted, got), abs=1e-6)


def test_predictions_are_written_in_order(learned: tuple[Finished, Path]) -> None:
    assert "index\tprediction\n0\t1\n1\t0\n" == (learned[1] / "predictions.tsv").read_text()


def test_mp_parameters_are_known(learned: tuple[Finished, Path]) -> None:
    assert "--mp_parameters" in learned[0].out
    assert parse_arguments(["--mp_parameters", "{}"])


def test_pairs_with_three_labels_train_on_a_channel(tmp_path: Path) -> None:
    words = {"entailment": "good", "neutral": "blue", "contradiction": "bad"}
    rows = [
        {"premise": "The screen is good.", "hypothesis": f"The screen is {word}.", "label": label}
        for _ in range(40)
        for label, word in words.items()
    ]
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = "--model_name_or_path tiny-random --num_train_epochs 9 --learning_rate 0.003 --save_strategy no"
    run = run_here(main, *flags.split(), "--train_file", str(tmp_path / "train"), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    assert 1.0 == run.having("eval_accuracy")[0]["eval_accuracy"] == run.having("eval_f1")[0]["eval_f1"]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "m")
    assert sorted(words) == [model.config.id2label[number] for number in range(3)]


# Of transformers' run_glue.py beside TrainingArguments, version 4.56.
FLAGS_OF_RUN_GLUE = {
    "task_name": "sst2", "dataset_name": "glue", "dataset_config_name": "sst2", "max_seq_length": "64", "overwrite_cache": "True",
    "pad_to_max_length": "False", "max_train_samples": "8", "max_eval_samples": "8", "max_predict_samples": "8", "train_file": "a.csv",
    "validation_file": "b.csv", "test_file": "c.csv", "model_name_or_path": "m", "config_name": "m", "tokenizer_name": "m",
    "cache_dir": "cache", "use_fast_tokenizer": "True", "model_revision": "main", "token": "hf", "trust_remote_code": "True",
    "ignore_mismatched_sizes": "True",
}  # fmt: skip


def test_every_flag_of_run_glue_is_known() -> None:
    model_args, data_args, _, notes = parse_arguments(
        [word for name, value in FLAGS_OF_RUN_GLUE.items() for word in ("--" + name, value)]
    )
    own = {**vars(model_args), **vars(data_args)}
    for name, value in FLAGS_OF_RUN_GLUE.items():
        assert str(own.get(name)) == value or f"--{name}: it means nothing here; left out" in notes
