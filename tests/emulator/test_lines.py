"""Lines as the training toolkit delivers them: what a script prints in pieces may come as several events, and late ones come at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import job_of

import sm_trn as st
from sm_trn.core.specs.metrics import MetricRule

pytest.importorskip("sagemaker_training")
SCRIPT = """
import os, sys, time
for step in range(20):
    print("piece", step, "part=%.1f;" % step)
    print({"loss": 1.0 / (step + 1), "step": step})
    print(f"rate={step}.5")
sys.stdout.write("joined=1 ")
sys.stdout.flush()
time.sleep(0.1)
sys.stdout.write("joined=2\\n")
sys.stderr.write("RuntimeWarning: late\\n")
sys.stdout.write("no end of the line: last=7")
sys.stdout.flush()
raise KeyError("no such column")
"""


def test_metrics_cause_and_health_are_read_from_split_joined_and_late_lines(
    session: st.Session, tmp_path: Path
) -> None:
    rules = tuple(MetricRule(name, rf"{name}=([0-9.]+)") for name in ("rate", "last"))
    job = session.submit(job_of(tmp_path, SCRIPT, name="lines").replace(metrics=rules))
    (ended,) = session.wait([job], progress=False)
    text = " ".join(event.text for event in job.logs())
    assert all(f"piece {step} part={step}.0;" in " ".join(text.split()) for step in range(20)), "no piece is lost"
    losses = {point.step: point.value for point in job.points() if point.name == "loss"}
    assert {step: 1.0 / (step + 1) for step in range(20)} == losses
    assert {"rate": 19.5, "last": 7.0} == ended.final_metrics
    assert job.health().verdict is not None
    why = job.why()
    assert why.cause is not None
    assert "script.exception" == why.cause.id
    assert "KeyError" in repr(why)
    assert "no such column" in repr(why)
