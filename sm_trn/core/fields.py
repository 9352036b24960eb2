"""The names of each field of a job: in a spec, in a CreateTrainingJob request, by SDK v2's estimator and by SDK v3's ModelTrainer.

One row says all four. ``write`` turns a value into the tree of one of these languages, ``read`` turns such a tree back. Image,
toolkit hyperparameters, names and places that an account adds are no rows: the targets choose them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from .specs.compute import SERVERLESS, Compute, InstanceGroup, InstancePreference, Placement, Spot, UltraServer
from .specs.data import (
    Channel,
    Checkpoint,
    Dataset,
    FileSystem,
    FileSystemKind,
    InputMode,
    Network,
    Output,
    S3Kind,
    Source,
    Spread,
)
from .specs.job import JobSpec
from .specs.json import Json, Object, leaves, thawed
from .specs.metrics import MetricRule

Column: TypeAlias = Literal["request", "v2", "v3"]
Tree: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Codec:
    """How a value is said. ``write`` answers None where nothing is said, ``read`` where what was said is not understood."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Items:
    """A list of parts, each with fields of its own. It is read whole, or not at all where one item is not understood."""

    cls: type
    fields: tuple[Field, ...]


def plain(kind: type) -> Codec:
    """A text or a number as it stands. An empty text is not raw."""
    return Codec(
        write=lambda value: None if value == "" else value,
        read=lambda raw: raw if type(raw) is kind and raw != "" else None,
    )


def words(meanings: Mapping[Any, Json]) -> Codec:
    """Values that have a word each; others are not raw."""

    def understood(raw: Any) -> Any:
        matches = (value for value, word in meanings.items() if word == raw and type(word) is type(raw))
        return next(matches, None)

    return Codec(write=meanings.get, read=understood)


def choice(members: type[enum.Enum]) -> Codec:
    """A member of an enumeration."""

    def understood(raw: Any) -> Any:
        return next((member for member in members if member.value == raw), None)

    return Codec(write=lambda value: value.value, read=understood)


def pairs(key: str, value: str) -> Codec:
    """A mapping of texts that is a list of pairs elsewhere."""
    return Codec(
        write=lambda texts: [{key: name, value: text} for name, text in texts.items()] or None,
        read=lambda raw: {pair[key]: pair[value] for pair in raw},
    )


def _texts(raw: Any) -> tuple[str, ...] | None:
    is_list = isinstance(raw, (list, tuple)) and all(isinstance(each, str) for each in raw)
    return tuple(raw) if is_list else None


def _text_by_name(raw: Any) -> dict[str, str] | None:
    is_mapping = isinstance(raw, Mapping) and all(isinstance(text, str) for text in raw.values())
    return dict(raw) if is_mapping else None


TEXT: Final = plain(str)
NUMBER: Final = plain(int)
COUNT: Final = Codec(write=lambda value: value, read=lambda raw: raw if type(raw) is int and raw > 0 else None)
FLAG: Final = words({True: True})
TEXTS: Final = Codec(write=lambda value: list(value) or None, read=_texts)
ONE_TEXT: Final = Codec(write=lambda value: [value], read=lambda raw: raw[0] if _texts(raw) and len(raw) == 1 else None)
TEXT_BY_NAME: Final = Codec(write=lambda value: dict(value) or None, read=_text_by_name)
IS_THERE: Final = Codec(write=lambda _: True, read=lambda _: None)  # what the value holds is said by other rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A row. ``spec`` is a path from the value that the table is of; the others are paths in the trees of their columns.

    "" stands where a language has no word. ``when`` keeps a field from being said of some values. ``v2_codec`` and ``v3_codec``
    are for the rare word that means the same in another way: SDK v2 says ``disable``, the spec says ``compress``. ``instead`` is what to
    do where a language has no word.
    """

    spec: str
    request: str = ""
    v2: str = ""
    v3: str = ""
    codec: Codec | Items = TEXT
    v2_codec: Codec | None = None
    v3_codec: Codec | None = None
    when: Callable[[Any], bool] | None = None
    instead: str = ""

    def path(self, column: Column) -> str:
        """The field's path in a column."""
        match column:
            case "request":
                return self.request
            case "v2":
                return self.v2
            case "v3":
                return self.v3

    def codec_of(self, column: Column) -> Codec | Items:
        """How the field's value is said in a column."""
        own = self.v2_codec if column == "v2" else self.v3_codec if column == "v3" else None
        return own or self.codec


@dataclass(frozen=True, slots=True)
class Extra:
    """A member of ``JobSpec.extra``, by its path in the request, and its paths in the calls of the SDKs; "" where one has no word."""

    request: str
    v2: str = ""
    v3: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    """A field as one column says it: the attribute of its part that it is, and the steps to its place in a tree."""

    attribute: str
    above: tuple[str, ...]
    last: str
    say: Callable[[Any], Any]
    when: Callable[[Any], bool] | None


@dataclass(frozen=True, slots=True)
class _Words:
    """A table as one column says it: the rows that it has words for, by the part of a value that they are of, and the other fields."""

    table: tuple[Field, ...]
    parts: tuple[tuple[tuple[str, ...], tuple[_Row, ...]], ...]
    without: tuple[Field, ...]


_WORDS: Final[dict[tuple[int, Column], _Words]] = {}


def _words(table: tuple[Field, ...], column: Column) -> _Words:
    """The words of a column, sorted once and used for each value. They hold the table, so that no other table gets its id."""
    key = (id(table), column)
    if key not in _WORDS:
        parts: dict[tuple[str, ...], list[_Row]] = {}
        without: list[Field] = []
        for field in table:
            *above, last = field.path(column).split(".")
            *part, attribute = field.spec.split(".")
            if last:
                say = _writer(field.codec_of(column), column)
                parts.setdefault(tuple(part), []).append(_Row(attribute, tuple(above), last, say, field.when))
            else:
                without.append(field)
        by_part = tuple((part, tuple(rows)) for part, rows in parts.items())
        _WORDS[key] = _Words(table=table, parts=by_part, without=tuple(without))
    return _WORDS[key]


def _writer(codec: Codec | Items, column: Column) -> Callable[[Any], Any]:
    if isinstance(codec, Codec):
        return codec.write
    inner = codec.fields
    return lambda items: [write(inner, item, column) for item in items] or None


def write(table: tuple[Field, ...], value: object, column: Column) -> Tree:
    """The tree that says ``value`` in the words of ``column``; nothing is said of what is absent."""
    tree: Tree = {}
    for steps, rows in _words(table, column).parts:
        part = value
        for step in steps:
            part = None if part is None else getattr(part, step)
        if part is None:
            continue
        for row in rows:
            held = getattr(part, row.attribute)
            if held is None or (row.when is not None and not row.when(value)):
                continue
            raw = row.say(held)
            if raw is not None:
                place = tree
                for step in row.above:
                    place = place.setdefault(step, {})
                place[row.last] = raw
    return tree


def read(table: tuple[Field, ...], tree: Object, column: Column) -> Tree:
    """The values that a tree says, by their paths in the spec as nested dicts. What is not understood is left out."""
    values: Tree = {}
    for field in table:
        raw = _value_in(tree, field.path(column))
        value = None if raw is None else _understand(field.codec_of(column), raw, column)
        if value is not None:
            _put(values, field.spec, value)
    return values


def _understand(codec: Codec | Items, raw: Json, column: Column) -> Any:
    if isinstance(codec, Codec):
        return codec.read(raw)
    if not isinstance(raw, (list, tuple)):
        return None
    items = [read_as(codec.cls, codec.fields, item, column) for item in raw]
    return None if None in items else tuple(items)


def _put(tree: Tree, path: str, value: Any) -> None:
    *above, last = path.split(".")
    for step in above:
        tree = tree.setdefault(step, {})
    tree[last] = value


def translate(table: tuple[Field, ...], tree: Object, source: Column, target: Column) -> Tree:
    """Translate a tree from ``source`` to ``target``. A value that is not understood is handed on as it is, and so
    is a key without a row beside keys that both columns spell alike.
    """
    words: Tree = {}
    for path, value in _without_row(table, tree, source, target):
        _put(words, path, value)
    for field in table:
        raw = _value_in(tree, field.path(source))
        if raw is not None and field.path(target):
            _put(words, field.path(target), _translated(field, raw, source, target))
    return words


def _without_row(table: tuple[Field, ...], tree: Object, source: Column, target: Column) -> Iterator[tuple[str, Json]]:
    """The keys of a tree that no row has, with their path in ``target``: the request's own words, which an SDK only hands on."""
    places: dict[tuple[str, str], set[str]] = {}
    for field in table:
        here, _, key = field.path(source).rpartition(".")
        there, _, word = field.path(target).rpartition(".")
        if key and key == word:
            places.setdefault((here, there), set()).add(key)
    for (here, there), keys in places.items():
        parent = _value_in(tree, here) if here else tree
        for key, value in parent.items() if isinstance(parent, Mapping) else ():
            if key not in keys:
                yield f"{there}.{key}".lstrip("."), value


def _translated(field: Field, raw: Json, source: Column, target: Column) -> Any:
    codec, other = field.codec_of(source), field.codec_of(target)
    if isinstance(codec, Items):
        items = raw if isinstance(raw, (list, tuple)) else ()
        understood = bool(items) and all(isinstance(item, Mapping) for item in items)
        return [translate(codec.fields, item, source, target) for item in items] if understood else raw
    value = codec.read(raw)
    return raw if value is None or isinstance(other, Items) else other.write(value)


def read_as(cls: type, table: tuple[Field, ...], tree: Json, column: Column) -> Any:
    """The ``cls`` that a tree says. None where the tree says more than the table's fields, or something that they cannot hold."""
    if not isinstance(tree, Mapping) or not set(tree) <= {field.path(column).split(".")[0] for field in table}:
        return None
    values = read(table, tree, column)
    understood = all(_value_in(tree, f.path(column)) is None or f.spec in values for f in table)
    return build(cls, values) if understood else None


def build(cls: type, values: Tree) -> Any:
    """``cls(**values)``, or None where a value is missing or refused."""
    try:
        return cls(**values)
    except (TypeError, ValueError):
        return None


def with_parts(values: Tree) -> Tree:
    """The values of a job with its parts built; one that cannot be built is left out."""
    for path, cls in PARTS.items():
        *above, last = path.split(".")
        place = values
        for step in above:
            place = place.get(step, {})
        if last in place:
            part = build(cls, place.pop(last))
            place |= {} if part is None else {last: part}
    return values


def value_at(value: Any, path: str) -> Any:
    """The value at a path of a spec; None where a part on the way is absent."""
    for step in path.split("."):
        value = None if value is None else getattr(value, step)
    return value


def is_in(tree: Json, path: str) -> bool:
    """Return True if a tree says something at a path."""
    return _value_in(tree, path) is not None


def _value_in(tree: Json, path: str) -> Json:
    for step in path.split(".") if path else ():
        tree = tree.get(step) if isinstance(tree, Mapping) else None
    return tree if path else None


METRIC: Final = (
    Field(spec="name", request="Name", v2="Name", v3="name"),
    Field(spec="regex", request="Regex", v2="Regex", v3="regex"),
)
GROUP: Final = (
    Field(spec="name", request="InstanceGroupName", v2="instance_group_name", v3="instance_group_name"),
    Field(spec="instance", request="InstanceType", v2="instance_type", v3="instance_type"),
    Field(spec="count", request="InstanceCount", v2="instance_count", v3="instance_count", codec=COUNT),
)
PREFERENCE: Final = (
    Field(spec="instance", request="InstanceType", v3="instance_type"),
    Field(spec="count", request="InstanceCount", v3="instance_count", codec=COUNT),
    Field(spec="training_plan", request="TrainingPlanArns", v3="training_plan_arns", codec=ONE_TEXT),
)
SERVER: Final = (  # SDK v2 takes the request's own dicts
    Field(spec="server_id", request="UltraServerId", v2="UltraServerId", v3="ultra_server_id"),
    Field(spec="count", request="InstanceCount", v2="InstanceCount", v3="instance_count", codec=COUNT),
)
# A channel has its name from the job's mapping.
CHANNEL: Final = (
    Field(spec="kind", request="DataSource.S3DataSource.S3DataType", v2="s3_data_type",
          v3="data_source.s3_data_source.s3_data_type", codec=choice(S3Kind)),
    Field(spec="uri", request="DataSource.S3DataSource.S3Uri", v2="s3_data", v3="data_source.s3_data_source.s3_uri"),
    Field(spec="spread", request="DataSource.S3DataSource.S3DataDistributionType", v2="distribution",
          v3="data_source.s3_data_source.s3_data_distribution_type", codec=choice(Spread)),
    Field(spec="groups", request="DataSource.S3DataSource.InstanceGroupNames", v2="instance_groups",
          v3="data_source.s3_data_source.instance_group_names", codec=TEXTS),
    Field(spec="compression", request="CompressionType", v2="compression", v3="compression_type"),
    Field(spec="content_type", request="ContentType", v2="content_type", v3="content_type"),
    Field(spec="record_wrapping", request="RecordWrapperType", v2="record_wrapping", v3="record_wrapper_type"),
    Field(spec="mode", request="InputMode", v2="input_mode", v3="input_mode", codec=choice(InputMode)),
    Field(spec="shuffle_seed", request="ShuffleConfig.Seed", v2="shuffle_config.seed", v3="shuffle_config.seed", codec=NUMBER),
    Field(spec="attribute_names", request="DataSource.S3DataSource.AttributeNames", v2="attribute_names",
          v3="data_source.s3_data_source.attribute_names", codec=TEXTS),
    Field(spec="accept_eula", request="DataSource.S3DataSource.ModelAccessConfig.AcceptEula", v2="model_access_config.AcceptEula",
          v3="data_source.s3_data_source.model_access_config.accept_eula", codec=FLAG),
    Field(spec="hub_content_arn", request="DataSource.S3DataSource.HubAccessConfig.HubContentArn",
          v2="hub_access_config.HubContentArn", v3="data_source.s3_data_source.hub_access_config.hub_content_arn"),
)  # fmt: skip
FILE_SYSTEM: Final = (
    Field(spec="file_system_id", request="DataSource.FileSystemDataSource.FileSystemId", v2="file_system_id",
          v3="data_source.file_system_data_source.file_system_id"),
    Field(spec="kind", request="DataSource.FileSystemDataSource.FileSystemType", v2="file_system_type",
          v3="data_source.file_system_data_source.file_system_type", codec=choice(FileSystemKind)),
    Field(spec="directory", request="DataSource.FileSystemDataSource.DirectoryPath", v2="directory_path",
          v3="data_source.file_system_data_source.directory_path"),
    Field(spec="writable", request="DataSource.FileSystemDataSource.FileSystemAccessMode", v2="file_system_access_mode",
          v3="data_source.file_system_data_source.file_system_access_mode", codec=words({True: "rw", False: "ro"})),
    Field(spec="content_type", request="ContentType", v2="content_type", v3="content_type"),
)  # fmt: skip


DATASET: Final = (
    Field(
        spec="dataset_arn", request="DataSource.DatasetSource.DatasetArn", v3="data_source.dataset_source.dataset_arn"
    ),
    Field(spec="content_type", request="ContentType", v3="content_type"),
)
SOURCES: Final[Mapping[type, tuple[Field, ...]]] = {FileSystem: FILE_SYSTEM, Dataset: DATASET, Channel: CHANNEL}


def table_of(source: Source) -> tuple[Field, ...]:
    """The fields of a channel: which they are depends on where its data lies."""
    return SOURCES[type(source)]


def _has_machines(job: JobSpec) -> bool:
    return job.compute.instance != SERVERLESS


# Parts of a job that are classes of their own. A part is read where one of its fields is said.
PARTS: Final[Mapping[str, type]] = {
    "compute.placement": Placement,  # before the part that it is in
    "compute": Compute,
    "spot": Spot,
    "output": Output,
    "checkpoint": Checkpoint,
    "network": Network,
}
# Words of v3 that begin with with_ are methods of ModelTrainer, and go on with the name of their argument.
JOB: Final = (
    Field(spec="metrics", request="AlgorithmSpecification.MetricDefinitions", v2="metric_definitions",
          v3="with_metric_definitions.metric_definitions", codec=Items(MetricRule, METRIC), when=_has_machines),
    Field(spec="output.s3_uri", request="OutputDataConfig.S3OutputPath", v2="output_path",
          v3="output_data_config.s3_output_path"),
    Field(spec="output.kms_key", request="OutputDataConfig.KmsKeyId", v2="output_kms_key", v3="output_data_config.kms_key_id"),
    Field(spec="output.compress", request="OutputDataConfig.CompressionType", v2="disable_output_compression",
          v3="output_data_config.compression_type", codec=words({False: "NONE"}), v2_codec=words({False: True}),
          v3_codec=words({False: "NONE", True: "GZIP"})),
    Field(spec="compute.instance", request="ResourceConfig.InstanceType", v2="instance_type", v3="compute.instance_type",
          when=_has_machines),
    Field(spec="compute.count", request="ResourceConfig.InstanceCount", v2="instance_count", v3="compute.instance_count",
          codec=COUNT, when=lambda job: job.compute.counted),
    Field(spec="compute.groups", request="ResourceConfig.InstanceGroups", v2="instance_groups", v3="compute.instance_groups",
          codec=Items(InstanceGroup, GROUP)),
    Field(spec="compute.volume_gb", request="ResourceConfig.VolumeSizeInGB", v2="volume_size",
          v3="compute.volume_size_in_gb", codec=COUNT, when=_has_machines),
    Field(spec="compute.volume_kms_key", request="ResourceConfig.VolumeKmsKeyId", v2="volume_kms_key",
          v3="compute.volume_kms_key_id"),
    Field(spec="compute.keep_alive_s", request="ResourceConfig.KeepAlivePeriodInSeconds", v2="keep_alive_period_in_seconds",
          v3="compute.keep_alive_period_in_seconds", codec=NUMBER),
    Field(spec="compute.training_plan", request="ResourceConfig.TrainingPlanArn", v2="training_plan",
          v3="compute.training_plan_arn"),
    Field(spec="compute.preferences", request="ResourceConfig.InstancePreferences", v3="compute.instance_preferences",
          codec=Items(InstancePreference, PREFERENCE)),
    Field(spec="compute.placement.shared", request="ResourceConfig.InstancePlacementConfig.EnableMultipleJobs",
          v2="instance_placement_config.EnableMultipleJobs", v3="compute.instance_placement_config.enable_multiple_jobs",
          codec=FLAG),
    Field(spec="compute.placement.servers", request="ResourceConfig.InstancePlacementConfig.PlacementSpecifications",
          v2="instance_placement_config.PlacementSpecifications",
          v3="compute.instance_placement_config.placement_specifications", codec=Items(UltraServer, SERVER)),
    Field(spec="max_run_s", request="StoppingCondition.MaxRuntimeInSeconds", v2="max_run",
          v3="stopping_condition.max_runtime_in_seconds", codec=COUNT),
    Field(spec="spot", request="EnableManagedSpotTraining", v2="use_spot_instances", v3="compute.enable_managed_spot_training",
          codec=IS_THERE),
    Field(spec="spot.max_wait_s", request="StoppingCondition.MaxWaitTimeInSeconds", v2="max_wait",
          v3="stopping_condition.max_wait_time_in_seconds", codec=COUNT),
    Field(spec="checkpoints.s3_uri", request="CheckpointConfig.S3Uri", v2="checkpoint_s3_uri", v3="checkpoint_config.s3_uri"),
    Field(spec="checkpoints.local_path", request="CheckpointConfig.LocalPath", v2="checkpoint_local_path",
          v3="checkpoint_config.local_path"),
    Field(spec="variables", request="Environment", v2="environment", v3="environment", codec=TEXT_BY_NAME),
    Field(spec="tags", request="Tags", v2="tags", v3="tags", codec=pairs("Key", "Value"), v3_codec=pairs("key", "value")),
    Field(spec="retries", request="RetryStrategy.MaximumRetryAttempts", v2="max_retry_attempts",
          v3="with_retry_strategy.retry_strategy.maximum_retry_attempts", codec=NUMBER),
    Field(spec="network.subnets", request="VpcConfig.Subnets", v2="subnets", v3="networking.subnets", codec=TEXTS),
    Field(spec="network.security_groups", request="VpcConfig.SecurityGroupIds", v2="security_group_ids",
          v3="networking.security_group_ids", codec=TEXTS),
    Field(spec="network.encrypt_traffic", request="EnableInterContainerTrafficEncryption",
          v2="encrypt_inter_container_traffic", v3="networking.enable_inter_container_traffic_encryption", codec=FLAG),
    Field(spec="network.isolation", request="EnableNetworkIsolation", v2="enable_network_isolation",
          v3="networking.enable_network_isolation", codec=FLAG),
)  # fmt: skip
# Members of ``JobSpec.extra`` that an SDK has a word for. Of the others it says nothing.
EXTRA: Final = (
    Extra("AlgorithmSpecification.ContainerEntrypoint", v2="container_entry_point"),
    Extra("AlgorithmSpecification.ContainerArguments", v2="container_arguments"),
    Extra("AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAccessMode",
          v2="training_repository_access_mode", v3="training_image_config.training_repository_access_mode"),
    Extra("AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAuthConfig.TrainingRepositoryCredentialsProviderArn",
          v2="training_repository_credentials_provider_arn",
          v3="training_image_config.training_repository_auth_config.training_repository_credentials_provider_arn"),
    Extra("StoppingCondition.MaxPendingTimeInSeconds", v3="stopping_condition.max_pending_time_in_seconds"),
    Extra("TensorBoardOutputConfig.S3OutputPath", v2="tensorboard_output_config.s3_output_path",
          v3="with_tensorboard_output_config.tensorboard_output_config.s3_output_path"),
    Extra("TensorBoardOutputConfig.LocalPath", v2="tensorboard_output_config.container_local_output_path",
          v3="with_tensorboard_output_config.tensorboard_output_config.local_path"),
    Extra("InfraCheckConfig.EnableInfraCheck", v2="enable_infra_check",
          v3="with_infra_check_config.infra_check_config.enable_infra_check"),
    Extra("RemoteDebugConfig.EnableRemoteDebug", v2="enable_remote_debug",
          v3="with_remote_debug_config.remote_debug_config.enable_remote_debug"),
    Extra("SessionChainingConfig.EnableSessionTagChaining", v2="enable_session_tag_chaining",
          v3="with_session_chaining_config.session_chaining_config.enable_session_tag_chaining"),
    Extra("ExperimentConfig.ExperimentName", v2="fit.experiment_config.ExperimentName"),
    Extra("ExperimentConfig.TrialName", v2="fit.experiment_config.TrialName"),
    Extra("ExperimentConfig.TrialComponentDisplayName", v2="fit.experiment_config.TrialComponentDisplayName"),
    Extra("ExperimentConfig.RunName", v2="fit.experiment_config.RunName"),
    Extra("ModelPackageConfig.ModelPackageGroupArn", v3="model_package_config.model_package_group_arn"),
    Extra("ModelPackageConfig.SourceModelPackageArn", v3="model_package_config.source_model_package_arn"),
)  # fmt: skip

# What an SDK does with the source and the image. A target says them itself; where a column is empty it cannot.
BESIDE: Final = (
    Field(spec="script.git", v2="git_config", codec=IS_THERE,
          instead="clone it at its commit and name that folder: Script(…, source_dir=…)"),
    Field(spec="script.dependencies", v2="dependencies", codec=TEXTS, instead="copy them into source_dir"),
    Field(spec="compiler", v2="compiler_config", codec=IS_THERE, when=lambda job: job.compiled),
)  # fmt: skip
WHOLE: Final = JOB + BESIDE
# Members of the request that a job sets without ``extra``, and the word that sets them.
OWNED: Final[tuple[tuple[str, str], ...]] = (
    ("TrainingJobName", "name=…"), ("RoleArn", "connect(role=…)"), ("HyperParameters", "hyperparameters={…}"),
    ("InputDataConfig", "inputs={…}"), ("AlgorithmSpecification.TrainingImage", "image_uri=…"),
    ("AlgorithmSpecification.AlgorithmName", "framework=Container(algorithm=…)"),
    *((field.request, f"{field.spec}=…") for field in JOB),
)  # fmt: skip
# Members of ``extra`` that write where the job's output goes, unless they name a place.
WRITING: Final = ("DebugHookConfig", "ProfilerConfig")
SHARED: Final = frozenset(request.split(".")[0] for request, _ in OWNED)


def members() -> frozenset[str]:
    """The members of a request that the table says."""
    return frozenset(field.request.split(".")[0] for field in JOB)


def add_extra(tree: Tree, job: JobSpec, column: Literal["v2", "v3"]) -> None:
    """Add the members of the job's ``extra`` to a tree, in the words of an SDK. A member that is False is the SDK's default."""
    for row in EXTRA:
        word = row.v2 if column == "v2" else row.v3
        value = job.extra_at(row.request)
        if word and value is not None and value is not False:
            _put(tree, word, thawed(value))


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A field of a job, by its path, that a language has no word for, its value, and what to do instead."""

    path: str
    value: Any
    v2: str
    v3: str
    instead: str = ""


def without_word(job: JobSpec, column: Literal["v2", "v3"]) -> Iterator[Unsaid]:
    """The fields that another language says of a job and that ``column`` has no word for."""
    yield from _unsaid("", WHOLE, job, column)
    for name, source in job.sources.items():
        yield from _unsaid(f"inputs.{name}.", table_of(source), source, column)
    rows = {row.request: row for row in EXTRA}
    for path, value in leaves(job.extra):
        row = rows.get(path, Extra(path))
        if not (row.v2 if column == "v2" else row.v3) and (path, value) not in OFF:
            yield Unsaid(f"extra.{path}", thawed(value), row.v2, row.v3)


# What an SDK's call says of the profiler in any case, or what is the same when it is left out.
OFF: Final = (("ProfilerConfig.DisableProfiler", True),)


def _unsaid(where: str, table: tuple[Field, ...], value: object, column: Column) -> Iterator[Unsaid]:
    for field in _words(table, column).without:
        part = value_at(value, field.spec)
        raw = None if part is None else field.codec_of("request" if field.request else "v2")
        if raw is None or (field.when is not None and not field.when(value)):
            continue
        if (isinstance(raw, Items) and part) or (isinstance(raw, Codec) and raw.write(part) is not None):
            yield Unsaid(where + field.spec, part, field.v2, field.v3, field.instead)
