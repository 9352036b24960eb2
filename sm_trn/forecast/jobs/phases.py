"""The phases of a job around its steps, each as an interval of seconds: measured on public logs, and said so."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ...core.catalog.images import recognise
from ...core.preflight import reading, source
from ...core.preflight.spot import MODEL, SAVE_STEPS, inside
from ...core.specs.framework import PyTorch
from ...core.specs.job import JobSpec
from ...core.specs.json import Json
from ...scripts.programs import programs
from ...scripts.syntax import called
from ..configuration import Configuration
from ..intervals import Interval, exactly
from .facts import Facts

OWN_IMAGE = "nothing: how large an image of one's own is, is not known"
TRANSFER = 150e6  # bytes a second between S3 and an instance, one large object
DOWNLOADED = 2.0  # bytes of a parameter in published checkpoints
STORED = 4.0  # bytes of a parameter as the scripts save them
ADAPTER = 2e8  # bytes of an adapter
ARCHIVED = (
    30e6  # bytes a second into model.tar.gz: gzip's own speed on weights, measured; a public job of 26 GB fits it
)
MERGES = (
    "merge_weights",
    "merge_adapters",
    "merge_lora",
    "merge",
)  # what scripts call merging adapters into the model they save
FOREIGN_PULL = (
    1200  # seconds: one public job with an image and a file system of its own took so long before its first step
)
SMALL_IMAGES = 2020.7  # PyTorch's own images of 1.6 and before: seven public logs
_MERGING = "merge_and_unload"  # peft's


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: its seconds, whether they are billed, and on what the figure stands."""

    name: str
    seconds: Interval
    billed: bool
    basis: str


def phases(
    facts: Facts, c: Configuration, steps: float, step: Interval, examples: float, *, measured: bool = False
) -> tuple[Phase, ...]:
    """All phases of a job, in order."""
    job, parameters = facts.job, c.model.parameters
    training = step.scaled(steps)
    found = [
        Phase("capacity and start", _start(c), False, "no wait for capacity: assumed, not known"),
        Phase(
            "image pull",
            _pull(job, c),
            True,
            OWN_IMAGE if _of_ones_own(job) else "22 public logs of GPU images, 2 of Neuron images",
        ),
        Phase("download and data", _download(job, parameters, examples), True, "18 public logs, and bytes at 150 MB/s"),
    ]
    compiled = _compile(job, c)
    if compiled is not None:
        found.append(compiled)
    found.append(Phase(f"{steps:,.0f} steps", training, True, f"the {'measured' if measured else 'estimated'} step"))
    evaluations = _evaluations(facts)
    if evaluations:
        found.append(
            Phase(
                "evaluations",
                step.scaled(max(steps, 1) * 0.035 * evaluations),
                True,
                "a tenth of the data, forward only",
            )
        )
    found.append(
        Phase(
            "save and upload",
            _plus(Interval(5, 41, 370), _upload(facts, c, steps)),
            True,
            "17 public logs; an archive is made at 30 MB/s, files leave at 150",
        )
    )
    return tuple(found)


def assumed_of(job: JobSpec) -> tuple[str, ...]:
    """What the phases before training take for granted of a job that names neither its image nor where its data lie, in words."""
    if job.inputs or job.image_uri is not None:
        return ()
    longest = f"{FOREIGN_PULL // 60} minutes before its first step"
    return (f"AWS's own image, and data that S3 sends: with others of its own one public job took {longest}",)


def billed(found: tuple[Phase, ...]) -> Interval:
    """Billable seconds: phases err independently."""
    return _sum([phase.seconds for phase in found if phase.billed])


def wall(found: tuple[Phase, ...]) -> Interval:
    """Seconds from submit to end."""
    return _sum([phase.seconds for phase in found])


def _sum(intervals: list[Interval]) -> Interval:
    total = exactly(0.0)
    for each in intervals:
        total = total.plus(each)
    return total


def _plus(interval: Interval, seconds: float) -> Interval:
    return Interval(interval.p10 + seconds * 0.5, interval.p50 + seconds, interval.p90 + seconds * 3)


def _upload(facts: Facts, c: Configuration, steps: float) -> float:
    """Seconds to put the model folder into its archive and both it and checkpoints into S3."""
    job, given = facts.job, facts.arguments
    parameters = c.model.parameters / c.tensor / c.pipeline
    whole = not c.adapters or facts.said(MERGES) or _merges(job)
    model = parameters * (2.0 if c.adapters or c.half_states else STORED) if whole else ADAPTER
    checkpoint = parameters * STORED * 3 if not c.adapters else 3 * ADAPTER
    packed = checkpoint * _checkpoints(given, steps) if inside(str(given.get("output_dir") or ""), MODEL) else 0.0
    synced = 0.0 if job.checkpoints is None else checkpoint
    return (model + packed) / (ARCHIVED if job.output.compress else TRANSFER) + synced / TRANSFER


def _merges(job: JobSpec) -> bool:
    """Whether the script merges adapters into the model under no condition, in code that it runs."""
    words = reading.words(job)
    if words is None or _MERGING not in words.all - words.undecided - words.asked_for:
        return False
    texts = [text for _, text in programs(job)]
    run = {called(call) for text in texts for call in source.calls(text)}
    functions = [node for text in texts for node in ast.walk(source.tree(text)) if isinstance(node, ast.FunctionDef)]
    return all(function.name in run for function in functions if _MERGING in ast.unparse(function))


def _checkpoints(given: Mapping[str, Json], steps: float) -> float:
    """Checkpoints of transformers' Trainer that lie in its folder at the end."""
    when = str(given.get("save_strategy") or "steps")
    made = {"no": 0.0, "epoch": _number(given, "num_train_epochs", 3)}.get(
        when, steps // _number(given, "save_steps", SAVE_STEPS)
    )
    return min(made, _number(given, "save_total_limit", made))


def _number(given: Mapping[str, Json], name: str, otherwise: float) -> float:
    try:
        return max(float(str(given.get(name))), 1e-3)
    except ValueError:
        return otherwise


def _start(c: Configuration) -> Interval:
    if c.neuron:
        return Interval(100, 150, 600)
    if c.chip.name.startswith(("A100", "H100", "H200", "B")):
        return Interval(300, 311, 554)
    return Interval(67, 90, 146)


def _pull(job: JobSpec, c: Configuration) -> Interval:
    if c.neuron:
        return Interval(150, 220, 350)
    if _of_ones_own(job):
        return Interval(40, 231, FOREIGN_PULL)
    small = isinstance(job.framework, PyTorch) and c.release < SMALL_IMAGES
    return Interval(40, 80, 102) if small else Interval(110, 231, 323)


def _of_ones_own(job: JobSpec) -> bool:
    """Whether the container's image is none of the public ones, so that nothing tells its size."""
    return job.image_uri is not None and recognise(job.image_uri) is None


def _download(job: JobSpec, parameters: float, examples: float) -> Interval:
    """Model and data, and texts turned into tokens by one process. How fast a mounted file system is, is not known."""
    model = parameters * DOWNLOADED / TRANSFER
    tokenized = min(max(examples, 0.0), 5e6) / 6000
    return _plus(Interval(3, 25, FOREIGN_PULL if job.file_systems else 90), model + tokenized)


def _compile(job: JobSpec, c: Configuration) -> Phase | None:
    if c.neuron:
        if job.neuron is not None and job.neuron.cache_s3_uri:
            return Phase("load compiled graphs", Interval(30, 90, 300), True, "graphs are in the cache: assumed")
        # 12 to 13 minutes of a BERT-base job, some 40 of Llama-2-7B: public notebooks; between them the size's root
        middle = 750 * max(1.0, (c.model.parameters / c.tensor / 110e6)) ** 0.42
        return Phase(
            "compile, first time",
            Interval(middle / 2, middle, middle * 2),
            True,
            "two public notebooks; cached: 1 to 5 minutes",
        )
    if job.compiled:
        return Phase("compile", Interval(120, 300, 700), True, "the Training Compiler compiles for each shape")
    return Phase("warm-up", Interval(10, 25, 60), True, "the first hundred steps of public logs")


def _evaluations(facts: Facts) -> float:
    """How often a tenth of the data is evaluated, in epochs' worth."""
    said = [str(facts.arguments.get(name, "")).lower() for name in ("do_eval", "evaluation_strategy", "eval_strategy")]
    return 1.0 if any(each not in {"", "no", "false", "0", "none"} for each in said) else 0.0
