"""Which files are the source: what is left behind, what is brought back, and which names look like secrets."""

from __future__ import annotations

from pathlib import Path

import jobs
import pytest

import sm_trn as st
from sm_trn.core.aws import pack
from sm_trn.core.errors import NotConfigured
from sm_trn.core.preflight.packing import SOURCE_FILES, packed_files, packing
from sm_trn.core.specs import Severity


def folder(place: Path, *names: str, ignore: str = "") -> Path:
    for name in ("run_clm.py", *names):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("print('checkpoint')\n")
    if ignore:
        (place / ".sm_trn_ignore").write_text(ignore)
    return place


def packed(place: Path) -> list[str]:
    return list(packing(place))


def secrets(place: Path) -> list[str]:
    return [name for name, file in packing(place).items() if file.secret]


def test_the_ignore_file_speaks_gitignore(tmp_path: Path) -> None:
    names = ("data/a.csv", "deep/data/b.csv", "notes.md", "keep.md", "model.bin", "deep/model.bin", "a/b/c.txt")
    place = folder(tmp_path, *names, ignore="# large\n/data/\n*.md\n!keep.md\nmodel.bin\na/**/c.txt\n")
    assert ["deep/data/b.csv", "keep.md", "run_clm.py"] == packed(place)


def test_what_is_usually_left_out_can_be_brought_back(tmp_path: Path) -> None:
    assert ["run_clm.py"] == packed(folder(tmp_path / "one", "venv/a.py"))
    assert ["run_clm.py", "venv/a.py"] == packed(folder(tmp_path / "two", "venv/a.py", ignore="!venv\n"))


@pytest.mark.parametrize(
    "name",
    [
        ".env", ".env.production", "prod.pem", "server.key", "id_rsa", "id_ed25519", ".netrc", "credentials", ".aws/config",
        "deep/.ssh/known_hosts", "service_account-1.json", "KEYS.PEM", ".npmrc", ".docker/config.json",
    ],
)  # fmt: skip
def test_a_secret_is_known_by_its_name(tmp_path: Path, name: str) -> None:
    assert [name] == secrets(folder(tmp_path, name))
    with pytest.raises(NotConfigured, match="look like keys or passwords"):
        pack(tmp_path)


@pytest.mark.parametrize(
    "name", [".env.example", "keys.py", "monkey.txt", "id_rsa.pub", "environment.yml", "credentials.py", "ca.crt"]
)
def test_what_only_sounds_like_one_is_none(tmp_path: Path, name: str) -> None:
    assert [] == secrets(folder(tmp_path, name))


def pem(*labels: str) -> str:
    return "".join(f"-----BEGIN {label}-----\nMIIB\n-----END {label}-----\n" for label in labels)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (pem("CERTIFICATE", "CERTIFICATE"), False),
        ("# Issuer: a public authority\n" + pem("TRUSTED CERTIFICATE"), False),
        (pem("PUBLIC KEY"), False),
        (pem("DH PARAMETERS"), False),
        (pem("CERTIFICATE", "RSA PRIVATE KEY"), True),
        (pem("ENCRYPTED PRIVATE KEY"), True),
        (pem("OPENSSH PRIVATE KEY"), True),
        ("hunter2", True),
        ("", True),
        (pem("CERTIFICATE") + " " * 4_000_000 + pem("PRIVATE KEY"), True),
    ],
)
def test_a_pem_file_of_public_certificates_is_no_secret(tmp_path: Path, text: str, secret: bool) -> None:
    place = folder(tmp_path, "bundle.pem")
    (place / "bundle.pem").write_text(text)
    assert (["bundle.pem"] if secret else []) == secrets(place)


def test_leaving_a_secret_out_is_enough(tmp_path: Path) -> None:
    assert [] == secrets(folder(tmp_path, ".env", ignore=".env\n"))


def test_only_the_file_that_is_named_is_meant(tmp_path: Path) -> None:
    place = folder(tmp_path, "test.key", "real.key", ignore="!/test.key\n")
    assert ["real.key"] == secrets(place)
    assert ["real.key", "run_clm.py", "test.key"] == packed(place)


def test_the_rule_says_it_offline_with_the_line_to_type(tmp_path: Path) -> None:
    job = jobs.trainium(str(folder(tmp_path, ".env", "a.pem", "b.pem", "c.pem")))
    (problem,) = [problem for problem in st.check(job) if problem.id == "SCRIPT011"]
    assert (Severity.ERROR, "'.env', 'a.pem', 'b.pem' and 1 more") == (problem.severity, problem.got)
    assert "with the line /.env in .sm_trn_ignore" in problem.fix


def test_the_folder_above_is_no_dependency_and_is_not_looked_through(tmp_path: Path) -> None:
    place = folder(tmp_path / "code")
    folder(tmp_path, ".env")
    alone = packed_files(place, ())
    for above in ("..", f"{place}/.."):
        assert alone == packed_files(place, (above,))
        found = st.check(
            jobs.trainium(str(place)).replace(
                script=st.Script("run_clm.py", source_dir=str(place), dependencies=(above,))
            )
        )
        assert ["SCRIPT012"] == [
            problem.id for problem in found if problem.id.startswith("SCRIPT") and problem.id != "SCRIPT015"
        ]


def test_a_folder_of_more_than_code_is_said_and_not_uploaded(tmp_path: Path) -> None:
    for number in range(SOURCE_FILES):
        (tmp_path / f"{number}.txt").touch()
    job = jobs.trainium(str(tmp_path))
    assert not [problem for problem in st.check(job) if problem.id == "SCRIPT013"]
    folder(tmp_path)
    (problem,) = [problem for problem in st.check(job) if problem.id == "SCRIPT013"]
    assert (Severity.WARNING, "more than 20,000 files") == (problem.severity, problem.got)
    with pytest.raises(NotConfigured, match=r"more than 20,000 files .* wanted a folder of code"):
        pack(tmp_path)
    (tmp_path / ".sm_trn_ignore").write_text("*.txt\n")
    assert not [problem for problem in st.check(job) if problem.id == "SCRIPT013"]
    assert pack(tmp_path)
