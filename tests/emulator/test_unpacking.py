"""Archives of other people: whatever they hold, nothing lands beside the folder, and nothing fills the disk."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from emulator.bench import packed

from sm_trn.emulator.container.archive import UnsafeArchive, unpack


def tar_of(*members: tarfile.TarInfo) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(bytes(member.size)) if member.isreg() else None)
    out.seek(0)
    return out


def member(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [("../x", tarfile.REGTYPE, ""), ("a/../../x", tarfile.REGTYPE, ""), ("/x", tarfile.REGTYPE, ""),
     ("x", tarfile.SYMTYPE, "../.."), ("x", tarfile.SYMTYPE, "/etc"), ("x", tarfile.LNKTYPE, "../y"),
     ("x", tarfile.FIFOTYPE, ""), ("x", tarfile.CHRTYPE, ""), (".", tarfile.REGTYPE, "")],
)  # fmt: skip
def test_an_archive_writes_nothing_beside_its_folder(tmp_path: Path, name: str, kind: bytes, link: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, link
        tar.addfile(member)
    (tmp_path / "in").mkdir()
    with pytest.raises(UnsafeArchive):
        unpack(io.BytesIO(out.getvalue()), tmp_path / "in")
    assert ["in"] == [path.name for path in tmp_path.iterdir()]


def test_a_link_planted_first_is_no_way_out(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, link in (("a", "b"), ("b", "..")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, link
            tar.addfile(member)
        tar.addfile(tarfile.TarInfo("a/x"))
    (tmp_path / "in").mkdir()
    with pytest.raises(UnsafeArchive):
        unpack(io.BytesIO(out.getvalue()), tmp_path / "in")
    assert ["in"] == [path.name for path in tmp_path.iterdir()]


def test_a_good_archive_is_unpacked_and_a_torn_one_is_not(tmp_path: Path) -> None:
    content = packed({"code/inference.py": "x = 1\n", "./weights": "2"})
    unpack(io.BytesIO(content), tmp_path)
    assert ("x = 1\n", "2") == ((tmp_path / "code/inference.py").read_text(), (tmp_path / "weights").read_text())
    with pytest.raises(UnsafeArchive):
        unpack(io.BytesIO(content[:-30]), tmp_path)


def test_an_archive_that_unpacks_to_more_than_there_is_room_for_is_refused_before_it_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnsafeArchive, match="at most 3,000,000 are taken"):
        unpack(tar_of(*[member(f"zeros-{n}", size=10**6) for n in range(9)]), tmp_path, largest=3 * 10**6)
    assert 3 == len(list(tmp_path.iterdir()))


def test_an_archive_of_too_many_members_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeArchive, match="more than 10 members"):
        unpack(tar_of(*[member(f"n{n}") for n in range(11)]), tmp_path, most=10)


def test_an_archive_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeArchive, match="folders deep"):
        unpack(tar_of(member("a/" * 1500 + "x")), tmp_path)


def test_a_size_below_nothing_makes_no_room(tmp_path: Path) -> None:
    sneaky = member("a")
    sneaky.size = -(2**40)
    out = io.BytesIO(sneaky.tobuf(format=tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(UnsafeArchive):
        unpack(out, tmp_path, largest=1000)


@pytest.mark.parametrize(
    "name",
    ["\u2024\u2024/x", "\uff0e\uff0e\uff0fx", "e\u0301/x", "\u202ex", "a\\..\\x", "con", "~/x", "a\nb", "\udcff"],
)
def test_a_name_that_only_looks_like_a_way_out_is_a_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    unpack(tar_of(member(name, size=3)), tmp_path / "in")
    assert ["in"] == [path.name for path in tmp_path.iterdir()]
    assert 1 == len([path for path in (tmp_path / "in").rglob("*") if path.is_file()])


def test_neither_rights_nor_owners_are_taken_from_an_archive(tmp_path: Path) -> None:
    info = member("program", size=1)
    info.mode, info.uid = 0o6777, 0
    unpack(tar_of(info), tmp_path)
    assert 0o100700 == (tmp_path / "program").stat().st_mode
