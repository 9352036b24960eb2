"""The bundled texts, the tokenizer of `tiny-random`, and what simple methods make of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import _make_sample
from _baselines import bag_of_words_accuracy, majority_accuracy
from _data import Rows, read_rows, split
from _models import TINY, load_tokenizer

FOLDER = Path(_make_sample.__file__).parent


@pytest.fixture(scope="module")
def parts() -> tuple[Rows, Rows]:
    return split(read_rows("sample", "train"), 0.1)


def numbers(rows: Rows) -> list[int]:
    return [int(label) for label in rows.labels]


def test_making_the_sample_again_gives_the_committed_bytes() -> None:
    assert _make_sample.SAMPLE.read_bytes() == _make_sample.sample_csv().encode()
    assert _make_sample.TOKENIZER.read_bytes() == _make_sample.tokenizer_json().encode()


def test_old_python_makes_the_same_bytes(python38: str) -> None:
    code = "import _make_sample as m; print(m.SAMPLE.read_bytes() == m.sample_csv().encode())"
    out = subprocess.run([python38, "-B", "-c", code], cwd=FOLDER, capture_output=True, text=True, check=True)
    assert "True" == out.stdout.strip()


def test_the_bundle_is_small() -> None:
    assert _make_sample.SAMPLE.stat().st_size + _make_sample.TOKENIZER.stat().st_size < 400_000
    assert len(_make_sample.vocabulary()) <= 2000


def test_no_text_is_in_both_parts(parts: tuple[Rows, Rows]) -> None:
    assert not set(parts[0].texts) & set(parts[1].texts)
    assert 4000 == len(parts[0].texts) + len(parts[1].texts)


def test_the_tokenizer_knows_every_word_of_the_sample(parts: tuple[Rows, Rows]) -> None:
    tokenizer = load_tokenizer(TINY)
    ids = tokenizer(parts[0].texts)["input_ids"]
    assert not any(tokenizer.unk_token_id in text for text in ids)
    assert ids[0][0] == tokenizer.cls_token_id
    assert ids[0][-1] == tokenizer.sep_token_id


def test_counting_words_is_better_than_guessing_and_not_enough(parts: tuple[Rows, Rows]) -> None:
    train, held_out = ((rows.texts, numbers(rows)) for rows in parts)
    assert 0.45 < majority_accuracy(train[1], held_out[1]) < 0.55
    assert 0.65 < bag_of_words_accuracy(train, held_out, 2) < 0.82


@pytest.mark.parametrize("classes", [2, 3])
def test_the_word_counts_baseline_equals_scikit_learns(parts: tuple[Rows, Rows], classes: int) -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    train, held_out = (
        (
            rows.texts[:1200],
            [
                (n + len(text)) % classes if classes > 2 else n
                for n, text in zip(numbers(rows), rows.texts, strict=True)
            ][:1200],
        )
        for rows in parts
    )
    counter = text.CountVectorizer()
    model = linear.LogisticRegression(max_iter=2000, tol=1e-8).fit(counter.fit_transform(train[0]), train[1])
    theirs = model.score(counter.transform(held_out[0]), held_out[1])
    assert theirs == pytest.approx(bag_of_words_accuracy(train, held_out, classes), abs=0.006)


def test_majority_takes_the_commonest_training_label() -> None:
    assert 0.25 == majority_accuracy([1, 1, 0], [0, 0, 0, 1])
