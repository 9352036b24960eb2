"""Target ``training-job-v3``: a request as the call of SDK v3's lower level, ``sagemaker.core`` TrainingJob.create.

It says exactly what ModelTrainer refuses: SMDDP, the Training Compiler, built-in algorithms, debugger rules, the whole job
name. Its classes and fields are the API's own in another spelling, so a request is turned member by member, as the API's model
says; a test holds the calls to the installed SDK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from ..catalog import limits
from ..specs.job import JobSpec
from ..specs.json import Json
from ..specs.problems import Advice, Field, Problem, Severity, rules_of
from .calls import EstimatorCall

SHAPES, RESOURCES = "sagemaker.core.shapes", "sagemaker.core.resources"
RESOURCE: Final = frozenset({"Tag"})  # create() takes this one as a resource, though there is a shape of the name
REQUEST = "CreateTrainingJobRequest"

_RULES = rules_of(__package__)


def call(request: Mapping[str, Json]) -> EstimatorCall:
    """``TrainingJob.create(…)`` that sends ``request``."""
    return EstimatorCall(
        cls=f"{RESOURCES}.TrainingJob",
        maker="create",
        kwargs=MappingProxyType({snake(name): _value(_shape(REQUEST, name), value) for name, value in request.items()}),
        method="",
    )


def problems(job: JobSpec, request: Mapping[str, Json]) -> Iterator[Problem]:
    """TARGET020, TARGET021: what the call does not bring along, and what the SDK leaves out of ``request`` on its way."""
    script = job.script
    if script is not None and not (script.source_dir or "").startswith("s3://"):
        yield _RULES["TARGET020"].problem(
            Field("script"),
            "the source must lie where the hyperparameter sagemaker_submit_directory says",
            got=f"{script.source_dir or 'a script of this package'}, on this machine",
            wanted="sourcedir.tar.gz in S3",
            fix=Advice("upload it first, or Session.submit, which uploads it and sends the same request"),
        )
    for path, value in lost(request):
        harmless = value is False or value in ([], {})
        yield _RULES["TARGET021"].problem(
            Field("kept" if job.kept else path.split(".")[0]),
            f"SDK v3 does not send {path}={value!r}" + ("; leaving it out means the same" if harmless else ""),
            severity=Severity.INFO if harmless else Severity.ERROR,
            got=repr(value),
            wanted="" if harmless else "a value that is not empty or 0",
            fix=Advice("nothing" if harmless else "another value, or Session.submit, which sends it"),
        )


def lost(request: Mapping[str, Json], path: str = "", shape: str = REQUEST) -> Iterator[tuple[str, Json]]:
    """Yield members that the SDK drops: False, 0 and empty values inside its classes."""
    for name, value in request.items():
        here, inner = f"{path}.{name}" if path else name, _shape(shape, name)
        if path and not value:
            yield here, value
        elif isinstance(value, Mapping) and _kind(inner) != "map":
            yield from lost(value, here, inner)
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, Mapping):
                    yield from lost(item, here, _item(inner))


def snake(name: str) -> str:
    """The SDK's spelling of a member: ``S3Uri`` is ``s3_uri``. Source: sagemaker-core 2.27.0, utils.pascal_to_snake."""
    words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()


def _value(shape: str, value: Json) -> object:
    """A value as the SDK takes it: an object of the class that has the shape's name, or the value itself."""
    if isinstance(value, Mapping):
        if _kind(shape) != "structure":
            return dict(value)
        arguments = {snake(name): _value(_shape(shape, name), item) for name, item in value.items()}
        module = RESOURCES if shape in RESOURCE else SHAPES
        return EstimatorCall(cls=f"{module}.{shape}", kwargs=MappingProxyType(arguments), method="")
    if isinstance(value, (list, tuple)):
        return [_value(_item(shape), item) for item in value]
    return value


def _kind(shape: str) -> str:
    """The type of a shape; "" of what the model does not have: a kept part can be anything."""
    return str(limits.shapes().get(shape, {}).get("type", ""))


def _shape(structure: str, member: str) -> str:
    return str(limits.shapes().get(structure, {}).get("members", {}).get(member, {}).get("shape", ""))


def _item(shape: str) -> str:
    return str(limits.shapes().get(shape, {}).get("member", {}).get("shape", ""))
