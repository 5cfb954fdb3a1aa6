"""Priors and distances: what they accept, how exact they are, and what they refuse."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shoal.chance.source import Source
from shoal.data.taxonomy import Taxonomy
from shoal.errors import ParameterError, UsageError
from shoal.mechanism.refinement.distance import (
    AbsoluteDistance,
    NominalDistance,
    OrdinalDistance,
    default_distance,
    resolve_distance,
)
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.refinement.prior import DiscretePrior, HistogramPrior, UniformPrior, as_prior

MEALS = Taxonomy.of({"food": {"fruit": ["apple", "pear"], "meat": ["beef"]}})


# --- priors -------------------------------------------------------------------------------------------------------


def test_probabilities_are_read_as_written():
    prior = DiscretePrior({"a": "1/3", "b": Fraction(1, 3), "c": "1/3"})
    assert prior.masses == (Fraction(1, 3),) * 3
    assert DiscretePrior({0: 0.1, 1: 0.9}).masses == (Fraction(1, 10), Fraction(9, 10))
    assert DiscretePrior({0: Decimal("0.25"), 1: np.float64(0.75)}).masses[0] == Fraction(1, 4)
    thirds = DiscretePrior(dict.fromkeys("abc", 1 / 3))
    assert sum(thirds.masses) == 1


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"a": 0},
        {"a": "0.4", "b": "0.5"},
        {"a": "0.6", "b": "0.5"},
        {"a": "1.5", "b": "-0.5"},
        {"a": "nan", "b": 1},
        {"a": float("inf")},
        {"a": "half", "b": "half"},
        {"a": 0.4999, "b": 0.5},
        {"a": None},
        {"a": True},
    ],
)
def test_bad_probabilities_are_refused(bad):
    with pytest.raises(UsageError):
        KnowledgeRefinement(bad)
    with pytest.raises(UsageError):
        HistogramPrior(range(len(bad) + 1), list(bad.values()))


@pytest.mark.parametrize("edges", [[0, 0], [1, 0], [0, "nan"], [0, float("inf")], [0], [0, 1, 2], [0, "1e-400x"]])
def test_bad_edges_are_refused(edges):
    with pytest.raises(UsageError):
        HistogramPrior(edges, [1])


@given(weights=st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any))
def test_a_bin_has_exactly_its_share_of_steps(weights):
    prior = HistogramPrior(range(len(weights) + 1), [Fraction(weight, sum(weights)) for weight in weights])
    for place, weight in enumerate(weights):
        assert Fraction(int(prior.starts[place + 1] - prior.starts[place]), prior.count) == Fraction(
            weight, sum(weights)
        )
    steps = np.array([0, prior.count // 3, prior.count - 1])
    values = prior.at(steps)
    assert (np.diff(values) >= 0).all()
    assert [prior.below(value) for value in values] == pytest.approx(steps.tolist(), rel=1e-9, abs=2)


def test_shares_without_a_small_common_denominator_are_rounded_to_a_step():
    odd = [Fraction(1, 3**20), Fraction(1, 5**20), Fraction(1, 7**20)]
    prior = HistogramPrior([0, 1, 2, 3, 4], [*odd, 1 - sum(odd)])
    assert prior.starts[-1] == prior.count == 1 << 52


@pytest.mark.parametrize("law", [stats.norm(3, 2), stats.expon(), stats.beta(0.5, 0.5), stats.t(2), stats.lognorm(1)])
def test_continuous_laws_of_scipy(law):
    prior = as_prior(law)
    values = prior.at(np.array([0, 1 << 50, (1 << 52) - 1]))
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()
    assert prior.below(float(values[1])) == pytest.approx(1 << 50, rel=1e-6)
    moment = prior.whole().moment(1) + prior.center
    assert moment == pytest.approx(law.mean(), rel=1e-6, abs=1e-6)
    assert prior.integral(0, 1 << 51, 0, 0.0) == pytest.approx(0.5, rel=1e-5)


def test_heavy_tails_end_with_the_last_step():
    law = KnowledgeRefinement(stats.cauchy(), 1).distribution(0.5)
    assert np.isfinite([law.mean, law.variance, law.expected_distance]).all()
    assert law.near_size == pytest.approx(0.9, abs=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("law", [stats.norm(3, 2), stats.pareto(2)])
def test_a_thousand_points_are_enough_for_an_expected_error(law):
    mechanism = KnowledgeRefinement(law, 1)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    odds = 36 * nodes
    below, above = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))
    truths = np.where(odds < 0, law.ppf(below), law.isf(above))
    errors = [mechanism.distribution(truth).expected_distance for truth in truths]
    mean = np.sum(36 * weights * below * above * errors)
    assert mechanism.expected_error == pytest.approx(mean, rel=0.01)


def test_discrete_laws_of_scipy_are_whole_to_the_last_step():
    prior = as_prior(stats.poisson(4))
    assert isinstance(prior, DiscretePrior)
    assert sum(prior.masses) == 1
    assert float(prior.masses[prior.listed.index(4)]) == pytest.approx(stats.poisson(4).pmf(4), rel=1e-12)
    assert as_prior(stats.binom(10, 0.3)).listed == tuple(range(11))
    assert as_prior(stats.rv_discrete(values=([1, 5], [0.25, 0.75]))()).masses == (Fraction(1, 4), Fraction(3, 4))
    assert len(as_prior(stats.rv_histogram(([1, 2], [0.0, 1.0, 2.0]))).representatives(8)[0]) == 8


NO_PRIORS = [
    *(3, "uniform", None, object(), ()),
    *(stats.gamma, stats.norm(0, -1), stats.norm(float("nan")), stats.poisson(-1), stats.poisson(4, loc=0.5)),
]


@pytest.mark.parametrize("meant", NO_PRIORS)
def test_what_is_no_prior_is_refused(meant):
    with pytest.raises(UsageError):
        KnowledgeRefinement(meant)


@pytest.mark.slow
@pytest.mark.parametrize("meant", [stats.poisson(10**9), dict.fromkeys(range(70_000), Fraction(1, 70_000))])
def test_too_many_values_are_refused(meant):
    with pytest.raises(ParameterError, match="too many"):
        KnowledgeRefinement(meant)


def test_representatives_stand_for_the_whole():
    for prior, mean in (
        (UniformPrior(0, 2), 1.0),
        (as_prior(stats.norm(5, 1)), 5.0),
        (as_prior(stats.poisson(100_000)), 100_000.0),
    ):
        values, weights = prior.representatives()
        assert weights.sum() == pytest.approx(1)
        assert np.dot(values, weights) == pytest.approx(mean, rel=1e-4)


# --- distances ----------------------------------------------------------------------------------------------------


def test_distances():
    assert AbsoluteDistance().between(0.2, [0.1, 0.3, "x"]) == [Fraction(1, 10), Fraction(1, 10), float("inf")]
    assert NominalDistance().between("a", ["a", "b"]) == [0, 1]
    assert OrdinalDistance(("low", "middle", "high")).between("low", ["high", "middle", "none"]) == [2, 1, float("inf")]
    near = resolve_distance(MEALS, ["apple", "pear", "beef"]).between("apple", ["apple", "pear", "beef"])
    assert near[0] == 0 < near[1] < near[2] == MEALS.distance("apple", "beef")


def test_the_usual_distance_suits_the_values():
    assert default_distance([1, 2.5, True]) == AbsoluteDistance()
    assert default_distance(["a", 1]) == NominalDistance()
    assert default_distance([(1,), (1, 2)]) == NominalDistance()


@pytest.mark.parametrize(
    "truth", [None, [], [[]], {}, float("nan"), np.nan, "apple pie", 10**400, Decimal("sNaN"), b"", 1j, np.array(3.0)]
)
@pytest.mark.parametrize(
    ("prior", "distance"),
    [
        ({1: "1/2", 2: "1/2"}, "absolute"),
        ({"a": "1/2", "b": "1/2"}, "nominal"),
        ({"a": "1/2", "b": "1/2"}, "ordinal"),
        ({"apple": "1/2", "beef": "1/2"}, MEALS),
        ({1: "1/2", 2: "1/2"}, lambda a, b: abs(a - b)),
        ({(1, "a"): "1/2", (2, "b"): "1/2"}, None),
        (UniformPrior(), None),
        (UniformPrior(), lambda a, b: (a - b) ** 2),
    ],
)
def test_no_true_answer_is_an_error(prior, distance, truth):
    law = KnowledgeRefinement(prior, 1, distance=distance).distribution(truth)
    assert len(law.sample(Source.seeded(1), 3)) == 3


@pytest.mark.slow
def test_a_missing_value_that_compares_with_nothing_gives_the_prior():
    pandas = pytest.importorskip("pandas")
    law = KnowledgeRefinement({"a": "1/2", "b": "1/2"}, 1).distribution(pandas.NA)
    assert law.factors == (1,)


def test_a_taxonomy_raises_what_is_near():
    law = KnowledgeRefinement({"apple": "0.1", "pear": "0.5", "beef": "0.4"}, 1, distance=MEALS).distribution("apple")
    assert law.pmf("pear") > Fraction(1, 2)
    assert law.pmf("beef") < Fraction(2, 5)


def test_ranks_are_those_of_the_list():
    law = KnowledgeRefinement(dict.fromkeys(["low", "middle", "high"], "1/3"), 1, distance="ordinal").distribution(
        "low"
    )
    assert law.pmf("low") > law.pmf("middle") == law.pmf("high")


def test_ones_own_distance_on_a_line():
    ratio = KnowledgeRefinement(UniformPrior(1, 100), 1, distance=lambda t, x: abs(np.log(x / t)))
    low, high = ratio.distribution(10).near.prior.at(
        np.array([(near := ratio.distribution(10).near).low, near.high - 1])
    )
    assert low * high == pytest.approx(100, rel=1e-3)
    assert ratio.distribution(10).expected_distance > 0


@pytest.mark.parametrize(
    ("prior", "distance"),
    [
        (UniformPrior(), "nominal"),
        (UniformPrior(), "ordinal"),
        (UniformPrior(), MEALS),
        (UniformPrior(), lambda a, b: a - b),
        ({1: "1/2", 2: "1/2"}, "far"),
        ({"a": "1/2", 2: "1/2"}, "absolute"),
        ({"apple": "1/2", "stone": "1/2"}, MEALS),
        ({"a": "1/2", "b": "1/2"}, OrdinalDistance(("a", "c"))),
        ({1: "1/2", 2: "1/2"}, lambda a, b: "far" / (a - b)),
    ],
)
def test_distances_that_do_not_suit_are_refused_before_any_answer(prior, distance):
    with pytest.raises(UsageError):
        KnowledgeRefinement(prior, 1, distance=distance)


def test_an_order_names_each_value_once():
    with pytest.raises(ParameterError):
        OrdinalDistance(("a", "a"))


# --- the other parameters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", "1e-400", "1e400", "1e-13", 13, "one", None, True])
def test_a_bad_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError):
        KnowledgeRefinement(UniformPrior(), epsilon)


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "other"},
        {"alpha_u": 2},
        {"kind": "statistical", "alpha_u": "0.9"},
        {"kind": "statistical", "alpha_u": "2.8"},
        {"kind": "statistical", "alpha_u": "nan"},
    ],
)
def test_bad_kinds_and_factors_are_refused(more):
    with pytest.raises(UsageError):
        KnowledgeRefinement(UniformPrior(), 1, **more)


def test_holders_figures_that_do_not_exist_are_refused():
    with pytest.raises(UsageError):
        _ = KnowledgeRefinement(UniformPrior(), 1).distribution(0.5).masses
    words = KnowledgeRefinement({"a": 1}, 1).distribution("a")
    for ask in (lambda: words.cdf("a"), lambda: words.density(1.0)):
        with pytest.raises(UsageError):
            ask()
    assert words.mean is None
    assert words.variance is None
