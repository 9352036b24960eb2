"""sm-trn quickstart"""

from __future__ import annotations

import time
from pathlib import Path

import click

from ...cli.options import global_option, json_option
from ...cli.shared import emit, say
from ...core import __version__
from ...core.errors import expect_library
from ...core.formatting import numbers as fmt
from ...core.specs.compute import Compute
from ...core.specs.framework import HuggingFace, NeuronX
from ...core.specs.job import JobSpec, Script
from ...core.specs.metrics import EVALUATION_METRICS, TRAINER_METRICS
from ...core.specs.problems import Severity
from ...core.specs.record import dump_record
from ...core.specs.snapshot import JobStatus
from ...core.strategies.smddp import SMDataParallel
from ...core.strategies.torchrun import TorchDistributed
from ...rules import check
from ...wiring import connect
from ..comparison.compare import compare

PUBLISHED = ("published/bert-p4d", "published/bert-trn1")
BAR_ACCURACY = 0.85  # the bundled sample is made so that a model which reads word order gets well above this
MARGIN = " " * 13

P4D = JobSpec(
    name="bert-p4d",
    script=Script("train_text_classification.py"),
    framework=HuggingFace("4.56.2", pytorch="2.8.0", python="py312"),
    compute=Compute("ml.p4d.24xlarge", count=2),
    distribution=TorchDistributed(),
    hyperparameters={"model": "tiny-random", "train": "sample", "epochs": 5, "learning_rate": 0.002},
    metrics=TRAINER_METRICS + EVALUATION_METRICS,
    max_run_s=3600,
)
TRN1 = P4D.replace(name="bert-trn1", framework=NeuronX("2.9.0"), compute=Compute("ml.trn1.32xlarge"))


@click.command("quickstart")
@click.option(
    "--output",
    default="sm-trn-quickstart",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Write figures and reports to this folder.",
)
@global_option("state")
@json_option
def command(output: Path, state: Path | None, *, as_json: bool) -> int:
    """Run the whole workflow on this machine: check, launch two jobs, watch and compare them. You need no account and no
    Docker, and nothing costs money.

    The exit code is 1 if a step gives an unexpected result.
    """
    for library in ("moto", "torch", "matplotlib"):
        expect_library(library, "local,report", "sm-trn quickstart")
    began = time.monotonic()

    def tell(text: str, *, step: bool = False) -> None:
        if not as_json:
            margin = f"\n{time.monotonic() - began:5.1f} s  " if step else MARGIN
            say("\n".join(f"{margin}{line}".rstrip() for line in text.split("\n")))

    tell(f"sm_trn {__version__} quickstart: no account, no Docker, nothing leaves this machine. About two minutes.")
    output.mkdir(parents=True, exist_ok=True)
    tell("1/4  Check a wrong job, offline", step=True)
    for problem in check(TRN1.replace(distribution=SMDataParallel())):
        if problem.severity is Severity.ERROR:
            tell(f"error[{problem.id}]: {problem.what}\n  fix: {problem.fix}")
    tell("2/4  Train the same script as two jobs in the emulator, two workers each", step=True)
    tell(
        "EMULATED: from here on seconds are this machine's, with a tiny model on CPU,\nnot those of ml.p4d or ml.trn1."
    )
    session = connect("emulator", state=state)
    jobs = session.submit_all([P4D, TRN1])
    accuracies = []
    for job, snapshot in zip(jobs, session.wait(jobs, progress=not as_json), strict=True):
        billed = fmt.billable(snapshot.billable_s, emulated=True) if snapshot.billable_s else "nothing billed"
        record = job.record()
        (output / f"{record.label}.json").write_text(dump_record(record), "utf-8")
        accuracy = record.last("eval_accuracy") if snapshot.status is JobStatus.COMPLETED else None
        accuracies += [accuracy] if accuracy is not None else []
        held_out = f", held-out accuracy {accuracy:.3f}" if accuracy is not None else ""
        tell(f"{job.label}  {snapshot.status_word}, {billed}{held_out}")
    tell("3/4  Compare the two rehearsals", step=True)
    rehearsed = compare([job.record() for job in jobs])
    tell(f"{rehearsed}\nreport  {rehearsed.save(output / 'rehearsal')[0]}")
    tell("4/4  What a comparison of real jobs looks like: the pair that AWS published in 2022", step=True)
    published = compare(list(PUBLISHED), baseline="bert-p4d")
    page = published.save(output / "published")[0]
    tell(f"{published}\nreport  {page}")
    passed = len(accuracies) == len(jobs) and min(accuracies) >= BAR_ACCURACY
    seconds = time.monotonic() - began
    tell(
        f"Done in {fmt.duration(seconds)}. Nothing was billed. The emulator is still up: sm-trn local down\n"
        f"Next: sm-trn logs {jobs[-1].name}\n"
        "      sm-trn init --script train_text_classification.py --output my-job\n"
        f"      open {page}",
        step=True,
    )
    if as_json:
        names = [job.name for job in jobs]
        emit(
            {"jobs": names, "accuracies": accuracies, "passed": passed, "seconds": round(seconds, 1), "output": output}
        )
    return int(not passed)
