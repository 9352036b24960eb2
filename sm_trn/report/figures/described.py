"""What a figure says in words, for those who draw it, put it into a page or read it aloud. Knows no figure."""

from __future__ import annotations

from typing import Protocol


class Described(Protocol):
    """What every figure can say in words."""

    @property
    def title(self) -> str: ...
    @property
    def subtitle(self) -> str: ...
    @property
    def foot(self) -> str: ...
    @property
    def alt(self) -> str: ...


class Info(Described, Protocol):
    """The words of a figure of one section; ``drawn`` is false when it has nothing to show."""

    @property
    def drawn(self) -> bool: ...
