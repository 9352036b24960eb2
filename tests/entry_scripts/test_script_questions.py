"""The question-answering script: windows, spans, and the formulas of SQuAD's evaluation."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
np = pytest.importorskip("numpy")

from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from kit.common import load_tokenizer
from sm_spot import USAGE_ERROR
from train_question_answering import (
    QuestionArguments,
    answer_f1,
    answers_of,
    exact_match,
    load_questions,
    main,
    windows_of,
)

import make_questions
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


# --- files ---


def test_the_bundled_questions_are_made_by_their_script_and_answers_lie_where_they_say() -> None:
    assert make_questions.QUESTIONS.read_bytes() == make_questions.sample_jsonl().encode()
    sets = load_questions(QuestionArguments())
    assert [540, 60] == list(map(len, sets.values()))
    for row in sets["train"]:
        (answer,), (begin,) = row["answers"]["text"], row["answers"]["answer_start"]
        assert answer == row["context"][begin : begin + len(answer)]


# --- windows and spans ---


def asked(question: str, context: str, answer: str) -> dict[str, Any]:
    answers = {"text": [answer], "answer_start": [context.index(answer)]}
    return {"id": context[:9], "question": question, "context": context, "answers": answers}


def questions(*rows: dict[str, Any]) -> Any:
    return Dataset.from_list(list(rows))


LIMITS = SimpleNamespace(max_answer_length=30, version_2_with_negative=False, null_score_diff_threshold=0.0)


def test_every_answer_is_found_again_from_its_labels_over_overlapping_windows() -> None:
    filler, rows = "It was a very good day and we like the red box. " * 6, []
    for number in range(6):
        parts = [filler] * 3
        parts.insert(number % 4, "My sister bought the blue handle on Monday. ")
        rows.append(asked("Who bought the handle?", f"{number} {''.join(parts)}", "My sister"))
    known = questions(*rows)
    windows = windows_of(load_tokenizer("tiny-random"), known, max_length=48, stride=16)
    assert len(windows) > 3 * len(rows)
    sides = [np.zeros((len(windows), 48)) for _ in range(2)]
    for side, name in zip(sides, ("start_positions", "end_positions"), strict=True):
        for row in range(len(windows)):
            place = windows[row][name]
            side[row, place] = 9.0 if place else 1.0
    assert ["My sister"] * len(rows) == answers_of(known, windows, (sides[0], sides[1]), LIMITS)
    assert set(windows["question"]) == set(range(len(rows)))


def best(starts: dict[int, float], ends: dict[int, float], *, may_be_empty: bool = False, max_tokens: int = 30) -> str:
    """Of one question with the tokens 0 [CLS] who ? [SEP] 4 my sister is 7 good [SEP]."""
    known = questions(asked("Who?", "My sister is good", "My sister"))
    windows = windows_of(load_tokenizer("tiny-random"), known, max_length=16, stride=4)
    sides = [np.full((1, 16), -5.0) for _ in range(2)]
    for side, logits in zip(sides, (starts, ends), strict=True):
        for place, logit in logits.items():
            side[0, place] = logit
    limits = {**vars(LIMITS), "max_answer_length": max_tokens, "version_2_with_negative": may_be_empty}
    return answers_of(known, windows, (sides[0], sides[1]), SimpleNamespace(**limits))[0]


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


def test_the_figures_of_a_whole_run_are_the_references_over_its_predictions(learned: tuple[Finished, Path]) -> None:
    given = json.loads((learned[1] / "predictions.json").read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in make_questions.QUESTIONS.read_text(encoding="utf-8").splitlines()]
    gold = {row["id"]: row["answers"]["text"] for row in rows}
    assert 60 == len(given)
    f1 = [max(reference_f1(one, answer) for one in gold[key]) for key, answer in given.items()]
    exact = [
        any(reference_normal(one) == reference_normal(answer) for one in gold[key]) for key, answer in given.items()
    ]
    (line,) = learned[0].having("eval_f1")
    assert line["eval_f1"] == pytest.approx(100 * sum(f1) / len(f1), abs=1e-4)
    assert line["eval_exact_match"] == pytest.approx(100 * sum(exact) / len(exact), abs=1e-4)


def test_the_saved_model_answers(learned: tuple[Finished, Path]) -> None:
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(learned[1])
    tokenizer = transformers.AutoTokenizer.from_pretrained(learned[1])
    pair = tokenizer("Who bought the case?", "My friend bought the green case on Friday.", return_tensors="pt")
    with torch.no_grad():
        out = model(**pair)
    tokens = pair["input_ids"][0, int(out.start_logits.argmax()) : int(out.end_logits.argmax()) + 1]
    assert "my friend" == tokenizer.decode(tokens)


def test_a_stride_as_long_as_the_window_is_a_mistake() -> None:
    run = run_here(main, "--model_name_or_path", "tiny-random", "--max_seq_length", "128", "--doc_stride", "128")
    assert USAGE_ERROR == run.code
    assert "error: --max_seq_length, --doc_stride: " in run.err
