"""Buckets of all confidential attributes together, as many as the counts allow: floor(t) + 1 for each attribute, or fewer.

A group that gives every bucket but one the factor 1/t and that one the factor t uses t up; with equal masses there are then
b = t + 1 buckets (SC13 §7.2.1). Where no counts keep every group within t, because values are few or frequent or k is small, the
attribute with the most buckets is given one less, of several such the last, down to two for each; then it is refused.

Joint buckets are the combinations that occur of each attribute's bucket. Groups that are close in the joint buckets are close in
each attribute: its shares are sums of joint shares, and so are the table's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.anonymize.cluster.bucket.buckets import Buckets, Codes, RankedColumn
from shoal.anonymize.cluster.bucket.counts import GroupKind, divide, group_sizes, nearest_k, smallest_t
from shoal.anonymize.cluster.bucket.distance import closeness
from shoal.anonymize.cluster.mdav import Labels
from shoal.errors import InfeasibleError
from shoal.guarantee.rounding import text_near, text_up


@dataclass(frozen=True, eq=False)
class JointBuckets:
    """The buckets of each attribute, the bucket of each record in each of them and in all together, and the counts of groups."""

    buckets: tuple[Buckets, ...]
    own: tuple[Codes, ...]
    """The bucket of each record, attribute by attribute."""
    joint: Codes
    """The joint bucket of each record, numbered 0, 1, 2, … without gaps."""
    kinds: tuple[GroupKind, ...]

    def closeness(self, labels: Labels) -> Fraction | float:
        """The largest ratio distance between a group's joint buckets and the table's."""
        return closeness(labels, self.joint)


def joint_buckets(columns: Sequence[RankedColumn], k: int, t: Fraction) -> JointBuckets:
    """As many buckets as groups of at least k within t of the table allow.

    Raises     InfeasibleError where two buckets of each attribute are too many; it names the nearest k and the smallest t that
               can be reached.
    """
    refused = []
    most = _most(columns, k, t)
    for numbers in _numbers(len(columns), most):
        buckets, own, joint = _bucketize(columns, numbers)
        totals = np.bincount(joint).tolist()
        kinds = divide(totals, k, t)
        if kinds is not None:
            return JointBuckets(buckets, own, joint, kinds)
        refused.append((max(numbers), totals))
    raise _infeasible(columns, refused, k, t)


def _most(columns: Sequence[RankedColumn], k: int, t: Fraction) -> int:
    """The most buckets of an attribute that are tried: no group can have more of them than records."""
    return max(2, min(int(t) + 1, group_sizes(len(columns[0].ranks), k)[0][0]))


def _numbers(attributes: int, most: int) -> Iterator[list[int]]:
    """How many buckets each attribute has: the most, then one less of the attribute that has most, of several the last."""
    numbers = [most] * attributes
    yield list(numbers)
    while max(numbers) > 2:
        numbers[max(range(attributes), key=lambda place: (numbers[place], place))] -= 1
        yield list(numbers)


def _bucketize(
    columns: Sequence[RankedColumn], numbers: Sequence[int]
) -> tuple[tuple[Buckets, ...], tuple[Codes, ...], Codes]:
    made = [column.bucketize(number) for column, number in zip(columns, numbers, strict=True)]
    joint = np.zeros(len(columns[0].ranks), dtype=np.int64)
    for buckets, codes in made:
        joint = np.unique(joint * buckets.count + codes, return_inverse=True)[1].astype(np.int64)
    return tuple(buckets for buckets, _ in made), tuple(codes for _, codes in made), joint


def _infeasible(
    columns: Sequence[RankedColumn], refused: Sequence[tuple[int, list[int]]], k: int, t: Fraction
) -> InfeasibleError:
    """The refusal, with the nearest k and the smallest t that can be reached."""
    records = len(columns[0].ranks)
    found = [other for _, totals in refused if (other := nearest_k(totals, k, t)) is not None]
    larger = [other for other in found if other > k]
    reached = [f"k = {min(larger) if larger else max(found)} with this t"] if found else []
    best = _smallest_t(columns, refused, k, t)
    if best is not None:
        reached.append(f"t = {text_up(best)} or more with this k")
    totals = refused[-1][1]
    least = min(totals)
    if not reached and least > 1:  # so few groups that each has a record of the smallest bucket
        other = records // (least + 1) + 1
        reached.append(f"k = {other} and t = {text_up(smallest_t(totals, other) or t)}")
    gone = [column.attribute.name for column in columns if (column.ranks < 0).any()]
    why = f"; the missing values of '{gone[0]}' are a bucket of their own" if gone else ""
    return InfeasibleError(
        "no groups keep within t of the table, even with two buckets of each confidential attribute",
        came=f"k = {k:,}, t = {text_near(t)}, and {least:,} of {records:,} records in the smallest bucket{why}",
        allowed=", or ".join(reached) or "nothing: some bucket has a single record, which no two groups can share",
        fix="ask for what can be reached"
        + (", or leave the records with missing values out of the table beforehand" if gone else ""),
    )


def _smallest_t(
    columns: Sequence[RankedColumn], refused: Sequence[tuple[int, list[int]]], k: int, t: Fraction
) -> Fraction | None:
    """The smallest t that would not be refused, also with the buckets that only a larger t allows."""
    best: Fraction | None = None

    def consider(most: int, totals: list[int]) -> None:
        nonlocal best
        own = smallest_t(totals, k)
        if own is not None and (best is None or max(own, Fraction(most - 1)) < best):
            best = max(own, Fraction(most - 1))

    for most, totals in refused:
        consider(most, totals)
    limit = group_sizes(len(columns[0].ranks), k)[0][0]
    for numbers in reversed(list(_numbers(len(columns), limit))):
        if max(numbers) <= int(t) + 1:
            continue
        if best is not None and max(numbers) - 1 >= best:
            break
        consider(max(numbers), np.bincount(_bucketize(columns, numbers)[2]).tolist())
    return best
