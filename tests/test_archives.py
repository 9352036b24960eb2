"""Foreign archives: large or endless headers are refused before they are read, wherever an archive is opened."""

from __future__ import annotations

import functools
import gzip
import io
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from sm_trn.bridge.jobs import unpack as unpack_source
from sm_trn.core.archives import Member
from sm_trn.core.errors import SmTrnError
from sm_trn.emulator.container.archive import UnsafeArchive, unpack

HUGE = 300_000_000


@functools.cache
def large(kind: bytes) -> bytes:
    """A header of 300 MB, in a few hundred KB."""
    info = tarfile.TarInfo("header")
    info.type, info.size = kind, HUGE
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as out:
        out.write(info.tobuf(tarfile.GNU_FORMAT))
        for _ in range(HUGE // 1_000_000):
            out.write(bytes(1_000_000))
        out.write(tarfile.TarInfo("x").tobuf() + bytes(1024))
    return packed.getvalue()


def endless() -> bytes:
    info = tarfile.TarInfo("header")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 2
    block = info.tobuf(tarfile.GNU_FORMAT) + b"x\0".ljust(512, b"\0")
    return gzip.compress(block * 5_000 + tarfile.TarInfo("x").tobuf() + bytes(1024))


def sparse() -> bytes:
    info = tarfile.TarInfo("x")
    info.type = tarfile.GNUTYPE_SPARSE
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def by_emulator(body: bytes, folder: Path) -> None:
    unpack(io.BytesIO(body), folder)


def by_name(body: bytes, folder: Path) -> None:
    del folder
    with tarfile.open(fileobj=io.BytesIO(body), mode="r:gz", tarinfo=Member) as tar:
        tar.getnames()


HARMFUL: dict[str, Callable[[], bytes]] = {
    "long name": functools.partial(large, tarfile.GNUTYPE_LONGNAME),
    "long link": functools.partial(large, tarfile.GNUTYPE_LONGLINK),
    "pax": functools.partial(large, tarfile.XHDTYPE),
    "global pax": functools.partial(large, tarfile.XGLTYPE),
    "endless": endless,
    "sparse": sparse,
}


@pytest.mark.parametrize("kind", HARMFUL)
@pytest.mark.parametrize("read", [by_emulator, by_name])
def test_what_stands_before_a_member_is_bounded(kind: str, read: Callable[[bytes, Path], None], tmp_path: Path) -> None:
    harmful = HARMFUL[kind]()
    tracemalloc.start()
    try:
        with pytest.raises((UnsafeArchive, tarfile.ReadError)):
            read(harmful, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_a_recorded_source_with_such_a_header_is_named(tmp_path: Path) -> None:
    with pytest.raises(SmTrnError, match="source: got an archive that cannot be unpacked"):
        unpack_source(HARMFUL["pax"](), tmp_path)


def test_long_names_and_pax_headers_of_usual_size_are_read(tmp_path: Path) -> None:
    for number, form in enumerate((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", format=form) as tar:
            info = tarfile.TarInfo("folder/" * 20 + "é" * 60)
            info.size, info.pax_headers = 3, {"comment": "x" * 1000}
            tar.addfile(info, io.BytesIO(b"abc"))
        folder = tmp_path / str(number)
        folder.mkdir()
        by_emulator(packed.getvalue(), folder)
        assert [b"abc"] == [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
