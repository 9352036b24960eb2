"""Batch Transform: every object under a prefix is sent to a container, and there is one ``.out`` object for each.

Splitting is None or Line; what a payload may hold is MaxPayloadInMB.
"""

from __future__ import annotations

import gzip
import json
import secrets
import threading
import traceback
import zlib
from functools import partial
from typing import TYPE_CHECKING, Final

from ..s3.object_store import parse_s3_uri
from ..state.quota import reason_of
from .model_server import ModelServer, NoAnswer, ServingError
from .request import Transform, container_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..container.context import RunContext
    from ..state.resources import Resource, Resources
    from ..telemetry.log_store import LogLines

GROUP: Final = "/aws/sagemaker/TransformJobs"
_KIND = "transform-job"
_MB = 2**20


class Transforms:
    """The running transform jobs of this process."""

    def __init__(self, resources: Resources, lines: LogLines, context: RunContext) -> None:
        self._resources = resources
        self._lines = lines
        self._context = context
        self._lock = threading.Lock()
        self._servers: dict[str, ModelServer] = {}
        self._stopped: set[str] = set()

    def start(self, name: str) -> None:
        threading.Thread(target=self._run, args=(name,), name=f"transform {name}", daemon=True).start()

    def stop(self, name: str) -> None:
        self._resources.change(_KIND, name, status="Stopping")
        with self._lock:
            self._stopped.add(name)
            server = self._servers.get(name)
        if server is not None:
            server.close()

    def restore(self) -> None:
        self._resources.end_cut_off(_KIND)

    def shutdown(self) -> None:
        with self._lock:
            names = list(self._servers)
        for name in names:
            self.stop(name)

    def _run(self, name: str) -> None:
        resource = self._resources.find(_KIND, name)
        if resource is None:
            return
        stream = f"{GROUP}:{name}/i-{secrets.token_hex(8)}"
        try:
            self._transform(resource, stream)
        except (ServingError, NoAnswer) as error:
            if name in self._stopped:
                self._resources.end(_KIND, name, "Stopped", None)
            else:
                self._resources.end(_KIND, name, "Failed", f"ClientError: See job logs for more information: {error}")
        except Exception as error:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
            traceback.print_exc()
            self._resources.end(_KIND, name, "Failed", reason_of(error, self._context.shared.root))
        finally:
            self._lines.finish(stream)
            with self._lock:
                server = self._servers.pop(name, None)
            if server is not None:
                server.close()

    def _transform(self, resource: Resource, stream: str) -> None:
        request: Transform = resource.request
        model = self._resources.find("model", request["ModelName"])
        if model is None:
            raise ServingError(f"the model {request['ModelName']!r} was deleted")
        container = container_of(model).copy()
        more = request.get("Environment", {})
        container["Environment"] = {**container.get("Environment", {}), **more, "SAGEMAKER_BATCH": "true"}
        server = ModelServer(container, self._context, partial(self._lines.append, stream))
        with self._lock:
            self._servers[resource.name] = server
            stopped = resource.name in self._stopped  # before there was anything to close
        if stopped:
            raise ServingError("the transform job was stopped")
        server.start()
        self._resources.change(_KIND, resource.name, facts={"started": self._resources.now()})
        for key, parts in self._inputs(request):
            answers = [joined(part, self._ask(server, request, part, key), request) for part in parts]
            self._put(request["TransformOutput"], key, answers)
        self._resources.end(_KIND, resource.name, "Stopped" if resource.name in self._stopped else "Completed", None)

    def _inputs(self, request: Transform) -> Iterator[tuple[str, Iterator[bytes]]]:
        source = request["TransformInput"]
        bucket, prefix = parse_s3_uri(source["DataSource"]["S3DataSource"]["S3Uri"])
        objects = self._context.shared.objects
        objects.ready.wait()
        keys = [key for key in objects.keys(bucket, prefix) if not key.endswith("/")]
        if not keys:
            raise ServingError(f'Data download failed: no objects under "s3://{bucket}/{prefix}"')
        for key in keys:
            content = objects.path(bucket, key).read_bytes()
            if source.get("CompressionType") == "Gzip":
                try:
                    content = gzip.decompress(content)
                except (OSError, EOFError, zlib.error) as error:
                    raise ServingError(f"Data download failed: s3://{bucket}/{key}: {error}") from error
            yield _below(prefix, key), payloads(content, request)

    def _ask(self, server: ModelServer, request: Transform, part: bytes, key: str) -> bytes:
        limit = (request.get("MaxPayloadInMB") or 6) * _MB
        if len(part) > limit:
            raise NoAnswer(f"{key}: a payload has {len(part)} bytes, more than MaxPayloadInMB allows")
        headers = {
            "Content-Type": request["TransformInput"].get("ContentType") or "application/octet-stream",
            "Accept": request["TransformOutput"].get("Accept") or "",
        }
        asked = request.get("ModelClientConfig", {}).get("InvocationsTimeoutInSeconds")
        reply = server.invoke(part, headers, asked or self._context.shared.options.invoke_timeout_s)
        if reply.status != 200:
            said = reply.body.decode("utf-8", "replace")[:512]
            raise NoAnswer(f"Bad HTTP status received from algorithm: {reply.status} for {key}: {said}")
        return reply.body

    def _put(self, output: Mapping[str, str], key: str, answers: list[bytes]) -> None:
        bucket, prefix = parse_s3_uri(output["S3OutputPath"].rstrip("/") + "/")
        body = b"".join(answers)
        if output.get("AssembleWith") == "Line":
            body = b"".join(answer.rstrip(b"\n") + b"\n" for answer in answers)
        try:
            self._context.shared.objects.put(bucket, f"{prefix}{key}.out", body)
        except KeyError as error:
            raise ServingError(f"the bucket {bucket!r} does not exist") from error


def payloads(content: bytes, request: Transform) -> Iterator[bytes]:
    """Yield what is sent at a time: the whole object, each line, or as many lines as a payload holds."""
    if request["TransformInput"].get("SplitType", "None") == "None":
        yield content
        return
    lines = [line for line in content.splitlines() if line.strip()]
    if request.get("BatchStrategy", "MultiRecord") == "SingleRecord":
        yield from lines
        return
    limit = (request.get("MaxPayloadInMB") or 6) * _MB
    batch: list[bytes] = []
    size = 0
    for line in lines:
        if batch and size + len(line) + 1 > limit:
            yield b"\n".join(batch) + b"\n"
            batch, size = [], 0
        batch.append(line)
        size += len(line) + 1
    if batch:
        yield b"\n".join(batch) + b"\n"


def joined(part: bytes, answer: bytes, request: Transform) -> bytes:
    """Return an answer, with its records behind those it is for where the request joins them. Raises NoAnswer where it cannot.

    The API reference of DataProcessing, JoinSource: CSV gets further columns, a JSON object the member SageMakerOutput, and
    any other JSON becomes the member SageMakerInput of an object.
    """
    if request.get("DataProcessing", {}).get("JoinSource", "None") == "None":
        return answer
    inputs, outputs = part.splitlines(), answer.splitlines()
    if len(inputs) != len(outputs):
        raise NoAnswer(f"the data cannot be joined: {len(inputs)} records were sent, {len(outputs)} came back")
    if "json" not in (request["TransformInput"].get("ContentType") or ""):
        return b"\n".join(b",".join(pair) for pair in zip(inputs, outputs, strict=True)) + b"\n"
    try:
        return b"\n".join(_joined_json(*pair) for pair in zip(inputs, outputs, strict=True)) + b"\n"
    except ValueError as error:
        raise NoAnswer(f"the data cannot be joined: a record is no JSON: {error}") from error


def _joined_json(sent: bytes, answer: bytes) -> bytes:
    record = json.loads(sent)
    record = record if isinstance(record, dict) else {"SageMakerInput": record}
    return json.dumps({**record, "SageMakerOutput": json.loads(answer)}).encode()


def _below(prefix: str, key: str) -> str:
    """The name an object's output has: its key below the prefix where that is a folder, else its last part."""
    folder = prefix if not prefix or prefix.endswith("/") else prefix + "/"
    return key.removeprefix(folder) if key.startswith(folder) and key != folder else key.rpartition("/")[2]
