"""The bundled texts, the tokenizer of `tiny-random`, and what simple methods make of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from _baselines import bag_of_words_accuracy, majority_accuracy
from kit.data import labels_of, read_table, split
from kit.device import load_tokenizer

import make_sample

FOLDER = Path(make_sample.__file__).parent
Rows = tuple[list[str], list[int]]


@pytest.fixture(scope="module")
def parts() -> tuple[Rows, Rows]:
    table = read_table(make_sample.SAMPLE, "train")
    (one, y), (other, z) = split(table, labels_of(table, "label"), 0.1, seed=20)
    return (one.texts("content"), y.values), (other.texts("content"), z.values)


def test_making_the_sample_again_gives_the_committed_bytes() -> None:
    assert make_sample.SAMPLE.read_bytes() == make_sample.sample_csv().encode()
    assert make_sample.TOKENIZER.read_bytes() == make_sample.tokenizer_json().encode()


def test_old_python_makes_the_same_bytes(python38: str) -> None:
    code = "import make_sample as m; print(m.SAMPLE.read_bytes() == m.sample_csv().encode())"
    out = subprocess.run([python38, "-B", "-c", code], cwd=FOLDER, capture_output=True, text=True, check=True)
    assert "True" == out.stdout.strip()


def test_the_bundle_is_small() -> None:
    assert make_sample.SAMPLE.stat().st_size + make_sample.TOKENIZER.stat().st_size < 400_000
    assert len(make_sample.vocabulary()) <= 2000


def test_no_text_is_in_both_parts(parts: tuple[Rows, Rows]) -> None:
    assert not set(parts[0][0]) & set(parts[1][0])
    assert 4000 == len(parts[0][0]) + len(parts[1][0])


def test_the_tokenizer_knows_every_word_of_the_sample(parts: tuple[Rows, Rows]) -> None:
    tokenizer = load_tokenizer("tiny-random")
    ids = tokenizer(parts[0][0])["input_ids"]
    assert not any(tokenizer.unk_token_id in text for text in ids)
    assert ids[0][0] == tokenizer.cls_token_id
    assert ids[0][-1] == tokenizer.sep_token_id


def test_counting_words_is_better_than_guessing_and_not_enough(parts: tuple[Rows, Rows]) -> None:
    train, held_out = parts
    assert 0.45 < majority_accuracy(train[1], held_out[1]) < 0.55
    assert 0.65 < bag_of_words_accuracy(train, held_out, 2) < 0.82


@pytest.mark.parametrize("classes", [2, 3])
def test_the_word_counts_baseline_equals_scikit_learns(parts: tuple[Rows, Rows], classes: int) -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    train, held_out = (
        (
            texts[:1200],
            [(n + len(text)) % classes if classes > 2 else n for n, text in zip(labels, texts, strict=True)][:1200],
        )
        for texts, labels in parts
    )
    counter = text.CountVectorizer()
    model = linear.LogisticRegression(max_iter=2000, tol=1e-8).fit(counter.fit_transform(train[0]), train[1])
    theirs = model.score(counter.transform(held_out[0]), held_out[1])
    assert theirs == pytest.approx(bag_of_words_accuracy(train, held_out, classes), abs=0.006)


def test_majority_takes_the_commonest_training_label() -> None:
    assert 0.25 == majority_accuracy([1, 1, 0], [0, 0, 0, 1])
