"""Experiments, trials and their components of one region."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from ..http.response import document, json_body
from ..service import Handler, HttpAnswer, ReadBody, RegionParts, Service
from .api import COMPONENT, EXPERIMENT, SEARCHED, TRIAL, ExperimentsApi

if TYPE_CHECKING:
    from ..api.search import SearchRequest
    from .request import MetricsRequest


class ExperimentsService(Service):
    """Records: nothing of them runs."""

    def __init__(self, parts: RegionParts) -> None:
        self._api = ExperimentsApi(parts.resources)
        self.operations = operations(self._api)

    def search(self, body: SearchRequest) -> Mapping[str, object] | None:
        return self._api.search(body) if body["Resource"] in SEARCHED else None

    def answer(self, method: str, path: str, body: ReadBody, fields: Mapping[str, str]) -> HttpAnswer | None:
        """Answer BatchPutMetrics. Raises AwsError."""
        del fields
        if (method, path) != ("PUT", "/BatchPutMetrics"):
            return None
        return json_body(self._api.put_metrics(cast("MetricsRequest", document(body()))))


def operations(experiments: ExperimentsApi) -> Mapping[str, Handler]:
    """The operations on experiments, trials and components."""
    named = {"Experiment": EXPERIMENT, "Trial": TRIAL, "TrialComponent": COMPONENT}
    return {
        **{f"Create{word}": partial(experiments.create, kind) for word, kind in named.items()},
        **{f"Describe{word}": partial(experiments.describe, kind) for word, kind in named.items()},
        **{f"Update{word}": partial(experiments.update, kind) for word, kind in named.items()},
        **{f"Delete{word}": partial(experiments.delete, kind) for word, kind in named.items()},
        **{f"List{word}s": partial(experiments.listed, kind) for word, kind in named.items()},
        "AssociateTrialComponent": experiments.associate,
        "DisassociateTrialComponent": experiments.disassociate,
        "ListAssociations": experiments.no_associations,
    }
