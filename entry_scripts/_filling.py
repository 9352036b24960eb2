"""Owns the count of tokens and of padding in batches as they are made; must not know how they are made or used."""

from __future__ import annotations

from typing import Tuple


class Filling:
    """A collator's own count. Where a data loader's workers make the batches, it stays 0 here: nothing is then known."""

    _tokens = _positions = 0

    def count(self, tokens: int, positions: int) -> None:
        self._tokens += tokens
        self._positions += positions

    def take(self) -> Tuple[int, int]:
        """Tokens, and positions padding included, since it was last asked."""
        taken = self._tokens, self._positions
        self._tokens = self._positions = 0
        return taken
