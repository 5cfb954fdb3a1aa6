"""A draw from lists of the best scores is the draw from all scores: the same bits, the same index, the same bits used."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.chance.exponential import Listed, _groups, listed, scored
from shoal.chance.source import Source
from shoal.errors import ParameterError


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
            yield Listed(kept, scores[kept], len(scores) - len(kept), floor)
    yield Listed(np.arange(len(scores)), scores, 0, 0)


def without_others(each):
    """The impostor's list: what is not on it is forgotten."""
    return Listed(each.indices, each.scores, 0, each.floor)


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.lists(st.integers(-1, 41), max_size=4),
    st.sampled_from([Fraction(1, 7), Fraction(1), Fraction(5, 2)]),
)
def test_seeded_draws_are_the_same(scores, floors, factor):
    array, falling = np.array(scores, dtype=np.int64), sorted(floors, reverse=True)
    for seed in range(8):
        want = int(scored(Source.seeded(seed), array, factor, 1)[0])
        assert listed(Source.seeded(seed), lists(array, falling), factor) == want


def words_at_cuts(scores, factor):
    """The digits just below, at and just above each cut, where a wrong total shows first."""
    different, counts = np.unique(scores, return_counts=True)
    cuts = _groups([factor * int(each) for each in different[::-1]], counts[::-1].tolist())
    for index in range(len(different) - 1):
        at = cuts._cut(index, 64)[0]
        yield from (word for word in range(at - 2, at + 3) if 0 <= word < 1 << 64)


@pytest.mark.parametrize("factor", [Fraction(1, 5), Fraction(3, 2)])
@pytest.mark.parametrize("floors", [[9], [9, 5], [12, 11, 10, 9, 8, 7, 6, 5, 4]])
def test_the_cuts_lie_where_all_scores_put_them(factor, floors):
    scores = np.array([12, 3, 9, 9, 4, 7, 11, 12, 0, 5, 5, 8], dtype=np.int64)
    extended = 0
    for word in words_at_cuts(scores, factor):
        for tail in (bytes(20), bytes([255] * 20), bytes(range(7, 27))):
            plain, lazy = Given(word, tail), Given(word, tail)
            assert listed(lazy, lists(scores, floors), factor) == int(scored(plain, scores, factor, 1)[0])
            assert lazy.used == plain.used
            extended += plain.used > 0
    assert extended  # some words end inside a step, so that more digits were drawn


def test_far_lower_scores_leave_the_first_list_to_decide():
    # others weigh e^-200 of the best: even where more digits are drawn, the first list decides
    scores = np.array([1000, 999, 800, 790], dtype=np.int64)
    only = [Listed(np.array([0, 1]), scores[:2], 2, 801)]
    used = 0
    for word in words_at_cuts(scores[:2], Fraction(1)):
        plain, lazy = Given(word, bytes(range(40, 60))), Given(word, bytes(range(40, 60)))
        assert listed(lazy, only, Fraction(1)) == int(scored(plain, scores, Fraction(1), 1)[0])
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
            else [Listed(first.indices, first.scores, first.others, first.floor - 60), *lists(scores, [])]
        )
        want = int(scored(Given(word, bytes(20)), scores, factor, 1)[0])
        differ += listed(Given(word, bytes(20)), wrong, factor) != want
    assert differ


def test_lists_that_end_before_they_decide_are_refused():
    scores = np.array([3, 2, 1], dtype=np.int64)
    with pytest.raises(ParameterError, match="nothing to choose from"):
        listed(Given((1 << 64) - 1, b""), [Listed(np.array([0]), scores[:1], 2, 3)], Fraction(1))
