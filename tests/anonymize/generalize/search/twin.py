"""The slow truth about full-domain recoding: every scheme by itself, classes by dictionaries, criteria by their definitions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import mpmath

from shoal.data.hierarchy.level import MISSING, TopLevel, ValueLevel

mpmath.mp.dps = 60


def label(attribute, index, value):
    """The label that a value shows at a level."""
    level = attribute.hierarchy.level(index) if attribute.hierarchy else ValueLevel()
    if isinstance(level, ValueLevel):
        return value
    if isinstance(level, TopLevel):
        return level.label
    if value is None:
        return MISSING
    import numpy as np

    return level.apply(np.array([value], dtype=object))[0]


def classes(attributes, levels, rows):
    """The rows of each class, by what they show."""
    found = {}
    for number, row in enumerate(rows):
        shown = tuple(label(one, levels[one.name], value) for one, value in zip(attributes, row, strict=False))
        found.setdefault(shown, []).append(number)
    return found


def emd(distance, own, table, order, heights):
    """The earth mover's distance between two distributions, by the formula of its ground distance."""
    n, many = sum(own.values()), sum(table.values())

    def p(value):
        return Fraction(own[value], n) - Fraction(table[value], many)

    if distance == "ordered":
        present = [value for value in order if table[value]]
        if len(present) == 1:
            return Fraction(0)
        running, total = Fraction(0), Fraction(0)
        for value in present:
            running += p(value)
            total += abs(running)
        return total / (len(present) - 1)
    total = Fraction(0)
    for nodes in heights:
        moved = Counter()
        for value in table:
            moved[nodes[value]] += p(value)
        total += sum(map(abs, moved.values())) / 2
    return total / len(heights)


def holds_alone(required, held):
    """Whether a class has what is required of it by itself, for one confidential attribute; `held` counts its values."""
    n = sum(held.values())
    falling = sorted(held.values(), reverse=True)
    if required.l is not None and len([value for value in held if value is not None]) < required.l:
        return False
    if required.alpha is not None and Fraction(falling[0], n) > required.alpha:
        return False
    if required.recursive is not None:
        c, l = required.recursive  # noqa: E741
        if not falling[0] < c * sum(falling[l - 1 :]):
            return False
    if required.entropy_l is not None:
        # n^n ≥ l^n Π n_v^n_v, in whole numbers
        power = math.prod(count**count for count in falling)
        if not n**n * required.entropy_l.denominator**n >= required.entropy_l.numerator**n * power:
            return False
    return True


def holds_beside(required, held, table, order, distance, heights):
    """Whether a class is near enough to the table, for one confidential attribute."""
    n, many = sum(held.values()), sum(table.values())
    if required.t is not None and emd(distance, held, table, order, heights) > required.t:
        return False
    for value, total in table.items():
        p, q = Fraction(held[value], n), Fraction(total, many)
        if required.beta is not None and p > q:
            if (p - q) / q > required.beta:
                return False
            if required.beta_form == "enhanced" and mpmath.mpf((p - q).numerator) / (p - q).denominator > -(
                mpmath.mpf(q.numerator) / q.denominator
            ) * mpmath.log(mpmath.mpf(q.numerator) / q.denominator):
                return False
        if required.delta is not None:
            if p == 0:
                return False
            odds = p / q
            size = abs(mpmath.log(mpmath.mpf(odds.numerator) / odds.denominator))
            if not size < mpmath.mpf(required.delta.numerator) / required.delta.denominator:
                return False
    return True


def published(required, attributes, confidential, levels, rows, population=()):
    """The rows that a scheme publishes, by classes; `confidential` gives each attribute's place, order, distance, heights."""
    made = classes(attributes, levels, rows)
    people = Counter(
        tuple(label(one, levels[one.name], value) for one, value in zip(attributes, person, strict=True))
        for person in population
    )
    kept = {shown: own for shown, own in made.items() if len(own) >= required.k}
    if required.k_map is not None:
        kept = {shown: own for shown, own in kept.items() if people[shown] >= required.k_map}
    for place, *_ in confidential:
        kept = {
            shown: own for shown, own in kept.items() if holds_alone(required, Counter(rows[i][place] for i in own))
        }
    while True:
        tables = [Counter(rows[i][place] for own in kept.values() for i in own) for place, *_ in confidential]
        left = {
            shown: own
            for shown, own in kept.items()
            if all(
                holds_beside(required, Counter(rows[i][place] for i in own), table, order, distance, heights)
                for (place, order, distance, heights), table in zip(confidential, tables, strict=True)
            )
        }
        if len(left) == len(kept):
            return left
        kept = left


def losses(name, attributes, shares, levels, kept, rows):
    """The loss of what is published, exactly: parts of a row as the search counts them."""
    suppressed = len(rows) - sum(map(len, kept.values()))
    if name == "discernibility":
        return sum(len(own) ** 2 for own in kept.values()) + suppressed * len(rows)
    if name == "class_size":
        return -len(kept)
    total = suppressed * sum(round(10**9 * share) for share in shares)
    for own in kept.values():
        for number in own:
            for one, share, value in zip(attributes, shares, rows[number], strict=False):
                total += round(10**9 * share * Fraction(loss_of(one, levels[one.name], value)))
    return total


def loss_of(attribute, index, value):
    """(values of the label − 1) / (values of the domain − 1)."""
    if attribute.hierarchy is None or index == 0:
        return 0.0
    if isinstance(attribute.hierarchy.level(index), TopLevel):
        return 1.0
    if value is None:
        return 0.0
    domain = attribute.hierarchy.values
    own = label(attribute, index, value)
    return (sum(label(attribute, index, each) == own for each in domain) - 1) / (len(domain) - 1)


def best(name, required, lattice, shares, confidential, rows, limit, population=()):
    """(loss, suppressed, places) of the best scheme by looking at all of them; None where none is allowed."""
    found = []
    for places in product(*[range(len(levels)) for levels in lattice.levels]):
        levels = {one: levels[place] for one, levels, place in zip(lattice.names, lattice.levels, places, strict=True)}
        kept = published(required, lattice.attributes, confidential, levels, rows, population)
        suppressed = len(rows) - sum(map(len, kept.values()))
        if kept and suppressed <= limit:
            found.append((losses(name, lattice.attributes, shares, levels, kept, rows), suppressed, places))
    return min(found, default=None)
