"""The phases of a job around its steps, each as an interval of seconds: measured on public logs, and said so."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..core.catalog.images import recognise
from ..core.catalog.instances import Chip
from ..core.preflight import reading
from ..core.preflight.spot import MODEL, SAVE_STEPS, inside
from ..core.specs.job import JobSpec
from .configuration import Configuration
from .facts import Facts
from .step import Interval

TRANSFER = 150e6  # bytes a second between S3 and an instance, one large object
ARCHIVED = 30e6  # bytes a second into model.tar.gz: gzip on weights, measured; a public job of 26 GB fits it
TOKENIZED = 6000  # texts a second that one process turns into tokens
ADAPTER = 2e8  # bytes of an adapter; whole weights have 4 a parameter as they are saved, and 2 as they are published
MERGES = ("merge_weights", "merge_adapters", "merge_lora", "merge")  # what scripts call merging adapters
FOREIGN = 1200  # seconds before the first step of a public job with an image and a file system of its own


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: its seconds, whether they are billed, and on what the figure stands."""

    name: str
    seconds: Interval
    billed: bool
    basis: str


SAVING = Phase("save and upload", Interval(5, 41, 370), True, "17 public logs; archives at 30 MB/s, files at 150")


def phases(
    facts: Facts, c: Configuration, steps: float, step: Interval, examples: float, *, measured: bool = False
) -> tuple[Phase, ...]:
    """All phases of a job, in order."""
    start, pull, data = surroundings(facts.job, c.chip)
    loaded = c.model.parameters * 2 / TRANSFER + min(max(examples, 0.0), 5e6) / TOKENIZED
    parts = [
        start,
        pull,
        replace(data, seconds=_longer(data.seconds, loaded)),
        _compile(facts, c),
        Phase(f"{steps:,.0f} steps", step.scaled(steps), True, f"the {'measured' if measured else 'estimated'} step"),
    ]
    if facts.given("do_eval", "evaluation_strategy", "eval_strategy"):
        evaluated = step.scaled(max(steps, 1) * 0.035)
        parts.append(Phase("evaluations", evaluated, True, "a tenth of the data, forward only"))
    return (*parts, replace(SAVING, seconds=_longer(SAVING.seconds, _upload(facts, c, steps))))


def surroundings(job: JobSpec, chip: Chip) -> tuple[Phase, Phase, Phase]:
    """The phases before the first step, of which the model decides little: start, image and data."""
    neuron, start = chip.generation.startswith("trainium"), Interval(67, 90, 146)
    if neuron or chip.name.startswith(("A100", "H100", "H200", "B")):
        start = Interval(100, 150, 600) if neuron else Interval(300, 311, 554)
    pull, pull_basis = Interval(110, 231, 323), "22 public logs of GPU images, 2 of Neuron images"
    if neuron:
        pull = Interval(150, 220, 350)
    elif job.image_uri is not None and recognise(job.image_uri) is None:
        pull = Interval(40, 231, FOREIGN)
        pull_basis = "nothing: how large an image of one's own is, is not known"
    return (
        Phase("capacity and start", start, False, "no wait for capacity: assumed, not known"),
        Phase("image pull", pull, True, pull_basis),
        Phase(
            "download and data", Interval(3, 25, FOREIGN if job.file_systems else 90), True, "18 public logs; 150 MB/s"
        ),
    )


def total(parts: tuple[Phase, ...], *, billed: bool) -> Interval:
    """Billable seconds, or all from submit to end: phases err independently."""
    seconds = Interval(0.0, 0.0, 0.0)
    for phase in parts:
        if phase.billed or not billed:
            seconds = seconds.plus(phase.seconds)
    return seconds


def _longer(interval: Interval, seconds: float) -> Interval:
    return Interval(interval.p10 + seconds * 0.5, interval.p50 + seconds, interval.p90 + seconds * 3)


def _compile(facts: Facts, c: Configuration) -> Phase:
    job = facts.job
    if c.neuron and job.neuron is not None and job.neuron.cache_s3_uri:
        return Phase("load compiled graphs", Interval(30, 90, 300), True, "graphs are in the cache: assumed")
    if c.neuron:
        # 12 to 13 minutes of a BERT-base job, some 40 of Llama-2-7B: public notebooks; between them the size's root
        middle = 750 * max(1.0, (c.model.parameters / c.tensor / 110e6)) ** 0.42
        seconds = Interval(middle / 2, middle, middle * 2)
        return Phase("compile, first time", seconds, True, "two public notebooks; cached: 1 to 5 minutes")
    if job.compiled:
        return Phase("compile", Interval(120, 300, 700), True, "the Training Compiler compiles for each shape")
    return Phase("warm-up", Interval(10, 25, 60), True, "the first hundred steps of public logs")


def _upload(facts: Facts, c: Configuration, steps: float) -> float:
    """Seconds to put the model folder, with Trainer's checkpoints that lie in it, into its archive, and that and checkpoints into S3."""
    job, parameters = facts.job, c.model.parameters / c.tensor / c.pipeline
    whole = not c.adapters or facts.given(*MERGES) or "merge_and_unload" in reading.sure_words(job)
    model = parameters * (2.0 if c.adapters or c.half_states else 4.0) if whole else ADAPTER
    checkpoint = 3 * (ADAPTER if c.adapters else parameters * 4.0)
    kept, when = 0.0, facts.text("save_strategy") or "steps"
    if inside(facts.text("output_dir"), MODEL) and when != "no":
        epochs, every = facts.number(("num_train_epochs",)) or 3.0, facts.number(("save_steps",)) or SAVE_STEPS
        kept = epochs if when == "epoch" else steps // every
        kept = min(kept, facts.number(("save_total_limit",)) or kept)
    synced = 0.0 if job.checkpoints is None else checkpoint / TRANSFER
    return (model + checkpoint * kept) / (ARCHIVED if job.output.compress else TRANSFER) + synced
