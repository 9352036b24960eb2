"""Makes the SDK's own objects from rendered calls – SDK v2's estimators – and contains its habits while doing so.

The SDK prints to stdout at import, warns that it is version 2, and reports home on every ``fit``: the session made here
opts out of that. It must not know specs' rules; it only builds what ``render`` returned.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import boto3

from ..errors import NotConfigured
from ..render import render
from ..render.calls import EstimatorCall
from ..specs.destination import Destination
from ..specs.job import JobSpec, expect_spec

# The SDK's own switch for its usage reports (schema 1.0 of its defaults file).
QUIET_CONFIG = {"SchemaVersion": "1.0", "SageMaker": {"PythonSDK": {"Modules": {"TelemetryOptOut": True}}}}


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Send what the SDK prints to stderr and drop its version notice, for the time of the block."""
    with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def load(path: str) -> Any:
    """The SDK object at a dotted path. Raises NotConfigured when the version of the SDK that has it is not installed."""
    module, _, name = path.rpartition(".")
    try:
        with contained():
            return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        third = path.startswith(("sagemaker.train", "sagemaker.core"))
        raise NotConfigured(
            f"{path}: got {type(error).__name__}, wanted SageMaker SDK v{3 if third else 2}; "
            f'pip install "sm_trn[{"sdk3" if third else "sdk"}]" (version 3 has no estimators, version 2 no such trainer, '
            "and the two cannot share an environment)"
        ) from error


def sdk_session(*, boto_session: Any = None, bucket: str | None = None) -> Any:
    """A ``sagemaker.Session`` without usage reports. ``bucket`` None leaves the choice to the SDK."""
    cls = load("sagemaker.session.Session")
    with contained():
        return cls(
            boto_session=boto_session or boto3.Session(),
            default_bucket=bucket,
            sagemaker_config=QUIET_CONFIG,
        )


def estimator(job: JobSpec, *, role: str, bucket: str | None = None, session: Any = None) -> Any:
    """The ``sagemaker.pytorch.PyTorch`` or ``sagemaker.huggingface.HuggingFace`` estimator of ``job``.

    ``session`` is a ``sagemaker.Session``; None makes one from boto3's own configuration. Raises NotConfigured without
    SDK v2, UnknownName when no image fits.
    """
    expect_spec(job)
    session = session or sdk_session(bucket=bucket)
    at = Destination(role=role, region=session.boto_region_name, bucket=bucket or session.default_bucket())
    return build(render(job, "estimator-v2", at=at), sagemaker_session=session)


def build(call: EstimatorCall, **extra: Any) -> Any:
    """The object that an EstimatorCall describes, with the calls of its chain made."""
    kwargs = {key: built(value) for key, value in call.kwargs.items()}
    cls = load(call.cls)
    with contained():
        made = (getattr(cls, call.maker) if call.maker else cls)(**kwargs, **extra)
        for method, arguments in call.chain.items():
            getattr(made, method)(**{key: built(value) for key, value in arguments.items()})
    return made


def built(value: Any) -> Any:
    """``value`` with every EstimatorCall in it replaced by its object; for ``fit`` arguments too."""
    if isinstance(value, EstimatorCall):
        return build(value)
    if isinstance(value, list):
        return [built(item) for item in value]
    if isinstance(value, Mapping):
        return {key: built(item) for key, item in value.items()}
    return value
