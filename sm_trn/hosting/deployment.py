"""From a finished job to what answers: whether its artefact can be hosted, with which code and image, under which names.

It decides; ``aws`` does. It must not wait, nor show anything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core._entry import scripts_folder, shipped_scripts
from ..core.catalog.inference import hosting_image
from ..core.errors import CloudError, InvalidJob, LaunchUnknown
from ..core.ports import Artefact, Model
from ..core.session.cloud import Cloud
from ..core.session.launches import unique_name
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Field, Problem, rules_of
from ..core.specs.snapshot import JobSnapshot

JOB_TAG = "sm_trn:job"
EXPIRES_TAG = "sm_trn:expires"
LARGEST_BYTES = 20_000_000_000  # more than a default host's disk holds unpacked
_OWN_FORMAT = {"config.json", "tokenizer.json"}

_RULES = rules_of(__package__)
HOST001 = _RULES["HOST001"]
HOST002 = _RULES["HOST002"]
HOST003 = _RULES["HOST003"]
HOST004 = _RULES["HOST004"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """The job whose model is to answer: what it was asked to do, and what became of it. ``label`` begins the new names."""

    label: str
    spec: JobSpec
    now: JobSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A model that was made from a job. ``note`` says what the reader should know of its image; it may be empty."""

    name: str
    image: str
    model_uri: str
    note: str


class HostingInterrupted(KeyboardInterrupt):
    """Ctrl-C while an endpoint was made or waited for. ``name`` goes on, and is billed: the message says how
    to end it."""

    def __init__(self, message: str, *, name: str) -> None:
        self.name = name
        super().__init__(message)


@contextlib.contextmanager
def naming(kind: str, name: str, end: str) -> Iterator[None]:
    """Name what may have been made when a create is interrupted or its answer is lost, and how to end its billing. Raises
    HostingInterrupted after Ctrl-C, LaunchUnknown after a lost answer."""
    words = f"the {kind} {name} may have been made, and goes on and is billed then; to end it: {end}"
    try:
        yield
    except KeyboardInterrupt as error:
        raise HostingInterrupted(f"interrupted: {words}", name=name) from error
    except CloudError as error:
        refused = error.operation.startswith("Create") and not isinstance(error, LaunchUnknown)
        if refused:  # nothing was made; or it was, and has failed, which tells of itself
            raise
        raise LaunchUnknown(f"{error}; {words}", name=name, operation=error.operation, code=error.code) from error
    except Exception as error:
        raise LaunchUnknown(f"{type(error).__name__}: {error}; {words}", name=name, operation="Create") from error


def prepare(
    cloud: Cloud,
    job: Trained,
    instance: str,
    *,
    code: str | None,
    image_uri: str | None,
    environment: Mapping[str, str] | None,
    tags: Mapping[str, str],
) -> Deployment:
    """Check the job's artefact, give it code where it lacks it, and make a model of it.

    Raises InvalidJob with all that is wrong, UnknownName where no image fits, CloudError.
    """
    hosting = cloud.hosts
    uri = job.now.model_s3_uri or ""
    artefact = hosting.look(uri, LARGEST_BYTES) if uri.endswith(".tar.gz") else None
    own = code is None and artefact is not None and not artefact.code and _classifier(job, artefact)
    framework = job.spec.framework
    hugging_face = own or framework.family.startswith("huggingface")
    problems = tuple(_problems(job, uri, artefact, answered=code is not None or own or hugging_face))
    if problems or artefact is None:
        raise InvalidJob(job.now.name, problems)
    image, note = image_uri or "", ""
    if not image:
        image, note = hosting_image(
            instance,
            cloud.region,
            pytorch=framework.pytorch or None,
            transformers=framework.transformers,
            hugging_face=hugging_face,
        )
    added = _code(code, own=own)
    placed = hosting.with_code(uri, added) if added else uri
    variables = {"SAGEMAKER_CONTAINER_LOG_LEVEL": "20", "SAGEMAKER_REGION": cloud.region}
    if added or artefact.code:
        variables |= {"SAGEMAKER_PROGRAM": "inference.py", "SAGEMAKER_SUBMIT_DIRECTORY": "/opt/ml/model/code"}
    name = unique_name(job.label[:40].rstrip("-"), cloud.clock.now())
    model = Model(image=image, uri=placed, environment={**variables, **(environment or {})})
    hosting.create_model(name, cloud.role, model, tags)
    return Deployment(name=name, image=image, model_uri=placed, note=note)


def _code(code: str | None, *, own: bool) -> dict[str, bytes]:
    from .aws import read_code  # noqa: PLC0415 - `import sm_trn` loads no boto3

    if code is not None:
        return read_code(code)
    return read_code(str(scripts_folder() / "inference.py")) if own else {}


def _classifier(job: Trained, artefact: Artefact) -> bool:
    """Return True if the shipped inference.py can answer with it: a classifier that a shipped script has saved."""
    return (
        Path(job.now.program).name in {"train_text_classification.py", "train_glue.py"} & set(shipped_scripts())
        and set(artefact.names) >= _OWN_FORMAT
    )


def _problems(job: Trained, uri: str, artefact: Artefact | None, *, answered: bool) -> Iterator[Problem]:
    """HOST001, HOST002, HOST003, HOST004: An endpoint that cannot load its model is found out, and billed, minutes later."""
    if artefact is None:
        yield HOST001.problem(
            Field("model"),
            "the job has left no model.tar.gz to host",
            got=uri or f"no artefact, {job.now.status_word}",
            wanted="s3://…/model.tar.gz",
            fix=Advice("wait until the job is Completed; a job with output compression NONE has to be packed first"),
        )
        return
    if not any(not name.startswith("code/") for name in artefact.names):
        yield HOST001.problem(
            Field("model"),
            "the artefact holds no model",
            got=f"{len(artefact.names)} members in {uri}",
            wanted="what the script saves in SM_MODEL_DIR",
            fix=Advice("let the script save its model to /opt/ml/model"),
        )
    if artefact.bad:
        yield HOST002.problem(
            Field("model"),
            "a host cannot unpack some members of the artefact",
            got=", ".join(repr(name) for name in artefact.bad[:3]),
            wanted="plain files, and links to files of the artefact",
            fix=Advice("let the script save copies in place of links"),
        )
    if artefact.size_bytes > LARGEST_BYTES:
        yield HOST003.problem(
            Field("model"),
            "the artefact is too large for a host's disk",
            got=f"{artefact.size_bytes:,} bytes",
            wanted=f"at most {LARGEST_BYTES:,}",
            fix=Advice("leave checkpoints and optimizer states out of /opt/ml/model"),
        )
    if not artefact.code and not answered:
        yield HOST004.problem(
            Field("code"),
            "the artefact has no code that answers",
            got="no code/inference.py",
            wanted="model_fn and, where the defaults do not fit, input_fn, predict_fn and output_fn",
            fix=Advice("deploy(…, code='inference.py'), or a folder with an inference.py in it"),
        )
