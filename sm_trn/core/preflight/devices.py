"""SCRIPT rules of devices: is the script tied to one that the instance does not have?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..catalog.instances import find_instance
from ..specs.compute import Accelerator
from ..specs.job import JobSpec
from ..specs.problems import Advice, Line, Problem, rules_of
from . import source

ASKS_FIRST = "is_available"  # a script that asks whether there is CUDA is taken to have an answer for "no"

_RULES = rules_of(__package__)
SCRIPT005 = _RULES["SCRIPT005"]


def hard_coded_cuda(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT005: .cuda(), .to("cuda") or NCCL where there is no NVIDIA GPU fails after the machines are paid for."""
    rows = [row for name in job.compute.instances if (row := find_instance(name)) is not None]
    program = source.program(job)
    if not rows or any(row.accelerator is Accelerator.CUDA for row in rows) or program is None or ASKS_FIRST in program:
        return
    uses = [call for call in source.calls(program) if _ties(call)]
    if not uses:
        return
    first = min(uses, key=lambda node: node.lineno)
    others = f", and {len(uses) - 1} more" if len(uses) > 1 else ""
    yield SCRIPT005.problem(
        Line(source.entry_name(job), first.lineno),
        "the script names CUDA without asking whether it is there",
        got=f"{ast.unparse(first)[:60]} for {rows[0].name!r} ({rows[0].accelerator.name}){others}",
        wanted="the device that is there",
        fix=Advice("see kit/device.py among the shipped scripts"),
    )


def _ties(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = {
        str(value.value)
        for value in (*call.args, *(word.value for word in call.keywords))
        if isinstance(value, ast.Constant)
    }
    if name == "cuda":
        return True
    if name == "init_process_group":
        return "nccl" in given
    return name in {"to", "device"} and any(value.split(":")[0] == "cuda" for value in given)


RULES = (hard_coded_cuda,)
