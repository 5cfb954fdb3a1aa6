"""Numbers as a page writes them: a few digits, signs of the text, and a small number that is not nothing never reads 0."""

from __future__ import annotations

NO_NUMBER = "–"
"""What stands where there is no number."""


def percent_text(value: float | None) -> str:
    r"""Percents with three digits.

    >>> percent_text(12.345), percent_text(0.00001), percent_text(100.0)
    ('12.3\xa0%', '< 0.001\xa0%', '100\xa0%')
    """
    if value is None:
        return NO_NUMBER
    if 0 < value < 0.001:
        return "< 0.001\u00a0%"
    return f"{value:,.0f}\u00a0%" if value in (0, 100) or value >= 1000 else f"{value:.3g}\u00a0%"


def share_text(value: float | None) -> str:
    r"""A share as percents with three digits.

    >>> share_text(0.5), share_text(None)
    ('50\xa0%', '–')
    """
    return NO_NUMBER if value is None else percent_text(100 * value)


def number_text(value: float | None) -> str:
    """Four digits; whole numbers in full.

    >>> number_text(1234567), number_text(12.3456), number_text(-0.00000123), number_text(0.0)
    ('1,234,567', '12.35', '−1.230e−06', '0')
    """
    if value is None:
        return NO_NUMBER
    if isinstance(value, int):
        return f"{value:,}".replace("-", "\u2212")
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e9 or size < 1e-4:
        return f"{value:.3e}".replace("-", "\u2212")
    return (f"{value:,.0f}" if size >= 1000 else f"{value:.4g}").replace("-", "\u2212")


def unit_text(value: float | None) -> str:
    """A measure between 0 and 1, such as a distance, with three decimals.

    >>> unit_text(0.12345), unit_text(0.0001), unit_text(0.0)
    ('0.123', '< 0.001', '0')
    """
    return NO_NUMBER if value is None else "0" if value == 0 else f"{value:.3f}" if value >= 0.0005 else "< 0.001"


def size_text(low: int, high: int | None) -> str:
    """A range of whole numbers.

    >>> size_text(3, 3), size_text(4, 7), size_text(1000, None)
    ('3', '4 to 7', '1,000 or more')
    """
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def count_words(number: int, what: str) -> str:
    """A number of things, in words that agree with it.

    >>> count_words(1, "group"), count_words(1200, "row")
    ('1 group', '1,200 rows')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"
