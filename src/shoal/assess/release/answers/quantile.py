"""Quantiles of a number, date or time from a release: the cells in which the share of records below it may be q.

Edges of the labels divide the domain into cells. The true quantile lies in a cell whose lower edge has a share of at most q of
the records below it, and whose upper edge has at least q. Going up from the lowest cell, a cell is passed while the interval of
the share below its upper edge lies under q; going down from the highest, while that of the share below its lower edge lies
above q. Of whole numbers, dates and times the interval ends with the last value below the upper edge. Either way the cell of
the true quantile is passed only where its own interval fails at one end, whatever happens at other edges. Each end of an
interval fails with probability at most half the risk, so no correction for the number of edges is needed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from shoal.assess.release.answer import Whole
from shoal.assess.release.condition import Where, both, condition
from shoal.assess.release.estimate import Estimate
from shoal.assess.release.labels import Label
from shoal.assess.release.load import LoadedRelease
from shoal.data.type import Type, text_at
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import Number, exact

MOST_EDGES = 256
"""Edges that are looked at; of more, evenly chosen ones, by the rules of the release alone."""
METHOD = "edges of the labels at which the interval of the share of records below them allows q; pointwise"


def quantile(
    loaded: LoadedRelease, attribute: str, q: Number, where: Where, level: float
) -> tuple[Estimate, Callable[[float], object]]:
    """Estimate the value with a share q of the records at or below it, among those that satisfy a condition and have a value.

    Gives the estimate on the line of numbers, days or microseconds, and what turns such a place into a value.

    Arguments  `attribute`: a number, date or time with a bounded domain; `q`: from 0 to 1; `where` and `level` as in `count`
    Raises     UsageError for an attribute without an ordered, bounded domain; ParameterError for a q that is no share
    """
    share = exact(q, "q")
    if not 0 <= share <= 1:
        raise ParameterError("q is not between 0 and 1", came=q, allowed="0 to 1")
    kind, edges = _edges(loaded, attribute)
    wanted = condition(loaded, where)
    known = both(loaded, wanted, [{attribute: Label(attribute, ((edges[0], edges[-1]),))}])
    whole = Whole(loaded, known, level)

    @cache
    def below(place: int) -> Estimate:
        """The share of the records below an edge."""
        return whole.share([{attribute: Label(attribute, ((edges[0], edges[place]),))}])

    last = len(edges) - 1
    first = next((place for place in range(1, last) if below(place).high >= share), last) - 1
    final = next((place for place in range(last - 1, 0, -1) if below(place).low <= share), 0) + 1
    # A cell holds the values below its upper edge: of whole numbers and dates those up to one less.
    low, high = float(edges[first]), float(edges[max(final, first + 1)] - (1 if kind.discrete else 0))
    value = min(max(_interpolate(edges, lambda place: below(place).value, float(share)), low), high)
    found = below(1) if last > 1 else whole.share([{}])
    estimate = Estimate(value, low, high, level, found.view, f"{METHOD}: {found.method}", loaded.records)
    return estimate, lambda at: _value(kind, at)


def _interpolate(edges: list[Fraction], below: Callable[[int], float], share: float) -> float:
    """Where the estimated share below an edge reaches q, between edges in proportion; found by halving."""
    last = len(edges) - 1
    known = {0: 0.0, last: 1.0}
    at = bisect_left(range(1, last), share, key=below) + 1
    under, over = (known[place] if place in known else below(place) for place in (at - 1, at))
    part = (share - under) / (over - under) if over > under else 0.5
    return float(edges[at - 1]) + min(max(part, 0.0), 1.0) * float(edges[at] - edges[at - 1])


def _edges(loaded: LoadedRelease, attribute: str) -> tuple[Type, list[Fraction]]:
    """The type of an attribute, and the edges between its labels from end to end of its domain."""
    meanings = loaded.meanings(attribute)
    kind = meanings[0].type
    low, high = meanings[0].ends
    if not kind.numeric or low is None or high is None:
        raise UsageError(
            f"attribute '{attribute}' has no ordered domain with two ends, so it has no quantile",
            came=kind.value,
            allowed="a number, date or time with a declared domain",
        )
    ends = {end for span in loaded.axis(attribute).spans if span is not None for end in span if end is not None}
    inner = sorted(end for end in ends if low < end < high)
    if len(inner) > MOST_EDGES:
        inner = [inner[i * len(inner) // MOST_EDGES] for i in range(MOST_EDGES)]
    return kind, [low, *inner, high]


def _value(kind: Type, at: float) -> object:
    """A place on the line as a value: a number, or a date or time as text."""
    if kind in (Type.INTEGER, Type.DECIMAL):
        return at
    return text_at(kind, Fraction(int(at)))
