"""An estimator's arguments by their plain values."""

from __future__ import annotations

from typing import Any, Final

from ....core.catalog import images as catalog
from ....core.specs.json import Json
from ..state import Site
from ..values import Cause, Instance, Reason
from .ledger import Ledger
from .words import collection

FRAMEWORKS: Final = frozenset({"PyTorch", "HuggingFace", "TensorFlow", "MXNet", "SKLearn", "XGBoost"})


LOCAL: Final = ("local", "local_gpu")


_MAY_BE_EMPTY: Final = frozenset({"source_dir", "code_location", "model_uri"})  # the SDK takes an empty text for none


def pipeline_session(site: Site) -> str:
    """The session of a pipeline, which starts nothing; '' for another."""
    session = site.arguments.get("sagemaker_session")
    kind = str(session.arguments.get("kind", "")) if isinstance(session, Instance) else ""
    return kind if "Pipeline" in kind else ""


class Asked:
    """An estimator's arguments, and the ledger of what was met in reading them."""

    def __init__(self, site: Site, ledger: Ledger, region: str) -> None:
        self.site, self.ledger, self.region = site, ledger, region
        self.raw = site.arguments
        self.framework = site.cls in FRAMEWORKS

    def get(self, name: str, default: Any = None) -> Any:
        """An argument's plain value."""
        return self.ledger.plain(self.raw[name]) if name in self.raw else default

    def text(self, name: str) -> str | None:
        """An argument that is a text; an empty one was left to be filled in."""
        value = self.get(name)
        if value is None or (isinstance(value, str) and value) or (value == "" and name in _MAY_BE_EMPTY):
            return value or None
        reason = Reason.EMPTY if value == "" else Reason.VALUE
        self.ledger.lacks(Cause(reason, self.site.place, f"{name}={value!r}", give=name))
        return None

    def compiler(self) -> Instance | None:
        value = self.raw.get("compiler_config")
        return value if isinstance(value, Instance) and value.cls == "TrainingCompilerConfig" else None

    def groups(self) -> list[Instance]:
        groups = self.raw.get("instance_groups")
        return [item for item in groups if isinstance(item, Instance)] if isinstance(groups, list) else []

    def machine(self) -> str:
        """The type that chooses the image. Raises TypeError where there is none."""
        if self.groups():
            types = [str(self.resolved(group).get("instance_type")) for group in self.groups()]
            return next((name for name in types if catalog.processor(name) == "gpu"), types[0])
        value = self.get("instance_type")
        if not isinstance(value, str):
            raise TypeError("instance_type: got nothing, wanted an instance type")
        return value

    def resolved(self, part: Instance) -> dict[str, Json]:
        return {name: self.ledger.plain(value) for name, value in part.arguments.items()}

    def collections(self, value: object) -> list[dict[str, Json]]:
        """The CollectionConfigs of a list as they are sent."""
        if not isinstance(value, (list, tuple)):
            self.ledger.plain(value)
            return []
        return [self._collection(each) for each in value]

    def _collection(self, item: object) -> dict[str, Json]:
        if not isinstance(item, Instance) or item.cls != "CollectionConfig":
            self.ledger.plain(item)
            return {}
        settings = self.resolved(item)
        return collection(settings.get("name"), settings.get("parameters"))

    def isolated(self) -> bool:
        return bool(self.get("enable_network_isolation"))
