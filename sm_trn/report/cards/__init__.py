"""What values look like in a notebook: one file for values that belong together, one line each in ``registry``."""

from .handles import endpoint_card, endpoints_card, job_card, rehearsal_card

__all__ = ["endpoint_card", "endpoints_card", "job_card", "rehearsal_card"]
