"""The data of a job: channels, outputs, checkpoints, network."""

from __future__ import annotations

import enum
import re
from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

from .value import suggesting

_HOST = r"s3(?:[.-](?:dualstack\.)?[a-z0-9-]{1,40})?(?:\.[a-z0-9-]{1,40})?\.amazonaws\.com(?:\.cn)?"
_ADDRESS = re.compile(
    rf"https://(?:{_HOST}/(?P<path>[^/]{{3,63}})|(?P<host>[a-z0-9.-]{{3,63}}?)\.{_HOST})(?:/(?P<key>.*))?"
)


def bucket_and_key(uri: str) -> tuple[str, str] | None:
    """Bucket and key of a place in S3; None for anything else.

    SageMaker takes both spellings: the members ``S3Uri`` and ``S3OutputPath`` of botocore's model have the pattern
    ``(https|s3)://([^/]+)/?(.*)``, and AWS's older notebooks write the second one.

    >>> from sm_trn.core.specs.data import bucket_and_key
    >>> bucket_and_key("s3://my-bucket/models/bert")
    ('my-bucket', 'models/bert')
    >>> bucket_and_key("https://s3-us-west-2.amazonaws.com/my-bucket/models")
    ('my-bucket', 'models')
    >>> bucket_and_key("https://my-bucket.s3.eu-west-1.amazonaws.com/models")
    ('my-bucket', 'models')
    >>> bucket_and_key("https://example.com/my-bucket") is None
    True
    """
    if uri.startswith("s3://"):
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        return (bucket, key) if bucket else None
    match = _ADDRESS.fullmatch(uri)
    return (match["path"] or match["host"], match["key"] or "") if match else None


class InputMode(enum.Enum):
    """How a channel's objects reach the container.

    >>> st.specs.InputMode("FastFile")
    <InputMode.FAST_FILE: 'FastFile'>
    """

    FILE = "File"
    FAST_FILE = "FastFile"
    PIPE = "Pipe"


class Spread(enum.Enum):
    """Which host gets which objects: ``S3DataDistributionType``.

    >>> st.specs.Spread.SHARDED_BY_S3_KEY.value
    'ShardedByS3Key'
    """

    FULLY_REPLICATED = "FullyReplicated"
    SHARDED_BY_S3_KEY = "ShardedByS3Key"


class S3Kind(enum.Enum):
    """The kind of object that a channel's URI names: ``S3DataType``.

    >>> st.specs.S3Kind.MANIFEST.value
    'ManifestFile'
    """

    PREFIX = "S3Prefix"
    MANIFEST = "ManifestFile"
    AUGMENTED_MANIFEST = "AugmentedManifestFile"
    CONVERSE = "Converse"


@suggesting
@dataclass(frozen=True, slots=True)
class Channel:
    """An input with more to say than its URI. ``uri`` is in S3, or a local file or folder that submit uploads.

    ``attribute_names`` are those of an augmented manifest that are read. ``shuffle_seed`` shuffles the objects.
    ``accept_eula`` and ``hub_content_arn`` are for models of a hub.

    >>> st.Channel("s3://bucket/data", mode=st.specs.InputMode.FAST_FILE).mode
    <InputMode.FAST_FILE: 'FastFile'>
    """

    uri: str
    _: KW_ONLY
    mode: InputMode | None = None
    spread: Spread = Spread.FULLY_REPLICATED
    kind: S3Kind = S3Kind.PREFIX
    content_type: str | None = None
    compression: str | None = None
    record_wrapping: str | None = None
    groups: tuple[str, ...] = ()
    shuffle_seed: int | None = None
    attribute_names: tuple[str, ...] = ()
    accept_eula: bool = False
    hub_content_arn: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "attribute_names", tuple(self.attribute_names))


class FileSystemKind(enum.Enum):
    """The kind of file system that a channel mounts: ``FileSystemType``.

    >>> st.specs.FileSystemKind("FSxLustre")
    <FileSystemKind.FSX_LUSTRE: 'FSxLustre'>
    """

    EFS = "EFS"
    FSX_LUSTRE = "FSxLustre"


@suggesting
@dataclass(frozen=True, slots=True)
class FileSystem:
    """An input that is a folder of a file system, mounted and not copied. The job needs a network that reaches it.

    >>> st.FileSystem("fs-0123456789abcdef0", st.specs.FileSystemKind.EFS, directory="/squad").writable
    False
    """

    file_system_id: str
    kind: FileSystemKind
    _: KW_ONLY
    directory: str
    writable: bool = False
    content_type: str | None = None


@suggesting
@dataclass(frozen=True, slots=True)
class Dataset:
    """An input that is a dataset of a SageMaker hub: ``DatasetSource``.

    >>> st.specs.Dataset("arn:aws:sagemaker:us-east-1:123456789012:hub-content/a-hub/DataSet/squad/1.0.0").content_type is None
    True
    """

    dataset_arn: str
    _: KW_ONLY
    content_type: str | None = None


Source: TypeAlias = Channel | FileSystem | Dataset


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where the model goes. ``s3_uri`` None is the session's bucket; ``compress`` False leaves the files as they are.

    >>> st.Output(s3_uri="s3://bucket/models", compress=False).compress
    False
    """

    s3_uri: str | None = None
    kms_key: str | None = None
    compress: bool = True


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Files under ``local_path`` (``/opt/ml/checkpoints`` when None) are kept in ``s3_uri`` and restored at the next start.

    >>> st.Checkpoint(s3_uri="s3://bucket/checkpoints/bert").local_path is None
    True
    """

    s3_uri: str
    local_path: str | None = None


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """VPC, isolation and encryption. ``isolation`` cuts the containers off: no hub, no S3 but the channels.

    >>> st.Network(subnets=("subnet-1",), security_groups=("sg-1",)).isolation
    False
    """

    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    isolation: bool = False
    encrypt_traffic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "subnets", tuple(self.subnets))
        object.__setattr__(self, "security_groups", tuple(self.security_groups))
        if bool(self.subnets) != bool(self.security_groups):
            raise ValueError(
                f"network: got {len(self.subnets)} subnets and {len(self.security_groups)} security groups, wanted both or neither"
            )
