"""Settings of noisy counts: goldens, the promise recomputed, units, others beside them, refusals."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.compose import compose, composed_within
from shoal.guarantee.differential import PureDP, SafeKSampling
from shoal.guarantee.noise import ConcentratedDP, ExponentialDP, NoisyTablesDP
from shoal.guarantee.noisy_counts import composition_theorems, noise_half_width, solve_counts, table_numbers
from shoal.guarantee.theorem import THEOREMS
from shoal.guarantee.unit import Unit

ROW, REPLACED = Unit.row("add_remove"), Unit.row("replace_one")
PERSON = Unit.person("patient", 3, "add_remove")


@pytest.mark.parametrize("tables", [28, 105])
def test_golden_sigma_of_all_pairs(tables):
    """Within 1 % of the exact Gaussian (Balle and Wang 2018: mu = 0.2367 at (1, 1e-6))."""
    (found,) = solve_counts(1, "1e-6", unit=ROW, tables=tables).tables
    assert found[0] == tables
    assert float(found[1]) == pytest.approx(math.sqrt(tables) / 0.2367, rel=2e-4)
    (replaced,) = solve_counts(1, "1e-6", unit=REPLACED, tables=tables).tables
    assert float(replaced[1]) == pytest.approx(math.sqrt(2 * tables) / 0.2367, rel=2e-4)


SETTINGS = [
    {"tables": 28, "singles": 8},
    {"tables": 28, "singles": 8, "unit": REPLACED},
    {"tables": 28, "singles": 8, "unit": PERSON},
    {"tables": table_numbers(28), "singles": 8, "candidates": 28, "kind": "once"},
    {"tables": table_numbers(28), "candidates": 28, "kind": "once", "unit": PERSON},
    {"tables": 12, "singles": 8, "candidates": 28, "kind": "rounds"},
    {"tables": 4, "first": 28, "candidates": 56, "kind": "rounds"},
    {"tables": 4, "singles": 8, "first": 28, "candidates": 56, "kind": "rounds", "unit": PERSON},
    {"tables": 12, "singles": 8, "others": [(SafeKSampling(60, "0.05"), 1), (PureDP("0.05"), 1)]},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", SETTINGS, ids=lambda asked: f"{asked.get('kind', 'fixed')}-{asked.get('unit', ROW).name}"
)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.3", "1e-12")])
def test_the_promise_is_kept_and_used(asked, epsilon, delta):
    found = solve_counts(epsilon, delta, **{"unit": ROW, **asked})
    parts = [*found.parts, *asked.get("others", ())]
    assert composed_within(parts, Fraction(epsilon), Fraction(delta))
    assert compose(parts).epsilon_at(delta) >= 0.998 * float(epsilon)
    sigmas = [sigma for _, sigma in found.tables] + [found.single_sigma or Fraction(1)]
    assert all((sigma * 10**9).denominator == 1 for sigma in sigmas)  # short decimals
    assert {number for number, _ in found.tables} == set(np.atleast_1d(asked["tables"]).tolist())


@pytest.mark.slow
def test_the_parts_are_the_steps():
    found = solve_counts(1, "1e-6", unit=REPLACED, tables=(2, 5), singles=4, candidates=6, kind="once")
    singles, scores, tables = (part for part, _ in found.parts)
    assert singles == NoisyTablesDP([(8, found.single_sigma)])
    assert scores == NoisyTablesDP([(6, found.score_sigma)])
    assert tables == NoisyTablesDP([(4, found.sigma_of(2)), (10, found.sigma_of(5))])
    assert found.score_change == 2
    rounds = solve_counts(1, "1e-6", unit=ROW, tables=5, singles=4, candidates=6, kind="rounds")
    assert rounds.parts[1] == (ExponentialDP(rounds.choice_epsilon), 5)
    assert rounds.parts[2] == (NoisyTablesDP([(5, rounds.sigma_of(5))]), 1)
    after = solve_counts(1, "1e-6", unit=REPLACED, tables=5, singles=4, first=3, candidates=6, kind="rounds")
    assert [part for part, _ in after.parts[:2]] == [
        NoisyTablesDP([(8, after.single_sigma)]),
        NoisyTablesDP([(6, after.first[1])]),
    ]
    assert after.parts[2] == (ExponentialDP(after.choice_epsilon), 5)
    assert (after.named, rounds.named) == (7, 4)
    assert after.to_saved()["first"] == [3, str(float(after.first[1]))]
    assert "first" not in rounds.to_saved()
    person = solve_counts(1, "1e-6", unit=Unit.person("id", 3, "replace_one"), tables=5)
    assert person.parts == ((ConcentratedDP(5 * 18 / (2 * person.sigma_of(5) ** 2)), 1),)
    assert person.score_change == 6
    with pytest.raises(UsageError, match="not fixed in advance"):
        found.sigma_of(3)
    assert found.to_saved()["tables"] == [[2, str(float(found.sigma_of(2)))], [5, str(float(found.sigma_of(5)))]]


@pytest.mark.slow
def test_a_setting_names_its_theorems():
    assert solve_counts(1, "1e-6", unit=PERSON, tables=5).theorems == ("noisy-tables",)
    assert solve_counts(1, "1e-6", unit=REPLACED, tables=5, singles=2).theorems == ("noisy-tables", "adaptive-tables")
    rounds = solve_counts(1, "1e-6", unit=ROW, tables=2, candidates=6, kind="rounds")
    assert rounds.theorems == ("noisy-tables", "bounded-range", "adaptive-tables")
    assert set(rounds.theorems) <= set(THEOREMS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", SETTINGS, ids=lambda asked: f"{asked.get('kind', 'fixed')}-{asked.get('unit', ROW).name}"
)
@pytest.mark.parametrize("delta", ["1e-6", "1e-12"])
def test_the_theorem_that_is_cited_keeps_the_promise(asked, delta):
    """The bound of that very theorem, and not a smaller one of another, is within epsilon."""
    found = solve_counts("0.5", delta, **{"unit": ROW, **asked})
    parts = [*found.parts, *asked.get("others", ())]
    first, *beside = composition_theorems(parts, delta)
    bounds = {
        "pld-composition": compose(parts).pld_epsilon,
        "concentrated-composition": compose(parts).concentrated_epsilon,
    }
    assert bounds[first](delta) <= 0.5
    assert bool(beside) == (delta == "1e-12" and "others" in asked)
    assert first == (
        "pld-composition" if delta == "1e-6" and asked.get("unit") != PERSON else "concentrated-composition"
    )


def test_one_part_is_composed_with_nothing():
    assert composition_theorems(solve_counts(1, "1e-6", unit=PERSON, tables=5).parts, "1e-6") == ()


@pytest.mark.slow
def test_shares_move_the_noise():
    even = solve_counts(1, "1e-6", unit=ROW, tables=10, singles=10, singles_share="0.5")
    assert even.single_sigma == even.sigma_of(10)
    less = solve_counts(1, "1e-6", unit=ROW, tables=10, singles=10, singles_share="0.1")
    assert less.sigma_of(10) < even.sigma_of(10) < even.single_sigma * 2 < less.single_sigma


def test_numbers_of_tables_grow_to_the_most():
    assert table_numbers(1) == (1,)
    assert table_numbers(2) == (1, 2)
    found = table_numbers(1770)
    assert found[-1] == 1770
    assert all(later <= math.ceil(1.5 * former) for former, later in itertools.pairwise(found))
    assert len(found) < 20


def test_half_width_of_the_exact_noise():
    for sigma in (0.3, 0.7, 4.0, 33.3):
        x = np.arange(-2000, 2001)
        masses = np.exp(-(x**2) / (2 * sigma**2))
        masses /= masses.sum()
        t = noise_half_width(str(sigma))
        assert masses[np.abs(x) <= t].sum() >= 0.95
        assert t == 0 or masses[np.abs(x) <= t - 1].sum() < 0.95
    assert noise_half_width(200_000) == 391_994  # 1.959964 deviations, and one more
    with pytest.raises(ParameterError):
        noise_half_width("0.1")


REFUSED = [
    ({"tables": 0}, ParameterError),
    ({"tables": ()}, UsageError),
    ({"tables": (1, 2)}, UsageError),
    ({"tables": 3, "candidates": 2}, UsageError),
    ({"tables": 3, "candidates": 2, "kind": "once"}, UsageError),
    ({"tables": 3, "kind": "rounds"}, ParameterError),
    ({"tables": 3, "kind": "sometimes"}, UsageError),
    ({"tables": 3, "singles": 2, "singles_share": 1}, ParameterError),
    ({"tables": 3, "singles": 2, "singles_share": 0}, ParameterError),
    ({"tables": 3, "singles": -1}, ParameterError),
    ({"tables": 3, "first": 2}, UsageError),
    ({"tables": 3, "first": -1, "candidates": 5, "kind": "rounds"}, ParameterError),
    ({"tables": 3, "first": 2, "candidates": 5, "kind": "rounds", "rounds_share": 1}, ParameterError),
    ({"tables": 3, "delta": 0}, PreconditionError),
    ({"tables": 3, "epsilon": 0}, PreconditionError),
    ({"tables": 3, "others": [(PureDP(1), 1)]}, InfeasibleError),
    ({"tables": 3, "others": [(SafeKSampling(2, "0.5"), 1)]}, InfeasibleError),
    ({"tables": 3, "epsilon": "1e-12", "delta": "1e-20"}, InfeasibleError),
]


@pytest.mark.parametrize(("asked", "error"), REFUSED)
def test_what_cannot_be_is_refused(asked, error):
    numbers = {"epsilon": 1, "delta": "1e-6", **asked}
    with pytest.raises(error):
        solve_counts(numbers.pop("epsilon"), numbers.pop("delta"), unit=ROW, **numbers)
