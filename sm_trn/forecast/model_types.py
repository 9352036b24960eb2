"""The model types of transformers that a model's public name spells."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from importlib.resources import files

_LONGEST = 5  # words of a type: kyutai_speech_to_text and digits
_SHORT = 3  # letters: sam, opt, git and bit are also words that stand anywhere in a name


def types_in(name: str) -> frozenset[str]:
    """The model types that a name spells, with any separators; one of three letters only where it is the first of them.

    >>> sorted(types_in("Salesforce/blip2-opt-2.7b"))
    ['blip-2']
    >>> sorted(types_in("google/gemma-2-9b-it")), sorted(types_in("Qwen3-5B"))
    (['gemma2'], ['qwen3'])
    """
    words = re.findall("[a-z0-9]+", name.lower().rpartition("/")[2])
    found: list[str] = []
    at = 0
    while at < len(words):
        longest = next((end for end in range(at + _LONGEST, at, -1) if "".join(words[at:end]) in _joined()), 0)
        spelled = "".join(words[at:longest]) if longest else words[at].rstrip("0123456789")
        if spelled in _joined() and (not found or len(spelled) > _SHORT):
            found.append(_joined()[spelled])
        at = max(longest, at + 1)
    return frozenset(found)


@functools.cache
def _joined() -> Mapping[str, str]:
    """Types by their letters and digits alone: ``gpt_neox`` is spelled GPT-NeoX."""
    types: list[str] = json.loads((files(__package__) / "model_types.json").read_text("utf-8"))
    return {re.sub("[^a-z0-9]", "", kind): kind for kind in types}
