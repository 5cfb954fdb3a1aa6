"""The distribution of what is published, through the real pipeline: it equals theory, and audits agree.

Tiny tables are released for every possible sample; the exact distribution has the divergence that the theorem says.
"""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betaincinv

from shoal.anonymize.generalize.scheme import FixedScheme, Scheme
from shoal.anonymize.method.safe_k import SafeK
from shoal.chance.source import Source
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.guarantee.safe_k.curve import delta_add, delta_remove
from shoal.guarantee.safe_k.setting import Setting
from shoal.guarantee.unit import Unit
from tests.engine.oracle import engine_named

SCHEMA = Schema((Attribute("v", Role.QUASI, Type.CATEGORY, Values(("a", "b"))),))

GRID = Scheme(SCHEMA, {})


class Chosen:
    """A source whose sample is given, for enumerating all of them."""

    def __init__(self, kept):
        self.kept = np.array(kept, dtype=bool)

    def row_mask(self, _):
        return self

    def keep(self, start, count):
        return self.kept[start : start + count]

    def words(self, start, count):
        return np.arange(start, start + count, dtype=np.uint64)


def method(k, beta, epsilon="1"):
    numbers = Setting(Fraction(epsilon), Fraction(1, 2), k, Fraction(beta), "tight", "k")
    return SafeK(numbers, FixedScheme(GRID), Unit.row("add_remove"))


def opened(values):
    import pyarrow as pa

    return engine_named("oracle").scan(pa.table({"v": pa.array(values, pa.string())}), SCHEMA)


def law(values, k, beta):
    """The exact distribution of the published multiset, by releasing every sample."""
    table, found = opened(values), defaultdict(Fraction)
    beta = Fraction(beta)
    for kept in itertools.product((0, 1), repeat=len(values)):
        counts = method(k, beta).run(table, GRID, Chosen(kept)).count_by(["v"])
        outcome = tuple(zip(counts.tuples[0].tolist(), counts.counts.tolist(), strict=True))
        found[outcome] += beta ** sum(kept) * (1 - beta) ** (len(kept) - sum(kept))
    return found


def divergence(p, q, epsilon):
    return sum(max(0.0, float(mass) - math.exp(epsilon) * float(q.get(x, 0))) for x, mass in p.items())


@pytest.mark.parametrize(("k", "beta", "epsilon", "n"), [(3, "0.5", 0.1, 4), (2, "0.5", 0.5, 2), (2, "0.25", 0.05, 4)])
def test_the_exact_law_attains_delta_star(k, beta, epsilon, n):
    """At the worst class size the divergence of the real output is delta*, to the last digit."""
    others = ["b"] * 2
    with_member, without = law(["a"] * n + others, k, beta), law(["a"] * (n - 1) + others, k, beta)
    assert divergence(with_member, without, epsilon) == pytest.approx(delta_remove(k, beta, epsilon), rel=1e-12)
    assert divergence(without, with_member, epsilon) <= delta_add(k, beta, epsilon) * (1 + 1e-12)
    assert sum(with_member.values()) == 1


@pytest.mark.parametrize("n", range(1, 8))
def test_no_class_size_exceeds_it(n):
    k, beta, epsilon = 3, "0.4", 0.3
    with_member, without = law(["a"] * n, k, beta), law(["a"] * (n - 1), k, beta) if n > 1 else {(): Fraction(1)}
    assert divergence(with_member, without, epsilon) <= delta_remove(k, beta, epsilon) * (1 + 1e-12)
    assert divergence(without, with_member, epsilon) <= delta_add(k, beta, epsilon) * (1 + 1e-12)


def lower(hits, runs, alpha):
    """Clopper and Pearson's lower bound of a probability."""
    return 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, alpha))


def upper(hits, runs, alpha):
    return 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1 - alpha))


def contradicted(draw_with, draw_without, epsilon, delta, runs, alpha=1e-6):
    """Whether many runs refute (epsilon, delta)-DP; the event is chosen on the first half and judged on the second."""
    first = [draw_with() for _ in range(runs)], [draw_without() for _ in range(runs)]
    gains = {x: first[0].count(x) - math.exp(epsilon) * first[1].count(x) for x in set(first[0])}
    event = {x for x, gain in gains.items() if gain > 0}
    second = sum(draw_with() in event for _ in range(runs)), sum(draw_without() in event for _ in range(runs))
    return lower(second[0], runs, alpha) > math.exp(epsilon) * upper(second[1], runs, alpha) + delta


def outcome(table, run):
    with Source.secure() as source:
        counts = run(table, source)
    return tuple(counts)


@pytest.mark.slow
def test_an_audit_does_not_contradict_the_claim_and_does_contradict_a_broken_one(effort):
    """Neighbouring tables, many runs; two publications from one sample are caught."""
    k, beta, epsilon = 2, Fraction(1, 2), 0.5
    with_member, without = opened(["a", "a", "b", "b", "b"]), opened(["a", "b", "b", "b"])

    def once(table, source):
        counts = method(k, beta).run(table, GRID, source).count_by(["v"])
        return zip(counts.tuples[0].tolist(), counts.counts.tolist(), strict=True)

    def twice_from_one_sample(table, source):
        """The same sample shown whole and by value: what is missing between the two gives away the lone 'a'."""
        sampled = method(5, beta).sample(table, source)
        counts = sampled.count_by(["v"])
        by_value = dict(zip(counts.tuples[0].tolist(), counts.counts.tolist(), strict=True))
        total = sum(by_value.values())
        return (total if total >= 5 else 0, *sorted((v, n) for v, n in by_value.items() if n >= 5))

    runs = 300 * effort
    delta = delta_remove(k, beta, epsilon)
    assert not contradicted(lambda: outcome(with_member, once), lambda: outcome(without, once), epsilon, delta, runs)
    lone, nobody = opened(["a", *["b"] * 20]), opened(["b"] * 20)
    assert contradicted(
        lambda: outcome(lone, twice_from_one_sample),
        lambda: outcome(nobody, twice_from_one_sample),
        2,  # twice (1, delta*(5, 1/2, 1))
        2 * delta_remove(5, beta, 1),
        3 * runs,
    )
