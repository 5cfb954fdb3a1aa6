"""Which classes of a table lack what is required of them: every comparison exact, in whole numbers or by a proof that it is.

With n rows of a class, n_v of them with the value v, and N and N_v the same of the published table, a criterion is a
comparison of whole numbers: t along the equal distance is Σ max(n_v·N − N_v·n, 0) ≤ t·n·N, alpha is n_v ≤ alpha·n, and so on.
Products that would not fit into 64 bits are made of Python's own numbers. Three criteria compare with a logarithm: entropy l,
enhanced beta and delta. Floats decide where the two sides lie far apart; where they lie near each other, entropy is compared
by powers of whole numbers, which may be equal, and the other two with 70 digits, where they never are (e^delta is
transcendental for every fraction delta but 0, and so is ln q for every fraction q but 1: Lindemann).

Classes are compared with the table that is published, so that a stranger can count again: classes that fail are taken away,
the table's shares are taken again, until none fails. `reference` fixes the shares instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import gcd, log
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.search.records import ConfidentialValues
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.kernel.rollup import Integers, starts_of
from shoal.guarantee.rounding import decimal, precise

Mask = npt.NDArray[np.bool_]
Exact = npt.NDArray[Any]
"""Whole numbers: of 64 bits where products fit, else of Python."""
NEAR = 1e-9
"""Two logarithms that differ by less are compared exactly; what floats lose here is far below."""


@dataclass(frozen=True, eq=False)
class ClassValues:
    """One confidential attribute by classes: for each class and each of its values, rising, how many rows have it."""

    values: ConfidentialValues
    owner: Integers
    value: Integers
    count: Integers

    def merge(self, nodes: Integers) -> ClassValues:
        """The same after a recoding of the values: value v becomes nodes[v]."""
        return _gather(self.values, self.owner, nodes[self.value], self.count)

    def totals(self, kept: Mask) -> Integers:
        """How many rows of the classes that are kept have each value."""
        shown = self.count * kept.take(self.owner)
        return np.bincount(self.value, weights=shown, minlength=self.values.size).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a scheme: how many rows of the table each has, how many people of the population, and which values."""

    sizes: Integers
    people: Integers | None
    held: tuple[ClassValues, ...]

    def __len__(self) -> int:
        return len(self.sizes)


def classes_of(
    owner: Integers,
    joint: Integers,
    counts: Integers,
    confidential: Sequence[ConfidentialValues],
    population: int | None,
) -> Classes:
    """The classes from combinations in the order of their classes, 0, 1, …; `population` is the joint code of its people.

    A class of the population alone has no rows.
    """
    many = int(owner[-1]) + 1 if len(owner) else 0
    people = None
    if population is not None:
        beside = joint == population
        people = np.bincount(owner[beside], weights=counts[beside], minlength=many).astype(np.int64)
        owner, joint, counts = owner[~beside], joint[~beside], counts[~beside]
    sizes = np.bincount(owner, weights=counts, minlength=many).astype(np.int64)
    held = tuple(_gather(values, owner, values.of_joint[joint], counts) for values in confidential)
    return Classes(sizes, people, held)


def _gather(values: ConfidentialValues, owner: Integers, value: Integers, count: Integers) -> ClassValues:
    """Equal values of a class put together, in their order."""
    key = owner * values.size + value
    if len(key) > 1 and not bool((key[1:] > key[:-1]).all()):
        order = key.argsort(kind="stable")
        key, count = key.take(order), count.take(order)
        starts = starts_of(key[1:] != key[:-1])
        key, count = key.take(starts), np.add.reduceat(count, starts)
    return ClassValues(values, key // max(values.size, 1), key % max(values.size, 1), count)


# --- which classes fail -----------------------------------------------------------------------------------------------


def failing(classes: Classes, required: Requirement, reference: Sequence[Integers] | None = None) -> Mask:
    """Which classes are not published: those that fail by themselves, and those that are unlike the rest.

    A class without rows counts as failing. `reference` has the counts of the values of each attribute to compare with;
    without it they are those of the classes that are kept in the end.
    """
    gone = fails_monotone(classes, required)
    for held in classes.held:
        gone |= _fails_alone(held, classes.sizes, required)
    if not required.is_relative:
        return gone
    while True:
        totals = reference if reference is not None else [held.totals(~gone) for held in classes.held]
        more = np.zeros(len(gone), dtype=np.bool_)
        for held, total in zip(classes.held, totals, strict=True):
            more |= _fails_beside(held, classes.sizes, ~gone, total, required)
        more &= ~gone
        if not more.any():
            return gone
        gone |= more
        if reference is not None or gone.all():
            return gone


def fails_monotone(classes: Classes, required: Requirement) -> Mask:
    """Which classes fail k, k_map or l: whatever they are divided into fails as well."""
    gone: Mask = classes.sizes < required.k
    if required.k_map is not None and classes.people is not None:
        gone |= classes.people < required.k_map
    if required.l is not None:
        for held in classes.held:
            present = held.value != held.values.absent
            gone |= np.bincount(held.owner[present], minlength=len(gone)) < required.l
    return gone


def _fails_alone(held: ClassValues, sizes: Integers, required: Requirement) -> Mask:
    gone = np.zeros(len(sizes), dtype=np.bool_)
    if not len(held.count):
        return gone
    if required.alpha is not None:
        most = np.zeros(len(sizes), dtype=np.int64)
        np.maximum.at(most, held.owner, held.count)
        gone |= _exceeds(most, required.alpha, sizes)
    if required.recursive is not None:
        gone |= ~is_recursive(held, len(sizes), *required.recursive)
    if required.entropy_l is not None:
        gone |= ~has_entropy(held, sizes, required.entropy_l)
    return gone


def _exceeds(left: Exact, factor: Fraction, right: Exact) -> Mask:
    """Whether left > factor · right, exactly."""
    scale = max(factor.numerator, factor.denominator)
    left, right = _wide(left, scale), _wide(right, scale)
    return np.asarray(left * factor.denominator > right * factor.numerator, dtype=np.bool_)


def _wide(numbers: Exact, factor: int) -> Exact:
    """The numbers such that their product with a factor is exact: as numbers of Python where 62 bits do not hold it."""
    if numbers.dtype.kind == "O" or not len(numbers):
        return numbers
    if factor < 1 << 62 and int(np.abs(numbers).max()) * factor < 1 << 62:
        return numbers
    return numbers.astype(object)


def is_recursive(held: ClassValues, many: int, c: Fraction, l: int) -> Mask:  # noqa: E741
    """Recursive (c, l)-diversity: with counts r1 ≥ r2 ≥ …, r1 < c·(rl + rl+1 + …)."""
    order = np.lexsort((-held.count, held.owner))
    owner, count = held.owner[order], held.count[order]
    starts = starts_of(owner[1:] != owner[:-1])
    width = np.diff(np.append(starts, len(owner)))
    place = np.arange(len(owner)) - np.repeat(starts, width)
    tail, most = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    np.add.at(tail, owner, np.where(place >= l - 1, count, 0))
    most[owner[starts]] = count[starts]
    scale = max(c.numerator, c.denominator)
    return np.asarray(_wide(most, scale) * c.denominator < _wide(tail, scale) * c.numerator, dtype=np.bool_)


def has_entropy(held: ClassValues, sizes: Integers, l: Fraction) -> Mask:  # noqa: E741
    """Entropy l-diversity: −Σ p ln p ≥ ln l, that is n^n ≥ l^n · Π n_v^n_v."""
    share = held.count / sizes.take(held.owner)
    entropy = np.bincount(held.owner, weights=-share * np.log(share), minlength=len(sizes))
    asked = log(l)
    found: Mask = entropy >= asked
    starts = np.searchsorted(held.owner, np.arange(len(sizes) + 1))
    for at in np.flatnonzero(np.abs(entropy - asked) < NEAR).tolist():
        found[at] = _has_power(held.count[starts[at] : starts[at + 1]].tolist(), l)
    return found


def _has_power(counts: Sequence[int], l: Fraction) -> bool:  # noqa: E741
    """n^n · denominator^n ≥ numerator^n · Π n_v^n_v, after what all counts have in common is taken out of the exponents."""
    common = gcd(*counts)
    reduced = [count // common for count in counts]
    rows = sum(reduced)
    right = l.numerator**rows
    for count in reduced:
        right *= count**count
    return bool((rows * l.denominator) ** rows >= right)


# --- classes beside the table -----------------------------------------------------------------------------------------


def _fails_beside(held: ClassValues, sizes: Integers, kept: Mask, totals: Integers, required: Requirement) -> Mask:
    """Which of the classes that are kept are unlike the table, whose values have these totals."""
    inside = kept.take(held.owner)
    shown = ClassValues(held.values, held.owner[inside], held.value[inside], held.count[inside])
    gone = np.zeros(len(sizes), dtype=np.bool_)
    if not len(shown.count):
        return gone
    rows = int(totals.sum())
    if required.t is not None:
        distance, parts = emd(shown, sizes, totals)
        scale = parts * rows
        gone |= _exceeds(distance, required.t, _wide(sizes, scale) * scale)
    if required.beta is not None:
        gone |= _gains(shown, sizes, totals, required.beta, enhanced=required.beta_form == "enhanced")
    if required.delta is not None:
        gone |= _discloses(shown, sizes, kept, totals, required.delta)
    return gone & kept


def emd(held: ClassValues, sizes: Integers, totals: Integers) -> tuple[Exact, int]:
    """The earth mover's distance of each class, times its rows, the table's rows and a number of parts; and that number."""
    if held.values.distance == "ordered":
        return _emd_ordered(held, sizes, totals)
    found: Exact = np.zeros(len(sizes), dtype=np.int64)
    for nodes in held.values.heights:
        merged = held.merge(nodes)
        overall = np.bincount(nodes, weights=totals, minlength=held.values.size).astype(np.int64)
        found = found + _emd_equal(merged, sizes, overall)
    return found, len(held.values.heights)


def _emd_equal(held: ClassValues, sizes: Integers, totals: Integers) -> Exact:
    """Σ max(n_v·N − N_v·n, 0): what is more frequent in the class than in the table has to be moved."""
    rows = int(totals.sum())
    more = _wide(held.count, 2 * rows) * rows - _wide(totals.take(held.value), 2 * rows) * sizes.take(held.owner)
    return _sum_by(held.owner, np.maximum(more, 0), len(sizes))


def _emd_ordered(held: ClassValues, sizes: Integers, totals: Integers) -> tuple[Exact, int]:
    """Σ_i |n_{≤i}·N − N_{≤i}·n| over the values that occur in the table, but the last.

    Between two values of a class n_{≤i} stays the same, so the sum over such a stretch comes from prefix sums of N_{≤i}, cut
    where the table's share passes the class's.
    """
    occurs = totals > 0
    table = np.cumsum(totals[occurs])
    many, rows = len(table), int(totals.sum())
    if many <= 1:
        return np.zeros(len(sizes), dtype=np.int64), 1
    rank = np.cumsum(occurs) - 1
    value = rank.take(held.value)
    starts = starts_of(held.owner[1:] != held.owner[:-1])
    width = np.diff(np.append(starts, len(held.owner)))
    running = np.cumsum(held.count)
    level = running - np.repeat((running - held.count).take(starts), width)
    following = np.append(value[1:], many)
    following[np.append(starts[1:], len(value)) - 1] = many
    size = sizes.take(held.owner)
    big = rows * rows * many * 4 >= 1 << 62
    prefix: Exact = np.append(0, np.cumsum(table))
    scaled: Exact = level
    if big:
        prefix, scaled, size = prefix.astype(object), level.astype(object), size.astype(object)
    cut = np.clip(
        np.searchsorted(table, _quotient(level, rows, sizes.take(held.owner)), side="right"), value, following
    )
    below = scaled * rows * (cut - value) - size * (prefix[cut] - prefix[value])
    above = size * (prefix[following] - prefix[cut]) - scaled * rows * (following - cut)
    found = _sum_by(held.owner, below + above, len(sizes))
    lead = _sum_by(held.owner[starts], size[starts] * prefix[value[starts]], len(sizes))
    return found + lead, many - 1


def _quotient(level: Integers, rows: int, size: Integers) -> Integers:
    """⌊level·rows / size⌋, at most rows."""
    return np.asarray(_wide(level, rows) * rows // size).astype(np.int64)


def _sum_by(owner: Integers, numbers: Exact, many: int) -> Exact:
    """The sum of the numbers of each owner, exactly."""
    found: Exact = np.zeros(many, dtype=numbers.dtype)
    np.add.at(found, owner, numbers)
    return found


def _gains(held: ClassValues, sizes: Integers, totals: Integers, beta: Fraction, *, enhanced: bool) -> Mask:
    """Which classes have a value whose share exceeds its share q in the table by more than beta·q, or (enhanced) −q·ln q."""
    rows = int(totals.sum())
    size, total = sizes.take(held.owner), totals.take(held.value)
    over = _exceeds(_wide(held.count, rows) * rows, 1 + beta, _wide(total, rows) * size)
    if enhanced:
        gain = (held.count / size) / (total / rows) - 1
        room = -np.log(total / rows)
        unsure = np.abs(gain - room) < NEAR * (1 + room)
        over |= (gain > room) & ~unsure
        # A value that every row has gains nothing and has no room: both sides are 0, and nothing else can make them equal.
        for at in np.flatnonzero(unsure & (total < rows)).tolist():
            share = Fraction(int(total[at]), rows)
            more = Fraction(int(held.count[at]), int(size[at])) / share - 1
            with precise():
                over[at] |= decimal(more) > -decimal(share).ln()
    gone = np.zeros(len(sizes), dtype=np.bool_)
    gone[held.owner[over]] = True
    return gone


def _discloses(held: ClassValues, sizes: Integers, kept: Mask, totals: Integers, delta: Fraction) -> Mask:
    """Which classes lack a value of the table, or have one whose share there is e^delta times larger or smaller, or more."""
    rows = int(totals.sum())
    gone = np.bincount(held.owner, minlength=len(sizes)) < np.count_nonzero(totals)
    size, total = sizes.take(held.owner), totals.take(held.value)
    odds = np.abs(np.log(held.count / size) - np.log(total / rows))
    asked = float(delta)
    far = odds >= asked
    for at in np.flatnonzero(np.abs(odds - asked) < NEAR * (1 + asked)).tolist():
        ratio = Fraction(int(held.count[at]) * rows, int(size[at]) * int(total[at]))
        with precise():
            most: Decimal = decimal(delta).exp()
            far[at] = decimal(max(ratio, 1 / ratio)) > most
    gone[held.owner[far]] = True
    return gone & kept
