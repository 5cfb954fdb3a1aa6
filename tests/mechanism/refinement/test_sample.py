"""The sampler of a refinement: it follows its own law, not one that is 30 % off, and nothing impossible comes out."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from shoal.chance.source import Source
from shoal.errors import ParameterError
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.refinement.prior import HistogramPrior, UniformPrior
from tests.statistical.fit import fits

SIZE = 40_000
SKEWED = {value: Fraction(1 + value % 4, 30) for value in range(12)}
LINES = [
    (UniformPrior(-1, 3), 0.2),
    (HistogramPrior([0, 1, 5, 10], ["0.5", "0.2", "0.3"]), 4),
    (stats.norm(170, 10), 183),
    (stats.lognorm(1), 2),
]


def impostors(make, epsilon):
    """The same mechanism with 30 % less and more of epsilon."""
    return [make(epsilon * factor) for factor in (Fraction(7, 10), Fraction(13, 10))]


@pytest.mark.parametrize("kind", ["individual", "statistical"])
@pytest.mark.parametrize("delta", ["0", "0.2"])
def test_listed_values(kind, delta):
    make = lambda epsilon: KnowledgeRefinement(SKEWED, epsilon, kind, delta=delta)  # noqa: E731
    drawn = make(1).sample(3, Source.seeded(1), SIZE)
    law = lambda mechanism: [float(mechanism.distribution(3).pmf(value)) for value in range(12)]  # noqa: E731
    assert fits(drawn, law(make(1)))
    assert not any(fits(drawn, law(impostor)) for impostor in impostors(make, 1))
    assert not fits(drawn, [float(mass) for mass in SKEWED.values()])


def cells(law, drawn):
    """Probabilities and counts of twenty stretches of a line, of equal size in the sample."""
    marks = np.quantile(drawn, np.arange(1, 20) / 20) + 1e-9
    ends = [0.0, *(law.cdf(mark) for mark in marks), 1.0]
    return np.diff(ends), np.searchsorted(marks, drawn)


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "truth"), LINES)
@pytest.mark.parametrize("delta", ["0", "0.1"])
def test_numbers_on_a_line(prior, truth, delta):
    make = lambda epsilon: KnowledgeRefinement(prior, epsilon, delta=delta)  # noqa: E731
    drawn = make(1).sample(truth, Source.seeded(2), SIZE)
    expected, seen = cells(make(1).distribution(truth), drawn)
    assert fits(seen, expected)
    for impostor in impostors(make, 1):
        expected, seen = cells(impostor.distribution(truth), drawn)
        assert not fits(seen, expected)
    law = make(1).distribution(truth)
    assert drawn.mean() == pytest.approx(law.mean, abs=5 * law.variance**0.5 / SIZE**0.5)
    assert np.abs(drawn - truth).mean() == pytest.approx(law.expected_distance, rel=0.05)


def test_the_absent_give_the_prior():
    drawn = KnowledgeRefinement(SKEWED, 2, delta="0.1").sample(None, Source.seeded(4), SIZE)
    assert fits(drawn, [float(mass) for mass in SKEWED.values()])


@pytest.mark.parametrize("truth", [0, 1, 2, 5, None])
def test_what_the_prior_excludes_never_comes_out(truth):
    listed = KnowledgeRefinement({0: "0.5", 1: 0, 2: "0.5"}, 4, delta="0.3")
    assert set(listed.sample(truth, Source.seeded(5), 2000).tolist()) == {0, 2}
    gap = KnowledgeRefinement(HistogramPrior([0, 1, 2, 3], ["0.5", 0, "0.5"]), 4, delta="0.3")
    drawn = gap.sample(truth, Source.seeded(6), 2000)
    assert not ((drawn > 1) & (drawn < 2)).any()
    assert drawn.min() >= 0
    assert drawn.max() <= 3


def test_reachable_values_do_not_depend_on_the_answer():
    prior = UniformPrior(0, 1)
    for truth in (0.1, 0.123456789, 7):
        drawn = KnowledgeRefinement(prior, 3, delta="0.4").sample(truth, Source.seeded(7), 500)
        assert (drawn * 2**53 % 2 == 1).all()


def test_one_answer_is_a_plain_value_and_repeats_from_a_seed():
    for prior, truth, kind in (
        ({"a": ".5", "b": ".5"}, "a", str),
        ({1: 1}, 1, int),
        (UniformPrior(), 0.3, float),
    ):
        mechanism = KnowledgeRefinement(prior, 1)
        one, other = (mechanism.draw(truth, Source.seeded(8)) for _ in range(2))
        assert type(one) is kind
        assert one == other
    assert len(KnowledgeRefinement(UniformPrior(), 1).sample(0.5)) == 1


def test_the_share_of_proposals_that_are_kept_does_not_depend_on_the_answer():
    mechanism = KnowledgeRefinement(SKEWED, 1, delta="0.2")
    for truth in (0, 5, 11, 40, None):
        law = mechanism.distribution(truth)
        rings = zip(law.factors, pairwise(law.balls), strict=True)
        assert sum(factor * (outer.mass - inner.mass) for factor, (inner, outer) in rings) == 1 - mechanism.curve.moved


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_a_size_that_is_no_number_of_answers(size):
    with pytest.raises(ParameterError):
        KnowledgeRefinement(UniformPrior(), 1).sample(0.5, Source.seeded(9), size)
