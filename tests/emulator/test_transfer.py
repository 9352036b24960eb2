"""Channels and archives: where a key's file lands, and what an archive may hold."""

from __future__ import annotations

import os
import socket
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from sm_trn.emulator.container import transfer
from sm_trn.emulator.container.inside.torchrun_here import rewritten


@pytest.mark.parametrize(
    ("prefix", "key", "name"),
    [
        ("data/train", "data/train/a.csv", "a.csv"),
        ("data/train/", "data/train/a.csv", "a.csv"),
        ("data/train/", "data/train/deep/a.csv", "deep/a.csv"),
        ("data/train.csv", "data/train.csv", "train.csv"),
        ("data/train", "data/train-2.csv", "train-2.csv"),
        ("", "a.csv", "a.csv"),
        ("data/", "data/../../etc/passwd", "etc/passwd"),
        ("data/", "data//etc/passwd", "etc/passwd"),
    ],
)
def test_a_key_lands_below_its_channel(prefix: str, key: str, name: str) -> None:
    assert Path(name) == transfer._relative(prefix, key)


def archived(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    notes: list[str] = []
    out = BytesIO()
    transfer.archive(out, [("algo-1", folder)], notes.append)
    with tarfile.open(fileobj=BytesIO(out.getvalue())) as tar:
        return {m.name: m.type for m in tar}, notes


def test_an_archive_skips_what_is_no_file_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "w.bin").write_bytes(b"1")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as channel:
        channel.bind(str(tmp_path / "s"))
        members, notes = archived(tmp_path)
    assert {"deep": tarfile.DIRTYPE, "deep/w.bin": tarfile.REGTYPE} == members
    assert 2 == len(notes)


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "deep/../../secret", "loop/../../secret", "link"])
def test_a_link_out_of_the_folder_is_not_archived(tmp_path: Path, target: str) -> None:
    root = tmp_path / "model"
    (root / "deep").mkdir(parents=True)
    (root / "loop").symlink_to("deep/..")
    (tmp_path / "secret").write_text("x")
    (root / "link").symlink_to(target)
    members, _ = archived(root)
    assert "link" not in members


def test_what_two_hosts_wrote_is_both_kept(tmp_path: Path) -> None:
    for host in ("algo-1", "algo-2"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "same.txt").write_text(host)
    out = BytesIO()
    transfer.archive(out, [(host, tmp_path / host) for host in ("algo-1", "algo-2")], lambda _note: None)
    with tarfile.open(fileobj=BytesIO(out.getvalue())) as tar:
        assert ["same.txt", "algo-2/same.txt"] == tar.getnames()


def test_a_failure_file_that_is_no_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    os.mkfifo(tmp_path / "output" / "failure")
    assert "" == transfer.read_failure(tmp_path)


@pytest.mark.parametrize(
    ("given_", "wanted"),
    [
        (
            "--nnodes 2 --nproc_per_node 1 --master_addr algo-1 --master_port 7777 --node_rank 0 train.py --master_port 9",
            "--nnodes 2 --nproc_per_node 1 --node_rank 0 --master_addr 127.0.0.1 --master_port 5 train.py --master_port 9",
        ),
        (
            "--nnodes 1 --nproc_per_node 2 train.py --epochs 3",
            "--nnodes 1 --nproc_per_node 2 --master_addr 127.0.0.1 --master_port 5 train.py --epochs 3",
        ),
        ("--master-port=7777 -m pkg.train x", "-m --master_addr 127.0.0.1 --master_port 5 pkg.train x"),
        ("--standalone train.py", "--standalone train.py"),
        ("--rdzv_backend c10d --rdzv_endpoint h:1 train.py", "--rdzv_backend c10d --rdzv_endpoint h:1 train.py"),
    ],
)
def test_torchrun_is_sent_to_the_jobs_own_port_and_nowhere_else(given_: str, wanted: str) -> None:
    assert wanted.split() == rewritten(given_.split(), "5")
