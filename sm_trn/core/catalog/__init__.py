"""Tables of facts with their sources: instances, images, support matrices, API limits."""

from . import compiler, images, limits
from .images import ImageRow, image_uri
from .instances import find_instance, find_instances, instance, instances

__all__ = [
    "ImageRow",
    "compiler",
    "find_instance",
    "find_instances",
    "image_uri",
    "images",
    "instance",
    "instances",
    "limits",
]
