"""Methods of jobs and sessions for endpoints."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypeVar

from ..core.session import handles
from . import endpoints
from .deployment import Trained
from .endpoints import DeployOptions, Endpoint, Endpoints


class DeployableJob(handles.TrainingJob):
    """A job whose model can answer."""

    __slots__ = ()

    def deploy(
        self,
        instance: str,
        *,
        count: int = 1,
        code: str | None = None,
        image_uri: str | None = None,
        environment: Mapping[str, str] | None = None,
        max_hours: float | None = None,
        wait: bool = True,
    ) -> Endpoint:
        """An endpoint that answers with the job's model, on ``count`` instances; billed until it is deleted.

        ``code`` is an inference.py, or a folder with one; without it the artefact's own is used, else the shipped one for a
        classifier that a shipped script has trained. ``max_hours`` is a tag: ``endpoints().delete_overdue()`` goes by it.
        Raises InvalidJob with all that keeps the artefact from being hosted, UnknownName where no image fits, CloudError.
        """
        how = DeployOptions(
            instance=instance,
            count=count,
            code=code,
            image_uri=image_uri,
            environment=environment,
            max_hours=max_hours,
            wait=wait,
        )
        return endpoints.deploy(self.session, Trained(label=self.label, spec=self.spec, now=self.snapshot()), how)


H_co = TypeVar("H_co", bound=DeployableJob, default=DeployableJob, covariant=True)


class HostingSession(handles.Session[H_co]):
    """A session that knows the endpoints of its account."""

    __slots__ = ()

    def endpoints(self) -> Endpoints:
        """Every endpoint of this account and region, with what it costs an hour, newest first. Raises CloudError."""
        return endpoints.fetch_endpoints(self)

    def endpoint(self, name: str) -> Endpoint:
        """A handle for an existing endpoint. Raises CloudError when there is none."""
        self.hosts.fetch_endpoint(name)
        return Endpoint(name=name, session=self)
