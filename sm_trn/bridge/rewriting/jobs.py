"""An estimator of SDK v2 as the arguments of SDK v3's TrainingJob.create, for what ModelTrainer cannot say: the same request.

What the program says stands there as its own expressions; what SDK v2 adds is taken from the request that it was seen to send.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ...core import fields
from ...core.render import training_job_v3
from ...core.render.calls import EstimatorCall
from ...core.render.training_job_v3 import RESOURCES, SHAPES, snake
from ...core.specs.json import Json
from ..recorder.answers import ACCOUNT
from .pieces import Arguments, Made, Name, Piece, RefusedError, entries, literal
from .trainers import ESTIMATORS, Translation, image, objects, session_of

TRAINING_JOB: Final = f"{RESOURCES}.TrainingJob"
NAME_FROM_BASE: Final = "sagemaker.core.common_utils.name_from_base"
PACK: Final = "sagemaker.core.fw_utils.tar_and_upload_dir"
REGION: Final = "us-west-2"  # of the recorder
BUCKET: Final = f"sagemaker-{REGION}-{ACCOUNT}"
_UNSAID: Final = "\x7f"  # around a text that would be another one in another account or region
_OF_START: Final = frozenset({"TrainingJobName", "InputDataConfig"})
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "role": ("role_arn",),
    "input_mode": ("algorithm_specification", "training_input_mode"),
} | {
    row.v2: tuple(snake(step) for step in row.request.split("."))
    for row in fields.JOB
    if row.v2 and row.request and "." not in row.v2 and row.v2 != "disable_output_compression"
}
_LISTS: Final = {"tags": f"{RESOURCES}.Tag", "metric_definitions": f"{SHAPES}.MetricDefinition"}
# What goes into the hyperparameters, the image, the source, the session and the name.
_ELSEWHERE: Final = frozenset({
    "hyperparameters", "entry_point", "source_dir", "dependencies", "image_uri", "framework_version", "py_version",
    "transformers_version", "pytorch_version", "tensorflow_version", "sagemaker_session", "base_job_name", "distribution",
})  # fmt: skip
_REFUSED: Final = frozenset(
    {"git_config", "code_location", "compiler_config", "rules", "training_recipe", "recipe_overrides"}
)


@dataclass(frozen=True, slots=True)
class _Own:
    """What of a recorded text belongs to the user's account: it is asked of the session when the program runs."""

    session: str

    def text(self, value: str) -> str:
        if ACCOUNT not in value and REGION not in value:
            return _quoted(value)
        marked = value.replace(BUCKET, "\0").replace(REGION, "\1")
        if ACCOUNT in marked or "dkr.ecr" in marked:
            return f"{_UNSAID}{value}{_UNSAID}"
        body = json.dumps(marked, ensure_ascii=False).replace("{", "{{").replace("}", "}}")
        for mark, word in (("\\u0000", "default_bucket()"), ("\\u0001", "boto_region_name")):
            body = body.replace(mark, f"{{{self.session}.{word}}}")
        return f"f{body}"


def arguments(given: Arguments, how: Translation, request: Mapping[str, Json]) -> Made:
    """All arguments but the job's name and data, as a dict. Raises RefusedError for what neither program nor request tells."""
    for name in _REFUSED & set(given.named):
        if literal(given.named[name].text) not in (None, []):
            raise RefusedError(f"TrainingJob.create has no {name}, and what SDK v2 makes of it is not known here")
    session = session_of(given, how)
    own = _Own(session)
    sent = {key: value for key, value in request.items() if key not in {*_OF_START, "HyperParameters"}}
    call = training_job_v3.call(sent)
    made = Made("dict")
    if "sagemaker_session" in given.named:
        made.parts["session"] = Piece(f"{session}.boto_session")
    specification = call.kwargs["algorithm_specification"]
    for key, value in call.kwargs.items():
        part = (
            {name: each for name, each in value.kwargs.items() if name != "training_image"}
            if value is specification
            else None
        )
        made.parts[key] = _part(value, own, how.name) if part is None else _spec(value, part, own, how, given)
    for name, piece in given.named.items():
        placed = _overlay(made, name, piece, how.name)
        if not placed and name not in _ELSEWHERE and literal(piece.text) is ...:
            raise RefusedError(
                f"{name}={piece.text}: it has left no trace in the request, which may be another one next time"
            )
    made.parts["hyper_parameters"] = Piece(_hyperparameters(given, how, request.get("HyperParameters"), own))
    for text in _texts(made):
        if _UNSAID in text:
            raise RefusedError(
                f"SDK v2 adds {text.split(_UNSAID)[1]}, which is another one in another account or region"
            )
    return made


def _texts(made: Made) -> Iterator[str]:
    for part in made.parts.values():
        if isinstance(part, Made):
            yield from _texts(part)
        else:
            yield part.text


def _spec(value: EstimatorCall, parts: Mapping[str, object], own: _Own, how: Translation, given: Arguments) -> Made:
    """The algorithm: its image is the program's own, or looked up."""
    found = image(given, how, own.session)
    if isinstance(found, Made) and "distribution" in given.named:
        found.parts["distribution"] = Piece(given.named["distribution"].text)
    rest = {key: _part(each, own, how.name) for key, each in parts.items()}
    return Made(value.cls, {"training_image": found, **rest})


def _part(value: Any, own: _Own, name: Name) -> Made | Piece:
    if isinstance(value, EstimatorCall):
        return Made(value.cls, {key: _part(item, own, name) for key, item in value.kwargs.items()})
    return Piece(_text(value, own, name))


def _text(value: Any, own: _Own, name: Name) -> str:
    if isinstance(value, EstimatorCall):
        return (
            f"{name(value.cls)}({', '.join(f'{key}={_text(item, own, name)}' for key, item in value.kwargs.items())})"
        )
    if isinstance(value, list):
        return f"[{', '.join(_text(item, own, name) for item in value)}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(key)}: {_text(item, own, name)}" for key, item in value.items()) + "}"
    return own.text(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def _overlay(made: Made, name: str, piece: Piece, local: Name) -> bool:
    """Put the program's own expression where the request has what it stood for. False where it has nothing."""
    *above, last = _PLACES.get(name, ("",))
    place: Made | Piece | None = made
    for step in above:
        place = place.parts.get(step) if isinstance(place, Made) else None
    if not isinstance(place, Made) or last not in place.parts:
        return False
    if name == "instance_groups":
        return False
    if name in _LISTS:
        place.parts[last] = piece.saying(objects(piece.text, local(_LISTS[name]), name))
    else:
        place.parts[last] = piece
    return True


def _hyperparameters(given: Arguments, how: Translation, sent: Json, own: _Own) -> str:
    """The program's own, encoded as SDK v2 does it, and those of the toolkit."""
    rows = []
    said = given.named.get("hyperparameters")
    if said is not None and said.text != "None":
        encode = encoder(given, how.cls, how.name)
        rows.append(f"**{{key: {encode}(value) for key, value in {_mapping(said.text)}.items()}}")
    for key, value in sent.items() if isinstance(sent, Mapping) else ():
        if not key.startswith("sagemaker_") and key != "mp_parameters":
            continue
        if key == "sagemaker_submit_directory" and BUCKET in str(value):
            rows.append(f'"{key}": {how.name("json")}.dumps({_packed(given, how, own)})')
        elif (text := _spoken(key, given, how)) is not None:
            rows.append(f'"{key}": {how.name("json")}.dumps({text})')
        elif key != "sagemaker_job_name":
            rows.append(f'"{key}": {own.text(str(value))}')
    margin = " " * 8
    return "{\n" + "".join(f"{margin}{row},\n" for row in rows) + "    }"


def encoder(given: Arguments, cls: str, name: Name) -> str:
    """What makes a text of a hyperparameter: JSON for the toolkit, plain for an image without a script."""
    return f"{name('json')}.dumps" if ESTIMATORS[cls] or "entry_point" in given.named else "str"


def _spoken(key: str, given: Arguments, how: Translation) -> str | None:
    """An argument that the toolkit is told too, as source."""
    if key == "sagemaker_instance_type" and "instance_type" in given.named:
        return given.named["instance_type"].text
    if key != "sagemaker_program" or "entry_point" not in given.named:
        return None
    entry, folder = given.named["entry_point"].text, given.named.get("source_dir")
    if folder is not None and folder.text != "None":
        return entry
    path = literal(entry)
    return _quoted(os.path.basename(path)) if isinstance(path, str) else f"{how.name('os')}.path.basename({entry})"  # noqa: PTH119


def _mapping(text: str) -> str:
    return text if text.isidentifier() or entries(text) is not None else f"({text})"


def _packed(given: Arguments, how: Translation, own: _Own) -> str:
    entry, folder, beside = (given.named.get(name) for name in ("entry_point", "source_dir", "dependencies"))
    if entry is None:
        raise RefusedError("its source has no entry_point")
    rest = "".join(
        f", {word}={piece.text}"
        for word, piece in (("directory", folder), ("dependencies", beside))
        if piece is not None
    )
    prefix = f'{how.name(NAME_FROM_BASE)}("{how.base}") + "/source"'
    bucket = f"{own.session}.default_bucket()"
    return f"{how.name(PACK)}({own.session}.boto_session, {bucket}, {prefix}, script={entry.text}{rest}).s3_prefix"


def start(key: str, given: Arguments, channels: str | None, how: tuple[Name, str, str], *, named: bool) -> list[str]:
    """The statements that start the job of the arguments ``key``. ``how`` are the names of the program, the base of the job's
    name as source, and the variables' stem; ``named`` says that the toolkit is told the name. Raises RefusedError where it is not
    known whether it waits."""
    name, base, stem = how
    own = given.named.get("job_name")
    called = own.text if own is not None and own.text != "None" else f"{name(NAME_FROM_BASE)}({base})"
    lines = [f"{stem}_name = {called}"]
    if named:
        lines.append(f'{key}["hyper_parameters"]["sagemaker_job_name"] = {name("json")}.dumps({stem}_name)')
    data = f"    input_data_config={channels},\n" if channels is not None else ""
    create = f"{stem}_job = {name(TRAINING_JOB)}.create"
    lines.append(f"{create}(\n    training_job_name={stem}_name,\n{data}    **{key},\n)")
    wait, logs = (literal(given.named[word].text) if word in given.named else True for word in ("wait", "logs"))
    if not isinstance(wait, bool) or logs is ...:
        raise RefusedError("whether it waits does not stand in the call")
    if wait:
        lines.append(f"{stem}_job.wait(logs={bool(logs) and logs != 'None'})")
    return lines
