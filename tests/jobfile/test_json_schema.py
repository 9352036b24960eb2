"""The schema that editors read refuses what the loader refuses for its keys, kinds and types, and takes what the loader takes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jobs
import pytest
from command import sm_trn
from hypothesis import given, settings
from hypothesis import strategies as some
from jsonschema import Draft7Validator
from strategies_of_values import specs

import sm_trn as st
from sm_trn.core.errors import InvalidJobFile
from sm_trn.core.jobfile import in_toml, sweep_file
from sm_trn.core.jobfile.files import SCHEMA_KEY
from sm_trn.core.jobfile.json_schema import about, json_schema
from sm_trn.core.jobfile.schema import unstructure

VALID = Draft7Validator(json_schema())
SHIPPED = sorted((Path(__file__).parents[2] / "notebooks" / "jobs").glob("*"))

DEFINITIONS: Any = json_schema()["definitions"]


def test_it_is_a_schema_and_it_is_what_the_shell_prints() -> None:
    Draft7Validator.check_schema(json_schema())
    assert json_schema() == json.loads(sm_trn("check", "--schema").stdout)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_job_files_of_the_notebooks_are_valid(path: Path) -> None:
    (tree,) = [json.loads(st.dump_job(job, "json")) for job in st.read_jobs(path)][:1]
    assert [] == list(VALID.iter_errors(tree))


@settings(max_examples=60)
@given(job=specs("s3://bucket/source.tar.gz"))
def test_every_job_that_can_be_written_is_valid(job: st.JobSpec) -> None:
    tree = unstructure(job)
    assert [] == [error.message for error in VALID.iter_errors(json.loads(json.dumps(tree)))]
    assert [] == list(VALID.iter_errors({"job": [json.loads(json.dumps(tree))], "$schema": "./job.schema.json"}))


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every table, list and value of a tree."""
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(found for key, value in below for found in places(value, (*path, key)))]


def changed(tree: Any, path: tuple[Any, ...], change: Any) -> Any:
    """The tree with what stands at ``path`` changed."""
    if not path:
        return change(tree)
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = changed(copy[path[0]], path[1:], change)
    return copy


def without(tree: Any, path: tuple[Any, ...]) -> Any:
    """The tree without the key at the end of ``path``."""
    return changed(tree, path[:-1], lambda table: {key: item for key, item in table.items() if key != path[-1]})


@settings(max_examples=120)
@given(data=some.data())
def test_a_changed_file_is_judged_alike(data: some.DataObject) -> None:
    tree = json.loads(json.dumps(unstructure(data.draw(specs("s3://bucket/source.tar.gz")))))
    path = data.draw(some.sampled_from(places(tree)))
    how = data.draw(some.sampled_from(["value", "key", "gone"]))
    if how == "value":
        value = data.draw(some.sampled_from([None, True, 7, 1.5, "text", [], ["a"], {}, {"kind": "pytorch"}]))
        tree = changed(tree, path, lambda _: value)
    elif how == "key":
        tree = changed(tree, path, lambda found: {**found, "unknown_key": 1} if isinstance(found, dict) else found)
    elif path and isinstance(path[-1], str):
        tree = without(tree, path)
    accepted = VALID.is_valid(tree)
    faults = faults_of(json.dumps(tree))
    assert accepted or faults, [found.message for found in VALID.iter_errors(tree)]
    # The schema knows keys, kinds and types; what is left is a value's own form.
    assert not accepted or all(map(of_a_value, faults)), faults


def faults_of(text: str) -> tuple[Any, ...]:
    """What the loader refuses."""
    try:
        st.load_jobs(text, "json")
    except InvalidJobFile as error:
        return error.faults
    return ()


def of_a_value(fault: Any) -> bool:
    """Whether a value of the right type was refused for what it says."""
    types = ("whole number", "text", "a table", "a list", "true or false", "a number", "kind =", "an S3 URI")
    return not fault.what.startswith(("unknown", "missing")) and not fault.wanted.startswith(types)


def described(name: str) -> dict[str, str]:
    """What the schema says of each key of a definition."""
    return {
        key: value.get("description", "")
        for key, value in DEFINITIONS[name].get("properties", {}).items()
        if key not in {"kind", SCHEMA_KEY}
    }


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_every_key_has_a_sentence_of_its_own(name: str) -> None:
    said = described(name)
    assert [] == [key for key, text in said.items() if not text], "a row of keys.json, or a sentence of the docstring"
    assert len(said) == len(set(said.values()))


def test_every_row_is_of_a_key() -> None:
    rows = json.loads(Path(json_schema.__globals__["__file__"]).with_name("keys.json").read_text("utf-8"))
    assert list(rows) == sorted(rows)
    for row in rows:
        name, _, key = row.partition(".")
        home = sweep_file if hasattr(sweep_file, name) else st.specs if name in st.specs.__all__ else st
        cls = getattr(home, name)
        assert key in {each.name for each in dataclasses.fields(cls) if each.init}, row


def test_a_sentence_is_that_of_its_key() -> None:
    assert "Overrides the container" not in about(st.JobSpec, "retries")
    assert "starts the job again" in about(st.JobSpec, "retries")
    assert "" == about(st.JobSpec, "nothing")


def test_a_json_file_may_name_its_schema(tmp_path: Path) -> None:
    tree = {"$schema": "./job.schema.json", **unstructure(jobs.trainium(str(tmp_path)))}
    (tmp_path / "job.json").write_text(json.dumps(tree))
    assert 1 == len(st.read_jobs(tmp_path / "job.json"))


def test_a_toml_file_may_name_its_schema(tmp_path: Path) -> None:
    text = "#:schema ./job.schema.json\n" + st.dump_job(jobs.trainium(str(tmp_path)), "toml")
    assert VALID.is_valid(in_toml.parse(text)[0])
    assert 1 == len(st.load_jobs(text, "toml"))
