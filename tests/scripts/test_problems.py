"""What a problem of a script's arguments says: its place, what was sent, and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import jobs
import pytest

import sm_trn as st
from sm_trn.core.specs import JobSpec, Problem, Severity

PARSER = "import argparse\np = argparse.ArgumentParser()\n{}\np.parse_args()\n"


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "run_clm.py").write_text("import sys\nprint('checkpoint', sys.argv)\n")
    return str(tmp_path)


def script_problems(source: str, line: str, **hyperparameters: str | bool) -> list[Problem]:
    Path(source, "run_clm.py").write_text(PARSER.format(line))
    return of_scripts(jobs.trainium(source).replace(hyperparameters=hyperparameters))


def of_scripts(job: JobSpec) -> list[Problem]:
    return [problem for problem in st.check(job) if problem.id.startswith("SCRIPT")]


def test_type_bool_is_named_with_file_and_line(source: str) -> None:
    (problem,) = script_problems(source, "p.add_argument('--shuffle', type=bool)", shuffle=False)
    assert ("SCRIPT006", "run_clm.py:3") == (problem.id, problem.where)


@pytest.mark.parametrize(
    ("value", "severity"), [(False, Severity.ERROR), ("False", Severity.ERROR), (True, Severity.INFO)]
)
def test_a_false_that_would_be_read_as_true_is_an_error(source: str, value: bool | str, severity: Severity) -> None:
    (problem,) = script_problems(source, "p.add_argument('--shuffle', type=bool)", shuffle=value)
    assert ("SCRIPT006", severity) == (problem.id, problem.severity)


def test_store_true_with_a_value_is_an_error(source: str) -> None:
    (problem,) = script_problems(source, "p.add_argument('--fp16', action='store_true')", fp16=True)
    assert ("SCRIPT007", Severity.ERROR) == (problem.id, problem.severity)


def test_an_undeclared_hyperparameter_is_an_error_with_a_suggestion(source: str) -> None:
    (problem,) = script_problems(source, "p.add_argument('--learning-rate', type=float)", learning_rat="1")
    assert "SCRIPT008" == problem.id
    assert "'learning-rate'" in problem.fix


def test_what_the_neuron_options_tell_the_script_must_be_declared_too(source: str) -> None:
    Path(source, "run_clm.py").write_text(PARSER.format("p.add_argument('--zero_1')"))
    options = st.specs.NeuronOptions(zero_1=True, tensor_parallel=8)
    (problem,) = of_scripts(jobs.trainium(source).replace(hyperparameters={}, neuron=options))
    assert ("SCRIPT008", "neuron", "'tensor_parallel_size'") == (problem.id, problem.where, problem.got)


@pytest.mark.parametrize(("name", "known"), [("adafactor", True), ("warmup_ratio", True), ("model_name", False)])
def test_older_names_that_a_shipped_script_passes_on_are_known(source: str, name: str, known: bool) -> None:
    """It leaves the first out, has the second, and passes the third on to scripts that have ``model_name_or_path``."""
    job = jobs.trainium(source).replace(script=st.Script("train_text_classification.py"), inputs={})
    found = {problem.id for problem in of_scripts(job.replace(hyperparameters={name: 0}))}
    assert known is ("SCRIPT008" not in found)


def test_a_shipped_scripts_flags_are_known(source: str) -> None:
    job = jobs.trainium(source).replace(script=st.Script("train_text_classification.py"), inputs={})
    right, wrong = (job.replace(hyperparameters={name: 3}) for name in ("epochs", "epoches"))
    assert [] == [problem for problem in of_scripts(right) if problem.severity is Severity.ERROR]
    assert ["SCRIPT008"] == [problem.id for problem in of_scripts(wrong) if problem.severity is Severity.ERROR]
