"""The draw has exactly its law, the law keeps its epsilon, and with the sample it keeps the whole promise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.private_scheme import PrivateScheme, choose_scheme, schemes_near_best
from shoal.anonymize.generalize.scores import Discernibility, Ramp, Records, Target
from shoal.chance.draws import choices_by_score as scored_draws
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Counts
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.safe_k.curve import delta_tight
from shoal.policy.policy import Policy
from tests.anonymize.generalize.tiny import (
    attribute,
    chances,
    counted,
    hockey_stick,
    index_of,
    joint,
    levels_of,
    log_weights,
)
from tests.engine.oracle import engine_named
from tests.gate import ROOT
from tests.statistical.fit import fits

CITY, SEX = attribute("city", "abcd", "xxyy"), attribute("sex", "fm")
LATTICE = Lattice.of([CITY, SEX])
WITH_TARGET = Lattice.of([CITY, SEX], coarsest={"sex": 0})
HALF = Fraction(1, 2)

rows = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.sampled_from("fm")), max_size=25)
record = st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.sampled_from("fm"))


def scores_of(k, beta):
    yield from ((score(k, beta), LATTICE) for score in (Ramp, Records, Discernibility))
    yield Target(k, beta, "sex"), WITH_TARGET


def scored(score, lattice, table):
    return score.of_all(lattice, counted(lattice.names, table))


# --- the choice alone -------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=40)
@given(rows, record, st.sampled_from([(1, HALF), (2, Fraction(9, 10)), (3, Fraction(2, 5))]), st.sampled_from([1, 5]))
def test_the_choice_keeps_its_epsilon_in_both_directions(table, extra, setting, epsilon):
    for score, lattice in scores_of(*setting):
        spread = score.spread(lattice)
        with_it = chances(scored(score, lattice, [*table, extra]), epsilon, spread)
        without = chances(scored(score, lattice, table), epsilon, spread)
        for one, other in zip(with_it, without, strict=True):
            assert math.exp(-epsilon) * (1 - 1e-12) <= one / other <= math.exp(epsilon) * (1 + 1e-12)


def test_a_spread_that_is_too_small_is_noticed():
    # the negative control: half the spread of the ramp breaks the same bound
    score, table = Ramp(3, HALF), [("a", "f")] * 4
    spread = score.spread(LATTICE) / 2
    one = chances(scored(score, LATTICE, [*table, ("a", "f")]), 3, spread)
    other = chances(scored(score, LATTICE, table), 3, spread)
    assert max(max(a / b, b / a) for a, b in zip(one, other, strict=True)) > math.exp(3)


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(7)])
)
def test_scores_are_drawn_by_as_their_weights_one_by_one_would_be(scores, factor):
    # the same bits give the same indices, so the two laws are one law
    array = np.array(scores, dtype=np.int64)
    one_by_one = Source.seeded("bits").choices([factor * score for score in scores], 40)
    assert scored_draws(Source.seeded("bits"), array, factor, 40).tolist() == one_by_one.tolist()


def test_a_score_that_counts_against_a_scheme_is_refused():
    with pytest.raises(ParameterError, match="negative"):
        Source.seeded(1).choose_by_score(np.array([1, 2]), Fraction(-1))
    with pytest.raises(ParameterError, match="nothing to choose from"):
        Source.seeded(1).choose_by_score(np.array([], dtype=np.int64), Fraction(1))


@pytest.mark.slow
def test_the_draw_follows_the_law():
    table = [("a", "f")] * 9 + [("b", "m")] * 6 + [("c", "f")] * 2
    score, epsilon = Ramp(2, HALF), Fraction(2)
    found = scored(score, LATTICE, table)
    law = chances(found, epsilon, score.spread(LATTICE))
    source, counts = Source.seeded("the law of a choice"), counted(LATTICE.names, table)
    drawn = [index_of(LATTICE, choose_scheme(LATTICE, counts, score, epsilon, source)) for _ in range(3000)]
    assert fits(drawn, law)
    assert not fits(drawn, chances(found, Fraction(3, 2), score.spread(LATTICE)))
    assert not fits(drawn, chances(found, Fraction(5, 2), score.spread(LATTICE)))


def test_the_best_scheme_wins_when_much_is_paid():
    table = [(city, sex) for city, sex in product("abcd", "fm") for _ in range(20)]
    counts = counted(LATTICE.names, table)
    for score in (Ramp(3, HALF), Records(3, HALF)):
        assert choose_scheme(LATTICE, counts, score, 600, Source.seeded(1)) == {"city": 0, "sex": 0}
        assert choose_scheme(LATTICE, counts, type(score)(90, HALF), 600, Source.seeded(1)) != {"city": 0, "sex": 0}


@pytest.mark.slow
def test_rows_in_another_order_and_other_threads_draw_the_same():
    table = [("a", "f")] * 5 + [("b", "m")] * 4 + [(None, "f")] * 3 + [("d", "m")]
    counts = counted(LATTICE.names, table)
    order = np.array([3, 0, 2, 1])
    mixed = Counts(counts.columns, counts.values, tuple(c[order] for c in counts.codes), counts.counts[order])
    for score, lattice in scores_of(2, HALF):
        drawn = [
            choose_scheme(lattice, each, score, 1, Source.seeded(seed), threads=threads)
            for seed in range(10)
            for each in (counts, mixed)
            for threads in (1, 2)
        ]
        assert all(drawn[at : at + 4] == [drawn[at]] * 4 for at in range(0, 40, 4))
        assert len({tuple(scheme.values()) for scheme in drawn}) > 1


def test_an_empty_table_draws_uniformly():
    for score, lattice in scores_of(2, HALF):
        weights = log_weights(scored(score, lattice, []), Fraction(1), score.spread(lattice))
        assert weights == [0] * len(lattice)
        assert choose_scheme(lattice, counted(lattice.names, []), score, 1, Source.seeded(2)).keys() == {"city", "sex"}


def test_where_no_scheme_keeps_any_detail_the_draw_is_uniform():
    bare = Lattice.of([CITY, SEX], finest={"city": 2}, weights={"sex": 0})
    score = Ramp(2, HALF)
    assert score.spread(bare) == 0
    assert log_weights(scored(score, bare, [("a", "f")] * 9), Fraction(1), score.spread(bare)) == [0, 0]


@pytest.mark.parametrize(("epsilon", "words"), [(0, "costs nothing"), (-1, "costs nothing"), (0.1, "not exact")])
def test_a_price_is_above_zero_and_exact(epsilon, words):
    with pytest.raises(ParameterError, match=words):
        choose_scheme(LATTICE, counted(LATTICE.names, []), Ramp(2, HALF), epsilon, Source.seeded(1))


# --- the choice and the sample together -------------------------------------------------------------------------

TABLES = [
    [("a", "f")] * 4 + [("b", "f")] * 2,
    [("a", "f")] * 3 + [("c", "m")] * 3,
    [("a", "f"), ("b", "m"), ("c", "f"), ("d", "m"), ("a", "f"), ("a", "m")],
]
EXTRA = [("a", "f"), ("b", "m"), (None, "f")]


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("k", "beta"), [(2, Fraction(3, 10)), (3, Fraction(3, 10)), (2, Fraction(7, 10))])
def test_scheme_and_published_table_together_keep_the_promise(table, k, beta):
    """Theorem `eps-safe-recoding` by exact enumeration: (eps1 + eps2, delta*(k, beta, eps2)), add and remove."""
    epsilon_1 = 1
    for score, lattice in scores_of(k, beta):
        without = joint(lattice, table, score, epsilon_1)
        assert math.fsum(without.values()) == pytest.approx(1)
        for extra in EXTRA:
            with_it = joint(lattice, [*table, extra], score, epsilon_1)
            for epsilon_2 in (0.0, 0.3, 1.0):
                allowed = delta_tight(k, beta, epsilon_2) * (1 + 1e-9) + 1e-15
                assert hockey_stick(with_it, without, epsilon_1 + epsilon_2) <= allowed
                assert hockey_stick(without, with_it, epsilon_1 + epsilon_2) <= allowed


def test_without_paying_for_the_choice_the_promise_breaks():
    # the negative control of the test above: the same laws, held against epsilon_2 alone
    score, table = Ramp(2, Fraction(3, 10)), [("a", "f")] * 4 + [("c", "m")] * 2
    with_it, without = (joint(LATTICE, each, score, 3) for each in ([*table, ("a", "f")], table))
    over = max(hockey_stick(with_it, without, 0.3), hockey_stick(without, with_it, 0.3))
    assert over > 2 * delta_tight(2, Fraction(3, 10), 0.3)


@pytest.mark.slow
def test_a_choice_on_the_published_sample_breaks_the_promise():
    """Theory 1.3, k = 3, beta = .3, epsilon_1 = 1: at least .086 where .027 was claimed, at every epsilon.

    One person t, and for each of G recodings two people of its own who share a class with t under that recoding
    alone; its score is how many of them were sampled. What is exposed: t was sampled, and the recoding chosen had both
    its people sampled. By symmetry one recoding's share times G; the others are drawn, the choice is exact.
    """
    beta, k, many = Fraction(3, 10), 3, 400
    claimed = delta_tight(k, beta, 1.0)
    assert claimed == pytest.approx(0.027)

    def exposed(recodings: int, on_sample: bool) -> float:
        p = float(beta)
        if not on_sample:  # all scores are equal on the full table: uniform, and independent of the sample
            return p**3
        weights = np.array([1.0, math.e, math.e**2])
        law = np.array([(1 - p) ** 2, 2 * p * (1 - p), p**2])
        source = Source.seeded("own people")
        others = np.stack([source.bernoulli(beta, 20_000 * (recodings - 1)).reshape(20_000, -1) for _ in range(2)])
        rest = weights[others.sum(axis=0)].sum(axis=1) if recodings > 1 else np.zeros(1)
        return p * recodings * law[2] * float((weights[2] / (weights[2] + rest)).mean())

    assert exposed(many, on_sample=False) <= claimed * (1 + 1e-9)
    assert exposed(many, on_sample=True) == pytest.approx(0.0869, abs=0.001)


def test_our_own_choice_on_the_published_sample_exceeds_delta():
    # the same score, lattice and price: on the full table the promise holds, on the sample it does not
    score, table, extra = Records(2, Fraction(7, 10)), [("a", "f"), ("b", "m")], ("b", "f")
    claimed = delta_tight(2, Fraction(7, 10), 0.0)
    for same_sample, broken in ((False, False), (True, True)):
        laws = [joint(LATTICE, each, score, 4, same_sample=same_sample) for each in ([*table, extra], table)]
        found = max(hockey_stick(*laws, 4.0), hockey_stick(*laws[::-1], 4.0))
        assert (found > claimed * 1.05) == broken
        assert broken or found <= claimed * (1 + 1e-9)


# --- a real table -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["duckdb", "oracle"])
def test_scores_of_adult_are_those_of_the_recoded_table(name, shared_data):
    schema = Policy.load(ROOT / "examples" / "adult" / "policy.yaml").schema
    table = engine_named(name).scan(shared_data / "adult" / "adult.csv", Schema(schema.quasi))
    lattice = Lattice.of(schema.quasi)
    assert len(lattice) == 6480
    score = Ramp(107, Fraction(17, 20))
    scores = score.of_all(lattice, table.count_by(lattice.names))
    for index in (0, 977, 3111, int(scores.argmax()), 6479):
        sizes = table.recode(levels_of(lattice, index)).count_by(lattice.names).counts
        assert scores[index] == score.of_scheme(sizes, None) * lattice.detail[index]


def test_a_choice_among_very_many_says_so_before_any_row_is_read():
    columns = [attribute(f"c{number}", "abcd", "xxyy") for number in range(11)]
    most = PrivateScheme(Schema(tuple(columns)), Fraction(1), 2, HALF)
    assert most.work().startswith("one of 177,147 combinations of levels will be drawn on the table, after the charge")
    assert "c0 (3 levels), c1 (3 levels), c2 (3 levels)" in most.work()
    assert PrivateScheme(Schema(tuple(columns[:10])), Fraction(1), 2, HALF).work() is None


# --- only schemes near the best are scored -----------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=25)
@given(rows, st.sampled_from([(1, HALF), (2, Fraction(9, 10))]), st.sampled_from([1, 40]), st.integers(0, 1000))
def test_a_choice_that_scores_few_schemes_is_the_choice_that_scores_all(table, setting, epsilon, seed):
    counts = counted(LATTICE.names, table)
    for score in (Ramp(*setting), Records(*setting)):
        want = choose_scheme(LATTICE, counts, score, epsilon, Source.seeded(seed))
        assert choose_scheme(LATTICE, counts, score, epsilon, Source.seeded(seed), few=1) == want
        factor = Fraction(epsilon) / score.spread(LATTICE)
        for nats in (1, 3):
            lists = schemes_near_best(LATTICE, counts, score, factor, nats=nats)
            assert LATTICE.scheme(Source.seeded(seed).choose_from_partial_scores(lists, factor)) == want


def test_schemes_that_cannot_be_drawn_are_not_scored():
    table = [(city, sex) for city, sex in product("abcd", "fm") for _ in range(200)]
    score, counts = Ramp(3, HALF), counted(LATTICE.names, table)
    first = next(schemes_near_best(LATTICE, counts, score, Fraction(1) / score.spread(LATTICE), nats=30))
    assert 0 < len(first.indices) < len(LATTICE)
    assert first.others == len(LATTICE) - len(first.indices)


def test_a_score_without_a_bound_is_scored_in_full():
    table = [("a", "f")] * 9 + [("b", "m")] * 6
    for score, lattice in ((Discernibility(2, HALF), LATTICE), (Target(2, HALF, "sex"), WITH_TARGET)):
        counts = counted(lattice.names, table)
        drawn = [choose_scheme(lattice, counts, score, 1, Source.seeded(7), few=few) for few in (1, 10**6)]
        assert drawn[0] == drawn[1]
        with pytest.raises(UsageError, match="without a proved bound"):
            next(schemes_near_best(lattice, counts, score, Fraction(10**6)))
