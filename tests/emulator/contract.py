"""What botocore's model says of an answer, random requests of its shapes, and the two APIs to ask. Knows no operation by name."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sm_trn.emulator import Options
from sm_trn.emulator.api.shapes import service_model
from sm_trn.emulator.errors import AwsError
from sm_trn.emulator.fault_injection import FaultInjector
from sm_trn.emulator.hosting.endpoints import Endpoints
from sm_trn.emulator.operations import Operations
from sm_trn.emulator.state.resources import Resources
from sm_trn.emulator.state.store import Store
from sm_trn.emulator.telemetry.metrics import FinalMetric
from sm_trn.emulator.training.api import TrainingApi
from sm_trn.emulator.training.engine import Event
from sm_trn.emulator.training.jobs import Jobs

# What refuses any request, beside what the model says of an operation.
COMMON: Final = {"ValidationException", "SerializationException"}
# Required by the model, absent in real answers: a job has no artefacts before its end, and a failed one has none at all.
ABSENT_IN_REAL_ANSWERS = {("DescribeTrainingJobResponse", "ModelArtifacts"), ("TrainingJob", "ModelArtifacts")}
_PYTHON = {
    "string": str,
    "character": str,
    "boolean": bool,
    "integer": int,
    "long": int,
    "float": (int, float),
    "double": (int, float),
    "timestamp": (int, float),
    "blob": str,
    "structure": dict,
    "map": dict,
    "list": list,
}


def misfits(shape: Any, value: Any, path: str = "answer") -> list[str]:  # noqa: PLR0911 - one return for each kind
    """Everything in an answer's JSON that its output shape does not allow; None is the shape of no answer."""
    if shape is None:
        return [] if value == {} else [f"{path}: got {value!r}, wanted nothing"]
    wanted = _PYTHON[shape.type_name]
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):  # type: ignore[arg-type]  # a type or types
        return [f"{path}: got {type(value).__name__}, wanted {shape.type_name}"]
    if shape.type_name == "structure":
        unknown = [f"{path}.{name}: not in {shape.name}" for name in value if name not in shape.members]
        missing = [
            f"{path}.{name}: missing, {shape.name} requires it"
            for name in shape.required_members
            if name not in value and (shape.name, name) not in ABSENT_IN_REAL_ANSWERS
        ]
        inner = [
            misfits(shape.members[name], entry, f"{path}.{name}")
            for name, entry in value.items()
            if name in shape.members
        ]
        return [*unknown, *missing, *(text for texts in inner for text in texts)]
    if shape.type_name == "list":
        return [text for at, entry in enumerate(value) for text in misfits(shape.member, entry, f"{path}[{at}]")]
    if shape.type_name == "map":
        return [text for key, entry in value.items() for text in misfits(shape.value, entry, f"{path}[{key!r}]")]
    if shape.type_name == "string" and shape.enum and value not in shape.enum:
        return [f"{path}: got {value!r}, not one of {shape.name}"]
    return []


class World:
    """The two APIs over a store in memory; nothing runs, so that any state can be brought about."""

    def __init__(self, store: Store | None = None) -> None:
        self.now = 1000.0
        store = store or Store(Path(":memory:"))
        self.jobs = Jobs(store, lambda: self.now)
        self.resources = Resources(store, "us-west-2", lambda: self.now)
        self.ready = threading.Event()
        self.ready.set()
        self.options, self.region = Options(spot_discount=0.5), "us-west-2"
        self.root, self.faults = Path(), FaultInjector()
        me: Any = self
        self.objects = self.lines = me
        hosting = Endpoints(me)
        hosting.shutdown()  # it answers, and starts no process any more
        self.table = Operations(TrainingApi(me, self.jobs, me), hosting, self.resources)

    # As the objects: everything is there. As the supervisor: nothing is done.
    def keys(self, _bucket: str, prefix: str) -> list[str]:
        return [] if prefix == "missing" else [prefix]

    def save(self) -> None: ...
    def append(self, stream: str, timestamp: int, message: str) -> None: ...
    def start(self, name: str) -> None: ...
    def stop(self, name: str) -> None: ...

    def operations(self) -> frozenset[str]:
        return frozenset(self.table.table)

    def ask(self, operation: str, body: dict[str, Any]) -> Mapping[str, Any] | None:
        """The answer after it was held against the model; None when it was refused, with a code of the model."""
        self.now += 1.0
        allowed = {shape.name for shape in service_model().operation_model(operation).error_shapes} | COMMON
        try:
            answer = self.table.answer(operation, body)
        except AwsError as fault:
            refusal = fault
        else:
            refusal = None  # type: ignore[assignment]  # another of its kind
        if refusal is not None:
            assert refusal.code in allowed, (operation, refusal.code, refusal.message)
            assert refusal.message
            return None
        if answer is not None:  # type: ignore[unreachable]  # mypy loses the branch
            assert [] == misfits(service_model().operation_model(operation).output_shape, answer), operation
        return answer

    def happen(self, name: str, what: Event) -> None:
        """An event of a job's life, and what its run would have kept by then."""
        self.now += 7.3
        if name in {job.name for job in self.jobs.all()}:
            self.jobs.apply(name, what, reason="AlgorithmError: " + "x" * 2000)
            self.jobs.change(name, metrics=(FinalMetric(name="loss", value=0.5, timestamp=1),))
            if what is Event.FINISH:
                self.jobs.change(name, model_uri="s3://b/model.tar.gz")
