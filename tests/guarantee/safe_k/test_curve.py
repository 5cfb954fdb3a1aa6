"""The calculus of k, beta, epsilon and delta: goldens, an independent oracle, laws, bad input."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee import rounding
from shoal.guarantee.safe_k import curve
from shoal.guarantee.safe_k.curve import (
    delta,
    delta_add,
    delta_published,
    delta_remove,
    delta_tight,
    epsilon_of_floor,
)
from tests.guarantee import oracle

# k, beta, epsilon, published, tight: theory.md section 1.2
GOLDEN = [
    (20, ".05", ".25", "6.8286507e-10", "6.7036246e-12"),
    (20, ".10", "1", "4.0725057e-14", "2.7606873e-15"),
    (20, ".20", "2", "1.5875441e-12", "2.7038629e-13"),
    (5, ".20", "1", "0.004672", "7.3014981e-04"),
    (10, ".30", ".5", "0.012692725", "1.1075334e-03"),
    (2, ".025", "2", "6.25e-04", "6.25e-04"),
    (1, ".025", "2", "0.025", "0.025"),
    (20, ".30", ".2", None, "1.7705751e-03"),
    (50, ".20", "1.5", "1.0376912e-25", "6.8093221e-27"),
]


@pytest.mark.parametrize(("k", "beta", "epsilon", "published", "tight"), GOLDEN)
def test_golden(k, beta, epsilon, published, tight):
    assert delta_tight(k, beta, epsilon) == pytest.approx(float(tight), rel=5e-8)
    if published is None:
        with pytest.raises(PreconditionError, match="safe-k-published"):
            delta_published(k, beta, epsilon)
    else:
        assert delta_published(k, beta, epsilon) == pytest.approx(float(published), rel=5e-8)


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [
        (1, ".3", ".1"),
        (2, ".5", "0"),
        (3, ".3", ".2"),
        (3, ".9", ".05"),
        (5, ".2", "1"),
        (5, ".7", "3"),
        (6, ".4", ".4"),
    ],
)
def test_closed_form_is_the_supremum_over_class_sizes(k, beta, epsilon):
    assert delta_tight(k, beta, epsilon) == pytest.approx(oracle.brute_force(k, beta, epsilon), rel=1e-14)
    for direction, ours in (("remove", delta_remove), ("add", delta_add)):
        assert ours(k, beta, epsilon) == pytest.approx(oracle.brute_force(k, beta, epsilon, direction), rel=1e-14)


@pytest.mark.parametrize(("k", "beta", "epsilon"), [(3, ".3", "-.2"), (4, ".6", "-.5"), (2, ".2", "-.1")])
def test_negative_epsilon_is_the_supremum_too(k, beta, epsilon):
    """The curves of both directions are needed below zero to build the privacy-loss distribution."""
    for direction, ours in (("remove", delta_remove), ("add", delta_add)):
        assert ours(k, beta, epsilon) == pytest.approx(oracle.brute_force(k, beta, epsilon, direction), rel=1e-14)


PLACES = st.tuples(
    st.integers(1, 5000),
    st.floats(math.log(1e-6), math.log(0.999)).map(lambda x: repr(math.exp(x))),
    st.one_of(st.just("0"), st.floats(1e-6, 20).map(repr)),
)


@pytest.mark.slow
@given(PLACES)
def test_never_below_and_within_a_ten_billionth_of_high_precision(place):
    k, beta, epsilon = place
    truth = oracle.tight_remove(k, beta, epsilon)
    if truth < 1e-250:
        return
    found = delta_remove(k, beta, epsilon)
    assert oracle.not_below(found, truth)
    assert oracle.relative_error(found, truth) < 1e-10


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [
        (5000, "1e-6", "0"),
        (5000, "0.999", "0"),
        (5000, "0.5", "0"),
        (5000, "0.9", "0.7"),
        (4000, "0.999", "20"),
        (10, "1e-6", "1e-6"),
        (40, "1e-6", "20"),
        (80, "0.001", "20"),
    ],
)
def test_the_corners_of_the_range(k, beta, epsilon):
    truth = oracle.tight_remove(k, beta, epsilon)
    found = delta_remove(k, beta, epsilon)
    assert oracle.not_below(found, truth)
    assert oracle.relative_error(found, truth) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [
        (20, ".05", ".25"),
        (20, ".2", ".25"),
        (7, ".3", "1"),
        (12, ".036", "2"),
        (3, ".5", ".8"),
        (30, ".4", ".6"),
    ],
)
def test_published_is_the_maximum_over_many_class_sizes(k, beta, epsilon):
    assert delta_published(k, beta, epsilon) == pytest.approx(oracle.published(k, beta, epsilon), rel=1e-12)


def test_published_table_to_all_printed_digits():
    """LQS11 Table 2 (LQS10 Table 1), k = 20."""
    columns = (".25", ".5", ".75", "1", "1.5", "2")
    printed = {
        ".05": "6.83e-10 2.50e-14 3.19e-17 1.76e-19 3.97e-22 2.00e-24",
        ".10": "4.19e-06 1.61e-09 3.44e-12 4.07e-14 3.22e-16 1.89e-18",
        ".20": "2.16e-03 8.02e-06 1.89e-07 6.03e-09 4.79e-11 1.59e-12",
    }
    for beta, row in printed.items():
        assert [f"{delta_published(20, beta, e):.2e}" for e in columns] == row.split()


def test_published_is_not_monotone_in_beta():
    """theory.md section 1.1: it drops by up to 81 % as beta grows, near beta = .036 at k = 20, epsilon = 2."""
    values = [delta_published(20, Fraction(b, 100_000), 2) for b in range(3400, 3800, 5)]
    drops = [1 - after / before for before, after in itertools.pairwise(values)]
    assert 0.7 < max(drops) < 0.9


SMALL = st.tuples(st.integers(1, 60), st.integers(1, 99).map(lambda b: Fraction(b, 100)), st.integers(0, 400))


@pytest.mark.slow
@given(SMALL)
def test_monotone(place):
    k, beta, hundredths = place
    epsilon = Fraction(hundredths, 100)
    here = delta_tight(k, beta, epsilon)
    assert delta_tight(k + 1, beta, epsilon) <= here
    assert delta_tight(k, beta, epsilon + Fraction(1, 50)) <= here
    assert delta_tight(k, beta * Fraction(9, 10), epsilon) <= here
    assert here >= float(beta**k) * (1 - 1e-15)
    assert here <= float(beta) * (1 + 1e-15)


@given(SMALL)
def test_tight_is_never_above_published(place):
    k, beta, hundredths = place
    epsilon = Fraction(hundredths, 100)
    if float(epsilon) <= -math.log1p(-float(beta)):
        with pytest.raises(PreconditionError):
            delta_published(k, beta, epsilon - Fraction(1, 1000) if epsilon else epsilon)
    else:
        assert delta_tight(k, beta, epsilon) <= delta_published(k, beta, epsilon) * (1 + 1e-15)


def test_edges():
    assert 0.3 < delta_tight(1, "0.3", "5") <= 0.3 * (1 + 1e-15)  # the float 0.3 lies below three tenths
    assert delta_tight(7, "0.5", math.log(3.5) + 1e-9) == pytest.approx(0.5**7, rel=1e-15)
    assert delta_tight(7, "0.5", math.log(3.5) - 0.01) > 0.5**7
    assert epsilon_of_floor(7, "0.5") == pytest.approx(math.log(3.5))
    assert delta_add(20, ".2", -math.log(0.8) + 1e-9) == 0.0
    assert delta_add(20, ".2", -math.log(0.8) - 1e-3) > 0.0
    assert delta_tight(5000, "0.001", 3) == 5e-324  # rounded up, never to zero


def test_a_float_means_its_shortest_decimal():
    assert delta_tight(20, 0.1, 1.0) == delta_tight(20, "0.1", "1")


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "x", 10**7, float("nan")])
def test_bad_k(bad):
    with pytest.raises(ParameterError, match="k"):
        delta(bad, ".2", 1)


@pytest.mark.parametrize("bad", [0, -0.1, 1.1, float("nan"), float("inf"), "half", None])
def test_bad_beta(bad):
    with pytest.raises(ParameterError, match="beta"):
        delta(5, bad, 1)


def test_no_sampling_is_refused_by_name():
    with pytest.raises(PreconditionError, match="no-sampling-no-privacy"):
        delta(5, 1, 1)


@pytest.mark.parametrize("bad", [-0.1, float("nan"), float("inf"), "one", 701])
def test_bad_epsilon(bad):
    with pytest.raises(ParameterError, match="epsilon"):
        delta(5, ".2", bad)


def test_unknown_bound():
    with pytest.raises(UsageError, match="tight or published"):
        delta(5, ".2", 1, bound="loose")


@pytest.mark.parametrize("epsilon", [100, 170, 200, 300, 700])
def test_published_at_the_far_end(epsilon):
    assert delta_published(20, ".1", epsilon) == pytest.approx(1e-20, rel=1e-12)


def test_too_small_a_rate():
    with pytest.raises(ParameterError, match="too small"):
        delta(5, "1e-13", 1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 1500, 1501, 5000, 10**7])
def test_binomial_mass_and_tails_against_high_precision(n):
    p = Decimal("0.013")
    with mpmath.workdps(90), rounding.precise():
        j = max(1, int(n * p * Decimal("1.3")))
        truth = mpmath.binomial(n, j) * mpmath.mpf("0.013") ** j * mpmath.mpf("0.987") ** (n - j)
        assert abs(mpmath.mpf(str(curve.binomial_mass(j, n, p))) / truth - 1) < mpmath.mpf(10) ** -45
        if n <= 5000:
            tail = mpmath.fsum(
                mpmath.binomial(n, i) * mpmath.mpf("0.013") ** i * mpmath.mpf("0.987") ** (n - i)
                for i in range(j, n + 1)
            )
            found = mpmath.mpf(str(curve.binomial_at_least(j, n, p)))
            assert 0 <= found / tail - 1 < mpmath.mpf(10) ** -45
            lower = mpmath.mpf(str(curve.binomial_at_most(j - 1, n, p)))
            assert abs(lower + tail - 1) < mpmath.mpf(10) ** -45
    assert curve.binomial_mass(-1, 5, p) == curve.binomial_mass(6, 5, p) == curve.binomial_at_least(6, 5, p) == 0
