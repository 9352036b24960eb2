"""Models and endpoints through boto3, and the look into a model archive that comes before.

Against AWS, or against anything that speaks its API. It must not decide what is deployed where.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os.path
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import boto3
from botocore.config import Config

from ..core.archives import Member
from ..core.aws.backend import CONFIG, make_client
from ..core.aws.errors import as_cloud_error, trouble, unanswered
from ..core.aws.storage import PREFIX
from ..core.errors import CloudError, LaunchUnknown
from ..core.ports import Answer, Artefact, EndpointSnapshot, Model
from ..core.specs.data import bucket_and_key
from ..core.specs.snapshot import parse_time

IN_MEMORY_BYTES = 16_000_000
VARIANT = "AllTraffic"
# A model may take 60 s: https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html
ANSWER_S = 80


class Boto3Hosting:
    """The ``Hosting`` port over a boto3 session. Its clients are made when they are first needed.

    Names are expected to be new and ours alone: what a repeated create finds there, an attempt whose answer was lost has made.
    """

    def __init__(self, session: boto3.Session, bucket: str) -> None:
        self._session = session
        self._bucket = bucket

    @cached_property
    def _sagemaker(self) -> Any:
        return make_client(self._session, "sagemaker")

    @cached_property
    def _runtime(self) -> Any:
        return self._session.client("sagemaker-runtime", config=CONFIG.merge(Config(read_timeout=ANSWER_S)))

    @cached_property
    def _s3(self) -> Any:
        return make_client(self._session, "s3")

    def look(self, uri: str, largest: int) -> Artefact | None:
        """Return the names in the archive; None when it is not there. One of more than ``largest`` bytes is not opened."""
        size = self._size(uri)
        if size is None or size > largest:
            return None if size is None else Artefact(uri=uri, size_bytes=size, names=("not looked at",), bad=())
        with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            self._download(uri, file)
            names, bad = [], []
            with _opened(file, uri) as tar:
                for member in tar:
                    name = member.name.removeprefix("./")
                    names.append(name)
                    if _bad(member):
                        bad.append(name)
        return Artefact(uri=uri, size_bytes=size, names=tuple(names), bad=tuple(bad))

    def with_code(self, uri: str, code: Mapping[str, bytes]) -> str:
        """The URI of the same archive with ``code`` below ``code/`` in place of what was there; uploaded once."""
        bucket, key = _split(uri)
        with as_cloud_error("HeadObject", uri):
            there = self._s3.head_object(Bucket=bucket, Key=key)
        digest = hashlib.sha256(repr((uri, there["ETag"], sorted(code.items()))).encode()).hexdigest()
        fresh = f"{PREFIX}/models/{digest}/model.tar.gz"
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
            self._download(uri, source)
            with _opened(source, uri) as tar, tarfile.open(fileobj=target, mode="w:gz", compresslevel=3) as out:
                for member in tar:
                    if not member.name.removeprefix("./").startswith("code/") and not _bad(member):
                        out.addfile(member, tar.extractfile(member) if member.isreg() else None)
                for name, content in sorted(code.items()):
                    entry = tarfile.TarInfo(f"code/{name}")
                    entry.size = len(content)
                    entry.mode = 0o644
                    out.addfile(entry, io.BytesIO(content))
            target.seek(0)
            with as_cloud_error("PutObject", f"s3://{self._bucket}/{fresh}"):
                self._s3.upload_fileobj(target, self._bucket, fresh)
        return f"s3://{self._bucket}/{fresh}"

    def create_model(self, name: str, role: str, model: Model, tags: Mapping[str, str]) -> None:
        container = {"Image": model.image, "ModelDataUrl": model.uri, "Environment": dict(model.environment)}
        self._create(
            "CreateModel",
            name,
            lambda: self._sagemaker.create_model(
                ModelName=name, ExecutionRoleArn=role, PrimaryContainer=container, Tags=_tags(tags)
            ),
        )

    def create_endpoint(self, name: str, instance: str, count: int, tags: Mapping[str, str]) -> None:
        variant = {"VariantName": VARIANT, "ModelName": name, "InstanceType": instance, "InitialInstanceCount": count}
        with self._or_nothing([name], config=name):
            self._create(
                "CreateEndpointConfig",
                name,
                lambda: self._sagemaker.create_endpoint_config(
                    EndpointConfigName=name, ProductionVariants=[variant], Tags=_tags(tags)
                ),
            )
            self._create(
                "CreateEndpoint",
                name,
                lambda: self._sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name, Tags=_tags(tags)),
                look=self.fetch_endpoint,
            )

    def fetch_endpoint(self, name: str, *, whole: bool = False) -> EndpointSnapshot:
        with as_cloud_error("DescribeEndpoint", name):
            snapshot = _endpoint(self._sagemaker.describe_endpoint(EndpointName=name))
        return self._with_machines(snapshot) if whole else snapshot

    def fetch_endpoints(self) -> Iterator[EndpointSnapshot]:
        """Each as a whole look knows it, newest first; without those that are being deleted, or are gone since the list."""
        with as_cloud_error("ListEndpoints", "all endpoints"):
            pages = self._sagemaker.get_paginator("list_endpoints").paginate()
            listed = [each for page in pages for each in page["Endpoints"]]
        for each in listed:
            if each["EndpointStatus"] != "Deleting":
                found = None
                with _if_there():
                    found = self.fetch_endpoint(str(each["EndpointName"]), whole=True)
                if found is not None:
                    yield found

    def delete_endpoint(self, name: str) -> None:
        config, models = self.fetch_endpoint(name).config, list[str]()
        with contextlib.suppress(CloudError):  # gone already; what is billed goes all the same
            models = [str(variant["ModelName"]) for variant in self._variants(config) if "ModelName" in variant]
        with as_cloud_error("DeleteEndpoint", name):
            self._sagemaker.delete_endpoint(EndpointName=name)
        self._delete_parts(models, config)

    def _with_machines(self, found: EndpointSnapshot) -> EndpointSnapshot:
        with as_cloud_error("ListTags", found.arn):
            pages = self._sagemaker.get_paginator("list_tags").paginate(ResourceArn=found.arn)
            found = replace(found, tags={tag["Key"]: tag["Value"] for page in pages for tag in page["Tags"]})
        variant: Mapping[str, Any] = {}
        with _if_there():
            variant = self._variants(found.config)[0]
        # A serverless one, or one of inference components, has no machines of its own.
        count = int(variant.get("InitialInstanceCount", 1))
        return replace(found, instance=str(variant.get("InstanceType", "")), count=count)

    def _variants(self, config: str) -> list[dict[str, Any]]:
        with as_cloud_error("DescribeEndpointConfig", config):
            answer = self._sagemaker.describe_endpoint_config(EndpointConfigName=config)
            return list(answer["ProductionVariants"])

    def _delete_parts(self, models: Iterable[str], config: str = "") -> None:
        """The models and the configuration of an endpoint that is gone, or never was; they cost nothing, but nobody needs
        them: one that cannot be deleted – another endpoint's, or gone already – is left."""
        for model in models:
            with contextlib.suppress(CloudError), as_cloud_error("DeleteModel", model):
                self._sagemaker.delete_model(ModelName=model)
        if config:
            with contextlib.suppress(CloudError), as_cloud_error("DeleteEndpointConfig", config):
                self._sagemaker.delete_endpoint_config(EndpointConfigName=config)

    @contextlib.contextmanager
    def _or_nothing(self, models: Iterable[str], config: str = "") -> Iterator[None]:
        """A create that is refused takes along what was made for it; one of which nobody knows may need it."""
        try:
            yield
        except LaunchUnknown:
            raise
        except CloudError:
            self._delete_parts(models, config)
            raise

    def invoke(self, name: str, body: bytes, content_type: str, accept: str) -> Answer:
        with as_cloud_error("InvokeEndpoint", name):
            answer = self._runtime.invoke_endpoint(
                EndpointName=name, Body=body, ContentType=content_type, Accept=accept
            )
            return Answer(body=answer["Body"].read(), content_type=answer["ContentType"])

    def _create(
        self, operation: str, name: str, send: Callable[[], object], *, look: Callable[[str], object] | None = None
    ) -> None:
        """``look`` says of what is billed whether it is there, when no answer has."""
        try:
            with as_cloud_error(operation, name):
                send()
        except CloudError as error:
            refused = trouble(error) is None  # the last attempt was; those before it may have got through
            if not unanswered(error):
                raise
            if refused and ("already exist" in str(error) or error.code == "ResourceInUse"):
                return
            if look is None:
                raise
            self._found(error, name, look, refused=refused)

    def _found(self, failure: CloudError, name: str, look: Callable[[str], object], *, refused: bool) -> None:
        """Nothing when it is there. Raises ``failure`` when it was refused in the end and is not, else LaunchUnknown."""
        try:
            look(name)
        except CloudError as error:
            if refused and "Could not find" in str(error):
                raise failure from failure.__cause__
            raise LaunchUnknown(
                f"{failure}; whether it was made could not be found out either",
                name=name,
                operation=failure.operation,
                code=failure.code,
            ) from error

    def _size(self, uri: str) -> int | None:
        bucket, key = _split(uri)
        try:
            with as_cloud_error("HeadObject", uri):
                return int(self._s3.head_object(Bucket=bucket, Key=key)["ContentLength"])
        except CloudError as error:
            if error.code in {"404", "NoSuchKey", "NoSuchBucket"}:
                return None
            raise

    def _download(self, uri: str, file: IO[bytes]) -> None:
        bucket, key = _split(uri)
        with as_cloud_error("GetObject", uri):
            self._s3.download_fileobj(bucket, key, file)
        file.seek(0)


@contextlib.contextmanager
def _if_there() -> Iterator[None]:
    """Passes over what was deleted since it was heard of."""
    try:
        yield
    except CloudError as error:
        if error.code != "ValidationException":
            raise


def _endpoint(answer: Mapping[str, Any]) -> EndpointSnapshot:
    return EndpointSnapshot(
        name=str(answer["EndpointName"]),
        arn=str(answer["EndpointArn"]),
        status=str(answer["EndpointStatus"]),
        config=str(answer.get("EndpointConfigName", "")),
        reason=str(answer.get("FailureReason", "")),
        created=parse_time(answer["CreationTime"]),
    )


def read_code(path: str) -> dict[str, bytes]:
    """A script, as inference.py, or a folder's files by relative name. Raises OSError."""
    root = Path(path)
    if root.is_file():
        return {"inference.py": root.read_bytes()}
    files = (file for file in sorted(root.rglob("*")) if file.is_file() and "__pycache__" not in file.parts)
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in files}


@contextmanager
def _opened(file: IO[bytes], uri: str) -> Iterator[tarfile.TarFile]:
    """The archive; what is wrong with it at its head or further on is one error."""
    try:
        with tarfile.open(fileobj=file, mode="r:gz", tarinfo=Member) as tar:
            yield tar
    except (tarfile.TarError, EOFError, OSError) as error:
        raise CloudError(f"{uri}: got no readable tar.gz ({error}), wanted a model", operation="GetObject") from error


def _bad(member: tarfile.TarInfo) -> bool:
    """A link out of the archive, a device, or a name that leaves the folder."""
    name = os.path.normpath(member.name)
    if name.startswith(("/", "..")):
        return True
    if member.issym() or member.islnk():
        base = os.path.dirname(name) if member.issym() else ""  # noqa: PTH120 - a name in an archive, no path of this machine
        aim = os.path.normpath(os.path.join(base, member.linkname))  # noqa: PTH118 - as above
        return member.linkname.startswith("/") or aim.startswith("..")
    return not (member.isreg() or member.isdir())


def _split(uri: str) -> tuple[str, str]:
    return bucket_and_key(uri) or (uri, "")


def _tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
