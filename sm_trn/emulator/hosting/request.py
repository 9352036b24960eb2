"""The parts of requests on hosted things that several modules read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..api.shapes import Body
    from ..state.resources import Resource


def container_of(model: Resource) -> Body:
    """Return the one container of a model."""
    containers = model.request.get("Containers")
    container: Body = containers[0] if containers else model.request["PrimaryContainer"]
    return container


def variant_of(config: Resource) -> Body:
    """Return the one variant of an endpoint configuration."""
    variant: Body = config.request["ProductionVariants"][0]
    return variant


def model_data(container: Body) -> tuple[str, Body]:
    """Return where a container's model is, empty where it has none, and how it is kept there."""
    source = container.get("ModelDataSource", {}).get("S3DataSource", {})
    return container.get("ModelDataUrl") or source.get("S3Uri", ""), source
