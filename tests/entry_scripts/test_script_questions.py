"""The question-answering script: windows, spans, and the formulas of SQuAD's evaluation."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
metrics = pytest.importorskip("sklearn.metrics")

import _make_questions
from _console import USER_MISTAKE, Mistake
from _models import load_tokenizer
from _questions import Question, answers_of, encode_questions, read_questions
from _scores import accuracy, answer_f1, exact_match, f1
from hypothesis import given
from hypothesis import strategies as st
from train_question_answering import main

from launch import Finished, run_here

pytestmark = pytest.mark.local


# --- the formulas, once more and written otherwise ---


def reference_normal(text: str) -> list[str]:
    text = re.sub(f"[{re.escape(string.punctuation)}]", "", text.lower())
    return [word for word in re.split(r"\s+", re.sub(r"\b(a|an|the)\b", " ", text)) if word]


def reference_f1(gold: str, answer: str) -> float:
    wanted, got = reference_normal(gold), reference_normal(answer)
    if not wanted or not got:
        return float(wanted == got)
    shared = sum(min(count, Counter(got)[word]) for word, count in Counter(wanted).items())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(got), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


WORDS = st.lists(st.sampled_from(["the", "a", "An", "red", "Red.", "box", "box's", "on", "-", "Monday!"]), max_size=6)
TEXTS = WORDS.map(" ".join)


@given(st.lists(TEXTS, max_size=3), TEXTS)
def test_exact_match_and_f1_are_those_of_the_reference(gold: list[str], answer: str) -> None:
    assert answer_f1(gold, answer) == pytest.approx(max(reference_f1(one, answer) for one in gold or [""]))
    wanted = float(any(reference_normal(one) == reference_normal(answer) for one in gold or [""]))
    assert wanted == exact_match(gold, answer)


@pytest.mark.parametrize(
    ("gold", "answer", "exact", "overlap"),
    [
        (["the Red box."], "red box", 1.0, 1.0),
        (["red box"], "blue box", 0.0, 0.5),
        (["x y", "red box"], "red", 0.0, 2 / 3),
        ([], "", 1.0, 1.0),
        ([], "something", 0.0, 0.0),
    ],
)
def test_known_answers_have_known_scores(gold: list[str], answer: str, exact: float, overlap: float) -> None:
    assert exact == exact_match(gold, answer)
    assert overlap == pytest.approx(answer_f1(gold, answer))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_accuracy_and_f1_are_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    wanted, got = [one for one, _ in pairs], [other for _, other in pairs]
    assert accuracy(wanted, got) == pytest.approx(metrics.accuracy_score(wanted, got))
    assert f1(wanted, got, 3) == pytest.approx(metrics.f1_score(wanted, got, average="macro", zero_division=0))
    two, other_two = [label % 2 for label in wanted], [label % 2 for label in got]
    assert f1(two, other_two, 2) == pytest.approx(metrics.f1_score(two, other_two, zero_division=0))


# --- files ---


def test_the_bundled_questions_are_made_by_their_script_and_answers_lie_where_they_say() -> None:
    assert _make_questions.QUESTIONS.read_bytes() == _make_questions.sample_jsonl().encode()
    for one in read_questions("sample", "train_file"):
        begin = one.starts[0]
        assert one.answers[0] == one.context[begin : begin + len(one.answers[0])]


ASKED = Question("7", "Who?", "It was Ann.", ("Ann",), (7,))
FLAT = {"id": "7", "question": "Who?", "context": "It was Ann.", "answers": {"text": ["Ann"], "answer_start": [7]}}
NESTED = {"id": "7", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 7}]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", json.dumps(FLAT)),
        ("a.json", json.dumps({"data": [FLAT]})),
        ("a.json", json.dumps({"data": [{"paragraphs": [{"context": "It was Ann.", "qas": [NESTED]}]}]})),
        ("a.csv", "id,question,context,answer,answer_start\n7,Who?,It was Ann.,Ann,7\n"),
        (
            "a.csv",
            'id,question,context,answers\n7,Who?,It was Ann.,"'
            + json.dumps(FLAT["answers"]).replace('"', '""')
            + '"\n',
        ),
    ],
)
def test_every_common_form_of_a_question_is_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert [ASKED] == read_questions(str(tmp_path / name), "train_file")


def test_a_question_without_an_answer_is_kept_and_a_row_without_a_context_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({**FLAT, "answers": {"text": [], "answer_start": []}}))
    assert () == read_questions(str(tmp_path / "a.jsonl"), "train_file")[0].answers
    (tmp_path / "b.jsonl").write_text(json.dumps({"question": "Who?", "answers": {}}))
    with pytest.raises(Mistake, match=r"--train_file: row 0 of b\.jsonl lacks context; wanted context, question"):
        read_questions(str(tmp_path / "b.jsonl"), "train_file")


# --- windows and spans ---


def questions_with_long_contexts() -> list[Question]:
    filler = "It was a very good day and we like the red box. " * 6
    made = []
    for number in range(6):
        parts = [filler] * 3
        parts.insert(number % 4, "My sister bought the blue handle on Monday. ")
        context = "".join(parts)
        made.append(
            Question(str(number), "Who bought the handle?", context, ("My sister",), (context.index("My sister"),))
        )
    return made


def test_every_answer_is_found_again_from_its_labels_over_overlapping_windows() -> None:
    questions = questions_with_long_contexts()
    features = encode_questions(questions, load_tokenizer("tiny-random"), max_length=48, stride=16, full_length=False)
    assert len(features.of_question) > 3 * len(questions)
    labels = features.examples.labels
    logits = tuple(torch.zeros(len(features.of_question), 48) for _ in range(2))
    for side, name in zip(logits, ("start_positions", "end_positions"), strict=True):
        for row, place in enumerate(labels[name].tolist()):
            side[row, place] = 9.0 if place else 1.0
    found = answers_of(
        questions, features, (logits[0].numpy(), logits[1].numpy()), n_best=5, max_tokens=30, may_be_empty=False
    )
    assert ["My sister"] * len(questions) == found
    assert set(features.of_question) == set(range(len(questions)))


def best(starts: dict[int, float], ends: dict[int, float], *, may_be_empty: bool = False, max_tokens: int = 30) -> str:
    """Of one question with the tokens 0 [CLS] who ? [SEP] 4 my sister is 7 good [SEP]."""
    asked = [Question("0", "Who?", "My sister is good", ("My sister",), (0,))]
    features = encode_questions(asked, load_tokenizer("tiny-random"), max_length=16, stride=4, full_length=True)
    sides = [torch.full((1, 16), -5.0) for _ in range(2)]
    for side, logits in zip(sides, (starts, ends), strict=True):
        for place, logit in logits.items():
            side[0, place] = logit
    arrays = sides[0].numpy(), sides[1].numpy()
    return answers_of(asked, features, arrays, n_best=5, max_tokens=max_tokens, may_be_empty=may_be_empty)[0]


def test_an_answer_lies_in_the_context_runs_forwards_and_is_not_too_long() -> None:
    assert "My sister" == best({1: 9.0, 4: 5.0}, {2: 9.0, 5: 5.0})  # the likelier span is in the question
    assert "is good" == best({6: 5.0}, {4: 9.0, 7: 3.0})  # the likelier one runs backwards
    assert "My sister is good" == best({4: 5.0, 6: 4.0}, {7: 5.0})
    assert "is good" == best({4: 5.0, 6: 4.0}, {7: 5.0}, max_tokens=3)


def test_the_empty_answer_wins_only_where_it_may() -> None:
    assert "" == best({0: 9.0, 4: 5.0}, {0: 9.0, 5: 5.0}, may_be_empty=True)
    assert "My sister" == best({0: 9.0, 4: 5.0}, {0: 9.0, 5: 5.0}, may_be_empty=False)
    assert "My sister" == best({0: 1.0, 4: 5.0}, {0: 1.0, 5: 5.0}, may_be_empty=True)


# --- runs ---


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    folder = tmp_path_factory.mktemp("questions") / "model"
    flags = "--model_name_or_path tiny-random --num_train_epochs 7 --learning_rate 0.003 --warmup_ratio 0.1 "
    flags += "--per_device_train_batch_size 16 --max_seq_length 64 --doc_stride 16 --save_strategy no --fp16 False"
    run = run_here(main, *flags.split(), "--output_dir", str(folder))
    assert 0 == run.code, run.err
    return run, folder


def test_the_sample_is_learnt_and_answered(learned: tuple[Finished, Path]) -> None:
    losses = [line["loss"] for line in learned[0].having("loss")]
    (line,) = learned[0].having("eval_f1")
    assert losses[-1] < 0.2 * losses[0]
    assert line["eval_exact_match"] > 90
    assert 100 >= line["eval_f1"] >= line["eval_exact_match"]
    assert 60 == line["eval_samples"]


def test_the_saved_model_answers(learned: tuple[Finished, Path]) -> None:
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(learned[1])
    tokenizer = transformers.AutoTokenizer.from_pretrained(learned[1])
    pair = tokenizer("Who bought the case?", "My friend bought the green case on Friday.", return_tensors="pt")
    with torch.no_grad():
        out = model(**pair)
    tokens = pair["input_ids"][0, int(out.start_logits.argmax()) : int(out.end_logits.argmax()) + 1]
    assert "my friend" == tokenizer.decode(tokens)


def test_a_stride_as_long_as_the_window_is_a_mistake() -> None:
    run = run_here(main, "--max_seq_length", "128")
    assert (USER_MISTAKE, True) == (run.code, run.err.startswith("error: --doc_stride: got 128, wanted less than"))
