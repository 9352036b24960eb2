"""The unpacking of an archive that somebody else packed: nothing can land outside the folder, nor fill the disk."""

from __future__ import annotations

import errno
import os
import shutil
import tarfile
from pathlib import Path
from typing import IO, Final

from ...core.archives import Member

MEMBERS: Final = 200_000
DEPTH: Final = 64
LARGEST: Final = 100 * 2**30
_BLOCK = 2**20


class UnsafeArchive(Exception):  # noqa: N818 - named for what was found
    """The archive is damaged, or holds what must not be unpacked; the text names it."""


def unpack(source: IO[bytes], folder: Path, largest: int = LARGEST, most: int = MEMBERS) -> None:
    """Write the archive's folders, plain files and inward links below ``folder``: at most ``most`` members and
    ``largest`` bytes, nor more than half of the free disk. Raises UnsafeArchive.
    """
    room = shutil.disk_usage(folder).free // 2
    limit = min(largest, room)
    root = folder.resolve()
    written = 0
    try:
        with tarfile.open(fileobj=source, mode="r:*", tarinfo=Member) as tar:
            for number, member in enumerate(tar):
                if number >= most:
                    raise UnsafeArchive(f"more than {most:,} members")
                target = _target(member.name, root)
                written += max(0, member.size)
                if written > limit:
                    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if room < largest else None
                    raise UnsafeArchive(f"{written:,} bytes unpacked so far, at most {limit:,} are taken") from full
                _write(tar, member, target, root)
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise UnsafeArchive(f"not a readable .tar.gz: {error}") from error


def _target(name: str, root: Path) -> Path:
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise UnsafeArchive(f"member {name!r} leaves the folder")
    if len(parts) > DEPTH:
        raise UnsafeArchive(f"member {name[:40]!r}… is {len(parts)} folders deep, at most {DEPTH} are taken")
    target = root.joinpath(*[part for part in parts if part not in {"", "."}])
    if target == root:  # SageMaker SDK v2 packs the folder itself as a member without a name
        return root
    if not Path(os.path.realpath(target.parent)).is_relative_to(root):
        raise UnsafeArchive(f"member {name!r} goes through a link that leaves the folder")
    return target


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path, root: Path) -> None:
    if target == root and not member.isdir():
        raise UnsafeArchive(f"member {member.name!r} takes the folder's own place")
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.issym() or member.islnk():
        base = target.parent if member.issym() else root
        aim = Path(os.path.realpath(base / member.linkname))
        if member.linkname.startswith("/") or not aim.is_relative_to(root):
            raise UnsafeArchive(f"link {member.name!r} leads to {member.linkname!r}, out of the folder")
        target.unlink(missing_ok=True)
        if member.issym():
            target.symlink_to(member.linkname)
        else:
            target.hardlink_to(aim)
        return
    content = tar.extractfile(member) if member.isreg() else None
    if content is None:
        raise UnsafeArchive(f"member {member.name!r} is no plain file, folder or link")
    if target.is_symlink():
        target.unlink()
    with content, target.open("wb") as out:
        shutil.copyfileobj(content, out, _BLOCK)
    target.chmod(0o700 if member.mode & 0o100 else 0o600)
