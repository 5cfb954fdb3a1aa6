"""How many records of each bucket a group has, so that every group is t-close to the table: a flow of whole records.

Groups have the sizes of SC13 §7.2.2: n records in g = floor(n/k) groups, of floor(n/g) records or one more, so of at least k. A
group of size s may take from bucket j, which has the share p_j of all records, between ceil(s·p_j/t) and floor(s·p_j·t) records:
then, and only then, its ratio distance from the table is at most t. Counts for all groups are whole numbers between these bounds
that add up to the groups' sizes one way and to the buckets' totals the other way: a flow with lower and upper bounds.

Two sizes alone make the flow simple. Groups of one size have the same bounds, so m of them take m·lower to m·upper of a bucket,
and any such totals that add up can be shared out among the m groups (`GroupKind.take` does it, one group after the other). What
is left is one number for each bucket, how much of it the groups of the first size have: it lies in an interval, and the sum of
these numbers is given. So counts exist exactly where no interval is empty and the given sum lies between the sums of their ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.errors import ParameterError

Whole = Sequence[int]


@dataclass(frozen=True)
class GroupKind:
    """All groups of one size: how many there are, how many records of each bucket they have together, and the bounds of each."""

    size: int
    many: int
    totals: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]

    def take(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The least and the most that the next group may have of each bucket, so that the others can still be filled.

        Any counts between the two that add up to the size will do.
        """
        rest = self.many - 1
        least = tuple(
            max(low, have - rest * up) for have, low, up in zip(self.totals, self.lower, self.upper, strict=True)
        )
        most = tuple(
            min(up, have - rest * low) for have, low, up in zip(self.totals, self.lower, self.upper, strict=True)
        )
        return least, most

    def after(self, taken: Whole) -> GroupKind:
        """What is left when one group has taken so many of each bucket."""
        left = tuple(have - own for have, own in zip(self.totals, taken, strict=True))
        return GroupKind(self.size, self.many - 1, left, self.lower, self.upper)


def group_sizes(records: int, k: int) -> tuple[tuple[int, int], ...]:
    """The sizes of the groups and how many have each, the larger first: as many groups of at least k as there can be.

    >>> group_sizes(20, 6)
    ((7, 2), (6, 1))
    """
    if not 1 <= k <= records:
        raise ParameterError("the size of a group is wrong", came=k, allowed=f"1 to {records}, the number of records")
    groups = records // k
    size, larger = divmod(records, groups)
    return tuple(pair for pair in ((size + 1, larger), (size, groups - larger)) if pair[1])


def bounds(size: int, totals: Whole, t: Fraction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The least and the most records of each bucket in a group of this size: ceil(size·p/t) and floor(size·p·t)."""
    records = sum(totals)
    low = tuple(-(-size * total * t.denominator // (records * t.numerator)) for total in totals)
    high = tuple(size * total * t.numerator // (records * t.denominator) for total in totals)
    return low, high


def divide(totals: Whole, k: int, t: Fraction) -> tuple[GroupKind, ...] | None:
    """The groups of each size with their share of every bucket; None where no counts keep every group within t.

    The shares are as even as the bounds allow.

    >>> divide([4, 4, 4], 4, Fraction(3, 2))[0].take()
    ((1, 1, 1), (2, 2, 2))
    >>> divide([6, 6], 3, Fraction(6, 5)) is None
    True
    """
    records, sizes = sum(totals), group_sizes(sum(totals), k)
    limits = [bounds(size, totals, t) for size, _ in sizes]
    first = _first_totals(totals, sizes, limits)
    if first is None:
        return None
    parts = [first] if len(sizes) == 1 else [first, [total - own for total, own in zip(totals, first, strict=True)]]
    kinds = tuple(
        GroupKind(size, many, tuple(part), low, high)
        for (size, many), part, (low, high) in zip(sizes, parts, limits, strict=True)
    )
    if sum(kind.size * kind.many for kind in kinds) != records:
        raise AssertionError("group sizes that do not add up")
    return kinds


def _first_totals(
    totals: Whole, sizes: Sequence[tuple[int, int]], limits: Sequence[tuple[Whole, Whole]]
) -> list[int] | None:
    """How many of each bucket the groups of the first size have together; None where it cannot be."""
    (size, many), (low, high) = sizes[0], limits[0]
    least, most = [many * own for own in low], [many * own for own in high]
    others, other_limits = (sizes[1][1], limits[1]) if len(sizes) == 2 else (0, limits[0])
    least = [max(own, total - others * up) for own, total, up in zip(least, totals, other_limits[1], strict=True)]
    most = [min(own, total - others * down) for own, total, down in zip(most, totals, other_limits[0], strict=True)]
    if any(a > b for a, b in zip(least, most, strict=True)) or not sum(least) <= size * many <= sum(most):
        return None
    # As near to a proportional share as the intervals allow; what the rounding leaves goes where most of the way is left.
    even = [size * many * total // sum(totals) for total in totals]
    found = [min(max(own, a), b) for own, a, b in zip(even, least, most, strict=True)]
    step = 1 if sum(found) < size * many else -1
    ends = most if step > 0 else least
    while (gap := abs(size * many - sum(found))) > 0:
        place = max(range(len(found)), key=lambda j: abs(ends[j] - found[j]))
        found[place] += step * min(gap, max(1, abs(ends[place] - found[place]) // 2))
    return found


def balanced(kind: GroupKind) -> Iterator[tuple[int, ...]]:
    """Counts for all groups of a kind, decided by the totals alone and as even as they can be.

    Each group takes the average of what is left, rounded down, and one more of the buckets that this shortens most. The average
    lies between the bounds, which are whole numbers, so both roundings of it do.

    >>> list(balanced(divide([7, 5], 4, Fraction(2))[0]))
    [(2, 2), (3, 1), (2, 2)]
    """
    left = kind
    while left.many:
        own = [have // left.many for have in left.totals]
        short = sorted(range(len(own)), key=lambda place: -(left.totals[place] % left.many))
        for place in short[: left.size - sum(own)]:
            own[place] += 1
        yield tuple(own)
        left = left.after(own)


# --- what can be reached instead --------------------------------------------------------------------------------------


def smallest_t(totals: Whole, k: int) -> Fraction | None:
    """The smallest t for which counts exist, for groups of at least k; None where some group would lack a bucket.

    A bound changes only where a group's share of a bucket is a whole number of records, so only such ratios are tried.

    >>> smallest_t([6, 6], 3)
    Fraction(3, 2)
    """
    records = sum(totals)
    if min(totals) < records // k:
        return None
    found = {Fraction(1)}
    for size, _ in group_sizes(records, k):
        for total in set(totals):
            share = Fraction(size * total, records)
            found |= {share / count for count in range(1, int(share) + 1)}
            found |= {count / share for count in range(1, size + 1)}
    ratios = sorted(t for t in found if t >= 1)
    low, high = 0, len(ratios) - 1
    while low < high:
        middle = (low + high) // 2
        if divide(totals, k, ratios[middle]) is None:
            low = middle + 1
        else:
            high = middle
    return ratios[low]


def nearest_k(totals: Whole, k: int, t: Fraction) -> int | None:
    """The next k above this one for which counts exist, with two groups at least; else the next below; None where none does."""
    records = sum(totals)
    for groups in range(records // (k + 1), 1, -1):  # all k with as many groups have the same sizes
        if divide(totals, larger := max(k + 1, records // (groups + 1) + 1), t) is not None:
            return larger
    for smaller in range(min(k - 1, records // 2), 1, -1):
        if divide(totals, smaller, t) is not None:
            return smaller
    return None
