"""Sources are packed by content alone, and go up once."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.aws.storage import pack
from sm_trn.core.errors import NotConfigured
from sm_trn.core.preflight.packing import packing

NAMES = some.from_regex(r"[a-z]{1,6}(/[a-z]{1,6})?\.py", fullmatch=True)


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return folder


LIBRARIES = some.tuples(
    some.sampled_from(["shared", "b/", "b/shared", "./"]),
    some.dictionaries(NAMES, some.binary(max_size=20), min_size=1, max_size=3),
)


@pytest.mark.sdk
@given(
    files=some.dictionaries(NAMES, some.binary(max_size=20), min_size=1, max_size=4),
    libraries=some.lists(LIBRARIES, max_size=3),
    file=some.booleans(),
)
def test_a_container_finds_what_sdk_v2_packs(
    files: dict[str, bytes],
    libraries: list[tuple[str, dict[str, bytes]]],
    file: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """What is unpacked is the same: the last of two with one name."""
    fw_utils = pytest.importorskip("sagemaker.fw_utils", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    folder = tmp_path_factory.mktemp("packed")
    source = write(folder / "source", files)
    dependencies = []
    for number, (name, body) in enumerate(libraries):
        write(folder / str(number) / name, body)
        dependencies.append(str(folder / str(number) / name) + "/" * name.endswith("/"))
    if file:
        dependencies.append(str(write(folder, {"one.py": b"1"}) / "one.py"))
    sent = Sent()
    fw_utils.tar_and_upload_dir(None, "b", "k", next(iter(files)), str(source), dependencies, s3_resource=sent)
    assert sent.files == unpack(pack(source, dependencies))


class Sent:
    """Stands for boto3's S3 resource: ``files`` are those of the archive that is sent."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def Object(self, bucket: str, key: str) -> Sent:  # noqa: N802 - boto3's word
        del bucket, key
        return self

    def upload_file(self, path: str, ExtraArgs: object = None) -> None:  # noqa: N803 - boto3's word
        del ExtraArgs
        with tarfile.open(path) as tar:
            found = [(member.name.removeprefix("./"), tar.extractfile(member)) for member in tar if member.isfile()]
            self.files = {name: body.read() for name, body in found if body is not None}


@pytest.mark.parametrize("path", ["no-such", "src/.."])
def test_a_dependency_that_is_not_there_or_has_no_name_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(
        NotConfigured, match=r"dependencies: got .* wanted a file or a folder that is there, by its name"
    ):
        pack(write(tmp_path / "src", {"a.py": b""}), [f"{tmp_path}/{path}"])


def test_a_key_in_a_dependency_is_refused_by_its_name_in_the_container(tmp_path: Path) -> None:
    write(tmp_path, {"src/a.py": b"", "libs/shared/.env": b"TOKEN=1"})
    with pytest.raises(NotConfigured, match=r"got 'shared/\.env'"):
        pack(tmp_path / "src", [str(tmp_path / "libs/shared")])


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
    assert ["a.py"] == list(packing(tmp_path))


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
def test_a_large_file_goes_up_in_parts_and_only_once(emulator: object, tmp_path: Path) -> None:
    import sm_trn as st
    from sm_trn.core.aws.storage import IN_ONE_BYTES, S3Storage

    session = st.connect("emulator", state=emulator.state)  # type: ignore[attr-defined]  # an Endpoint
    (tmp_path / "data").mkdir()
    (tmp_path / "data/large.bin").write_bytes(os.urandom(1000) * (2 * IN_ONE_BYTES // 1000 + 1))
    (tmp_path / "data/small.bin").write_bytes(b"x")
    storage = S3Storage(session.boto_session, session.bucket)
    sent: list[str] = []
    storage._s3.meta.events.register("before-call.s3", lambda model, **_: sent.append(model.name))
    uri = storage.put_input(str(tmp_path / "data"))
    size = (tmp_path / "data/large.bin").stat().st_size
    assert 1 == sent.count("CreateMultipartUpload")
    assert uri == storage.put_input(str(tmp_path / "data"))
    assert (1, 1) == (sent.count("CreateMultipartUpload"), sent.count("PutObject"))
    found = storage.fetch_objects(uri)
    assert found is not None
    assert (2, size + 1) == (found.count, found.size_bytes)
