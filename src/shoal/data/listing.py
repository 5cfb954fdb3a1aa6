"""The values of a domain one by one, as text, where there are few enough to list."""

from __future__ import annotations

from datetime import date
from itertools import product
from math import prod

from shoal.data.domain import Domain, Interval, Pattern, Values
from shoal.data.line import point
from shoal.data.type import Type

MOST = 200_000
"""More values than this are not listed."""


def listed(kind: Type | None, domain: Domain) -> tuple[str, ...] | None:
    """Every value in order, or None where there is no end to them or too many."""
    if isinstance(domain, Values):
        return domain.values
    if isinstance(domain, Pattern):
        places = domain.places
        if places is None or prod(map(len, places)) > MOST:
            return None
        return tuple("".join(letters) for letters in product(*places))
    if isinstance(domain, Interval) and kind is not None and kind.discrete:
        low, high = int(point(kind, domain.low)), int(point(kind, domain.high))
        if high - low >= MOST:
            return None
        days = kind is Type.DATE
        return tuple(str(date.fromordinal(at)) if days else str(at) for at in range(low, high + 1))
    return None
