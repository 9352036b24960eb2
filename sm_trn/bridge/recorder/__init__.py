"""Launchers run as they are against a recorder: what they ask of AWS is kept, and nothing is started."""

from __future__ import annotations

from .inside import Recording, recording
from .recording import Recorded, RecordedCall, RecordedPlace
from .run import record

__all__ = ["Recorded", "RecordedCall", "RecordedPlace", "Recording", "record", "recording"]
