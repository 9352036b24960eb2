"""Job files: TOML, JSON or YAML text ↔ specs. Text in, values out: who reads and writes the files is the caller's affair."""

from __future__ import annotations

from .files import FORMATS, JobFile, dump_job, load_jobs, parse_jobs
from .places import Place

__all__ = ["FORMATS", "JobFile", "Place", "dump_job", "load_jobs", "parse_jobs"]
