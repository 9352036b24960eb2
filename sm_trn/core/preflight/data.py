"""LIMIT and DATA rules of what a request carries around the training: warm pools, groups, network, tags, places in S3."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..catalog import limits
from ..catalog.instances import find_instances
from ..specs.compute import Compute
from ..specs.data import InputMode, S3Kind, bucket_and_key
from ..specs.job import JobSpec
from ..specs.problems import Advice, Change, Field, Problem, Rule, Severity, rules_of
from . import reading, source
from .secrets import holds_secret, is_named_secret

MODEL = "botocore, sagemaker/2017-07-24 service model"
# Owners and beginnings of models that are downloaded after an agreement only (Hugging Face hub, 2026-11). Gemma 4 is free: Apache 2.0.
GATED = ("meta-llama/", "google/gemma-1", "google/gemma-2", "google/gemma-3", "google/gemma-7b", "bigcode/starcoder")
FETCHES_TOKEN = (
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HUGGINGFACE_HUB_TOKEN",
    "login",
    "secretsmanager",
    "get_secret_value",
    "ssm",
)
_TOKEN = re.compile(r"(?i)(^|_)(token|use_auth_token|hf_token)($|_)")
PLACEHOLDER = re.compile(r"YOUR-[A-Z][A-Z0-9-]*")  # a word that stands for what is not known
_TAG = frozenset("_.:/=+-@")

_RULES = rules_of(__package__)


def warm_pool(job: JobSpec) -> Iterator[Problem]:
    """LIMIT015: six hours at most, and not for spot."""
    keep, most = job.compute.keep_alive_s, limits.maximum("KeepAlivePeriodInSeconds")
    if keep is None or (0 <= keep <= most and job.spot is None):
        return
    spot = job.spot is not None
    yield _RULES["LIMIT015"].problem(
        Field("compute.keep_alive_s"),
        "spot machines cannot be kept warm" if spot else "machines cannot be kept warm for that long",
        got=f"{keep:,} s{' on spot' if spot else ''}",
        wanted="no keep_alive_s, or no spot" if spot else f"0 to {most:,} s",
        fix=Advice("leave keep_alive_s out") if spot else Change(keep_alive_s=most),
        evidence=MODEL if not spot else "SageMaker developer guide, train-warm-pools",
    )


def retries(job: JobSpec) -> Iterator[Problem]:
    """LIMIT016: 1 to 30 attempts."""
    if job.retries is not None and not 1 <= job.retries <= limits.maximum("MaximumRetryAttempts"):
        yield _illegal(
_RULES["LIMIT016"], "retries", "not a number of attempts", str(job.retries),
            f"1 to {limits.maximum('MaximumRetryAttempts')}, or nothing", "leave retries out",
        )  # fmt: skip


def numbers(job: JobSpec) -> Iterator[Problem]:
    """LIMIT017: not a number, infinity and objects of Python have no JSON; the SDK sends some of them all the same."""
    for name, value in job.hyperparameters.items():
        object_of_python = not isinstance(value, (str, int, float, Mapping, list, tuple))
        if object_of_python or (isinstance(value, float) and not math.isfinite(value)):
            yield _illegal(
_RULES["LIMIT017"], f"hyperparameters.{name}", "not a value that JSON can carry", repr(value)[:60], "a text or a finite number",
                "leave it out",
            )  # fmt: skip


def own_image(job: JobSpec) -> Iterator[Problem]:
    """LIMIT018: an image's URI has at most 255 characters and no spaces."""
    uri = job.image_uri
    if uri is not None and (not limits.matches("AlgorithmImage", uri) or not uri or re.search(r"\s", uri)):
        yield _illegal(
_RULES["LIMIT018"], "image_uri", "not an image's URI", f"{uri[:60]!r}, {len(uri)} characters",
            f"account.dkr.ecr.region.amazonaws.com/repository:tag, at most {limits.maximum('AlgorithmImage')}",
            "leave image_uri out, or correct it",
        )  # fmt: skip


def groups(job: JobSpec) -> Iterator[Problem]:
    """LIMIT019: at most five groups, of different names, which the channels may name."""
    names = [group.name for group in job.compute.groups]
    most = limits.maximum("InstanceGroups")
    if len(names) > most:
        yield _illegal(
            _RULES["LIMIT019"],
            "compute.groups",
            "too many groups",
            str(len(names)),
            f"at most {most}",
            "merge some of them",
        )
    for index, name in enumerate(names):
        if name in names[:index] or not limits.matches("InstanceGroupName", name):
            yield _illegal(
_RULES["LIMIT019"], f"compute.groups[{index}].name", "every group needs a name of its own", repr(name),
                f"another name, at most {limits.maximum('InstanceGroupName')} characters", Change(name=f"{index + 1}-{name[:60]}"),
            )  # fmt: skip
    for group in job.compute.groups:
        if group.instance not in limits.members("TrainingInstanceType"):
            yield _illegal(
_RULES["LIMIT019"], f"compute.groups.{group.name}.instance", "SageMaker training has no such instance type", repr(group.instance),
                "a type of the API", "correct the name",
            )  # fmt: skip
    if names and job.compiled:
        yield _illegal(
_RULES["LIMIT019"], "compute.groups", "SageMaker Training Compiler takes no instance groups", f"{len(names)} groups",
            "one instance type", Change(compute=Compute("ml.p4d.24xlarge", count=job.compute.hosts)),
        )  # fmt: skip
    for channel, value in job.channels.items():
        strange = [name for name in value.groups if name not in names]
        if strange:
            yield _illegal(
_RULES["LIMIT019"], f"inputs.{channel}.groups", "the channel is for groups that the job does not have",
                ", ".join(map(repr, strange)), ", ".join(map(repr, names)) or "no groups", "correct the names, or leave groups out",
            )  # fmt: skip


def mixed_channels(job: JobSpec) -> Iterator[Problem]:
    """LIMIT019: either every channel names its groups, or none does."""
    assigned = [name for name, value in job.channels.items() if value.groups]
    others = [name for name in job.inputs if name not in assigned]
    if assigned and others:
        message = limits.MIXED_CHANNELS.format(assigned=", ".join(assigned), others=", ".join(others))
        yield _illegal(
            _RULES["LIMIT019"], f"inputs.{others[0]}", "AWS refuses channels of which some name groups", message,
            "groups of every channel, or of none", "name the groups of each channel",
        )  # fmt: skip


def reserved_path(job: JobSpec) -> Iterator[Problem]:
    """LIMIT023: TensorBoard's files cannot lie in folders that SageMaker uses itself."""
    path = job.extra_at("TensorBoardOutputConfig.LocalPath")
    if isinstance(path, str) and path.startswith(limits.RESERVED):
        yield _illegal(
            _RULES["LIMIT023"], "extra.TensorBoardOutputConfig.LocalPath", "AWS refuses the folder", f"{path!r}: {limits.RESERVED_PATH}",
            "a folder of its own, or none", Advice("LocalPath /tensorboard, or leave it out"),
        )  # fmt: skip


def sibling_prefixes(job: JobSpec) -> Iterator[Problem]:
    """DATA008: a prefix takes every key that begins so, also those of a folder whose name is longer."""
    places = {name: channel.uri for name, channel in job.channels.items()}
    places |= {"checkpoint": job.checkpoints.s3_uri if job.checkpoints else "", "output": job.output.s3_uri or ""}
    for name, channel in job.channels.items():
        if not channel.uri.startswith("s3://") or channel.uri.endswith("/") or channel.kind is not S3Kind.PREFIX:
            continue
        longer = re.compile(re.escape(channel.uri) + "[^/]")
        taken = [other for other, uri in places.items() if longer.match(uri)]
        if taken:
            yield _RULES["DATA008"].problem(
                Field(f"inputs.{name}"),
                f"the prefix also takes the objects of {', '.join(taken)}",
                got=f"{channel.uri!r} beside {places[taken[0]]!r}",
                wanted="a prefix that ends with a slash",
                fix=Change(uri=f"{channel.uri}/"),
            )


def tags(job: JobSpec) -> Iterator[Problem]:
    """LIMIT020: letters, digits, spaces and _.:/=+-@; names that start with aws: are AWS's own."""
    for key, value in job.tags.items():
        fits = 1 <= len(key) <= limits.maximum("TagKey") and len(value) <= limits.maximum("TagValue")
        legal = all(letter in _TAG or unicodedata.category(letter)[0] in "LNZ" for letter in key + value)
        if not fits or key.lower().startswith("aws:") or not legal:
            yield _illegal(
_RULES["LIMIT020"], f"tags.{key}", "not a legal tag", f"{key[:40]!r} = {value[:40]!r}",
                "letters, digits, spaces and _.:/=+-@, not starting with aws:; "
                f"at most {limits.maximum('TagKey')} and {limits.maximum('TagValue')} characters",
                "rename it, or leave it out",
            )  # fmt: skip


def network(job: JobSpec) -> Iterator[Problem]:
    """LIMIT021: 16 subnets and 5 security groups."""
    if job.network is None:
        return
    for name, shape, one in (
        ("subnets", "Subnets", "SubnetId"),
        ("security_groups", "VpcSecurityGroupIds", "SecurityGroupId"),
    ):
        subnets = getattr(job.network, name)
        wrong = [text for text in subnets if not text or not limits.matches(one, text)]
        if len(subnets) > limits.maximum(shape) or wrong:
            yield _illegal(
_RULES["LIMIT021"], f"network.{name}", f"not {name.replace('_', ' ')} of a VPC", wrong[0] if wrong else str(len(subnets)),
                f"at most {limits.maximum(shape)} ids of letters, digits and hyphens", "correct the list",
            )  # fmt: skip


def modes(job: JobSpec) -> Iterator[Problem]:
    """LIMIT024: an augmented manifest is streamed as RecordIO, and cannot be a fast file."""
    for name, channel in job.channels.items():
        if channel.kind is not S3Kind.AUGMENTED_MANIFEST:
            continue
        if channel.mode is InputMode.FAST_FILE or channel.record_wrapping != "RecordIO":
            yield _illegal(
_RULES["LIMIT024"], f"inputs.{name}", "an augmented manifest comes through a pipe, as RecordIO",
                f"{channel.mode.value if channel.mode else 'File'}, {channel.record_wrapping or 'no wrapping'}",
                "Pipe and RecordIO", Change(mode=InputMode.PIPE, record_wrapping="RecordIO"),
            )  # fmt: skip


def no_way_out(job: JobSpec) -> Iterator[Problem]:
    """LIMIT025: a container without network reaches no model hub."""
    if job.network is None or not job.network.isolation:
        return
    model = next((name for name in reading.models(job) if not name.startswith(("/", ".", "tiny-"))), "")
    if model:
        yield _RULES["LIMIT025"].problem(
            Field("network.isolation"),
            "a container without network cannot download a model",
            got=repr(model),
            wanted="a model in a channel",
            fix=Change(
                "and name the folder /opt/ml/input/data/model", inputs={**job.inputs, "model": "s3://your-bucket/model"}
            ),
        )


def gated_model(job: JobSpec) -> Iterator[Problem]:
    """DATA004: a gated model is downloaded with a token only; without one the job ends after its machines have started."""
    model = next((name for name in reading.models(job) if name.startswith(GATED)), "")
    given = [name for name in (*job.variables, *job.arguments) if _TOKEN.search(name)]
    if not model or given or Path(model).exists() or (job.network is not None and job.network.isolation):
        return
    words = reading.words(job)
    if words is not None and words.any_of(*FETCHES_TOKEN):
        return
    yield _RULES["DATA004"].problem(
        Field("environment.HF_TOKEN"),
        f"the Hugging Face hub gives {model} to those only who show a token",
        severity=Severity.INFO if source.elsewhere(job) else Severity.WARNING,
        got="no HF_TOKEN" + (", and the source is not on this machine" if source.elsewhere(job) else ""),
        wanted="a token, or the model in a channel",
        fix=Advice(
            "put the model into a channel and name its folder in /opt/ml/input/data, or let the script read HF_TOKEN from Secrets Manager"
        ),
    )


def keys(job: JobSpec) -> Iterator[Problem]:
    """LIMIT022: a KMS key is an id, an alias or an ARN, and of a volume only where the machine has one."""
    local = [row.name for row in find_instances(job.compute.instances) if row.nvme]
    for where, key in (("compute.volume_kms_key", job.compute.volume_kms_key), ("output.kms_key", job.output.kms_key)):
        if key is not None and (not key or not limits.matches("KmsKeyId", key)):
            yield _illegal(
                _RULES["LIMIT022"], where, "not a KMS key", repr(key), "a key id, alias or ARN", "alias/your-key"
            )
        elif key is not None and local and where != "output.kms_key":
            yield _illegal(
                _RULES["LIMIT022"], where, "AWS refuses a key for local disks, which encrypt themselves",
                limits.LOCAL_DISKS.format(instance=local[0]), "no key", "leave it out; output.kms_key is another",
            )  # fmt: skip


def wording(job: JobSpec) -> Iterator[Problem]:
    """LIMIT023: names and words that the API knows or bounds: metrics, hyperparameters, compression, record wrapping."""
    bounded = [
        *(("MetricName", f"metrics[{index}].name", rule.name) for index, rule in enumerate(job.metrics)),
        *(("HyperParameterKey", f"hyperparameters.{name}", name) for name in job.hyperparameters),
        *(
            ("ContentType", f"inputs.{name}.content_type", value.content_type or "")
            for name, value in job.channels.items()
        ),
    ]
    for shape, where, text in bounded:
        if not limits.matches(shape, text):
            most = limits.maximum(shape)
            yield _illegal(
                _RULES["LIMIT023"],
                where,
                "not a legal name",
                repr(text[:40]),
                f"one line of at most {most} characters",
                "shorten it",
            )
    for name, channel in job.channels.items():
        for field, shape in (("compression", "CompressionType"), ("record_wrapping", "RecordWrapper")):
            word = getattr(channel, field)
            if word is not None and word not in limits.members(shape):
                yield _illegal(
_RULES["LIMIT023"], f"inputs.{name}.{field}", f"no such {field.replace('_', ' ')}", repr(word),
                    " or ".join(map(repr, limits.members(shape))), f"leave {field} out",
                )  # fmt: skip


def places(job: JobSpec) -> Iterator[Problem]:
    """DATA002: outputs, checkpoints and caches are kept in S3."""
    cache = job.neuron.cache_s3_uri if job.neuron else None
    checkpoint = job.checkpoint.s3_uri if job.checkpoint else None
    for where, uri in (
        ("output.s3_uri", job.output.s3_uri),
        ("checkpoint.s3_uri", checkpoint),
        ("neuron.cache_s3_uri", cache),
    ):
        if uri is not None and not (limits.matches("S3Uri", uri) and bucket_and_key(uri)):
            yield _illegal(
                _RULES["DATA002"],
                where,
                "not a place in S3",
                repr(uri),
                "s3://bucket/prefix",
                "s3://your-bucket/prefix",
            )


def secrets(job: JobSpec) -> Iterator[Problem]:
    """DATA003: environment and hyperparameters are shown, in clear, to everyone who may describe the job."""
    given = [
        (f"{part}.{name}", name, value)
        for part in ("environment", "hyperparameters")
        for name, value in getattr(job, part).items()
    ]
    for where, name, value in given:
        if isinstance(value, str) and (is_named_secret(name, value) or holds_secret(value)):
            yield _RULES["DATA003"].problem(
                Field(where),
                f"{name} would be readable by everyone who may describe the job",
                got=f"{len(value)} characters in the request",
                wanted="the name of a secret, which the script fetches",
                fix=Advice("keep it in Secrets Manager and let the job's role read it"),
            )


def placeholders(job: JobSpec) -> Iterator[Problem]:
    """DATA006: a word that stands for what is not known is no place, and no value."""
    for name in JobSpec.__dataclass_fields__:
        for where, value in _texts(getattr(job, name), name) if name != "kept" else ():
            if match := PLACEHOLDER.search(value):
                yield _RULES["DATA006"].problem(
                    Field(where),
                    f"{match[0]} is a placeholder",
                    got=repr(value),
                    wanted="your own value",
                    fix=Advice("fill it in"),
                )


def _texts(value: object, where: str) -> Iterator[tuple[str, str]]:
    """Every text in a part of a spec, and where it is."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, tuple):
        for inner in value:
            yield from _texts(inner, where)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, f"{where}.{name}")
    else:
        for name in getattr(value, "__dataclass_fields__", ()):
            yield from _texts(getattr(value, name), f"{where}.{name}")


def _illegal(rule: Rule, where: str, what: str, got: str, wanted: str, fix: str | Change) -> Problem:  # noqa: PLR0917 - a Problem's own parts
    advice = fix if isinstance(fix, Change) else Advice(fix)
    return rule.problem(Field(where), what, got=got, wanted=wanted, fix=advice)


RULES = (
    warm_pool,
    retries,
    numbers,
    own_image,
    groups,
    mixed_channels,
    reserved_path,
    sibling_prefixes,
    tags,
    network,
    modes,
    no_way_out,
    gated_model,
    keys,
    wording,
    places,
    secrets,
    placeholders,
)
