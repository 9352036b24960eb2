"""The embedded SageMaker: one background process per state folder, spoken to with any AWS client.

These names are all that the rest of the package may use. Importing this module loads neither moto nor boto3.
"""

from __future__ import annotations

from sm_trn.emulator.daemon import (
    Status,
    active_faults,
    add_fault,
    clear_faults,
    default_state,
    down,
    find,
    interrupt,
    log_file,
    reset,
    status,
    up,
)
from sm_trn.emulator.mocking import mocked
from sm_trn.emulator.values import EMULATED_TAG, FAULTS, SUBSTITUTED_TAG, Endpoint, Fault, Options
from sm_trn.specs import EMULATED_ACCOUNT

__all__ = [
    "EMULATED_ACCOUNT",
    "EMULATED_TAG",
    "FAULTS",
    "SUBSTITUTED_TAG",
    "Endpoint",
    "Fault",
    "Options",
    "Status",
    "active_faults",
    "add_fault",
    "clear_faults",
    "default_state",
    "down",
    "find",
    "interrupt",
    "log_file",
    "mocked",
    "reset",
    "status",
    "up",
]
