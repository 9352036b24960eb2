"""An estimator of SDK v2 as SDK v3's ModelTrainer: each argument goes, as it is written, to the class that has it now."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ...core import fields
from ...core.render.sdk_v3 import CONFIGS, LAUNCHERS, METHOD, class_of
from .pieces import Arguments, Made, Name, Piece, RefusedError, entries, items_of, literal

TRAINER: Final = "sagemaker.train.ModelTrainer"
SESSION: Final = "sagemaker.core.helper.session_helper.Session"
IMAGES: Final = "sagemaker.core.image_uris"
ESTIMATORS: Final[Mapping[str, str]] = {
    "sagemaker.estimator.Estimator": "",
    "sagemaker.pytorch.estimator.PyTorch": "pytorch",
    "sagemaker.huggingface.estimator.HuggingFace": "huggingface",
    "sagemaker.tensorflow.estimator.TensorFlow": "tensorflow",
}
DAY_S: Final = 24 * 60 * 60  # SDK v2's max_run where none is said

_OWN: Final = {
    "role": "role", "base_job_name": "base_job_name", "hyperparameters": "hyperparameters", "sagemaker_session": "sagemaker_session",
    "input_mode": "training_input_mode",
}  # fmt: skip
_SPECIAL: Final = frozenset(
    {"tags", "metric_definitions", "disable_output_compression", "container_entry_point", "container_arguments"}
)
_PLACES: Final[Mapping[str, str]] = _OWN | {
    row.v2: row.v3 for row in fields.JOB if row.v2 and row.v3 and "." not in row.v2 and row.v2 not in _SPECIAL
}
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "tags": {"Key": "key", "Value": "value"},
    "metric_definitions": {"Name": "name", "Regex": "regex"},
}
_VERSIONS: Final = ("framework_version", "py_version", "transformers_version", "pytorch_version", "tensorflow_version")
_SOURCE: Final = ("entry_point", "source_dir", "image_uri", "distribution", *_VERSIONS)
# What SDK v3 does not send: the differences that a rewriting is held to name each of them.
_GOES: Final[Mapping[str, tuple[object, ...]]] = {
    "debugger_hook_config": (False, None, True),
    "profiler_config": (None,),
    "rules": (None, []),
    "git_config": (None,),
    "dependencies": (None, []),
    "compiler_config": (None,),
    "model_dir": (False, None),
    "script_mode": (True,),
    "container_entry_point": (None,),
    "container_arguments": (None,),
    "model_uri": (None,),
}
_GOES_ALWAYS: Final = frozenset(
    {"disable_profiler", "container_log_level", "code_location", "enable_sagemaker_metrics"}
)


@dataclass(frozen=True, slots=True)
class Translation:
    """What an estimator's translation needs beside its call: its class, whether its source has a requirements.txt, what its
    jobs' names begin with, the names that have been given a launcher where they are assigned, and what the program calls a class.
    """

    cls: str
    requirements: bool
    base: str
    launchers: Mapping[str, str]
    name: Name


def trainer(given: Arguments, how: Translation) -> Made:
    """The ModelTrainer. Raises RefusedError for an argument that it has no place for."""
    made = Made(TRAINER)
    session = session_of(given, how)
    made.parts["training_image"] = image(given, how, session)
    for name, piece in given.named.items():
        if name == "entry_point":
            _source(made, given, how)
        elif name == "distribution":
            _distributed(made, piece, how)
        elif name in _PLACES:
            _put(made, _PLACES[name], piece)
        elif name in _SPECIAL:
            _specially(made, name, piece, how)
        elif name not in _SOURCE:
            _go(name, piece)
    _defaults(made, given, session)
    if "base_job_name" not in made.parts and how.base:
        made.parts["base_job_name"] = Piece(f'"{how.base}"')
    return made


def session_of(given: Arguments, how: Translation) -> str:
    """The session's source: the program's own where it has a name, else a new one."""
    own = given.named.get("sagemaker_session")
    simple = own is not None and own.text.replace(".", "").replace("_", "").isalnum() and own.text != "None"
    return own.text if own is not None and simple else f"{how.name(SESSION)}()"


def image(given: Arguments, how: Translation, session: str) -> Made | Piece:
    """The image that was given, or a look-up by the versions that were. Raises RefusedError where there is neither."""
    own = given.named.get("image_uri")
    if own is not None and own.text != "None":
        return own
    framework = ESTIMATORS[how.cls]
    if not framework:
        raise RefusedError("it has no image_uri")
    look_up = Made(
        f"{IMAGES}.retrieve", {"framework": Piece(f'"{framework}"'), "region": Piece(f"{session}.boto_region_name")}
    )
    transformers = given.named.get("transformers_version")
    version = transformers if framework == "huggingface" else given.named.get("framework_version")
    if version is not None:
        look_up.parts["version"] = version
    for base in ("pytorch", "tensorflow"):
        piece = given.named.get(f"{base}_version")
        if piece is not None and piece.text != "None":
            look_up.parts["base_framework_version"] = piece.saying(_prefixed(base, piece.text))
    if "py_version" in given.named:
        look_up.parts["py_version"] = given.named["py_version"]
    if "instance_type" in given.named:
        look_up.parts["instance_type"] = Piece(given.named["instance_type"].text)
    look_up.parts["image_scope"] = Piece('"training"')
    return look_up


def _prefixed(word: str, text: str) -> str:
    value = literal(text)
    return (
        f'"{word}{value}"'
        if isinstance(value, str)
        else f'f"{word}{{{text}}}"'
        if '"' not in text
        else f'"{word}" + {text}'
    )


def _source(made: Made, given: Arguments, how: Translation) -> None:
    """The folder and the script in it: SDK v3 takes no script without its folder."""
    entry, folder = given.named["entry_point"], given.named.get("source_dir")
    source = Made(f"{CONFIGS}.SourceCode")
    if folder is not None and folder.text != "None":
        source.parts |= {"source_dir": folder, "entry_script": entry}
    else:
        path = literal(entry.text)
        if isinstance(path, str):
            before, last = os.path.split(path)
            parts = (repr(before or "."), repr(last))
        else:
            module = how.name("os")
            parts = (f'{module}.path.dirname({entry.text}) or "."', f"{module}.path.basename({entry.text})")
        source.parts |= {"source_dir": Piece(_quoted(parts[0])), "entry_script": entry.saying(_quoted(parts[1]))}
    if how.requirements:  # SDK v2's containers install it by themselves
        source.parts["requirements"] = Piece('"requirements.txt"')
    made.parts["source_code"] = source


def _quoted(text: str) -> str:
    return text.replace("'", '"') if text.startswith("'") and '"' not in text else text


def _put(made: Made, path: str, piece: Piece) -> None:
    """Put a value at a path of ModelTrainer's arguments; a path that begins with a method's name goes into a call of it."""
    first, *rest = path.split(".")
    if first.startswith(METHOD):
        made, (first, *rest) = made.chain.setdefault(first, Made("")), rest
    while rest:
        made = _part(made, first)
        first, *rest = rest
    made.parts[first] = piece


def _part(made: Made, argument: str) -> Made:
    inner = made.parts.setdefault(argument, Made(class_of(argument) or ""))
    if not isinstance(inner, Made):
        raise RefusedError(f"{argument} is given twice")
    return inner


def _specially(made: Made, name: str, piece: Piece, how: Translation) -> None:
    """Lists of the request's own dictionaries, which SDK v3 has classes for; a flag that became a word."""
    value = literal(piece.text)
    if value is None or (name == "disable_output_compression" and value is False):
        return
    if name == "disable_output_compression":
        text = '"NONE"' if value is True else f'"NONE" if {piece.text} else "GZIP"'
        _put(made, "output_data_config.compression_type", piece.saying(text))
        return
    if name not in {"tags", "metric_definitions"}:
        raise RefusedError(f"ModelTrainer has no {name}")
    path = "tags" if name == "tags" else "with_metric_definitions.metric_definitions"
    _put(made, path, piece.saying(objects(piece.text, how.name(str(class_of(name))), name)))


def objects(text: str, cls: str, argument: str) -> str:
    """A list of the request's dictionaries as a list of objects: item by item where it is written out, else by a comprehension."""
    words = _WORDS[argument]
    items = items_of(text)
    written = [entries(item) for item in items] if items is not None else [None]
    if all(item is not None and set(item) == set(words) for item in written):
        made = [
            f"{cls}({', '.join(f'{words[key]}={value}' for key, value in item.items())})" for item in written if item
        ]
        return f"[{', '.join(made)}]"
    arguments = ", ".join(f'{word}=item["{key}"]' for key, word in words.items())
    return f"[{cls}({arguments}) for item in {text}]"


def _go(name: str, piece: Piece) -> None:
    """Leave out an argument that SDK v3 does not have, where the job is the same without it."""
    if name in _GOES_ALWAYS:
        return
    value = literal(piece.text)
    if name not in _GOES or not any(value == each and type(value) is type(each) for each in _GOES[name]):
        raise RefusedError(f"ModelTrainer has no {name}")


def _defaults(made: Made, given: Arguments, session: str) -> None:
    """Say what SDK v2 takes where nothing is said, and SDK v3 takes otherwise: a day of run time, the bucket's root."""
    if "max_run" not in given.named:
        _put(made, "stopping_condition.max_runtime_in_seconds", Piece(f"{DAY_S}"))
    if "output_path" not in given.named:
        _put(made, "output_data_config.s3_output_path", Piece(f'f"s3://{{{session}.default_bucket()}}/"'))


def _distributed(made: Made, piece: Piece, how: Translation) -> None:
    """What starts the workers. A name that is assigned once is changed where it is assigned."""
    if piece.text in how.launchers:
        made.parts["distributed"] = piece
        return
    text = launcher(piece.text, how.name)
    if text != "None":
        made.parts["distributed"] = piece.saying(text)


def launcher(text: str, name: Name) -> str:
    """The launcher of a distribution that is written out, as source. Raises RefusedError for one that ModelTrainer does not have."""
    if text == "None":
        return text
    kinds = entries(text)
    if kinds is None:
        raise RefusedError(f"distribution={text}: what it is does not stand in one place")
    if not kinds:
        return "None"
    (kind, settings), *more = kinds.items()
    words = entries(settings)
    if more or words is None or kind not in {"torch_distributed", "mpi"}:
        raise RefusedError(f"ModelTrainer has no distribution {', '.join(kinds)}")
    if literal(words.get("enabled", "False")) is not True:
        return "None"
    if kind == "torch_distributed":
        return f"{name(f'{LAUNCHERS}.Torchrun')}()"
    made = Made(f"{LAUNCHERS}.MPI")
    if "processes_per_host" in words:
        made.parts["process_count_per_node"] = Piece(words["processes_per_host"])
    if "custom_mpi_options" in words:
        options = literal(words["custom_mpi_options"])
        split = repr(shlex.split(options)) if isinstance(options, str) else f"{words['custom_mpi_options']}.split()"
        made.parts["mpi_additional_options"] = Piece(split)
    return f"{name(made.cls)}({', '.join(f'{key}={part.text}' for key, part in made.parts.items() if isinstance(part, Piece))})"
