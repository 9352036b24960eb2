"""Which card shows which value: one line each. A value that inherits ``HasCard`` is looked up here when a notebook shows it.

The cards of ``session``'s handles are functions of plain texts (``handles``), because ``session`` stands above this.
"""

from __future__ import annotations

from functools import singledispatch

from ...core.pricing.cost import JobCost
from ...core.pricing.requests import RequestCost
from ...core.render.differences import Diff
from ...core.specs.job import JobSpec
from ...core.specs.problems import Problems
from ..comparison.compare import Comparison
from ..fleets.fleet import Fleet
from .comparison import comparison_card
from .costs import job_cost_card, request_cost_card
from .differences import diff_card
from .fleet import fleet_card
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
card.register(RequestCost, request_cost_card)
