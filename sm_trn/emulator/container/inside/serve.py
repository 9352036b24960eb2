"""This program does what a hosting container does: it answers the invocations of one model on a Unix socket.

The model's own model_fn, input_fn, predict_fn and output_fn (or transform_fn) are called as the PyTorch and Hugging Face
containers call them. It must not import anything of this package. ``python serve.py SOCKET``; everything else is environment.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import json
import os
import socketserver
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

JSON, CSV, NPY = "application/json", "text/csv", "application/x-npy"
LARGEST = 128 * 2**20  # of a request; whoever asks has its own, lower limits


class Unsupported(Exception):  # noqa: N818 - the container's own name for it ends otherwise too
    """A content type the default handlers do not know: 415."""


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


# --- the default handlers ---


def default_input_fn(body: Any, content_type: str) -> Any:
    """Read a request as a tensor. Raises Unsupported for a content type that is not known.

    sagemaker_inference/decoder.py: one row of CSV is a vector, and a cell that is no number is not a number.
    """
    import numpy
    import torch

    kind = _kind(content_type)
    if kind == JSON:
        return torch.FloatTensor(numpy.array(json.loads(body)))
    if kind == CSV:
        return torch.FloatTensor(numpy.genfromtxt(io.StringIO(body), delimiter=","))
    if kind == NPY:
        return torch.from_numpy(numpy.load(io.BytesIO(body), allow_pickle=False))
    raise Unsupported(f"Content type {content_type} is not supported by this framework.")


def default_predict_fn(data: Any, model: Any) -> Any:
    import torch

    with torch.no_grad():
        return model.eval()(data)


def default_output_fn(prediction: Any, accept: str) -> Any:
    """Write a prediction as the first type that is accepted and known. Raises Unsupported where there is none.

    sagemaker_inference/encoder.py: a vector is a column of CSV.
    """
    plain = prediction.detach().cpu().numpy().tolist() if hasattr(prediction, "detach") else prediction
    for kind in map(_kind, accept.split(",")):
        if kind in {JSON, "*/*", "application/*", ""}:
            return json.dumps(plain, default=_plain), JSON
        if kind == CSV:
            import numpy

            out = io.StringIO()
            numpy.savetxt(out, plain, delimiter=",", fmt="%s")
            return out.getvalue(), CSV
        if kind == NPY:
            import numpy

            packed = io.BytesIO()
            numpy.save(packed, plain, allow_pickle=False)
            return packed.getvalue(), NPY
    raise Unsupported(f"Content type {accept} is not supported by this framework.")


def _plain(value: Any) -> Any:
    """Arrays and tensors in a JSON document are lists: sagemaker_inference/encoder.py, _array_to_json."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def default_model_fn(model_dir: str) -> Any:
    """Load model.pt, or the one TorchScript file of a folder. Raises ValueError where there is not exactly one."""
    import torch

    found = [path for path in sorted(Path(model_dir).iterdir()) if path.suffix in {".pt", ".pth"}]
    found = [path for path in found if path.name == "model.pt"] or found
    if len(found) != 1:
        raise ValueError(f"Exactly one .pth or .pt file is required for PyTorch models: {[p.name for p in found]}")
    return torch.jit.load(str(found[0]), map_location="cpu")


class Pipeline:
    """This is what the Hugging Face containers do with a model that brings no code: ``transformers.pipeline``."""

    @staticmethod
    def model_fn(model_dir: str) -> Any:
        from transformers import pipeline

        task = os.environ.get("HF_TASK") or _task_of(model_dir)
        return pipeline(task, model=model_dir, tokenizer=model_dir, device=-1)

    @staticmethod
    def input_fn(body: Any, content_type: str) -> Any:
        """Read a request of JSON. Raises Unsupported for any other."""
        if _kind(content_type) != JSON:
            raise Unsupported(f"Content type {content_type} is not supported by this framework.")
        return json.loads(body)

    @staticmethod
    def predict_fn(data: Any, model: Any) -> Any:
        return model(data.get("inputs", data), **(data.get("parameters") or {}))


def _task_of(model_dir: str) -> str:
    names = json.loads(Path(model_dir, "config.json").read_text(encoding="utf-8")).get("architectures") or [""]
    for suffix, task in (
        ("ForSequenceClassification", "text-classification"),
        ("ForQuestionAnswering", "question-answering"),
        ("ForTokenClassification", "token-classification"),
        ("ForMaskedLM", "fill-mask"),
        ("ForCausalLM", "text-generation"),
        ("LMHeadModel", "text-generation"),
    ):
        if names[0].endswith(suffix):
            return task
    raise ValueError(f"HF_TASK: got nothing, wanted the task of architecture {names[0]!r}")


# --- one model ---


class Model:
    """A loaded model. ``answer`` is called by one thread at a time, as in a container with one worker."""

    def __init__(self, model_dir: str) -> None:
        self._given: Any = _user_module()
        if self._given is None and "huggingface" in os.environ.get("SM_TRN_IMAGE", ""):
            self._given = Pipeline
        self._whole = getattr(self._given, "transform_fn", None)
        self._turn = threading.Lock()
        self._model = _called(getattr(self._given, "model_fn", default_model_fn), model_dir)

    def answer(self, body: bytes, content_type: str, accept: str) -> tuple[int, str, bytes]:
        if not accept or accept == "*/*":
            accept = os.environ.get("SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT") or JSON
        given: Any = body.decode("utf-8") if _kind(content_type) in {JSON, CSV} else body
        with self._turn:
            if self._whole is not None:
                result = _called(self._whole, self._model, given, content_type, accept)
            else:
                data = _called(getattr(self._given, "input_fn", default_input_fn), given, content_type)
                said = _called(getattr(self._given, "predict_fn", default_predict_fn), data, self._model)
                result = _called(getattr(self._given, "output_fn", default_output_fn), said, accept)
        kind = accept
        if isinstance(result, tuple):
            result, kind = result
        return 200, kind, result if isinstance(result, bytes) else str(result).encode()


def _user_module() -> Any:
    name = os.environ.get("SAGEMAKER_PROGRAM") or "inference.py"
    module = name.removesuffix(".py").replace("/", ".")
    if importlib.util.find_spec(module) is None:
        return None
    return importlib.import_module(module)


def _called(function: Any, *arguments: Any) -> Any:
    """The user's function; the containers pass one more argument, a context, to those that take it."""
    wanted = len(inspect.signature(function).parameters)
    return function(*arguments, None) if wanted == len(arguments) + 1 else function(*arguments)


# --- the server ---


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def _handler(model: Any) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 300

        def do_GET(self) -> None:
            self._send(200, JSON, b"")

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > LARGEST:
                self._send(413, JSON, b"the request is too large")
                return
            body = self.rfile.read(length)
            try:
                status, kind, answer = model.answer(
                    body, self.headers.get("Content-Type") or JSON, self.headers.get("Accept") or ""
                )
            except Unsupported as error:
                status, kind, answer = 415, JSON, str(error).encode()
            except Exception as error:  # noqa: BLE001 - whatever the model raises is the caller's to read
                traceback.print_exc()
                status, kind, answer = 500, JSON, str(error).encode() or type(error).__name__.encode()
            self._send(status, kind, answer)

        def _send(self, status: int, kind: str, answer: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", " ".join(kind.split()))
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_arguments: Any) -> None:
            """A Unix socket's peer has no address to write down."""

    return Handler


def main() -> int:
    folder = os.environ["SM_TRN_MODEL_DIR"]
    sys.path[:0] = [part for part in os.environ["SM_TRN_CODE"].split(":") if Path(part).is_dir()]
    model = Model(folder)
    with Server(sys.argv[1], _handler(model)) as server:
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
