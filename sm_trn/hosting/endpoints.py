"""Endpoints as handles, and their list with its costs.

Nothing at AWS ends an endpoint by itself. ``max_hours`` is a tag that says when it may go; ``Endpoints.delete_overdue``, or
``sm-trn deploy --delete-overdue``, is what makes it go, whenever somebody – a person, cron, CI – runs it.
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from types import TracebackType
from typing import Any

from ..core.errors import CloudError, extra
from ..core.formatting import numbers as fmt
from ..core.formatting.cards import HasCard
from ..core.formatting.missing import Missing, missing_cost
from ..core.formatting.table import Align, Cell, Column, Row, Table, cells_of
from ..core.formatting.text import NAMES, WIDE, Screen, table_lines
from ..core.logs.events import printable
from ..core.ports import EndpointSnapshot
from ..core.pricing.book import Price
from ..core.session.cloud import Cloud
from ..core.specs.snapshot import parse_time
from ..core.specs.units import Usd
from . import deployment
from .deployment import EXPIRES_TAG, JOB_TAG, Deployment, Trained, naming

_ROLES = {"InService": "ok", "Failed": "err"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRow:
    """The status and cost of one endpoint. ``usd_per_hour`` is for all its instances; None when no hosting price is known,
    nothing when it is ``emulated``."""

    name: str
    status: str
    instance: str
    count: int
    created: datetime
    hours: float
    price: Price | None
    usd_per_hour: Usd | None
    expires: datetime | None
    overdue: bool
    job: str
    emulated: bool

    @property
    def usd_so_far(self) -> Usd | None:
        """At the hourly price, from its creation; None when no price is known."""
        return None if self.usd_per_hour is None else self.usd_per_hour * Decimal(str(self.hours))


def endpoint_table(rows: Sequence[EndpointRow], deleted: Collection[str] = ()) -> Table:
    """A row for each endpoint; ``deleted`` are the names of those that were deleted just now."""

    def status(row: EndpointRow) -> Cell:
        return Cell("deleted" if row.name in deleted else row.status, role=_ROLES.get(row.status, "info"))

    columns = (
        Column(name="status", heading="Status", align=Align.LEFT, read=status),
        Column(
            name="instances",
            heading="Instances",
            align=Align.LEFT,
            read=lambda row: fmt.instances(row.instance, row.count),
        ),
        Column(
            name="usd_per_hour",
            heading="USD/hour",
            form=lambda usd: f"{usd:,.4f}",
            read=lambda row: _usd(row, row.usd_per_hour),
        ),
        Column(name="usd_so_far", heading="USD so far", form=fmt.usd_cell, read=lambda row: _usd(row, row.usd_so_far)),
        Column(name="until", heading="Until", align=Align.LEFT, read=_until),
    )
    return Table(
        columns=columns,
        rows=tuple(Row(name=row.name, cells=cells_of(columns, row)) for row in rows),
        rows_are="Endpoint",
    )


def _usd(row: EndpointRow, usd: Decimal | None) -> Decimal | Missing:
    if usd is None or row.emulated:
        return missing_cost(emulated=row.emulated, billed=True)
    return usd


def _until(row: EndpointRow) -> Cell:
    if row.expires is None:
        return Cell("deleted by hand")
    if row.overdue:
        return Cell(f"overdue since {fmt.stamp(row.expires)}", role="warn")
    return Cell(fmt.stamp(row.expires))


JSON, CSV, NPY = "application/json", "text/csv", "application/x-npy"
_ENDED = {"InService", "Failed", "OutOfService", "UpdateRollbackFailed"}
NO_ENDPOINT = "No endpoint is here: none is billed."
_WAIT_S = 3600.0  # a host that has not started in an hour is reported, as SageMaker's own health check would


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(HasCard):
    """One endpoint, by name. As a context manager it deletes itself; ``deployment`` is known to whoever made it."""

    name: str
    session: Cloud = dataclasses.field(repr=False)
    deployment: Deployment | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def status(self) -> str:
        """AWS's word: Creating, InService, Updating, Failed, …; 'Deleted' once it is gone. Raises CloudError."""
        try:
            return self.session.hosts.fetch_endpoint(self.name).status
        except CloudError as error:
            if "Could not find" in str(error):
                return "Deleted"
            raise

    def wait(self) -> Endpoint:
        """Until it is in service. Raises CloudError with the reason when it is not to be."""
        clock = self.session.clock
        until = clock.now() + _WAIT_S
        while (now := self.session.hosts.fetch_endpoint(self.name)).status not in _ENDED:
            if clock.now() > until:
                raise CloudError(f"{self.name}: still {now.status} after an hour, wanted InService")
            clock.sleep(0.2 if self.session.emulated else 10.0)
        if now.status != "InService":
            raise CloudError(
                f"{self.name} is {now.status}: {printable(now.reason) or Missing.NO_REASON}; it may "
                f"still be billed until sm-trn deploy {self.name} --delete",
                operation="CreateEndpoint",
                code="Failed",
            )
        return self

    def predict(self, inputs: Any, *, content_type: str = "", accept: str = JSON) -> Any:
        """The model's answer: JSON and numpy arrays as objects, CSV as text, anything else as bytes.

        ``bytes`` are sent as they are, with ``content_type``; a numpy array as npy when ``content_type`` says so; everything
        else as JSON. Raises CloudError with the model's own message when it cannot answer.
        """
        body, kind = _encoded(inputs, content_type)
        answer = self.session.hosts.invoke(self.name, body, kind, accept)
        return _decoded(answer.body, answer.content_type)

    def delete(self) -> None:
        """Delete the endpoint, which ends the billing, its configuration and its models. A second call does nothing."""
        if self.status not in {"Deleted", "Deleting"}:
            self.session.hosts.delete_endpoint(self.name)

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.delete()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints(HasCard):
    """Everything here that answers, newest first. It is billed whether anybody asks or not."""

    rows: tuple[EndpointRow, ...]
    session: Cloud = dataclasses.field(repr=False)

    def __iter__(self) -> Iterator[EndpointRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return NO_ENDPOINT
        return "\n".join(table_lines(endpoint_table(self.rows), Screen(width=WIDE), NAMES))

    @property
    def usd_per_hour(self) -> Usd | None:
        """Of all together; None when the price of one is not known."""
        known = [row.usd_per_hour for row in self.rows if row.usd_per_hour is not None]
        return sum(known, Decimal(0)) if len(known) == len(self.rows) else None

    def delete_all(self) -> tuple[str, ...]:
        """Delete every endpoint of the list; the names of those that were."""
        return self._delete(self.rows)

    def delete_overdue(self) -> tuple[str, ...]:
        """Delete those whose ``max_hours`` are over; the names of those that were."""
        return self._delete(tuple(row for row in self.rows if row.overdue))

    def _delete(self, rows: tuple[EndpointRow, ...]) -> tuple[str, ...]:
        """Raises CloudError for those that could not be, after all the others were."""
        failed: list[CloudError] = []
        for row in rows:
            try:
                Endpoint(name=row.name, session=self.session).delete()
            except CloudError as error:  # noqa: PERF203 - each is a call or four
                failed.append(error)
        if failed:
            reasons = "; ".join(map(str, failed))
            raise CloudError(
                f"{len(failed)} of {len(rows)} endpoints could not be deleted, and are billed: {reasons}",
                operation="DeleteEndpoint",
                code=failed[0].code,
            ) from failed[0]
        return tuple(row.name for row in rows)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeployOptions:
    """The options of ``TrainingJob.deploy``."""

    instance: str
    count: int
    code: str | None
    image_uri: str | None
    environment: Mapping[str, str] | None
    max_hours: float | None
    wait: bool


def deploy(cloud: Cloud, job: Trained, how: DeployOptions) -> Endpoint:
    """Create the endpoint that ``TrainingJob.deploy`` returns. Raises ValueError for a count below 1."""
    if how.count < 1:
        raise ValueError(f"count: got {how.count!r}, wanted at least 1")
    tags = {JOB_TAG: job.now.name}
    if how.max_hours is not None:
        end = datetime.fromtimestamp(cloud.clock.now(), tz=timezone.utc) + timedelta(hours=how.max_hours)
        tags[EXPIRES_TAG] = end.strftime("%Y-%m-%dT%H:%M:%SZ")
    made = deployment.prepare(
        cloud,
        job,
        how.instance,
        code=how.code,
        image_uri=how.image_uri,
        environment=how.environment,
        tags=tags,
    )
    with naming("endpoint", made.name, f"sm-trn deploy {made.name} --delete"):
        cloud.hosts.create_endpoint(made.name, how.instance, how.count, tags)
        endpoint = Endpoint(name=made.name, session=cloud, deployment=made)
        return endpoint.wait() if how.wait else endpoint


def fetch_endpoints(cloud: Cloud) -> Endpoints:
    """Every endpoint of the account and region, whoever made it. Raises CloudError."""
    return Endpoints(rows=tuple(_row(cloud, found) for found in cloud.hosts.fetch_endpoints()), session=cloud)


def _row(cloud: Cloud, snapshot: EndpointSnapshot) -> EndpointRow:
    now = datetime.fromtimestamp(cloud.clock.now(), tz=timezone.utc)
    created, expires = snapshot.created or now, parse_time(snapshot.tags.get(EXPIRES_TAG))
    price = None if snapshot.emulated else cloud.prices.hosting(snapshot.instance, cloud.region)
    return EndpointRow(
        name=snapshot.name,
        status=snapshot.status,
        instance=snapshot.instance,
        count=snapshot.count,
        created=created,
        hours=max(0.0, (now - created).total_seconds() / 3600),
        price=price,
        usd_per_hour=Decimal(0) if snapshot.emulated else price.usd_per_hour * snapshot.count if price else None,
        expires=expires,
        overdue=expires is not None and expires <= now,
        job=snapshot.tags.get(JOB_TAG, ""),
        emulated=snapshot.emulated,
    )


def _encoded(inputs: Any, content_type: str) -> tuple[bytes, str]:
    if isinstance(inputs, (bytes, bytearray)):
        return bytes(inputs), content_type or "application/octet-stream"
    if content_type.startswith(NPY):
        with extra("report", f"the content type {NPY}"):
            import numpy as np  # noqa: PLC0415 - `import sm_trn` loads no numpy

        packed = io.BytesIO()
        np.save(packed, np.asarray(inputs), allow_pickle=False)
        return packed.getvalue(), content_type
    if isinstance(inputs, str) and content_type and not content_type.startswith(JSON):
        return inputs.encode(), content_type
    plain = inputs.tolist() if hasattr(inputs, "tolist") else inputs
    return json.dumps(plain).encode(), content_type or JSON


def _decoded(body: bytes, content_type: str) -> Any:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON:
        try:
            return json.loads(body)
        except ValueError:
            return body.decode("utf-8", "replace")
    if kind == NPY:
        with extra("report", f"the content type {NPY}"):
            import numpy as np  # noqa: PLC0415 - `import sm_trn` loads no numpy

        return np.load(io.BytesIO(body), allow_pickle=False)
    return body.decode("utf-8", "replace") if kind.startswith("text/") or kind == "application/jsonlines" else body
