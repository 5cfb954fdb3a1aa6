"""Knowledge refinement: the thesis' numbers, exact privacy over all pairs of answers, the best factor."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import PreconditionError
from shoal.guarantee.differential import PureDP
from shoal.mechanism.refinement.factors import RefinementCurve
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement, check_curve
from shoal.mechanism.refinement.prior import DiscretePrior, HistogramPrior, Points, QuantilePrior, UniformPrior

EPSILONS = st.sampled_from(["0.1", "0.7", "1", "2", "5"])
OUTSIDE = (-7, Fraction(1, 2), 100, None, "unknown", float("nan"))


def growth(epsilon: str) -> Fraction:
    """A fraction just below e^epsilon, from another library than the code under test."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp()) * (1 - Fraction(1, 10**50))


@st.composite
def listed(draw: st.DrawFn) -> DiscretePrior:
    """A prior over a few whole numbers, so that several are equally far from a third."""
    values = draw(st.lists(st.integers(-5, 5), min_size=1, max_size=7, unique=True))
    weights = draw(st.lists(st.integers(1, 20), min_size=len(values), max_size=len(values)))
    return DiscretePrior({value: Fraction(weight, sum(weights)) for value, weight in zip(values, weights, strict=True)})


def plain_rule(prior: DiscretePrior, truth: int, up: Fraction, down: Fraction) -> dict[object, Fraction]:
    """SC13 Algorithm 5.1 with both errata, written out: balls, and one factor for what lies between."""
    near, far = (1 - down) / (up - down), (up - 1) / (up - down)
    table = dict(zip(prior.listed, prior.masses, strict=True))
    radii = sorted({abs(value - truth) for value in table})
    balls = [set(), *({v for v in table if abs(v - truth) <= radius} for radius in radii)]
    mass = lambda values: sum((table[v] for v in values), Fraction(0))  # noqa: E731
    raised = max((ball for ball in balls if mass(ball) <= near), key=len)
    lowered = max((set(table) - ball for ball in balls if 1 - mass(ball) <= far), key=len)
    rest = 1 - mass(raised) - mass(lowered)
    middle = (1 - up * mass(raised) - down * mass(lowered)) / rest if rest else Fraction(1)
    return {v: p * (up if v in raised else down if v in lowered else middle) for v, p in table.items()}


# --- numbers from the thesis --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "size", "inside", "variance"),
    [
        (0.1, 0.475, 0.525, 0.0772),
        (log(2), 1 / 3, 2 / 3, 0.0463),
        (1, 0.269, 0.731, 0.0345),
        (2, 0.119, 0.881, 0.0123),
    ],
)
def test_uniform_prior_of_table_5_5(epsilon, size, inside, variance):
    law = KnowledgeRefinement(UniformPrior(0, 1), epsilon).distribution(0.5)
    assert law.near_size == pytest.approx(size, abs=5e-4)
    assert law.near_probability == pytest.approx(inside, abs=5e-4)
    assert law.variance == pytest.approx(variance, abs=5e-5)
    assert law.mean == pytest.approx(0.5)
    assert law.near_size == pytest.approx(1 / (1 + exp(epsilon)), rel=1e-9)


def test_boolean_of_section_5_5_1():
    mechanism = KnowledgeRefinement({0: ".99", 1: ".01"}, 1)
    no, yes = (mechanism.distribution(truth) for truth in (0, 1))
    assert float(no.pmf(1)) == pytest.approx(0.003679, abs=5e-7)
    assert float(yes.pmf(1)) == pytest.approx(0.027183, abs=5e-7)
    # The thesis multiplies .02182 where .02718 is meant, and prints .003912 for this.
    assert float(no.pmf(1) * Fraction(99, 100) + yes.pmf(1) / 100) == pytest.approx(0.003914, abs=5e-7)


def test_two_people_of_tables_5_3_and_5_4():
    law = KnowledgeRefinement({0: "1/2", 1: "1/2"}, 1).distribution(0).masses
    assert float(law[1]) == pytest.approx(0.1839, abs=5e-5)
    assert float(law[0]) == pytest.approx(0.8161, abs=5e-5)
    both = {pair: law[pair[0]] * law[pair[1]] for pair in product((0, 1), repeat=2)}
    missing = {pair: Fraction(1, 2) * law[pair[1]] for pair in both}
    ratios = {round(float(both[pair] / missing[pair]), 9) for pair in both}
    assert ratios == {round(exp(-1), 9), round(2 - exp(-1), 9)}


def test_the_density_and_the_curve_of_figure_5_1():
    law = KnowledgeRefinement(UniformPrior(0, 1), log(2)).distribution(0.5)
    assert [law.density(x) for x in (0.5, 0.4, 0.1, -0.1, 1.1)] == pytest.approx([2, 2, 0.5, 0, 0])
    assert [law.cdf(x) for x in (-1, 0, 1 / 3, 0.5, 2 / 3, 1, 2)] == pytest.approx([0, 0, 1 / 6, 0.5, 5 / 6, 1, 1])


# --- exact laws and exact privacy ---------------------------------------------------------------------------------


@pytest.mark.slow
@given(prior=listed(), epsilon=EPSILONS, truth=st.integers(-6, 6))
def test_listed_values_follow_the_three_factor_rule(prior, epsilon, truth):
    for mechanism in (
        KnowledgeRefinement(prior, epsilon),
        KnowledgeRefinement(prior, epsilon, "statistical", alpha_u="1.05"),
    ):
        curve = mechanism.curve
        assert mechanism.distribution(truth).masses == plain_rule(prior, truth, curve.up, curve.down)


@pytest.mark.slow
@given(prior=listed(), epsilon=EPSILONS)
def test_an_individual_answer_stays_within_epsilon_of_the_prior(prior, epsilon):
    mechanism, most = KnowledgeRefinement(prior, epsilon), growth(epsilon)
    before = dict(zip(prior.listed, prior.masses, strict=True))
    for truth in (*range(-6, 7), *OUTSIDE):
        law = mechanism.distribution(truth).masses
        assert sum(law.values()) == 1
        assert all(before[v] / most <= law[v] <= before[v] * most for v in before)


@pytest.mark.slow
@given(prior=listed(), epsilon=EPSILONS, choice=st.sampled_from([None, "1", "1.1"]))
def test_two_statistical_answers_stay_within_epsilon_of_each_other(prior, epsilon, choice):
    mechanism, most = (
        KnowledgeRefinement(prior, epsilon, "statistical", alpha_u=choice),
        growth(epsilon),
    )
    laws = [mechanism.distribution(truth).masses for truth in (*range(-6, 7), *OUTSIDE)]
    for value in prior.listed:
        chances = [law[value] for law in laws]
        assert max(chances) <= most * min(chances)
    assert all(sum(law.values()) == 1 for law in laws)


def test_an_individual_answer_uses_all_of_epsilon_and_twice_that_when_a_person_is_replaced():
    prior = dict.fromkeys(range(20), "1/20")
    low, high = (KnowledgeRefinement(prior, 1).distribution(truth).masses for truth in (0, 19))
    assert log(low[0] * 20) == pytest.approx(1)
    assert max(log(low[v] / high[v]) for v in prior) == pytest.approx(2)
    assert KnowledgeRefinement(prior, 1).guarantee == PureDP(1)
    assert KnowledgeRefinement(prior, 1).guarantee_under("replace_one") == PureDP(2)
    assert KnowledgeRefinement(prior, 1, "statistical").guarantee_under("replace_one") == PureDP(1)


class Few(QuantilePrior):
    """A line of few steps with any values, in no order at all: the promise must not rest on them."""

    def __init__(self, places: list[float]) -> None:
        self.places, self.count, self.center = np.array(places), len(places), 0.0

    def at(self, steps: Points):
        return self.places[steps]

    def below(self, value: float) -> int:
        return int(np.argmin(np.abs(self.places - value)))

    def density(self, value: float) -> float:
        return value

    def integral(self, low: int, high: int, power: int, center: float) -> float:
        return float(np.sum((self.places[low:high] - center) ** power)) / self.count


PLACES = st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 0.5, 2.0, 7.0]), min_size=2, max_size=12)


@pytest.mark.slow
@given(
    places=PLACES,
    epsilon=EPSILONS,
    kind=st.sampled_from(["individual", "statistical"]),
    delta=st.sampled_from([0, "0.1"]),
)
def test_steps_sum_to_one_exactly_even_when_their_values_make_no_sense(places, epsilon, kind, delta):
    prior, up = Few(places), None if kind == "individual" else "1.05"
    mechanism = KnowledgeRefinement(prior, epsilon, kind, delta=delta, alpha_u=up)
    curve, points = mechanism.curve, np.arange(prior.count)
    for truth in (-5, 0, 0.5, 1.7, 9, None):
        law = mechanism.distribution(truth)
        factors = [law.factors[ring] for ring in law.rings(points)]
        assert sum(factors) == (1 - curve.moved) * prior.count
        assert max(factors) <= curve.up
        assert delta or min(factors) >= curve.down
        assert law.nearest.holds(points).any()


@pytest.mark.parametrize(
    "prior", [UniformPrior("1e6", "1000001"), HistogramPrior([0, 1, 5, 10], ["1/3", "1/3", "1/3"])]
)
@pytest.mark.parametrize("truth", [-5, 0, 0.3, 4.999, 10, 1_000_000.5, 1e300])
def test_a_fine_line_raises_exactly_its_share_of_steps(prior, truth):
    mechanism = KnowledgeRefinement(prior, 1)
    law = mechanism.distribution(truth)
    assert sum(f * (b.mass - a.mass) for f, (a, b) in zip(law.factors, pairwise(law.balls), strict=True)) == 1
    assert law.factors[0] == mechanism.curve.up
    assert law.factors[-1] == mechanism.curve.down
    raised = law.balls[1]
    assert raised.high - raised.low == int(mechanism.curve.near * prior.count)
    ends = prior.at(np.array([raised.low, raised.high - 1]))
    if raised.low > 0 and raised.high < prior.count:
        assert abs(ends[1] - truth) == pytest.approx(abs(ends[0] - truth), rel=1e-6, abs=1e-9)


def test_an_answer_outside_the_prior_raises_its_nearest_values():
    assert KnowledgeRefinement(UniformPrior(0, 1), 1).distribution(9).balls[1].high == 1 << 52
    law = KnowledgeRefinement(dict.fromkeys(range(10), "1/10"), 1).distribution(40)
    assert law.pmf(9) > law.pmf(7) > law.pmf(5) == law.pmf(0)


@pytest.mark.parametrize("truth", [None, "x", float("nan"), float("inf"), object(), np.array([1.0, 2.0])])
def test_what_cannot_be_placed_gives_the_prior(truth):
    law = KnowledgeRefinement({1: "1/4", 2: "3/4"}, 1, delta="0.2").distribution(truth)
    assert law.masses == {1: Fraction(1, 4), 2: Fraction(3, 4)}
    assert KnowledgeRefinement(UniformPrior(), 1).distribution(truth).factors == (1,)


# --- the best factor ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(prior=listed(), epsilon=EPSILONS)
def test_no_other_factor_has_a_smaller_expected_distance(prior, epsilon):
    best = KnowledgeRefinement(prior, epsilon, "statistical")
    exact = sum(
        m * Fraction(best.distribution(v).expected_distance) for v, m in zip(prior.listed, prior.masses, strict=True)
    )
    assert best.expected_error == pytest.approx(float(exact), abs=1e-12)
    for step in range(21):
        up = 1 + (growth(epsilon) - 1) * Fraction(step, 20) * (1 - Fraction(1, 10**20))
        other = KnowledgeRefinement(prior, epsilon, "statistical", alpha_u=up)
        assert best.expected_error <= other.expected_error + 1e-12


@pytest.mark.slow
def test_the_best_factor_of_a_uniform_prior():
    best = KnowledgeRefinement(UniformPrior(), 1, "statistical")
    others = [
        KnowledgeRefinement(UniformPrior(), 1, "statistical", alpha_u=up).expected_error
        for up in ("1.3", "1.5", "1.7", "2")
    ]
    assert best.expected_error < min(others)
    truths = (np.arange(200) + 0.5) / 200
    mean = np.mean([best.distribution(t).expected_distance for t in truths])
    assert best.expected_error == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize(
    ("curve", "kind", "theorem"),
    [
        (RefinementCurve(Fraction(3), Fraction(1, 3)), "individual", "knowledge-refinement"),
        (RefinementCurve(Fraction(27, 10), Fraction(1, 3)), "individual", "knowledge-refinement"),
        (RefinementCurve(Fraction(2), Fraction(1, 2)), "statistical", "knowledge-refinement"),
        (RefinementCurve(Fraction(2), Fraction(4, 5), Fraction(1, 10)), "individual", "knowledge-refinement-delta"),
        (RefinementCurve(Fraction(3, 2), Fraction(3, 5), Fraction(1, 20)), "statistical", "knowledge-refinement-delta"),
    ],
)
def test_factors_that_are_too_wide_are_refused(curve, kind, theorem):
    with pytest.raises(PreconditionError) as refused:
        check_curve(curve, Fraction(1), Fraction(1, 10), kind)
    assert refused.value.theorem == theorem
