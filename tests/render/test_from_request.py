"""Reading a request loses nothing: rendered again it is the same, whatever it says, and what has a word is typed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from requests_of_the_model import requests
from strategies_of_values import specs

import sm_trn as st
from sm_trn.jobfile import FORMATS, dump_job, load_jobs
from sm_trn.render import destination_of, parse_request
from sm_trn.specs import Destination, json_text

EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "300"))
SHARED = Path(__file__).resolve().parents[3] / "shared"
REQUESTS = sorted(Path(os.environ.get("SM_TRN_REQUESTS", SHARED / "requests")).glob("*.json"))
AT = Destination(
    role="arn:aws:iam::123456789012:role/r",
    region="us-east-1",
    bucket="b",
    job_name="j-1",
    source_uri="s3://b/s.tar.gz",
)


def again(job: st.JobSpec, request: dict[str, Any]) -> str:
    return json_text(st.render(job, at=destination_of(request)))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=requests())
def test_any_request_is_rendered_again_as_it_was(request: dict[str, Any]) -> None:
    job = parse_request(request)
    assert json_text(request) == again(job, request)
    st.check(job)  # and every rule can look at it
    for form in FORMATS:
        assert (job,) == load_jobs(dump_job(job, form), form)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(job=specs("s3://b/src"))
def test_the_request_of_any_spec_needs_nothing_kept(job: st.JobSpec) -> None:
    try:
        request = st.render(job, at=AT)
    except st.UnknownName:
        return
    parsed = parse_request(request)
    assert () == tuple(part for part in parsed.kept if not part.at.startswith(("/DebugHookConfig", "/ProfilerConfig")))
    assert (job.compute, dict(job.tags), job.metrics, job.max_run_s, job.retries, job.checkpoints, job.compiled) == (
        parsed.compute, dict(parsed.tags), parsed.metrics, parsed.max_run_s, parsed.retries, parsed.checkpoints, parsed.compiled
    )  # fmt: skip
