"""Estimators: how they are made, changed, handed over and started."""

from __future__ import annotations

import ast
import json

from .. import estimators, methods, texts, unsupported
from ..state import Fit, Sighting, Site, State
from ..values import (
    Arguments,
    Instance,
    Names,
    Reason,
    causes_in,
    known,
    parts_of,
    text,
    unknown,
)
from . import inputs


def sighted(state: State, node: ast.expr, last: str, given: Arguments, names: Names) -> None:
    state.sightings.append(Sighting(state.place(node), f"{last}(…)", estimators.SEEN[last]))
    for value in (*given, *names.values()):
        handed_over(state, value, last)


def handed_over(state: State, value: object, last: str) -> None:
    """An estimator in another object's arguments is started by that object."""
    if isinstance(value, Instance) and value.cls in estimators.WRITTEN:
        for site in reversed(state.sites):
            if site.place == value.place and site.fit is None:
                site.within = site.within or last
                site.arguments = dict(value.arguments)
                break


def constructed(state: State, node: ast.expr, cls: str, given: Arguments, names: Names) -> Instance:
    positional = estimators.named(cls, given)
    old = {"image_uri": "image_name"} if any(name in estimators.RENAMED for name in names) else {}
    arguments, renamed = estimators.renamed({old.get(name, name): value for name, value in positional.items()} | names)
    if len(given) > len(estimators.POSITIONAL[cls]):
        arguments["…"] = state.unknown(node, Reason.CONSTRUCT, detail="more arguments than names")
    place = state.place(node)
    if (causes := unsupported.taints(state)) != []:
        arguments["…"] = unknown(causes, rest=True)
    if isinstance(arguments.get("hyperparameters"), dict):
        arguments["hyperparameters"] = _own_copy(cls, arguments["hyperparameters"])
    if arguments.get("sagemaker_session") is None:
        arguments["_region"] = inputs.default_region(state, shared=True)
    made = Instance(cls, arguments, place)
    turn = state.turns.get(place, 0)
    state.turns[place] = turn + 1
    made.arguments["__turn__"] = turn
    state.sites.append(Site(place, cls, dict(arguments), turn, tuple(state.conditions), renamed=renamed))
    return made


def _own_copy(cls: str, value: object) -> object:
    """Estimator copies the mapping it is given; the framework classes keep it, so that later changes of it count."""
    return dict(value) if cls == "Estimator" and isinstance(value, dict) else value


def fit(state: State, node: ast.expr, owner: Instance, given: Arguments, names: Names) -> None:
    """Note a call of ``fit``: the estimator as it is now, and how it is started."""
    called_with: dict[str, object] = dict(zip(estimators.FIT, given, strict=False)) | names
    if state.runs and called_with.get("experiment_config") is None:
        called_with["experiment_config"] = dict(state.runs[-1])
    inputs = methods.STRUCTURAL["copy.deepcopy"]([called_with.get("inputs")])
    _start(state, owner, Fit(state.place(node), {**called_with, "inputs": inputs}))


def _start(state: State, owner: Instance, started: Fit, within: str = "") -> None:
    arguments = {
        key: methods.STRUCTURAL["copy.deepcopy"]([value]) for key, value in owner.arguments.items() if key != "__turn__"
    }
    if (causes := [*causes_in(arguments.get("…")), *unsupported.taints(state)]) != []:
        arguments["…"] = unknown(causes, rest=True)
    turn = owner.arguments.get("__turn__", 0)
    waiting = [site for site in state.sites if site.place == owner.place and site.turn == turn]
    if waiting and waiting[-1].fit is None:
        site = waiting[-1]
    else:
        renamed = waiting[-1].renamed if waiting else ()
        site = Site(owner.place, owner.cls, {}, turn if isinstance(turn, int) else 0, renamed=renamed)
        state.sites.append(site)
    site.fit, site.arguments, site.conditions, site.within = started, arguments, tuple(state.conditions), within


def experiment_of(state: State, node: ast.expr, run: Instance) -> dict[str, object]:
    """What an open run of an experiment adds to a job. Source: sagemaker 2.257.7, experiments/run.py and _utils.py."""
    experiment, name = run.arguments.get("experiment_name"), run.arguments.get("run_name")
    first, second = parts_of(experiment), parts_of(name)
    if first is None or second is None:
        lost = state.unknown(node, Reason.CALL, detail="the experiment's run has no name here")
        return {"ExperimentName": experiment if first is not None else lost, "TrialName": lost, "RunName": lost}
    cause = state.cause(node, Reason.CALL)
    small = methods.of_text(text(first), "lower", [], {}, cause)
    run_name = methods.of_text(text((*first, "-", *second)), "lower", [], {}, cause)
    return {
        "ExperimentName": small,
        "TrialName": texts.joined("", ["Default-Run-Group-", small], cause),
        "RunName": run_name,
    }


def tuned(state: State, node: ast.expr, owner: Instance, given: Arguments, names: Names) -> None:
    """A tuner starts its estimator, as that is now, with the inputs of its own fit."""
    inner = owner.arguments.get("estimator")
    if isinstance(inner, Instance) and inner.cls in estimators.WRITTEN:
        inputs = methods.STRUCTURAL["copy.deepcopy"]([names.get("inputs", given[0] if given else None)])
        _start(state, inner, Fit(state.place(node), {"inputs": inputs}), "HyperparameterTuner")


def method_of_estimator(
    state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names
) -> object:
    if name == "fit":
        fit(state, node, owner, given, names)
        return None
    if name == "set_hyperparameters":
        held = owner.arguments.setdefault("hyperparameters", {})
        if isinstance(held, dict):
            held.update({key: _encoded(value) for key, value in names.items()} if _encodes(owner) else names)
        follow(state, owner)
        return None
    if name == "hyperparameters":
        return owner.arguments.get("hyperparameters", {})
    if name in estimators.SIGHTED_METHODS:
        state.sightings.append(Sighting(state.place(node), f"{owner.cls}.{name}(…)", estimators.SIGHTED_METHODS[name]))
    return state.unknown(node, Reason.RESULT)


def _encodes(owner: Instance) -> bool:
    """The framework classes encode what ``set_hyperparameters`` is given, and encode it again when the job is started."""
    return owner.cls not in {"Estimator", "AlgorithmEstimator"}


def _encoded(value: object) -> object:
    if known(value):
        return json.dumps(value)
    parts = parts_of(value)
    return text(('"', *parts, '"')) if parts is not None else value


def follow(state: State, owner: Instance) -> None:
    """Keep a site that is not started yet as its estimator is now."""
    for site in state.sites:
        if site.place == owner.place and site.turn == owner.arguments.get("__turn__") and site.fit is None:
            site.arguments = {key: value for key, value in owner.arguments.items() if key != "__turn__"}
