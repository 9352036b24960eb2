"""The schema of sweep files refuses what their loader refuses for its keys, kinds and types, and takes what the loader takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jobs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from jsonschema import Draft7Validator
from sweeps import sweeps

import sm_trn as st
from sm_trn.core.errors import InvalidJobFile
from sm_trn.core.jobfile import in_toml
from sm_trn.core.jobfile.files import parse_as
from sm_trn.core.jobfile.json_schema import sweep_schema
from sm_trn.core.jobfile.schema import part
from sm_trn.core.jobfile.sweep_file import SweepFile, as_file, dump_sweep
from sm_trn.tuning.files import read_text

VALID = Draft7Validator(sweep_schema())
DEFINITIONS: Any = sweep_schema()["definitions"]
TREES = sweeps(jobs.SQUAD).map(lambda sweep: json.loads(json.dumps(part(as_file(sweep, "job.toml")))))


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every table, list and value of a tree."""
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(found for key, value in below for found in places(value, (*path, key)))]


def changed(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The tree with another value at ``path``."""
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


def faults_of(tree: Any) -> tuple[Any, ...]:
    """What the loader refuses."""
    try:
        parse_as(SweepFile, json.dumps(tree), "json", name="sweep.json")
    except InvalidJobFile as error:
        return error.faults
    return ()


def of_a_value(fault: Any) -> bool:
    """Whether a value of the right type was refused for what it says."""
    types = ("whole number", "a whole number", "text", "a table", "a list", "true or false", "a number", "kind =")
    return not fault.what.startswith(("unknown", "missing")) and not fault.wanted.startswith(types)


def test_it_is_a_schema() -> None:
    Draft7Validator.check_schema(sweep_schema())


@settings(max_examples=40)
@given(tree=TREES)
def test_every_sweep_that_can_be_written_is_valid(tree: Any) -> None:
    assert [] == [error.message for error in VALID.iter_errors(tree)]
    assert VALID.is_valid({"$schema": "./sweep.schema.json", **tree})
    assert () == faults_of({"$schema": "./sweep.schema.json", **tree})


@settings(max_examples=80)
@given(tree=TREES, data=some.data())
def test_a_changed_file_is_judged_alike(tree: Any, data: some.DataObject) -> None:
    path = data.draw(some.sampled_from(places(tree)))
    value = data.draw(
        some.sampled_from([None, True, 7, 1.5, "text", [], ["a"], {}, {"kind": "integer"}, {"unknown_key": 1}])
    )
    tree = changed(tree, path, value)
    accepted, faults = VALID.is_valid(tree), faults_of(tree)
    assert accepted or faults, [found.message for found in VALID.iter_errors(tree)]
    assert not accepted or all(map(of_a_value, faults)), faults


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_every_key_has_a_sentence_of_its_own(name: str) -> None:
    said = {
        key: value.get("description", "")
        for key, value in DEFINITIONS[name].get("properties", {}).items()
        if key not in {"kind", "$schema"} or name == "WarmStart"
    }
    assert [] == [key for key, text in said.items() if not text]
    assert len(said) == len(set(said.values()))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sweep=sweeps(jobs.SQUAD), form=some.sampled_from(["toml", "json", "yaml"]))
def test_a_sweep_written_and_read_is_the_same(sweep: st.Sweep, form: str, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(st.dump_job(sweep.job, "toml"))
    (tmp_path / f"sweep.{form}").write_text(dump_sweep(sweep, "job.toml", form))
    again = read_text(tmp_path / f"sweep.{form}").sweep
    assert sweep == again.replace(job=sweep.job)


def test_a_toml_file_may_name_its_schema() -> None:
    objective = 'objective = {metric = "loss", goal = "Minimize"}'
    text = f'#:schema ./sweep.schema.json\njob = "job.toml"\nmax_jobs = 3\n{objective}\nautotune = true\n'
    assert VALID.is_valid(in_toml.parse(text)[0])
    assert parse_as(SweepFile, text, "toml", name="sweep.toml")[0].autotune
