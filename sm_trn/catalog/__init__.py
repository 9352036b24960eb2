"""Tables of facts with their sources: instances, images, support matrices, API limits."""

from . import compiler, images, limits
from .images import ImageRow, image_uri
from .instances import find_instance, instance, instances

__all__ = [
    "ImageRow",
    "compiler",
    "find_instance",
    "image_uri",
    "images",
    "instance",
    "instances",
    "limits",
]
