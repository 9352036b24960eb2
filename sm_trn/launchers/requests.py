"""The CreateTrainingJob request that SDK v2 sends for an estimator's arguments, as far as they are known.

Source: sagemaker 2.257.7, estimator.py, job.py, session.py (``_get_train_request``), pytorch/, huggingface/, tensorflow/,
mxnet/, sklearn/ and xgboost/estimator.py, fw_utils.py, debugger/.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from ..catalog import algorithms, images, limits
from ..errors import SmTrnError
from ..render.from_describe import CODE_CHANNEL, CODE_IN_CONTAINER
from ..specs.compute import Compute, InstanceGroup
from ..specs.destination import Destination
from ..specs.framework import HuggingFace, PyTorch, TrainingCompiler
from ..specs.job import JobSpec
from ..specs.json import Json
from ..strategies.smp_v2 import SMModelParallelV2
from . import estimators
from .state import Site
from .values import Bound, Cause, Instance, Place, Reason, Ref, Symbol, Text, Unknown, causes_in, missing_module

TIME: Final = "TIME"
DEEPEST: Final = 30  # values inside values of one argument
PLACEHOLDERS: Final[Mapping[Symbol, str]] = MappingProxyType(
    {
        Symbol.ROLE: Destination().role,
        Symbol.BUCKET: Destination().bucket,
        Symbol.ACCOUNT: "111122223333",
        Symbol.REGION: Destination().region,
        Symbol.TIME: TIME,
    }
)
FRAMEWORKS: Final = frozenset({"PyTorch", "HuggingFace", "TensorFlow", "MXNet", "SKLearn", "XGBoost"})
LOCAL: Final = ("local", "local_gpu")
_SWITCHES: Final = {
    "pytorchxla": "sagemaker_pytorch_xla_multi_worker_enabled",
    "parameter_server": "sagemaker_parameter_server_enabled",
}
# From which version on a framework's class asks for SageMaker's metrics.
_METRICS_SINCE: Final = {"PyTorch": (1, 3), "TensorFlow": (1, 15), "MXNet": (1, 6)}
_UNSAID: Final = frozenset({
    "sagemaker_session", "dependencies", "git_config", "code_location", "container_log_level", "base_job_name", "model_channel_name",
    "py_version", "framework_version", "transformers_version", "pytorch_version", "tensorflow_version", "image_uri", "entry_point",
    "source_dir", "hyperparameters", "distribution", "compiler_config", "role", "instance_count", "instance_type", "instance_groups",
    "volume_size", "volume_kms_key", "keep_alive_period_in_seconds", "max_run", "max_wait", "input_mode", "output_path",
    "output_kms_key", "disable_output_compression", "tags", "subnets", "security_group_ids", "model_uri", "metric_definitions",
    "encrypt_inter_container_traffic", "use_spot_instances", "checkpoint_s3_uri", "checkpoint_local_path", "rules",
    "debugger_hook_config", "tensorboard_output_config", "enable_sagemaker_metrics", "enable_network_isolation", "profiler_config",
    "disable_profiler", "environment", "max_retry_attempts", "training_repository_access_mode", "enable_infra_check",
    "training_repository_credentials_provider_arn", "container_entry_point", "container_arguments", "enable_remote_debug",
    "enable_session_tag_chaining", "training_plan", "instance_placement_config", "model_dir", "script_mode", "algorithm_arn",
    "image_uri_region",
})  # fmt: skip


_MAY_BE_EMPTY: Final = frozenset({"source_dir", "code_location", "model_uri"})  # the SDK takes an empty text for none


@dataclass(slots=True)
class Ledger:
    """What was met on the way: causes of what is unknown, placeholders that were filled in, remarks for the user."""

    words: Mapping[Symbol, str]
    place: Place
    causes: dict[tuple[object, ...], Cause] = field(default_factory=dict)
    placeholders: set[Symbol] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)

    def lacks(self, *causes: Cause) -> None:
        for cause in causes:
            self.causes.setdefault(cause.key, cause)

    def plain(self, value: object, above: tuple[int, ...] = ()) -> Any:
        """The value as JSON holds it, with placeholders as visible words; what is unknown is noted and becomes None."""
        if isinstance(value, (Text, Symbol)):
            return self._text(value)
        if isinstance(value, Unknown):
            self.lacks(*value.causes)
            return None
        if isinstance(value, (dict, list, tuple)):
            if id(value) in above or len(above) > DEEPEST:
                self.lacks(
                    Cause(Reason.VALUE, self.place, "…", detail="a value that holds itself, or is nested too deeply")
                )
                return None
            return self._inside(value, (*above, id(value)))
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return self._object(value)

    def _inside(self, value: dict[object, object] | list[object] | tuple[object, ...], above: tuple[int, ...]) -> Any:
        if isinstance(value, dict):
            return {
                key if isinstance(key, str) else self.plain(key, above): self.plain(item, above)
                for key, item in value.items()
            }
        return [self.plain(item, above) for item in value]

    def _text(self, value: Text | Symbol) -> str:
        parts = value.parts if isinstance(value, Text) else (value,)
        self.lacks(*causes_in(value))
        self.placeholders |= {part for part in parts if isinstance(part, Symbol)}
        return "".join(
            part if isinstance(part, str) else self.words[part] if isinstance(part, Symbol) else "…" for part in parts
        )

    def _object(self, value: object) -> Any:
        if isinstance(value, Instance) and value.cls == "path":
            return self.plain(value.arguments["path"])
        place = value.place if isinstance(value, Instance) else self.place
        if isinstance(value, Ref):
            self.lacks(missing_module(value, place))
            return None
        if isinstance(value, Bound):
            self.lacks(Cause(Reason.CALL, place, f"….{value.name}"))
            return None
        word = value.cls if isinstance(value, Instance) else type(value).__name__
        self.lacks(Cause(Reason.VALUE, place, word, detail=f"a {word} object"))
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A request, where it goes, and what was met; ``request`` None where causes keep it from being said."""

    request: dict[str, Json] | None
    at: Destination
    ledger: Ledger
    entry: str | None = None
    source_dir: str | None = None
    git: Mapping[str, str] | None = None


def request_of(site: Site, region: str, words: Mapping[Symbol, str] = PLACEHOLDERS) -> Read:
    """The request of a site. Everything that is not known stands in the ledger as causes."""
    ledger = Ledger({**words, Symbol.REGION: region}, site.place)
    if site.request is not None:
        request = {key: ledger.plain(value) for key, value in site.request.items()}
        return Read(request=None if ledger.causes else request, at=Destination(region=region), ledger=ledger)
    return _Builder(site, ledger, region).read()


class _Builder:
    """One site's request, part by part."""

    def __init__(self, site: Site, ledger: Ledger, region: str) -> None:
        self.site, self.ledger, self.region = site, ledger, region
        self.raw = site.arguments
        self.framework = site.cls in FRAMEWORKS

    def get(self, name: str, default: Any = None) -> Any:
        """An argument's plain value."""
        return self.ledger.plain(self.raw[name]) if name in self.raw else default

    def text(self, name: str) -> str | None:
        """An argument that is a text; an empty one was left to be filled in."""
        value = self.get(name)
        if value is None or (isinstance(value, str) and value) or (value == "" and name in _MAY_BE_EMPTY):
            return value or None
        reason = Reason.EMPTY if value == "" else Reason.VALUE
        self.ledger.lacks(Cause(reason, self.site.place, f"{name}={value!r}", give=name))
        return None

    def read(self) -> Read:
        for name, value in self.raw.items():
            if name == "…" or (name not in _UNSAID and not name.startswith("_")):
                self.ledger.lacks(*causes_in(value))
        if self.raw.get("training_recipe") is not None:
            why = "a recipe chooses the script, the image and the parameters"
            self.ledger.lacks(Cause(Reason.VALUE, self.site.place, "training_recipe", "training_recipe", why))
        output = self.text("output_path")
        bucket = self._bucket()
        where = output or f"s3://{bucket}/"
        image = self._image()
        name = self._name(image)
        entry, folder, git = self.text("entry_point"), self.text("source_dir"), self.get("git_config")
        source = self._source(folder, where, name) if entry or folder else None
        at = Destination(
            role=str(self.text("role") or self.ledger.words[Symbol.ROLE]),
            region=self.region, bucket=where.removeprefix("s3://").partition("/")[0] or bucket, job_name=name, source_uri=source,
        )  # fmt: skip
        request = self._request(at, image, where, entry if folder else posixpath.basename(entry or "") or None)
        if source is None and at.source_uri is None and not request["ResourceConfig"]:
            return Read(request=None, at=at, ledger=self.ledger)
        complete = not self.ledger.causes
        return Read(
            request=request if complete else None, at=at, ledger=self.ledger, entry=entry, source_dir=folder, git=git
        )

    def _bucket(self) -> str:
        session = self.raw.get("sagemaker_session")
        own = session.arguments.get("bucket") if isinstance(session, Instance) else None
        if own is not None:
            return str(self.ledger.plain(own))
        return self.ledger.words[Symbol.BUCKET]

    def _image(self) -> str | None:
        own = self.text("image_uri")
        if (
            own
            or self.site.cls in {"Estimator", "AlgorithmEstimator"}
            or ("image_uri" in self.raw and self.raw["image_uri"] is not None)
        ):
            if own is None and self.site.cls == "Estimator" and self.raw.get("image_uri") is None:
                self.ledger.lacks(Cause(Reason.REFUSED, self.site.place, "image_uri", give="image_uri"))
            return own
        try:
            return self._chosen_image()
        except (SmTrnError, ValueError, TypeError) as error:
            if not self.ledger.causes:
                self.ledger.lacks(
                    Cause(Reason.IMAGE, self.site.place, f"{self.site.cls}(…)", give="image_uri", detail=str(error))
                )
            return None

    def _chosen_image(self) -> str:
        get = self.get
        version, python, machine = get("framework_version"), get("py_version"), self._machine()
        raw = self.raw.get("distribution")
        wish = (
            self.ledger.plain({key: value for key, value in raw.items() if key != "instance_groups"})
            if isinstance(raw, dict)
            else None
        )
        distribution: Mapping[str, Json] = wish if isinstance(wish, Mapping) else {}
        if self.site.cls in {"PyTorch", "HuggingFace"} and get("tensorflow_version") is None:
            if self.site.cls == "PyTorch":
                framework: PyTorch | HuggingFace = PyTorch(version, python=python)
            else:
                framework = HuggingFace(get("transformers_version"), pytorch=get("pytorch_version"), python=python)
            model = _inner(_inner(distribution, "smdistributed"), "modelparallel")
            v2 = "torch_distributed" in distribution and bool(model) and model.get("enabled", True)
            job = JobSpec(
                name="image", framework=framework, compute=self._compute(machine),
                compiler=TrainingCompiler() if self._compiler() else None,
                distribution=SMModelParallelV2() if v2 else None,
            )  # fmt: skip
            return self._with_build(images.image_uri(job, self.region), distribution)
        name = {"TensorFlow": "tensorflow", "MXNet": "mxnet", "SKLearn": "sklearn", "XGBoost": "xgboost"}.get(
            self.site.cls
        )
        if name is None or self._compiler():
            raise ValueError(f"no table has the image of {self.site.cls} with these versions")
        wanted = algorithms.Wanted(
            version=version, instance=machine, smdistributed="smdistributed" in distribution,
            python=python or ("py3" if name in {"sklearn", "xgboost"} else None),
        )  # fmt: skip
        return algorithms.training_image(name, self.region, wanted)

    def _with_build(self, uri: str, distribution: Mapping[str, Json]) -> str:
        """PyTorch 1.6 on smdistributed has a build of its own: the table adds it for a strategy, and here none is named."""
        build = {"1.6": "cu110-ubuntu18.04-v3", "1.6.0": "cu110-ubuntu18.04"}.get(str(self.get("framework_version")))
        wanted = build and self.site.cls == "PyTorch" and "-gpu-" in uri and "smdistributed" in distribution
        return f"{uri}-{build}" if wanted and not uri.endswith(str(build)) else uri

    def _compiler(self) -> Instance | None:
        value = self.raw.get("compiler_config")
        return value if isinstance(value, Instance) and value.cls == "TrainingCompilerConfig" else None

    def _groups(self) -> list[Instance]:
        groups = self.raw.get("instance_groups")
        return [item for item in groups if isinstance(item, Instance)] if isinstance(groups, list) else []

    def _compute(self, machine: str) -> Compute:
        made = tuple(self._group(group) for group in self._groups())
        return Compute(groups=made) if made else Compute(machine)

    def _group(self, group: Instance) -> InstanceGroup:
        name, kind, count = (
            self.ledger.plain(group.arguments.get(f"instance_{word}")) for word in ("group_name", "type", "count")
        )
        return InstanceGroup(name=name, instance=kind, count=count)

    def _machine(self) -> str:
        """The type that chooses the image."""
        if self._groups():
            types = [str(self._resolved(group).get("instance_type")) for group in self._groups()]
            return next((name for name in types if images.processor(name) == "gpu"), types[0])
        value = self.get("instance_type")
        if not isinstance(value, str):
            raise TypeError("instance_type: got nothing, wanted an instance type")
        return value

    def _resolved(self, part: Instance) -> dict[str, Json]:
        return {name: self.ledger.plain(value) for name, value in part.arguments.items()}

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
        dependencies = self.raw.get("dependencies")
        if dependencies:
            packed = self.ledger.plain(dependencies)
            self.ledger.remarks.append(
                f"dependencies={packed!r} are packed beside the script: copy them into source_dir"
            )
        return f"{place}/{name}/source/sourcedir.tar.gz"

    def _request(self, at: Destination, image: str | None, where: str, program: str | None) -> dict[str, Json]:
        get = self.get
        algorithm: dict[str, Json] = {"TrainingInputMode": get("input_mode") or "File"}
        if self.site.cls == "AlgorithmEstimator":
            algorithm["AlgorithmName"] = self.text("algorithm_arn")
        else:
            algorithm["TrainingImage"] = image
        algorithm |= _given(
            TrainingImageConfig=self._image_config(), ContainerEntrypoint=get("container_entry_point"),
            ContainerArguments=get("container_arguments"), MetricDefinitions=get("metric_definitions"),
            EnableSageMakerMetricsTimeSeries=self._metrics(),
        )  # fmt: skip
        stopping: dict[str, Json] = {"MaxRuntimeInSeconds": get("max_run", 86_400)}
        if get("max_wait"):
            stopping["MaxWaitTimeInSeconds"] = get("max_wait")
        output = {"S3OutputPath": where} | _given(KmsKeyId=get("output_kms_key"))
        if get("disable_output_compression"):
            output["CompressionType"] = "NONE"
        request: dict[str, Json] = {
            "TrainingJobName": at.job_name, "AlgorithmSpecification": algorithm, "RoleArn": at.role, "OutputDataConfig": output,
            "ResourceConfig": self._resources(), "StoppingCondition": stopping,
        }  # fmt: skip
        hyperparameters = self._hyperparameters(at, program)
        request |= {"HyperParameters": hyperparameters} if hyperparameters else {}
        channels = [*self._channels(algorithm), *self._model_channel(), *self._code_channel(at, program)]
        request |= {"InputDataConfig": channels} if channels else {}
        return request | self._around(where) | self._watched(where)

    def _image_config(self) -> dict[str, Json] | None:
        mode, arn = (
            self.get("training_repository_access_mode"),
            self.get("training_repository_credentials_provider_arn"),
        )
        if mode is None:
            return None
        auth = (
            {"TrainingRepositoryAuthConfig": {"TrainingRepositoryCredentialsProviderArn": arn}}
            if arn is not None
            else {}
        )
        return {"TrainingRepositoryAccessMode": mode} | auth

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
        found |= _given(
            VolumeKmsKeyId=get("volume_kms_key"), KeepAlivePeriodInSeconds=get("keep_alive_period_in_seconds")
        )
        groups = self._groups()
        if groups:
            resolved = [self._resolved(group) for group in groups]
            found["InstanceGroups"] = [
                {
                    "InstanceGroupName": item.get("instance_group_name"),
                    "InstanceType": item.get("instance_type"),
                    "InstanceCount": item.get("instance_count"),
                }
                for item in resolved
            ]  # fmt: skip
        else:
            count = 1 if self.site.cls == "SKLearn" else get("instance_count")
            if not self.ledger.causes and (not isinstance(count, int) or isinstance(count, bool)):
                count = self._number("instance_count", count)
            found |= {"InstanceCount": count, "InstanceType": self.text("instance_type")}
            if not {"instance_type", "…"} & set(self.raw):
                self.ledger.lacks(Cause(Reason.REFUSED, self.site.place, "instance_type", give="instance_type"))
        return found | _given(
            TrainingPlanArn=get("training_plan"), InstancePlacementConfig=get("instance_placement_config")
        )

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
        found = {str(key): _encoded(value) if encode else str(value) for key, value in own.items()}
        if self.framework:
            found |= {key: _encoded(value) for key, value in self._distributed(at).items()}
        if at.source_uri is not None:
            told = {
                "sagemaker_submit_directory": CODE_IN_CONTAINER if self._isolated() and program else at.source_uri,
                "sagemaker_program": program,
                "sagemaker_container_log_level": self.get("container_log_level", 20),
                "sagemaker_job_name": at.job_name,
                "sagemaker_region": at.region,
            }
            told_texts = {key: _encoded(value) for key, value in told.items()}
            found = {**found, **told_texts}
        return found

    def _isolated(self) -> bool:
        return bool(self.get("enable_network_isolation"))

    def _distributed(self, at: Destination) -> dict[str, Json]:
        """What the strategy and the compiler add for the toolkit in the container."""
        raw = self.raw.get("distribution")
        named = {key: value for key, value in raw.items() if key != "instance_groups"} if isinstance(raw, dict) else raw
        wish = self.ledger.plain(named) or {}
        if not isinstance(wish, dict):
            self.ledger.lacks(Cause(Reason.VALUE, self.site.place, "distribution", give="distribution"))
            return {}
        found = self._strategy(wish)
        if self.site.cls == "TensorFlow" and self.get("model_dir") is not False:
            output = str(self.get("output_path") or f"s3://{at.bucket}/").rstrip("/")
            default = "/opt/ml/model" if _enabled(wish, "mpi") else f"{output}/{at.job_name}/model"
            found["model_dir"] = self.get("model_dir") or default
        compiler = self._compiler()
        if compiler is not None:
            settings = self._resolved(compiler)
            found |= {
                "sagemaker_training_compiler_enabled": settings.get("enabled", True),
                "sagemaker_training_compiler_debug_mode": settings.get("debug", False),
            }
        return found

    def _strategy(self, wish: dict[str, Json]) -> dict[str, Json]:
        torch = self.site.cls in {"PyTorch", "HuggingFace"}
        if self.site.cls == "PyTorch" and "pytorchddp" in wish:
            wish = {
                **{key: value for key, value in wish.items() if key != "pytorchddp"},
                "smdistributed": {"dataparallel": wish["pytorchddp"]},
            }
        machine = self.get("instance_type")
        kind = {"sagemaker_instance_type": machine} if machine is not None else {}
        if torch and _enabled(wish, "pytorchddp"):
            return {"sagemaker_pytorch_ddp_enabled": True, **kind}
        if torch and "pytorchddp" not in wish and _enabled(wish, "torch_distributed"):
            inner = self._toolkit(wish) if self.site.cls == "PyTorch" and "smdistributed" in wish else {}
            return {**inner, "sagemaker_torch_distributed_enabled": True, **kind}
        return self._toolkit(wish)

    def _toolkit(self, wish: Mapping[str, Json]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        groups = self._distributed_groups()
        if groups:
            found["sagemaker_distribution_instance_groups"] = groups
        for word, name in _SWITCHES.items():
            if word in wish:
                found[name] = _enabled(wish, word)
        if "mpi" in wish:
            mpi = _inner(wish, "mpi")
            found["sagemaker_mpi_enabled"] = mpi.get("enabled", False)
            if mpi.get("processes_per_host"):
                found["sagemaker_mpi_num_of_processes_per_host"] = mpi["processes_per_host"]
            found["sagemaker_mpi_custom_mpi_options"] = mpi.get("custom_mpi_options", "")
        if "smdistributed" in wish:
            found |= self._smdistributed(_inner(wish, "smdistributed"))
        if "multi_worker_mirrored_strategy" in wish:
            found["sagemaker_multi_worker_mirrored_strategy_enabled"] = _enabled(wish, "multi_worker_mirrored_strategy")
        return found

    def _smdistributed(self, parallel: Mapping[str, Json]) -> dict[str, Json]:
        model, data = _inner(parallel, "modelparallel"), _inner(parallel, "dataparallel")
        found: dict[str, Json] = {}
        if model.get("enabled") and model.get("parameters"):
            found["mp_parameters"] = model["parameters"]
        found["sagemaker_distributed_dataparallel_enabled"] = data.get("enabled", False)
        found["sagemaker_instance_type"] = self.get("instance_type")
        if data.get("enabled"):
            found["sagemaker_distributed_dataparallel_custom_mpi_options"] = data.get("custom_mpi_options", "")
        return found

    def _distributed_groups(self) -> list[Json]:
        """The groups that workers are started on: those that ``distribution`` names, or the only one there is."""
        raw = self.raw.get("distribution")
        if not isinstance(raw, dict):
            return []
        named = raw.get("instance_groups")
        chosen = named if isinstance(named, list) and named else self._groups() if len(self._groups()) == 1 else []
        found = [self._resolved(item).get("instance_group_name") for item in chosen if isinstance(item, Instance)]
        wish = {str(key): self.ledger.plain(value) for key, value in raw.items() if key != "instance_groups"}
        if found and not _enabled(wish, "mpi") and not _enabled(_inner(wish, "smdistributed"), "dataparallel"):
            why = "instance groups need mpi or smdistributed.dataparallel"
            self.ledger.lacks(Cause(Reason.REFUSED, self.site.place, "distribution", "distribution", why))
        return found

    def _channels(self, algorithm: dict[str, Json]) -> Iterator[dict[str, Json]]:
        inputs = self.site.fit.arguments.get("inputs") if self.site.fit else None
        if inputs is None:
            return
        if (
            isinstance(inputs, Instance)
            and inputs.cls == "TrainingInput"
            and inputs.arguments.get("input_mode") is not None
        ):
            algorithm["TrainingInputMode"] = self.ledger.plain(inputs.arguments["input_mode"])
        named = inputs if isinstance(inputs, dict) else {"training": inputs}
        for name, value in named.items():
            if name == "…":
                self.ledger.lacks(*causes_in(value))
            elif (channel := self._channel(str(self.ledger.plain(name)), value)) is not None:
                yield channel

    def _channel(self, name: str, value: object, **more: str) -> dict[str, Json] | None:
        if isinstance(value, Instance) and value.cls in {"TrainingInput", "FileSystemInput"}:
            made = (
                _training_input(self._resolved(value))
                if value.cls == "TrainingInput"
                else _file_system(self._resolved(value))
            )
        else:
            uri = self.ledger.plain(value)
            if uri is None and not self.ledger.causes:
                uri = ""
            if isinstance(uri, str) and not self.ledger.causes and not uri.startswith("s3://"):
                reason = Reason.EMPTY if not uri else Reason.REFUSED
                self.ledger.lacks(
                    Cause(
                        reason,
                        self.site.fit.place if self.site.fit else self.site.place,
                        f"inputs[{name!r}]={uri!r}",
                        give=name,
                    )
                )
            made = _training_input({"s3_data": uri, **more})
        return {**made, "ChannelName": name}

    def _model_channel(self) -> Iterator[dict[str, Json]]:
        uri = self.text("model_uri")
        if uri:
            name = str(self.get("model_channel_name") or "model")
            found = self._channel(name, uri, content_type="application/x-sagemaker-model", input_mode="File")
            yield from [found] if found is not None else []

    def _code_channel(self, at: Destination, program: str | None) -> Iterator[dict[str, Json]]:
        if self._isolated() and program and at.source_uri:
            found = self._channel(CODE_CHANNEL, at.source_uri)
            yield from [found] if found is not None else []

    def _around(self, where: str) -> dict[str, Json]:
        del where
        get = self.get
        found: dict[str, Json] = {}
        environment, tags, experiment = get("environment"), _tags(get("tags")), None
        if self.site.fit is not None:
            experiment = self.ledger.plain(self.site.fit.arguments.get("experiment_config"))
        found |= _given(Environment=environment, Tags=tags, ExperimentConfig=experiment or None)
        subnets, groups = get("subnets"), get("security_group_ids")
        if subnets is not None and groups is not None:
            found["VpcConfig"] = {"Subnets": subnets, "SecurityGroupIds": groups}
        for word, name in (
            ("enable_network_isolation", "EnableNetworkIsolation"),
            ("encrypt_inter_container_traffic", "EnableInterContainerTrafficEncryption"),
            ("use_spot_instances", "EnableManagedSpotTraining"),
        ):
            if get(word):
                found[name] = True
        if get("checkpoint_s3_uri"):
            found["CheckpointConfig"] = _given(
                S3Uri=get("checkpoint_s3_uri"), LocalPath=get("checkpoint_local_path") or None
            )
        if get("max_retry_attempts") is not None:
            found["RetryStrategy"] = {"MaximumRetryAttempts": get("max_retry_attempts")}
        if get("enable_infra_check") is not None:
            found["InfraCheckConfig"] = {"EnableInfraCheck": get("enable_infra_check")}
        if get("enable_remote_debug") is not None:
            found["RemoteDebugConfig"] = {"EnableRemoteDebug": get("enable_remote_debug")}
        if get("enable_session_tag_chaining") is not None:
            found["SessionChainingConfig"] = {"EnableSessionTagChaining": get("enable_session_tag_chaining")}
        return found

    def _watched(self, where: str) -> dict[str, Json]:
        """Debugger, profiler and TensorBoard."""
        supported = self.region not in limits.NO_DEBUGGER
        found: dict[str, Json] = {}
        if self.raw.get("rules"):
            self.ledger.lacks(*causes_in(self.raw["rules"]))
            self.ledger.lacks(
                Cause(
                    Reason.VALUE,
                    self.site.place,
                    "rules=[…]",
                    give="rules",
                    detail="debugger rules have no word in a spec",
                )
            )
        wish = self.raw.get("distribution")
        server = isinstance(wish, dict) and _enabled(
            {"parameter_server": self.ledger.plain(wish.get("parameter_server"))}, "parameter_server"
        )
        hook = self._hook(where) if supported and not (server and self.site.cls == "TensorFlow") else None
        if hook is not None:
            found["DebugHookConfig"] = hook
        board = self.raw.get("tensorboard_output_config")
        if isinstance(board, Instance):
            settings = self._resolved(board)
            found["TensorBoardOutputConfig"] = _given(
                S3OutputPath=settings.get("s3_output_path"), LocalPath=settings.get("container_local_output_path")
            )
        elif board is not None:
            self.ledger.plain(board)
        found["ProfilerConfig"] = self._profiler(where, supported=supported)
        return found

    def _hook(self, where: str) -> dict[str, Json] | None:
        hook = self.raw.get("debugger_hook_config")
        if self._dropped() or hook is False:
            return None
        if isinstance(hook, Instance):
            settings = hook.arguments
            collections = settings.get("collection_configs")
            listed = [self._collection(item) for item in collections] if isinstance(collections, (list, tuple)) else []
            if collections is not None and not isinstance(collections, (list, tuple)):
                self.ledger.plain(collections)
            path = self.ledger.plain(settings.get("s3_output_path")) or where
            return {
                "S3OutputPath": path,
                **_given(
                    LocalPath=self.ledger.plain(settings.get("container_local_output_path")),
                    HookParameters=self.ledger.plain(settings.get("hook_parameters")),
                ),
                "CollectionConfigurations": listed,
            }  # fmt: skip
        if hook is not None and hook is not True and hook != {}:
            self.ledger.plain(hook)
        return {"S3OutputPath": where, "CollectionConfigurations": []}

    def _collection(self, item: object) -> dict[str, Json]:
        if not isinstance(item, Instance) or item.cls != "CollectionConfig":
            self.ledger.plain(item)
            return {}
        settings = self._resolved(item)
        return {"CollectionName": settings.get("name")} | _given(CollectionParameters=settings.get("parameters"))

    def _dropped(self) -> bool:
        """Framework classes but Hugging Face's drop the hook from distributed jobs with a local checkpoint path."""
        both = self.raw.get("checkpoint_s3_uri") and self.raw.get("checkpoint_local_path")
        many = (self.get("instance_count") or 0) > 1 if isinstance(self.get("instance_count") or 0, int) else False
        hooked = self.site.cls in {"PyTorch", "TensorFlow", "MXNet"}
        return bool(both and hooked and (many or self.site.cls != "MXNet"))

    def _profiler(self, where: str, *, supported: bool) -> dict[str, Json]:
        config, kind = self.raw.get("profiler_config"), self.get("instance_type")
        neuron = isinstance(kind, str) and re.match(r"^ml[._]trn", kind)
        off = bool(self.get("disable_profiler")) or not supported or bool(neuron)
        if isinstance(config, Instance):
            settings = config.arguments
            if settings.get("framework_profile_params") is not None or settings.get("profile_params") is not None:
                self.ledger.lacks(
                    Cause(
                        Reason.VALUE,
                        config.place,
                        "framework_profile_params",
                        give="profiler_config",
                        detail="framework profiling",
                    )
                )
            path = self.ledger.plain(settings.get("s3_output_path")) or where
            interval = self.ledger.plain(settings.get("system_monitor_interval_millis"))
            disabled = bool(self.ledger.plain(settings.get("disable_profiler")))
            return {
                **({} if disabled else {"S3OutputPath": path}),
                "DisableProfiler": disabled,
                **_given(ProfilingIntervalInMilliseconds=interval),
            }
        if config is not None:
            self.ledger.plain(config)
        return {"DisableProfiler": True} if off else {"S3OutputPath": where, "DisableProfiler": False}


def _inner(wish: Mapping[str, Json], word: str) -> Mapping[str, Json]:
    inner = wish.get(word)
    return inner if isinstance(inner, Mapping) else {}


def _enabled(wish: Mapping[str, Json], word: str) -> bool:
    return bool(_inner(wish, word).get("enabled", False))


def _encoded(value: Any) -> str:
    return json.dumps(value)


def _given(**fields: Any) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _tags(value: Any) -> Any:
    """A mapping of tags as the list that is sent."""
    return [{"Key": key, "Value": item} for key, item in value.items()] if isinstance(value, dict) else value


def _training_input(given: Mapping[str, Json]) -> dict[str, Json]:
    source: dict[str, Json] = {"S3DataType": given.get("s3_data_type") or "S3Prefix", "S3Uri": given.get("s3_data")}
    distribution = given.get("distribution")
    if distribution is None and not given.get("target_attribute_name"):
        distribution = "FullyReplicated"
    source |= _given(
        S3DataDistributionType=distribution,
        InstanceGroupNames=given.get("instance_groups"),
        AttributeNames=given.get("attribute_names"),
    )
    return {"DataSource": {"S3DataSource": source}} | _given(
        CompressionType=given.get("compression"), ContentType=given.get("content_type"), RecordWrapperType=given.get("record_wrapping"),
        InputMode=given.get("input_mode"), TargetAttributeName=given.get("target_attribute_name"),
    )  # fmt: skip


def _file_system(given: Mapping[str, Json]) -> dict[str, Json]:
    source = {
        "FileSystemId": given.get("file_system_id"),
        "FileSystemType": given.get("file_system_type"),
        "DirectoryPath": given.get("directory_path"),
        "FileSystemAccessMode": given.get("file_system_access_mode", "ro"),
    }
    return {"DataSource": {"FileSystemDataSource": source}} | _given(ContentType=given.get("content_type") or None)


TURNED_DOWN: Final[Mapping[str, Callable[[str], bool]]] = MappingProxyType({"instance_type": LOCAL.__contains__})
CLASSES: Final = estimators.WRITTEN
