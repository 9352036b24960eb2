"""The channels of a request: inputs, the model, the source of an isolated job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....core import fields
from ....core.render.from_describe import CODE_CHANNEL
from ....core.specs.destination import Destination
from ....core.specs.json import Json
from ..values import Cause, Instance, Reason, causes_in
from .asked import Asked
from .words import given


def inputs(asked: Asked, algorithm: dict[str, Json]) -> Iterator[dict[str, Json]]:
    inputs = asked.site.fit.arguments.get("inputs") if asked.site.fit else None
    if inputs is None:
        return
    if (
        isinstance(inputs, Instance)
        and inputs.cls == "TrainingInput"
        and inputs.arguments.get("input_mode") is not None
    ):
        algorithm["TrainingInputMode"] = asked.ledger.plain(inputs.arguments["input_mode"])
    named = inputs if isinstance(inputs, dict) else {"training": inputs}
    for name, value in named.items():
        if name == "…":
            asked.ledger.lacks(*causes_in(value))
        elif (channel := _channel(asked, str(asked.ledger.plain(name)), value)) is not None:
            yield channel


def _channel(asked: Asked, name: str, value: object, **more: str) -> dict[str, Json] | None:
    if isinstance(value, Instance) and value.cls in {"TrainingInput", "FileSystemInput"}:
        made = (
            _training_input(asked.resolved(value))
            if value.cls == "TrainingInput"
            else _file_system(asked.resolved(value))
        )
    else:
        uri = asked.ledger.plain(value)
        if uri is None and not asked.ledger.causes:
            uri = ""
        if isinstance(uri, str) and not asked.ledger.causes and not uri.startswith("s3://"):
            reason = Reason.EMPTY if not uri else Reason.REFUSED
            asked.ledger.lacks(
                Cause(
                    reason,
                    asked.site.fit.place if asked.site.fit else asked.site.place,
                    f"inputs[{name!r}]={uri!r}",
                    give=name,
                )
            )
        made = _training_input({"s3_data": uri, **more})
    return {**made, "ChannelName": name}


def of_model(asked: Asked) -> Iterator[dict[str, Json]]:
    uri = asked.text("model_uri")
    if uri:
        name = str(asked.get("model_channel_name") or "model")
        found = _channel(asked, name, uri, content_type="application/x-sagemaker-model", input_mode="File")
        yield from [found] if found is not None else []


def of_code(asked: Asked, at: Destination, program: str | None) -> Iterator[dict[str, Json]]:
    if asked.isolated() and program and at.source_uri:
        found = _channel(asked, CODE_CHANNEL, at.source_uri)
        yield from [found] if found is not None else []


def _training_input(said: Mapping[str, Json]) -> dict[str, Json]:
    arguments: dict[str, Json] = {"s3_data_type": "S3Prefix", **given(**said)}
    if "target_attribute_name" not in arguments:
        arguments.setdefault("distribution", "FullyReplicated")
    words = fields.translate(fields.CHANNEL, arguments, "v2", "request")
    return words | given(TargetAttributeName=said.get("target_attribute_name"))


def _file_system(said: Mapping[str, Json]) -> dict[str, Json]:
    arguments: dict[str, Json] = {"file_system_access_mode": "ro", **given(**said)}
    return fields.translate(fields.FILE_SYSTEM, arguments, "v2", "request")
