"""The inverse of target ``request``: a CreateTrainingJob request as the spec that renders it again, byte for byte of JSON.

What has a word in a spec becomes typed and can be replaced; everything else is kept as it is. Nothing is dropped.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .. import fields
from ..catalog import images, limits
from ..errors import SmTrnError, UnknownName
from ..specs.compute import SERVERLESS
from ..specs.data import Channel, Source
from ..specs.destination import Destination
from ..specs.framework import Container, TrainingCompiler
from ..specs.job import JobSpec, Script
from ..specs.json import Json, frozen
from ..strategies import recognise
from . import request as target
from .from_describe import CODE_CHANNEL, CODE_IN_CONTAINER, as_request, decoded, destination_of
from .keeping import kept_parts

LONGEST_NAME: Final = 42  # submit adds 21 characters to make it unique
# What submit, SDK v2 and SDK v3 add to a name: -261120-101500-a1b2c3, -2026-11-20-16-15-23-990, -20261120163549.
_SUFFIX: Final = re.compile(r"-(\d{6}-\d{6}-[0-9a-f]{6}|\d{4}(-\d\d){5}-\d{3}|\d{14})$")

_OWNED: Final = tuple(f"{request}." for request, _ in fields.OWNED)


def parse_request(request: Mapping[str, Any], *, at: Destination | None = None) -> JobSpec:
    """The spec of a CreateTrainingJob request, or of a describe answer: rendered ``at`` its destination it is that request.

    ``at`` is ``destination_of(request)`` unless more is known. Raises SmTrnError for what is no such request.

    >>> st.parse_request(st.render(job)).compute == job.compute
    True
    """
    if "TrainingJobStatus" in request or "TrainingJobArn" in request:
        at = at or destination_of(request)
        request = as_request(request)
    with _invalid_request():
        at = at or destination_of(request)
        job, sent = _typed(request, at)
    # What a strategy raises is its own fault, and not the request's.
    job = _distributed(job, sent, at)
    with _invalid_request():
        job = _selecting_its_image(job, at)
        job = job.replace(hyperparameters=_hyperparameters(job, request.get("HyperParameters") or {}, at))
        job = job.replace(extra=_extra(target.typed(job, at), request, "CreateTrainingJobRequest"))
        return job.replace(kept=kept_parts(target.typed(job, at), request))


@contextlib.contextmanager
def _invalid_request() -> Iterator[None]:
    """Turn what reading a malformed mapping raises into an error about the request."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SmTrnError(
            f"request: got {type(error).__name__} ({error}), wanted a CreateTrainingJob request or a DescribeTrainingJob answer"
        ) from error


def _typed(request: Mapping[str, Any], at: Destination) -> tuple[JobSpec, Mapping[str, Json]]:
    """The spec without strategy, hyperparameters and kept parts, and the decoded hyperparameters."""
    texts = request.get("HyperParameters") or {}
    sent = {key: decoded(text) for key, text in texts.items()}
    algorithm = request.get("AlgorithmSpecification") or {}
    entry = sent.get("sagemaker_program")
    script = Script(entry, source_dir=at.source_uri) if isinstance(entry, str) and entry and at.source_uri else None
    image = algorithm.get("TrainingImage") or None
    framework = images.recognise(image) if image else None
    job = JobSpec(
        name=_base_name(str(request["TrainingJobName"])),
        script=script,
        framework=framework or Container(algorithm=None if image else algorithm.get("AlgorithmName")),
        image_uri=image,
        compiler=TrainingCompiler(debug=sent.get("sagemaker_training_compiler_debug_mode") is True)
        if sent.get("sagemaker_training_compiler_enabled") is True
        else None,
        inputs=dict(_inputs(request, sent)),
        **{"metrics": (), **_fields(request)},
    )
    return job, sent


def _fields(request: Mapping[str, Json]) -> dict[str, Any]:
    """The fields of a spec that are rows of the table."""
    values = fields.read(fields.JOB, request, "request")
    compute = values.setdefault("compute", {})
    machines = [name for name in ("instance", "groups", "preferences") if compute.get(name)]
    for name in machines[1:]:
        del compute[name]
    if not machines:
        compute["instance"] = SERVERLESS
    if machines[:1] == ["preferences"] and any(each.count is not None for each in compute["preferences"]):
        compute.pop("count", None)  # a second count beside those is kept as it was sent
    values["environment"] = values.pop("variables", {})
    checkpoints, spot = values.pop("checkpoints", {}), values.pop("spot", {})
    if request.get("EnableManagedSpotTraining") is True and spot:
        values["spot"] = spot
        if "s3_uri" in checkpoints:
            spot |= {f"checkpoint_{name}": value for name, value in checkpoints.items()}
    else:
        values["checkpoint"] = checkpoints
    return fields.with_parts(values)


def _base_name(name: str) -> str:
    base = _SUFFIX.sub("", name)[:LONGEST_NAME].strip("-")
    return base or name


def _inputs(request: Mapping[str, Any], sent: Mapping[str, Json]) -> Iterator[tuple[str, str | Source]]:
    """The channels that read S3, a file system or a dataset. Others are kept, as is the one that only carries an isolated job's source."""
    channels = list(request.get("InputDataConfig") or ())
    isolated = sent.get("sagemaker_submit_directory") == CODE_IN_CONTAINER
    if isolated and channels and channels[-1].get("ChannelName") == CODE_CHANNEL:
        channels.pop()
    for item in channels:
        built = (fields.build(cls, fields.read(table, item, "request")) for cls, table in fields.SOURCES.items())
        source = next((each for each in built if each is not None), None)
        if isinstance(source, Channel) and not source.uri.startswith("s3://"):
            continue
        if source is not None:
            plain = isinstance(source, Channel) and source == Channel(source.uri)
            yield item["ChannelName"], source.uri if plain else source


def _extra(rendered: Mapping[str, Any], sent: Mapping[str, Any], shape: str, above: str = "") -> dict[str, Json]:
    """The members of a request that no field of a job sets and that ``extra`` can hold. The others are kept."""
    members = limits.shapes()[shape]["members"]
    result: dict[str, Json] = {}
    for key, value in sent.items():
        path = f"{above}{key}"
        if key not in members or value == rendered.get(key) or f"{path}." in _OWNED:
            continue
        shared = isinstance(value, Mapping) and any(owned.startswith(f"{path}.") for owned in _OWNED)
        rest = _extra(rendered.get(key) or {}, value, members[key]["shape"], f"{path}.") if shared else value
        if key in fields.WRITING and isinstance(rest, Mapping):
            output = ("S3OutputPath", sent["OutputDataConfig"]["S3OutputPath"])
            rest = {name: inner for name, inner in rest.items() if (name, inner) != output}
        if _storable(rest) and not (shared and rest == {}):
            result[key] = rest
    return result


def _storable(value: Any) -> bool:
    try:
        frozen(value)
        return _writable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError):
        return False


def _distributed(job: JobSpec, sent: Mapping[str, Json], at: Destination) -> JobSpec:
    """With the strategy that explains most of the toolkit's hyperparameters and says nothing that was not sent."""
    if job.script is None:
        return job
    best, most = job, -1
    for candidate in (None, *recognise(sent)):
        with_it = job.replace(distribution=candidate)
        written = target.toolkit_hyperparameters(with_it, at)
        right = sum(sent.get(key) == value and key in sent for key, value in written.items())
        score = 2 * right - len(written)
        if score >= most:  # one that recognises itself is more than none
            best, most = with_it, score
    return best


def _selecting_its_image(job: JobSpec, at: Destination) -> JobSpec:
    """Without ``image_uri`` where the framework selects that image by itself."""
    if isinstance(job.framework, Container):
        return job
    chosen = job.replace(image_uri=None)
    try:
        same = images.image_uri(chosen, at.region) == job.image_uri
    except UnknownName:
        same = False
    return chosen if same else job


def _hyperparameters(job: JobSpec, texts: Mapping[str, str], at: Destination) -> dict[str, Json]:
    """The user's own. Texts that no scalar stands for are kept; with a program of its own, an image gets texts as they are."""
    if job.script is None:
        return {key: text for key, text in texts.items() if _writable(text)}
    toolkit = target.toolkit_hyperparameters(job, at)
    own = {}
    for key, text in texts.items():
        value = decoded(text)
        if key not in toolkit and not key.startswith("sagemaker_") and _scalar(value):
            own[key] = value
    return own


def _scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (bool, int)) or (isinstance(value, str) and _writable(value))


def _writable(text: str) -> bool:
    """Return True if a file can hold it: half a surrogate pair, which JSON can spell, is no text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
