"""What is met on the way to a request: causes of what is unknown, placeholders, remarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from ....core.specs.destination import Destination
from ..values import Bound, Cause, Instance, Place, Reason, Ref, Symbol, Text, Unknown, causes_in, missing_module

TIME: Final = "YOUR-TIME"  # `check` refuses it, as the other words of this kind (DATA006)


DEEPEST: Final = 30  # values inside values of one argument


PLACEHOLDERS: Final[Mapping[Symbol, str]] = MappingProxyType(
    {
        Symbol.ROLE: Destination().role,
        Symbol.BUCKET: Destination().bucket,
        Symbol.ACCOUNT: "111122223333",
        Symbol.REGION: Destination().region,
        Symbol.TIME: TIME,
    }
)


@dataclass(slots=True)
class Ledger:
    """What was met on the way: causes of what is unknown, placeholders that were filled in, remarks for the user."""

    words: Mapping[Symbol, str]
    place: Place
    causes: dict[tuple[object, ...], Cause] = field(default_factory=dict)
    placeholders: set[Symbol] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)

    def lacks(self, *causes: Cause) -> None:
        for cause in causes:
            self.causes.setdefault(cause.key, cause)

    def plain(self, value: object, above: tuple[int, ...] = ()) -> Any:
        """Return the value as JSON holds it, with placeholders as visible words. What is unknown is noted and becomes None."""
        if isinstance(value, (Text, Symbol)):
            return self._text(value)
        if isinstance(value, Unknown):
            self.lacks(*value.causes)
            return None
        if isinstance(value, (dict, list, tuple)):
            if id(value) in above or len(above) > DEEPEST:
                self.lacks(
                    Cause(Reason.VALUE, self.place, "…", detail="a value that holds itself, or is nested too deeply")
                )
                return None
            return self._inside(value, (*above, id(value)))
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return self._object(value)

    def _inside(self, value: dict[object, object] | list[object] | tuple[object, ...], above: tuple[int, ...]) -> Any:
        if isinstance(value, dict):
            return {
                key if isinstance(key, str) else self.plain(key, above): self.plain(item, above)
                for key, item in value.items()
            }
        return [self.plain(item, above) for item in value]

    def _text(self, value: Text | Symbol) -> str:
        parts = value.parts if isinstance(value, Text) else (value,)
        self.lacks(*causes_in(value))
        self.placeholders |= {part for part in parts if isinstance(part, Symbol)}
        return "".join(
            part if isinstance(part, str) else self.words[part] if isinstance(part, Symbol) else "…" for part in parts
        )

    def _object(self, value: object) -> Any:
        if isinstance(value, Instance) and value.cls == "path":
            return self.plain(value.arguments["path"])
        if isinstance(value, Instance) and value.cls == "ShuffleConfig":
            return {"seed": self.plain(value.arguments.get("seed"))}
        place = value.place if isinstance(value, Instance) else self.place
        if isinstance(value, Ref):
            self.lacks(missing_module(value, place))
            return None
        if isinstance(value, Bound):
            self.lacks(Cause(Reason.CALL, place, f"….{value.name}"))
            return None
        word = value.cls if isinstance(value, Instance) else type(value).__name__
        self.lacks(Cause(Reason.VALUE, place, word, detail=f"a {word} object"))
        return None
