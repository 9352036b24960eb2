"""What SDK v3 cannot say is a problem with an id, a fix and its evidence, and is never rendered in silence."""

from __future__ import annotations

import ast
from typing import Any

import jobs
import pytest

import sm_trn as st
from sm_trn.core.render import problems
from sm_trn.core.render.sdk_v3_problems import arrives
from sm_trn.core.specs import JobSpec, Severity

TARGET = "model-trainer-v3"


def trainium(**changes: Any) -> JobSpec:
    return jobs.trainium("./src").replace(**changes)


P4D = st.Compute("ml.p4d.24xlarge", count=2)
REFUSED = {
    "TARGET001": jobs.smddp("./src"),
    "TARGET002": jobs.compiled("./src"),
    "TARGET022": jobs.compiled("./src").replace(distribution=None),
    "TARGET004": trainium(compute=P4D, distribution=st.SMModelParallel(partitions=2)),
    "TARGET005": trainium(compute=P4D, distribution=st.PyTorchDDP()),
    "TARGET008": trainium(compute=P4D, distribution=st.MPI()),
    "TARGET009": trainium(hyperparameters={"note": "it's"}),
    "TARGET010": trainium(hyperparameters={"version": "1.10"}),
    "TARGET023": trainium(compute=st.Compute("ml.p4d.24xlarge", placement=st.specs.Placement(shared=True))),
    "TARGET024": trainium(inputs={"train": st.Channel("s3://a-bucket/x", shuffle_seed=0)}),
    "TARGET013": trainium(inputs={"code": "s3://a-bucket/x"}),
    "TARGET014": trainium(inputs={"train": st.Channel("./data", mode=st.specs.InputMode.FAST_FILE)}),
    "TARGET015": trainium(script=st.Script("train.sh", source_dir="./src")),
}
TOLD = {
    "TARGET011": trainium(hyperparameters={"k": 3}),
    "TARGET012": trainium(hyperparameters={"fast": False}),
    "TARGET016": trainium(script=st.Script("train.py", source_dir="s3://a-bucket/source.tar.gz")),
    "TARGET017": trainium(),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_what_v3_dropped_is_refused_by_its_id(rule: str) -> None:
    with pytest.raises(st.errors.InvalidJob, match=rf"as 'model-trainer-v3': .*\n(.*\n)*.*error\[{rule}\]"):
        st.render(REFUSED[rule], TARGET)


@pytest.mark.parametrize(
    ("field", "job", "fix"),
    [
        ("script.git", trainium(script=st.Script("train.py", git=st.specs.Git("https://example.org/a.git", commit="abc"))), "clone it"),
        ("script.dependencies", trainium(script=st.Script("train.py", source_dir="./src", dependencies=("./libs/shared",))), "copy them"),
        ("extra.MlflowConfig", trainium(extra={"MlflowConfig": {"MlflowResourceArn": "arn:a"}}), "submit it"),
        ("extra.ProfilerConfig", trainium(extra={"ProfilerConfig": {"DisableProfiler": False}}), "submit it"),
        ("extra.ExperimentConfig", trainium(extra={"ExperimentConfig": {"RunName": "a"}}), "target estimator-v2"),
    ],
)  # fmt: skip
def test_a_field_without_a_word_is_named_with_its_value_and_what_to_do(field: str, job: JobSpec, fix: str) -> None:
    (problem,) = [each for each in problems(job, TARGET) if each.id == "TARGET022"]
    assert problem.where.startswith(field)
    assert problem.got.startswith(f"{problem.where}=")
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize("rule", TOLD)
def test_what_v3_only_says_differently_is_told_and_rendered(rule: str) -> None:
    assert rule in {problem.id for problem in problems(TOLD[rule], TARGET)}
    assert st.render(TOLD[rule], TARGET)


@pytest.mark.parametrize("rule", [*REFUSED, *TOLD])
def test_a_problem_of_v3_says_what_got_fix_and_evidence(rule: str) -> None:
    (problem, *_) = [item for item in problems((REFUSED | TOLD)[rule], TARGET) if item.id == rule]
    assert all((problem.what, problem.where, problem.got, problem.fix, problem.evidence)), problem
    assert (rule in REFUSED) is (problem.severity is Severity.ERROR)


@pytest.mark.parametrize("name", ["my-data", "a.b"])
def test_a_channel_that_cannot_be_a_shell_variable_is_refused(name: str) -> None:
    assert "TARGET009" in {problem.id for problem in problems(trainium(inputs={name: "s3://a-bucket/x"}), TARGET)}


def test_a_hyperparameter_that_cannot_be_a_shell_variable_is_refused() -> None:
    assert "TARGET009" in {problem.id for problem in problems(trainium(hyperparameters={"model.name": "x"}), TARGET)}


def test_a_job_of_the_model_parallel_library_has_its_own_problem_only() -> None:
    found = {problem.id for problem in problems(REFUSED["TARGET004"], TARGET) if problem.severity is Severity.ERROR}
    assert {"TARGET004"} == found


def test_one_host_of_mpi_is_no_problem() -> None:
    job = trainium(compute=st.Compute("ml.p4d.24xlarge"), distribution=st.MPI())
    assert not {"TARGET004", "TARGET005", "TARGET008"} & {problem.id for problem in problems(job, TARGET)}


@pytest.mark.parametrize(
    ("text", "arrived"),
    [("1e5", "100000.0"), ('"1e5"', "100000.0"), ("1.10", "1.1"), ('"x"', "x"), ('"5"', "5"), (" 5", "5"), ("007", "007"), ("True", "True"),
     ("true", "true"), ("null", "null"), ("NaN", "NaN"), ("5", "5"), ("gpt2", "gpt2"), ("", ""), ("[1,2]", "[1,2]")],
)  # fmt: skip
def test_a_text_is_read_as_json_on_its_way(text: str, arrived: str) -> None:
    assert arrived == arrives(text)


def test_the_other_targets_have_no_problems() -> None:
    for job in REFUSED.values():
        assert [] == problems(job, "request") == problems(job, "estimator-v2")


def test_the_trainer_prints_as_python_that_imports_what_it_names() -> None:
    job = trainium(retries=3, inputs={"train": st.Channel("s3://a-bucket/x", mode=st.specs.InputMode.FAST_FILE)})
    source = ast.parse(str(st.render(job, TARGET)))
    imported = {name.name for node in ast.walk(source) if isinstance(node, ast.ImportFrom) for name in node.names}
    called = {
        node.func.id for node in ast.walk(source) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert {"ModelTrainer", "Channel", "RetryStrategy", "Torchrun"} <= called
    assert imported == called


def test_a_folder_in_s3_is_spelt_as_v3_wants_it() -> None:
    call = st.render(trainium(script=st.Script("train.py", source_dir="s3://a-bucket/src")), TARGET)
    assert "s3://a-bucket/src/" == call.kwargs["source_code"].kwargs["source_dir"]


def test_workers_are_left_to_the_container_where_the_catalogue_cannot_tell() -> None:
    job = trainium(compute=st.Compute("ml.trn9.32xlarge"), image_uri="an-image")
    assert {} == dict(st.render(job, TARGET).kwargs["distributed"].kwargs)


def test_without_sdk_v3_building_says_what_to_install() -> None:
    from importlib import metadata

    from sm_trn.core import sdk

    try:
        third = metadata.version("sagemaker").startswith("3.")
    except metadata.PackageNotFoundError:
        third = False
    if third:
        pytest.skip("SDK v3 is here")
    with pytest.raises(st.errors.NotConfigured, match=r"wanted SageMaker SDK v3; pip install \"sm_trn\[sdk3\]\""):
        sdk.load("sagemaker.train.ModelTrainer")
