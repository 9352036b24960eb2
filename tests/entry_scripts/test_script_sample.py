"""The bundled texts, the tokenizer of `tiny-random`, and what simple methods make of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from kit.common import load_tokenizer
from kit.data import DataArguments, label_sets, read_sets

import make_sample

FOLDER = Path(make_sample.__file__).parent
Rows = tuple[list[str], list[int]]


@pytest.fixture(scope="module")
def parts() -> tuple[Rows, Rows]:
    args = SimpleNamespace(text_column=None, label_column=None, num_labels=None, validation_fraction=0.1)
    train, other = label_sets(read_sets(DataArguments(), "reviews.csv"), args).values()
    return (train["text"][:], train["label"][:]), (other["text"][:], other["label"][:])


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
