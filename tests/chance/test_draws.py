"""Exact draws: types, ranges, refusals, rejected words, choices from partial scores; distributions are in tests/statistical."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.chance import draws
from shoal.chance.draws import (
    LARGEST,
    PartialScores,
    _digits,
    _groups,
    choice_from_partial_scores,
    choices_by_score,
    choose_each_by_score,
    permutation,
)
from shoal.chance.source import Source
from shoal.errors import ParameterError


class Scripted(Source):
    """A source whose bytes are given in advance."""

    __slots__ = ("left",)

    def __init__(self, script):
        self.left = script

    def bytes(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        return taken + bytes(count - len(taken))


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 255, 256, 257, 1 << 16, (1 << 32) - 1, 1 << 63, (1 << 64) - 1, 1 << 64])
def test_numbers_are_in_range(bound):
    drawn = Source.seeded(1).integers(bound, 1000)
    assert drawn.dtype == (np.int64 if bound <= 1 << 63 else np.uint64)
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < bound
    assert int(drawn.max()) >= (bound - 1) // 2


@pytest.mark.parametrize("bound", [(1 << 64) + 1, 10**30, 1 << 200])
def test_beyond_64_bits_numbers_are_pythons_own(bound):
    drawn = Source.seeded(2).integers(bound, 300)
    assert drawn.dtype == object
    assert all(0 <= number < bound for number in drawn)
    assert max(drawn) > bound * 9 // 10
    assert min(drawn) < bound // 10
    assert len(set(drawn)) == 300


def test_what_falls_outside_is_drawn_again():
    assert Scripted(bytes([7, 6, 5, 0xF8 + 4, 3])).integers(5, 2).tolist() == [4, 3]
    large = (1 << 64) + 1
    script = b"\xff" * 9 + (5 << 7).to_bytes(9, "big")
    assert Scripted(script).integers(large, 1).tolist() == [5]


def test_small_bounds_visit_everything():
    assert set(Source.seeded(3).integers(5, 500).tolist()) == {0, 1, 2, 3, 4}
    assert Source.seeded(3).integers(1, 4).tolist() == [0, 0, 0, 0]
    assert Source.seeded(3).integers(9, 0).tolist() == []


@pytest.mark.parametrize("bound", [0, -3, 2.0, True, None])
def test_a_bound_is_a_whole_number_from_one(bound):
    with pytest.raises(
        ParameterError, match=r"the bound of a random integer .*; got .*; allowed: a whole number from 1"
    ):
        Source.seeded(1).integers(bound, 1)


def test_a_size_is_not_negative():
    with pytest.raises(ParameterError, match="the number of draws is out of range; got -1; allowed"):
        Source.seeded(1).integers(5, -1)


@given(st.integers(0, 200), st.integers())
def test_a_permutation_has_everything_once(count, seed):
    assert sorted(Source.seeded(seed).permutation(count).tolist()) == list(range(count))


@pytest.mark.slow
@given(st.lists(st.integers(-3, 3) | st.integers(), max_size=60), st.integers())
def test_a_shuffle_stays_inside_its_groups(groups, seed):
    labels = np.array(groups, dtype=object if any(abs(label) > 1 << 62 for label in groups) else np.int64)
    order = Source.seeded(seed).shuffle_within(labels)
    assert sorted(order.tolist()) == list(range(len(groups)))
    assert labels[order].tolist() == groups


def test_labels_may_be_text():
    labels = np.array(["b", "a", "b", "a"])
    assert labels[Source.seeded(1).shuffle_within(labels)].tolist() == ["b", "a", "b", "a"]


def test_one_group_is_a_permutation_and_many_are_none():
    assert Source.seeded(2).shuffle_within(np.zeros(50)).tolist() != list(range(50))
    assert Source.seeded(2).shuffle_within(np.arange(50)).tolist() == list(range(50))


def test_equal_words_are_thrown_away():
    class Tied:
        drawn = 0

        def words(self, count):
            self.drawn += 1
            return np.array([5, 9, 5] if self.drawn < 3 else [7, 9, 5], dtype=np.uint64)

    source = Tied()
    assert permutation(source, 3).tolist() == [2, 0, 1]  # type: ignore[arg-type]
    assert source.drawn == 3


def test_wrong_requests_are_refused():
    with pytest.raises(ParameterError, match="the number of places is out of range; got -1; allowed"):
        Source.seeded(1).permutation(-1)
    with pytest.raises(ParameterError, match=r"groups are not a list; got shape \(1, 2\); allowed"):
        Source.seeded(1).shuffle_within([[1, 2]])


def test_certain_coins():
    source = Source.seeded(1)
    assert source.bernoulli(1, 50).all()
    assert not source.bernoulli(0, 50).any()
    assert source.bernoulli_exp(0, 50).all()
    assert not source.bernoulli_exp(10**6, 50).any()
    assert source.bernoulli(Fraction(1, 2), 50).dtype == np.bool_


def test_a_tiny_scale_is_nearly_always_zero():
    assert not Source.seeded(2).discrete_laplace(Fraction(1, 10**6), 1000).any()


@pytest.mark.parametrize("sigma", [Fraction(3, 10), Fraction("1.7"), Fraction("22.355"), Fraction(10**5)], ids=str)
def test_what_is_proposed_and_kept_has_the_exact_law(sigma):
    """Exponents of proposal and acceptance against that of the law, as fractions: they differ by one constant."""
    scale = sigma.numerator // sigma.denominator + 1
    differences = set()
    for y in (*range(-50, 51), 10**7):
        gamma = (abs(y) - sigma**2 / scale) ** 2 / (2 * sigma**2)
        differences.add(Fraction(abs(y), scale) + gamma - Fraction(y**2) / (2 * sigma**2))
    assert differences == {sigma**2 / (2 * scale**2)}


@pytest.mark.parametrize("sigma", [Fraction(3, 10), Fraction("2.9"), Fraction(4000)], ids=str)
def test_whole_numbers_decide_as_the_doubles_do(sigma, monkeypatch):
    fast = Source.seeded(9).discrete_gaussian(sigma, 2000)
    asked = []
    coin = draws._exponential_coin
    monkeypatch.setattr(draws, "_exponential_coin", lambda gamma: asked.append(gamma) or coin(gamma))
    assert Source.seeded(9).discrete_gaussian(sigma, 2000).tolist() == fast.tolist()
    assert not asked
    monkeypatch.setattr(draws, "FLOAT_ERROR", 1e9)
    assert Source.seeded(9).discrete_gaussian(sigma, 2000).tolist() == fast.tolist()
    assert len(asked) > 2000


def test_doubles_that_lie_are_noticed(monkeypatch):
    """An impostor: exponentials a little too large change what is kept where whole numbers are not asked."""
    right = Source.seeded(9).discrete_gaussian(3, 5000)
    exp = np.exp
    monkeypatch.setattr(draws.np, "exp", lambda x: exp(x) * 1.02)
    assert Source.seeded(9).discrete_gaussian(3, 5000).tolist() != right.tolist()
    monkeypatch.setattr(draws, "FLOAT_ERROR", 0.1)
    assert Source.seeded(9).discrete_gaussian(3, 5000).tolist() == right.tolist()


def test_digits_are_as_many_as_the_scale_needs():
    places = {1: 1, 16: 1, 17: 2, 4096: 2, 4097: 3, LARGEST: 7}
    assert {scale: len(_digits(Fraction(scale))) for scale in places} == places


def test_a_tiny_sigma_is_always_zero_and_the_largest_fits():
    assert not Source.seeded(2).discrete_gaussian(Fraction(1, 1000), 1000).any()
    drawn = Source.seeded(3).discrete_gaussian(LARGEST, 2000)
    assert LARGEST / 2 < np.abs(drawn).mean() < LARGEST


def test_the_largest_scale_fits():
    drawn = Source.seeded(3).discrete_laplace(LARGEST, 2000)
    assert drawn.dtype == np.int64
    assert LARGEST / 2 < np.abs(drawn).mean() < 2 * LARGEST


@pytest.mark.parametrize("size", [0, 1, (1 << 17) + 1])
def test_sizes(size):
    source = Source.seeded(4)
    assert source.geometric(3, size).shape == source.discrete_laplace(3, size).shape == (size,)
    assert source.discrete_gaussian(3, size).shape == (size,)
    assert source.choices([1, 2], size).shape == source.bernoulli(Fraction(1, 3), size).shape == (size,)


def test_a_choice_of_one_and_of_equals():
    source = Source.seeded(5)
    assert source.choose([Fraction(-5)]) == 0
    assert set(source.choices([3, 3, 3], 200).tolist()) == {0, 1, 2}


def test_scores_may_be_far_apart_and_come_from_numpy():
    source = Source.seeded(6)
    assert set(source.choices(np.array([0, 10**9, 10**9 - 10**6]), 100).tolist()) == {1}  # type: ignore[arg-type]


def test_scores_count_by_their_differences_alone():
    low, high = ([Fraction(score) + shift for score in (0, 1, 3)] for shift in (-(10**6), 10**6))
    assert Source.seeded(7).choices(low, 50).tolist() == Source.seeded(7).choices(high, 50).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.bernoulli(Fraction(3, 2), 1), "the probability of a coin is not a probability; got 3/2; allowed"),
        (lambda s: s.bernoulli(0.5, 1), r"the probability of a coin is not exact; got 0\.5; allowed"),
        (lambda s: s.bernoulli(1, -1), "the number of draws is out of range; got -1; allowed"),
        (lambda s: s.bernoulli_exp(-1, 1), "the exponent of a coin is negative; got -1; allowed"),
        (lambda s: s.bernoulli_exp(1, 1.0), "the number of draws is not a whole number"),
        (lambda s: s.geometric(0, 1), "the scale of the noise is out of range; got 0; allowed: above 0"),
        (lambda s: s.geometric(True, 1), "the scale of the noise is not exact; got True; allowed"),
        (lambda s: s.discrete_laplace(LARGEST + 1, 1), r"out of range; got .*; allowed: above 0, at most 2\^50"),
        (lambda s: s.discrete_laplace(1.0, 1), r"not exact; got 1\.0; .*; write Fraction\('0\.1'\)"),
        (lambda s: s.discrete_gaussian(Fraction(1, 1001), 1), "sigma is out of range; got 1/1001; allowed: from"),
        (lambda s: s.discrete_gaussian(LARGEST + 1, 1), "sigma is out of range"),
        (lambda s: s.discrete_gaussian(0.5, 1), r"sigma is not exact; got 0\.5; allowed"),
        (lambda s: s.discrete_gaussian(1, -1), "the number of draws is out of range; got -1; allowed"),
        (lambda s: s.choose([]), "there is nothing to choose from; got no scores; allowed: one score or more"),
        (lambda s: s.choose([1, 0.5]), r"a score is not exact; got 0\.5; allowed"),
    ],
)
def test_wrong_numbers_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call(Source.seeded(1))


class Given:
    """Bits that are given, and how many were used."""

    def __init__(self, word: int, tail: bytes) -> None:
        self.word, self.tail, self.used = word, tail, 0

    def words(self, count):
        assert count == 1
        return np.array([self.word], dtype=np.uint64)

    def bytes(self, count):
        assert count == 1
        self.used += 1
        return self.tail[self.used - 1 : self.used]

    def integers(self, bound, size):
        return np.full(size, (self.word >> 3) % bound)


def lists(scores, floors):
    """What scores at least each floor, and at last all."""
    for floor in floors:
        kept = np.flatnonzero(scores >= floor)
        if len(kept):
            yield PartialScores(kept, scores[kept], len(scores) - len(kept), floor)
    yield PartialScores(np.arange(len(scores)), scores, 0, 0)


def without_others(each):
    """The impostor's list: what is not on it is forgotten."""
    return PartialScores(each.indices, each.scores, 0, each.floor)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.lists(st.integers(-1, 41), max_size=4),
    st.sampled_from([Fraction(1, 7), Fraction(1), Fraction(5, 2)]),
)
def test_seeded_draws_are_the_same(scores, floors, factor):
    array, falling = np.array(scores, dtype=np.int64), sorted(floors, reverse=True)
    for seed in range(8):
        want = int(choices_by_score(Source.seeded(seed), array, factor, 1)[0])
        assert choice_from_partial_scores(Source.seeded(seed), lists(array, falling), factor) == want


def words_at_cuts(scores, factor):
    """The digits just below, at and just above each cut, where a wrong total shows first."""
    different, counts = np.unique(scores, return_counts=True)
    cuts = _groups([factor * int(each) for each in different[::-1]], counts[::-1].tolist())
    for index in range(len(different) - 1):
        at = cuts._cut(index, 64)[0]
        yield from (word for word in range(at - 2, at + 3) if 0 <= word < 1 << 64)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [Fraction(1, 5), Fraction(3, 2)])
@pytest.mark.parametrize("floors", [[9], [9, 5], [12, 11, 10, 9, 8, 7, 6, 5, 4]])
def test_the_cuts_lie_where_all_scores_put_them(factor, floors):
    scores = np.array([12, 3, 9, 9, 4, 7, 11, 12, 0, 5, 5, 8], dtype=np.int64)
    extended = 0
    for word in words_at_cuts(scores, factor):
        for tail in (bytes(20), bytes([255] * 20), bytes(range(7, 27))):
            plain, lazy = Given(word, tail), Given(word, tail)
            assert choice_from_partial_scores(lazy, lists(scores, floors), factor) == int(
                choices_by_score(plain, scores, factor, 1)[0]
            )
            assert lazy.used == plain.used
            extended += plain.used > 0
    assert extended  # some words end inside a step, so that more digits were drawn


def test_far_lower_scores_leave_the_first_list_to_decide():
    # others weigh e^-200 of the best: even where more digits are drawn, the first list decides
    scores = np.array([1000, 999, 800, 790], dtype=np.int64)
    only = [PartialScores(np.array([0, 1]), scores[:2], 2, 801)]
    used = 0
    for word in words_at_cuts(scores[:2], Fraction(1)):
        plain, lazy = Given(word, bytes(range(40, 60))), Given(word, bytes(range(40, 60)))
        assert choice_from_partial_scores(lazy, only, Fraction(1)) == int(
            choices_by_score(plain, scores, Fraction(1), 1)[0]
        )
        used += lazy.used == plain.used > 0
    assert used


@pytest.mark.parametrize("impostor", ["forgets", "halves"])
def test_a_draw_that_forgets_what_is_not_listed_is_noticed(impostor):
    # the negative control: another whole mass moves the cuts, and words beside them are decided otherwise
    scores = np.array([12, 3, 9, 9, 4, 7, 11, 12, 0, 5, 5, 8], dtype=np.int64)
    factor, differ = Fraction(1, 5), 0
    for word in words_at_cuts(scores, factor):
        first = next(lists(scores, [9]))
        wrong = (
            [without_others(first)]
            if impostor == "forgets"
            else [PartialScores(first.indices, first.scores, first.others, first.floor - 60), *lists(scores, [])]
        )
        want = int(choices_by_score(Given(word, bytes(20)), scores, factor, 1)[0])
        differ += choice_from_partial_scores(Given(word, bytes(20)), wrong, factor) != want
    assert differ


def test_lists_that_end_before_they_decide_are_refused():
    scores = np.array([3, 2, 1], dtype=np.int64)
    with pytest.raises(ParameterError, match="nothing to choose from"):
        choice_from_partial_scores(
            Given((1 << 64) - 1, b""), [PartialScores(np.array([0]), scores[:1], 2, 3)], Fraction(1)
        )


# --- one choice for each row of scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [Fraction(0), Fraction(1, 5), Fraction(3, 2), Fraction(400)])
def test_a_row_of_scores_is_drawn_from_as_scores_alone_are(factor):
    scores = np.array([12, 3, 9, 9, 4, 7, 11, 12, 0, 5, 5, 8], dtype=np.int64)
    for seed in range(40):
        want = choices_by_score(Source.seeded(seed), scores, factor, 1)
        assert choose_each_by_score(Source.seeded(seed), scores[None, :], factor).tolist() == want.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("factor", [Fraction(1, 5), Fraction(3, 2)])
def test_words_beside_a_cut_are_decided_by_whole_numbers(factor):
    scores = np.array([12, 3, 9, 9, 4, 7, 11, 12, 0, 5, 5, 8], dtype=np.int64)
    for word in words_at_cuts(scores, factor):
        for tail in (bytes(20), bytes([255] * 20), bytes(range(7, 27))):
            plain, rows = Given(word, tail), Given(word, tail)
            want = int(choices_by_score(plain, scores, factor, 1)[0])
            assert choose_each_by_score(rows, scores[None, :], factor).tolist() == [want]
            assert rows.used == plain.used


def test_rows_of_scores_have_their_own_frequencies():
    scores = np.repeat([[0, 1, 1], [5, 0, 0], [3, 3, 3]], 20_000, axis=0).astype(np.int64)
    drawn = choose_each_by_score(Source.seeded(3), scores, Fraction(1))
    shares = [np.bincount(part, minlength=3) / 20_000 for part in np.split(drawn, 3)]
    weights = np.exp([[0, 1, 1], [5, 0, 0], [3, 3, 3]])
    assert np.abs(shares - weights / weights.sum(axis=1, keepdims=True)).max() < 0.015


@pytest.mark.parametrize(("shape", "factor"), [((2, 0), Fraction(1)), ((2, 3), Fraction(-1)), ((2, 3), 0.5)])
def test_rows_of_scores_refuse_what_is_no_choice(shape, factor):
    with pytest.raises(ParameterError):
        choose_each_by_score(Source.seeded(1), np.zeros(shape, dtype=np.int64), factor)
