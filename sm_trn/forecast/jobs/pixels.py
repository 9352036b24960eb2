"""How large the images of a job are as they are computed: what its arguments say, or the transforms that its script writes out."""

from __future__ import annotations

import ast

from ...core.preflight import source
from ...scripts.parsers import called, constants, literal
from ...scripts.sources import programs
from .facts import Facts

SIDE = ("image_size", "img_size", "input_size", "crop_size", "resolution")
HEIGHT, WIDTH = ("height", "image_height", "img_height"), ("width", "image_width", "img_width")
# Transforms of torchvision and albumentations after which an image has a size. A crop comes after the resizing.
_CROPS, _RESIZES = frozenset({"RandomCrop", "CenterCrop", "RandomResizedCrop"}), frozenset({"Resize"})


def pixels(facts: Facts) -> float | None:
    """Pixels of an image; None where nothing says them."""
    side = facts.number(SIDE)
    if side is not None:
        return side**2
    height, width = facts.number(HEIGHT), facts.number(WIDTH)
    if height is not None and width is not None:
        return height * width
    calls = [(call, text) for _, text in programs(facts.job) for call in source.calls(text)]
    for transforms in (_CROPS, _RESIZES):
        sizes = [_size(call, text) for call, text in calls if called(call) in transforms]
        found = [size for size in sizes if size is not None]
        if found:
            return max(found)
    return None


def _size(call: ast.Call, text: str) -> float | None:
    """Pixels that a transform leaves: of ``32``, ``(32, 48)``, albumentations' ``32, 48``, or these by name; None where they are not
    written out.
    """
    names = constants(text)
    given = {word.arg: word.value for word in call.keywords}
    placed = call.args[
        : 2 if "albumentations" in text else 1
    ]  # torchvision's second is the padding, or how to interpolate
    sides = [given[name] for name in ("height", "width") if name in given] or placed
    try:
        values = [literal(each, names) for each in ([given["size"]] if "size" in given else sides)]
    except ValueError:
        return None
    if values and isinstance(values[0], list | tuple):
        values = list(values[0])
    whole = [each for each in values if isinstance(each, int) and not isinstance(each, bool)]
    return float(whole[0] * whole[-1]) if whole else None
