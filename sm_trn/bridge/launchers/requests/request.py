"""The CreateTrainingJob request that SDK v2 sends for an estimator's arguments, as far as they are known.

Source: sagemaker 2.257.7, estimator.py, job.py, session.py (``_get_train_request``), pytorch/, huggingface/, tensorflow/,
mxnet/, sklearn/ and xgboost/estimator.py, fw_utils.py, debugger/.
"""

from __future__ import annotations

import dataclasses
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ....core import fields
from ....core.render.from_describe import CODE_IN_CONTAINER
from ....core.specs.destination import Destination
from ....core.specs.json import Json
from ..state import Site
from ..values import Cause, Instance, Reason, Symbol, Unknown, causes_in, known
from . import channels, distribution, images, rules, watching
from .asked import Asked, pipeline_session
from .ledger import PLACEHOLDERS, TIME, Ledger
from .words import encoded, given

# From which version on a framework's class asks for SageMaker's metrics.
_METRICS_SINCE: Final = {"PyTorch": (1, 3), "TensorFlow": (1, 15), "MXNet": (1, 6)}


# Arguments that are rows of the table and are said of it here: what the SDK makes of them depends on others.
_OWN: Final = frozenset(
    {"output_path", "instance_type", "instance_count", "instance_groups", "volume_size", "max_run", "tags"}
)
_ROWS: Final = tuple(field for field in fields.JOB if field.v2 and field.v2 not in _OWN)
_ARGUMENTS: Final = frozenset(field.v2.split(".")[0] for field in _ROWS) - {"fit"}
# Switches and places that the SDK sends only where they are true; of the others it sends False, too.
_SENT_WHERE_TRUE: Final = frozenset({
    "disable_output_compression", "max_wait", "enable_network_isolation", "encrypt_inter_container_traffic", "use_spot_instances",
    "checkpoint_s3_uri", "checkpoint_local_path",
})  # fmt: skip
_OBJECTS: Final = frozenset({"tensorboard_output_config"})  # arguments that are objects of the SDK
# Parts that the SDK sends whole or not at all.
_NEEDED: Final[Mapping[str, set[str]]] = {
    "VpcConfig": {"Subnets", "SecurityGroupIds"},
    "CheckpointConfig": {"S3Uri"},
}
# What is read somewhere, so that a value that is not known is met there.
_READ: Final = _OWN | _ARGUMENTS | frozenset({
    "sagemaker_session", "dependencies", "git_config", "code_location", "container_log_level", "base_job_name", "model_channel_name",
    "py_version", "framework_version", "transformers_version", "pytorch_version", "tensorflow_version", "image_uri", "entry_point",
    "source_dir", "hyperparameters", "distribution", "compiler_config", "role", "input_mode", "model_uri", "rules",
    "debugger_hook_config", "enable_sagemaker_metrics", "profiler_config", "disable_profiler", "model_dir", "script_mode",
    "algorithm_arn", "image_uri_region",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A request, where it goes, and what was met; ``request`` None where causes keep it from being said."""

    request: dict[str, Json] | None
    at: Destination
    ledger: Ledger
    entry: str | None = None
    source_dir: str | None = None
    git: Mapping[str, str] | None = None
    dependencies: tuple[str, ...] = ()


def request_of(site: Site, region: str, words: Mapping[Symbol, str] = PLACEHOLDERS, *, chosen: bool = True) -> Read:
    """The request of a site. Everything that is not known stands in the ledger as causes.

    ``region`` is taken where the launcher names none, or one that is not known and ``chosen`` says that somebody gave ours.
    """
    ledger = Ledger({**words, Symbol.REGION: region}, site.place)
    region = _region(site, ledger, region, chosen=chosen)
    ledger.words = {**words, Symbol.REGION: region}
    if site.request is not None:
        request = {key: ledger.plain(value) for key, value in site.request.items()}
        return Read(request=None if ledger.causes else request, at=Destination(region=region), ledger=ledger)
    return _Builder(site, ledger, region).read()


def _region(site: Site, ledger: Ledger, region: str, *, chosen: bool) -> str:
    """The region of the site's session."""
    session = site.arguments.get("sagemaker_session")
    value = session.arguments.get("region_name") if isinstance(session, Instance) else site.arguments.get("_region")
    value = session if isinstance(session, Unknown) else value
    if value is None:
        ledger.placeholders |= (
            {Symbol.REGION} if site.arguments.get("image_uri") is None and site.request is None else set()
        )
        return region
    causes = list(causes_in(value))
    if causes:
        ledger.lacks(*(dataclasses.replace(cause, give="region") for cause in causes if not chosen))
        return region
    named = ledger.plain(value)
    return named if isinstance(named, str) and named else region


def _legal(name: str) -> str:
    """A name that a job may have: a pipeline's step names its job itself, so that the SDK takes any base name there."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "job"


class _Builder(Asked):
    """One site's request, part by part."""

    def read(self) -> Read:
        for name, value in self.raw.items():
            if name == "…" or (name not in _READ and not name.startswith("_")):
                self.ledger.lacks(*causes_in(value))
        if self.raw.get("training_recipe") is not None:
            why = "a recipe chooses the script, the image and the parameters"
            self.ledger.lacks(Cause(Reason.VALUE, self.site.place, "training_recipe", "training_recipe", why))
        output = self.text("output_path")
        bucket = self._bucket()
        where = output or f"s3://{bucket}/"
        image = images.image(self)
        name = self._name(image)
        entry, folder, git = self.text("entry_point"), self.text("source_dir"), self.get("git_config")
        source = self._source(folder, where, name) if entry or folder else None
        at = Destination(
            role=str(self.text("role") or self.ledger.words[Symbol.ROLE]),
            region=self.region, bucket=where.removeprefix("s3://").partition("/")[0] or bucket, source_uri=source,
            job_name=_legal(name) if self.site.within or pipeline_session(self.site) else name,
        )  # fmt: skip
        request = self._request(at, image, where, entry if folder else posixpath.basename(entry or "") or None)
        if source is None and at.source_uri is None and not request["ResourceConfig"]:
            return Read(request=None, at=at, ledger=self.ledger)
        beside = self._dependencies()
        return Read(
            request=None if self.ledger.causes else request, at=at, ledger=self.ledger, entry=entry, source_dir=folder, git=git,
            dependencies=beside,
        )  # fmt: skip

    def _dependencies(self) -> tuple[str, ...]:
        """What is packed beside the script."""
        found = self.get("dependencies") or []
        if isinstance(found, list) and all(isinstance(path, str) for path in found):
            return tuple(found)
        if known(self.raw.get("dependencies")):  # else the ledger has what is missing
            self.ledger.lacks(Cause(Reason.REFUSED, self.site.place, f"dependencies={found!r}", give="dependencies"))
        return ()

    def _bucket(self) -> str:
        session = self.raw.get("sagemaker_session")
        own = session.arguments.get("bucket") if isinstance(session, Instance) else None
        if own is not None:
            return str(self.ledger.plain(own))
        return self.ledger.words[Symbol.BUCKET]

    def _name(self, image: str | None) -> str:
        given = self.site.fit.arguments.get("job_name") if self.site.fit else None
        said = self.ledger.plain(given) if given is not None else self.get("base_job_name")
        base = said or re.sub(r"^(.+/)?([^:/]+)(:[^:]+)?$", r"\2", image or "training-job")
        if not isinstance(base, str):
            self.ledger.lacks(Cause(Reason.VALUE, self.site.place, f"base_job_name={base!r}", give="base_job_name"))
            return "job"
        # The SDK cuts a base name so that a moment fits behind it; how long a placeholder is nobody knows.
        return base if given is not None or TIME in base else base[:39]

    def _source(self, folder: str | None, where: str, name: str) -> str:
        if folder is not None and folder.lower().startswith("s3://"):
            return folder
        location = self.text("code_location")
        place = (location or f"s3://{where.removeprefix('s3://').partition('/')[0]}").rstrip("/")
        return f"{place}/{name}/source/sourcedir.tar.gz"

    def _request(self, at: Destination, image: str | None, where: str, program: str | None) -> dict[str, Json]:
        algorithm: dict[str, Json] = {"TrainingInputMode": self.get("input_mode") or "File"}
        if self.site.cls == "AlgorithmEstimator":
            algorithm["AlgorithmName"] = self.text("algorithm_arn")
        else:
            algorithm["TrainingImage"] = image
        algorithm |= given(EnableSageMakerMetricsTimeSeries=self._metrics())
        request: dict[str, Any] = {
            "TrainingJobName": at.job_name, "AlgorithmSpecification": algorithm, "RoleArn": at.role,
            "OutputDataConfig": {"S3OutputPath": where}, "ResourceConfig": self._resources(),
            "StoppingCondition": {"MaxRuntimeInSeconds": self.get("max_run", 86_400)},
        }  # fmt: skip
        hyperparameters = self._hyperparameters(at, program)
        request |= {"HyperParameters": hyperparameters} if hyperparameters else {}
        listed = [*channels.inputs(self, algorithm), *channels.of_model(self), *channels.of_code(self, at, program)]
        request |= {"InputDataConfig": listed} if listed else {}
        for name, value in self._rows().items():
            request[name] = {**request[name], **value} if name in request else value
        request |= given(Tags=_tags(self.get("tags")))
        ruled = rules.rules(self)
        return request | watching.watched(self, where, ruled.collections) | ruled.sent()

    def _rows(self) -> dict[str, Any]:
        """What the arguments say that are rows of the table."""
        arguments: dict[str, Json] = {}
        for name in _ARGUMENTS & set(self.raw):
            raw = self.raw[name]
            value: Json = (
                self.resolved(raw) if isinstance(raw, Instance) and name in _OBJECTS else self.ledger.plain(raw)
            )
            if value or (value is not None and name not in _SENT_WHERE_TRUE):
                arguments[name] = value
        if self.site.fit is not None:
            arguments["fit"] = {
                "experiment_config": self.ledger.plain(self.site.fit.arguments.get("experiment_config"))
            }
        words = fields.translate(_ROWS, arguments, "v2", "request")
        for name, needed in _NEEDED.items():
            if name in words and not needed <= set(words[name]):
                del words[name]
        return words

    def _metrics(self) -> bool | None:
        if "enable_sagemaker_metrics" in self.raw:
            asked: bool | None = self.get("enable_sagemaker_metrics")
            return asked
        if self.site.cls == "HuggingFace":
            return True
        since, version = _METRICS_SINCE.get(self.site.cls), self.get("framework_version")
        numbers = re.findall(r"\d+", str(version or ""))[:2]
        return True if since and numbers and tuple(map(int, numbers)) >= since else None

    def _resources(self) -> dict[str, Json]:
        get = self.get
        found: dict[str, Json] = {"VolumeSizeInGB": get("volume_size", 30)}
        groups = self.groups()
        if groups:
            found["InstanceGroups"] = [
                fields.translate(fields.GROUP, self.resolved(group), "v2", "request") for group in groups
            ]
        else:
            count = 1 if self.site.cls == "SKLearn" else get("instance_count")
            if not self.ledger.causes and (not isinstance(count, int) or isinstance(count, bool)):
                count = self._number("instance_count", count)
            found |= {"InstanceCount": count, "InstanceType": self.text("instance_type")}
            if not {"instance_type", "…"} & set(self.raw):
                self.ledger.lacks(Cause(Reason.REFUSED, self.site.place, "instance_type", give="instance_type"))
        return found

    def _number(self, name: str, value: object) -> object:
        self.ledger.lacks(
            Cause(Reason.REFUSED, self.site.place, f"{name}={value!r}", give=name, detail="a whole number is needed")
        )
        return value

    def _hyperparameters(self, at: Destination, program: str | None) -> dict[str, str]:
        own = self.get("hyperparameters") or {}
        if not isinstance(own, dict):
            self.ledger.lacks(Cause(Reason.VALUE, self.site.place, f"hyperparameters={own!r}", give="hyperparameters"))
            return {}
        encode = self.framework or bool(self.raw.get("source_dir"))
        found = {str(key): encoded(value) if encode else str(value) for key, value in own.items()}
        if self.framework:
            found |= {key: encoded(value) for key, value in distribution.distributed(self, at).items()}
        if at.source_uri is not None:
            told = {
                "sagemaker_submit_directory": CODE_IN_CONTAINER if self.isolated() and program else at.source_uri,
                "sagemaker_program": program,
                "sagemaker_container_log_level": self.get("container_log_level", 20),
                "sagemaker_job_name": at.job_name,
                "sagemaker_region": at.region,
            }
            told_texts = {key: encoded(value) for key, value in told.items()}
            found = {**found, **told_texts}
        return found


def _tags(value: Any) -> Any:
    """A mapping of tags as the list that is sent."""
    return [{"Key": key, "Value": item} for key, item in value.items()] if isinstance(value, dict) else value
