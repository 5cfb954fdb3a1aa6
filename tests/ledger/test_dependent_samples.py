"""Costs on several samples that depend on each other: the ceiling against exact laws, and the ceiling that was too high."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from math import prod

import pytest

from shoal.errors import BudgetError
from shoal.guarantee.differential import ApproxDP, PureDP, allowance
from shoal.guarantee.unit import Unit
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger
from shoal.ledger.state import Registration, ceiling

Law = dict[tuple[int, ...], float]
UNIT = Unit.row("add_remove")


def step(epsilon: float, delta: float, *, present: bool) -> list[float]:
    """The worst (epsilon, delta)-DP answer: it tells the truth with probability delta, else it is randomized response."""
    likely = (1 - delta) / (1 + math.exp(-epsilon))
    law = [delta, likely, 1 - delta - likely, 0.0]
    return law if present else law[::-1]


def hockey(first: list[float], second: list[float], ratio: float) -> float:
    return sum(max(0.0, p - ratio * q) for p, q in zip(first, second, strict=True))


def couplings(beta: float) -> list[dict[tuple[int, int], float]]:
    """How two places at rate beta can depend on each other: apart, independent, together."""
    low, high = max(0.0, 2 * beta - 1), beta
    return [
        {(1, 1): both, (1, 0): beta - both, (0, 1): beta - both, (0, 0): 1 - 2 * beta + both}
        for both in (low, beta * beta, (low + high) / 2, high)
    ]


def worst(
    ratio: float, beta: float, plans: list[tuple[tuple[int, float, float], list[tuple[int, float, float]]]]
) -> float:
    """The largest delta at this ratio over couplings, directions, and analysts who choose the second step by the first answer."""
    most = 0.0
    for places in couplings(beta):
        for (sample, *cost), seconds in plans:
            for toward in (0, 1):
                found = 0.0
                for answer in range(4):
                    reached = 0.0
                    for other, *price in seconds:
                        without, with_ = [], []
                        for last in range(4):
                            x = step(*cost, present=False)[answer] * step(*price, present=False)[last]
                            z = sum(
                                p
                                * step(*cost, present=bool(b[sample]))[answer]
                                * step(*price, present=bool(b[other]))[last]
                                for b, p in places.items()
                            )
                            without.append(x)
                            with_.append(z)
                        pair = (without, with_) if toward else (with_, without)
                        reached = max(reached, hockey(*pair, ratio))
                    found += reached
                most = max(most, found)
    return most


def plans(s: float, d: float):
    """Two steps whose costs sum to (s, d), on samples 0 and 1, in every order."""
    shares = [(0.0, 0.0), (0.0, 1.0), (0.0, 0.5), (0.5, 0.5), (1.0, 0.0), (1.0, 1.0), (1.0, 0.5)]
    for epsilon, delta in shares:
        first = (0, s * epsilon, d * delta)
        yield first, [(sample, s * (1 - epsilon), d * (1 - delta)) for sample in (0, 1)]


CASES = [
    ("3", "0.01", "1/2"),
    ("1", "0.01", "1/2"),
    ("0.1", "0.001", "1/100"),
    ("1", "0.05", "1/10"),
    ("0.5", "0.01", "9/10"),
]


@pytest.mark.parametrize(("epsilon", "delta", "rate"), CASES)
def test_the_ceiling_covers_dependent_samples_and_adaptive_analysts(epsilon, delta, rate):
    most = ceiling(Budget.of(epsilon, delta), Fraction(rate))
    found = worst(math.exp(float(epsilon)), float(Fraction(rate)), list(plans(float(most.epsilon), float(most.delta))))
    assert found <= float(delta) * (1 + 1e-9)
    assert found > 0


def test_the_ceiling_of_one_sample_is_too_high_for_two():
    """The impostor: delta divided by the rate, which is right for one sample alone."""
    one = allowance(3, "0.01", "1/2")
    assert (one.epsilon, one.delta) == pytest.approx((3.668, 0.02), abs=5e-4)
    apart = {(1, 0): 0.5, (0, 1): 0.5}
    answers = list(itertools.product(range(4), repeat=2))
    costs = [(one.epsilon, 0.0), (0.0, one.delta)]

    def chance(places, answer):
        return prod(step(*c, present=bool(b))[a] for c, b, a in zip(costs, places, answer, strict=True))

    without = [chance((0, 0), answer) for answer in answers]
    with_ = [sum(p * chance(places, answer) for places, p in apart.items()) for answer in answers]
    assert hockey(without, with_, math.exp(3)) == pytest.approx(0.0145, abs=5e-5)
    for epsilon, delta, rate in CASES[:4]:
        one = allowance(epsilon, delta, rate)
        found = worst(math.exp(float(epsilon)), float(Fraction(rate)), list(plans(one.epsilon, one.delta)))
        assert found > float(delta) * 1.05


@pytest.mark.parametrize(("epsilon", "delta", "rate"), CASES)
def test_epsilon_is_spent_to_the_full(epsilon, delta, rate):
    """Places that are the same in both samples reach the promised epsilon: no more could be allowed."""
    most, beta = ceiling(Budget.of(epsilon, delta), Fraction(rate)), float(Fraction(rate))
    assert 1 + beta * math.expm1(float(most.epsilon)) == pytest.approx(math.exp(float(epsilon)))
    assert most.delta == Fraction(delta)


def test_the_ledger_does_not_let_delta_be_spent_on_a_second_sample(tmp_path):
    budget = Budget.of(3, "0.01")
    entry = Registration("census", None, "0" * 64, None, UNIT, Fraction(1, 2))
    common = {"budget": budget, "neighbours": "add_remove", "plan": "p", "unit": UNIT}
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        ledger.register(entry, budget=budget, table=b"first")
        ledger.charge("census", Cost.of("3.6", 0, [(PureDP("3.6"), 1)]), table=b"first", questions=["a"], **common)
        ledger.register(entry, budget=budget, table=b"second")
        late = Cost.of("0.01", "0.02", [(ApproxDP("0.01", "0.02"), 1)])
        with pytest.raises(BudgetError, match="would overrun"):
            ledger.charge("census", late, table=b"second", questions=["b"], **common)
        fits = Cost.of("0.01", "0.01", [(ApproxDP("0.01", "0.01"), 1)])
        ledger.charge("census", fits, table=b"second", questions=["b"], **common)
