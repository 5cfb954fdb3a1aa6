"""Knowledge refinement with a delta: the divergence over all pairs, and why the thesis' masses break the claim."""

from __future__ import annotations

from fractions import Fraction
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.differential import ApproxDP
from shoal.mechanism.refinement.factors import RefinementCurve, individual_curve, inverse_growth, statistical_curve
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement, check_curve
from shoal.mechanism.refinement.prior import DiscretePrior, UniformPrior
from shoal.mechanism.refinement.response import RefinedDistribution
from tests.mechanism.refinement.test_mechanism import OUTSIDE, growth, listed

EPSILONS = st.sampled_from(["0.1", "0.7", "2"])
DELTAS = st.sampled_from(["0.001", "0.05", "0.2", "0.49"])
HUNDRED = DiscretePrior({value: Fraction(1, 100) for value in range(100)})


def divergence(first: dict, second: dict, ratio: Fraction) -> Fraction:
    """The hockey-stick divergence: the least delta at this e^epsilon, one way."""
    return sum((max(Fraction(0), first[v] - ratio * second[v]) for v in first), Fraction(0))


@pytest.mark.slow
@given(prior=listed(), epsilon=EPSILONS, delta=DELTAS)
def test_an_individual_answer_keeps_its_delta_against_the_prior(prior, epsilon, delta):
    mechanism, ratio = KnowledgeRefinement(prior, epsilon, delta=delta), growth(epsilon)
    before = dict(zip(prior.listed, prior.masses, strict=True))
    for truth in (*range(-6, 7), *OUTSIDE):
        law = mechanism.distribution(truth).masses
        assert sum(law.values()) == 1
        assert min(law.values()) >= 0
        # `growth` is below e^epsilon by a relative 1e-50, which can only enlarge the divergence
        assert divergence(law, before, ratio) <= Fraction(delta)
        assert divergence(before, law, ratio) <= Fraction(delta) * (1 + Fraction(1, 10**30))


@pytest.mark.slow
@given(prior=listed(), epsilon=EPSILONS, delta=DELTAS, up=st.sampled_from([None, "1", "1.05"]))
def test_two_statistical_answers_keep_their_delta(prior, epsilon, delta, up):
    mechanism, ratio = KnowledgeRefinement(prior, epsilon, "statistical", delta=delta, alpha_u=up), growth(epsilon)
    laws = [mechanism.distribution(truth).masses for truth in (*prior.listed, 9, *OUTSIDE[1:4])]
    most = max(divergence(a, b, ratio) for a in laws for b in laws)
    assert most <= Fraction(delta) * (1 + Fraction(1, 10**30))


@pytest.mark.slow
@given(prior=listed(), epsilon=EPSILONS, delta=DELTAS)
def test_a_replaced_person_keeps_the_wider_claim(prior, epsilon, delta):
    mechanism = KnowledgeRefinement(prior, epsilon, delta=delta)
    claim, ratio = mechanism.guarantee_under("replace_one"), growth(epsilon) ** 2
    laws = [mechanism.distribution(truth).masses for truth in prior.listed]
    assert isinstance(claim, ApproxDP)
    assert claim.epsilon == 2 * Fraction(epsilon)
    assert max(divergence(a, b, ratio) for a in laws for b in laws) <= claim.delta * (1 + Fraction(1, 10**30))


def test_all_of_delta_is_used():
    before = dict.fromkeys(range(100), Fraction(1, 100))
    law = KnowledgeRefinement(HUNDRED, log(2), delta="0.2").distribution(50).masses
    assert float(divergence(before, law, Fraction(2))) == pytest.approx(0.2)
    one, other = (
        KnowledgeRefinement(HUNDRED, log(2), "statistical", delta="0.2").distribution(t).masses for t in (5, 95)
    )
    assert float(divergence(one, other, Fraction(2))) == pytest.approx(0.2)


def test_the_thesis_masses_break_the_claim():
    epsilon, delta = Fraction(log(2)), Fraction(1, 5)
    before = dict.fromkeys(range(100), Fraction(1, 100))
    right = individual_curve(epsilon, delta)
    printed = RefinementCurve(right.up, right.down, delta)
    law = RefinedDistribution(HUNDRED, printed, HUNDRED.order(KnowledgeRefinement(HUNDRED).distance, 50)).masses
    assert float(divergence(before, law, Fraction(2))) == pytest.approx(0.4)
    with pytest.raises(PreconditionError):
        check_curve(printed, epsilon, delta, "individual")
    right = statistical_curve(epsilon, delta, Fraction(3, 2))
    printed = RefinementCurve(right.up, right.down, delta / 2)
    orders = [HUNDRED.order(KnowledgeRefinement(HUNDRED).distance, truth) for truth in (5, 95)]
    one, other = (RefinedDistribution(HUNDRED, printed, order).masses for order in orders)
    assert float(divergence(one, other, Fraction(2))) == pytest.approx(0.3)
    with pytest.raises(PreconditionError):
        check_curve(printed, epsilon, delta, "statistical")


def test_masses_are_rounded_against_us():
    below, above = inverse_growth(Fraction(1))
    assert below < above
    assert individual_curve(Fraction(1), Fraction(1, 10)).moved == below / 10
    assert statistical_curve(Fraction(1), Fraction(1, 10), Fraction(1)).moved <= Fraction(1, 10) / (1 + growth("1"))
    assert individual_curve(Fraction(1), Fraction(0)).up <= growth("1")


def test_an_impossible_answer_moves_its_mass_to_the_nearest_possible_ones():
    prior = DiscretePrior({0: "0.2", 2: "0.6", 4: "0.2", 3: 0})
    plain, moved = (KnowledgeRefinement(prior, 1, delta=delta).distribution(3) for delta in (0, "0.2"))
    assert moved.nearest.mass == Fraction(4, 5)
    assert 3 not in moved.masses
    assert moved.pmf(0) < plain.pmf(0)
    assert moved.pmf(2) / moved.pmf(4) == 3


def test_boolean_with_a_delta_moves_from_the_only_other_value():
    plain, moved = (KnowledgeRefinement({0: ".99", 1: ".01"}, 1, delta=d).distribution(1) for d in (0, "0.1"))
    assert float(moved.pmf(1) - plain.pmf(1)) == pytest.approx(0.1 * 0.36787944)


def test_figures_of_a_line_with_a_delta():
    law = KnowledgeRefinement(UniformPrior(), log(2), delta="0.2").distribution(0.5)
    assert law.cdf(0.5 + 1e-9) - law.cdf(0.5 - 1e-9) == pytest.approx(0.1, abs=1e-7)
    assert law.density(0.05) == 0
    assert law.cdf(1) == pytest.approx(1)
    assert law.mean == pytest.approx(0.5)
    assert law.variance < KnowledgeRefinement(UniformPrior(), log(2)).distribution(0.5).variance
    assert law.near_probability == pytest.approx(2 / 3 + 0.1)


@pytest.mark.slow
def test_a_delta_makes_the_answer_nearer_in_every_prior():
    for prior, truth in ((HUNDRED, 40), (UniformPrior(), 0.4)):
        plain, moved = (KnowledgeRefinement(prior, 1, delta=delta) for delta in (0, "0.2"))
        assert moved.distribution(truth).expected_distance < plain.distribution(truth).expected_distance
        assert moved.expected_error < plain.expected_error
        assert moved.guarantee == ApproxDP(1, "0.2")
        assert moved.theorems == ("knowledge-refinement", "knowledge-refinement-delta")


@pytest.mark.parametrize("delta", ["-0.1", "nan", "1e-400", "0.5", 1, "0.1x"])
def test_a_delta_out_of_range_is_refused(delta):
    with pytest.raises(ParameterError):
        KnowledgeRefinement(HUNDRED, 1, delta=delta)
