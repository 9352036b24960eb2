"""Which card shows which value: one line each. A value that inherits ``HasCard`` is looked up here when a notebook shows it."""

from __future__ import annotations

from functools import singledispatch

from ...core.formatting.numbers import instances
from ...core.pricing.cost import JobCost
from ...core.render.differences import Diff
from ...core.session.handles import TrainingJob
from ...core.specs.job import JobSpec
from ...core.specs.problems import Problems
from ...emulator.rehearsal import Rehearsal
from ...hosting.endpoints import Endpoint, Endpoints
from ..comparison.compare import Comparison
from ..fleets.fleet import Fleet
from .comparison import comparison_card
from .costs import job_cost_card
from .differences import diff_card
from .fleet import fleet_card
from .handles import endpoint_card, endpoints_card, job_card, rehearsal_card
from .problems import problems_card
from .spec import job_spec_card


@singledispatch
def card(value: object) -> str:
    """The HTML of a value. Raises TypeError for a value that has no line below."""
    raise TypeError(f"card: got {type(value).__name__}, wanted a value with a card in {__name__}")


card.register(Comparison, comparison_card)
card.register(Diff, diff_card)
card.register(Fleet, fleet_card)
card.register(JobCost, job_cost_card)
card.register(JobSpec, job_spec_card)
card.register(Problems, problems_card)


@card.register
def _(job: TrainingJob) -> str:
    """The handle, which asks the service nothing."""
    emulated = job.session.emulated
    compute = job.asked.compute if job.asked is not None else None
    machine = instances(" + ".join(compute.instances), compute.hosts) if compute is not None else ""
    return job_card(
        job.name,
        machine=f"for {machine}" if machine and emulated else machine,
        emulated=emulated,
        steps=(".wait() watches it", ".snapshot() asks once", ".logs() reads it", ".stop() ends it"),
    )


@card.register
def _(rehearsal: Rehearsal) -> str:
    return rehearsal_card(rehearsal.sentences(), rehearsal.files)


@card.register
def _(endpoint: Endpoint) -> str:
    made = endpoint.deployment
    image, note = (made.image, made.note) if made is not None else ("", "")
    return endpoint_card(endpoint.name, emulated=endpoint.session.emulated, image=image, note=note)


@card.register
def _(endpoints: Endpoints) -> str:
    return endpoints_card(endpoints.rows, endpoints.usd_per_hour)
