"""The data of a fit as the channels of SDK v3's train."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from ...core import fields
from ...core.render.sdk_v3 import CONFIGS
from .pieces import Arguments, Made, Name, Piece, RefusedError

SINGLE: Final = '"training"'  # what SDK v2 calls a channel that has no name
TRAINING_INPUT: Final = "sagemaker.inputs.TrainingInput"
FILE_SYSTEM_INPUT: Final = "sagemaker.inputs.FileSystemInput"
_OF_DATA: Final = "data_source.s3_data_source."
_CHANNEL: Final[Mapping[str, str]] = {
    row.v2: row.v3 for row in fields.CHANNEL if "." not in row.v2 and row.v2 != "shuffle_config"
}
_SAID: Final = {
    "s3_data_type": '"S3Prefix"',
    "s3_data_distribution_type": '"FullyReplicated"',
}  # v2 says both where nothing is said


_CLASSES: Final = {"data_source": "DataSource", "s3_data_source": "S3DataSource"}


def data(given: Arguments, channel: str | None, *, whole: bool = False) -> Made:
    """A TrainingInput: a whole channel where it is known which one it is for, else its place in S3. ``whole`` keeps
    the channel from being said in short.

    Raises RefusedError for what only a channel can say where the channel's name is not known.
    """
    made = Made(f"{CONFIGS}.Channel", {} if channel is None else {"channel_name": Piece(channel)})
    for name, piece in given.named.items():
        if piece.text == "None":
            continue
        if name not in _CHANNEL:
            raise RefusedError(f"a channel of SDK v3 has no {name} that is known here")
        if channel is None and not _CHANNEL[name].startswith(_OF_DATA):
            raise RefusedError(f"TrainingInput({name}=…): the name of its channel does not stand in one place")
        _put(made, _CHANNEL[name].split("."), piece)
    place = _put(made, [*_OF_DATA.strip(".").split("."), "s3_uri"], None)
    for word, text in _SAID.items():
        place.parts.setdefault(word, Piece(text))
    if channel is None:
        return place
    beside = set(made.parts) - {"channel_name", "data_source"}
    if beside <= {"content_type"} and not whole:
        made.cls = f"{CONFIGS}.InputData"
        made.parts["data_source"] = place
    return made


def _put(made: Made, path: list[str], piece: Piece | None) -> Made:
    *above, last = path
    for step in above:
        inner = made.parts.setdefault(step, Made(f"{CONFIGS}.{_CLASSES[step]}"))
        made = inner if isinstance(inner, Made) else made
    if piece is not None:
        made.parts[last] = piece
    return made


def file_system(given: Arguments) -> Made:
    """A FileSystemInput as the data source of the same words. Raises RefusedError for a content type, which it has no word for."""
    parts = dict[str, Made | Piece](given.named)
    if "content_type" in parts:
        raise RefusedError("FileSystemInput(content_type=…): SDK v3 has it in the channel")
    parts.setdefault("file_system_access_mode", Piece('"ro"'))
    return Made(f"{CONFIGS}.FileSystemDataSource", parts)


class Form(enum.Enum):
    """How a channel of one place is written. SDK v3 makes its mode File where the place is a URI: where the job has a mode, the
    place is an object. TrainingJob.create takes whole channels alone."""

    URI = "URI"
    PLACE = "place"
    CHANNEL = "channel"


def channel(name: str, source: str, call: Name, *, form: Form) -> str:
    """A channel of one place."""
    if form is Form.URI:
        return f"{call(f'{CONFIGS}.InputData')}(channel_name={name}, data_source={source})"
    words = ", ".join(f"{word}={text}" for word, text in _SAID.items())
    place = f"{call(f'{CONFIGS}.S3DataSource')}(s3_uri={source}, {words})"
    if form is Form.PLACE:
        return f"{call(f'{CONFIGS}.InputData')}(channel_name={name}, data_source={place})"
    data_source = f"{call(f'{CONFIGS}.DataSource')}(s3_data_source={place})"
    return f"{call(f'{CONFIGS}.Channel')}(channel_name={name}, data_source={data_source})"


def listed(items: list[str], column: int) -> str:
    """Channels as a list: on one line where that is short."""
    line = f"[{', '.join(items)}]"
    if len(line) + column < 100 and "\n" not in line:
        return line
    margin = " " * (column + 4)
    return "[\n" + "".join(f"{margin}{item},\n" for item in items) + " " * column + "]"
