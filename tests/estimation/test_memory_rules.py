"""The rules of memory: a model that is too large for its accelerator, its host, or its parallel sizes."""

from __future__ import annotations

from pathlib import Path

import jobs
import pytest
from fakes.simulated_wire import world

import sm_trn as st
from sm_trn.account import doctor
from sm_trn.core.specs import JobSpec, Problem, Severity


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "run_clm.py").write_text("import sys\nprint('checkpoint', sys.argv)\n")
    return str(tmp_path)


def llama(source: str, **neuron: int | bool) -> JobSpec:
    options = st.specs.NeuronOptions(**neuron) if neuron else None  # type: ignore[arg-type]  # ints and bools by name
    return jobs.trainium(source).replace(
        hyperparameters={"model_id": "meta-llama/Llama-2-7b-hf"},
        framework=st.specs.HuggingFaceNeuronX("4.55.4", pytorch="2.8.0"),
        neuron=options,
    )


def memory_problems(job: JobSpec) -> list[Problem]:
    return [problem for problem in st.check(job) if problem.id.startswith("MEM")]


def test_a_model_too_large_for_a_core_gets_the_smallest_size_that_fits(source: str) -> None:
    problem = next(p for p in memory_problems(llama(source)) if p.id == "MEM001")
    assert ("100.4 GiB", "15.5 GiB") == (problem.got[:9], problem.wanted[8:16])
    assert "neuron=NeuronOptions(tensor_parallel=8)" == problem.fix
    assert not [p for p in memory_problems(llama(source, tensor_parallel=8, zero_1=True)) if p.id == "MEM001"]


def test_lora_is_not_counted_like_full_training(source: str) -> None:
    job = llama(source).replace(hyperparameters={"model_id": "meta-llama/Llama-2-7b-hf", "lora_r": 16})
    assert not [p for p in memory_problems(job) if p.id == "MEM001"]


def test_parallel_sizes_must_divide_workers_and_heads(source: str) -> None:
    assert {"MEM003"} == {
        p.id for p in memory_problems(llama(source, tensor_parallel=5)) if p.severity is Severity.ERROR
    } & {"MEM003"}
    assert not [p for p in memory_problems(llama(source, tensor_parallel=8)) if p.id == "MEM003"]


def test_workers_that_load_at_once_can_exceed_the_host(source: str) -> None:
    assert "MEM002" in {p.id for p in memory_problems(llama(source, tensor_parallel=8))}


def test_a_launch_is_refused_by_the_rules_of_the_parts_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str
) -> None:
    here = world(monkeypatch, tmp_path)
    with pytest.raises(st.errors.InvalidJob) as caught:
        here.session.submit(llama(source))
    assert "MEM001" in {problem.id for problem in caught.value.problems}
    assert "MEM001" in {problem.id for problem in here.session.check(llama(source))}
    assert not here.service.jobs


def test_doctor_asks_the_same_rules(source: str) -> None:
    uneven = llama(source, tensor_parallel=16).replace(hyperparameters={"model_id": "gpt2"})  # of 12 heads
    assert "MEM003" in {problem.id for problem in st.check(uneven) if problem.severity is Severity.ERROR}
    (finding,) = doctor._of_the_file(uneven, "job.toml")
    assert doctor.State.ERROR is finding.state
