"""Publishing a plain sample: the published rate, the exact rate, and why some tables allow none."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.claim import load_guarantee
from shoal.guarantee.plain_sample import (
    SamplePrivacy,
    check_published,
    failure_probability,
    fewest_rows,
    keeps_privacy,
    largest_rate,
    published_rate,
    rate_on_grid,
    sample_rate,
)

TABLES = st.lists(st.integers(1, 3000), min_size=2, max_size=12)


def binomial(n, j, p):
    return math.comb(n, j) * p**j * (1 - p) ** (n - j)


def worst_ratio(counts, sample, c):
    """By definition: the largest Pr[S | c rows get values V] / Pr[S | they get V'], over rows, V and V' (tiny tables).

    One extra value stands for all values that are absent from the table.
    """
    values = list(range(len(counts) + 1))
    counts, sample = [*counts, 0], [*sample, 0]

    def likelihood(table):
        return math.prod(math.comb(n, s) for n, s in zip(table, sample, strict=True))

    worst = Fraction(0)
    for taken in itertools.product(*(range(min(c, n) + 1) for n in counts)):
        if sum(taken) != c:
            continue
        rest = [n - t for n, t in zip(counts, taken, strict=True)]
        states = itertools.combinations_with_replacement(values, c)
        tables = [[n + state.count(v) for v, n in enumerate(rest)] for state in states]
        weights = [likelihood(table) for table in tables]
        if min(weights) == 0:
            if max(weights) > 0:
                return math.inf
            continue
        worst = max(worst, Fraction(max(weights), min(weights)))
    return worst


@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize("counts", [(4, 6), (1, 5), (3, 3, 4), (9, 7), (3, 20)])
def test_the_cap_is_the_definition(counts, c):
    """A sample keeps (1, epsilon) exactly when no re-valuing of a row makes it 1 + epsilon times as likely.

    For c rows the caps suffice: what they keep is never broken by any mixture of values.
    """
    for epsilon in ("0.2", "0.5", "1", "3"):
        for sample in itertools.product(*(range(n + 1) for n in counts)):
            truth = worst_ratio(counts, sample, c) <= 1 + Fraction(epsilon)
            kept = keeps_privacy(counts, sample, epsilon=epsilon, c=c)
            assert kept == truth if c == 1 else truth or not kept, (counts, sample, epsilon, c)


@pytest.mark.parametrize(("counts", "rate", "epsilon", "c"), [((4, 6), 0.2, "1", 1), ((5, 3, 2), 0.1, "2", 2)])
def test_failure_probability_by_enumeration(counts, rate, epsilon, c):
    fails = sum(
        math.prod(binomial(n, s, rate) for n, s in zip(counts, sample, strict=True))
        for sample in itertools.product(*(range(n + 1) for n in counts))
        if not keeps_privacy(counts, sample, epsilon=epsilon, c=c)  # the caps
    )
    assert failure_probability(counts, rate=rate, epsilon=epsilon, c=c) == pytest.approx(fails, rel=1e-6)


@pytest.mark.slow
@given(TABLES, st.sampled_from(["0.1", "0.3", "0.8"]), st.sampled_from(["0.001", "0.01", "0.1"]), st.integers(1, 4))
def test_the_exact_rate_is_the_largest_and_beats_the_published_one(counts, epsilon, delta, c):
    exact = sample_rate(counts, epsilon=epsilon, delta=delta, c=c)
    published = sample_rate(counts, epsilon=epsilon, delta=delta, c=c, bound="published")
    assert exact.failure <= float(delta)
    assert failure_probability(counts, rate=exact.rate * 1.0001, epsilon=epsilon, c=c) > float(delta) * (1 - 1e-9)
    # the published theorems stand: at their rate the exact failure probability is within delta
    assert published.failure <= float(delta)
    assert published.rate <= exact.rate * (1 + 1e-9)


def test_rate_falls_with_c_and_with_rare_values():
    rates = [sample_rate([5000, 5000], epsilon=".3", delta=".01", c=c).rate for c in (1, 2, 5)]
    assert rates == sorted(rates, reverse=True)
    assert sample_rate([5000, 5000, 2], epsilon=".3", delta=".01").rate < 0.05 * rates[0]


def test_theorem_three_at_the_papers_own_epsilon():
    """CM06 Theorem 3 by hand: two values of 5000 rows, epsilon .1, delta .01: nothing is rare, p = epsilon."""
    assert published_rate([5000, 5000], epsilon=".1", delta=".01") == pytest.approx((0.1, 0.6))
    p, _ = published_rate([5000, 5000, 3], epsilon=".1", delta=".01")
    assert p == pytest.approx(0.1 * math.log(1 / 0.995) / (4 * math.log(3 / 0.005)))


def test_theorem_seven_needs_its_missing_condition():
    """Erratum: k = 2, alpha = .005, p = epsilon = .15, c = 30, n_v = 5000 meets every printed condition and fails."""
    log_term = math.log(2 / 0.005)
    r = 1 + 0.15 * 30 / (2 * log_term)
    printed = max(6 * 30 * r * 0.15, 2 * 30 * r * 0.3)
    assert r * 0.3 < 0.5  # all that the paper asks
    assert failure_probability([5000, 5000], rate=".15", epsilon=printed, c=30) > 0.99
    with pytest.raises(PreconditionError, match="Theorem 7 fails"):
        check_published(2, rate=".15", epsilon=".15", delta=".01", c=30)
    check_published(2, rate=".01", epsilon=".005", delta=".01", c=30)
    with pytest.raises(PreconditionError, match="not below 1/2"):
        check_published(2, rate=".3", epsilon=".3", delta=".01")


def test_lemma_two_fails_for_infrequent_values():
    """Erratum: n_v = 350, p = epsilon = .2, k = 2, delta = .01: .064 against the claimed .0025."""
    limit = 350 * 0.2 + 2 * math.log(2 / 0.005)
    tail = sum(binomial(350, j, 0.2) for j in range(math.floor(limit) + 1, 351))
    assert tail == pytest.approx(0.064, abs=5e-4)


def test_no_rate_is_safe_says_which_values_and_what_merging_gives():
    rate = sample_rate({f"v{i}": 1 for i in range(50)}, epsilon=".1", delta=".001")
    assert not rate.publishable
    assert len(rate.obstacles) == 50
    with pytest.raises(InfeasibleError, match="50 values so rare") as error:
        rate.claim()
    assert "v1" not in str(error.value)  # never a record's value in a message
    mixed = sample_rate({"x": 1, "y": 2, "z": 3, "common": 10_000}, epsilon=".5", delta=".01")
    assert mixed.merged_rate is not None
    assert mixed.merged_rate > mixed.rate
    assert mixed.claim().words().endswith("this table only")


@pytest.mark.parametrize("counts", [[], [0], [-1], [1.5], [True], {"a": 0}])
def test_bad_counts(counts):
    with pytest.raises(ParameterError):
        sample_rate(counts, epsilon=".3", delta=".01")


@pytest.mark.parametrize(
    "bad", [{"epsilon": 0}, {"epsilon": -1}, {"delta": 0}, {"delta": 1}, {"delta": 2}, {"c": 0}, {"c": 1.5}]
)
def test_bad_parameters(bad):
    with pytest.raises(ParameterError):
        sample_rate([10, 10], **{"epsilon": ".3", "delta": ".01", **bad})


def test_bad_bound_and_samples():
    with pytest.raises(UsageError, match="exact or published"):
        sample_rate([10], epsilon=".3", delta=".01", bound="tight")
    with pytest.raises(ParameterError, match="not a sample"):
        keeps_privacy([5, 5], [6, 0], epsilon=1)
    with pytest.raises(UsageError, match="both"):
        keeps_privacy({"a": 5}, [1], epsilon=1)


@given(st.floats(1e-12, 1, exclude_max=True))
def test_a_rate_on_the_grid_has_two_digits_and_is_the_largest(rate):
    found = rate_on_grid(rate)
    digits = len(str(found.denominator)) + 2
    whole = next(found * 10**place for place in range(digits + 20) if found * 10**place >= 10)
    assert whole.denominator == 1
    assert whole < 100
    assert found <= Fraction(rate) < found * (whole + 1) / whole


def test_a_rate_of_nothing_is_nothing():
    assert rate_on_grid(0.0) == 0


@given(st.sampled_from(("0.05", "0.3", "1", "3")), st.integers(1, 6))
def test_the_fewest_rows_are_the_first_that_may_appear(epsilon, c):
    least = fewest_rows(epsilon, c)
    assert keeps_privacy([least], [1], epsilon=epsilon, c=c)
    assert least == 1 or not keeps_privacy([least - 1], [1], epsilon=epsilon, c=c)


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
    st.sampled_from(("0.05", "0.3", "1", "3")),
    st.sampled_from(("0.001", "0.05", "0.25")),
    st.integers(1, 3),
    st.sampled_from(("exact", "published")),
)
def test_no_table_has_a_larger_safe_rate(counts, epsilon, delta, c, bound):
    found = sample_rate(counts, epsilon=epsilon, delta=delta, c=c, bound=bound).rate
    assert found <= largest_rate(epsilon=epsilon, delta=delta, c=c, bound=bound) * (1 + 1e-9)


def test_the_largest_rate_is_reached_by_large_tables():
    assert sample_rate([10**9], epsilon="0.3", delta="0.01").rate > 0.999 * largest_rate(epsilon="0.3", delta="0.01")
    with pytest.raises(ParameterError, match="1/4"):
        largest_rate(epsilon=1, delta="0.3")


def test_a_guarantee_without_a_rate_is_one_whose_rate_the_table_decides():
    found = SamplePrivacy(1, "0.5", "0.01")
    assert load_guarantee(found.to_saved()) == found
    assert found.implies(SamplePrivacy(1, 1, "0.01"))
    assert not found.implies(SamplePrivacy(1, 1, "0.01", "0.1"))
