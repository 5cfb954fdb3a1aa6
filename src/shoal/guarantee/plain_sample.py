"""Publishing a plain random sample (CM06): which values are rare, and the largest rate that is safe for this table.

A sample keeps (c, epsilon) when no set of c rows, given any other values, would make it more than
1 + epsilon times as likely. The published rate is CM06's Theorem 3 (c = 1) or Theorem 7 with its missing
condition; the exact rate is ours: it caps how often each value may appear and computes the chance that a
sample breaks a cap (for one row that is the failure probability itself, for more rows an upper bound).
Both hold for one table only, and the rate itself depends on that table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.rounding import Number, exact, text_up, whole
from shoal.guarantee.safe_k.curve import check_delta

SampleBound = Literal["exact", "published"]
Counts = Mapping[object, int] | Iterable[int]

_SLACK = 1e-9  # relative, on binomial tails from double-precision incomplete beta functions


@dataclass(frozen=True)
class SamplePrivacy(Guarantee):
    """(c, epsilon, delta)-privacy of a plain sample at `rate` of one given table (CM06 Definition 2).

    `rate` is None where it is not known yet: it is found on the table.
    """

    c: int
    epsilon: Fraction
    delta: Fraction
    rate: Fraction | None
    kind: ClassVar[str] = "sample-privacy"
    composes: ClassVar[bool] = False

    def __init__(self, c: int, epsilon: Number, delta: Number, rate: Number | None = None) -> None:
        object.__setattr__(self, "c", whole(c, "c"))
        object.__setattr__(self, "epsilon", _check_target(epsilon))
        object.__setattr__(self, "delta", check_delta(delta))
        value = None if rate is None else exact(rate, "rate")
        if value is not None and not 0 < value < 1:
            raise ParameterError("the rate is not a sampling rate", came=rate, allowed="0 < rate < 1")
        object.__setattr__(self, "rate", value)

    def implies(self, other: Guarantee) -> bool:
        """On the same table: for fewer rows, a larger epsilon or a larger delta."""
        return (
            isinstance(other, SamplePrivacy)
            and self.rate == other.rate
            and self.c >= other.c
            and self.epsilon <= other.epsilon
            and self.delta <= other.delta
        )

    def words(self) -> str:
        rows = "any one row" if self.c == 1 else f"any {self.c} rows"
        return (
            f"with probability at least 1 - {text_up(self.delta)} no values of {rows} make the sample more than "
            f"{text_up(1 + self.epsilon)} times as likely as others would; this holds for this table only"
        )


@dataclass(frozen=True)
class SafeRate:
    """A safe sampling rate, what it rests on, and which values hold it down (for the custodian's eyes)."""

    rate: float
    bound: SampleBound
    epsilon: float
    delta: float
    c: int
    rows: int
    distinct: int
    failure: float
    obstacles: tuple[tuple[object, int], ...]
    merged_rate: float | None

    @property
    def expected_rows(self) -> float:
        """How many rows a sample has on average."""
        return self.rate * self.rows

    @property
    def publishable(self) -> bool:
        """Whether a sample of at least one row can be expected; otherwise no sample can be published."""
        return self.expected_rows >= 1

    def claim(self) -> SamplePrivacy:
        """The guarantee, or an InfeasibleError that says which values are in the way."""
        if not self.publishable:
            raise InfeasibleError(
                f"no sample can be published: the largest safe rate {self.rate:.3g} times {self.rows} rows is below one row",
                came=f"{len(self.obstacles)} values so rare that they may not appear even once (listed in `obstacles`)",
                fix="merge the rare values by a coarser recoding"
                + (f" (merging them all allows a rate of {self.merged_rate:.3g})" if self.merged_rate else ""),
            )
        return SamplePrivacy(self.c, self.epsilon, self.delta, self.rate)


def sample_rate(counts: Counts, *, epsilon: Number, delta: Number, c: int = 1, bound: str = "exact") -> SafeRate:
    """The largest rate at which a plain sample of a table with these value counts is (c, epsilon, delta)-private.

    bound='exact' is theorem `sample-exact` (ours); bound='published' is theorem `sample-published`, CM06's
    formula at the internal epsilon that gives the largest rate for this target. Rounded down.

    Arguments  `counts` says how many rows each value has, as a mapping or as a list; `epsilon` and `delta` are above 0, and
               delta below 1; `c` is how many rows may take other values together
    Raises     ParameterError for numbers out of range and for counts that are no whole numbers from 1 up; UsageError for an
               unknown bound

    >>> found = sample_rate({"flu": 5000, "cold": 4000}, epsilon=1, delta="0.01")
    >>> round(found.rate, 3), found.publishable
    (0.481, True)
    """
    names, sizes = _names_and_sizes(counts)
    target, d, rows = _check_target(epsilon), check_delta(delta), whole(c, "c")
    if not 0 < d < 1:
        raise ParameterError("delta is not a failure probability", came=delta, allowed="0 < delta < 1")
    if bound == "exact":
        rate, failure = _exact_rate(sizes, target, d, rows)
    elif bound == "published":
        rate = _published_rate(np.sort(sizes), float(target), float(d), rows)
        failure = failure_probability(sizes.tolist(), rate=rate, epsilon=target, c=rows) if rate > 0 else 0.0
    else:
        raise UsageError("unknown bound", came=bound, allowed="exact or published")
    caps = _caps(sizes, target, rows)
    order = np.argsort(sizes, kind="stable")
    obstacles = tuple((names[i], int(sizes[i])) for i in order if caps[i] == 0)
    merged = None
    if len(obstacles) > 1:
        rest = sizes[caps > 0]
        merged, _ = _exact_rate(np.append(rest, sizes[caps == 0].sum()), target, d, rows)
    return SafeRate(
        rate, "exact" if bound == "exact" else "published", float(target), float(d), rows,
        int(sizes.sum()), len(sizes), failure, obstacles, merged,
    )  # fmt: skip


DIGITS = 2
"""Significant digits of a rate that is found on a table and published: the fewer, the less it says of the table."""


def rate_on_grid(rate: float) -> Fraction:
    """The largest number of two significant digits that is not above a rate; 0 for a rate of 0.

    >>> str(rate_on_grid(0.0487)), str(rate_on_grid(0.3))
    ('6/125', '29/100')
    """
    value = Fraction(rate)
    if value <= 0:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(rate)) - DIGITS)
    unit *= 10 if value >= unit * 10**DIGITS else 1  # a logarithm may miss a power of ten
    return math.floor(value / unit) * unit


def fewest_rows(epsilon: Number, c: int = 1) -> int:
    """How many rows a value has at the least if it may appear in a sample even once; a value with fewer is rare.

    >>> fewest_rows("0.3"), fewest_rows(1), fewest_rows("0.3", c=2)
    (5, 2, 10)
    """
    target, rows = _check_target(epsilon), whole(c, "c")
    low, high = 0, 1
    while _cap(high, target, rows) < 1:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _cap(middle, target, rows) else (middle, high)
    return high


MOST_ROWS = 1000
"""The most rows of one unit for which a plan is made."""
LARGEST_DELTA = Fraction(1, 4)
"""The largest delta for which `largest_rate` is proved; a promise that fails more often is not worth making."""


def largest_rate(*, epsilon: Number, delta: Number, c: int = 1, bound: str = "exact") -> float:
    """A rate that is safe for no table at all if it is exceeded, for delta up to 1/4: known before a table is read. Rounded up.

    >>> (
    ...     round(largest_rate(epsilon="0.3", delta="0.01"), 4),
    ...     largest_rate(epsilon="0.3", delta="0.01", bound="published"),
    ... )
    (0.2308, 0.05)
    """
    target, d, rows = _check_target(epsilon), check_delta(delta), whole(c, "c")
    if not 0 < d <= LARGEST_DELTA:
        raise ParameterError("delta is not a failure probability", came=delta, allowed="0 < delta <= 1/4")
    if bound == "published":
        return float(target / (6 * rows))
    return max(-math.expm1(-math.log1p(float(target)) / rows) * (1 + 1e-12), float(d))


def failure_probability(counts: Counts, *, rate: Number, epsilon: Number, c: int = 1) -> float:
    """The chance that a sample at this rate is not (c, epsilon)-private (c > 1: at most), rounded up (theorem `sample-exact`)."""
    _, sizes = _names_and_sizes(counts)
    return _failure(sizes, _caps(sizes, _check_target(epsilon), whole(c, "c")), float(exact(rate, "rate")))


def keeps_privacy(counts: Counts, sample: Counts, *, epsilon: Number, c: int = 1) -> bool:
    """Whether one given sample keeps (c, epsilon): every value at most as often as its cap."""
    _, sizes = _names_and_sizes(counts)
    drawn = _align(counts, sample, sizes)
    return bool(np.all(drawn <= _caps(sizes, _check_target(epsilon), whole(c, "c"))))


def published_rate(counts: Counts, *, epsilon: Number, delta: Number, c: int = 1) -> tuple[float, float]:
    """CM06 Theorem 3 or 7 at the paper's own epsilon: the rate p, and the epsilon' it proves; p = 0 if it proves nothing."""
    _, sizes = _names_and_sizes(counts)
    rate = _theorem_rate(np.sort(sizes), float(_check_target(epsilon)), float(check_delta(delta)), whole(c, "c"))
    return rate, _theorem_epsilon(len(sizes), rate, float(exact(epsilon)), float(exact(delta)), c)


def check_published(distinct: int, *, rate: Number, epsilon: Number, delta: Number, c: int = 1) -> None:
    """The preconditions of CM06 Theorems 3 and 7 at the paper's epsilon; the last one is the erratum's."""
    p, e, rows = float(exact(rate, "rate")), float(_check_target(epsilon)), whole(c, "c")
    stretch = _stretch(distinct, e, float(check_delta(delta)), rows)
    if not stretch * (p + e) < 0.5:
        raise PreconditionError(
            "sample-published",
            "r (p + epsilon) is not below 1/2",
            came=f"{stretch * (p + e):g}",
            allowed="< 1/2",
        )
    if rows > 1 and rows * stretch * (p + e) > 0.5:
        raise PreconditionError(
            "sample-published",
            "c r (p + epsilon) is above 1/2: without this condition Theorem 7 fails (erratum to its Lemma 3)",
            came=f"{rows * stretch * (p + e):g}",
            allowed="<= 1/2",
            fix="use bound='exact', which needs no such condition",
        )


def _log_term(distinct: int, delta: float) -> float:
    return math.log(distinct / (delta / 2))


def _stretch(distinct: int, epsilon: float, delta: float, c: int) -> float:
    return 1.0 if c == 1 else 1 + epsilon * c / (2 * _log_term(distinct, delta))


def _theorem_rate(sizes: npt.NDArray[np.int64], epsilon: float, delta: float, c: int) -> float:
    """The rate of Theorem 3 or 7 for counts in rising order."""
    log_term, stretch = _log_term(len(sizes), delta), _stretch(len(sizes), epsilon, delta, c)
    rare = int(np.searchsorted(sizes, 2 * log_term / epsilon + (c if c > 1 else 0)))
    bound = epsilon if rare == 0 else epsilon * -math.log1p(-delta / 2) / (4 * rare * log_term * stretch)
    room = 0.5 / (stretch * (c if c > 1 else 1 + 1e-12)) - epsilon
    return max(0.0, min(bound, room))


def _theorem_epsilon(distinct: int, rate: float, epsilon: float, delta: float, c: int) -> float:
    stretch = _stretch(distinct, epsilon, delta, c)
    return max(2 * c * stretch * (rate + epsilon), 6 * c * stretch * rate)


def _published_rate(sizes: npt.NDArray[np.int64], target: float, delta: float, c: int) -> float:
    """The largest p over the paper's internal epsilon such that the epsilon' it proves is within the target."""
    log_term, distinct = _log_term(len(sizes), delta), len(sizes)

    def best(inner: float) -> float:
        stretch = _stretch(distinct, inner, delta, c)
        within = min(target / (2 * c * stretch) - inner, target / (6 * c * stretch))
        return max(0.0, min(_theorem_rate(sizes, inner, delta, c), within))

    top = target / (2 * c)
    spare = c if c > 1 else 0
    jumps = {2 * log_term / (n - spare) * (1 + 1e-12) for n in np.unique(sizes).tolist() if n > spare}
    candidates = sorted({e for e in jumps if e < top} | {top * i / 512 for i in range(1, 512)})
    values = [best(e) for e in candidates]
    peak = int(np.argmax(values))
    low, high = candidates[peak], candidates[min(peak + 1, len(candidates) - 1)]
    for _ in range(60):  # between jumps one constraint rises and one falls: a single peak
        third = (high - low) / 3
        low, high = (low + third, high) if best(low + third) < best(high - third) else (low, high - third)
    return max(values[peak], best(low)) * (1 - 1e-12)


def _exact_rate(sizes: npt.NDArray[np.int64], target: Fraction, delta: Fraction, c: int) -> tuple[float, float]:
    caps, limit = _caps(sizes, target, c), float(delta)
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _failure(sizes, caps, middle) <= limit else (low, middle)
        if high - low <= 1e-15 * high:
            break
    return low, _failure(sizes, caps, low)


def _failure(sizes: npt.NDArray[np.int64], caps: npt.NDArray[np.int64], rate: float) -> float:
    from scipy.special import bdtrc

    if rate <= 0:
        return 0.0
    kinds, repeats = np.unique(np.stack([sizes, caps]), axis=1, return_counts=True)
    tails = np.minimum(1.0, bdtrc(kinds[1], kinds[0], rate) * (1 + _SLACK))
    with np.errstate(divide="ignore"):
        return min(1.0, abs(math.expm1(float(np.sum(repeats * np.log1p(-tails))))) * (1 + _SLACK))


def _caps(sizes: npt.NDArray[np.int64], target: Fraction, c: int) -> npt.NDArray[np.int64]:
    """How often each value may appear.

    One row: s <= n epsilon / (1 + epsilon), and only then. c rows: (room / (room - s))^c <= 1 + epsilon with
    room = n - min(c, n) + 1, which suffices whatever mixture of values the c rows are given.
    """
    unique, back = np.unique(sizes, return_inverse=True)
    return np.array([_cap(int(n), target, c) for n in unique], dtype=np.int64)[back]


def _cap(n: int, target: Fraction, c: int) -> int:
    if c == 1:
        return math.floor(n * target / (1 + target))
    room = n - min(c, n) + 1
    low, high = 0, room  # at s = room a factor is infinite
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if room**c <= (1 + target) * (room - middle) ** c else (low, middle)
    return low


def _names_and_sizes(counts: Counts) -> tuple[list[object], npt.NDArray[np.int64]]:
    if isinstance(counts, Mapping):
        names, values = list(counts), list(counts.values())
    else:
        values = list(counts)
        names = list(range(len(values)))
    if not values:
        raise ParameterError("there are no values to sample", allowed="at least one value with a count")
    for value in values:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
            raise ParameterError("a count is not a number of rows", allowed="whole numbers from 1 up")
    return names, np.array(values, dtype=np.int64)


def _align(counts: Counts, sample: Counts, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if isinstance(counts, Mapping) and isinstance(sample, Mapping):
        drawn = [int(sample.get(name, 0)) for name in counts]
    elif not isinstance(counts, Mapping) and not isinstance(sample, Mapping):
        drawn = [int(s) for s in sample]
    else:
        raise UsageError("table and sample must both be mappings or both be lists of counts")
    if len(drawn) != len(sizes) or any(s < 0 or s > n for s, n in zip(drawn, sizes, strict=False)):
        raise ParameterError(
            "the sample is not a sample of this table", allowed="0 <= count in sample <= count in table"
        )
    return np.array(drawn, dtype=np.int64)


def _check_target(epsilon: Number) -> Fraction:
    value = exact(epsilon, "epsilon")
    if value <= 0:
        raise ParameterError("epsilon is not positive", came=epsilon, allowed="epsilon > 0")
    return value
