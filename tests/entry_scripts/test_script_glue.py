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
from kit.common import TrainingArguments, load_config, load_model, load_tokenizer, parse
from train_glue import GlueArguments, ModelArguments, compute_metrics, load_raw_datasets, main

from launch import Finished, run_here

pytestmark = pytest.mark.local


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
    args = SimpleNamespace(seed=1, device="cpu")
    model = load_model(transformers.AutoModelForSequenceClassification, "tiny-random", config, tokenizer, args)
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
    assert ["index\tprediction", *(f"{row}\twonderful" for row in range(4))] == [line.lower() for line in told]


def test_a_model_without_names_of_its_own_gets_those_of_the_data_set_in_their_order(
    named_classes: Path, tmp_path: Path
) -> None:
    flags = ["--model_name_or_path", "tiny-random", "--max_steps", "1", "--do_eval", "False", "--save_strategy", "no"]
    run = run_here(main, *flags, "--dataset_name", str(named_classes), "--output_dir", str(tmp_path / "m"))
    assert 0 == run.code, run.err
    assert {0: "wonderful", 1: "awful"} == transformers.AutoConfig.from_pretrained(tmp_path / "m").id2label


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
    held_out = load_raw_datasets(GlueArguments(), ())["validation"]
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
    assert "ignored, for it means nothing here: --mp_parameters" in learned[0].out


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


def test_every_flag_of_run_glue_is_known(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [word for name, value in FLAGS_OF_RUN_GLUE.items() for word in ("--" + name, value)]
    kinds = (ModelArguments, GlueArguments, TrainingArguments)
    model_args, data_args, _ = parse(kinds, [*words, "--output_dir", str(tmp_path)])
    ignored = capsys.readouterr().out
    own = {**vars(model_args), **vars(data_args)}
    for name, value in FLAGS_OF_RUN_GLUE.items():
        assert str(own.get(name)) == value or f"--{name}" in ignored
