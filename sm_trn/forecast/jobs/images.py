"""What a job says of its images: how large they are as they are computed, and how many processes load them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ...core.preflight import reading, source
from ...core.specs.job import JobSpec
from ...scripts.programs import programs
from ...scripts.syntax import called, constants, literal
from ..intervals import Interval
from .facts import Facts

SIDE = ("image_size", "img_size", "input_size", "crop_size", "resolution")
HEIGHT, WIDTH = ("height", "image_height", "img_height"), ("width", "image_width", "img_width")
# Transforms of torchvision and albumentations after which an image has a size. A crop comes after the resizing.
_CROPS, _RESIZES = frozenset({"RandomCrop", "CenterCrop", "RandomResizedCrop"}), frozenset({"Resize"})
# Images that one process reads, crops and makes a tensor of in a second: 42 to 77 in four public jobs; and how many times fewer it may be.
_LOADED_S, _FEWER = 50, 1.6


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


@dataclass(frozen=True, slots=True)
class Loaders:
    """How many processes of a worker load its images, at the ``fewest``: 0 is the training process itself. ``said``: it is no more."""

    fewest: int
    said: bool

    @property
    def assumed(self) -> str:
        by = f"{max(1, self.fewest)} of a worker's processes" if self.said else "processes whose number is not said"
        return f"images are loaded by {by}, {_LOADED_S} a second in each: small ones take less"

    def with_loading(self, step: Interval, images: float) -> Interval:
        """A step where its images must be loaded: by processes beside the training, or before it by the training process."""
        loading = images / max(1, self.fewest) / _LOADED_S
        before = 0.0 if self.fewest else step.p50
        likely = max(step.p50, before + loading) if self.said else step.p50
        return Interval(step.p10, likely, max(step.p90, likely, before + loading * _FEWER))


def loaders_of(job: JobSpec) -> Loaders | None:
    """The processes in which PyTorch's loaders read image files; None where none are read. A loader that is told no number reads in the
    training process.
    """
    words = reading.words(job)
    if words is None or not words.any_of("ImageFolder", "imread", "albumentations"):
        return None
    calls = [(call, text) for _, text in programs(job) for call in source.calls(text) if called(call) == "DataLoader"]
    counts = [_processes(call, text) for call, text in calls]
    said = [each for each in counts if each is not None]
    return Loaders(max(said, default=0), len(said) == len(counts)) if counts else None


def _processes(call: ast.Call, text: str) -> int | None:
    """Processes of a loader; None where its call does not write their number out."""
    given = {word.arg: word.value for word in call.keywords}
    if None in given:
        return None
    try:
        value = literal(given["num_workers"], constants(text)) if "num_workers" in given else 0
    except ValueError:
        return None
    return value if isinstance(value, int) else None
