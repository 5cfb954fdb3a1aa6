"""Solving for the fourth number, the frontier, and targets that cannot be met."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.safe_k.curve import delta_exactly, delta_published, delta_tight
from shoal.guarantee.safe_k.setting import frontier, solve

E_RATE = 1 - math.exp(-1)


@pytest.mark.parametrize(
    ("epsilon", "beta", "tight", "published"),
    [(1, E_RATE, 58, 74), (1, ".2", 12, 14), ("1.9", ".85", 107, 117)],
)
def test_golden_k(epsilon, beta, tight, published):
    """theory.md sections 1.2 and 1.3, delta = 1e-6."""
    assert solve(epsilon=epsilon, delta="1e-6", beta=beta).k == tight
    assert solve(epsilon=epsilon, delta="1e-6", beta=beta, bound="published").k == published


def test_golden_epsilon():
    """theory.md section 1.7: one release at k = 20, beta = .3 and delta 1e-6 costs .777."""
    assert solve(k=20, beta=".3", delta="1e-6").epsilon == pytest.approx(0.777, abs=5e-4)


@pytest.mark.slow
@given(
    st.integers(10, 400).map(lambda e: Fraction(e, 100)),
    st.integers(-20, -2).map(lambda d: Fraction(10) ** d),
    st.integers(1, 95).map(lambda b: Fraction(b, 100)),
)
def test_k_is_the_smallest_that_holds(epsilon, delta, beta):
    assume(delta < beta)
    try:
        found = solve(epsilon=epsilon, delta=delta, beta=beta)
    except InfeasibleError:
        assert delta_tight(1_000_000, beta, epsilon) > float(delta)
        return
    assert delta_exactly(found.k, beta, epsilon) <= delta
    assert found.k == 1 or delta_exactly(found.k - 1, beta, epsilon) > delta


@pytest.mark.slow
@given(
    st.integers(2, 300).map(lambda e: Fraction(e, 100)),
    st.integers(-15, -2).map(lambda d: Fraction(10) ** d),
    st.integers(2, 200),
)
def test_beta_is_the_largest_that_holds(epsilon, delta, k):
    found = solve(epsilon=epsilon, delta=delta, k=k)
    assert delta_exactly(k, found.beta, epsilon) <= delta
    more = found.beta * (1 + 1e-9)
    if more < 0.999999:
        assert delta_tight(k, more, epsilon) > float(delta)


@pytest.mark.slow
@given(
    st.integers(-12, -2).map(lambda d: Fraction(10) ** d),
    st.integers(2, 200),
    st.integers(1, 95).map(lambda b: Fraction(b, 100)),
)
def test_epsilon_is_the_smallest_that_holds(delta, k, beta):
    assume(beta**k <= delta < beta)
    found = solve(delta=delta, k=k, beta=beta)
    assert delta_exactly(k, beta, found.epsilon) <= delta
    if found.epsilon > 1e-6:
        assert delta_tight(k, beta, found.epsilon * (1 - 1e-9)) > float(delta)


def test_the_four_directions_are_inverse():
    start = solve(epsilon=1, k=20, beta=".2")
    assert solve(delta=start.delta, k=20, beta=".2").epsilon == pytest.approx(1, rel=1e-9)
    assert solve(delta=start.delta, k=20, epsilon=1).beta == pytest.approx(0.2, rel=1e-9)
    assert solve(delta=start.delta, beta=".2", epsilon=1).k == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta", "k"), [(1, "1e-6", 20), (2, "2e-24", 20), (2, "1e-20", 15), (".5", "1e-3", 8)]
)
def test_published_beta_holds_and_scanning_beats_bisection(epsilon, delta, k):
    found = solve(epsilon=epsilon, delta=delta, k=k, bound="published")
    assert delta_published(k, found.beta, epsilon) <= float(delta)
    assert found.beta <= solve(epsilon=epsilon, delta=delta, k=k).beta
    # no grid point above the answer holds
    top = min(solve(epsilon=epsilon, delta=delta, k=k).beta, -math.expm1(-float(epsilon)) * (1 - 1e-12))
    grid = [found.beta + (top - found.beta) * i / 200 for i in range(1, 201)]
    assert not any(delta_published(k, b, epsilon) <= float(delta) for b in grid if b > found.beta * (1 + 1e-9))


def test_published_epsilon_starts_where_the_theorem_speaks():
    found = solve(k=200, beta=".3", delta=".01", bound="published")
    assert found.epsilon == pytest.approx(-math.log(0.7))
    assert found.delta_published is not None


def test_setting_shows_both_bounds():
    found = solve(epsilon=1, k=20, beta=".1")
    assert float(found.delta) == found.delta_tight
    assert found.delta < (found.delta_published or 0)
    assert solve(epsilon=".2", k=20, beta=".3").delta_published is None


@pytest.mark.slow
def test_frontier_trades_rows_for_detail():
    settings = frontier(1, "1e-6")
    assert [s.k for s in settings] == sorted(s.k for s in settings)
    assert [s.beta for s in settings] == sorted(s.beta for s in settings)
    assert all(delta_tight(s.k, s.beta, 1) <= 1e-6 for s in settings)


@pytest.mark.parametrize(
    "given_",
    [{}, {"epsilon": 1, "k": 5}, {"epsilon": 1, "delta": "1e-6", "k": 5, "beta": ".2"}, {"beta": ".5"}],
)
def test_three_are_needed(given_):
    with pytest.raises(UsageError, match="exactly three"):
        solve(**given_)


def test_delta_below_the_floor_names_the_obstacle_and_the_nearest():
    with pytest.raises(InfeasibleError, match=r"beta\^k = 0.00032.*delta >= 0.00032"):
        solve(delta="1e-6", k=5, beta=".2")


def test_delta_zero_is_unreachable():
    with pytest.raises(InfeasibleError, match="delta = 0"):
        solve(delta=0, epsilon=1, beta=".2")
    with pytest.raises(InfeasibleError, match="delta = 0"):
        solve(delta=0, epsilon=1, k=20)


def test_no_k_is_enough_names_the_nearest():
    with pytest.raises(InfeasibleError, match=r"no k up to .* nearest delta is 0.000"):
        solve(epsilon=0, delta="1e-9", beta=".5")


@pytest.mark.parametrize(
    "given_",
    [
        {"epsilon": 1, "delta": ".3", "beta": ".2"},
        {"epsilon": 1, "k": 1, "beta": ".2"},
        {"epsilon": 1, "delta": ".2", "k": 1},
    ],
)
def test_trivial_promise_is_refused(given_):
    with pytest.raises(PreconditionError, match="safe-k-nontrivial"):
        solve(**given_)


@pytest.mark.parametrize("delta", [-1, 2, "1e-301", float("nan")])
def test_bad_delta(delta):
    with pytest.raises(ParameterError, match="delta"):
        solve(epsilon=1, delta=delta, beta=".2")


def test_the_floor_itself_can_be_asked_for():
    """delta = beta^k exactly: k(1 - beta) is the ratio from which it holds, and k is not one too large."""
    assert solve(delta="1e-6", k=6, beta=".1").epsilon == pytest.approx(math.log(5.4), abs=1e-8)
    assert solve(delta="1e-6", k=6, beta=".1", bound="published").epsilon < 4
    assert solve(epsilon=6, delta="1e-6", beta=".1").k == 6
    assert solve(delta="6.25e-4", k=2, beta=".025").epsilon == pytest.approx(math.log(1.95), abs=1e-8)
