"""Transfers between S3 and a host's folders. It reads plain files only, so a FIFO cannot hold it up."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import stat
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ..api.shapes import Body
from ..objects import Objects, open_plain, parse_s3_uri
from .layout import Where

_COMPRESSION = 3  # weights hardly shrink; the level is a matter of time only


class TransferError(Exception):
    """The service's FailureReason for data that cannot be moved."""


def download_channels(
    objects: Objects,
    hosts: Sequence[Where],
    channels: Sequence[tuple[Body, Collection[str], bool]],
    stopped: Callable[[], bool],
) -> None:
    """Fill /opt/ml/input/data: each channel on the hosts named beside it, read-only where that is said, whole or a shard each.
    Returns early when ``stopped``. Raises TransferError."""
    for channel, wanted, read_only in channels:
        source, gzipped = channel["DataSource"]["S3DataSource"], channel.get("CompressionType") == "Gzip"
        files = _files(objects, source)
        folders = [host.ml / "input/data" / channel["ChannelName"] for host in hosts if host.name in wanted]
        sharded = source.get("S3DataDistributionType") == "ShardedByS3Key"
        for index, folder in enumerate(folders):
            folder.mkdir(parents=True, exist_ok=True)
            for bucket, key, name in files[index :: len(folders)] if sharded else files:
                if stopped():
                    return
                _download(objects, bucket, key, folder / name, gzipped=gzipped)
            for path in [folder, *folder.rglob("*")] if read_only else ():
                path.chmod(path.stat().st_mode & ~0o222)


def _files(objects: Objects, source: Body) -> list[tuple[str, str, Path]]:
    """(bucket, key, name below the channel) of every object of a data source, in the order of their keys."""
    bucket, prefix = parse_s3_uri(source["S3Uri"])
    if source["S3DataType"] == "ManifestFile":
        return _listed(objects, bucket, prefix)
    keys = [key for key in objects.keys(bucket, prefix) if not key.endswith("/")]
    if not keys:
        raise TransferError(f'ClientError: Data download failed: no objects under "{source["S3Uri"]}"')
    return [(bucket, key, _relative(prefix, key)) for key in keys]


def _listed(objects: Objects, bucket: str, key: str) -> list[tuple[str, str, Path]]:
    """What a manifest names: ``[{"prefix": "s3://bucket/folder/"}, "a", "b", …]`` (the API reference of S3Uri)."""
    wrong = f"ClientError: Data download failed: s3://{bucket}/{key}: invalid manifest: "
    try:
        document = json.loads(objects.open(bucket, key).read())
    except (KeyError, OSError, ValueError, RecursionError) as error:
        raise TransferError(f"{wrong}{error}") from error
    first: Any
    names: list[Any]
    first, *names = document if isinstance(document, list) and document else [None]
    prefix = first.get("prefix") if isinstance(first, dict) else None
    if (
        not isinstance(prefix, str)
        or not prefix.startswith("s3://")
        or not all(isinstance(name, str) for name in names)
    ):
        raise TransferError(f'{wrong}wanted [{{"prefix": "s3://bucket/folder/"}}, "name", …]')
    if not names:
        raise TransferError(f"{wrong}it names no objects")
    owner, folder = parse_s3_uri(prefix)
    return [(owner, folder + name, _inside(name)) for name in names]


def download_folder(objects: Objects, uri: str, folder: Path) -> set[str]:
    """Copy everything under ``uri`` into ``folder``; the relative names."""
    bucket, prefix = parse_s3_uri(uri.rstrip("/") + "/")
    names = {key.removeprefix(prefix) for key in objects.keys(bucket, prefix) if not key.endswith("/")}
    for name in names:
        _download(objects, bucket, prefix + name, folder / _inside(name), gzipped=False)
    return names


def plain_files(root: Path) -> Iterator[tuple[str, Path]]:
    """(relative name, path) of every regular file below ``root``, links not followed."""
    for parent, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path.relative_to(root).as_posix(), path


def merged(roots: Sequence[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    """Yield the plain files of several hosts under one root. A name that two hosts wrote is kept once under ``<host>/`` too."""
    seen: set[str] = set()
    for host, root in roots:
        for name, path in plain_files(root):
            yield (f"{host}/{name}" if name in seen else name), path
            seen.add(name)


def archive(out: IO[bytes], roots: Sequence[tuple[str, Path]], note: Callable[[str], None]) -> None:
    """Write a .tar.gz of the folders' contents, merged. A name that two hosts wrote is kept once under ``<host>/`` too."""
    seen: set[str] = set()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=_COMPRESSION) as tar:
        for host, root in roots:
            for name, path in _members(root, note):
                if name not in seen or path.is_symlink() or not path.is_dir():
                    _add(tar, f"{host}/{name}" if name in seen else name, path)
                seen.add(name)


def check_volume(roots: Sequence[Path], volume_gb: int) -> None:
    """Raise TransferError for what would not fit on a host's volume: a file with holes can be longer than any disk."""
    for root in roots:
        length = sum(path.lstat().st_size for _, path in plain_files(root))
        if length > volume_gb * 2**30:
            raise TransferError(
                f"ClientError: Artifact upload failed: No space left on device: {length:,} bytes in {root.name}, on a "
                f"volume of {volume_gb} GB"
            )


def read_failure(folder: Path) -> str:
    """Return what the job wrote to /opt/ml/output/failure, its first 1024 characters; empty when it wrote nothing readable."""
    try:
        with open_plain(folder / "output/failure") as source:
            return source.read(8192).decode("utf-8", "replace")[:1024]
    except OSError:
        return ""


def _members(root: Path, note: Callable[[str], None]) -> Iterator[tuple[str, Path]]:
    real = root.resolve()
    for parent, folders, names in os.walk(root):
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(parent, name)
            relative, mode = path.relative_to(root).as_posix(), path.lstat().st_mode
            if stat.S_ISLNK(mode) and not _stays(path, real):
                note(f"{relative!r} is a link that leaves the folder: not uploaded")
            elif stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
                yield relative, path
            else:
                note(f"{relative!r} is no plain file: not uploaded")


def _stays(link: Path, root: Path) -> bool:
    target = link.readlink()
    if target.is_absolute():
        return False
    resolved = Path(os.path.normpath(link.parent.resolve() / target))
    try:
        return resolved.is_relative_to(root) and link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # it leads to itself
        return False


def _add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    member = tar.gettarinfo(str(path), arcname=name)
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    if not member.isreg():
        tar.addfile(member)
        return
    try:
        with path.open("rb") as source:
            tar.addfile(member, source)
    except PermissionError:
        path.chmod(0o600)
        with path.open("rb") as source:
            tar.addfile(member, source)


def _download(objects: Objects, bucket: str, key: str, target: Path, *, gzipped: bool) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with objects.open(bucket, key) as source:
            if gzipped and key.endswith(".gz"):
                with gzip.open(source, "rb") as packed, target.with_suffix("").open("wb") as out:
                    shutil.copyfileobj(packed, out)
            else:
                with target.open("wb") as out:
                    shutil.copyfileobj(source, out, 2**20)
    except (KeyError, OSError, EOFError, zlib.error) as error:
        raise TransferError(f"ClientError: Data download failed: s3://{bucket}/{key}: {_why(error)}") from error


def _why(error: Exception) -> str:
    if isinstance(error, KeyError):
        return "no such object"
    if isinstance(error, (FileExistsError, NotADirectoryError, IsADirectoryError)):
        return "another object's key is a folder of this one's, or this one's of another's: a disk cannot hold both"
    return str(error)


def _relative(prefix: str, key: str) -> Path:
    """The name a key gets below its channel: without the prefix where that is a folder, else without its last slash's part.

    ``Session.upload_data`` of SDK v2 names folders without a slash, and their files lie directly in the channel.
    """
    folder = prefix.rstrip("/") + "/"
    whole = folder if key.startswith(folder) else prefix.rpartition("/")[0]
    return _inside(key.removeprefix(whole).lstrip("/") or key.rpartition("/")[2])


def _inside(name: str) -> Path:
    parts = [part for part in name.split("/") if part not in {"", ".", ".."}]
    return Path(*parts) if parts else Path("_")
