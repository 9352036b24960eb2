"""The mirror of /opt/ml/checkpoints in its S3 prefix while a job trains: changes are copied out, and deleted there is what is gone.

Copies in only at the start. A file is copied once it has stayed the same between two looks, and whatever its state at
``close``.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from ..container.transfer import download_folder, plain_files
from ..errors import AwsError
from ..objects import Objects, parse_s3_uri
from ..state.disk import no_room

_LOOK_S = 0.5
_Stamp = tuple[int, int, int]


class CheckpointSync:
    """``restore`` before the script starts, ``start`` with it, ``close`` when it has ended; that raises OSError where the disk has
    no room for what was left."""

    def __init__(
        self, objects: Objects, uri: str, folders: Sequence[tuple[str, Path]], note: Callable[[str], None]
    ) -> None:
        self._objects = objects
        self._uri = uri
        self._bucket, self._prefix = parse_s3_uri(uri.rstrip("/") + "/")
        self._folders = folders
        self._note = note
        self._sent: dict[str, dict[str, _Stamp]] = {host: {} for host, _ in folders}
        self._seen: dict[str, dict[str, _Stamp]] = {host: {} for host, _ in folders}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="checkpoints", daemon=True)

    def restore(self) -> None:
        for host, folder in self._folders:
            folder.mkdir(parents=True, exist_ok=True)
            download_folder(self._objects, self._uri, folder)
            self._sent[host] = dict(_stamps(folder))

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        self._look(final=True)

    def _loop(self) -> None:
        while not self._end.wait(_LOOK_S):
            with contextlib.suppress(OSError):  # no room: the next look tries again, and the last one is heard
                self._look(final=False)

    def _look(self, *, final: bool) -> None:
        for host, folder in self._folders:
            now, sent, seen = dict(_stamps(folder)), self._sent[host], self._seen[host]
            for name, stamp in now.items():
                if sent.get(name) != stamp and (final or seen.get(name) == stamp):
                    self._send(host, folder, name, stamp)
            for name in [name for name in sent if name not in now]:
                del sent[name]
                if not any(name in other for other in self._sent.values()):
                    self._objects.delete(self._bucket, self._prefix + name)
            self._seen[host] = now

    def _send(self, host: str, folder: Path, name: str, stamp: _Stamp) -> None:
        try:
            self._objects.put_file(self._bucket, self._prefix + name, folder / name)
        except KeyError:
            self._note(f"checkpoints: bucket {self._bucket!r} does not exist; nothing is kept")
        except AwsError as fault:
            self._note(f"checkpoints: {name!r} is not kept: {fault.message}")
        except OSError as error:
            if no_room(error):
                raise
            return  # gone again, or replaced: the next look sees it
        self._sent[host][name] = stamp


def _stamps(folder: Path) -> list[tuple[str, _Stamp]]:
    found = []
    for name, path in plain_files(folder):
        with contextlib.suppress(OSError):
            facts = path.lstat()
            found.append((name, (facts.st_mtime_ns, facts.st_size, facts.st_ino)))
    return found
