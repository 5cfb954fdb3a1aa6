"""The order of the file tells nothing: every grouping, every order of rows and every draw of small tables, enumerated.

People are named 0, 1, 2, …; `ages` is what an intruder knows of them and `values` their confidential values. A file holds the
people in some order, which may be that of their confidential values: then the order is a function of the secret.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize import aggregate
from shoal.anonymize.cluster.clustering import Clustering
from shoal.anonymize.cluster.diversify import ConfidentialColumn, DiversityRequirement
from shoal.anonymize.method.microaggregation import ALL, Microaggregation
from shoal.anonymize.method.probabilistic_k import Swap
from shoal.chance.source import Source
from shoal.errors import InfeasibleError
from shoal.guarantee.unit import Unit
from tests.anonymize.method.people import opened, rows, schema

NEAR = ("mdav", "vmdav", "approx", "insensitive", "mondrian")
ROW = Unit.row("add_remove")
FIVE = (60, 35, 35, 35, 10)
(AGE,) = schema(sex="drop", seen="drop").quasi


class Drawn:
    """A source whose only draw is given, so that all draws can be listed."""

    def __init__(self, order):
        self.order = np.array(order)

    def stream(self, _name):
        return self

    def permutation(self, count):
        assert count == len(self.order)
        return self.order


@cache
def grouped(clustering, ages, codes, order):
    """Labels of the real code, for records in file order and one draw; None where it refuses, which is seen too."""
    values, source = {"age": np.array(ages)}, Drawn(order)
    labels = clustering.clusters([AGE], values, source)
    if not clustering.requirement.nothing:
        secret = ConfidentialColumn("pay", np.array(codes), ordered=True, absent=max(codes) + 1)
        try:
            labels = clustering.merge(labels, [AGE], values, [secret], source)
        except InfeasibleError:
            return None
    return tuple(labels.tolist())


def partition(clustering, ages, file, order, codes=None):
    """Who stands with whom, when people stand in the file in this order and this one is drawn."""
    held = None if codes is None else tuple(codes[who] for who in file)
    labels = grouped(clustering, tuple(ages[who] for who in file), held, order)
    groups = defaultdict(set)
    for who, label in zip(file, labels or (), strict=labels is not None):
        groups[label].add(who)
    return frozenset(map(frozenset, groups.values()))


def law(clustering, ages, file, draws, codes=None):
    """How often each partition of people comes out, over the draws."""
    return Counter(partition(clustering, ages, file, order, codes) for order in draws)


def every(count):
    return list(permutations(range(count)))


def by_row(count):
    """The impostor: no order is drawn, so that ties go to the lowest row."""
    return [tuple(range(count))]


@pytest.mark.slow
@pytest.mark.parametrize("grouping", NEAR)
def test_the_law_of_the_groups_is_the_same_for_every_order_of_the_file(grouping):
    clustering = Clustering(2, grouping)
    laws = [law(clustering, FIVE, file, every(5)) for file in every(5)[::7]]
    assert all(found == laws[0] for found in laws)
    assert len({tuple(law(clustering, FIVE, file, by_row(5))) for file in every(5)}) > 1


@pytest.mark.slow
@pytest.mark.parametrize("grouping", NEAR)
@pytest.mark.parametrize("ages", [FIVE, (7, 7, 7, 7, 1), (4, 3, 2, 2, 1), (5, 5, 3, 3, 3)])
def test_the_law_of_the_groups_is_the_same_for_every_order_of_every_small_file(grouping, ages):
    clustering = Clustering(2, grouping)
    laws = [law(clustering, ages, file, every(5)) for file in every(5)]
    assert all(found == laws[0] for found in laws)


def shown(ages, assigned, groups):
    """Every table that may be published, as pairs of age and value, with how many of the permutations give it."""
    members = [sorted(group) for group in groups]
    for orders in product(*(permutations(group) for group in members)):
        yield tuple(
            sorted(
                (ages[source], assigned[who])
                for group, order in zip(members, orders, strict=True)
                for who, source in zip(group, order, strict=True)
            )
        )


def most_certain(clustering, ages, draws, codes=None):
    """The largest posterior of any person's value, when the file is sorted by value and all assignments are as likely.

    `assigned[i]` is the number of the value record of person i; `codes[v]` its value, where records have equal ones.
    """
    weights: dict[tuple, Counter] = defaultdict(Counter)
    total: Counter = Counter()
    for assigned in every(len(ages)):
        file = tuple(np.argsort(assigned).tolist())
        own = None if codes is None else [codes[value] for value in assigned]
        for groups, often in law(clustering, ages, file, draws, own).items():
            weight = Fraction(often, prod(factorial(len(group)) for group in groups))
            for table, ways in Counter(shown(ages, assigned, groups)).items():
                total[table] += ways * weight
                for who, value in enumerate(assigned):
                    weights[table][who, value] += ways * weight
    return max(Fraction(found, total[table]) for table, held in weights.items() for found in held.values())


@pytest.mark.slow
@pytest.mark.parametrize("grouping", NEAR)
def test_nobodys_value_is_likelier_than_one_in_k_whatever_the_file_is_sorted_by(grouping):
    """Exactly, by Bayes' rule, over all assignments, draws and permutations; by row the intruder is certain."""
    clustering = Clustering(2, grouping)
    assert most_certain(clustering, FIVE, every(5)) <= Fraction(1, 2)
    assert most_certain(clustering, FIVE, by_row(5)) == 1


JOINED = ((60, 50, 50, 10, 10, 10), (0, 0, 0, 1, 1, 1))


@pytest.mark.slow
@pytest.mark.parametrize("grouping", NEAR)
def test_which_groups_are_joined_does_not_depend_on_the_order_of_the_file(grouping):
    (ages, codes), clustering = JOINED, Clustering(2, grouping, requirement=DiversityRequirement(2))
    mixed = [codes[place] for place in (0, 3, 1, 4, 2, 5)]
    laws = [law(clustering, ages, file, every(6), mixed) for file in every(6)[::300]]
    assert all(found == laws[0] for found in laws)


@pytest.mark.long
@pytest.mark.parametrize("grouping", ["mdav", "insensitive"])
def test_nobodys_value_is_likelier_than_one_in_k_where_groups_were_joined(grouping):
    """Values are 0 0 0 1 1 1 and every group shall have both: which groups are joined depends on who has which."""
    clustering = Clustering(2, grouping, requirement=DiversityRequirement(2))
    ages, codes = JOINED
    assert most_certain(clustering, ages, every(6), codes) <= Fraction(1, 2)
    assert most_certain(clustering, ages, by_row(6), codes) > Fraction(1, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [lambda clustering: Swap(clustering, ROW), lambda clustering: Microaggregation(clustering, "centroid", ROW)],
)
@pytest.mark.parametrize("grouping", NEAR)
def test_who_of_equals_stands_with_a_neighbour_is_drawn_in_a_whole_run(grouping, method):
    """One of 60, three of 35 and one of 10: by row it is always the same of the three that stands apart from the other two."""
    frame = rows(5, gaps=0).set_column(1, "age", pa.array(FIVE)).set_column(4, "pay", pa.array([1.0, 2, 3, 4, 5]))
    table = opened(frame, "oracle", sex="drop", seen="drop")
    seen: Counter = Counter()
    for seed in range(300):
        with Source.seeded(seed) as source:
            labels = method(Clustering(2, grouping)).run(table, source).groups[ALL]
        trio = labels[1:4].tolist()
        seen[next(place for place in range(3) if trio.count(trio[place]) == 1)] += 1
    assert all(abs(seen[place] - 100) < 49 for place in range(3))  # 6 standard deviations


@pytest.mark.slow
def test_equal_quasi_identifiers_are_cut_in_a_drawn_order():
    frame = rows(8, gaps=0).set_column(1, "age", pa.array([30] * 5 + [60] * 3))
    table = opened(frame, "oracle", sex="drop", seen="drop")
    for grouping in ("ranking", "optimal"):
        alone: Counter = Counter()
        for seed in range(200):
            with Source.seeded(seed) as source:
                made = Microaggregation(Clustering(4, grouping), "centroid", ROW).run(table, source)
            labels = made.groups[ALL]
            alone.update(np.flatnonzero(labels[:5] == labels[7]).tolist())
        assert set(alone) == set(range(5))


def test_the_last_digit_of_a_mean_does_not_tell_the_order_of_rows():
    numbers, labels = np.random.default_rng(3).gamma(2, 1e3, 60) + 1e7, np.repeat(np.arange(6), 10)
    means = aggregate.mean(numbers, labels)
    for seed in range(50):
        order = np.random.default_rng(seed).permutation(60)
        assert (aggregate.mean(numbers[order], labels[order]) == means[order]).all()
