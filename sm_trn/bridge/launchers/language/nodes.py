"""Objects of the SDK and of boto3 in a launcher: their making and their changes are kept, and the SDK itself is asked what they are."""

from __future__ import annotations

import ast
import base64
import copy
import dataclasses
import os
from collections.abc import Iterable
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from ....core.specs.destination import Destination
from ..values import (
    LONGEST,
    Asked,
    Needs,
    Node,
    Place,
    Reason,
    Symbol,
    Unknown,
    Unresolvable,
    Unresolved,
    contents,
    merged,
    renamed,
    word_for,
)
from . import estimators
from .calls import Calls
from .state import Site

ACCOUNT: Final = "111122223333"
TIME: Final = "YOUR-TIME"  # `check` refuses it, as the other words of this kind (DATA006)
PLACEHOLDERS: Final = MappingProxyType(
    {
        Symbol.ROLE: Destination().role,
        Symbol.BUCKET: Destination().bucket,
        Symbol.ACCOUNT: ACCOUNT,
        Symbol.REGION: Destination().region,
        Symbol.TIME: TIME,
    }
)
STAMP: Final = "1999-12-31-23-59-59-999"  # the moment of the process that asks the SDK
SHORT_STAMP: Final = "991231-2359"
# Calls of AWS whose answers are the account's placeholders, or nothing that a value depends on.
_PLACEHOLDING: Final = frozenset({
    "GetCallerIdentity", "GetRole", "CreateRole", "HeadBucket", "CreateBucket", "ListBuckets", "PutObject", "PutBucketEncryption",
})  # fmt: skip
_DEFAULTS: Final = (
    "SAGEMAKER_USER_CONFIG_OVERRIDE",
    "SAGEMAKER_ADMIN_CONFIG_OVERRIDE",
)  # where the SDK's files of defaults are
_SDKS_OWN: Final = ("AWS_", "SAGEMAKER_")  # variables of the environment that it reads
_SIDE_EFFECTS: Final = frozenset({"setup_default_session", "set_stream_logger"})


class Nodes(Calls):
    """Nodes: what is done with them, and what the SDK says that they are."""

    def node_attribute(self, node: ast.AST, owner: Node, name: str) -> Any:
        if owner.is_path:
            return Node(f"{owner.path}.{name}", self.place(node))
        if (
            owner.last in estimators.SEEN
            and estimators.SEEN[owner.last] in {"pipeline", "processing job"}
            and name not in {"run", "fit"}
        ):
            return self._pipeline_value(node)
        if owner.started and name not in {"set_hyperparameters", "fit", "hyperparameters", *estimators.SIGHTED_METHODS}:
            return self.unknown(node, Reason.RESULT)
        for event in reversed(owner.events):
            if event["kind"] == "set" and event["owner"] is owner and event["name"] == name:
                return event["value"]
        made = Node(f"{owner.path}.{name}", self.place(node), number=self._next(), owner=owner, name=name)
        made.events.append({"id": made.number, "kind": "attribute", "owner": owner, "name": name, "heap": {}})
        return made

    def _pipeline_value(self, node: ast.AST) -> Unknown:
        return self.unknown(node, Reason.PIPELINE)

    def node_item(self, node: ast.AST, owner: Node, key: Any) -> Any:
        """Raises Needs."""
        value = self.resolved(owner)
        item = self.item(node, value, key) if not isinstance(value, Node) else None
        if not isinstance(value, Node) and not isinstance(item, (list, dict, set)):
            return item
        if isinstance(key, Unresolvable):
            raise Needs(key.causes)
        made = Node(f"{owner.path}[]", self.place(node), number=self._next(), owner=owner)
        made.events.append({"id": made.number, "kind": "item", "owner": owner, "key": key, "heap": {}})
        return made

    def _next(self) -> int:
        self.turn += 1
        return self.turn

    def node_called(self, node: ast.AST, function: Node, given: list[Any], names: dict[str, Any]) -> Any:
        place, last = self.place(node), function.last
        if last in estimators.PIPELINE_PARAMETERS:
            return self._parameter(node, given, names)
        if function.is_path and "workflow" in function.path.split(".") and "Session" not in last:
            return self._of_pipeline(node, last, given, names)
        if _of_jumpstart(function, names):
            if last in estimators.SEEN or last in estimators.ESTIMATORS:
                self.sight(node, f"{last}(…)", "JumpStart")
            if last not in estimators.ESTIMATORS:
                return self.unknown(node, Reason.JUMPSTART)
        if last in estimators.SEEN:
            self.sight(node, f"{last}(…)", estimators.SEEN[last])
        owner = function.owner
        if owner is not None and not function.is_path:
            answer = self._method(node, owner, function, given, names)
            if answer is not NotImplemented:
                return answer
        made = Node(function.path, place, number=self._next(), owner=owner, name=function.name)
        kind = (
            {"kind": "call", "path": function.path}
            if function.is_path
            else {"kind": "method", "owner": owner, "name": function.name}
        )
        self._of_region(names)
        event = {**self._event(made.number, kind, given, names), "place": place}
        made.events.append(event)
        for above in owner.owners if owner is not None else ():  # the SDK says what it changes
            above.events.append(event)
        made.tainted = [*function.tainted]
        if last in _SIDE_EFFECTS:
            self.effects.append(made)
        self._handed(last, given, names)
        if _is_estimator(made):
            self._noted(made)
        return made

    def _handed(self, word: str, given: list[Any], names: dict[str, Any]) -> None:
        """Estimators among the arguments are handed to another object."""
        for value in (*given, *names.values()):
            if isinstance(value, Node) and not value.is_path:
                self.handed_over(value, word)

    def _of_region(self, names: dict[str, Any]) -> None:
        """A region, or a session, that nobody knows may be any: the user's own, where there is one."""
        for word, instead in (("region_name", self.given.get("region")), ("sagemaker_session", None)):
            value = names.get(word)
            if isinstance(value, Unknown):
                names[word] = (
                    instead
                    if "region" in self.given
                    else renamed(value, lambda cause: dataclasses.replace(cause, give="region"))
                )

    def _event(self, number: int, kind: dict[str, Any], given: list[Any], names: dict[str, Any]) -> dict[str, Any]:
        heap: dict[int, Any] = {}
        self._remember([*given, *names.values(), kind.get("owner")], heap)
        return {"id": number, **kind, "args": list(given), "kwargs": dict(names), "heap": heap, "at": self._next()}

    def _remember(self, values: Iterable[Any], heap: dict[int, Any]) -> None:
        """Copy what every list and mapping in the values, and in what their objects were made of, holds at this moment."""
        todo, seen = list(values), set[int]()
        while todo:
            item = todo.pop()
            if isinstance(item, (dict, list, set)) and id(item) not in heap:
                self.spend(len(item))
                self.keep.append(item)
                heap[id(item)] = (
                    type(item),
                    list(item.items()) if isinstance(item, dict) else list(item),
                    self.lost.get(id(item)),
                )
                todo.extend(contents(item))
            elif isinstance(item, tuple):
                todo.extend(item)
            elif isinstance(item, Node) and id(item) not in seen:
                seen.add(id(item))
                for event in item.events:
                    todo += [*event.get("args", ()), *event.get("kwargs", {}).values()]

    def _method(self, node: ast.AST, owner: Node, function: Node, given: list[Any], names: dict[str, Any]) -> Any:
        """A method that starts or changes something; NotImplemented for one that only gives a value."""
        name = function.name
        if name == "fit":
            return self._fit(node, owner, given, names)
        if (name.startswith("create_") and owner.last in {"client", "Client"}) or (
            name == "create_training_job" and owner.last == "client"
        ):
            return self._sent(node, owner, function, given, names)
        if name in estimators.SIGHTED_METHODS and owner.last in estimators.ESTIMATORS | {"TrainingQueue"}:
            self.sight(node, f"{owner.last}.{name}(…)", estimators.SIGHTED_METHODS[name])
        if owner.last == "TrainingQueue":
            if name in {"submit", "map"}:
                self._queue(node, owner, name, {**dict(zip(estimators.QUEUED, given, strict=False)), **names})
            return self.unknown(node, Reason.RESULT)
        if not _is_estimator(owner) or name == "hyperparameters":
            return NotImplemented
        if name in estimators.SIGHTED_METHODS:
            return self.unknown(node, Reason.RESULT)
        made = Node(function.path, self.place(node), number=self._next(), owner=owner, name=name)
        made.events.append(self._event(made.number, {"kind": "method", "owner": owner, "name": name}, given, names))
        owner.events += made.events  # the SDK says what it changes
        return self.unknown(node, Reason.RESULT) if owner.started else made

    def _fit(self, node: ast.AST, owner: Node, given: list[Any], names: dict[str, Any]) -> None:
        if owner.last == "HyperparameterTuner":
            self._tune(node, owner, given, names, owner.last)
            return
        if owner.last in estimators.SEEN and not _is_estimator(owner):
            return
        self._start(node, owner, given, names, "")

    def _tune(self, node: ast.AST, tuner: Node, given: list[Any], names: dict[str, Any], within: str) -> None:
        """Note what a tuner starts: its estimator, with the inputs that the tuner is given."""
        inner = _argument(tuner, "estimator")
        if isinstance(inner, Node) and _is_estimator(inner):
            search = self._search(node, tuner, given, names)
            inputs = names.get("inputs", given[0] if given else None)
            self._start(node, inner, [inputs], {}, within).search = search

    def _search(self, node: ast.AST, tuner: Node, given: list[Any], names: dict[str, Any]) -> Site:
        """The start of a tuner, as that of an estimator."""
        site = Site(tuner.place, tuner.last, tuner, 0, started=self.place(node))
        site.arguments = self._event(0, {"kind": "fit", "owner": tuner}, given, names)
        site.contexts, site.lost = tuple(self.contexts), [*tuner.tainted, *self.tainted]
        site.events = self.closure(site)
        return site

    def _queue(self, node: ast.AST, queue: Node, method: str, said: dict[str, Any]) -> None:
        """Note what a training queue is given: an estimator, once, or with ``map`` once for each of its inputs."""
        job, inputs, called = said.get("training_job"), said.get("inputs"), said.get("job_name")
        if not isinstance(job, Node) or not _is_estimator(job):
            return
        starts = [(inputs, called)]
        if method == "map" and isinstance(inputs, list):
            called = said.get("job_names", said.get("job_name"))
            named = called if isinstance(called, list) and len(called) == len(inputs) else [called] * len(inputs)
            starts = list(zip(inputs, named, strict=True))
        place = {
            estimators.QUEUE_MEMBERS[name]: value for name, value in said.items() if name in estimators.QUEUE_MEMBERS
        }
        place["jobQueue"] = _argument(queue, "queue_name")
        for each, name in starts:
            given = {"inputs": each, "job_name": name, "experiment_config": said.get("experiment_config")}
            told = {word: value for word, value in given.items() if value is not None}
            site = self._start(node, job, [], told, "TrainingQueue")
            lost = [
                cause
                for value in (inputs, *place.values())
                for cause in self.why_unwritten(value) or self.too_large(value) or self.missing(value, marked=True)
            ]
            site.lost += lost
            site.wait = False
            site.queue = (
                {} if lost else copy.deepcopy({word: value for word, value in place.items() if value is not None})
            )

    def _start(self, node: ast.AST, owner: Node, given: list[Any], names: dict[str, Any], within: str) -> Site:
        """Note a start: the estimator as it is now, and what it is given."""
        waiting = [site for site in self.sites if site.node is owner]
        if waiting and waiting[-1].started is None:
            site = waiting[-1]
        else:
            site = Site(owner.place, owner.last, owner, self._turn(owner))
            self.sites.append(site)
        site.started, site.within, site.arguments = (
            self.place(node),
            within,
            self._event(0, {"kind": "fit", "owner": owner}, given, names),
        )
        site.contexts, site.lost = tuple(self.contexts), [*owner.tainted, *self.tainted]
        site.events = self.closure(site)
        started = {**site.arguments, "id": self._next(), "kind": "method", "owner": owner, "name": "fit"}
        self.starts.append((*site.events, started))
        wait = names.get("wait", given[1] if len(given) > 1 else True)
        site.wait = wait is not False
        owner.started = True
        return site

    def _turn(self, owner: Node) -> int:
        nodes = list(dict.fromkeys(id(site.node) for site in self.sites if site.place == owner.place))
        return nodes.index(id(owner)) if id(owner) in nodes else len(nodes)

    def _noted(self, made: Node) -> None:
        """An estimator that nothing has started yet."""
        self.sites.append(Site(made.place, made.last, made, self._turn(made), lost=list(self.tainted)))

    def handed_over(self, value: Node, word: str) -> None:
        """An estimator that another object is given is started by that object."""
        if not _is_estimator(value):
            return
        for site in reversed(self.sites):
            if site.node is value and site.started is None:
                site.within = site.within or word
                site.lost = [*value.tainted, *self.tainted]
                site.events = self.closure(site)
                break

    def _sent(self, node: ast.AST, owner: Node, function: Node, given: list[Any], names: dict[str, Any]) -> Any:
        """A call of boto3 that creates something of SageMaker."""
        service = _argument(owner, "service_name")
        if service != "sagemaker":
            return self.unknown(node, Reason.CALL) if service != "iam" else NotImplemented
        if function.name != "create_training_job":
            self.sight(node, f"boto3 {function.name}(…)", "call of boto3")
            return self.unknown(node, Reason.RESULT)
        made = Node(function.path, self.place(node), number=self._next(), owner=owner)
        made.events.append(
            self._event(made.number, {"kind": "method", "owner": owner, "name": function.name}, given, names)
        )
        site = Site(
            self.place(node),
            "create_training_job",
            made,
            0,
            started=self.place(node),
            lost=list(self.tainted),
            raw=True,
        )
        site.arguments = self._event(0, {"kind": "fit"}, [], {})
        site.events = self.closure(site)
        self.sites.append(site)
        return self.unknown(node, Reason.RESULT)

    def _of_pipeline(self, node: ast.AST, last: str, given: list[Any], names: dict[str, Any]) -> Any:
        self.sight(node, f"{last}(…)", "pipeline")
        said = {**dict(zip(estimators.STEPS.get(last, ()), given, strict=False)), **names}
        estimator, tuner, inputs = said.get("estimator"), said.get("tuner"), said.get("inputs")
        if last == "TrainingStep" and isinstance(estimator, Node) and _is_estimator(estimator):
            self._start(node, estimator, [inputs], {}, last)
        elif last == "TuningStep" and isinstance(tuner, Node) and tuner.last == "HyperparameterTuner":
            self._tune(node, tuner, [inputs], {}, last)
        else:
            self._handed(last, given, names)
        return self.unknown(node, Reason.PIPELINE)

    def _parameter(self, node: ast.AST, given: list[Any], names: dict[str, Any]) -> Any:
        """A parameter of a pipeline: what it is when nobody gives another value, and said."""
        name = given[0] if given else names.get("name")
        word = name if isinstance(name, str) else ""
        if word in self.given:
            return self.given[word]
        if names.get("default_value") is None:
            return self.unknown(node, Reason.PIPELINE, give=word)
        self.assume(node, f"the pipeline's parameter {word} is left at its default")
        return names["default_value"]

    def set_node(self, node: ast.AST, owner: Node, name: str, value: Any) -> None:
        """An attribute of something of the SDK is given a value."""
        if owner.is_path:
            self.taint(self.cause(node, Reason.DYNAMIC, detail="a part of the SDK is replaced"))
            return
        number = self._next()
        event = {**self._event(number, {"kind": "set", "owner": owner, "name": name}, [value], {}), "value": value}
        for each in (owner, *owner.owners):
            each.events.append(event)

    def resolved(self, value: Any) -> Any:
        """The plain value that the SDK says a node is; the node itself where that is an object."""
        if not isinstance(value, Node) or value.is_path or value.last in estimators.ESTIMATORS:
            return value
        if value.owner is None and value.last[:1].isupper():
            return value
        try:
            answer = self.settings.sdk.ask(self.job(value, "value"))
        except Needs as needs:
            return self.lacking(*needs.causes)
        self.risks += 1
        if "failed" in answer:
            return Unknown((Unresolved(Reason.LIBRARY, value.place, value.path, detail=answer["failed"]),))
        if "refused" in answer:
            return Unknown((Unresolved(Reason.REFUSED, value.place, f"{value.path}(…)", detail=answer["refused"]),))
        if not set(answer["asked"]) <= _PLACEHOLDING:
            return Unknown((Unresolved(Reason.CALL, value.place, f"{value.path}(…)"),))
        return self._placed(answer["value"]) if "value" in answer else value

    def _placed(self, value: Any) -> Any:
        """What the SDK has answered, with placeholders where it says what the account and the moment add."""
        if isinstance(value, dict):
            return {key: self._placed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._placed(item) for item in value]
        if not isinstance(value, str):
            return value
        region = self.settings.region
        if value == region:
            return self.symbol(Symbol.REGION)
        bucket = f"sagemaker-{region}-{ACCOUNT}"
        for word, symbol in (
            (Destination().role, Symbol.ROLE),
            (bucket, Symbol.BUCKET),
            (ACCOUNT, Symbol.ACCOUNT),
            (STAMP, Symbol.TIME),
            (SHORT_STAMP, Symbol.TIME),
        ):
            if word in value and not (symbol is Symbol.ACCOUNT and ".dkr.ecr." in value):
                value = value.replace(word, str(self.symbol(symbol)))
        return value

    def job(self, value: Node, action: str) -> dict[str, Any]:
        """The job for the SDK's process that makes a node. Raises Needs where something in it is not known."""
        events, lost = self._gathered([value])
        if lost:
            raise Needs(lost)
        return self.written_job(events, {"action": action, "node": value.number}, self.environment.known)

    def closure(self, site: Site) -> tuple[dict[str, Any], ...]:
        """Every making and change that a start depends on, in order."""
        values = [
            site.node,
            *site.contexts,
            *site.arguments.get("args", []),
            *site.arguments.get("kwargs", {}).values(),
        ]
        values += [item for _, held, _ in site.arguments.get("heap", {}).values() for item in held]
        events, lost = self._gathered(values)
        site.environment = dict(self.environment.known)
        site.lost = list(merged([*site.lost, *lost]))
        found = {event["id"]: event for event in events}
        for earlier in self.starts if site.started is not None else ():
            if _shared(earlier) & _shared(
                events
            ):  # the SDK changes objects that it is given: what it did before comes first
                found |= {event["id"]: event for event in earlier}
        return tuple(found[number] for number in sorted(found))

    def _gathered(self, values: list[Any]) -> tuple[tuple[dict[str, Any], ...], list[Unresolved]]:
        found: dict[int, dict[str, Any]] = {}
        gone = self.lost.get(id(self.environment))
        lost: list[Unresolved] = [*gone[1].causes] if gone is not None else []
        for name, value in self.environment.known.items():
            lost += self.why_unwritten(value) if name.startswith(_SDKS_OWN) else ()
        seen: set[int] = set()
        todo: list[Any] = [*values, *self.effects]
        while todo:
            item = todo.pop()
            if id(item) in seen:
                continue
            seen.add(id(item))
            self.keep.append(item)
            if isinstance(item, Node):
                lost += item.tainted
                for event in item.events:
                    found[event["id"]] = event
                    todo += [
                        event.get("owner"),
                        event.get("key"),
                        *event.get("args", ()),
                        *event.get("kwargs", {}).values(),
                    ]
                    todo += [inner for _, held, _ in event["heap"].values() for inner in held]
            elif isinstance(item, (list, tuple)):
                todo.extend(item)
        self.spend(len(seen))
        return tuple(found[number] for number in sorted(found)), lost

    def written_job(
        self, events: Iterable[dict[str, Any]], more: dict[str, Any], variables: dict[str, Any]
    ) -> dict[str, Any]:
        """A job as JSON for the SDK's process, in an environment with these variables. Raises Needs for what is not known."""
        environment = {name: self.written(value) for name, value in variables.items() if name.startswith(_SDKS_OWN)}
        environment |= {name: os.environ[name] for name in _DEFAULTS if name in os.environ}
        return {
            **more,
            "region": self.settings.region,
            "environment": environment,
            "events": [self.written_event(event) for event in events],
        }

    def written_event(self, event: dict[str, Any]) -> dict[str, Any]:
        """A making or a change as JSON."""
        local = _local_argument(event)
        made: dict[str, Any] = {"id": event["id"], "kind": event["kind"]}
        made |= {key: event[key] for key in ("path", "name") if key in event}
        made |= {key: self.written(event[key]) for key in ("owner", "key", "value") if key in event}
        made["args"] = [
            self._local(item) if index == local else self.written(item)
            for index, item in enumerate(event.get("args", ()))
        ]
        made["kwargs"] = {
            key: self._local(item) if key == local else self.written(item)
            for key, item in event.get("kwargs", {}).items()
        }
        made["heap"] = {str(number): self._held(held) for number, held in event["heap"].items()}
        return made

    def _held(self, held: tuple[type, list[Any], Any]) -> dict[str, Any]:
        kind, items, lost = held
        if lost is not None:
            raise Needs(lost[1].causes)
        if issubclass(kind, dict):
            return {"t": "dict", "v": [[self.written(key), self.written(item)] for key, item in items]}
        return {"t": "set" if issubclass(kind, set) else "list", "v": [self.written(item) for item in items]}

    def _local(self, value: Any) -> Any:
        """A path that is uploaded: a file or a folder of that name, judged by what lies here, or by its name."""
        value = self.resolved(value)
        if isinstance(value, Unresolvable) or not isinstance(value, (str, PurePosixPath)):
            return self.written(value)
        name = self.filled(self.relative(str(value))).rstrip("/").rpartition("/")[2] or "data"
        folder = "." not in name.strip(".")
        path = self.without_folder(str(value))
        for beside in self.settings.folders if path else ():
            if (beside / str(path)).exists():
                return {"t": "local", "v": name, "folder": (beside / str(path)).is_dir()}
        if not str(value).endswith("/"):
            self.assumed[
                self.place(ast.Pass()), f"{name!r} is a {'folder' if folder else 'file'}, judged by its name"
            ] = None
        return {"t": "local", "v": name, "folder": folder}

    def filled(self, text: str) -> str:
        """A text with visible words for its placeholders. Raises Needs for a part that is not known."""
        return self.marks.filled(text, self._word)

    def _word(self, part: Symbol | Asked) -> str:
        """Raises Needs for what has no name yet."""
        if isinstance(part, Asked):
            if not part.causes[0].give:
                raise Needs(part.causes)
            self.used.add(part.causes[0])
            return ("s3://" if part.causes[0] in self.places else "") + word_for(part.causes[0])
        self.used.add(part)
        return self.settings.region if part is Symbol.REGION else PLACEHOLDERS[part]

    def written(self, value: Any) -> Any:
        """A value as JSON for the SDK's process. Raises Needs for what is not known, and for what no request can hold."""
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return self.filled(value)
        if isinstance(value, Node):
            return {"t": "path", "v": value.path} if value.is_path else {"t": "node", "id": value.number}
        if type(value).__name__ == "Moment":
            return self._word(Symbol.TIME)
        if isinstance(value, Asked):
            return self._word(value)
        if isinstance(value, Unresolvable):
            raise Needs(value.causes)
        if isinstance(value, (dict, list, set)):
            return {"t": "heap", "id": id(value)}  # what it held then is written with the event
        if id(value) in self.lost:
            raise Needs(self.lost[id(value)][1].causes)
        if isinstance(value, (tuple, range)):
            return {"t": "tuple", "v": [self.written(item) for item in value]}
        if isinstance(value, bytes) and len(value) < LONGEST:
            return {"t": "bytes", "v": base64.b64encode(value).decode()}
        if isinstance(value, PurePosixPath):
            return self.filled(str(value))
        raise Needs(
            (
                Unresolved(
                    Reason.VALUE,
                    Place(self.settings.file, self.main.cell, 1),
                    type(value).__name__,
                    detail=f"a {type(value).__name__} object",
                ),
            )
        )

    def why_unwritten(self, value: Any) -> tuple[Unresolved, ...]:
        """Why a value cannot be handed to the SDK; () where it can."""
        try:
            self.written(value)
        except Needs as needs:
            return needs.causes
        return ()


def _is_estimator(value: Node) -> bool:
    return value.last in estimators.ESTIMATORS and value.owner is None and not value.is_path


def _shared(events: tuple[dict[str, Any], ...]) -> set[int]:
    """The objects of the SDK, but sessions, and the mappings and lists that calls are given."""
    made = {event["id"] for event in events if event["kind"] == "call" and _is_config(str(event["path"]))}
    return made | {-number for event in events for number in event["heap"]}


def _is_config(path: str) -> bool:
    last = path.rpartition(".")[2]
    return last[:1].isupper() and "Session" not in last


def _of_jumpstart(function: Node, names: dict[str, Any]) -> bool:
    """Whether a call asks JumpStart's tables, which lie in S3."""
    return (
        "jumpstart" in function.path.lower()
        or names.get("model_id") is not None
        or function.path.endswith(".retrieve_default")
    )


def _argument(made: Node, name: str) -> Any:
    """The first argument of a making, or the one of that name."""
    event = made.events[0] if made.events else {}
    given = event.get("args") or []
    return event.get("kwargs", {}).get(name, given[0] if given else None)


def _local_argument(event: dict[str, Any]) -> Any:
    """Which argument of a call is a path that is uploaded; None where none is."""
    name = event.get("name") or str(event.get("path", "")).rpartition(".")[2]
    word = {"upload_data": "path", "upload": "local_path"}.get(name)
    if word is None or (name == "upload" and "S3Uploader" not in str(event.get("path", ""))):
        return None
    return word if word in event.get("kwargs", {}) else 0
