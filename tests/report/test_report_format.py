"""The one formatter: exact forms, and laws that hold for every number."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm_trn.core.formatting import numbers as fmt
from sm_trn.core.formatting.printable import NBSP, unbroken

SECONDS = st.floats(min_value=0, max_value=8e6)


@pytest.mark.parametrize(
    ("expected", "seconds"),
    [
        ("1 h 40 m 33 s", 6033),
        ("1 h 00 m 00 s", 3599.6),
        ("10 m 11 s", 611),
        ("4 m 07 s", 247),
        ("41 s", 41),
        ("10 s", 9.96),
        ("4.2 s", 4.2),
        ("1.0 s", 0.9996),
        ("11 ms", 0.011),
        ("0 s", 0),
    ],
)
def test_duration_names_the_largest_unit_first(expected: str, seconds: float) -> None:
    assert expected == fmt.duration(seconds)


def _read(text: str) -> float:
    scale = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}
    return sum(
        float(number.replace(",", "")) * scale[unit] for number, unit in re.findall(r"([\d.,]+) (h|ms|m|s)", text)
    )


@given(SECONDS)
def test_duration_says_the_seconds_to_its_precision(seconds: float) -> None:
    assert abs(_read(fmt.duration(seconds)) - seconds) <= (0.51 if seconds >= 9.95 else 0.051)


@given(SECONDS)
def test_brief_duration_fits_six_characters(seconds: float) -> None:
    assert len(fmt.brief(seconds)) <= 6


@pytest.mark.parametrize(
    ("expected", "seconds"),
    [
        ("1h40m", 6033),
        ("14m", 899),
        ("41s", 41),
        ("4d03h", 99 * 3600),
        ("40d", 40 * 86400),
        ("47h59m", 47 * 3600 + 3599),
    ],
)
def test_brief_duration(expected: str, seconds: float) -> None:
    assert expected == fmt.brief(seconds)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("$41.43", Decimal("41.4349791")),
        ("$1,212.06", 1212.061),
        ("< $0.01", Decimal("0.0099")),
        ("$0.00", 0),
        ("$0.12", Decimal("0.125")),
    ],
)
def test_usd(expected: str, value: float | Decimal) -> None:
    assert expected == fmt.usd(value)


def test_price_per_hour_rounds_as_prices_are_written() -> None:
    assert [fmt.usd_per_hour(Decimal(value)) for value in ("24.725", "25.251286")] == ["$24.73/h", "$25.25/h"]


@pytest.mark.parametrize(
    ("expected", "value"), [("22.1 %", 22.0588), ("9.9 %", 9.8541), ("0.0 %", -0.04), ("1,000.0 %", 1000.0)]
)
def test_percent_has_one_decimal(expected: str, value: float) -> None:
    assert expected == fmt.percent(value)


@pytest.mark.parametrize(
    ("expected", "value"),
    [("6.64", 6.64), ("1,514", 1513.7), ("10.0", 9.999), ("99.9", 99.94), ("100", 99.96), ("0.0833", 1 / 12), ("0", 0)],
)
def test_three_significant_digits_below_a_hundred(expected: str, value: float) -> None:
    assert expected == fmt.significant(value)


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_a_rate_is_off_by_less_than_a_percent_and_has_no_exponent(value: float) -> None:
    text = fmt.significant(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("5.37", 5.374),
        ("0.081", 0.0812),
        ("0.984", 0.984),
        ("1.00", 1.0),
        ("NaN", float("nan")),
        ("infinite", float("inf")),
    ],
)
def test_loss(expected: str, value: float) -> None:
    assert expected == fmt.loss(value)


@given(st.text())
def test_unbroken_changes_nothing_but_spaces(text: str) -> None:
    assert text.replace(NBSP, " ") == unbroken(text).replace(NBSP, " ")


def test_unbroken_holds_number_and_unit_together() -> None:
    assert (
        unbroken("22.1 % more, 6,033 s, 1 × $24.73/h, 34 s emu")
        == "22.1\u00a0% more, 6,033\u00a0s, 1\u00a0×\u00a0$24.73/h, 34\u00a0s\u00a0emu"
    )


@given(st.floats(-1e300, 1e300))
def test_every_loss_can_be_written_and_read_to_its_precision(value: float) -> None:
    text = fmt.loss(value).replace(",", "")
    assert abs(float(text) - value) <= max(0.0051, abs(value) * 0.051)
