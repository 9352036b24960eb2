"""How numbers are written: the one formatter of terminal, notebook, report, figures, CSV and JSON. Knows no job and no layout.

Texts hold ordinary spaces; ``printable.unbroken`` makes those between a number and its unit hold together where text may wrap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

_ANY = Context(prec=400)  # digits: as many as the largest float has


def _rounded(value: float | Decimal, places: int) -> Decimal:
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    return exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, _ANY)


def duration(seconds: float) -> str:
    """``1 h 40 m 33 s``, ``10 m 11 s``, ``41 s``, ``4.2 s``, ``11 ms``."""
    if seconds and seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds and seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes:02d} m {rest:02d} s"
    return f"{minutes} m {rest:02d} s" if minutes else f"{rest} s"


def brief(seconds: float, *, estimate: bool = False) -> str:
    """For tables: ``1h40m``, ``14m``, ``41s``, ``4d03h``; at most 6 characters, ``~`` before an estimate included."""
    mark = "~" if estimate else ""
    whole = round(seconds)
    if whole < 60:
        return f"{mark}{whole}s"
    minutes = whole // 60
    if minutes < 60:
        return f"{mark}{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{mark}{hours}h{minutes:02d}m"[:6]
    days, hours = divmod(hours, 24)
    return f"{mark}{days}d{hours:02d}h" if days < 10 else f"{mark}{min(days, 9999)}d"


def compact(seconds: float) -> str:
    """For lines: ``1h40m``, ``3m56s``, ``41s``."""
    whole = round(seconds)
    if whole < 60 or whole >= 3600:
        return brief(whole)
    return f"{whole // 60}m{whole % 60:02d}s"


def billable(seconds: float, *, emulated: bool = False) -> str:
    """Always seconds, as AWS gives them: ``6,033 s``. Emulated seconds carry their mark: ``34 s emu``."""
    return f"{seconds:,.0f} s emu" if emulated else f"{seconds:,.0f} s"


def hours(seconds: float) -> str:
    return f"{seconds / 3600:,.3f} h"


def usd(value: float | Decimal) -> str:
    """``$41.43``, ``$1,212.06``, ``< $0.01``."""
    return "< $0.01" if 0 < value < Decimal("0.01") else f"${_rounded(value, 2):,}"


def usd_cell(value: float | Decimal) -> str:
    """For a column headed USD: ``41.43``."""
    return usd(value).replace("$", "")


def usd_small(value: float | Decimal) -> str:
    """For small dollars by the thousand: ``1.03``, ``0.0342`` – three significant digits below one dollar."""
    return usd_cell(value) if value >= 1 or value == 0 else significant(float(value))


def usd_per_hour(value: Decimal) -> str:
    """``$25.25/h``, 24.725 as ``$24.73/h``. The full precision belongs to the price table."""
    return f"${value.quantize(Decimal('0.01'), ROUND_HALF_UP):,}/h"


def percent(value: float, *, signed: bool = False) -> str:
    """``22.1 %`` of 22.06. A sign only in tables, under a row named baseline."""
    rounded = _rounded(value, 1) + 0  # + 0 turns -0.0 into 0.0
    return f"{rounded:+,} %" if signed else f"{rounded:,} %"


def significant(value: float) -> str:
    """Three significant digits below 100, an integer from there on, never an exponent."""
    if not math.isfinite(value):
        return not_finite(value)
    if value == 0:
        return "0"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    places = 2 - math.floor(math.log10(abs(value)))
    places -= abs(_rounded(value, min(places, 12))) >= Decimal(10) ** (3 - places)  # 9.999 rounds up to 10.0
    return f"{_rounded(value, max(0, min(places, 12)))}"


def rate(value: float, unit: str) -> str:
    """``6.64 it/s``, ``1,514 samples/s``."""
    return f"{significant(value)} {unit}"


def loss(value: float) -> str:
    """``5.37``, ``0.081``: losses and accuracies, which are fractions, never percentages; ``1.2e26`` of what diverged."""
    if not math.isfinite(value):
        return not_finite(value)
    if abs(value) >= 1e9:
        return f"{value:.1e}".replace("e+", "e").replace(".0e", "e")
    return f"{_rounded(value, 2):,}" if abs(value) >= 1 else f"{_rounded(value, 3)}"


accuracy = loss


def not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else ("-infinite" if value < 0 else "infinite")


def count(value: float) -> str:
    """``34,200``."""
    return f"{value:,.0f}"


def jobs(number: int) -> str:
    """``1 job``, ``1,200 jobs``."""
    return counted(number, "job")


def counted(number: int, one: str) -> str:
    """``1 launch``, ``2 launches``: a number and its word."""
    return f"{count(number)} {one}{'s' * (number != 1)}"


def small(value: float) -> str:
    """A learning rate: ``3.91e-5``."""
    if value == 0 or abs(value) >= 0.001:
        return f"{value:g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def file_size(size: float) -> str:
    """SI, for files and transfers: ``9.4 kB``."""
    units, place = ("B", "kB", "MB", "GB", "TB"), 0
    while place < len(units) - 1 and size >= 999.5:
        size /= 1000
        place += 1
    return f"{size:,.0f} {units[place]}" if place == 0 or size >= 9.95 else f"{size:.1f} {units[place]}"


def stamp(time: datetime) -> str:
    """``2026-11-20 16:42 UTC``."""
    return f"{time.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"


def clock(time: datetime) -> str:
    """Today's time: ``16:42:07 UTC``."""
    return f"{time.astimezone(timezone.utc):%H:%M:%S} UTC"


def iso(time: datetime) -> str:
    """``2026-11-20T16:42:07Z``."""
    return f"{time.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def instances(name: str, number: int) -> str:
    """``ml.trn1.32xlarge × 1``; a dash where they are not known, as of a job that was listed and not yet described."""
    return f"{name} × {number}" if name else "-"


def listing(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def change(change_pct: float, quantity: str) -> str:
    """``22.1 % more iterations per second``: the sign becomes the word."""
    return f"{percent(abs(change_pct))} {'more' if change_pct >= 0 else 'less'} {quantity}".rstrip()


def against(values: tuple[str, str], unit: str = "") -> str:
    """``6.64 against 5.44 it/s``."""
    return f"{values[0]} against {values[1]} {unit}".rstrip()


def finding(  # noqa: PLR0913 - the template's blanks, each by name
    *,
    job: str,
    did: str,
    change_pct: float,
    quantity: str,
    base: str,
    values: tuple[str, str],
    unit: str = "",
    prices: str = "",
) -> str:
    """``{job} {did} {x} % {more|less} {quantity} than {base} ({value} against {value})[, at prices of {date}].``

    ``change_pct`` is computed from unrounded values; the sign becomes the word.
    """
    direction = "more" if change_pct >= 0 else "less"
    what = f"{direction} {quantity}" if quantity else direction
    ending = f" {unit}" if unit else ""
    dated = f", at prices of {prices}" if prices else ""
    return (
        f"{job} {did} {percent(abs(change_pct))} {what} than {base} ({values[0]} against {values[1]}{ending}){dated}."
    )
