"""Jobs before they run: their facts, configuration, phases and cost."""

from .calibration import Calibration, read_calibration
from .estimate import estimate
from .facts import MissingFact
from .value import Estimate

__all__ = ["Calibration", "Estimate", "MissingFact", "estimate", "read_calibration"]
