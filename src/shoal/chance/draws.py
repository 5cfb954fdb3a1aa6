"""Exact draws from each distribution: uniform integers, permutations, coins, geometric, Laplace, Gaussian, exponential mechanism.

Every function takes a `Source` and gives numbers that have exactly the stated distribution. Floats decide nothing: where one
takes part, what it leaves within its error is decided by whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance import exact
from shoal.chance.exact import Bounds, InversionSampler, exp_bounds, fraction_bounds, ratio_bounds, settle
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.chance.source import Source


# --- uniform ---------------------------------------------------------------------------------------------------------


def integers(source: Source, bound: int, size: int) -> NDArray[Any]:
    """`size` independent uniform numbers from 0 to bound − 1; int64, or uint64, or object where they do not fit.

    With b the bits of bound − 1, a draw of b bits is uniform on 2^b values, of which the first `bound` are taken as
    they are and the others thrown away; so each is taken with probability 2^-b, the same for all. At least half of
    the draws are taken. Reducing modulo the bound would favour small numbers instead.
    """
    bound = exact.whole(bound, "the bound of a random integer", 1)
    size = exact.whole(size, "the number of draws", 0)
    bits = (bound - 1).bit_length()
    if bits > 64:
        return _large(source, bound, size)
    taken = np.zeros(size, dtype=np.int64 if bits < 64 else np.uint64)
    if bits:
        _fill(source, bound, bits, taken)
    return taken


def _fill(source: Source, bound: int, bits: int, taken: NDArray[Any]) -> None:
    """Draw words of 1, 2, 4 or 8 bytes, as short as will do, until enough are below the bound."""
    width = next(width for width in (1, 2, 4, 8) if bits <= 8 * width)
    mask, last = (1 << bits) - 1, bound - 1
    done = 0
    while done < len(taken):
        missing = len(taken) - done
        draws = min(missing * (mask + 1) // bound + missing // 64 + 8, 1 << 20)
        words = np.frombuffer(source.bytes(draws * width), dtype=f"<u{width}")
        words = words & words.dtype.type(mask)
        good = words[words <= last][:missing]
        taken[done : done + len(good)] = good
        done += len(good)


def _large(source: Source, bound: int, size: int) -> NDArray[Any]:
    """Uniform numbers for a bound beyond 64 bits, one at a time, as Python's own integers."""
    bits = (bound - 1).bit_length()
    length, surplus = (bits + 7) // 8, -bits % 8
    taken = np.empty(size, dtype=object)
    for place in range(size):
        number = bound
        while number >= bound:
            number = int.from_bytes(source.bytes(length), "big") >> surplus
        taken[place] = number
    return taken


# --- permutations ----------------------------------------------------------------------------------------------------

Order = NDArray[np.int64]


def permutation(source: Source, count: int) -> Order:
    """A uniform permutation of 0, …, count − 1.

    Give each place an independent 64-bit word and sort by the words; if two are equal, throw all away and draw again.
    Proof that no order is favoured: exchanging the words of two places leaves their joint distribution as it was, and turns
    equal words into equal words; so given that all differ, each of the count! orders has the same probability.
    The chance of drawing again is below count² / 2^65: 3e-8 for a million places.
    """
    count = exact.whole(count, "the number of places", 0)
    while True:
        words = source.words(count)
        order = np.argsort(words)
        ranked = words[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order.astype(np.int64, copy=False)


def shuffle_within(source: Source, groups: ArrayLike) -> Order:
    """Where each place takes its value from, so that `values[order]` is shuffled inside each group and nowhere else.

    Places are put into a uniform order, which is then sorted by group without disturbing it: inside each group it is
    uniform, and independent of the other groups, since a uniform order of everything is. The members of a group, in
    their old order, then take the values of its members in the new one.
    """
    labels = np.asarray(groups)
    if labels.ndim != 1:
        raise ParameterError("groups are not a list", came=f"shape {labels.shape}", allowed="one label for each place")
    mixed = permutation(source, len(labels))
    taken = mixed[np.argsort(labels[mixed], kind="stable")]
    order = np.empty(len(labels), dtype=np.int64)
    order[np.argsort(labels, kind="stable")] = taken
    return order


# --- coins, geometric, Laplace and Gaussian noise on the integers ---------------------------------------------------------

BASE = 256
"""The base in which a geometric number is written; each digit is drawn from a table of this length."""
LARGEST = 1 << 50
"""The largest scale: a draw overflows int64 with probability below 2^-10000."""


def bernoulli(source: Source, probability: Fraction | int, size: int) -> NDArray[np.bool_]:
    """`size` independent coins, True with exactly this probability."""
    chance = exact.probability(probability, "the probability of a coin")
    size = exact.whole(size, "the number of draws", 0)
    if chance == 0:
        return np.zeros(size, dtype=np.bool_)
    return np.equal(_coin(chance).draw(source, size), 0)


def bernoulli_exp(source: Source, gamma: Fraction | int, size: int) -> NDArray[np.bool_]:
    """`size` independent coins, True with probability exactly exp(−gamma), for gamma ≥ 0."""
    exponent = exact.fraction(gamma, "the exponent of a coin")
    size = exact.whole(size, "the number of draws", 0)
    if exponent < 0:
        raise ParameterError("the exponent of a coin is negative", came=exponent, allowed="a fraction from 0 up")
    return np.equal(_exponential_coin(exponent).draw(source, size), 0)


def geometric(source: Source, scale: Fraction | int, size: int) -> NDArray[np.int64]:
    """`size` independent K ≥ 0 with Pr[K = k] = (1 − q) · q^k, where q = exp(−1/scale), exactly.

    K is drawn digit by digit: since q^K is the product over the digits of q^(digit · place value), the digits of K in
    any base are independent, each with probabilities proportional to the powers of its own ratio; and so is what
    stands above the last digit, which is geometric again. Each has its table of cuts (see `exact.InversionSampler`).
    """
    tables = _digits(_scale(scale))
    size = exact.whole(size, "the number of draws", 0)
    total = np.zeros(size, dtype=np.int64)
    for value, cuts in tables:
        total += value * cuts.draw(source, size)
    return total


def discrete_laplace(source: Source, scale: Fraction | int, size: int) -> NDArray[np.int64]:
    """`size` independent X with Pr[X = x] = (1 − q)/(1 + q) · q^|x|, where q = exp(−1/scale), exactly.

    The difference of two independent geometric numbers: Σ_k (1 − q)² q^k q^(k+|x|) = (1 − q)² q^|x| / (1 − q²).
    """
    drawn = geometric(source, scale, size)
    drawn -= geometric(source, scale, size)
    return drawn


NARROWEST = Fraction(1, 1000)
"""The least sigma of Gaussian noise: from a tenth downwards no draw in 10^21 differs from zero."""
FLOAT_ERROR = 1e-13
"""Relative error allowed to an acceptance probability in double precision, times 1 + its exponent; it is below 3e-15."""
PROPOSED = 1 << 17


def discrete_gaussian(source: Source, sigma: Fraction | int, size: int) -> NDArray[np.int64]:
    """`size` independent X with Pr[X = x] proportional to exp(−x²/(2 sigma²)) on the whole numbers, exactly.

    By rejection (Canonne, Kamath and Steinke 2020): with t = floor(sigma) + 1, draw Y discrete Laplace of scale t and keep
    it with probability exp(−gamma), gamma = (|Y| − sigma²/t)²/(2 sigma²), since

        |y|/t + (|y| − sigma²/t)²/(2 sigma²) = y²/(2 sigma²) + sigma²/(2 t²),

    of which the last term does not depend on y. Y is kept if U < exp(−gamma) for a uniform U. The first 64 digits of U are
    compared with the exponential in double precision; where they are nearer to it than the doubles' error, which happens
    about once in 10^13 draws, the comparison is made again with whole numbers and as many digits as it takes.
    """
    width = exact.fraction(sigma, "sigma")
    if not NARROWEST <= width <= LARGEST:
        raise ParameterError("sigma is out of range", came=width, allowed="from 1/1000 to 2^50 steps of the grid")
    size = exact.whole(size, "the number of draws", 0)
    drawn = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        missing = size - done
        proposed = _kept(source, width, min(PROPOSED, missing + missing // 2 + 16))[:missing]
        drawn[done : done + len(proposed)] = proposed
        done += len(proposed)
    return drawn


def _kept(source: Source, sigma: Fraction, count: int) -> NDArray[np.int64]:
    """Those of `count` proposals that are kept."""
    scale = min(LARGEST, sigma.numerator // sigma.denominator + 1)  # any scale is right; this one keeps most
    centre = sigma**2 / scale
    proposed = discrete_laplace(source, scale, count)
    words = source.words(count)
    gammas = (np.abs(proposed) - float(centre)) ** 2 / (2 * float(sigma) ** 2)
    chances, digits = np.exp(-gammas), words * 2.0**-64
    error = FLOAT_ERROR * (1 + gammas) * chances + 2.0**-60
    kept = digits < chances
    for place in np.flatnonzero(np.abs(digits - chances) <= error):
        gamma = (abs(int(proposed[place])) - centre) ** 2 / (2 * sigma**2)
        kept[place] = _exponential_coin(gamma).decide(source, int(words[place]), 64) == 0
    return np.asarray(proposed[kept])


def _scale(value: Fraction | int) -> Fraction:
    scale = exact.fraction(value, "the scale of the noise")
    if not 0 < scale <= LARGEST:
        raise ParameterError(
            "the scale of the noise is out of range", came=scale, allowed="above 0, at most 2^50 steps of the grid"
        )
    return scale


@lru_cache(maxsize=64)
def _coin(chance: Fraction) -> InversionSampler:
    return InversionSampler(lambda _, bits: fraction_bounds(chance, bits), 1)


@lru_cache(maxsize=64)
def _exponential_coin(gamma: Fraction) -> InversionSampler:
    # exp of a rational other than 0 is irrational (Lindemann), so `settle` ends; for 0 the bounds are exact.
    return InversionSampler(lambda _, bits: settle(lambda more: exp_bounds(gamma, more), bits), 1)


@lru_cache(maxsize=64)
def _digits(scale: Fraction) -> tuple[tuple[int, InversionSampler], ...]:
    """Place values and tables: as many digits as leave at most 16 scales, some 700 cuts, to the rest."""
    tables: list[tuple[int, InversionSampler]] = []
    value = 1
    while 16 * value < scale:
        tables.append((value, _digit(value / scale)))
        value *= BASE
    tables.append((value, _tail(value / scale)))
    return tuple(tables)


def _digit(gamma: Fraction) -> InversionSampler:
    """A digit d below BASE with probability proportional to exp(−gamma · d).

    Its cuts are (1 − exp(−gamma · d)) / (1 − exp(−gamma · BASE)). None is rational: that would be a linear relation
    between exponentials of distinct rationals, against the theorem of Lindemann and Weierstrass.
    """

    def cut_bounds(index: int, bits: int) -> Bounds:
        def bounds(more: int) -> Bounds:
            return ratio_bounds(_rest(gamma * (index + 1), more), _rest(gamma * BASE, more), more)

        return settle(bounds, bits)

    return InversionSampler(cut_bounds, BASE - 1)


def _tail(gamma: Fraction) -> InversionSampler:
    """A whole number n ≥ 0 with probability proportional to exp(−gamma · n): cuts 1 − exp(−gamma · (n + 1))."""
    return InversionSampler(lambda index, bits: settle(lambda more: _rest(gamma * (index + 1), more), bits), None)


def _rest(gamma: Fraction, bits: int) -> Bounds:
    """Bounds of (1 − exp(−gamma)) · 2^bits."""
    lower, upper = exp_bounds(gamma, bits)
    return (1 << bits) - upper, (1 << bits) - lower


# --- the exponential mechanism -----------------------------------------------------------------------------------------


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
    return _draw_members(source, ranked, sizes, lambda group: np.array(groups[ranked[group]], dtype=np.int64), size)


def choices_by_score(source: Source, scores: NDArray[np.int64], factor: Fraction | int, size: int) -> NDArray[np.int64]:
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
    return _draw_members(source, ranked, sizes, lambda at: order[starts[at] : starts[at] + sizes[at]], size)


def choose_run_by_score(
    source: Source, scores: NDArray[np.int64], sizes: Sequence[int], factor: Fraction | int
) -> tuple[int, int]:
    """One option among runs of equal ones: run i stands for `sizes[i]` options of the same score, which are never listed.

    Each option has a probability proportional to exp(factor · score), exactly: a group of runs with one score is drawn as
    `choices_by_score` draws it, by the number of its options, then one of these uniformly. Returns the run and the
    number of the option in it, from 0.
    """
    each = exact.fraction(factor, "the factor of a score")
    if each < 0:
        raise ParameterError("the factor of a score is negative", came=each, allowed="0 and above")
    if len(sizes) != len(scores) or any(size < 1 for size in sizes):
        raise ParameterError("a run without options", came=f"{len(sizes)} runs", allowed="one option or more in each")
    groups: dict[int, list[int]] = {}
    for index, score in enumerate(scores.tolist()):
        groups.setdefault(score if each else 0, []).append(index)
    ranked = sorted(groups, reverse=True)
    if not ranked:
        raise ParameterError("there is nothing to choose from", came="no scores", allowed="one score or more")
    totals = [sum(sizes[index] for index in groups[score]) for score in ranked]
    group = int(_groups([each * score for score in ranked], totals).draw(source, 1)[0])
    at = int(source.integers(totals[group], 1)[0])
    for index in groups[ranked[group]]:
        if at < sizes[index]:
            return index, at
        at -= sizes[index]
    raise AssertionError("the options of a group were counted")  # pragma: no cover - the total is their sum


SCORES_AT_ONCE = 1 << 20
"""Scores that are sorted and added up in one go."""
SHARE_ERROR = 1e-12
"""Error allowed to the exponentials of weights in double precision, which is below 1e-14; sums of many have their own."""


def choose_each_by_score(source: Source, scores: NDArray[np.int64], factor: Fraction | int) -> NDArray[np.int64]:
    """For each row of whole scores one index with probability proportional to exp(factor · score), exactly; rows are independent.

    As `choices_by_score` draws it: a group of equal scores by cuts at the cumulative shares, largest score first, its member
    uniformly. The first 64 digits of U are compared with the shares in double precision; where they are nearer to a share than
    the doubles' error, which happens about once in 10^10 draws, the comparison is made again with whole numbers and as many
    digits as it takes.
    """
    each = exact.fraction(factor, "the factor of a score")
    if each < 0:
        raise ParameterError("the factor of a score is negative", came=each, allowed="0 and above")
    rows, options = scores.shape
    if not options:
        raise ParameterError("there is nothing to choose from", came="no scores", allowed="one score or more")
    chosen = np.empty(rows, dtype=np.int64)
    step = max(1, SCORES_AT_ONCE // options)
    for start in range(0, rows, step):
        chosen[start : start + step] = _choose_each(source, scores[start : start + step], each)
    return chosen


def _choose_each(source: Source, scores: NDArray[np.int64], factor: Fraction) -> NDArray[np.int64]:
    scores = scores if factor else np.zeros_like(scores)
    rows, options = scores.shape
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    sums = np.cumsum(np.exp(float(factor) * (ranked - ranked[:, :1])), axis=1)
    shares = sums / sums[:, -1:]
    words = source.words(rows)
    digits = words * 2.0**-64
    ends = np.ones_like(ranked, dtype=np.bool_)  # the last of each group of equal scores
    ends[:, :-1] = ranked[:, 1:] != ranked[:, :-1]
    place = np.minimum((shares <= digits[:, None]).sum(axis=1), options - 1)
    ends[:, -1] = False  # the share of all is one, and no cut
    error = SHARE_ERROR + options * 2.0**-50  # every addition may be off by half of 2^-52 of the sum
    unclear = ((np.abs(shares - digits[:, None]) <= error) & ends).any(axis=1)
    at = ranked[np.arange(rows), place]
    for row in np.flatnonzero(unclear).tolist():
        different, sizes = np.unique(ranked[row], return_counts=True)
        weights = [factor * score for score in different[::-1].tolist()]
        group = _groups(weights, sizes[::-1].tolist()).decide(source, int(words[row]), 64)
        at[row] = different[::-1][group]
    first = (ranked > at[:, None]).sum(axis=1)
    many = (ranked == at[:, None]).sum(axis=1)
    member = np.zeros(rows, dtype=np.int64)
    for size in np.unique(many[many > 1]).tolist():
        alike = np.flatnonzero(many == size)
        member[alike] = source.integers(size, len(alike))
    return np.asarray(order[np.arange(rows), first + member])


@dataclass(frozen=True)
class PartialScores:
    """Some indices and their scores: every index that scores at least `floor`. `others` indices score less."""

    indices: NDArray[np.int64]
    scores: NDArray[np.int64]
    others: int
    floor: int


def choice_from_partial_scores(source: Source, lists: Iterable[PartialScores], factor: Fraction) -> int:
    """One index as `choices_by_score` would draw it of all scores, from lists that need not hold them all; factor above 0.

    The same bits give the same index as `choices_by_score`, so the distribution is the same, whatever the lists are.
    `choices_by_score` draws a uniform number U and returns the first group, largest score first, whose cumulative
    share C_i/Z lies above U. The groups at or above the floor are complete, so their masses C_i are known; of the
    whole mass Z it is known that

        listed mass ≤ Z < listed mass + others · exp(factor · floor).

    So each share lies between two known numbers. Where both lie on the same side of U, for the shares on both sides
    of it, the group is the one that `choices_by_score` finds. Where they do not, the next list is taken, with the
    digits of U that were drawn already; more digits are drawn exactly where `choices_by_score` would draw them: when
    a share is known to lie in the step of the digits drawn so far. The last list holds all scores.
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


def _draw_members(
    source: Source, ranked: list[Fraction], sizes: list[int], members: Callable[[int], NDArray[np.int64]], size: int
) -> NDArray[np.int64]:
    """Draw a group by its weight and size, then a member uniformly; groups come with the largest weight first."""
    if not ranked:
        raise ParameterError("there is nothing to choose from", came="no scores", allowed="one score or more")
    chosen = _groups(ranked, sizes).draw(source, size)
    for group in np.unique(chosen).tolist():
        places = np.flatnonzero(chosen == group)
        # Written after it was compared, into places that no later group has.
        chosen[places] = -1 - members(group)[source.integers(sizes[group], len(places))]
    return -1 - chosen


def _groups(ranked: list[Fraction], sizes: list[int]) -> InversionSampler:
    """Cuts at the shares of the first group, the first two, …; the last, which is one, is left out."""
    known: dict[int, tuple[list[int], list[int]]] = {}

    def sums(bits: int) -> tuple[list[int], list[int]]:
        if bits not in known:
            bounds = [exp_bounds(ranked[0] - weight, bits) for weight in ranked]
            lower = accumulate(size * low for size, (low, _) in zip(sizes, bounds, strict=True))
            upper = accumulate(size * high for size, (_, high) in zip(sizes, bounds, strict=True))
            known[bits] = list(lower), list(upper)
        return known[bits]

    def cut_bounds(index: int, bits: int) -> Bounds:
        def bounds(more: int) -> Bounds:
            lower, upper = sums(more)
            return ratio_bounds((lower[index], upper[index]), (lower[-1], upper[-1]), more)

        return settle(bounds, bits)

    return InversionSampler(cut_bounds, len(ranked) - 1)
