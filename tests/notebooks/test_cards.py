"""What a rehearsal looks like in a notebook: all in words, nothing foreign run."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType

import sm_trn as st

REHEARSAL = st.results.Rehearsal(
    plain="bert-plain",
    interrupted="bert-cut",
    wanted=2,
    interruptions=2,
    steps=40,
    redone=3,
    doubt="",
    files=MappingProxyType({"model.safetensors": True, "training_args.bin": False}),
    evaluations=MappingProxyType({}),
)


def test_a_rehearsal_says_what_it_says_in_a_terminal() -> None:
    shown = dataclasses.replace(REHEARSAL, files={"<script>": False})._repr_html_()
    assert "EMULATED" in shown
    assert "<script>" not in shown
