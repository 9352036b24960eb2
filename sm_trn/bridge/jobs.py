"""Requests that a launcher sent as jobs of this package: the spec, its source, the v3 program, and the proof that both say the same."""

from __future__ import annotations

import ast
import dataclasses
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from ..core.archives import Member
from ..core.errors import SmTrnError
from ..core.preflight.data import PLACEHOLDER
from ..core.render import destination_of, parse_request, problems, render
from ..core.render import request as target
from ..core.render.keeping import kept_parts
from ..core.specs.destination import Destination
from ..core.specs.framework import HuggingFaceNeuronX, NeuronX
from ..core.specs.job import JobSpec, Script
from ..core.specs.json import Json
from ..core.specs.problems import Severity
from ..core.specs.tuning import Sweep
from .proof import Proof, compare
from .recorder.answers import ACCOUNT
from .recorder.recording import STOOD_FOR, RecordedCall
from .sites import Place, Site
from .sweeps import recorded_sweep
from .trainers import read_trainer

LARGEST_SOURCE: Final = 2_000_000_000  # bytes that a source may unpack to
STARTED_BY_V2: Final = ("ProfilerConfig", "DebugHookConfig")  # unless it is told otherwise
_MOST_FILES: Final = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A request that a launcher sent, at the line of its call. ``site`` is the launch site that it came from.

    ``job`` has its ``source`` in a folder of that name; it is None where ``refusal`` keeps it from being written. ``proof`` compares
    the request with ours; ``notes`` are what the user has to know. A tuner's launch has a ``sweep``.

    >>> launch = st.import_launcher("launch.py").launches[0]
    >>> launch.job.compute.instance, launch.proof.differences
    ('ml.g5.xlarge', ())
    """

    name: str
    place: Place | None
    site: Site | None
    request: Mapping[str, Json]
    region: str
    job: JobSpec | None = None
    sweep: Sweep | None = None
    source: Callable[[Path], None] | None = field(default=None, repr=False, compare=False)
    proof: Proof | None = None
    notes: tuple[str, ...] = ()
    refusal: str = ""

    def with_source(self, folder: str) -> Launch:
        """Return the launch with its source in another folder."""
        script = self.job.script if self.job is not None else None
        if self.job is None or script is None or script.source_dir != "source":
            return self
        return dataclasses.replace(self, job=self.job.replace(script=Script(script.entry, source_dir=folder)))

    def program(self) -> tuple[str, str]:
        """Return the job as a program for SDK v3, and why it is TrainingJob.create where ModelTrainer cannot say it.

        Raises SmTrnError where neither can.
        """
        if self.job is None:
            raise SmTrnError(self.refusal)
        plain = self.job.replace(
            extra={name: value for name, value in self.job.extra.items() if name not in STARTED_BY_V2},
            kept=tuple(part for part in self.job.kept if part.steps[0] not in STARTED_BY_V2),
        )
        errors = [each for each in problems(plain, "model-trainer-v3") if each.severity is Severity.ERROR]
        job, form = (self.job, "training-job-v3") if errors else (plain, "model-trainer-v3")
        text = str(render(job, form, at=Destination(role=destination_of(self.request).role, region=self.region)))
        if words := list(dict.fromkeys(PLACEHOLDER.findall(text))):
            text = f'raise SystemExit("fill in {", ".join(words)}, then delete this line")\n{text}'
        return text, str(errors[0]) if errors else ""


def launch_of(call: RecordedCall, place: Place | None, site: Site | None, uploads: Mapping[str, bytes]) -> Launch:
    """Return the launch of a recorded request; one that cannot be a job says why."""
    launch = Launch(
        name=next((str(value) for key, value in call.request.items() if key.endswith("JobName")), ""),
        place=place, site=site, request=call.request, region=call.region,
        notes=(*_notes(call.request), *_version_notes(call.request, site)),
    )  # fmt: skip
    if unknown := STOOD_FOR.search(json.dumps(dict(call.request), ensure_ascii=False, default=str)):
        refusal = f"got {unknown[0]} in the request, wanted its value; install it and import again"
        return dataclasses.replace(launch, refusal=refusal)
    try:
        if call.operation == "CreateTrainingJob":
            return _training_launch(launch, uploads)
        sweep = recorded_sweep(_with_placeholders(call.request, call.region))
        job, unpack = _with_source(sweep.job, uploads)
        return dataclasses.replace(launch, sweep=sweep.replace(job=job), job=job, source=unpack)
    except SmTrnError as error:
        return dataclasses.replace(launch, refusal=str(error))


def _training_launch(launch: Launch, uploads: Mapping[str, bytes]) -> Launch:
    request = _with_placeholders(launch.request, launch.region)
    trainer = read_trainer(request, {_placed(uri, launch.region): body for uri, body in uploads.items()})
    if trainer is None:
        at = dataclasses.replace(destination_of(launch.request), region=launch.region)
        proof = compare(target.render(parse_request(launch.request, at=at), at), launch.request)
        job, unpack = _with_source(_spec(request, launch.region), uploads)
        return dataclasses.replace(launch, job=job, source=unpack, proof=proof)
    job = _spec(trainer.request, launch.region)
    if trainer.hyperparameters is not None:
        job = job.replace(hyperparameters=trainer.hyperparameters)
    if trainer.distribution is not None:
        job = job.replace(distribution=trainer.distribution)
    notes = (*launch.notes, *trainer.notes)
    if str(job.output.s3_uri).startswith("s3://YOUR-BUCKET"):  # where SDK v3 writes by default
        job = job.replace(output=dataclasses.replace(job.output, s3_uri=None))
    if not trainer.entry:
        return dataclasses.replace(launch, job=job, notes=notes)
    job = job.replace(script=Script(trainer.entry, source_dir="source"))

    def write(folder: Path) -> None:
        for name, body in trainer.source.items():
            path = (folder / name).resolve()
            if folder.resolve() not in path.parents:
                raise SmTrnError(f"source: got {name!r}, wanted a file below the source's folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)

    return dataclasses.replace(launch, job=job, source=write, notes=notes)


def _spec(request: Mapping[str, Json], region: str) -> JobSpec:
    """The spec of a request, with nothing that a session says by itself."""
    at = dataclasses.replace(destination_of(request), region=region)
    job = parse_request(request, at=at)
    if job.output.s3_uri in {f"s3://{at.bucket}/", "s3://YOUR-BUCKET/"}:
        job = _if_same(job.replace(output=dataclasses.replace(job.output, s3_uri=None)), job, request, at)
    if isinstance(job.framework, NeuronX | HuggingFaceNeuronX):
        plain = dataclasses.replace(job.framework, python=None, neuron_sdk=None)
        job = _if_same(job.replace(framework=plain), job, request, at)
    return job


def _if_same(better: JobSpec, job: JobSpec, request: Mapping[str, Json], at: Destination) -> JobSpec:
    """Return the other way to say the job, where it renders the very same request."""
    try:
        kept = kept_parts(target.typed(better, at), request)
        better = better.replace(kept=kept)
        return better if len(kept) <= len(job.kept) and target.render(better, at) == request else job
    except (SmTrnError, ValueError, TypeError):
        return job


def _with_source(job: JobSpec, uploads: Mapping[str, bytes]) -> tuple[JobSpec, Callable[[Path], None] | None]:
    """Return the job with the source that was uploaded for it as a folder, and what unpacks it; as it is where that lies elsewhere."""
    uri = job.script.source_dir if job.script is not None else None
    body = uploads.get(uri or "") or next((body for place, body in uploads.items() if _placed(place, "") == uri), None)
    if body is None or job.script is None:
        return job, None
    archive = body
    return job.replace(script=Script(job.script.entry, source_dir="source")), lambda folder: unpack(archive, folder)


def unpack(body: bytes, folder: Path) -> None:
    """Unpack a source archive. Raises SmTrnError for one that leaves the folder, or that is larger than a source can be."""
    folder.mkdir(parents=True, exist_ok=True)
    size = count = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(body), mode="r|*", tarinfo=Member) as archive:
            for member in archive:
                size, count = size + member.size, count + 1
                if size > LARGEST_SOURCE or count > _MOST_FILES:
                    raise SmTrnError(
                        f"source: got more than {LARGEST_SOURCE / 1e9:.0f} GB or {_MOST_FILES:,} files unpacked"
                    )
                archive.extract(member, folder, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise SmTrnError(
            f"source: got an archive that cannot be unpacked ({error}), wanted the SDK's sourcedir.tar.gz"
        ) from None


def _with_placeholders(request: Mapping[str, Json], region: str) -> dict[str, Json]:
    """Return the request with visible words for the account and the bucket that the recorder made up; check refuses them."""
    return {key: _replaced(value, region) for key, value in request.items()}


def _replaced(value: Any, region: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _replaced(item, region) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, region) for item in value]
    return _placed(value, region) if isinstance(value, str) and not value.startswith("arn:aws:iam:") else value


def _placed(text: str, region: str) -> str:
    bucket = re.escape(f"sagemaker-{region}-{ACCOUNT}") if region else rf"sagemaker-[a-z0-9-]+-{ACCOUNT}"
    return re.sub(bucket, "YOUR-BUCKET", text).replace(f"{ACCOUNT}.dkr.ecr", "YOUR-ACCOUNT.dkr.ecr")


def _version_notes(request: Mapping[str, Any], site: Site | None) -> Iterator[str]:
    """Yield a sentence for each version that the call names and the image that SDK v2 chose does not have."""
    image = str(request.get("AlgorithmSpecification", {}).get("TrainingImage", ""))
    for argument in site.node.keywords if site is not None else ():
        version = argument.value.value if isinstance(argument.value, ast.Constant) else ""
        if (
            argument.arg in {"framework_version", "pytorch_version"}
            and "-training" in image
            and str(version) not in image
        ):
            yield f"{argument.arg}={version!r} became the image {image.rpartition('/')[2]}"


def _notes(request: Mapping[str, Json]) -> tuple[str, ...]:
    """Return a sentence about values that hold the moment of the run; the SDK's own job name is none of them."""
    own = {key: value for key, value in request.items() if key != "TrainingJobName"}
    text = json.dumps(own, default=str).replace(str(request.get("TrainingJobName")), "")
    today = datetime.now(timezone.utc)
    days = [f"{today:%Y-%m-%d}", f"{today:%Y%m%d}", f"{today:%Y_%m_%d}", f"{today:%Y/%m/%d}"]
    return (
        ("it holds the moment of this run: another run sends another one",) if any(day in text for day in days) else ()
    )
