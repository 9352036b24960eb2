"""Launchers run as they are against a recorder: what they ask of AWS is kept, and nothing is started."""

from .recording import Recorded, RecordedCall
from .run import record

__all__ = ["Recorded", "RecordedCall", "record"]
