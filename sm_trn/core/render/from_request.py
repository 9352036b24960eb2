"""The inverse of target ``request``: a CreateTrainingJob request as the spec that renders it again, byte for byte of JSON.

What has a word in a spec becomes typed and can be replaced; everything else is kept as it is. Nothing is dropped.
"""

from __future__ import annotations

import contextlib
import enum
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from ..catalog import images
from ..errors import SmTrnError, UnknownName
from ..specs.compute import SERVERLESS, Compute, InstanceGroup, Spot
from ..specs.data import (
    Channel,
    Checkpoint,
    FileSystem,
    FileSystemKind,
    InputMode,
    Network,
    Output,
    S3Kind,
    Spread,
    TensorBoard,
)
from ..specs.destination import Destination
from ..specs.framework import Container, TrainingCompiler
from ..specs.job import JobSpec, Script
from ..specs.json import Json
from ..specs.metrics import MetricRule
from ..strategies import recognise
from . import request as target
from .from_describe import CODE_CHANNEL, CODE_IN_CONTAINER, as_request, decoded, destination_of
from .from_request_debugging import debugging
from .keeping import kept_parts

E = TypeVar("E", bound=enum.Enum)
LONGEST_NAME: Final = 42  # submit adds 21 characters to make it unique
# What submit, SDK v2 and SDK v3 add to a name: -261120-101500-a1b2c3, -2026-11-20-16-15-23-990, -20261120163549.
_SUFFIX: Final = re.compile(r"-(\d{6}-\d{6}-[0-9a-f]{6}|\d{4}(-\d\d){5}-\d{3}|\d{14})$")


def parse_request(request: Mapping[str, Any], *, at: Destination | None = None) -> JobSpec:
    """The spec of a CreateTrainingJob request, or of a describe answer: rendered ``at`` its destination it is that request.

    ``at`` is ``destination_of(request)`` unless more is known. Raises SmTrnError for what is no such request.

    >>> st.parse_request(st.render(job)).compute == job.compute
    True
    """
    if "TrainingJobStatus" in request or "TrainingJobArn" in request:
        at = at or destination_of(request)
        request = as_request(request)
    with _hostile():
        at = at or destination_of(request)
        job, sent = _typed(request, at)
    # What a strategy raises is its own fault, and not the request's.
    job = _distributed(job, sent, at)
    with _hostile():
        job = _selecting_its_image(job, at)
        job = job.replace(hyperparameters=_hyperparameters(job, request.get("HyperParameters") or {}, at))
        return job.replace(kept=kept_parts(target.typed(job, at), request))


@contextlib.contextmanager
def _hostile() -> Iterator[None]:
    """What a mapping of any form can raise while it is read, as an error about the request."""
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
        compute=_compute(request.get("ResourceConfig") or {}),
        compiler=_compiler(sent),
        max_run_s=_positive((request.get("StoppingCondition") or {}).get("MaxRuntimeInSeconds"), 86_400),
        metrics=tuple(MetricRule(rule["Name"], rule["Regex"]) for rule in algorithm.get("MetricDefinitions") or ()),
        environment=dict(request.get("Environment") or {}),
        tags={tag["Key"]: tag["Value"] for tag in request.get("Tags") or ()},
        output=_output(request.get("OutputDataConfig") or {}),
        network=_network(request),
        retries=(request.get("RetryStrategy") or {}).get("MaximumRetryAttempts"),
        inputs=dict(_inputs(request, sent)),
        tensorboard=_tensorboard(request.get("TensorBoardOutputConfig") or {}),
        infra_check=(request.get("InfraCheckConfig") or {}).get("EnableInfraCheck") is True,
        remote_debug=(request.get("RemoteDebugConfig") or {}).get("EnableRemoteDebug") is True,
        **_places(request),
        **debugging(request),
    )
    return job, sent


def _base_name(name: str) -> str:
    base = _SUFFIX.sub("", name)[:LONGEST_NAME].strip("-")
    return base or name


def _positive(value: Any, default: int) -> int:
    return value if type(value) is int and value > 0 else default


def _compute(config: Mapping[str, Any]) -> Compute:
    groups = [
        InstanceGroup(name=group["InstanceGroupName"], instance=group["InstanceType"], count=group["InstanceCount"])
        for group in config.get("InstanceGroups") or ()
        if group["InstanceCount"] > 0
    ]
    instance = str(config.get("InstanceType") or ("" if groups else SERVERLESS))
    return Compute(
        instance=instance,
        count=_positive(config.get("InstanceCount"), 1),
        groups=() if instance else tuple(groups),
        volume_gb=_positive(config.get("VolumeSizeInGB"), 30),
        volume_kms_key=config.get("VolumeKmsKeyId") or None,
        keep_alive_s=config.get("KeepAlivePeriodInSeconds"),
        training_plan=config.get("TrainingPlanArn") or None,
    )


def _compiler(sent: Mapping[str, Json]) -> TrainingCompiler | None:
    if sent.get("sagemaker_training_compiler_enabled") is not True:
        return None
    return TrainingCompiler(debug=sent.get("sagemaker_training_compiler_debug_mode") is True)


def _output(config: Mapping[str, Any]) -> Output:
    """Its place is named even where it is the session's bucket: sent again from elsewhere, it goes to the same place."""
    return Output(
        s3_uri=str(config.get("S3OutputPath", "")) or None,
        kms_key=config.get("KmsKeyId") or None,
        compress=config.get("CompressionType") != "NONE",
    )


def _tensorboard(config: Mapping[str, str]) -> TensorBoard | None:
    uri = config.get("S3OutputPath")
    return TensorBoard(s3_uri=str(uri), local_path=config.get("LocalPath") or None) if uri else None


def _network(request: Mapping[str, Any]) -> Network | None:
    vpc = request.get("VpcConfig") or {}
    subnets, groups = tuple(vpc.get("Subnets") or ()), tuple(vpc.get("SecurityGroupIds") or ())
    both = bool(subnets) and bool(groups)
    network = Network(
        subnets=subnets if both else (),
        security_groups=groups if both else (),
        isolation=request.get("EnableNetworkIsolation") is True,
        encrypt_traffic=request.get("EnableInterContainerTrafficEncryption") is True,
    )
    return None if network == Network() else network


def _places(request: Mapping[str, Any]) -> dict[str, Any]:
    """Spot and checkpoints: a spot job's place for checkpoints is the spot's."""
    config = request.get("CheckpointConfig") or {}
    uri, local = config.get("S3Uri") or None, config.get("LocalPath")
    wait = (request.get("StoppingCondition") or {}).get("MaxWaitTimeInSeconds")
    if request.get("EnableManagedSpotTraining") is True and _positive(wait, 0):
        return {
            "spot": Spot(
                max_wait_s=_positive(wait, 0), checkpoint_s3_uri=uri, checkpoint_local_path=local if uri else None
            )
        }
    return {"checkpoint": Checkpoint(s3_uri=uri, local_path=local)} if uri else {}


def _inputs(request: Mapping[str, Any], sent: Mapping[str, Json]) -> Iterator[tuple[str, str | Channel | FileSystem]]:
    """The channels that read S3 or a file system. Others are kept, as is the one that only carries an isolated job's source."""
    channels = list(request.get("InputDataConfig") or ())
    isolated = sent.get("sagemaker_submit_directory") == CODE_IN_CONTAINER
    if isolated and channels and channels[-1].get("ChannelName") == CODE_CHANNEL:
        channels.pop()
    for item in channels:
        places = item.get("DataSource") or {}
        if (system := _file_system(places.get("FileSystemDataSource") or {}, item.get("ContentType"))) is not None:
            yield item["ChannelName"], system
            continue
        source = places.get("S3DataSource") or {}
        kind = _member(S3Kind, source.get("S3DataType"))
        uri = str(source.get("S3Uri", ""))
        if kind is None or not uri.startswith("s3://"):
            continue
        channel = Channel(
            uri,
            kind=kind,
            mode=_member(InputMode, item.get("InputMode")),
            spread=_member(Spread, source.get("S3DataDistributionType")) or Spread.FULLY_REPLICATED,
            content_type=item.get("ContentType"),
            compression=item.get("CompressionType"),
            record_wrapping=item.get("RecordWrapperType"),
            groups=tuple(source.get("InstanceGroupNames") or ()),
        )
        yield item["ChannelName"], uri if channel == Channel(uri) else channel


def _file_system(source: Mapping[str, Json], content_type: str | None) -> FileSystem | None:
    kind, place, folder = (source.get(word) for word in ("FileSystemType", "FileSystemId", "DirectoryPath"))
    known = _member(FileSystemKind, kind)
    if known is None or not place or not folder:
        return None
    writable = source.get("FileSystemAccessMode") == "rw"
    return FileSystem(str(place), known, directory=str(folder), writable=writable, content_type=content_type)


def _member(kind: type[E], value: Any) -> E | None:
    return next((member for member in kind if member.value == value), None)


def _distributed(job: JobSpec, sent: Mapping[str, Json], at: Destination) -> JobSpec:
    """With the strategy that explains most of the toolkit's hyperparameters and says nothing that was not sent."""
    if job.script is None:
        return job
    best, most = job, -1
    for candidate in (None, *recognise(sent)):
        with_it = job.replace(distribution=candidate)
        said = target.toolkit_hyperparameters(with_it, at)
        right = sum(sent.get(key) == value and key in sent for key, value in said.items())
        score = 2 * right - len(said)
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
    found = {}
    for key, text in texts.items():
        value = decoded(text)
        if key not in toolkit and not key.startswith("sagemaker_") and _scalar(value):
            found[key] = value
    return found


def _scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (bool, int)) or (isinstance(value, str) and _writable(value))


def _writable(text: str) -> bool:
    """Whether a file can hold it: half a surrogate pair, which JSON can spell, is no text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
