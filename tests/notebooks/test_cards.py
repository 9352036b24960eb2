"""What a handle and a rehearsal look like in a notebook: all in words, nothing foreign run, nothing asked."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import Any

import sm_trn as st


class Untouchable:
    """Fails when it is asked anything."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


def session(*, emulated: bool) -> st.Session:
    nobody: Any = Untouchable()
    return st.Session(
        backend=nobody,
        logs=nobody,
        storage=nobody,
        role="role",
        bucket="bucket",
        region="us-west-2",
        emulated=emulated,
        announcement="",
    )


def spec() -> st.JobSpec:
    return st.JobSpec(
        name="bert",
        script=st.Script("train_text_classification.py"),
        framework=st.NeuronX("2.9.0"),
        compute=st.Compute("ml.trn1.32xlarge", count=2),
    )


REHEARSAL = st.results.Rehearsal(
    plain="bert-plain",
    interrupted="bert-cut",
    wanted=2,
    interruptions=2,
    steps=40,
    redone=3,
    resumed=True,
    files=MappingProxyType({"model.safetensors": True, "training_args.bin": False}),
    evaluations=MappingProxyType({}),
)


def test_a_rehearsal_says_what_it_says_in_a_terminal() -> None:
    shown = dataclasses.replace(REHEARSAL, files={"<script>": False})._repr_html_()
    assert "EMULATED" in shown
    assert "<script>" not in shown
