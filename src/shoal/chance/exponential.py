"""The exponential mechanism's choice: an index with probability proportional to the exponential of its score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.chance import exact
from shoal.chance.enclosure import Bounds, exp_bounds, ratio_bounds, settle
from shoal.chance.unit_interval import Cuts
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


@dataclass(frozen=True)
class Listed:
    """Some indices and their scores: every index that scores at least `floor`. `others` indices score less."""

    indices: NDArray[np.int64]
    scores: NDArray[np.int64]
    others: int
    floor: int


def listed(source: Source, lists: Iterable[Listed], factor: Fraction) -> int:
    """One index as `scored` would draw it of all scores, from lists that need not hold them all; factor above 0.

    The same bits give the same index as `scored`, so the law is the same, whatever the lists are. `scored` draws a
    uniform number U and returns the first group, largest score first, whose cumulative share C_i/Z lies above U. The
    groups at or above the floor are complete, so their masses C_i are known; of the whole mass Z it is known that

        listed mass ≤ Z < listed mass + others · exp(factor · floor).

    So each share lies between two known numbers. Where both lie on the same side of U, for the shares on both sides of
    it, the group is the one that `scored` finds. Where they do not, the next list is taken, with the digits of U that
    were drawn already; more digits are drawn exactly where `scored` would draw them: when a share is known to lie in the
    step of the digits drawn so far. The last list holds all scores.
    """
    known, bits = int(source.words(1)[0]), 64
    for each in lists:
        order = np.argsort(each.scores, kind="stable")
        different, starts, counts = np.unique(each.scores[order], return_index=True, return_counts=True)
        sizes, starts = counts[::-1].tolist(), starts[::-1]
        ranked = [factor * score for score in different[::-1].tolist()]
        group: int | None
        if not each.others:
            group = _groups(ranked, sizes).decide(source, known, bits)
        else:
            group, known, bits = _undecided_or_group(
                source, ranked, sizes, each.others, factor * each.floor, known, bits
            )
        if group is not None:
            members = np.sort(each.indices[order[starts[group] : starts[group] + sizes[group]]])
            return int(members[int(source.integers(sizes[group], 1)[0])])
    raise ParameterError(
        "there is nothing to choose from", came="lists that end too soon", allowed="a list of all scores"
    )


SPARE = 128
"""More bits than the digits of U, so that the masses that are not listed are what is unknown, not rounding."""


def _undecided_or_group(
    source: Source, ranked: list[Fraction], sizes: list[int], others: int, floor: Fraction, known: int, bits: int
) -> tuple[int | None, int, int]:
    """The group that U falls into, or None where what is not listed could change it; and the digits of U so far."""
    while True:
        share = _shares(ranked, sizes, others, floor, bits)
        place = _not_passed(share, len(ranked), known)
        if place == len(ranked):
            return None, known, bits
        lower, upper = share(place)
        if lower > known:
            return place, known, bits
        if lower < known or upper > known + 1:
            return None, known, bits
        known, bits = known << 8 | source.bytes(1)[0], bits + 8


def _not_passed(share: Callable[[int], Bounds], count: int, known: int) -> int:
    """The first group whose share is not surely passed by these digits; `count` where all are."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle)[1] > known else (middle + 1, high)
    return low


def _shares(
    ranked: list[Fraction], sizes: list[int], others: int, floor: Fraction, bits: int
) -> Callable[[int], Bounds]:
    """Whole numbers around the share of the first groups, times 2^bits: at most its floor, at least its ceiling."""
    more = bits + SPARE
    bounds = [exp_bounds(ranked[0] - weight, more) for weight in ranked]
    lower = list(accumulate(size * low for size, (low, _) in zip(sizes, bounds, strict=True)))
    upper = list(accumulate(size * high for size, (_, high) in zip(sizes, bounds, strict=True)))
    total = lower[-1], upper[-1] + others * exp_bounds(ranked[0] - floor, more)[1]

    def share(at: int) -> Bounds:
        low, high = ratio_bounds((lower[at], upper[at]), total, more)
        return low >> SPARE, -(-high >> SPARE)

    return share


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
