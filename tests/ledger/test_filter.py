"""The privacy filter: its arithmetic, and every adaptive strategy of small games against what it promises."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.differential import GaussianDP
from shoal.guarantee.noise import ExponentialDP
from shoal.guarantee.rounding import exact
from shoal.ledger.filter import (
    MOST_SLACK,
    EventCost,
    FilterBudget,
    FilterState,
    largest_mu_squared,
    pure_mu_squared,
)
from shoal.mechanism.gaussian import summed_delta

# --- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1e-6", "0.03", "0.5", "1", "3", "8"])
def test_mu_of_a_pure_epsilon_is_that_of_its_bit_rounded_up(epsilon):
    found = math.sqrt(pure_mu_squared(exact(epsilon)))
    near = 2 * ndtri(1 / (1 + math.exp(-float(epsilon))))
    assert found == pytest.approx(near, rel=1e-9 if float(epsilon) > 0.01 else 1e-6)
    assert ndtr(found / 2) >= 1 / (1 + math.exp(-float(epsilon))) * (1 - 1e-15)


def test_an_epsilon_beyond_all_meaning_has_no_mu_and_none_costs_nothing():
    assert pure_mu_squared(Fraction(20)) is None
    assert pure_mu_squared(Fraction(0)) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(3, "7e-6"), ("0.5", "1e-9"), (1, "0.1"), (10, "1e-30")])
def test_mu_of_a_budget_is_the_largest_within_it(epsilon, delta):
    square = largest_mu_squared(exact(epsilon), exact(delta))
    mu = Fraction(math.sqrt(square))
    assert GaussianDP(mu).delta_at(epsilon) == pytest.approx(float(delta), rel=1e-6)
    assert GaussianDP(mu * Fraction("1.00001")).delta_at(epsilon) > float(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(3, 0), (3, "1e-81"), ("1e-9", "1e-5")])
def test_a_budget_without_room_for_the_gaussian_way_has_none(epsilon, delta):
    assert largest_mu_squared(exact(epsilon), exact(delta)) == 0


def test_a_mu_that_is_not_proved_is_refused():
    good = FilterBudget.of(3, "1e-5")
    with pytest.raises(PreconditionError, match="mu is larger"):
        replace(good, mu_squared=good.mu_squared * Fraction("1.0001"))
    with pytest.raises(PreconditionError, match="shares"):
        replace(good, pairs=Fraction(1))
    with pytest.raises(ParameterError, match="share"):
        FilterBudget.of(3, "1e-5", 1)


def test_a_cost_out_of_range_is_refused():
    with pytest.raises(PreconditionError, match="out of range"):
        EventCost(Fraction(1), Fraction(0), None, Fraction(0), Fraction(1, 10))
    with pytest.raises(PreconditionError, match="out of range"):
        EventCost(Fraction(-1), Fraction(0), None)


def test_three_releases_fit_and_a_hundred_counts_fit():
    budget, start = FilterBudget.of(3, "1e-5"), FilterState()
    assert start.more(EventCost.pair(1, "1e-6"), budget) == 3
    count = EventCost.discrete_gaussian("0.35", "1e-8", 1, "200.3", 1)
    assert start.more(count, budget) == 100
    assert start.more(EventCost.pair("0.03", 0), budget) > 300  # Laplace noise goes further, too
    assert budget.part_used(count) == pytest.approx(Fraction(1, 100), rel=1e-3)


costs = st.builds(
    EventCost.pair, st.sampled_from(["0.01", "0.2", "0.7", "1"]), st.sampled_from(["0", "1e-7", "1e-6"])
) | st.builds(
    EventCost.discrete_gaussian,
    st.just("0.4"),
    st.sampled_from(["1e-8", "1e-6"]),
    st.just(1),
    st.sampled_from([3, 40, 300]),
    st.just(1),
)


@given(st.lists(costs, max_size=12), costs)
def test_more_is_how_often_an_event_can_be_repeated(earlier, event):
    budget, state = FilterBudget.of(3, "1e-5"), FilterState()
    for each in earlier:
        state = state.after(each, budget) or state
    count, at = 0, state
    while count < 700 and (found := at.after(event, budget)) is not None:
        count, at = count + 1, found
    assert state.more(event, budget, limit=700) == count


@given(st.lists(costs, max_size=30))
def test_whatever_is_allowed_stays_within_the_budget(asked):
    budget, state, done = FilterBudget.of(3, "1e-5"), FilterState(), []
    for each in asked:
        found = state.after(each, budget)
        if found is not None:
            state, _ = found, done.append(each)
        assert state.basic or state.gaussian
        assert state.delta <= budget.pairs
        assert not state.basic or state.epsilon == sum(one.epsilon for one in done) <= budget.epsilon
        assert not state.gaussian or sum(one.mu_squared or 0 for one in done) <= budget.mu_squared
        assert state.slack <= MOST_SLACK


# --- every adaptive strategy of a small game, exactly --------------------------------------------------------------------
# The transcript of an adaptive strategy has the hockey-stick divergence sum of max(0, P(t) - e^epsilon P'(t)). Its largest
# value over all strategies that a filter allows follows by going through the tree: at every node the best of stopping and of
# each allowed event. So nothing is sampled: the largest excess is found as it is.


@dataclass(frozen=True)
class Event:
    """An event with its cost and its two laws over few outcomes."""

    cost: EventCost
    laws: tuple[tuple[float, float], ...]


def response(epsilon: str, delta: str = "0") -> Event:
    """Randomized response that reveals all with probability delta: the worst (epsilon, delta)-DP mechanism."""
    d, kept = float(exact(delta)), 1 / (1 + math.exp(-float(exact(epsilon))))
    laws = [((1 - d) * kept, (1 - d) * (1 - kept)), ((1 - d) * (1 - kept), (1 - d) * kept)]
    return Event(EventCost.pair(epsilon, delta), (*laws, *([(d, 0.0), (0.0, d)] if d else [])))


def normal(mu: Fraction, delta: str, cells: int) -> Event:
    """Normal noise in cells; its pair is the one of its own curve at delta."""
    ends = np.concatenate([[-np.inf], np.linspace(-2.5, 2.5 + float(mu), cells - 1), [np.inf]])
    first, second = np.diff(ndtr(ends)), np.diff(ndtr(ends - float(mu)))
    epsilon = exact(GaussianDP(mu).epsilon_at(delta))
    cost = EventCost(epsilon, exact(delta), mu**2)
    return Event(cost, tuple(zip(second.tolist(), first.tolist(), strict=True)))


def largest_excess(menu, budget, depth, *, after=FilterState.after):
    """The largest excess over all adaptive strategies, whichever of the two neighbours is the true one."""
    growth = math.exp(float(budget.epsilon))

    def best(p, q, state, left, menu):
        found = max(0.0, p - growth * q)
        if not left or p < 1e-12:
            return found
        for event in menu:
            later = after(state, event.cost, budget)
            if later is not None:
                total = sum(best(p * one, q * other, later, left - 1, menu) for one, other in event.laws)
                found = max(found, total)
        return found

    swapped = [Event(event.cost, tuple((q, p) for p, q in event.laws)) for event in menu]
    return max(best(1.0, 1.0, FilterState(), depth, each) for each in (menu, swapped))


BUDGET = FilterBudget.of(1, "0.2", "0.5")
MU = Fraction(math.sqrt(BUDGET.mu_squared)) * (1 - Fraction(1, 10**9))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("menu", "depth"),
    [
        ([response("0.25"), response("0.5", "0.02"), response("0", "0.05")], 4),
        ([normal(MU, "0.05", 14), response("0", "0.1"), response("0.5", "0.05")], 3),
        ([normal(MU / 2, "0.03", 7), normal(MU * Fraction(7, 10), "0.02", 7), response("0.3", "0.04")], 4),
        ([normal(MU / 2, "0.05", 5), response("0.2", "0.01"), response("0.6")], 5),
    ],
)
def test_no_adaptive_strategy_exceeds_what_the_filter_promises(menu, depth):
    excess = largest_excess(menu, BUDGET, depth)
    assert 0.08 < excess <= 0.2 * (1 + 1e-9)


def test_the_gaussian_way_is_used_up_by_whoever_adapts_to_it():
    """The game has power: within the Gaussian share alone a strategy comes near to what is promised."""
    excess = largest_excess([normal(MU, "0.05", 40)], BUDGET, 1)
    assert 0.097 < excess <= 0.1


def test_a_filter_that_does_not_divide_delta_is_caught():
    fifth = Fraction(1, 5)
    whole = replace(BUDGET, pairs=fifth, gaussian=fifth, mu_squared=largest_mu_squared(Fraction(1), fifth))
    mu = Fraction(math.sqrt(whole.mu_squared)) * (1 - Fraction(1, 10**9))
    assert largest_excess([normal(mu, "0.19", 14), response("0", "0.2")], whole, 2) > 0.3


def test_a_filter_that_checks_after_the_event_is_caught():
    def late(state, event, budget):
        now = state.after(EventCost.pair(0, 0), budget)
        return None if now is None else state.after(event, budget) or state.overrun(event)

    assert largest_excess([response("0.9", "0.05")], BUDGET, 3, after=late) > 0.21


def test_a_filter_that_adds_up_mu_in_place_of_its_square_is_caught():
    large = FilterBudget.of(6, "0.2", "0.5")
    mu = Fraction(3)
    assert mu < large.mu_squared < mu**2  # one event of mu = 3 is too much, and its mu alone would not be

    def by_mu(state, event, budget):
        root = None if event.mu_squared is None else Fraction(math.sqrt(event.mu_squared))
        return state.after(replace(event, mu_squared=root), budget)

    menu = [normal(mu, "0.15", 30)]
    assert largest_excess(menu, large, 1) == 0
    assert largest_excess(menu, large, 1, after=by_mu) > 0.2


def test_a_filter_that_counts_too_little_is_caught():
    def cheap(state, event, budget):
        return state.after(replace(event, epsilon=event.epsilon / 2, mu_squared=None), budget)

    assert largest_excess([response("1")], BUDGET, 2, after=cheap) > 0.3


# --- noise on a grid -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [1.6, 2.0, 5.0, 14.3])
def test_discrete_noise_has_no_larger_curve_than_its_mu_says(sigma):
    mu = 1 / math.sqrt(sigma**2 - 2)
    for epsilon in np.linspace(0.01, 8 * mu, 40):
        assert summed_delta(sigma, 1, epsilon) <= GaussianDP(mu).delta_at(epsilon) * (1 + 1e-7) + 1e-300


def test_discrete_noise_has_a_larger_curve_than_continuous_noise_of_its_variance():
    """So the two steps that are given up are not for nothing."""
    over = [
        summed_delta(1.6, 1, epsilon) > GaussianDP(1 / 1.6).delta_at(epsilon) * (1 + 1e-6)
        for epsilon in np.linspace(0.01, 4, 200)
    ]
    assert any(over)


@pytest.mark.parametrize(("sigma", "shift"), [(1.7, 0), (3.0, 2)])
def test_continuous_noise_that_is_rounded_at_random_is_discrete_noise(sigma, shift):
    width = math.sqrt(sigma**2 - 2)
    y, step = np.linspace(shift - 14 * width, shift + 14 * width, 60_001, retstep=True)
    density = np.exp(-(((y - shift) / width) ** 2) / 2) / (width * math.sqrt(2 * math.pi))
    whole = np.arange(-60, 61)
    total = np.exp(-((whole[:, None] - y) ** 2) / 4).sum(axis=0)
    for k in range(-6, 9):
        simulated = float((density * np.exp(-((k - y) ** 2) / 4) / total).sum() * step)
        weights = np.exp(-(((whole - shift) / sigma) ** 2) / 2)
        assert simulated == pytest.approx(float(weights[whole == k][0] / weights.sum()), rel=1e-12)


def test_little_noise_counts_as_its_pair():
    assert EventCost.discrete_gaussian(1, "1e-6", 1, "-0.5", 1) == EventCost.pair(1, "1e-6")
    assert EventCost.discrete_gaussian("0.01", "1e-6", 1, 1, 1) == EventCost.pair("0.01", "1e-6")


# --- choices by the exponential mechanism --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.05", "1", "4"])
def test_losses_that_differ_by_epsilon_are_told_apart_by_no_more_than_half_of_it_says(epsilon):
    """Every pair of bits whose losses differ by epsilon, and so every mechanism of bounded range."""
    size, mu = float(epsilon), math.sqrt(EventCost.bounded_range(epsilon).mu_squared)
    low = np.linspace(-30, 30, 4001)
    apart = -ndtri(1 / (1 + np.exp(low + size))) + ndtri(1 / (1 + np.exp(low)))
    assert apart.max() <= mu * (1 + 1e-9)
    assert apart.max() > mu * (1 - 1e-3)  # the middle one is that far


def test_the_curve_of_bounded_range_lies_below_that_of_its_mu():
    mu = Fraction(math.sqrt(EventCost.bounded_range(1).mu_squared))
    for e in np.linspace(0, 0.99, 34):
        assert ExponentialDP(1).delta_at(float(e)) <= GaussianDP(mu).delta_at(float(e)) * (1 + 1e-7)
    assert ExponentialDP(1).delta_at(0) > GaussianDP(mu * Fraction("0.98")).delta_at(0)


def choice(epsilon: str, t: float) -> Event:
    """The bit whose losses are t and t - epsilon."""
    size = float(exact(epsilon))
    q = (1 - math.exp(t - size)) / (math.exp(t) - math.exp(t - size))
    p = q * math.exp(t)
    return Event(EventCost.bounded_range(epsilon), ((p, q), (1 - p, 1 - q)))


@pytest.mark.slow
def test_no_adaptive_strategy_exceeds_the_promise_by_choices_of_bounded_range():
    menu = [choice("0.8", t) for t in (0.2, 0.4, 0.6)]
    assert 0.02 < largest_excess(menu, BUDGET, 4) <= 0.2
    strong = choice("1.2", 0.6)
    cheap = Event(replace(strong.cost, mu_squared=strong.cost.mu_squared / 9), strong.laws)
    assert largest_excess([strong], BUDGET, 6) <= 0.2
    assert largest_excess([cheap], BUDGET, 6) > 0.2


# --- costs of several ----------------------------------------------------------------------------------------------------


def test_costs_add_up_and_the_largest_of_each_number_is_taken():
    one, other = EventCost.pair("0.1", "1e-6"), EventCost.discrete_gaussian("0.4", "1e-8", 1, 100, 2)
    both = one + other
    assert (both.epsilon, both.common) == (Fraction(1, 2), one.common)
    assert both.mu_squared == one.mu_squared + other.mu_squared
    most = one.largest(other)
    assert (most.epsilon, most.delta, most.reveal, most.common) == (other.epsilon, one.delta, one.reveal, 0)
    assert (one + EventCost.pair(20, 0)).mu_squared is None
    assert one.charged_as(Fraction(1), Fraction(1, 10)).common == 0
    assert one.charged_as(one.epsilon, one.delta) is one


@given(costs)
def test_a_saved_cost_is_the_same_cost(cost):
    assert EventCost.from_saved(cost.epsilon, cost.delta, cost.to_saved()) == cost


# --- what is set aside --------------------------------------------------------------------------------------------------

ASIDE = FilterBudget.of("1.5", "0.3", "0.5", aside=("0.5", "0.1"))
ASIDE_MU = Fraction(math.sqrt(ASIDE.mu_squared)) * (1 - Fraction(1, 10**9))


def test_a_release_leaves_the_gaussian_way_where_something_was_set_aside():
    release, count = EventCost.pair(1, "1e-6"), EventCost.discrete_gaussian("0.35", "1e-8", 1, "400", 1)
    plain = FilterState().after(release, FilterBudget.of(3, "1e-5"))
    assert not plain.gaussian
    budget = FilterBudget.of(3, "1e-5", aside=(1, "1e-6"))
    kept = FilterState().after(release, budget)
    assert kept.gaussian
    assert kept.basic
    assert (kept.aside, kept.aside_delta, kept.epsilon, kept.delta) == (1, exact("1e-6"), 0, 0)
    assert kept.more(count, budget) > 4 * plain.more(count, FilterBudget.of(3, "1e-5"))
    again = kept.after(release, budget)  # nothing is left aside: it counts in both ways
    assert not again.gaussian
    assert again.epsilon == 1
    assert FilterBudget.from_saved(budget.to_saved()) == budget
    old = {key: value for key, value in FilterBudget.of(3, "1e-5").to_saved().items() if "aside" not in key}
    assert FilterBudget.from_saved(old) == FilterBudget.of(3, "1e-5")


def test_what_is_set_aside_is_a_part_of_the_budget():
    with pytest.raises(ParameterError, match="no part of the budget"):
        FilterBudget.of(3, "1e-5", aside=(4, "1e-6"))
    with pytest.raises(ParameterError, match="no part of the budget"):
        FilterBudget.of(3, "1e-5", aside=(1, "1e-4"))
    good = FilterBudget.of(3, "1e-5", aside=(1, "1e-6"))
    with pytest.raises(PreconditionError, match="mu is larger"):
        replace(good, aside=Fraction(2))
    with pytest.raises(PreconditionError, match="more epsilon is set aside"):
        replace(good, aside=Fraction(4))
    with pytest.raises(PreconditionError, match="shares"):
        replace(good, aside_delta=Fraction(1))


@given(st.lists(costs, max_size=12), costs)
def test_more_counts_what_goes_aside(earlier, event):
    budget, state = FilterBudget.of(3, "1e-5", aside=("1.5", "2e-6")), FilterState()
    for each in earlier:
        state = state.after(each, budget) or state
    count, at = 0, state
    while count < 700 and (found := at.after(event, budget)) is not None:
        count, at = count + 1, found
    assert state.more(event, budget, limit=700) == count
    assert at.aside <= budget.aside
    assert at.aside_delta <= budget.aside_delta
    assert at.overrun(event).more(event, budget) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("menu", "depth"),
    [
        ([response("0.5", "0.1"), response("0.25", "0.05"), normal(ASIDE_MU, "0.05", 10)], 4),
        ([response("0.5", "0.1"), normal(ASIDE_MU / 2, "0.05", 6), response("0.4")], 4),
        ([response("0.1", "0.02"), response("0.5", "0.08"), response("0.5")], 5),
    ],
)
def test_no_adaptive_strategy_exceeds_both_parts_together(menu, depth):
    assert 0.15 < largest_excess(menu, ASIDE, depth) <= 0.3 * (1 + 1e-9)


def test_a_filter_that_sets_aside_what_it_also_spends_is_caught():
    """Both ways keep the whole budget, and what is set aside comes on top of it."""
    menu = [response("0.5", "0.1"), normal(MU, "0.05", 14), response("0", "0.1")]

    def on_top(state, cost, budget):
        if cost.reveal and not state.aside:
            return replace(state, aside=cost.epsilon, aside_delta=cost.delta)
        return FilterState.after(state, cost, budget)

    assert largest_excess(menu, BUDGET, 3, after=on_top) > 0.25
