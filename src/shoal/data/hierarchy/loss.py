"""The loss of a level: how much of the domain shares a value's label on average, from the hierarchy alone.

A value whose group holds g of N values loses (g − 1)/(N − 1): nothing when it stands alone, everything when
all share one label. The loss of a level is the average over all values of the declared domain, each counted
once; over widths it is the average of g/N. Merging groups never lowers it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod

from shoal.data.hierarchy.level import Masked


def of_counts(sizes: Iterable[int]) -> float:
    """Groups of so many values each."""
    counts = [int(size) for size in sizes]
    total = sum(counts)
    if total < 2:
        return 0.0
    return float(Fraction(sum(n * (n - 1) for n in counts), total * (total - 1)))


def of_widths(widths: Iterable[Fraction]) -> float:
    """Groups of so much width each, where values cannot be counted."""
    parts = list(widths)
    total = sum(parts, Fraction(0))
    return float(sum((w * w for w in parts), Fraction(0)) / (total * total)) if total else 0.0


def of_labels(labels: Iterable[object]) -> float:
    """The label of each value."""
    return of_counts(Counter(labels).values())


def of_mask(level: Masked, places: Sequence[str] | None, length: int) -> float:
    """Texts that share a masked label; without known letters, the share of letters hidden."""
    if places is None:
        return max(0, length - level.kept) / length if length else 0.0
    hidden = places[level.kept :] if level.side == "right" else places[: max(0, len(places) - level.kept)]
    group, total = prod(map(len, hidden)), prod(map(len, places))
    return float(Fraction(group - 1, total - 1)) if total > 1 else 0.0
