"""Requests of SDK v3's ModelTrainer as requests that this package can launch: the script behind its drivers, with its source.

Facts are those of sagemaker 3.27.0 (sagemaker-train 1.27.0): channel ``code`` has the source, ``sm_drivers`` the script that starts it
and the trainer's own settings as JSON.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from ..core.errors import SmTrnError
from ..core.specs.job import Distribution, HyperValue
from ..core.specs.json import Json
from ..core.strategies.mpi import MPI
from ..core.strategies.torchrun import TorchDistributed

_OWN: Final = ("code", "sm_drivers")
# Sentences about errors and habits of SDK v3 that stop or change a job, by a part of the words that it says.
KNOWN_DIFFERENCES: Final[Mapping[str, str]] = {
    "sagemaker_session": "SDK v3 takes a Session of sagemaker.core.helper.session_helper, not SDK v2's",
    "Unassigned": "SDK v3 marks what AWS did not answer as Unassigned: compare with it before a value is used",
    "No module named 'sagemaker.": "it needs another SDK: pip install 'sm_trn[sdk]' brings version 2, 'sm_trn[sdk3]' version 3",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerRequest:
    """A request without what SDK v3 adds to start a script, and that script: entry, source by file name, how it is started."""

    request: dict[str, Json]
    entry: str
    source: Mapping[str, bytes]
    distribution: Distribution | None
    hyperparameters: Mapping[str, HyperValue] | None
    notes: tuple[str, ...]


def read_trainer(request: Mapping[str, Json], uploads: Mapping[str, bytes]) -> TrainerRequest | None:
    """Return what a ModelTrainer starts; None for a request without its drivers. Raises SmTrnError for a command that is no script."""
    channels: Any = request.get("InputDataConfig") or []
    places = {str(item.get("ChannelName")): _uri(item) for item in channels if isinstance(item, Mapping)}
    if "sm_drivers" not in places:
        return None
    drivers = _below(uploads, places["sm_drivers"])
    settings = _settings(drivers, "sourcecode.json")
    source = _below(uploads, places.get("code", ""))
    notes = list[str]()
    entry, hyperparameters = str(settings.get("entry_script") or ""), None
    if settings.get("command") and not entry:
        entry, hyperparameters = _of_command(str(settings["command"]))
        given = request.get("HyperParameters")
        if isinstance(given, Mapping) and given:
            notes.append(f"command= drops hyperparameters: the script does not get {', '.join(given)}")
    if entry and entry not in source:
        raise SmTrnError(
            f"source_code: got {entry!r}, which is not in the source that was uploaded, wanted a file of it"
        )
    rest = {key: value for key, value in request.items() if key not in {"InputDataConfig", "HyperParameters"}}
    algorithm = request.get("AlgorithmSpecification")
    if isinstance(algorithm, Mapping):
        own = {"ContainerEntrypoint", "ContainerArguments"}
        rest["AlgorithmSpecification"] = {key: value for key, value in algorithm.items() if key not in own}
    if kept := [item for item in channels if item.get("ChannelName") not in _OWN]:
        rest["InputDataConfig"] = kept
    if hyperparameters is None and isinstance(given := request.get("HyperParameters"), Mapping):
        hyperparameters = {key: _value(value) for key, value in given.items()}
    requirements = settings.get("requirements")
    if requirements and requirements != "requirements.txt":
        notes.append(
            f"requirements={requirements!r} is installed by SDK v3; the toolkit installs requirements.txt alone"
        )
    return TrainerRequest(
        request=rest,
        entry=entry,
        source=source,
        distribution=_distribution(drivers),
        hyperparameters=hyperparameters,
        notes=tuple(notes),
    )


def _uri(channel: Any) -> str:
    return str(((channel.get("DataSource") or {}).get("S3DataSource") or {}).get("S3Uri", ""))


def _below(uploads: Mapping[str, bytes], uri: str) -> dict[str, bytes]:
    prefix = uri.rstrip("/") + "/"
    return {name.removeprefix(prefix): body for name, body in uploads.items() if uri and name.startswith(prefix)}


def _settings(drivers: Mapping[str, bytes], name: str) -> Any:
    """Return the trainer's own settings in a file of its drivers, by name; none where there is no such file."""
    body = next((body for path, body in drivers.items() if PurePosixPath(path).name == name), b"{}")
    try:
        settings = json.loads(body)
    except ValueError:
        settings = {}
    return settings if isinstance(settings, dict) else {}


def _of_command(command: str) -> tuple[str, dict[str, HyperValue]]:
    """Return the script of ``python script.py --name value …`` and its options."""
    words = shlex.split(command)
    if len(words) < 2 or words[0] not in {"python", "python3"} or not words[1].endswith(".py"):
        raise SmTrnError(
            f"command: got {command!r}, wanted python SCRIPT.py --name value: a job file has no other command"
        )
    options, rest = dict[str, HyperValue](), words[2:]
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--"):
            raise SmTrnError(f"command: got {name!r} in {command!r}, wanted --name value: hyperparameters have names")
        if not equals:
            if not rest or rest[0].startswith("--"):
                raise SmTrnError(f"command: got {name!r} without a value in {command!r}, wanted --name value")
            value = rest.pop(0)
        options[name[2:]] = _value(value)
    return words[1], options


def _value(text: object) -> HyperValue:
    """Return the number that is written as this text, else the text."""
    word = str(text)
    for kind in (int, float):
        try:
            number = kind(word)
        except ValueError:
            continue
        if str(number) == word:
            return number
    return word


def _distribution(drivers: Mapping[str, bytes]) -> Distribution | None:
    settings = _settings(drivers, "distributed.json")
    script = next((body for path, body in drivers.items() if PurePosixPath(path).name == "sm_train.sh"), b"")
    if b"torchrun_driver.py" in script:
        return TorchDistributed()
    if b"mpi_driver.py" in script:
        options = settings.get("mpi_additional_options") or []
        return MPI(processes_per_host=settings.get("process_count_per_node"), custom_mpi_options=shlex.join(options))
    return None
