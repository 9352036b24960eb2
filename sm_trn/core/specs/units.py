"""Units that must not be mixed: wall seconds of a job, seconds that its instances were billed for, dollars."""

from __future__ import annotations

from decimal import Decimal
from typing import NewType

WallSeconds = NewType("WallSeconds", float)
InstanceSeconds = NewType("InstanceSeconds", float)
Usd = Decimal
