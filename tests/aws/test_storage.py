"""Sources are packed by content alone, and go up once."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.aws.storage import pack
from sm_trn.errors import NotConfigured
from sm_trn.preflight.packing import packing

NAMES = some.from_regex(r"[a-z]{1,6}(/[a-z]{1,6})?\.py", fullmatch=True)


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return folder


def unpack(body: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]  # files only


@given(files=some.dictionaries(NAMES, some.binary(max_size=50), min_size=1, max_size=6))
def test_a_source_comes_back_and_its_bytes_depend_on_content_alone(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    one, two = (
        write(tmp_path_factory.mktemp("source"), dict(order)) for order in (files.items(), reversed(files.items()))
    )
    for path in two.rglob("*"):
        os.utime(path, (1, 1))
    assert files == unpack(pack(one))
    assert pack(one) == pack(two)


def test_one_byte_more_is_another_source(tmp_path: Path) -> None:
    before = pack(write(tmp_path, {"a.py": b"1"}))
    assert before != pack(write(tmp_path, {"a.py": b"12"}))


def test_caches_and_repositories_stay_here(tmp_path: Path) -> None:
    write(
        tmp_path, {"a.py": b"", "__pycache__/a.pyc": b"", ".git/config": b"", "b.pyc": b"", "pkg/__pycache__/c.py": b""}
    )
    assert ["a.py"] == [path.name for path in packing(tmp_path).files]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "home", {"secret": b"x"}) / "secret"
    source = write(tmp_path / "source", {"a.py": b""})
    (source / "innocent.txt").symlink_to(secret)
    assert {"a.py": b""} == unpack(pack(source))


def test_a_script_that_was_executable_stays_so(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": b"", "a.py": b""})
    (tmp_path / "run.sh").chmod(0o700)
    with tarfile.open(fileobj=io.BytesIO(pack(tmp_path))) as tar:
        assert {"run.sh": 0o755, "a.py": 0o644} == {member.name: member.mode for member in tar}


def test_data_in_the_source_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "data.bin").open("wb") as sparse:
        sparse.truncate(500_000_001)
    with pytest.raises(NotConfigured, match="move data to an input channel"):
        pack(tmp_path)


@pytest.mark.local
def test_a_large_file_goes_up_in_parts_that_are_counted_and_only_once(emulator: object, tmp_path: Path) -> None:
    import sm_trn as st
    from sm_trn.aws.storage import IN_ONE_BYTES, S3Storage

    session = st.connect("emulator", state=emulator.state)  # type: ignore[attr-defined]  # an Endpoint
    (tmp_path / "data").mkdir()
    (tmp_path / "data/large.bin").write_bytes(os.urandom(1000) * (2 * IN_ONE_BYTES // 1000 + 1))
    (tmp_path / "data/small.bin").write_bytes(b"x")
    told: list[tuple[str, int, int]] = []
    storage = S3Storage(session.boto_session, session.bucket, progress=lambda *seen: told.append(seen))
    uri = storage.put_input(str(tmp_path / "data"))
    size = (tmp_path / "data/large.bin").stat().st_size
    assert {("uploading large.bin", size)} == {(what, whole) for what, _, whole in told}
    assert size == told[-1][1]
    assert sorted(done for _, done, _ in told) == [done for _, done, _ in told]
    told.clear()
    assert uri == storage.put_input(str(tmp_path / "data"))
    assert [] == told
    found = storage.fetch_objects(uri)
    assert found is not None
    assert (2, size + 1) == (found.count, found.size_bytes)
