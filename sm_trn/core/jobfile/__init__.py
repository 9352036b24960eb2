"""Job files: TOML, JSON or YAML text ↔ specs. Text in, values out: who reads and writes the files is the caller's affair."""

from __future__ import annotations

from .changes import change_job
from .files import FORMATS, JobFile, dump_job, load_jobs, parse_jobs
from .places import Place

__all__ = ["FORMATS", "JobFile", "Place", "change_job", "dump_job", "load_jobs", "parse_jobs"]
