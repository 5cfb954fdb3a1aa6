"""How good a scheme is, in whole numbers, and exactly how far one row more can move that.

A score adds up what each class of a scheme is worth, as a function of the class's size alone. Under a fixed scheme a
new row enters one class, so the sum moves by one step of that function: between `-fall` and `rise`. Times the detail
w(g) of a scheme (`Lattice.detail`), where the score is weighted, the step is stretched by at most the largest detail.
Drawing with Pr[g] ∝ exp(epsilon · score / (rise + fall)) is epsilon-DP (theorem `monotone-exponential`); for a score
that never falls this is the sharp form without the factor 2. No float takes part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.kernel.rollup import Integers, score_all
from shoal.engine.base import Counts
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import precise
from shoal.guarantee.safe_k.curve import check_beta, check_k
from shoal.progress import Progress

MOST = 10**8
"""The largest k/beta for which a score that multiplies class sizes stays within 64 bits."""
TABLE = 10**6
"""The largest k/beta for which a score is tabulated."""


@dataclass(frozen=True)
class Score(ABC):
    """A score of generalization schemes for sampling at rate beta and suppression of classes with fewer than k sampled rows.

    >>> Ramp(5, Fraction(1, 2)).of_classes(np.array([5, 8, 20])).tolist()
    [0, 6, 20]
    """

    k: int
    beta: Fraction

    name: ClassVar[str]
    theorem: ClassVar[str]
    weighted: ClassVar[bool]
    """Whether the sum over classes is multiplied by the detail of the scheme."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "beta", check_beta(self.beta))

    @cached_property
    def publishable_size(self) -> int:
        """The size from which a class will probably be published: k/beta, rounded up."""
        return ceil(self.k / self.beta)

    @property
    @abstractmethod
    def rise(self) -> int:
        """The largest step up of the worth of a class when it gains one row."""

    @property
    def fall(self) -> int:
        """The largest step down; 0 for a score that adding a row never lowers."""
        return 0

    @property
    def monotone(self) -> bool:
        """Whether adding a row lowers no score."""
        return self.fall == 0

    @property
    def void(self) -> int:
        """A class of up to so many rows is worth nothing: the ramp begins above half of `publishable_size`."""
        return self.publishable_size // 2

    def sensitivity(self, lattice: Lattice) -> Fraction:
        """The sensitivity: the most that one row added or removed moves the score of any scheme of a lattice."""
        return Fraction(max(self.rise, self.fall) * self._stretch(lattice))

    def spread(self, lattice: Lattice) -> Fraction:
        """The most by which one row changes the difference of two scores: what an exponential mechanism divides by.

        For a monotone score this is the sensitivity; it is never more than twice the sensitivity.
        """
        return Fraction((self.rise + self.fall) * self._stretch(lattice))

    def _stretch(self, lattice: Lattice) -> int:
        return int(lattice.detail.max()) if self.weighted else 1

    @abstractmethod
    def of_classes(self, sizes: Integers) -> Integers:
        """The worth of classes of these sizes, from 0 up."""

    def bound(self, sizes: Integers) -> int | None:
        """An upper bound of the worth of these classes and of every division of them; None where none is proved."""
        del sizes
        return None

    def of_scheme(self, sizes: Integers, runs: Integers | None) -> int:
        """The worth of all classes of one scheme together."""
        del runs
        return int(self.of_classes(sizes).sum())

    def within(self, lattice: Lattice) -> int | None:
        """The number of the attribute whose labels are distinguished inside a class; None where there is none."""
        del lattice
        return None

    def of_all(
        self, lattice: Lattice, counts: Counts, *, threads: int | None = None, progress: Progress | None = None
    ) -> Integers:
        """The score of every scheme of a lattice, by the schemes' numbers; `counts` as `Lattice.columns` takes them."""
        found = score_all(
            lattice.columns(counts),
            counts.counts,
            self.of_scheme,
            within=self.within(lattice),
            void=self.void,
            threads=threads,
            progress=progress,
        )
        return found * lattice.detail if self.weighted else found


@dataclass(frozen=True)
class Ramp(Score):
    """Rows that will probably be published, times the detail they keep: r(n) = min(n, max(0, 2n − m))
    with m = `publishable_size`.

    Monotone; a step is 0, 1 or 2 (theorem `ramp-score`).
    """

    name: ClassVar[str] = "ramp"
    theorem: ClassVar[str] = "ramp-score"
    weighted: ClassVar[bool] = True

    @property
    def rise(self) -> int:
        return 2

    def of_classes(self, sizes: Integers) -> Integers:
        return _ramp(sizes, self.publishable_size)

    def bound(self, sizes: Integers) -> int:
        """The worth itself: r(n)/n never falls as n grows, so r(a) + r(b) ≤ (a + b) · r(a + b)/(a + b)."""
        return int(self.of_classes(sizes).sum())


@dataclass(frozen=True)
class Records(Score):
    """Rows that are published on average if they are sampled, times the detail they keep, in thousandths of a row.

    h(n) = n·beta·Pr[Bin(n − 1, beta) ≥ k − 1] rows of a class are published on average. It has the steps h(n + 1) −
    h(n) = beta·(Pr[Bin(n, beta) ≥ k] + k·Pr[Bin(n, beta) = k − 1]), all positive, so it is monotone. The worth of a
    class is ⌊1000·h(n)/beta⌋ from a table up to a size where the steps have settled, and grows by 1000 a row from
    there. `rise` is the largest difference in that very table, rounding included, or the step beyond it (theorem
    `records-score`): about 1/2 + √(k / (2π(1 − beta))) rows, where the ramp has 2.
    """

    name: ClassVar[str] = "records"
    theorem: ClassVar[str] = "records-score"
    weighted: ClassVar[bool] = True
    parts: ClassVar[int] = 1000
    """Of a row; also the step of every class larger than the table."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_above(self, TABLE)

    @cached_property
    def table(self) -> Integers:
        """The worth of classes of 0, 1, 2, … rows."""
        with precise():
            beta = Decimal(self.beta.numerator) / Decimal(self.beta.denominator)
            # Pr[Bin(n) = k − 1], Pr[Bin(n) ≥ k] and h(n)/beta, from n = k − 1 on
            mass, tail, expected = beta ** (self.k - 1), Decimal(0), Decimal(0)
            worth, n = [0] * self.k, self.k - 1
            while True:
                step = tail + self.k * mass
                expected += step
                worth.append(int(self.parts * expected))
                if n > self.publishable_size and abs(step - 1) < _SETTLED:
                    return np.array(worth, dtype=np.int64)
                tail += beta * mass
                mass *= (1 - beta) * (n + 1) / (n + 2 - self.k)
                n += 1

    @property
    def rise(self) -> int:
        return max(int(np.diff(self.table).max()), self.parts)

    @property
    def void(self) -> int:
        """Up to where a thousandth of a row is not expected."""
        return int(np.flatnonzero(self.table)[0]) - 1

    @property
    def fall(self) -> int:
        return max(-int(np.diff(self.table).min()), 0)

    def of_classes(self, sizes: Integers) -> Integers:
        last = len(self.table) - 1
        worth: Integers = self.table.take(sizes, mode="clip") + self.parts * np.maximum(sizes - last, 0)
        return worth

    @cached_property
    def rates(self) -> Integers:
        """For each size of the table, the most that a row is worth in a class of up to that size, in 2^-20, rounded up."""
        sizes = np.arange(1, len(self.table), dtype=np.int64)
        each = -((-self.table[1:] << _FINE) // sizes)
        return np.maximum.accumulate(np.append(0, each))

    def bound(self, sizes: Integers) -> int:
        """Each row at the highest rate of any class that is no larger: that rate never falls as classes grow.

        Beyond the table T(n) = T(L) + 1000·(n − L), so T(n)/n is at most the larger of T(L)/L and 1000.
        """
        most = max(int(self.rates[-1]), self.parts << _FINE)
        rate = np.where(sizes < len(self.rates), self.rates.take(sizes, mode="clip"), most)
        return int((sizes * rate).sum() >> _FINE)


_SETTLED = Decimal("1e-9")
_FINE = 20


@dataclass(frozen=True)
class Discernibility(Score):
    """How well rows are told from one another: a row of a class of n is worth cap − n, or nothing from the cap on.

    Discernibility charges a row the size of its class, and a suppressed row the size of the table. Here both charges
    are capped at `cap` = 8 · k/beta, since one row must not move the charge of all others by more than that, and the
    score is what is left of the cap: u(n) = r(n)·max(0, cap − n), with the ramp r for the rows that will probably be
    published. It is not monotone: beyond half the cap a row more makes the class worth less. A step is at most
    `rise` < 2·cap up and cap − 1 down (theorem `discernibility-score`). Levels count by the sizes they make alone.
    """

    name: ClassVar[str] = "discernibility"
    theorem: ClassVar[str] = "discernibility-score"
    weighted: ClassVar[bool] = False
    cap_factor: ClassVar[int] = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_above(self, MOST)

    @property
    def cap(self) -> int:
        """The size of a class in which rows are worth nothing any more."""
        return self.cap_factor * self.publishable_size

    @property
    def rise(self) -> int:
        # Where the ramp begins, or one row later if its first step is 1: from there on steps only shrink.
        start = self.publishable_size // 2
        worth = self.of_classes(np.arange(start, start + 3, dtype=np.int64))
        return int(np.diff(worth).max())

    @property
    def fall(self) -> int:
        return self.cap - 1

    def of_classes(self, sizes: Integers) -> Integers:
        few = np.minimum(sizes, self.cap)
        worth: Integers = _ramp(few, self.publishable_size) * (self.cap - few)
        return worth


@dataclass(frozen=True)
class Target(Score):
    """Rows whose target the published table predicts: in each class of the other attributes, those of its best value.

    A classifier trained on the release sees of a class the values of the target that at least k sampled rows share,
    and says the most frequent one. So a class is worth max over values v of r(n_v), with the ramp r. The target has
    one level in the lattice, since a coarser target would only be easier to guess. Monotone; a row raises one n_v by
    one, hence the maximum by 0, 1 or 2 (theorem `target-score`).
    """

    name: ClassVar[str] = "target"
    theorem: ClassVar[str] = "target-score"
    weighted: ClassVar[bool] = False

    attribute: str

    @property
    def rise(self) -> int:
        return 2

    def of_classes(self, sizes: Integers) -> Integers:
        return _ramp(sizes, self.publishable_size)

    def of_scheme(self, sizes: Integers, runs: Integers | None) -> int:
        if runs is None or not len(sizes):
            return 0
        return int(np.maximum.reduceat(self.of_classes(sizes), runs).sum())

    def within(self, lattice: Lattice) -> int:
        if self.attribute not in lattice.names:
            raise UsageError("no such target", came=self.attribute, allowed=", ".join(lattice.names))
        at = lattice.names.index(self.attribute)
        if lattice.shape[at] != 1:
            raise UsageError(
                f"the target '{self.attribute}' may have several levels",
                came=", ".join(map(str, lattice.levels[at])),
                allowed="one level",
                fix="set its finest and its coarsest level to the one to be predicted",
            )
        return at


SCORES: Mapping[str, type[Score]] = MappingProxyType(
    {"ramp": Ramp, "records": Records, "discernibility": Discernibility, "target": Target}
)
"""Every score by the name a policy uses."""


def _ramp(sizes: Integers, publishable_size: int) -> Integers:
    """Nothing up to half of the size, then two for each row more until every row counts, then one."""
    return np.minimum(sizes, np.maximum(2 * sizes - publishable_size, 0))


def _refuse_above(score: Score, most: int) -> None:
    if score.publishable_size > most:
        raise ParameterError(
            f"the score '{score.name}' cannot be computed for so large a k/beta",
            came=score.publishable_size,
            allowed=f"up to {most:,}",
            fix="use the score 'ramp'",
        )
