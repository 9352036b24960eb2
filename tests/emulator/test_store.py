"""The state's file: opened from any earlier version, refused from a later one, never half changed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

import pytest

from sm_trn.core.errors import EmulatorError
from sm_trn.emulator.s3.object_store import ObjectStore
from sm_trn.emulator.state import schema
from sm_trn.emulator.state.quota import Quota
from sm_trn.emulator.state.resources import Resources
from sm_trn.emulator.state.store import Store, StoredObject
from sm_trn.emulator.training.jobs import Jobs

# As it was written before versions were numbered.
FIRST = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE jobs (name TEXT PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE objects (bucket TEXT, key TEXT, file TEXT NOT NULL, headers TEXT NOT NULL, PRIMARY KEY (bucket, key));
CREATE TABLE buckets (name TEXT PRIMARY KEY, region TEXT NOT NULL);
INSERT INTO settings VALUES ('port', '1234');
INSERT INTO jobs VALUES ('old', '{"name": "old"}');
INSERT INTO buckets VALUES ('b', 'us-west-2');
INSERT INTO objects VALUES ('b', 'deep/a.txt', 'b/deep/a.txt', '{"content-type": "text/plain"}');
INSERT INTO objects VALUES ('b', 'lost', 'b/lost', '{}');
"""


def first_version(folder: Path) -> Path:
    with sqlite3.connect(folder / "emulator.db") as db:
        db.executescript(FIRST)
    db.close()
    (folder / "s3/b/deep").mkdir(parents=True)
    (folder / "s3/b/deep/a.txt").write_bytes(b"kept")
    return folder / "emulator.db"


def test_a_store_of_the_first_version_is_taken_over_whole(tmp_path: Path) -> None:
    store = Store(first_version(tmp_path))
    assert ("1234", ['{"name": "old"}'], [("b", "us-west-2")]) == (store.setting("port"), store.jobs(), store.buckets())
    objects = ObjectStore(tmp_path / "s3", store, Quota(tmp_path, 1))
    assert ["deep/a.txt"] == objects.keys("b", "")
    entry, content = objects.open("b", "deep/a.txt")
    with content:
        assert b"kept" == content.read()
    assert (hashlib.md5(b"kept").hexdigest(), 4, {"content-type": "text/plain"}) == (
        entry.etag,
        entry.size,
        entry.headers,
    )
    store.close()
    assert schema.VERSION == sqlite3.connect(tmp_path / "emulator.db").execute("PRAGMA user_version").fetchone()[0]


def test_taking_over_twice_changes_nothing(tmp_path: Path) -> None:
    file = first_version(tmp_path)
    Store(file).close()
    store = Store(file)
    assert ["deep/a.txt"] == [entry.key for entry in store.objects_from("b", "", 10)]
    store.close()


def test_a_store_of_a_later_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "emulator.db"
    Store(file).close()
    with sqlite3.connect(file) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    db.close()
    with pytest.raises(
        EmulatorError, match=f"newer sm_trn: got schema {schema.VERSION + 1}, wanted at most {schema.VERSION}"
    ):
        Store(file)
    assert schema.VERSION + 1 == sqlite3.connect(file).execute("PRAGMA user_version").fetchone()[0]


def test_a_damaged_store_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "emulator.db"
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(EmulatorError, match=r"damaged: .*sm-trn local reset"):
        Store(file)


def test_a_step_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    file = first_version(tmp_path)
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE uploads (in_the_way TEXT)")
    db.close()
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        Store(file)
    columns = [row[1] for row in sqlite3.connect(file).execute("PRAGMA table_info(objects)")]
    assert ["bucket", "key", "file", "headers"] == columns


def test_a_row_whose_file_is_not_whole_is_dropped_at_the_start_and_a_file_without_a_row_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "emulator.db")
    objects = ObjectStore(tmp_path / "s3", store, Quota(tmp_path, 1))
    objects.create_bucket("b", "us-west-2")
    for key in ("whole", "short", "gone"):
        objects.put("b", key, b"0123456789")
    objects.path("b", "short").write_bytes(b"01234")
    objects.path("b", "gone").unlink()
    (tmp_path / "s3/00").mkdir(exist_ok=True)
    (tmp_path / "s3/00/nobodys").write_bytes(b"x")
    again = ObjectStore(tmp_path / "s3", store, Quota(tmp_path, 1))
    assert ["whole"] == again.keys("b", "")
    assert [again.path("b", "whole")] == [path for path in (tmp_path / "s3").rglob("*") if path.is_file()]
    assert "2 object(s) lost their content" in capsys.readouterr().err
    store.close()


def test_a_change_of_several_rows_is_made_as_one(tmp_path: Path) -> None:
    store = Store(tmp_path / "emulator.db")
    entry = StoredObject(key="k", file="f", headers={}, size=1, etag="e", modified=0.0)
    store.save_object("b", entry)
    with pytest.raises(sqlite3.IntegrityError):
        store.save_object("b", StoredObject(key="k", file=None, headers={}, size=2, etag="e", modified=0.0))  # type: ignore[arg-type]  # what must fail
    assert entry == store.object("b", "k")
    store.close()


# Rows as schema 2 holds them: state folders of users hold the same, whatever the modules are called that read them.
JOB = {
    "name": "j", "arn": "arn:aws:sagemaker:us-west-2:000000000000:training-job/j",
    "request": {"TrainingJobName": "j", "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1}},
    "state": {
        "status": "Completed", "secondary": "Completed", "created": 10.5, "modified": 12.5, "attempts": [[11.0, 12.5]],
        "transitions": [["Starting", 10.5, 11.0, "Preparing the instances"], ["Completed", 12.5, 12.5, "Training job completed"]],
        "ending": None, "failure_reason": None, "spot": False,
    },
    "tags": {"a": "b", "sm_trn:emulated": "true"}, "metrics": [["loss", 1.5, 12]], "model_uri": "s3://b/o/j/output/model.tar.gz",
    "pool_end": None, "reused_by": None,
}  # fmt: skip
RECORD = {
    "kind": "endpoint", "name": "e", "arn": "arn:aws:sagemaker:us-west-2:000000000000:endpoint/e",
    "request": {"EndpointName": "e", "EndpointConfigName": "c"}, "tags": {"sm_trn:emulated": "true"}, "created": 10.5,
    "modified": 10.5, "status": "InService", "reason": None, "facts": {"config": "c"},
}  # fmt: skip


def test_the_documents_of_a_state_are_read_and_written_as_ever(tmp_path: Path) -> None:
    store = Store(tmp_path / "emulator.db")
    store.save_job("j", json.dumps(JOB))
    store.save_record("endpoint", "e", json.dumps(RECORD))
    jobs, resources = Jobs(store), Resources(store, "us-west-2", lambda: 10.5)
    assert (1.5, "Completed") == (jobs.get("j").metrics[0].value, jobs.get("j").state.status)
    jobs.change("j", tags=jobs.get("j").tags)
    resources.change("endpoint", "e", status="InService")
    assert [JOB, RECORD] == [json.loads(text) for text in (*store.jobs(), *store.records())]
