"""A call printed as source runs on any machine that has the package: no path of this one stands in it."""

from __future__ import annotations

import pytest

import sm_trn as st
from sm_trn.core.render import problems

JOB = st.JobSpec(
    name="bert",
    script=st.Script("train_text_classification.py"),
    framework=st.NeuronX("2.9.0"),
    compute=st.Compute("ml.trn1.32xlarge"),
    distribution=st.TorchDistributed(),
)


@pytest.mark.parametrize(("target", "key"), [("estimator-v2", "source_dir"), ("model-v2", "entry_point")])
def test_a_shipped_script_is_named_by_the_package(target: str, key: str) -> None:
    call = st.render(JOB, target)
    text = str(call)
    assert str(st.scripts_folder()) not in text
    line = next(line for line in text.splitlines() if line.strip().startswith(f"{key}="))
    assert "from sm_trn import scripts_folder" in text
    value = line.partition("=")[2].rstrip(",")
    assert eval(value, {"scripts_folder": st.scripts_folder}) == call.kwargs[key]  # noqa: S307 - our own text, to prove it


def test_a_script_of_ones_own_is_left_as_it_is() -> None:
    own = JOB.replace(script=st.Script("train.py", source_dir="./src"))
    assert "scripts_folder" not in str(st.render(own, "estimator-v2"))


def test_the_host_of_a_model_is_said_to_be_another_than_the_jobs() -> None:
    (note,) = problems(JOB, "model-v2")
    assert ("TARGET202", st.Severity.INFO) == (note.id, note.severity)
    assert "ml.trn1.32xlarge" in note.got
    cpu = JOB.replace(framework=st.PyTorch("2.3", python="py311"), compute=st.Compute("ml.c5.xlarge"))
    assert not problems(cpu, "model-v2")
