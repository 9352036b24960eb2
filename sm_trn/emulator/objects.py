"""S3's objects as jobs read and write them: moto keeps them, and what is new in its buckets is written to the state folder.

It is written when a job ends and when the emulator does, and read at the start. What a client puts after the last of these moments
is gone after a kill.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import stat
import threading
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from ..core.specs.data import bucket_and_key
from .errors import validation
from .options import EMULATED_ACCOUNT
from .state.store import Store

_BLOCK: Final = 2**20


class Objects:
    """Safe to share between threads. ``ready`` is set once moto has what the state folder has. Writing raises KeyError for a bucket
    that does not exist, OSError where the disk has no room."""

    def __init__(self, root: Path, store: Store) -> None:
        self.ready = threading.Event()
        self._root = root
        self._store = store
        self._lock = threading.RLock()
        self._buckets: dict[str, str] = {}
        self._saved: dict[tuple[str, str], tuple[Any, str]] = {}  # moto's object and our file of it
        root.mkdir(parents=True, exist_ok=True)

    @property
    def _moto(self) -> Any:
        from moto.s3.models import s3_backends  # noqa: PLC0415 - heavy, and its settings must stand in the environment first

        return s3_backends[EMULATED_ACCOUNT]["aws"]

    # --- what jobs read and write ---

    def create_bucket(self, name: str, region: str) -> None:
        if name not in self._moto.buckets:
            self._moto.create_bucket(name, region)

    def keys(self, bucket: str, prefix: str) -> list[str]:
        known = self._moto.buckets.get(bucket)
        return sorted(key for key in _keys(known) if key.startswith(prefix)) if known is not None else []

    def open(self, bucket: str, key: str) -> IO[bytes]:
        """Return the content of an object. Raises KeyError."""
        found = self.find(bucket, key)
        if found is None:
            raise KeyError(f"s3://{bucket}/{key} does not exist")
        buffer = found._value_buffer  # noqa: SLF001 - its value is a copy in memory
        return buffer.path.open("rb") if isinstance(buffer, _Content) else io.BytesIO(found.value)

    def put_file(self, bucket: str, key: str, source: Path | IO[bytes]) -> None:
        """Write an object from a file without holding it in memory; it is in the state folder when this returns.

        Raises OSError too for what is no plain file, be it a link, or became none since it was looked at.
        """
        if isinstance(source, Path):
            with open_plain(source) as content:
                self.put_file(bucket, key, content)
            return
        known = self._moto.buckets.get(bucket)
        if known is None:
            raise KeyError(bucket)
        file, digest = self._write(source)
        with self._lock:
            entry = self._make(bucket, key, file, {"etag": digest})
            known.keys.setlist(key, [*(known.keys.getlist(key, []) if known.is_versioned else ()), entry])
            self._save(bucket, key, entry, file)

    def delete(self, bucket: str, key: str) -> None:
        with self._lock:
            if self.find(bucket, key) is not None:
                self._moto.delete_object(bucket, key)
            self._forget(bucket, key)

    # --- the state folder ---

    def load(self) -> None:
        """Give moto the buckets and objects of the state folder; files that no row names go."""
        with self._lock:
            self._buckets = self._store.records("bucket")
            for name, region in self._buckets.items():
                self.create_bucket(name, region)
            named = set()
            for place, text in self._store.records("object").items():
                (bucket, _, key), document = place.partition("/"), json.loads(text)
                file = document["file"]
                if (self._root / file).exists():
                    entry = self._make(bucket, key, file, document)
                    self._moto.buckets[bucket].keys.setlist(key, [entry])
                    self._saved[bucket, key] = (entry, file)
                    named.add(file)
            for path in self._root.iterdir():
                if path.name not in named:
                    path.unlink()

    def save(self) -> None:
        """Write what is new in moto's buckets to the state folder, and drop what is gone from them."""
        with self._lock:
            buckets = {name: str(bucket.region_name) for name, bucket in dict(self._moto.buckets).items()}
            for name in buckets.keys() - self._buckets.keys():
                self._store.save("bucket", name, buckets[name])
            for bucket in buckets:
                for key in _keys(self._moto.buckets[bucket]):
                    entry = self.find(bucket, key)
                    if entry is not None and self._saved.get((bucket, key), (None, ""))[0] is not entry:
                        self._keep(bucket, key, entry)
            for bucket, key in list(self._saved):
                if bucket not in buckets or self.find(bucket, key) is None:
                    self._forget(bucket, key)
            for name in self._buckets.keys() - buckets.keys():
                self._store.drop("bucket", name)
            self._buckets = buckets

    def _keep(self, bucket: str, key: str, entry: Any) -> None:
        """Write an object of a client's, and let moto read it from the file from now on."""
        with entry.lock:
            entry._value_buffer.seek(0)  # noqa: SLF001 - moto offers no other way to read it in pieces
            file, _ = self._write(entry._value_buffer)  # noqa: SLF001
            entry._value_buffer = _Content(self._root / file)  # noqa: SLF001
        self._save(bucket, key, entry, file)

    def _save(self, bucket: str, key: str, entry: Any, file: str) -> None:
        document = {
            "file": file,
            "etag": entry.etag.strip('"'),
            "modified": entry.last_modified.isoformat(),
            "metadata": dict(entry.metadata),
            "storage": entry.storage_class,
            "tags": self._moto.tagger.get_tag_dict_for_resource(entry.arn),
        }
        self._store.save("object", f"{bucket}/{key}", json.dumps(document))
        _, old = self._saved.get((bucket, key), (None, ""))
        self._saved[bucket, key] = (entry, file)
        if old:
            (self._root / old).unlink(missing_ok=True)

    def _forget(self, bucket: str, key: str) -> None:
        _, file = self._saved.pop((bucket, key), (None, ""))
        if file:
            self._store.drop("object", f"{bucket}/{key}")
            (self._root / file).unlink(missing_ok=True)

    def _write(self, source: IO[bytes]) -> tuple[str, str]:
        """Write a new file, whole or not at all; its name and its MD5."""
        name, digest = secrets.token_hex(16), hashlib.md5(usedforsecurity=False)
        try:
            with (self._root / name).open("xb") as out:
                while block := source.read(_BLOCK):
                    digest.update(block)
                    out.write(block)
        except BaseException:
            (self._root / name).unlink(missing_ok=True)
            raise
        return name, digest.hexdigest()

    def _make(self, bucket: str, key: str, file: str, document: Mapping[str, Any]) -> Any:
        """Return an object of moto's whose content is a file of ours."""
        from moto.s3.models import FakeKey  # noqa: PLC0415 - as above

        entry = FakeKey(
            key, b"", EMULATED_ACCOUNT, self._moto.region_name, document.get("storage"), document["etag"],
            version_id="null", bucket_name=bucket,
        )  # fmt: skip
        entry._value_buffer = _Content(self._root / file)  # noqa: SLF001 - it would hold the content in memory
        entry.contentsize = (self._root / file).stat().st_size
        entry.set_metadata(dict(document.get("metadata", {})))
        if "modified" in document:
            entry.last_modified = datetime.fromisoformat(document["modified"])
        tags = [{"Key": name, "Value": value} for name, value in document.get("tags", {}).items()]
        if tags:
            self._moto.tagger.tag_resource(entry.arn, tags)
        return entry

    def find(self, bucket: str, key: str) -> Any:
        """Return moto's object; None where there is none, or a delete marker only."""
        known = self._moto.buckets.get(bucket)
        entry = known.keys.get(key) if known is not None else None
        return entry if hasattr(entry, "contentsize") else None


class _Content:
    """The content of an object, as moto reads it: from a file that is opened for each read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0

    def seek(self, at: int) -> None:
        self._at = at

    def read(self, size: int = -1) -> bytes:
        with self.path.open("rb") as content:
            content.seek(self._at)
            block = content.read(size)
        self._at += len(block)
        return block

    def close(self) -> None:
        """Do nothing: the file goes when the state folder has another one."""


def _keys(bucket: Any) -> list[str]:
    return list(dict.keys(bucket.keys))


def open_plain(path: Path) -> IO[bytes]:
    """Open a plain file that somebody else may exchange for a pipe at any moment. Raises OSError for anything else."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is no plain file")
    return os.fdopen(handle, "rb")


def parse_s3_uri(uri: str) -> tuple[str, str]:
    """Return bucket and key of a place in S3. Raises AwsError for any other form."""
    found = bucket_and_key(uri)
    if found is None:
        raise validation(f"got {uri!r}, wanted a URI of the form s3://bucket/key")
    return found
