"""The embedded SageMaker: one background process per state folder, which any AWS client can talk to.

These names are all that the rest of the package may use. Importing this module loads neither moto nor boto3.
"""

from __future__ import annotations

from .daemon import (
    Status,
    add_fault,
    clear_faults,
    down,
    find,
    interrupt,
    reset,
    status,
    up,
)
from .mocking import environment, mocked, redirected
from .options import EMULATED_ACCOUNT, EMULATED_TAG, FAULTS, SUBSTITUTED_TAG, Endpoint, Fault, Options

__all__ = [
    "EMULATED_ACCOUNT", "EMULATED_TAG", "FAULTS", "SUBSTITUTED_TAG", "Endpoint", "Fault", "Options", "Status",
    "add_fault", "clear_faults", "down", "environment", "find", "interrupt", "mocked", "redirected", "reset",
    "status", "up",
]  # fmt: skip
