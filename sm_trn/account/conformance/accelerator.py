"""The second battery: a shipped script trained for a few steps on an accelerator, stopped and resumed, beside what was estimated.

Three jobs: one left alone, one stopped in its midst, one that resumes it. It must not decide whether they may be paid for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Final

from ...core import _entry
from ...core.aws.artefacts import model_digests
from ...core.aws.logs import CloudWatchLogs
from ...core.aws.storage import pack
from ...core.catalog.chips import find_chip
from ...core.catalog.instances import find_instance
from ...core.errors import SmTrnError, UnknownName
from ...core.logs.metrics import points
from ...core.logs.throughput import throughput
from ...core.ports import LogCursor
from ...core.pricing.book import Price
from ...core.pricing.cost import usd_for
from ...core.render.request import render
from ...core.specs.compute import Accelerator, Compute
from ...core.specs.data import Checkpoint, Output
from ...core.specs.destination import Destination
from ...core.specs.framework import HuggingFace, NeuronX
from ...core.specs.job import JobSpec, Script
from ...core.specs.json import Json, Object
from ...core.specs.metrics import MetricPoint
from ...core.specs.units import Usd, WallSeconds
from ...core.strategies import plan
from ...core.strategies.torchrun import TorchDistributed
from ...forecast.jobs.calibration import Calibration
from ...forecast.jobs.estimate import estimate, learn
from .bench import TERMINAL, Bench, Unanswered
from .jobs import STOP_S
from .journal import TAG, TRAINING_JOB

STEPS, STOP_AT, SAVED_EVERY, LOGGED_EVERY = 50, 20, 10, 5
LIMIT_S: Final = 1800
LONGEST_S: Final = 7200.0  # capacity for an accelerator is waited for so long
JOBS: Final = ("whole", "cut", "resumed")
MODEL, LENGTH = "bert-base-cased", 128
EXAMPLES: Final = 3600  # of the shipped sample's 4,000, a tenth is held out: entry_scripts/sample/reviews.csv


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What three jobs showed. ``estimated_step_s`` is the estimate's 10 %, 50 % and 90 % point, None where it has none.

    ``exact`` says whether the resumed job's model holds the same bytes as that of the job left alone; None: nothing to compare.
    """

    instance: str
    workers: int
    steps_per_s: float | None
    samples_per_s: float | None
    compiles: int | None
    compile_s: float | None
    memory_gb: float | None
    exact: bool | None
    stopped_at: int | None
    estimated_step_s: tuple[float, float, float] | None
    estimated_memory_gib: float | None
    emulated: bool

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        mark = "EMULATED: these are this machine's figures. " if self.emulated else ""
        yield f"{mark}{self.instance}, {self.workers} workers, at least {STEPS} steps."
        step = "not told by the log" if not self.steps_per_s else f"{1 / self.steps_per_s:.4g} s"
        low = self.estimated_step_s
        said = "no estimate" if low is None else f"estimated {low[1]:.4g} s ({low[0]:.4g} to {low[2]:.4g})"
        yield f"  a step       {step:<22} {said}"
        memory = "not told by the log" if self.memory_gb is None else f"{self.memory_gb:.3g} GB"
        limit = self.estimated_memory_gib
        yield f"  memory       {memory:<22} {'no estimate' if limit is None else f'estimated {limit:.3g} GiB'}"
        compiled = "none" if not self.compiles else f"{self.compiles} in {self.compile_s or 0:.0f} s"
        yield f"  compilations {compiled}"
        same = {True: "the same bytes", False: "OTHER bytes", None: "no model to compare"}[self.exact]
        yield f"  resumed      {same}, stopped after step {'?' if self.stopped_at is None else self.stopped_at}"

    def calibration(self, spec: JobSpec) -> Calibration:
        """What the measurement teaches an estimate; empty where there is no speed, or an emulated one."""
        if self.samples_per_s is None or self.emulated:
            return Calibration({})
        batch = int(str(spec.hyperparameters["per_device_batch_size"]))
        return learn(spec, self.samples_per_s / (batch * self.workers), examples=EXAMPLES)

    def row(self, spec: JobSpec) -> dict[str, Json] | None:
        """The measurement in the fields of the table of published speeds; None for what teaches nothing: no speed, or an emulated one."""
        if self.samples_per_s is None or self.emulated:
            return None
        batch = int(str(spec.hyperparameters["per_device_batch_size"]))
        return {
            "model": str(spec.hyperparameters["model"]),
            "task": "text classification fine-tuning",
            "seq_len": LENGTH,
            "per_device_batch": batch,
            "global_batch": batch * self.workers,
            "precision": "bf16" if spec.hyperparameters.get("bf16") else "fp32",
            "instance": self.instance.removeprefix("ml."),
            "instances": 1,
            "devices": self.workers,
            "distribution": "DDP",
            "framework": "torch-neuronx" if isinstance(spec.framework, NeuronX) else "PyTorch transformers",
            "metric": "throughput",
            "value": round(self.samples_per_s, 3),
            "unit": "sequences/s",
            "source": "sm-trn conformance",
            "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
            "flag": None,
        }


def spec_of(instance: str) -> JobSpec:
    """The job of one accelerator instance: at least ``STEPS`` steps of the shipped classifier. Raises UnknownName for another instance."""
    row = find_instance(instance)
    if row is None or row.accelerator is Accelerator.CPU or not row.trains:
        raise UnknownName(
            f"--accelerator: got {instance!r}, wanted an accelerator instance that trains; sm-trn catalog instances lists them"
        )
    chip, neuron = find_chip(row.chip), row.accelerator is Accelerator.NEURON
    return JobSpec(
        name="conformance-accelerator",
        script=Script("train_text_classification.py"),
        framework=NeuronX("2.9.0") if neuron else HuggingFace("4.56.2", pytorch="2.8.0", python="py312"),
        compute=Compute(instance),
        distribution=TorchDistributed(),
        max_run_s=LIMIT_S,
        hyperparameters={
            "model": MODEL,
            "train": "sample",
            "max_length": LENGTH,
            "per_device_batch_size": max(1, EXAMPLES // (STEPS * row.workers)),
            "epochs": 1,
            "bf16": chip is not None and bool(chip.bf16),
            "logging_steps": LOGGED_EVERY,
            "save_steps": SAVED_EVERY,
        },
    )


def most_usd(price: Price | None) -> Usd | None:
    """What the three jobs cost at most; None without a price."""
    seconds = WallSeconds(LIMIT_S + STOP_S)
    return (
        None if price is None else usd_for(seconds, len(JOBS), price.usd_per_hour).quantize(Decimal("0.01"), ROUND_UP)
    )


def measure(bench: Bench, spec: JobSpec) -> Measured:
    """Run the three jobs. Raises Unanswered for a quota, or a job that does not complete; else as the bench does."""
    battery = _Battery(bench, spec)
    found = battery.completed("whole")
    at = battery.cut()
    battery.completed("resumed", checkpoints="cut")
    speed, samples = throughput(found, unit="it/s"), throughput(found, unit="samples/s")
    compiles = _last(found, "compiles")
    row = find_instance(spec.compute.instance or "")
    step, memory = _estimated(spec)
    workers = plan(spec).workers_per_host
    return Measured(
        instance=row.name if row is not None else "",
        workers=workers,
        steps_per_s=None if speed is None else speed.median,
        samples_per_s=None if samples is None else samples.median,
        compiles=None if compiles is None else int(compiles),
        compile_s=_last(found, "compile_seconds"),
        memory_gb=max((p.value for p in found if p.name == "accelerator_memory_gb"), default=None),
        exact=battery.exact(),
        stopped_at=at,
        emulated=bench.target.emulated,
        estimated_step_s=step,
        estimated_memory_gib=memory,
    )


class _Battery:
    def __init__(self, bench: Bench, spec: JobSpec) -> None:
        self._bench, self._place = bench, bench.place
        self._logs = CloudWatchLogs(bench.target.session)
        self._spec = spec.replace(tags={TAG: bench.place.run}, output=Output(s3_uri=bench.place.uri("out")))
        script = spec.script
        folder = script.source_dir if script is not None else None
        self._key = f"{bench.place.root}/accelerator/sourcedir.tar.gz"
        body = pack(Path(folder) if folder else _entry.scripts_folder())
        put: Mapping[str, Json] = {"Bucket": self._place.bucket, "Key": self._key, "Body": body}
        bench.ask("s3:PutObject", put, kept=False)

    def completed(self, key: str, checkpoints: str = "") -> list[MetricPoint]:
        """Run a job to its end; the numbers of its log. Raises Unanswered where it does not complete."""
        self._start(key, checkpoints or key)
        status, reason = self._until(key, None)
        if status != "Completed":
            raise Unanswered(f"job {key} ended as {status}: {reason}")
        return self._points(key)

    def cut(self) -> int | None:
        """Start a job and stop it once its log names a step far enough; the last step that it names."""
        self._start("cut", "cut")
        self._until("cut", STOP_AT)
        self._bench.ask("sagemaker:StopTrainingJob", {"TrainingJobName": self._bench.name("cut")}, kept=False)
        self._until("cut", None)
        return _step(self._points("cut"))

    def exact(self) -> bool | None:
        """Whether the two models hold the same files with the same bytes."""
        uris = [self._described(key).get("ModelArtifacts") for key in ("whole", "resumed")]
        found = [uri.get("S3ModelArtifacts") for uri in uris if isinstance(uri, Mapping)]
        if len(found) < 2:
            return None
        one, other = (model_digests(self._bench.target.session, str(uri)) for uri in found)
        return one == other if one and other else None

    def _start(self, key: str, checkpoints: str) -> None:
        name = self._bench.name(key)
        at = Destination(
            role=self._place.role,
            region=self._place.region,
            bucket=self._place.bucket,
            job_name=name,
            source_uri=f"s3://{self._place.bucket}/{self._key}",
        )
        kept = Checkpoint(s3_uri=self._place.uri(f"checkpoints/{checkpoints}"))
        request = render(self._spec.replace(checkpoint=kept), at)
        outcome = self._bench.make(TRAINING_JOB, name, "sagemaker:CreateTrainingJob", request)
        if outcome.code:
            raise Unanswered(f"job {key} was refused: {outcome.code}")

    def _until(self, key: str, step: int | None) -> tuple[str, str]:
        """Until the job ended, or its log names this step: its status and why it failed. Raises Unanswered where that takes too long."""
        since = self._bench.now()
        while True:
            found = self._described(key)
            status = str(found.get("TrainingJobStatus", ""))
            if status in TERMINAL or (step is not None and (_step(self._points(key)) or 0) >= step):
                return status, str(found.get("FailureReason", ""))
            if self._bench.look_again(since) > LONGEST_S:
                raise Unanswered(f"job {key} is still {status} after {LONGEST_S:.0f} s")

    def _described(self, key: str) -> Object:
        request = {"TrainingJobName": self._bench.name(key)}
        return self._bench.ask("sagemaker:DescribeTrainingJob", request, kept=False).answer

    def _points(self, key: str) -> list[MetricPoint]:
        events, _ = self._logs.fetch_events(self._bench.name(key), LogCursor())
        return list(points(events))


def _estimated(spec: JobSpec) -> tuple[tuple[float, float, float] | None, float | None]:
    """Seconds of a step and GiB of memory, as the estimate has them; nothing for a script that it cannot read."""
    try:
        found = estimate(spec, examples=EXAMPLES)
    except SmTrnError:
        return None, None
    step = found.step_s
    return None if step is None else (step.p10, step.p50, step.p90), found.memory.total


def _step(found: list[MetricPoint]) -> int | None:
    return max((int(point.step) for point in found if point.step is not None), default=None)


def _last(found: list[MetricPoint], name: str) -> float | None:
    return next((point.value for point in reversed(found) if point.name == name), None)
