"""The bench sends a probe's requests, notes what it makes before it makes it, and keeps scrubbed answers.

It must not know any probe, nor remove what was made.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore import xform_name
from botocore.exceptions import ClientError

from ...core.aws.errors import DENIED, THROTTLED, as_cloud_error, trouble
from ...core.errors import CloudError
from ...core.ports import Clock, Trouble
from ...core.specs.json import Json, Object
from .answers import Step
from .jobs import JOBS, Place, files_of, request_of
from .journal import GONE, TRAINING_JOB
from .relations import relations
from .scrub import BYTES, Scrubber

if TYPE_CHECKING:
    from .target import Target

TERMINAL: Final = frozenset({"Completed", "Failed", "Stopped"})
LIMIT_CODES: Final = frozenset({"ResourceLimitExceeded"})
UNREADABLE = "UnreadableAnswer"
LOOK_S, EMULATED_LOOK_S = 5.0, 0.05
MOMENT_S = 0.25
LONGEST_WAIT_S, EMULATED_WAIT_S = 2700.0, 120.0
_UNCHECKED = frozenset({"sagemaker", "logs"})
_RAW = frozenset({"sagemaker", "logs"})  # their answers are JSON, and botocore drops what its model does not know
_FETCH_S = 30.0
Keep = Callable[[Object], Json]


class Unanswered(Exception):  # noqa: N818 - it is no fault of the probe
    """The service did not say what was asked: a quota, a missing right, a service that fails. ``why`` is its code."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Notes(Protocol):
    """Where it is written what is about to be made: a journal, or nothing for an emulator that is thrown away."""

    def write(self, kind: str, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to, as it was: ``answer`` is empty for an error, ``code`` for an answer."""

    answer: Object
    code: str = ""

    def text(self, *path: str) -> str:
        """A text inside the answer; empty where there is none."""
        found: Json = self.answer
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found if isinstance(found, str) else ""


class Bench:
    """Asks one target for one run. ``begin`` and ``steps`` belong to the probe that is sent now."""

    def __init__(self, target: Target, place: Place, notes: Notes, clock: Clock) -> None:
        self.target = target
        self.place = place
        self._notes = notes
        self._clock = clock
        self._clients: dict[str, Any] = {}
        self._raw: list[bytes] = []
        self._steps: list[Step] = []
        self._jobs: dict[str, str] = {}  # key -> why it could not be made; empty: it was
        self._request: Object = {}  # the last that was sent
        self._made: dict[str, Object] = {}  # name -> the request that made it
        self._known = {place.run: "<run>", **target.secrets()}
        self._scrubber = Scrubber(self._known)

    def begin(self) -> None:
        """A new probe: no steps, and placeholders of its own."""
        self._steps = []
        self._scrubber = Scrubber(self._known)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was kept since ``begin``."""
        return tuple(self._steps)

    def ask(
        self,
        call: str,
        request: Object,
        title: str = "",
        *,
        keep: Keep | None = None,
        kept: bool = True,
        since: float | None = None,
    ) -> Outcome:
        """Send one request and keep what ``keep`` takes of the answer. ``since`` makes it a step that waited for a machine.

        Raises Unanswered for a quota, a right or a service that fails; CloudError for a login that ended or a lost network.
        """
        started = self._clock.now() if since is None else since
        outcome, error = self._sent(call, request)
        if kept:
            seconds = self._clock.now() - started
            self._keep(call, title, outcome, error, keep, seconds=seconds, paced=since is not None)
        return outcome

    def seen(self, title: str, outcome: Outcome, call: str = "sagemaker:DescribeTrainingJob") -> None:
        """Keep an answer that was got by chance, of a phase that is over soon."""
        answer = self._scrubber.answer(_without_open_messages(outcome.answer), self._shape(call))
        self._steps.append(Step(call=call, title=title, answer=answer, optional=True))

    def name(self, key: str) -> str:
        """The name of the run's job ``key``."""
        return self.place.name(key)

    def make(self, kind: str, name: str, call: str, request: Object, title: str = "") -> Outcome:
        """Create something that must be removed again. Raises as ``ask``."""
        self._notes.write(kind, name)
        self._made[name] = request
        try:
            outcome = self.ask(call, request, title)
        except Unanswered as error:
            if error.why in LIMIT_CODES | DENIED:
                self._notes.write(GONE, name)
            raise
        if outcome.code and outcome.code != "ResourceInUse":
            self._notes.write(GONE, name)
        return outcome

    def job(self, key: str) -> str:
        """The name of the run's job, made at the first call. Raises Unanswered where it was refused, else as ``ask``."""
        if key not in self._jobs:
            plan, name = JOBS[key], self.name(key)
            for path, content in files_of(plan, self.place).items():
                put: dict[str, Any] = {"Bucket": self.place.bucket, "Key": path, "Body": content}
                self.ask("s3:PutObject", put, kept=False)
            try:
                request = request_of(plan, self.place)
                outcome = self.make(TRAINING_JOB, name, "sagemaker:CreateTrainingJob", request, f"make {key}")
                self._jobs[key] = outcome.code
            except Unanswered as error:
                self._jobs[key] = error.why
        if self._jobs[key]:
            raise Unanswered(f"no job {key}: {self._jobs[key]}")
        return self.name(key)

    def refused(self, title: str, request: Object) -> None:
        """Send a create that the service refuses. One that is accepted all the same is stopped at once. Raises as ``ask``."""
        name = str(request.get("TrainingJobName", ""))
        outcome = self.make(TRAINING_JOB, name, "sagemaker:CreateTrainingJob", request, title)
        if not outcome.code:
            self.ask("sagemaker:StopTrainingJob", {"TrainingJobName": name}, kept=False)

    def until(self, key: str, *phases: str, kept: bool = True) -> Outcome:
        """Describe a job until it is in one of these phases (SecondaryStatus) or ended; what is passed by is kept as well.

        Without ``kept`` it is only waited for. Raises Unanswered when that takes too long, else as ``ask``.
        """
        emulated, request = self.target.emulated, {"TrainingJobName": self.job(key)}
        started, met = self._clock.now(), set[str]()
        longest, pause = (EMULATED_WAIT_S, EMULATED_LOOK_S) if emulated else (LONGEST_WAIT_S, LOOK_S)
        while True:
            outcome = self.ask("sagemaker:DescribeTrainingJob", request, kept=False)
            phase = outcome.text("SecondaryStatus")
            if phase in phases or outcome.text("TrainingJobStatus") in TERMINAL or outcome.code:
                if not kept:
                    return outcome
                return self.ask("sagemaker:DescribeTrainingJob", request, f"{key}, {phase}", since=started)
            if kept and phase not in met:
                met.add(phase)
                self.seen(f"{key}, {phase}", outcome)
            if self._clock.now() - started > longest:
                raise Unanswered(f"{key} is still {phase} after {longest:.0f} s")
            self._clock.sleep(pause)

    def pause(self) -> None:
        """Wait for a moment."""
        self._clock.sleep(MOMENT_S)

    def look_again(self, since: float) -> float:
        """Wait until another look is worth a call; the seconds that have passed ``since`` a time of the bench's clock."""
        self._clock.sleep(EMULATED_LOOK_S if self.target.emulated else LOOK_S)
        return self._clock.now() - since

    def now(self) -> float:
        """The time of the bench's clock, in epoch seconds."""
        return self._clock.now()

    def passed(self, call: str, request: Object, member: str, state: str) -> Outcome:
        """Ask until ``member`` is no more in ``state``; nothing is kept. Raises Unanswered where that takes too long, else as ``ask``."""
        since = self._clock.now()
        while (outcome := self.ask(call, request, kept=False)).text(member) == state:
            if self.look_again(since) > LONGEST_WAIT_S:
                raise Unanswered(f"it is still {state} after {LONGEST_WAIT_S:.0f} s")
        return outcome

    def polled(self, call: str, request: Object, ready: Callable[[Object], bool], title: str, keep: Keep) -> Outcome:
        """Ask until the answer is ready, for two minutes at most, and keep it with the time that it took. Raises as ``ask``."""
        started = self._clock.now()
        while True:
            outcome, error = self._sent(call, request)
            late = self._clock.now() - started
            if outcome.code or ready(outcome.answer) or late > EMULATED_WAIT_S:
                self._keep(call, title, outcome, error, keep, seconds=late, paced=False)
                return outcome
            self._clock.sleep(EMULATED_LOOK_S if self.target.emulated else LOOK_S)

    def presigned(self, operation: str, request: Object, title: str, method: str = "GET") -> None:
        """Fetch by a URL that is signed for ``operation``, with the HTTP ``method``. Keeps the status, the code and the length.

        Raises Unanswered where nobody answers.
        """
        with as_cloud_error(operation, "a URL"):
            url = self._client("s3").generate_presigned_url(xform_name(operation), dict(request), ExpiresIn=300)
        started = self._clock.now()
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=_FETCH_S) as got:  # noqa: S310 - S3's own URL
                step = Step(call="s3:presigned", title=title, status=got.status, answer={"length": len(got.read())})
        except urllib.error.HTTPError as error:
            text = error.read().decode("utf-8", "replace")
            code = text.partition("<Code>")[2].partition("</Code>")[0]
            step = Step(call="s3:presigned", title=title, status=error.code, code=self._scrubber.text(code))
        except OSError as error:
            raise Unanswered(type(error).__name__) from None
        self._steps.append(_timed(step, self._clock.now() - started))

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            made = self.target.client(service, unchecked=service in _UNCHECKED)
            made.meta.events.register("before-parse", self._note)
            self._clients[service] = made
        return self._clients[service]

    def _note(self, response_dict: Mapping[str, object], **_event: object) -> None:
        body = response_dict.get("body")
        self._raw[:] = [body] if isinstance(body, bytes) else []

    def _sent(self, call: str, request: Object) -> tuple[Outcome, tuple[str, int]]:
        """The outcome, and for an error its message and status. Raises as ``ask``."""
        service, _, operation = call.partition(":")
        self._raw.clear()
        self._request = request
        try:
            with as_cloud_error(operation, "a probe"):
                parsed = getattr(self._client(service), xform_name(operation))(**request)
        except CloudError as error:
            cause = error.__cause__
            if (
                error.code == UNREADABLE and self._raw
            ):  # JSON of another shape than the model's: a difference, so it is kept
                return Outcome(self._whole(service, {})), ("", 0)
            if not isinstance(cause, ClientError) or trouble(error) is Trouble.EXPIRED:
                raise
            status = int(cause.response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0)
            if error.code in DENIED | THROTTLED | LIMIT_CODES or status >= 500:
                raise Unanswered(error.code) from None
            return Outcome({}, error.code), (str(cause.response["Error"].get("Message", "")), status)
        return Outcome(self._whole(service, parsed)), ("", 0)

    def _whole(self, service: str, parsed: Mapping[str, object]) -> Object:
        """The answer as it was sent where that is JSON, else as botocore reads it."""
        if service in _RAW and self._raw:
            try:
                found = json.loads(self._raw[0] or b"{}")
            except ValueError:
                found = None
            if isinstance(found, dict):
                return found
        return {name: _plain(value) for name, value in parsed.items() if name != "ResponseMetadata"}

    def _keep(
        self,
        call: str,
        title: str,
        outcome: Outcome,
        error: tuple[str, int],
        keep: Keep | None,
        *,
        seconds: float,
        paced: bool,
    ) -> None:
        if outcome.code:
            message, status = self._scrubber.text(error[0]), error[1]
            code = self._scrubber.text(outcome.code)
            step = Step(call=call, title=title, code=code, message=message, status=status, paced=paced)
        else:
            taken = outcome.answer if keep is None else keep(outcome.answer)
            answer = self._scrubber.answer(taken, self._shape(call))
            made = self._made.get(str(self._request.get("TrainingJobName", "")), {})
            held = relations(self._request, outcome.answer, made, self._clock.now())
            step = Step(call=call, title=title, answer=answer, paced=paced, relations=held)
        self._steps.append(_timed(step, seconds))

    def _shape(self, call: str) -> Any:
        service, _, operation = call.partition(":")
        return self._client(service).meta.service_model.operation_model(operation).output_shape


def _without_open_messages(answer: Object) -> Object:
    """A describe without the message of the phase that goes on: it changes while the phase lasts, so which one is met is chance."""
    rows = answer.get("SecondaryStatusTransitions")
    if not isinstance(rows, list):
        return answer
    kept = [
        {name: value for name, value in row.items() if name != "StatusMessage" or "EndTime" in row}
        for row in rows
        if isinstance(row, Mapping)
    ]
    return {**answer, "SecondaryStatusTransitions": kept}


def _timed(step: Step, seconds: float) -> Step:
    return replace(step, seconds=round(max(0.0, seconds), 1))


def _plain(value: object) -> Json:
    """What botocore made of an answer, as JSON holds it: times are numbers again, bodies their mark."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return BYTES
