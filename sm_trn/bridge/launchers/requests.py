"""The request of a launch: what the SDK sends for it, with visible words where the account and the moment add something."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ...core.specs.destination import Destination
from ...core.specs.json import Json
from .language.nodes import ACCOUNT, PLACEHOLDERS, STAMP, TIME, Nodes
from .language.state import Site
from .values import Node, Reason, Symbol, Unresolved, merged, word_for

_LONGEST_BASE: Final = 39  # characters of a base name that the SDK leaves before its own moment
TUNING: Final = "CreateHyperParameterTuningJob"
SHORT_STAMP: Final = "991231-2359"  # the moment in the name of a tuning job: recorder/replay.py
_LOCAL: Final = frozenset({"local", "local_gpu"})


@dataclass(slots=True, kw_only=True)
class Read:
    """A request and where it goes; ``request`` None where ``causes`` keep it from being said."""

    request: dict[str, Json] | None = None
    at: Destination = field(default_factory=Destination)
    causes: tuple[Unresolved, ...] = ()
    placeholders: frozenset[Symbol | Unresolved] = frozenset()

    @property
    def asked(self) -> tuple[Unresolved, ...]:
        """Why texts that only the user knows are placeholders."""
        return merged(each for each in self.placeholders if isinstance(each, Unresolved))

    remarks: tuple[str, ...] = ()
    entry: str | None = None
    source_dir: str | None = None
    git: Mapping[str, str] | None = None
    dependencies: tuple[str, ...] = ()
    local: bool = False


def request_of(state: Nodes, site: Site) -> Read:
    """Ask the SDK what it sends for a site. What keeps it from being asked, or what it refuses, is a cause."""
    state.used = set()
    if _is_local(site):
        return Read(local=True)
    events = site.events or state.closure(site)
    lost = list(site.lost)
    if "training_recipe" in site.node.events[0].get("kwargs", {}):
        why = "a recipe chooses the script, the image and the parameters"
        lost.append(Unresolved(Reason.VALUE, site.place, "training_recipe", "training_recipe", why))
    lost += _unwritten(state, [*events, site.arguments])
    if lost:
        return Read(causes=merged(lost), placeholders=frozenset(state.used))
    answer = _answer(state, site, events)
    if places := _places_among(state, answer):  # of a text that only the user knows nothing tells whether it is a place
        state.places |= places
        again = _answer(state, site, events)
        answer = again if "request" in again else answer
        state.places -= places
    used = frozenset(state.used | _named_in(events))
    if answer.get("local"):
        return Read(local=True)
    if "failed" in answer:
        return Read(
            causes=(Unresolved(Reason.LIBRARY, site.place, f"{site.cls}(…)", detail=answer["failed"]),),
            placeholders=used,
        )
    if "refused" in answer:  # a word that stands for what only the user knows may be why
        told = Read(placeholders=used, remarks=tuple(answer.get("renamed", ())))
        return dataclasses.replace(
            told, causes=_blamed(told.asked, answer["refused"]) or (_refusal(site, events, answer),)
        )
    if state.marks.within(json.dumps(answer["request"])):
        why = "the request names the folder where the launcher lies"
        return Read(causes=(Unresolved(Reason.CALL, site.place, f"{site.cls}(…)", detail=why),), placeholders=used)
    return _read(state, site, answer, used)


def _blamed(asked: tuple[Unresolved, ...], refused: str) -> tuple[Unresolved, ...]:
    """The words for which a job may be refused: those that the refusal names, or else any."""
    named = tuple(each for each in asked if word_for(each) in refused)
    return named or tuple(
        dataclasses.replace(each, detail=f"{each.detail}; with {word_for(each)} SDK v2 says: {refused}")
        for each in asked
    )


def _answer(state: Nodes, site: Site, events: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """What the SDK sends for a site, or says instead."""
    fit = state.written_event({"id": 0, "kind": "fit", "heap": {}, **site.arguments})
    more = {
        "action": "fit",
        "node": site.node.number,
        "contexts": [each.number for each in site.contexts],
        "raw": site.raw,
        **{key: fit[key] for key in ("args", "kwargs", "heap")},
    }
    return state.settings.sdk.ask(state.written_job(events, more, site.environment))


def _places_among(state: Nodes, answer: Mapping[str, Any]) -> set[Unresolved]:
    """The texts that only the user knows which would have to be places in S3."""
    asked = [each for each in state.used if isinstance(each, Unresolved)]
    wanted = [str(answer.get("refused", "")), *_places(answer.get("request"))]
    return {
        each
        for each in asked
        if any(f"s3://{word_for(each)}" not in text and word_for(each) in text for text in wanted)
    }


def _places(value: object) -> Iterator[str]:
    """The places in S3 of a request that begin with no scheme."""
    if isinstance(value, list):
        for item in value:
            yield from _places(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in {"S3Uri", "S3OutputPath"} and "://" not in str(item):
                yield str(item)
            yield from _places(item)


def search_of(state: Nodes, tuner: Site) -> tuple[dict[str, Json] | None, tuple[Unresolved, ...]]:
    """Ask the SDK what it sends for a tuner: its CreateHyperParameterTuningJob request, or what keeps it from being said."""
    lost = [*tuner.lost, *_unwritten(state, [*tuner.events, tuner.arguments])]
    if lost:
        return None, merged(lost)
    fit = state.written_event({"id": 0, "kind": "fit", "heap": {}, **tuner.arguments})
    more = {"action": "fit", "operation": TUNING, "node": tuner.node.number, "raw": False}
    more |= {
        "contexts": [each.number for each in tuner.contexts],
        **{key: fit[key] for key in ("args", "kwargs", "heap")},
    }
    answer = state.settings.sdk.ask(state.written_job(tuner.events, more, tuner.environment))
    if "request" not in answer or state.marks.within(json.dumps(answer["request"])):
        why = (
            answer.get("failed")
            or answer.get("refused")
            or "local mode, or a request that names the folder where the launcher lies"
        )
        return None, (Unresolved(Reason.REFUSED, tuner.place, f"{tuner.cls}(…)", detail=str(why)),)
    told = _told(state, str(answer["region"]))
    request: dict[str, Json] = json.loads(_replaced(json.dumps(answer["request"]), [*told, (SHORT_STAMP, TIME)]))
    return request, ()


def _unwritten(state: Nodes, events: list[dict[str, Any]]) -> list[Unresolved]:
    """Every cause for which a value cannot be handed to the SDK."""
    lost: list[Unresolved] = []
    for event in events:
        values = [*event.get("args", ()), *event.get("kwargs", {}).values(), event.get("key")]
        for _, held, gone in event.get("heap", {}).values():
            lost += gone[1].causes if gone is not None else ()
            values += [item for each in held for item in (each if isinstance(each, tuple) else (each,))]
        for value in values:
            lost += state.why_unwritten(value) or state.too_large(value)
    return lost


def _is_local(site: Site) -> bool:
    """Whether the job runs on the user's own machine, as far as the launcher says so by itself."""
    said = [event.get("kwargs", {}) for event in site.node.events] + [
        {event.get("name"): event.get("value")} for event in site.node.events
    ]
    for names in said:
        kind, session = names.get("instance_type", names.get("train_instance_type")), names.get("sagemaker_session")
        if (isinstance(kind, str) and kind in _LOCAL) or (
            isinstance(session, Node) and session.last.startswith("Local")
        ):
            return True
    return False


def _named_in(events: tuple[dict[str, Any], ...]) -> set[Symbol]:
    """The placeholders that the SDK itself adds where the launcher asks it for them."""
    words = {"default_bucket": Symbol.BUCKET, "get_execution_role": Symbol.ROLE, "account_id": Symbol.ACCOUNT}
    names = [str(event.get("path", event.get("name", ""))).rpartition(".")[2] for event in events]
    return {words[name] for name in names if name in words}


def _refusal(site: Site, events: tuple[dict[str, Any], ...], answer: Mapping[str, Any]) -> Unresolved:
    """What the SDK refuses, at the call that it refuses; a text that was left to be filled in is the reason for that."""
    event = next((each for each in events if each["id"] == answer.get("event")), None)
    place = event["place"] if event is not None and "place" in event else site.place
    values = [*site.arguments.get("args", ()), *site.arguments.get("kwargs", {}).values()]
    for each in events:
        values += [*each.get("args", ()), *each.get("kwargs", {}).values()]
    if any(isinstance(value, str) and value == "" for value in values):
        return Unresolved(Reason.EMPTY, place, f"{site.cls}(…)", detail=answer["refused"])
    return Unresolved(Reason.REFUSED, place, f"{site.cls}(…)", detail=answer["refused"])


def _read(state: Nodes, site: Site, answer: dict[str, Any], used: frozenset[Symbol | Unresolved]) -> Read:
    """The request with our words in the places of those of the process that sent it."""
    region = str(answer["region"])
    told = _told(state, region)
    stamped = str(answer["request"]["TrainingJobName"])
    told = [(stamped, stamped.removesuffix(f"-{STAMP}")), *told]
    request = json.loads(_replaced(json.dumps(answer["request"]), told))
    uploaded = _replaced(answer["uploaded"], told) if answer.get("uploaded") else None
    name = str(request["TrainingJobName"])
    words = [TIME] if Symbol.TIME in used else []
    words += [word_for(each) for each in used if isinstance(each, Unresolved)]
    if (whole := _whole(name, words)) != name:
        request, uploaded = _renamed(request, name, whole), uploaded.replace(name, whole) if uploaded else None
        name = whole
    if site.within or pipeline_session(site):
        request, uploaded = (
            _renamed(request, name, _legal(name)),
            uploaded.replace(name, _legal(name)) if uploaded else None,
        )
        name = _legal(name)
    where = str(request.get("OutputDataConfig", {}).get("S3OutputPath", ""))
    at = Destination(
        role=str(request["RoleArn"]), region=region, source_uri=uploaded, job_name=name,
        bucket=where.removeprefix("s3://").partition("/")[0] or told[1][1],
    )  # fmt: skip
    named = answer["named"] or site.raw or {"AWS_DEFAULT_REGION", "AWS_REGION"} & set(site.environment)
    placeholders = used | (frozenset() if named else {Symbol.REGION})
    return Read(
        request=request, at=at, placeholders=frozenset(placeholders), remarks=tuple(answer.get("renamed", ())),
        entry=_relative(state, answer.get("entry_point")), source_dir=_relative(state, answer.get("source_dir")),
        git=answer.get("git_config"), dependencies=tuple(_relative(state, each) for each in answer.get("dependencies") or ()),
    )  # fmt: skip


def _relative(state: Nodes, path: Any) -> Any:
    return state.relative(path) if isinstance(path, str) else path


def pipeline_session(site: Site) -> str:
    """The session of a pipeline that an estimator has: what ``fit`` gives is a step's arguments. '' where it has another."""
    session = site.node.events[0].get("kwargs", {}).get("sagemaker_session") if site.node.events else None
    return session.last if isinstance(session, Node) and "PipelineSession" in session.last else ""


def _whole(name: str, words: Iterable[str]) -> str:
    """A base name that the SDK has cut inside a word that stands for what is not known, with the whole word."""
    for word in words if len(name) == _LONGEST_BASE else ():
        cut = next((end for end in range(len(word) - 1, 0, -1) if name.endswith(word[:end])), 0)
        if cut and word not in name:
            return name[:-cut] + word
    return name


def _told(state: Nodes, region: str) -> list[tuple[str, str]]:
    """Words of the process that asked the SDK, and ours or the user's for them."""
    given = state.given
    return [
        (f"sagemaker-{region}-{ACCOUNT}", str(given.get("bucket") or PLACEHOLDERS[Symbol.BUCKET])),
        (PLACEHOLDERS[Symbol.BUCKET], str(given.get("bucket") or PLACEHOLDERS[Symbol.BUCKET])),
        (PLACEHOLDERS[Symbol.ROLE], str(given.get("role") or PLACEHOLDERS[Symbol.ROLE])),
        (STAMP, TIME),
        (TIME.lower(), TIME),  # as the SDK writes it in names of experiments' runs
    ]


def _replaced(text: str, words: list[tuple[str, str]]) -> str:
    for old, new in words:
        text = text.replace(old, new)
    return text


def _renamed(request: dict[str, Any], name: str, better: str) -> dict[str, Any]:
    """The request with another name of the job, but for places that have it already."""
    pieces = json.dumps(request).split(better)
    found: dict[str, Any] = json.loads(better.join(piece.replace(name, better) for piece in pieces))
    return found


def _legal(name: str) -> str:
    """A name that a job may have: a pipeline's step names its job itself, so that the SDK takes any base name there."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "job"
