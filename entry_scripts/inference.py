"""Answer requests with a text classifier that train_text_classification.py or train_glue.py has
saved.

SageMaker's hosting containers (PyTorch and Hugging Face alike) call model_fn once and then, for
every request, input_fn, predict_fn and output_fn. In a deployment this file lies in the model
archive as code/inference.py, alone: it imports nothing of the other scripts.

    curl -d '{"inputs": "not bad at all"}' -H 'Content-Type: application/json'                  [{"label": …, "score": …}]
    curl -d '{"inputs": ["good", "bad"], "parameters": {"top_k": 2}}' -H 'Content-Type: application/json'
    curl -d '{"inputs": {"text": "It rains.", "text_pair": "It is wet."}}' -H 'Content-Type: application/json'
    curl --data-binary @texts.csv -H 'Content-Type: text/csv' -H 'Accept: text/csv'             one text a line, in and out

A score is a probability; of a model that was trained on scores, as for stsb, it is the score that
the model gives. A request that cannot be answered is a RequestError whose message the caller reads,
with status 400.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
from typing import Any, Dict, List, NamedTuple, Union

import torch

try:
    from sagemaker_inference.errors import BaseInferenceToolkitError
except ImportError:  # Hugging Face's container: there every ValueError is the caller's mistake
    BaseInferenceToolkitError = None

JSON = "application/json"
JSON_LINES = "application/jsonlines"
CSV = "text/csv"
TEXT = "text/plain"
BATCH = 32  # texts computed together; a longer request is answered in several batches
MAX_TEXTS = 10_000

HEADERS = {
    "text",
    "inputs",
    "sentence",
    "content",
    "review",
}  # a first line of CSV that is one of these is no text

Body = Union[bytes, bytearray, str]
Label = Dict[str, Union[str, float]]


if BaseInferenceToolkitError is None:

    class RequestError(ValueError):
        """The caller's mistake. The message says what, got, wanted."""

else:

    class RequestError(BaseInferenceToolkitError, ValueError):  # type: ignore[misc,no-redef]
        """The caller's mistake: status 400, where AWS's PyTorch container answers 500 to any other
        error.
        """

        def __init__(self, message: str) -> None:
            super().__init__(400, message, message)

        def __str__(self) -> str:
            return str(self.message)


class Request(NamedTuple):
    """Texts, or pairs {"text": …, "text_pair": …}, and how many labels are wanted for each."""

    texts: List[Any]
    top_k: int = 1


# --- model_fn ---


def model_fn(model_dir: str, context: Any = None) -> Any:
    """transformers' pipeline, ready to answer on this worker's GPU if there is one: the server
    starts a worker for each.
    """
    from transformers import AutoModelForSequenceClassification, pipeline

    tokenizer = _load_tokenizer(model_dir)
    model = AutoModelForSequenceClassification.from_pretrained(model_dir)
    positions = getattr(model.config, "max_position_embeddings", None) or 512
    if model.config.model_type in {"roberta", "xlm-roberta", "camembert"}:
        positions -= 2  # their positions start after the padding's
    tokenizer.model_max_length = min(positions, tokenizer.model_max_length)
    known = inspect.signature(
        model.forward
    ).parameters  # a tokenizer of no class of its own makes more
    tokenizer.model_input_names = [name for name in tokenizer.model_input_names if name in known]
    device = -1
    if torch.cuda.is_available():
        device = int(getattr(context, "system_properties", {}).get("gpu_id") or 0)
    return pipeline("text-classification", model=model, tokenizer=tokenizer, device=device)


def _load_tokenizer(model_dir: str) -> Any:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        return AutoTokenizer.from_pretrained(model_dir)
    except (ValueError, KeyError):
        # Saved by transformers 5, whose class names older ones do not know; the tokenizer itself
        # they do.
        return PreTrainedTokenizerFast.from_pretrained(model_dir)


# --- input_fn ---


def input_fn(request_body: Body, content_type: str = JSON) -> Request:
    """Read a request. RequestError for anything that holds no texts."""
    kind = _kind(content_type)
    if kind not in READERS:
        wanted = f"wanted one of {', '.join(READERS)}"
        raise RequestError(f"Content-Type: got {content_type!r}, {wanted}")
    try:
        text = request_body
        if not isinstance(text, str):
            text = bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"body: wanted UTF-8 text ({error})") from error
    request = READERS[kind](text)
    count = len(request.texts)
    if not 1 <= count <= MAX_TEXTS:
        wanted = f"wanted at least one, and at most {MAX_TEXTS}; send several requests"
        raise RequestError(f"inputs: got {count or 'no'} texts, {wanted}")
    for number, one in enumerate(request.texts):
        texts = [one]
        if isinstance(one, dict):
            texts = [one.get("text"), one.get("text_pair")]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            wanted = "wanted a text that is not empty, or a pair of them"
            raise RequestError(f"inputs: got {one!r} at place {number}, {wanted}")
    return request


def _read_json(body: str) -> Request:
    try:
        content = json.loads(body)
    except ValueError as error:
        raise RequestError(f'body: wanted JSON like {{"inputs": "some text"}} ({error})') from error
    if not isinstance(content, dict) or "inputs" not in content:
        shown = ", ".join(content) if isinstance(content, dict) else type(content).__name__
        raise RequestError(
            f'body: got {shown or "nothing"}, wanted an object with "inputs": a text or a list of texts'
        )
    inputs = content["inputs"]
    parameters = content.get("parameters") or {}
    if not isinstance(inputs, (str, dict, list)):
        raise RequestError(f"inputs: got {type(inputs).__name__}, wanted a text or a list of texts")
    top_k = parameters.get("top_k", 1) if isinstance(parameters, dict) else None
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise RequestError(
            f'parameters: got {parameters!r}, wanted {{"top_k": a whole number, at least 1}}'
        )
    return Request(inputs if isinstance(inputs, list) else [inputs], top_k)


def _read_json_lines(body: str) -> Request:
    texts: List[Any] = []
    top_k = 1
    for line in body.splitlines():
        if line.strip():
            request = _read_json(line)
            texts += request.texts
            top_k = max(top_k, request.top_k)
    return Request(texts, top_k)


def _read_csv(body: str) -> Request:
    rows = [row for row in csv.reader(io.StringIO(body)) if row]
    for number, row in enumerate(rows):
        if len(row) != 1:
            got = f"body: got {len(row)} fields in row {number}"
            raise RequestError(f"{got}, wanted one text; quote texts with commas")
    texts = [row[0] for row in rows]
    if len(texts) > 1 and texts[0].strip().lower() in HEADERS:
        texts.pop(0)
    return Request(texts)


def _read_text(body: str) -> Request:
    return Request([body])


READERS = {JSON: _read_json, JSON_LINES: _read_json_lines, CSV: _read_csv, TEXT: _read_text}


# --- predict_fn ---


def predict_fn(input_data: Request, model: Any) -> List[List[Label]]:
    """For each text its likeliest labels, the likeliest first, with their probabilities."""
    return model(  # type: ignore[no-any-return]  # transformers is untyped here
        input_data.texts,
        top_k=input_data.top_k,
        function_to_apply="softmax" if model.model.config.num_labels > 1 else "none",
        truncation=True,
        batch_size=BATCH,
    )


# --- output_fn ---


def output_fn(prediction: list[list[Label]], accept: str = JSON) -> str:
    """As JSON, a list with one entry per text: its label, or the list of its `top_k` labels; or as
    CSV, label and score.
    """
    kind = _kind(accept)
    if kind == CSV:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for labels in prediction:
            writer.writerow([cell for label in labels for cell in label.values()])
        return out.getvalue()
    entries: List[Any] = []
    for labels in prediction:
        entries.append(labels[0] if len(labels) == 1 else labels)
    if kind == JSON:
        return json.dumps(entries)
    if kind == JSON_LINES:
        return "".join(json.dumps(entry) + "\n" for entry in entries)
    raise RequestError(f"Accept: got {accept!r}, wanted {JSON}, {JSON_LINES} or {CSV}")


def _kind(header: str) -> str:
    """The media type without its parameters; whatever the caller leaves open is JSON."""
    kind = (header or JSON).split(",")[0].split(";")[0].strip().lower()
    return JSON if kind in {"*/*", "application/*", ""} else kind
