"""The request handlers, called as SageMaker's hosting containers call them."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import inference
from fork_server import TORCH, python_with
from kit.common import load_config, load_model, load_tokenizer

from launch import QUIET, SCRIPTS

pytestmark = pytest.mark.local
ARGS = SimpleNamespace(seed=3, device="cpu")
TEXTS = ["The screen is not bad.", "The camera is terrible, but the battery is great!", "Dull"]


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the classification script saves it."""
    folder = tmp_path_factory.mktemp("hosted")
    tokenizer = load_tokenizer("tiny-random")
    torch.manual_seed(3)
    names = ["sad", "neutral", "happy"]
    config = load_config("tiny-random", tokenizer, id2label=dict(enumerate(names)))
    load_model(transformers.AutoModelForSequenceClassification, "tiny-random", config, tokenizer, ARGS).save_pretrained(
        folder
    )
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def ask(model_dir: Path) -> Callable[..., Any]:
    """The toolkits' order: model_fn once; then input_fn, predict_fn, output_fn, all with positional arguments."""
    model = inference.model_fn(str(model_dir))

    def call(body: bytes | str, content_type: str = "application/json", accept: str = "application/json") -> str:
        return inference.output_fn(inference.predict_fn(inference.input_fn(body, content_type), model), accept)

    return call


def wanted(model_dir: Path) -> list[tuple[str, float]]:
    """One text at a time, without padding."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(model_dir).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_dir)
    answers = []
    for text in TEXTS:
        with torch.no_grad():
            scores = model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0]
        answers.append((model.config.id2label[int(scores.argmax())], float(scores.max())))
    return answers


@pytest.mark.parametrize(
    ("handler", "arguments"), [("model_fn", 2), ("input_fn", 2), ("predict_fn", 2), ("output_fn", 2)]
)
def test_the_handlers_take_as_many_arguments_as_the_toolkits_pass(handler: str, arguments: int) -> None:
    # One argument more would be taken for the wish to have the request's context.
    assert arguments == len(inspect.signature(getattr(inference, handler)).parameters)


def test_texts_asked_together_are_answered_as_if_alone(ask: Callable[..., str], model_dir: Path) -> None:
    got = json.loads(ask(json.dumps({"inputs": TEXTS})))
    assert [label for label, _ in wanted(model_dir)] == [entry["label"] for entry in got]
    assert [pytest.approx(score, abs=1e-5) for _, score in wanted(model_dir)] == [entry["score"] for entry in got]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (json.dumps({"inputs": TEXTS}).encode(), "application/json; charset=utf-8"),
        (bytearray(json.dumps({"inputs": TEXTS}).encode()), "application/json"),
        ("\n".join(json.dumps({"inputs": text}) for text in TEXTS), "application/jsonlines"),
        ("\n".join(f'"{text}"' for text in TEXTS).encode(), "text/csv"),
    ],
)
def test_every_way_to_send_the_texts_gets_the_same_answer(
    ask: Callable[..., str], body: bytes, content_type: str
) -> None:
    assert ask(json.dumps({"inputs": TEXTS})) == ask(body, content_type)


def test_one_text_is_answered_with_a_list_of_one(ask: Callable[..., str]) -> None:
    whole = json.loads(ask(json.dumps({"inputs": TEXTS})))
    assert (
        whole[:1] == json.loads(ask(json.dumps({"inputs": TEXTS[0]}))) == json.loads(ask(TEXTS[0], "text/plain", "*/*"))
    )


def test_the_likeliest_labels_come_first_and_add_up_to_one(ask: Callable[..., str]) -> None:
    body = json.dumps({"inputs": TEXTS, "parameters": {"top_k": 3}})
    for labels in json.loads(ask(body)):
        assert ["happy", "neutral", "sad"] == sorted(entry["label"] for entry in labels)
        scores = [entry["score"] for entry in labels]
        assert sorted(scores, reverse=True) == scores
        assert sum(scores) == pytest.approx(1.0)


def test_pairs_are_answered_as_the_model_reads_them(ask: Callable[..., str], model_dir: Path) -> None:
    model = transformers.AutoModelForSequenceClassification.from_pretrained(model_dir).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_dir)
    with torch.no_grad():
        scores = model(**tokenizer(TEXTS[0], TEXTS[1], return_tensors="pt")).logits.softmax(-1)[0]
    pair = {"text": TEXTS[0], "text_pair": TEXTS[1]}
    (got,) = json.loads(ask(json.dumps({"inputs": pair})))
    assert (model.config.id2label[int(scores.argmax())], pytest.approx(float(scores.max()))) == tuple(got.values())
    assert [got, got] == json.loads(ask(json.dumps({"inputs": [pair, pair]})))
    with pytest.raises(ValueError, match="wanted a text that is not empty, or a pair of them"):
        ask(json.dumps({"inputs": {"text": TEXTS[0]}}))


def test_a_model_of_scores_answers_with_its_score(tmp_path: Path) -> None:
    tokenizer = load_tokenizer("tiny-random")
    torch.manual_seed(3)
    config = load_config("tiny-random", tokenizer, num_labels=1, problem_type="regression")
    model = load_model(transformers.AutoModelForSequenceClassification, "tiny-random", config, tokenizer, ARGS).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with torch.no_grad():
        score = float(model(**tokenizer(TEXTS[0], return_tensors="pt")).logits)
    (got,) = inference.predict_fn(inference.Request([TEXTS[0]]), inference.model_fn(str(tmp_path)))
    assert pytest.approx(score, abs=1e-5) == got[0]["score"]


def test_more_texts_than_a_batch_keep_their_order(ask: Callable[..., str]) -> None:
    many = [TEXTS[number % 3] for number in range(3 * inference.BATCH + 1)]
    once = json.loads(ask(json.dumps({"inputs": TEXTS})))
    answers = json.loads(ask(json.dumps({"inputs": many})))
    assert [once[number % 3]["label"] for number in range(len(many))] == [entry["label"] for entry in answers]


def test_a_text_longer_than_the_model_takes_is_cut(ask: Callable[..., str]) -> None:
    assert 1 == len(json.loads(ask(json.dumps({"inputs": "good " * 5000}))))


@pytest.mark.parametrize(
    ("body", "content_type", "accept", "said"),
    [
        ("{", "application/json", "application/json", "body: wanted JSON like"),
        ('{"text": "x"}', "application/json", "application/json", "body: wanted JSON like"),
        ('["x"]', "application/json", "application/json", "body: wanted JSON like"),
        ('{"inputs": 7}', "application/json", "application/json", "inputs: got 7 at place 0, wanted a text"),
        ('{"inputs": []}', "application/json", "application/json", "inputs: got no texts"),
        ('{"inputs": ["a", 7]}', "application/json", "application/json", "inputs: got 7 at place 1, wanted a text"),
        ('{"inputs": [" "]}', "application/json", "application/json", "inputs: got ' ' at place 0"),
        ('{"inputs": "a", "parameters": {"top_k": 0}}', "application/json", "*/*", "parameters: got top_k 0"),
        ('{"inputs": "a", "parameters": 3}', "application/json", "*/*", "body: wanted JSON like"),
        (b"\xff\xfe", "text/csv", "application/json", "body: wanted UTF-8 text"),
        ("a", "image/png", "application/json", "Content-Type: got 'image/png', wanted one of application/json"),
        ("a", "text/plain", "image/png", "Accept: got 'image/png', wanted application/json"),
    ],
)
def test_a_request_that_cannot_be_answered_is_told_why(
    ask: Callable[..., str], body: bytes, content_type: str, accept: str, said: str
) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the message is looked at below
        ask(body, content_type, accept)
    assert str(raised.value).startswith(said)


def test_it_answers_alone_in_another_folder(model_dir: Path, tmp_path: Path) -> None:
    """As it lies in a model archive: without the modules of the training scripts."""
    shutil.copytree(model_dir, tmp_path / "model")
    (tmp_path / "model" / "code").mkdir()
    shutil.copy(SCRIPTS / "inference.py", tmp_path / "model" / "code")
    code = "import inference as i; print(len(i.predict_fn(i.input_fn('good', 'text/plain'), i.model_fn('..'))))"
    out = subprocess.run(  # noqa: PLW1510 - its output tells
        [python_with(*TORCH), "-c", code],
        cwd=tmp_path / "model" / "code", capture_output=True, text=True, env={**os.environ, **QUIET},
    )  # fmt: skip
    assert "1" == out.stdout.strip(), out.stderr


def test_a_tokenizer_of_a_newer_library_is_read_from_its_file(model_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "newer"
    shutil.copytree(model_dir, folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "tokenizer_class": "TokenizerOfTomorrow"}))
    (tmp_path / "plain").mkdir()
    tokenizer = inference._load_tokenizer(str(folder))
    assert load_tokenizer("tiny-random")(TEXTS[0])["input_ids"] == tokenizer(TEXTS[0])["input_ids"]
    assert ("[PAD]", 512) == (tokenizer.pad_token, tokenizer.model_max_length)


def test_each_worker_of_a_server_has_the_gpu_that_its_server_gives_it(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(transformers, "pipeline", lambda *_args, device, **_more: devices.append(device))
    for properties in ({"gpu_id": "3"}, {"gpu_id": None}, {}):
        inference.model_fn(str(model_dir), SimpleNamespace(system_properties=properties))
    inference.model_fn(str(model_dir))
    assert [3, 0, 0, 0] == devices


def test_the_first_line_of_a_table_is_no_text(ask: Callable[..., str]) -> None:
    assert 2 == len(json.loads(ask("text\ngood\nbad\n", "text/csv")))
    assert 1 == len(json.loads(ask("text\n", "text/csv")))
