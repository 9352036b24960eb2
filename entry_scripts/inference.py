"""Answer requests with a text classifier that train_text_classification.py or train_glue.py has
saved.

SageMaker's hosting containers (PyTorch and Hugging Face alike) call model_fn once and then, for
every request, input_fn, predict_fn and output_fn. In a deployment this file lies in the model
archive as code/inference.py, alone: it imports nothing of the other scripts.

    curl -d '{"inputs": "not bad at all"}' -H 'Content-Type: application/json'                  [{"label": …, "score": …}]
    curl -d '{"inputs": ["good", "bad"], "parameters": {"top_k": 2}}' -H 'Content-Type: application/json'
    curl -d '{"inputs": {"text": "It rains.", "text_pair": "It is wet."}}' -H 'Content-Type: application/json'
    curl --data-binary @texts.csv -H 'Content-Type: text/csv'                                   one text a line

A score is a probability; of a model that was trained on scores, as for stsb, it is the score that
the model gives. A request that cannot be answered is a RequestError whose message the caller reads,
with status 400.
"""

from __future__ import annotations

import csv
import inspect
import json
from typing import Any, Dict, List, NamedTuple, Union

import torch

try:
    from sagemaker_inference.errors import BaseInferenceToolkitError
except ImportError:  # Hugging Face's container: there every ValueError is the caller's mistake
    BaseInferenceToolkitError = None

JSON = "application/json"
JSON_LINES = "application/jsonlines"
KINDS = (JSON, JSON_LINES, "text/csv", "text/plain")
BATCH = 32  # texts computed together; a longer request is answered in several batches
# a first line of CSV that is one of these is no text
HEADERS = {"text", "inputs", "sentence", "content", "review"}
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


def input_fn(request_body: Union[bytes, bytearray, str], content_type: str = JSON) -> Request:
    """Read a request. RequestError for anything that holds no texts."""
    kind = _kind(content_type)
    if kind not in KINDS:
        raise RequestError(f"Content-Type: got {content_type!r}, wanted one of {', '.join(KINDS)}")
    try:
        text = request_body if isinstance(request_body, str) else bytes(request_body).decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"body: wanted UTF-8 text ({error})") from error
    if kind == JSON:
        request = _read_json(text)
    elif kind == JSON_LINES:
        requests = [_read_json(line) for line in text.splitlines() if line.strip()]
        texts = [one for part in requests for one in part.texts]
        request = Request(texts, max([part.top_k for part in requests] or [1]))
    elif kind == "text/csv":
        rows = [",".join(row) for row in csv.reader(text.splitlines(keepends=True)) if row]
        header = len(rows) > 1 and rows[0].strip().lower() in HEADERS
        request = Request(rows[1:] if header else rows)
    else:
        request = Request([text])
    if not request.texts:
        raise RequestError("inputs: got no texts, wanted at least one")
    for number, one in enumerate(request.texts):
        pair = [one.get("text"), one.get("text_pair")] if isinstance(one, dict) else [one]
        if not all(isinstance(text, str) and text.strip() for text in pair):
            wanted = "wanted a text that is not empty, or a pair of them"
            raise RequestError(f"inputs: got {one!r} at place {number}, {wanted}")
    return request


def _read_json(body: str) -> Request:
    try:
        content = json.loads(body)
        inputs = content["inputs"]
        top_k = int((content.get("parameters") or {}).get("top_k", 1))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        wanted = 'wanted JSON like {"inputs": "some text", "parameters": {"top_k": 1}}'
        raise RequestError(f"body: {wanted} ({type(error).__name__}: {error})") from error
    if top_k < 1:
        raise RequestError(f"parameters: got top_k {top_k}, wanted at least 1")
    return Request(inputs if isinstance(inputs, list) else [inputs], top_k)


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
    """As JSON, a list with one entry per text: its label, or the list of its `top_k` labels."""
    entries = [labels[0] if len(labels) == 1 else labels for labels in prediction]
    kind = _kind(accept)
    if kind == JSON:
        return json.dumps(entries)
    if kind == JSON_LINES:
        return "".join(json.dumps(entry) + "\n" for entry in entries)
    raise RequestError(f"Accept: got {accept!r}, wanted {JSON} or {JSON_LINES}")


def _kind(header: str) -> str:
    """The media type without its parameters; whatever the caller leaves open is JSON."""
    kind = (header or JSON).split(",")[0].split(";")[0].strip().lower()
    return JSON if kind in {"*/*", "application/*", ""} else kind
