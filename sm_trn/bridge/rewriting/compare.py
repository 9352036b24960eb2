"""What two requests for the same job differ in, one that SDK v2 has sent and one that SDK v3 has: named, or not the same job.

Facts are those of sagemaker 3.27.0 (sagemaker-train 1.27.0).
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from ...core.errors import SmTrnError
from ...core.render import problems
from ...core.render.differences import Difference, differences
from ...core.render.from_request import parse_request
from ...core.render.sdk_v3_problems import arrives
from ...core.specs.job import JobSpec
from ...core.specs.json import Json, Object
from ...core.specs.launch import Runner
from ...core.specs.problems import Severity
from ...core.strategies import plan
from ..recorder.recording import Recorded, RecordedCall
from .names import base_name

# A moment as %Y-%m-%d-%H-%M-%S and its like, with parts of a second, or as seconds since 1970.
_MOMENT: Final = re.compile(
    r"20\d\d[-_/]?\d\d[-_/]?\d\d[-_T ]?\d\d[-_:]?\d\d[-_:]?\d\d([-_.]\d{1,6})?|\b1[6-9]\d{8}(\d{3}|\.\d+)?\b"
)
_DRIVERS: Final[Mapping[Runner, str]] = {
    Runner.PYTHON: "basic_script_driver.py",
    Runner.TORCHRUN: "torchrun_driver.py",
    Runner.MPI: "mpi_driver.py",
}
_BESIDE: Final = frozenset({"TARGET100", "TARGET101"})  # about parts of a request: here both requests are compared
_LEFT_OUT: Final = frozenset(
    {".env", ".git", "__pycache__", ".DS_Store", ".cache", ".ipynb_checkpoints"}
)  # SourceCode.ignore_patterns


@dataclass(frozen=True, slots=True)
class Named:
    """A difference that every job written for SDK v3 may have: the fields it is seen in, and what it means."""

    fields: re.Pattern[str]
    means: str
    holds: Callable[[Difference, Object], bool] = lambda _, __: True


def _is_mode_file(item: Difference, before: Object) -> bool:
    of_job = _inner(before, "AlgorithmSpecification").get("TrainingInputMode", "File")
    return item.before is None and item.after == "File" == of_job


def _is_same_text(item: Difference, _: Object) -> bool:
    return isinstance(item.before, str) and item.after is not None and arrives(json.dumps(item.after)) == item.before


def _is_default_path(item: Difference, _: Object) -> bool:
    return item.before is None and item.after == "/opt/ml/checkpoints"


def _is_elsewhere(item: Difference, _: Object) -> bool:
    return isinstance(item.before, str) and isinstance(item.after, str)


def _is_other_moment(item: Difference, _: Object) -> bool:
    return _is_moment_alone(item.before, item.after)


def _is_moment_alone(one: object, two: object) -> bool:
    """Whether two texts are the same but for the moments in them, which the program itself takes from its clock."""
    texts = isinstance(one, str) and isinstance(two, str)
    return texts and _MOMENT.sub("", str(one)) == _MOMENT.sub("", str(two)) and bool(_MOMENT.search(str(one)))


MOMENT: Final = "a time stamp that the program makes is of another moment, as in each run of it"
NAMED: Final = (
    Named(
        re.compile(r"HyperParameters\.sagemaker_submit_directory"),
        "the packed source lies in another folder of the bucket",
        _is_elsewhere,
    ),
    Named(
        re.compile(
            r"InputDataConfig\[(code|sm_drivers)\].*|AlgorithmSpecification\.Container(Entrypoint|Arguments)"
            r"|HyperParameters\.sagemaker_(program|submit_directory|container_log_level|region|job_name|instance_type"
            r"|torch_distributed_enabled|mpi_enabled|mpi_num_of_processes_per_host|mpi_custom_mpi_options)"
        ),
        "the source goes by the channel code, and SDK v3's own script in the channel sm_drivers starts it",
    ),
    Named(re.compile(r"(DebugHookConfig|ProfilerConfig)\b.*"), "SDK v3 has neither debugger hook nor profiler"),
    Named(
        re.compile(r"AlgorithmSpecification\.EnableSageMakerMetricsTimeSeries"),
        "SDK v3 asks for no time series of metrics",
    ),
    Named(re.compile(r"InputDataConfig\[\w+\]\.InputMode"), "SDK v3 says the mode File of each channel", _is_mode_file),
    Named(re.compile(r"HyperParameters\..*"), "SDK v3 sends texts without quotes", _is_same_text),
    Named(re.compile(r"CheckpointConfig\.LocalPath"), "SDK v3 says the folder of checkpoints", _is_default_path),
    Named(re.compile(r".*"), MOMENT, _is_other_moment),
)
STAMPS: Final = "the time stamp of the job's name is written in another way"
FOLDER: Final = "SDK v3 uploads the whole folder of the script, SDK v2 the script alone"
CACHES: Final = "SDK v3 leaves caches, .env and .git out of the source"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The named differences of two jobs by what they mean, and all others."""

    named: tuple[str, ...]
    others: tuple[str, ...]


def compare(
    before: RecordedCall, sent_before: Recorded, after: RecordedCall, sent_after: Recorded, launcher: str
) -> Comparison:
    """Compare a job with the one that stands for it. The uploads of both runs tell what the source holds, which may be the
    launcher too, and that one is another."""
    named, others = dict[str, None](), list[str]()
    for item in differences(before.request, after.request, names_matter=False):
        means = next(
            (each.means for each in NAMED if each.fields.fullmatch(item.field) and each.holds(item, before.request)),
            None,
        )
        if means is None:
            others.append(f"{item.field}: {_shown(item.before)} under SDK v2, {_shown(item.after)} under SDK v3")
        else:
            named[means] = None
    others += _texts(before.request, after.request)
    source = _Source(before.request, sent_before.uploads, after.request, sent_after.uploads, launcher)
    if source.packed_alike:  # TrainingJob.create: the same request, but for where the source lies
        others += source.other_archive()
        named |= dict.fromkeys(_names(before.request, after.request, others))
        return Comparison(tuple(named), tuple(others))
    job = _spec(before.request)
    if isinstance(job, str):
        return Comparison(tuple(named), (*others, job))
    for problem in problems(job, "model-trainer-v3"):
        if problem.id in _BESIDE:
            continue
        if problem.severity is Severity.ERROR:
            others.append(f"{problem.where}: {problem.what}")
        elif problem.severity is Severity.WARNING:
            named[problem.what] = None
    others += source.differences(job)
    named |= dict.fromkeys(source.named)
    named |= dict.fromkeys(_names(before.request, after.request, others))
    return Comparison(tuple(named), tuple(others))


def _shown(value: object) -> str:
    return "absent" if value is None else json.dumps(value, default=str)[:200]


def _spec(request: Mapping[str, Json]) -> JobSpec | str:
    """The job as a spec, without what SDK v2 adds to each and SDK v3 has not; or why it is none."""
    bare = {key: value for key, value in request.items() if key not in {"DebugHookConfig", "ProfilerConfig"}}
    try:
        return parse_request(bare).replace(profiler=False, debugger=False)
    except SmTrnError as error:
        return str(error)


def _texts(before: Object, after: Object) -> Iterator[str]:
    """Hyperparameters that an image without a script would get in another spelling: nobody there decodes them."""
    old, new = (_inner(request, "HyperParameters") for request in (before, after))
    if "sagemaker_program" not in old:
        for key in old.keys() & new.keys():
            if old[key] != new[key]:
                yield f"HyperParameters.{key}: {old[key]} under SDK v2, {new[key]} under SDK v3"


def _names(before: Mapping[str, Json], after: Mapping[str, Json], others: list[str]) -> Iterator[str]:
    old, new = (str(request.get("TrainingJobName", "")) for request in (before, after))
    if old == new:
        return
    if base_name(old) == old and _is_moment_alone(old, new):
        yield MOMENT
        return
    if base_name(old) == old:
        others.append(f"TrainingJobName: {old} under SDK v2, {new} under SDK v3")
        return
    one, two = base_name(old), base_name(new)
    shorter, longer = sorted((one.replace("_", "-"), two), key=len)
    if not longer.startswith(shorter) or (shorter != longer and len(old) < 63):
        others.append(f"TrainingJobName: begins with {one} under SDK v2, with {two} under SDK v3")
    yield STAMPS


class _Source:
    """The files of a job's source, as SDK v2 packs them and as SDK v3 uploads them."""

    def __init__(
        self,
        before: Object,
        packed: Mapping[str, bytes],
        after: Object,
        uploaded: Mapping[str, bytes],
        launcher: str,
    ) -> None:
        hyperparameters = _inner(before, "HyperParameters")
        self._entry = _plain(hyperparameters.get("sagemaker_program"))
        self._place = _plain(hyperparameters.get("sagemaker_submit_directory"))
        self._old = _unpacked(packed.get(self._place))
        self._code = _uri(after, "code")
        self._new = _below(uploaded, self._code)
        self._drivers = _below(uploaded, _uri(after, "sm_drivers"))
        self.named: list[str] = []
        self._other = _unpacked(
            uploaded.get(_plain(_inner(after, "HyperParameters").get("sagemaker_submit_directory")))
        )
        container = _inner(after, "AlgorithmSpecification")
        self.packed_alike = not self._code and "ContainerEntrypoint" not in container
        if self._entry != launcher:
            self._old.pop(launcher, None)
            self._new.pop(launcher, None)
            self._other.pop(launcher, None)

    def differences(self, job: JobSpec) -> Iterator[str]:
        """What is not the same; ``named`` has the rest afterwards."""
        if not self._entry:
            if self._code:
                yield "source: SDK v2 sends none, SDK v3 does"
            return
        settings = json.loads(self._drivers.get("sourcecode.json", b"{}"))
        if settings.get("entry_script") != self._entry:
            yield f"script: {self._entry} under SDK v2, {settings.get('entry_script')} under SDK v3"
        if self._old:
            yield from self._files(settings.get("requirements"))
        driver = _DRIVERS.get(plan(job).runner, "a driver that SDK v3 does not have")
        if driver.encode() not in self._drivers.get("sm_train.sh", b""):
            yield f"distribution: {plan(job).runner.value} starts the workers under SDK v2, SDK v3 has another way"

    def other_archive(self) -> Iterator[str]:
        """Where both pack the source: files that are not in both archives, or others."""
        different = {name for name in {*self._old, *self._other} if self._old.get(name) != self._other.get(name)}
        if different and self._entry:
            yield f"source: {', '.join(sorted(different)[:5])} is another file under SDK v3, or none"

    def _files(self, requirements: str | None) -> Iterator[str]:
        if ("requirements.txt" in self._old) != (requirements == "requirements.txt"):
            yield f"requirements.txt: {'is' if 'requirements.txt' in self._old else 'is not'} installed under SDK v2, not so under SDK v3"
        missing = [name for name, body in self._old.items() if self._new.get(name) != body]
        caches = [name for name in missing if _LEFT_OUT & set(PurePosixPath(name).parts)]
        if caches:
            self.named.append(CACHES)
        if left := sorted(set(missing) - set(caches)):
            yield f"source: {', '.join(left[:5])} is another file under SDK v3, or none"
        if set(self._new) - set(self._old):
            self.named.append(FOLDER)


def _plain(text: object) -> str:
    """A hyperparameter of the toolkit: a JSON text, or a bare one."""
    try:
        value = json.loads(text) if isinstance(text, str) else ""
    except ValueError:
        value = text
    return value if isinstance(value, str) else ""


def _inner(request: Object, name: str) -> Object:
    """A part of a request; empty where there is none."""
    part = request.get(name)
    return part if isinstance(part, Mapping) else {}


def _uri(request: Object, channel: str) -> str:
    listed = request.get("InputDataConfig")
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, Mapping) and item.get("ChannelName") == channel:
            return str(_inner(_inner(item, "DataSource"), "S3DataSource").get("S3Uri", ""))
    return ""


def _below(uploads: Mapping[str, bytes], uri: str) -> dict[str, bytes]:
    prefix = uri.rstrip("/") + "/"
    return {name.removeprefix(prefix): body for name, body in uploads.items() if uri and name.startswith(prefix)}


def _unpacked(archive: bytes | None) -> dict[str, bytes]:
    if not archive:
        return {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            members = [member for member in packed.getmembers() if member.isfile()]
            return {
                member.name.removeprefix("./"): body.read()
                for member in members
                if (body := packed.extractfile(member))
            }
    except (tarfile.TarError, OSError, EOFError):
        return {}


def has_requirements(call: RecordedCall, recorded: Recorded) -> bool:
    """Whether the source of a job of SDK v2 has a requirements.txt, which its containers install."""
    given = call.request.get("HyperParameters")
    place = _plain(given.get("sagemaker_submit_directory")) if isinstance(given, Mapping) else ""
    return "requirements.txt" in _unpacked(recorded.uploads.get(place))
