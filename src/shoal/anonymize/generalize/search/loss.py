"""What a scheme loses, in whole numbers that are compared: granularity, discernibility, and the average size of classes.

    granularity     the mean over rows and attributes (by weight) of what the label shown loses: (values of the label − 1) /
                    (values of the domain − 1), from 0 to 1; in thousand-millionths, each rounded once
    discernibility  a row costs as many as its class has rows (Bayardo and Agrawal 2005)
    class_size      rows of the table for each class that is published (LeFevre, DeWitt and Ramakrishnan 2005, without k)

A suppressed row counts as fully generalized: it loses everything, costs as many as the table has rows, and is in no class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import numpy as np

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.search.records import Array
from shoal.anonymize.kernel.rollup import Integers
from shoal.data.hierarchy.level import MISSING, TopLevel, ValueLevel
from shoal.data.schema import Attribute

LossName = Literal["granularity", "discernibility", "class_size"]
LOSS_NAMES: tuple[LossName, ...] = get_args(LossName)
PARTS = 10**9
"""A row that loses everything loses so many parts, but for rounding."""


@dataclass(frozen=True)
class Loss(ABC):
    """A loss of schemes of a table of so many rows with classes of at least k: the smaller the total, the better.

    Raises nothing.

    >>> DiscernibilityLoss(10, 2).total(np.array([2, 3]), None, 5)
    63
    """

    rows: int
    k: int

    name: ClassVar[str]
    weighs_labels: ClassVar[bool] = False
    """Whether it matters which labels a class shows."""

    @abstractmethod
    def total(self, sizes: Integers, lost: Integers | None, suppressed: int) -> int:
        """The loss of a scheme from its published classes: their sizes, what a row of each loses, and the rows suppressed."""

    @abstractmethod
    def bound(self, owner: Integers, counts: Integers, lost: Integers | None, suppressed: int) -> int:
        """At most the loss of any scheme that puts these combinations together, inside the classes that own them.

        Classes have at least k rows each, and `suppressed` rows beside these are suppressed by every such scheme.
        """

    @abstractmethod
    def value(self, total: int) -> Fraction:
        """The loss as people know it."""


@dataclass(frozen=True)
class GranularityLoss(Loss):
    """The mean share of the domain that a shown label stands for."""

    whole: int = PARTS
    """What a suppressed row loses, in parts."""

    name: ClassVar[str] = "granularity"
    weighs_labels: ClassVar[bool] = True

    def total(self, sizes: Integers, lost: Integers | None, suppressed: int) -> int:
        return (0 if lost is None else int(sizes @ lost)) + suppressed * self.whole

    def bound(self, owner: Integers, counts: Integers, lost: Integers | None, suppressed: int) -> int:
        del owner
        return self.total(counts, lost, suppressed)

    def value(self, total: int) -> Fraction:
        return Fraction(total, self.rows * self.whole)


@dataclass(frozen=True)
class DiscernibilityLoss(Loss):
    """The sum over rows of the size of the class in which each cannot be told from others."""

    name: ClassVar[str] = "discernibility"

    def total(self, sizes: Integers, lost: Integers | None, suppressed: int) -> int:
        del lost
        return int(sizes @ sizes) + suppressed * self.rows

    def bound(self, owner: Integers, counts: Integers, lost: Integers | None, suppressed: int) -> int:
        """A row's class holds its own combination, and at least k rows."""
        del owner, lost
        return int(counts @ np.maximum(counts, min(self.k, self.rows))) + suppressed * self.rows

    def value(self, total: int) -> Fraction:
        return Fraction(total)


@dataclass(frozen=True)
class ClassSizeLoss(Loss):
    """Rows of the table for each published class; the total is the number of classes, negative."""

    name: ClassVar[str] = "class_size"

    def total(self, sizes: Integers, lost: Integers | None, suppressed: int) -> int:
        del lost, suppressed
        return -len(sizes)

    def bound(self, owner: Integers, counts: Integers, lost: Integers | None, suppressed: int) -> int:
        """A class of n rows in c combinations divides into at most n // k classes, and at most c."""
        del lost, suppressed
        if not len(owner):
            return 0
        sizes = np.bincount(owner, weights=counts).astype(np.int64)
        return -int(np.minimum(sizes // self.k, np.bincount(owner)).sum())

    def value(self, total: int) -> Fraction:
        return Fraction(self.rows, max(-total, 1))


@dataclass(frozen=True)
class SuppressedRows(Loss):
    """How many rows are suppressed and nothing else: what says how near a limit can be reached."""

    name: ClassVar[str] = "suppressed_rows"

    def total(self, sizes: Integers, lost: Integers | None, suppressed: int) -> int:
        del sizes, lost
        return suppressed

    def bound(self, owner: Integers, counts: Integers, lost: Integers | None, suppressed: int) -> int:
        del owner, counts, lost
        return suppressed

    def value(self, total: int) -> Fraction:
        return Fraction(total)


LOSSES: Mapping[str, type[Loss]] = MappingProxyType(
    {"granularity": GranularityLoss, "discernibility": DiscernibilityLoss, "class_size": ClassSizeLoss}
)
"""Every loss by the name a policy uses."""


def label_parts(lattice: Lattice, values: Sequence[Array], shares: Sequence[Fraction]) -> list[list[Integers]]:
    """What the label of each value loses at each level of each attribute, in parts of a row, and last of a missing value."""
    return [
        [_parts(attribute, level, own, share) for level in levels]
        for attribute, levels, own, share in zip(lattice.attributes, lattice.levels, values, shares, strict=True)
    ]


def _parts(attribute: Attribute, index: int, values: Array, share: Fraction) -> Integers:
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return np.zeros(len(values) + 1, dtype=np.int64)
    level, losses = hierarchy.level(index), hierarchy.label_losses(index)
    if isinstance(losses, Mapping):
        shown = level.apply(values).tolist()
        each = [losses[str(label)] for label in shown]
        each.append(losses.get(MISSING, 0.0))
    else:
        each = [losses] * len(values) + [losses if isinstance(level, TopLevel) else 0.0]
    if isinstance(level, ValueLevel):
        each = [0.0] * len(each)
    return np.array([round(PARTS * share * Fraction(one)) for one in each], dtype=np.int64)
