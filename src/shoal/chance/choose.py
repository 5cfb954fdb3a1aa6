"""The exponential mechanism's choice: an index with probability proportional to the exponential of its score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.chance import exact
from shoal.chance.certified import Bounds, exp_bounds, ratio_bounds, settle
from shoal.chance.cuts import Cuts
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.chance.source import Source


def choices(source: Source, log_weights: Sequence[Fraction | int], size: int) -> NDArray[np.int64]:
    """`size` independent indices i with probability exp(w_i) / Σ exp(w_j), exactly.

    Indices with equal weights form a group. The group is drawn by cuts at the cumulative sums, largest weight first;
    its member uniformly. By the theorem of Lindemann and Weierstrass exponentials of distinct rationals have no
    linear relation, so a sum over some of the groups is never a rational part of the whole: every cut is irrational,
    and finitely many bits decide. (Without the groups, weights 0, 1, 0, 1 would have a cut at exactly one half.)
    """
    size = exact.whole(size, "the number of draws", 0)
    groups: dict[Fraction, list[int]] = {}
    for index, weight in enumerate(log_weights):
        groups.setdefault(exact.fraction(weight, "a score"), []).append(index)
    ranked = sorted(groups, reverse=True)
    sizes = [len(groups[weight]) for weight in ranked]
    return _drawn(source, ranked, sizes, lambda group: np.array(groups[ranked[group]], dtype=np.int64), size)


def scored(source: Source, scores: NDArray[np.int64], factor: Fraction | int, size: int) -> NDArray[np.int64]:
    """`choices` with the weights factor · score, for millions of whole scores: equal ones are grouped as arrays.

    The same bits give the same indices as `choices` of the list of all weights would.
    """
    size = exact.whole(size, "the number of draws", 0)
    each = exact.fraction(factor, "the factor of a score")
    if each < 0:
        raise ParameterError("the factor of a score is negative", came=each, allowed="0 and above")
    if each == 0:
        scores = np.zeros_like(scores)
    order = np.argsort(scores, kind="stable")
    different, starts, counts = np.unique(scores[order], return_index=True, return_counts=True)
    sizes, starts = counts[::-1].tolist(), starts[::-1]
    ranked = [each * score for score in different[::-1].tolist()]
    return _drawn(source, ranked, sizes, lambda at: order[starts[at] : starts[at] + sizes[at]], size)


def _drawn(
    source: Source, ranked: list[Fraction], sizes: list[int], members: Callable[[int], NDArray[np.int64]], size: int
) -> NDArray[np.int64]:
    """The draws, from the weights and sizes of the groups, largest weight first, and the indices of a group in order."""
    if not ranked:
        raise ParameterError("there is nothing to choose from", came="no scores", allowed="one score or more")
    chosen = _groups(ranked, sizes).draw(source, size)
    for group in np.unique(chosen).tolist():
        places = np.flatnonzero(chosen == group)
        # Written after it was compared, into places that no later group has.
        chosen[places] = -1 - members(group)[source.integers(sizes[group], len(places))]
    return -1 - chosen


def _groups(ranked: list[Fraction], sizes: list[int]) -> Cuts:
    """Cuts at the shares of the first group, the first two, …; the last, which is one, is left out."""
    known: dict[int, tuple[list[int], list[int]]] = {}

    def sums(bits: int) -> tuple[list[int], list[int]]:
        if bits not in known:
            bounds = [exp_bounds(ranked[0] - weight, bits) for weight in ranked]
            lower = accumulate(size * low for size, (low, _) in zip(sizes, bounds, strict=True))
            upper = accumulate(size * high for size, (_, high) in zip(sizes, bounds, strict=True))
            known[bits] = list(lower), list(upper)
        return known[bits]

    def cut(index: int, bits: int) -> Bounds:
        def bounds(more: int) -> Bounds:
            lower, upper = sums(more)
            return ratio_bounds((lower[index], upper[index]), (lower[-1], upper[-1]), more)

        return settle(bounds, bits)

    return Cuts(cut, len(ranked) - 1)
