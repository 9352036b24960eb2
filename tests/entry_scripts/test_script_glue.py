"""The GLUE script: names of tasks, texts and pairs, accuracy and F1, predictions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from _console import Mistake
from _examples import Collator, encode_examples
from _pairs import Pair, read_pairs, task_pairs
from _parts import Grain
from train_glue import main, parse_arguments

from launch import Finished, run_here

pytestmark = pytest.mark.local


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        (("premise", "hypothesis", "label"), Pair("a", "b", "1")),
        (("sentence1", "sentence2", "label"), Pair("a", "b", "1")),
        (("question", "sentence", "label"), Pair("a", "b", "1")),
        (("sentence", "idx", "label"), Pair("a", "", "1")),
        (("text", "idx", "sentiment"), Pair("a", "", "1")),
    ],
)
def test_texts_and_pairs_are_found_by_glues_names(tmp_path: Path, columns: tuple[str, ...], wanted: Pair) -> None:
    (tmp_path / "a.csv").write_text(",".join(columns) + "\na,b,1\n,b,1\na,b,-1\na,b,\n")
    assert [wanted] == read_pairs(str(tmp_path / "a.csv"), "train_file")


def test_rows_to_be_labelled_need_no_label(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"premise": "a", "hypothesis": "b", "label": -1}))
    assert [Pair("a", "b", "-1")] == read_pairs(str(tmp_path / "a.jsonl"), "test_file", labelled=False)


def test_unknown_columns_and_tasks_are_mistakes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("left,right,label\na,b,1\n")
    with pytest.raises(
        Mistake, match=r"--train_file: a\.csv has the columns left, right, label, wanted one of: premise"
    ):
        read_pairs(str(tmp_path / "a.csv"), "train_file")
    with pytest.raises(Mistake, match="--task_name: got 'stsb', wanted one of cola, mnli"):
        task_pairs("stsb")


@pytest.mark.parametrize("name", ["MNLI", "mnli", "SST-2", "sst2"])
def test_tasks_are_known_by_their_written_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Mistake, match="--dataset_name: "):  # known, and then the hub is out of reach
        task_pairs(name)


def test_a_batch_is_as_long_as_its_longest_example_or_as_all() -> None:
    examples = encode_examples({"input_ids": [[1] * 3, [2] * 9, [3] * 20]}, {"labels": [0, 1, 0]}, length=24, pad_id=0)
    short, fixed = (Collator(examples, trim=trim)([0, 1]) for trim in (True, False))
    assert ((2, 16), (2, 24)) == (tuple(short["input_ids"].shape), tuple(fixed["input_ids"].shape))
    assert [3, 9] == short["attention_mask"].sum(1).tolist() == fixed["attention_mask"].sum(1).tolist()
    assert short["input_ids"].tolist() == fixed["input_ids"][:, :16].tolist()
    assert [0, 1] == short["labels"].tolist()


def test_a_batch_in_parts_trains_the_same_model_as_a_whole_one(tmp_path: Path) -> None:
    from _trainer import SpotTrainer

    lengths, pad_id = [3, 40, 9, 17, 60, 5, 8, 30, 12, 33, 4, 55, 7, 21, 2, 64], 0
    torch.manual_seed(1)
    drawn = [torch.randint(5, 200, (length,)).tolist() for length in lengths]
    labels = [index % 2 for index in range(len(drawn))]
    examples = encode_examples({"input_ids": drawn}, {"labels": labels}, length=64, pad_id=pad_id)
    config = transformers.BertConfig(
        vocab_size=200, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    start = transformers.BertForSequenceClassification(config).state_dict()

    def trained(grain: Grain | None) -> tuple[list[float], dict[str, torch.Tensor]]:  # type: ignore[name-defined]  # of a module that is not typed here
        model = transformers.BertForSequenceClassification(config)
        model.load_state_dict(start)
        args = transformers.TrainingArguments(
            output_dir=str(tmp_path / str(grain is None)), per_device_train_batch_size=4, gradient_accumulation_steps=2,
            max_steps=4, learning_rate=0.01, use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True,
            remove_unused_columns=False, logging_steps=1, dataloader_pin_memory=False,
        )  # fmt: skip
        collator = Collator(examples, trim=True, grain=grain)
        trainer = SpotTrainer(model=model, args=args, train_dataset=examples, data_collator=collator)
        trainer.train()
        return [line["loss"] for line in trainer.state.log_history if "loss" in line], model.state_dict()

    whole, parts = trained(None), trained(Grain(8, 1))
    assert parts[0] == pytest.approx(whole[0], abs=2e-4)
    for name, weights in whole[1].items():
        torch.testing.assert_close(parts[1][name], weights, rtol=1e-3, atol=1e-5)


def test_tokens_of_the_summary_are_those_of_the_lines(learned: tuple[Finished, Path]) -> None:
    (summary,) = learned[0].having("train_tokens_per_second")
    lines = learned[0].having("loss")
    per_sample = [line["tokens_per_second"] / line["samples_per_second"] for line in lines]
    mean = summary["train_tokens_per_second"] / summary["train_samples_per_second"]
    assert mean == pytest.approx(sum(per_sample) / len(per_sample), rel=0.02)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    """With the hyperparameters that SageMaker's model-parallel jobs carry."""
    folder = tmp_path_factory.mktemp("glue")
    (folder / "test.csv").write_text("sentence\nThe screen is not bad.\nThe screen is terrible.\n")
    flags = "--model_name_or_path tiny-random --num_train_epochs 2 --learning_rate 0.002 --warmup_ratio 0.1 "
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
    assert "another run (group_by_length: got False, it has True)" in other.err


def test_what_other_grouping_needs_is_said(tmp_path: Path) -> None:
    if "batch_rebalance" not in str(transformers.TrainingArguments.__dataclass_fields__):
        pytest.skip("this transformers has no batch_rebalance")
    flags = "--model_name_or_path tiny-random --max_steps 2 --train_sampling_strategy batch_rebalance"
    run = run_here(main, *flags.split(), "--output_dir", str(tmp_path))
    assert 2 == run.code
    assert "got 'batch_rebalance', wanted random, sequential or group_by_length" in run.err


def test_the_sample_is_learnt(learned: tuple[Finished, Path]) -> None:
    losses = [line["loss"] for line in learned[0].having("loss")]
    (line,) = learned[0].having("eval_accuracy")
    assert losses[-1] < 0.6 * losses[0]
    assert line["eval_accuracy"] > 0.85
    assert 400 == line["eval_samples"]
    assert (400 * line["eval_accuracy"]) == pytest.approx(round(400 * line["eval_accuracy"]))


def test_accuracy_and_f1_are_scikit_learns_over_the_saved_model(learned: tuple[Finished, Path]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    from _data import cut

    pairs = cut(read_pairs("sample", "train_file"), 0.1)[1]
    tokenizer = transformers.AutoTokenizer.from_pretrained(learned[1])
    model = transformers.AutoModelForSequenceClassification.from_pretrained(learned[1]).eval()
    with torch.no_grad():
        logits = model(**tokenizer([pair.first for pair in pairs], padding=True, return_tensors="pt")).logits
    wanted, got = [int(pair.label) for pair in pairs], logits.argmax(-1).tolist()
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
