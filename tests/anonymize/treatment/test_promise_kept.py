"""Theorem `record-wise-treatment` by exact enumeration on tiny tables, and what goes wrong where a step looks at others."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, exp

import numpy as np
import pytest

from shoal.anonymize.treatment.coding import ExtremeCoding
from shoal.anonymize.treatment.population import PopulationThreshold
from shoal.anonymize.treatment.pram import Pram
from shoal.anonymize.treatment.steps import treat
from shoal.chance.source import Source
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Missing, Role
from shoal.data.type import Type
from shoal.engine.base import bound_contributions, open_engine
from shoal.guarantee.safe_k.curve import delta_exactly
from shoal.guarantee.unit import Unit
from tests.anonymize.treatment.attributes import AGE
from tests.anonymize.treatment.test_steps import frame, policy

K, BETA = 2, Fraction(3, 10)
ILL = Attribute("ill", Role.QUASI, Type.CATEGORY, Values(("no", "yes")), missing=Missing.REFUSE)


@cache
def shown(rows: int) -> dict[int, Fraction]:
    """The law of the number of rows of one class that is published: sampled, and suppressed below k."""
    law: Counter[int] = Counter()
    for many in range(rows + 1):
        law[many if many >= K else 0] += comb(rows, many) * BETA**many * (1 - BETA) ** (rows - many)
    return law


def safe_k(table: tuple[str, ...]) -> dict[tuple[int, int], Fraction]:
    counts = Counter(table)
    return {
        (no, yes): p * q for (no, p), (yes, q) in product(shown(counts["no"]).items(), shown(counts["yes"]).items())
    }


def after(step, table: tuple[str, ...]) -> dict[tuple[int, int], Fraction]:
    """The law of what is published after a step: over all its outcomes, each with its probability."""
    if isinstance(step, Pram):
        worlds = [
            (tuple(to for to, _ in world), np.prod([share for _, share in world]))
            for world in product(*(step.row(value).items() for value in table))
        ]
    else:
        made = step.apply({"ill": np.array(table, dtype=object)}, None)["ill"]
        worlds = [(tuple(made.tolist()), Fraction(1))]
    law: Counter[tuple[int, int]] = Counter()
    for world, weight in worlds:
        for output, share in safe_k(world).items():
            law[output] += weight * share
    return law


def distance(one, other, epsilon: float) -> float:
    """How far the first law exceeds e^epsilon times the second."""
    return float(sum(max(0, one[key] - Fraction(exp(epsilon)) * other.get(key, 0)) for key in one))


TABLES = [tuple("yes" if (bits >> i) & 1 else "no" for i in range(4)) for bits in (0b0000, 0b0001, 0b0011, 0b0111)]


HALF_KEPT = {"no": {"no": Fraction(1)}, "yes": {"no": Fraction(1, 3), "yes": Fraction(2, 3)}}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("step", [Pram(ILL, Fraction(4, 5), None), Pram(ILL, None, HALF_KEPT)], ids=["keep", "matrix"])
def test_a_random_step_before_safe_k_keeps_its_delta(step, epsilon):
    allowed = float(delta_exactly(K, BETA, Fraction(epsilon)))
    for table, value in product(TABLES, ("no", "yes")):
        small, large = after(step, table), after(step, (*table, value))
        assert max(distance(small, large, epsilon), distance(large, small, epsilon)) <= allowed + 1e-12


def test_a_step_that_counts_rows_does_not():
    counted = PopulationThreshold(ILL, 4, None, "no")
    table = ("no",) * 4 + ("yes",) * 3
    small, large = after(counted, table), after(counted, (*table, "yes"))
    allowed = float(delta_exactly(K, BETA, Fraction(1)))
    assert distance(large, small, 1.0) > 2 * allowed, "one record more brought three others to light"


@pytest.mark.slow
def test_rows_of_a_person_may_be_bounded_before_or_after():
    schema = policy([]).schema.with_names("id")
    people = frame(60).set_column(0, "id", [[f"p{i % 9}" for i in range(60)]])
    table, unit = open_engine().scan(people, schema), Unit.person("id", 2, "add_remove")
    step = ExtremeCoding(AGE, "40", "top")

    def bounded(rows):
        with Source.seeded(8) as source:
            return bound_contributions(rows, unit, source.row_mask(Fraction(1, 2)).words, "record-wise-treatment")

    with Source.seeded(9) as chance:
        first = bounded(treat(table, [step], chance).table)
        second = treat(bounded(table), [step], chance).table
    assert first.digest() == second.digest()
    assert first.rows() == 18
