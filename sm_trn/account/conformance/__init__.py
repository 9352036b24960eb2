"""The emulator held to the service: the same small questions to an account and to an emulator, scrubbed, kept and compared."""

from __future__ import annotations
