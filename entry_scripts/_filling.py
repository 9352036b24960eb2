"""Owns the count of tokens and of padding in batches as they are made; must not know how they are made or used."""

from __future__ import annotations


class Filling:
    """A collator's own count. Where a data loader's workers make the batches, nothing is counted here."""

    def count(self, tokens: int, positions: int) -> None:
        """One batch more."""
        self._batches.append((tokens, positions))

    def take(self, batches: int | None = None) -> tuple[int, int]:
        """Tokens, and positions padding included, of the oldest batches: loaders make some before they are used."""
        known = self._batches
        taken = known[:batches]
        del known[: len(taken)]
        return sum(tokens for tokens, _ in taken), sum(positions for _, positions in taken)

    @property
    def _batches(self) -> list[tuple[int, int]]:
        """Collators have constructors of their own."""
        made: list[tuple[int, int]] = self.__dict__.setdefault("_made", [])
        return made
