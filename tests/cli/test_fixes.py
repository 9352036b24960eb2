"""A fix for a job file is written as the file is: no Python for somebody who writes TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from strategies_of_values import specs

import sm_trn as st
from sm_trn.cli.files.fixes import in_file
from sm_trn.core.jobfile import in_toml
from sm_trn.core.specs.problems import AnyOf, Change, Named

PYTHON = re.compile(r"\b[A-Z]\w*\(|\b[a-z_]+=")
READ: dict[str, Callable[[str], Any]] = {
    "toml": lambda line: in_toml.parse(line)[0],
    "yaml": yaml.safe_load,
    "json": lambda line: json.loads("{" + line + "}"),
}


def choices(fix: str) -> tuple[str, ...]:
    return fix.choices if isinstance(fix, AnyOf) else (fix,)


@hypothesis.given(job=specs(str(Path(__file__).parents[1])))
def test_the_fixes_of_random_jobs_are_lines_of_the_file(job: st.JobSpec) -> None:
    for problem in st.check(job):
        if problem.id.startswith(("SCRIPT", "SPOT003")):
            continue  # their advice may be about the script's own Python
        for choice in choices(problem.fix):
            written = in_file(choice, "toml")
            assert not PYTHON.search(written), (problem.id, written)
            if isinstance(choice, Change) and not choice.note:
                for form, read in READ.items():
                    for name, value in choice.fields.items():
                        line = in_file(Change(**{name: value}), form)
                        assert line == f"leave {name} out" or list(read(line)) == [name], (problem.id, line)


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("toml", 'distribution = { kind = "torch_distributed" }, or leave compiler out, or use one host'),
        ("yaml", 'distribution: {"kind": "torch_distributed"}, or leave compiler out, or use one host'),
    ],
)
def test_one_of_several_fixes_is_written_as_the_file_is(form: str, line: str) -> None:
    fix = AnyOf(Change(distribution=Named("TorchDistributed")), Change(compiler=None), "use one host")
    assert line == in_file(fix, form)
    assert fix == "distribution=TorchDistributed(), or compiler=None, or use one host"


def test_tables_in_a_list_are_written_as_the_file_is() -> None:
    rules = (st.specs.RetryRule(action="EXIT", reason="*"), st.specs.RetryRule(action="RETRY", reason="a \u007f b"))
    queue = st.Queue("training", retry=st.specs.Retry(attempts=2, rules=rules), tags={"cost centre": "7"})
    for form, read in READ.items():
        (found,) = read(in_file(Change(queue=queue), form)).values()
        assert [{"action": rule.action, "reason": rule.reason} for rule in rules] == found["retry"]["rules"]
        assert {"cost centre": "7"} == found["tags"]
