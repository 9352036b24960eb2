"""sm-trn quickstart"""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

import click

from ...cli.options import global_option, json_option
from ...cli.shared import emit, say
from ...core import __version__
from ...core.extras import expect_library
from ...core.formatting import numbers as fmt
from ...core.formatting.missing import Missing
from ...core.session.handles import Session, TrainingJob
from ...core.specs.compute import Compute
from ...core.specs.framework import HuggingFace, NeuronX
from ...core.specs.job import JobSpec, Script
from ...core.specs.metrics import EVALUATION_METRICS, TRAINER_METRICS
from ...core.specs.problems import Severity
from ...core.specs.record import JobRecord, Origin, dump_record
from ...core.specs.snapshot import JobStatus
from ...core.strategies.smddp import SMDataParallel
from ...core.strategies.torchrun import TorchDistributed
from ...emulator.daemon import status
from ...forecast.estimate import Estimate, estimate
from ...rules import check
from ...wiring import connect
from ..comparing import compare
from ..sections.findings import Kind

PUBLISHED = ("published/bert-p4d", "published/bert-trn1")
PUBLISHED_AT = "2022-12-31"
BAR_ACCURACY = 0.85  # the bundled sample is made so that a model which reads word order gets well above this
MARGIN = " " * 13

P4D = JobSpec(
    name="bert-p4d",
    script=Script("train_text_classification.py"),
    framework=HuggingFace("4.56.2", pytorch="2.8.0", python="py312"),
    compute=Compute("ml.p4d.24xlarge", count=2),
    distribution=TorchDistributed(),
    hyperparameters={"model": "tiny-random", "train": "sample", "epochs": 5, "learning_rate": 0.002, "baselines": True},
    metrics=TRAINER_METRICS + EVALUATION_METRICS,
    max_run_s=3600,
)
TRN1 = P4D.replace(
    name="bert-trn1",
    framework=NeuronX("2.9.0"),
    compute=Compute("ml.trn1.32xlarge"),
)
FULL = P4D.replace(
    hyperparameters={"model": "bert-base-cased", "epochs": 2, "per_device_batch_size": 32, "max_length": 128},
    max_run_s=4 * 3600,
)
REVIEWS = 3_600_000  # training examples of amazon_polarity


class Story:
    """Numbered steps with the clock in the margin; what is proven gets a tick."""

    def __init__(self, *, quiet: bool) -> None:
        self._began = time.monotonic()
        self._quiet = quiet

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def step(self, title: str) -> None:
        self.tell(f"\n{self.seconds:5.1f} s  {title}", margin="")

    def proven(self, text: str) -> None:
        self.tell(f"✓ {text}")

    def tell(self, text: str, *, margin: str = MARGIN) -> None:
        if not self._quiet:
            say("\n".join(f"{margin}{line}" if line else "" for line in text.split("\n")))


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
    story = Story(quiet=as_json)
    story.tell(
        f"sm_trn {__version__} quickstart: no account, no Docker, nothing leaves this machine.\n"
        f"Output goes to {output}. About two minutes.",
        margin="",
    )
    output.mkdir(parents=True, exist_ok=True)
    _check_a_wrong_job(story)
    session = _start(story, state)
    jobs = _train(story, session, progress=not as_json)
    accuracies = _compare(story, jobs, output)
    _published(story, output)
    _estimated(story)
    passed = len(accuracies) == len(jobs) and min(accuracies, default=0.0) >= BAR_ACCURACY
    _farewell(story, jobs, output)
    if as_json:
        emit(
            {
                "jobs": [job.name for job in jobs],
                "accuracies": accuracies,
                "passed": passed,
                "seconds": round(story.seconds, 1),
                "output": output,
            }
        )
    return int(not passed)


def _check_a_wrong_job(story: Story) -> None:
    story.step("1/5  Check a wrong job, offline")
    wrong = TRN1.replace(distribution=SMDataParallel())
    for problem in check(wrong):
        if problem.severity is Severity.ERROR:
            story.tell(
                f"error[{problem.id}]: {problem.what}\n  got {problem.got}, wanted {problem.wanted}\n  fix: {problem.fix}"
            )
    story.proven("found before anything started; fixed in the next step")


def _start(story: Story, state: Path | None) -> Session:
    story.step("2/5  Start the emulator")
    session = connect("emulator", state=state)
    story.proven(f"{status(state).url}, this user only")
    story.tell(
        framed(
            "EMULATED",
            "From here on seconds are this machine's, with a tiny model on CPU.",
            "They are not the speed or cost of ml.p4d or ml.trn1.",
        )
    )
    return session


def framed(title: str, *lines: str) -> str:
    """``lines`` in a frame that has ``title`` in its upper edge."""
    width = max(map(len, lines)) + 2
    inside = [f"┃ {line.ljust(width - 2)} ┃" for line in lines]
    return "\n".join((f"┏━━ {title} ".ljust(width + 1, "━") + "┓", *inside, "┗" + "━" * width + "┛"))


def _train(story: Story, session: Session, *, progress: bool) -> list[TrainingJob]:
    story.step("3/5  Train the same script as two jobs, two workers each")
    story.tell("bert-p4d   for 2 × ml.p4d.24xlarge   SMDDP becomes torchrun + gloo")
    story.tell("bert-trn1  for 1 × ml.trn1.32xlarge  Neuron becomes torchrun + gloo")
    jobs = session.submit_all([P4D, TRN1])
    final = session.wait(jobs, progress=progress)
    for job, snapshot in zip(jobs, final, strict=True):
        billed = fmt.billable(snapshot.billable_s, emulated=True) if snapshot.billable_s else "nothing billed"
        if snapshot.status is JobStatus.COMPLETED:
            story.proven(f"{job.label}  completed, {billed}")
        else:
            story.tell(f"✗ {job.label}  {snapshot.status_word}: {snapshot.failure_reason}")
    return jobs


def _compare(story: Story, jobs: list[TrainingJob], output: Path) -> list[float]:
    story.step("4/5  Compare the two rehearsals")
    records = [job.record() for job in jobs]
    for item in records:
        (output / f"{item.label}.json").write_text(dump_record(item), "utf-8")
    result = compare(records)
    story.tell(str(result), margin="  ")
    for item in records:
        story.tell(_beside_baselines(item))
    written = result.save(output / "rehearsal")
    story.proven(f"report  {next(path for path in written if path.suffix == '.html')}")
    losses = {tuple(point.value for point in item.series("loss")) for item in records}
    if len(losses) == 1 and any(losses):
        story.tell("Equal losses: both ran the same script on this CPU. On AWS the two accelerators would differ.")
    accuracies = [item.last("eval_accuracy") for item in records if item.origin is Origin.EMULATED]
    return [accuracy for accuracy in accuracies if accuracy is not None]


def _beside_baselines(item: JobRecord) -> str:
    named = (
        ("eval_accuracy", "held-out accuracy"),
        ("baseline_bag_of_words_accuracy", "logistic regression on counted words"),
        ("baseline_majority_accuracy", "always the majority label"),
    )
    found = ((words, item.last(name)) for name, words in named)
    return f"{item.label}: " + "; ".join(f"{words} {value:.3f}" for words, value in found if value is not None)


def _published(story: Story, output: Path) -> None:
    story.step("5/5  What a comparison of real jobs looks like: the pair that AWS published in 2022")
    then = compare(list(PUBLISHED), baseline="bert-p4d", at=PUBLISHED_AT)
    today = compare(list(PUBLISHED), baseline="bert-p4d")
    story.tell(str(then), margin="  ")
    story.tell("\nWhat the newest known prices do to it", margin="  ")
    sentences = [finding.text for finding in today.findings if finding.kind in {Kind.COST, Kind.FLIP}]
    story.tell("\n".join(line for text in sentences for line in textwrap.wrap(text, 76)), margin="    ")
    written = today.save(output / "published")
    story.proven(f"report  {next(path for path in written if path.suffix == '.html')}")


def _estimated(story: Story) -> None:
    """What one of the jobs would take and cost at full size: offline, from published measurements."""
    story.tell(full_size(estimate(FULL, examples=REVIEWS)), margin="  ")


def full_size(found: Estimate) -> str:
    """The estimate of the full-size job in a frame, with its intervals."""
    from ...forecast.estimate import machines, span, usd_text  # noqa: PLC0415 - as above

    seconds, usd, c = found.billable_s, found.usd, found.configuration
    cost = "" if usd is None else f"{usd_text(usd.p50)}  (80 %: {usd_text(usd.p10)} to {usd_text(usd.p90)})"
    return "\n" + framed(
        "ESTIMATED, not measured",
        f"bert-p4d at full size on AWS: {c.model.name}, {REVIEWS:,} reviews, 2 epochs",
        f"time  {span(seconds.p50)}  (80 %: {span(seconds.p10)} to {span(seconds.p90)}), {machines(found)}",
        f"cost  {cost or Missing.NO_PRICE}",
    )


def _farewell(story: Story, jobs: list[TrainingJob], output: Path) -> None:
    width = max(len(text) for text, _ in _next_steps(jobs, output))
    steps = "\n".join(f"  {text:<{width}}  {why}" for text, why in _next_steps(jobs, output))
    story.tell(
        f"\nDone in {fmt.duration(story.seconds)}. Nothing was billed. The emulator is still up: sm-trn local down\n\nNext\n{steps}",
        margin="",
    )


def _next_steps(jobs: list[TrainingJob], output: Path) -> list[tuple[str, str]]:
    return [
        (f"sm-trn logs {jobs[-1].name}", "what the job printed"),
        ("sm-trn estimate JOB.toml", "what your own job would take and cost"),
        ("sm-trn init --script train_text_classification.py --output my-job", "the script you just ran"),
        (f"open {output / 'published' / 'report.html'}", "the page for your manager"),
    ]
