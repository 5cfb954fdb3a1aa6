"""One level of a hierarchy: a total map from the declared domain to labels, the same on every engine, and its loss.

Five kinds carry every hierarchy: `ValueLevel` (the value itself), `GroupLevel` (a table of values), `IntervalLevel`
(half-open intervals of numbers, dates or times), `MaskLevel` (letters replaced), and `TopLevel` (one label for
everything). A missing value has its own label at every level but the top.

The loss of a level says how much of the domain shares a value's label on average, from the hierarchy alone. A value whose
group holds g of N values loses (g − 1)/(N − 1): nothing when it stands alone, everything when all share one label. The
loss of a level is the average over all values of the declared domain, each counted once; over widths it is the average of
g/N. Merging groups never lowers it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.type import texts
from shoal.errors import UsageError

MISSING = "(missing)"
"""The label of a missing value."""
SUPPRESSED = "*"
"""The label that stands for the whole domain."""

Codes = npt.NDArray[np.int32]
OUTSIDE = -1
"""The code of a value that the level does not cover."""


class Level(ABC):
    """A map from values to labels. `labels` lists the labels in the order of their codes, or is None where it cannot.

    >>> import numpy as np
    >>> IntervalLevel((18, 65), ("young", "adult", "old")).apply(np.array([7, 18, 70])).tolist()
    ['young', 'adult', 'old']
    """

    labels: tuple[str, ...] | None

    @abstractmethod
    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The labels of values none of which is missing, as objects; a `ValueLevel` gives the values themselves."""

    def encode(self, values: npt.NDArray[Any]) -> Codes:  # noqa: ARG002
        """The code of each value, so that its label is `labels[code]`; OUTSIDE for what the level does not cover.

        Raises     UsageError where the labels of the level cannot be listed.
        """
        raise UsageError("the labels of this level cannot be listed", fix="ask for the labels themselves")


@dataclass(frozen=True)
class ValueLevel(Level):
    """The value itself, in its own type: level 0 of every hierarchy."""

    labels: tuple[str, ...] | None = None

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values


@dataclass(frozen=True)
class TopLevel(Level):
    """One label for everything, missing values too: the last level of every hierarchy."""

    label: str = SUPPRESSED

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one label."""
        return (self.label,)

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.full(len(values), self.label, dtype=object)

    def encode(self, values: npt.NDArray[Any]) -> Codes:
        return np.zeros(len(values), dtype=np.int32)


@dataclass(frozen=True)
class GroupLevel(Level):
    """A table: leaf i has the label `labels[codes[i]]`. Leaves are texts; numbers and dates are looked up by their text.

    Raises     UsageError where the table is not complete, or two groups share a label.
    """

    leaves: tuple[str, ...]
    codes: tuple[int, ...]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.leaves) != len(self.codes):
            raise UsageError("a level's table has not one group for each value")
        if len(set(self.labels)) != len(self.labels):
            raise UsageError("a level uses one label for two groups")
        if any(not 0 <= code < len(self.labels) for code in self.codes):
            raise UsageError("a level's table points to a label that is not there")

    @cached_property
    def table(self) -> dict[str, str]:
        """The label of each leaf."""
        return {leaf: self.labels[code] for leaf, code in zip(self.leaves, self.codes, strict=True)}

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        table = self.table
        return np.array([table.get(value) for value in texts(values)], dtype=object)

    @cached_property
    def _code(self) -> dict[str, int]:
        return dict(zip(self.leaves, self.codes, strict=True))

    def encode(self, values: npt.NDArray[Any]) -> Codes:
        code = self._code
        return np.fromiter((code.get(value, OUTSIDE) for value in texts(values)), dtype=np.int32, count=len(values))


@dataclass(frozen=True)
class IntervalLevel(Level):
    """Half-open intervals: `labels[i]` for edges[i − 1] <= value < edges[i]; the first and the last have no outer edge.

    `open_below` and `open_above` say that the first or the last interval was declared without an end (bottom and top
    coding), so that an interval that contains it has none either.

    Raises     UsageError where the edges do not rise, or labels are missing or equal.
    """

    edges: tuple[Any, ...]
    labels: tuple[str, ...]
    open_below: bool = False
    open_above: bool = False

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.edges) + 1:
            raise UsageError(
                "a level needs one label more than it has edges",
                came=f"{len(self.labels)} labels, {len(self.edges)} edges",
            )
        if any(not a < b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise UsageError(
                "the edges of a level are not in rising order",
                came=", ".join(str(e) for e in self.edges[:8]),
                fix="list each edge once, the smallest first",
            )
        if len(set(self.labels)) != len(self.labels):
            raise UsageError("a level uses one label for two groups")

    def encode(self, values: npt.NDArray[Any]) -> Codes:
        # A whole number reaches 17.5 when it reaches 18; a cast would make it 17.
        inner = [math.ceil(edge) for edge in self.edges] if values.dtype.kind in "iu" else list(self.edges)
        edges = np.array(inner).astype(values.dtype) if inner else np.array([], dtype=values.dtype)
        return np.searchsorted(edges, values, side="right").astype(np.int32)

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.array(self.labels, dtype=object)[self.encode(values)]


@dataclass(frozen=True)
class MaskLevel(Level):
    """The first or last `kept` letters of a text, each letter hidden on `side` replaced by `letter` ("" for a bare prefix).

    Raises     UsageError where `kept` is negative or `side` is neither left nor right.

    >>> MaskLevel(3, "right").mask("03117")
    '031**'
    """

    kept: int
    side: str
    letter: str = "*"
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.kept < 0:
            raise UsageError("a mask keeps a negative number of letters", came=self.kept, allowed="0 or more")
        if self.side not in ("left", "right"):
            raise UsageError("a mask hides letters on one side", came=self.side, allowed="left or right")

    def mask(self, value: str) -> str:
        """One text with its letters on one side hidden."""
        hidden = max(0, len(value) - self.kept)
        return (
            value[: len(value) - hidden] + self.letter * hidden
            if self.side == "right"
            else self.letter * hidden + value[hidden:]
        )

    def mask_all(self, values: Sequence[str]) -> list[str]:
        """Many texts with their letters on one side hidden; what hides a text depends on its length alone."""
        kept, hiding = self.kept, {size: self.letter * max(0, size - self.kept) for size in set(map(len, values))}
        if self.side == "right":
            return [value[:kept] + hiding[len(value)] for value in values]
        return [hiding[len(value)] + value[max(0, len(value) - kept) :] for value in values]

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.array(self.mask_all(values.tolist()), dtype=object)


def coarsens(fine: Level, coarse: Level) -> bool:
    """Whether values that share a label of the finer level share one of the coarser level too."""
    if isinstance(fine, ValueLevel) or isinstance(coarse, TopLevel):
        return True
    if isinstance(fine, IntervalLevel) and isinstance(coarse, IntervalLevel):
        return set(coarse.edges) <= set(fine.edges)
    if isinstance(fine, MaskLevel) and isinstance(coarse, MaskLevel):
        return coarse.kept <= fine.kept and (coarse.side, coarse.letter) == (fine.side, fine.letter)
    if isinstance(fine, GroupLevel) and isinstance(coarse, GroupLevel):
        pairs = set(zip(fine.codes, coarse.codes, strict=True))
        return fine.leaves == coarse.leaves and len(pairs) == len({a for a, _ in pairs})
    return False


# --- the loss of a level -----------------------------------------------------------------------------------------------


def label_loss(size: int, total: int) -> float:
    """The loss of a label that stands for `size` of `total` values; nothing is lost where there is one value."""
    return (size - 1) / (total - 1) if total > 1 else 0.0


def loss_of_counts(sizes: Iterable[int]) -> float:
    """The loss of a level whose groups hold so many values each.

    >>> loss_of_counts([1, 1, 1]), loss_of_counts([3])
    (0.0, 1.0)
    """
    counts = [int(size) for size in sizes]
    total = sum(counts)
    if total < 2:
        return 0.0
    return float(Fraction(sum(n * (n - 1) for n in counts), total * (total - 1)))


def loss_of_widths(widths: Iterable[Fraction]) -> float:
    """The loss of a level whose groups are so wide each, where values cannot be counted."""
    parts = list(widths)
    total = sum(parts, Fraction(0))
    return float(sum((w * w for w in parts), Fraction(0)) / (total * total)) if total else 0.0


def loss_of_labels(labels: Iterable[object]) -> float:
    """The loss of a level from the label of each value."""
    return loss_of_counts(Counter(labels).values())


def loss_of_mask(level: MaskLevel, places: Sequence[str] | None, length: int) -> float:
    """The loss of a mask over texts whose letters are known by place; else the share of letters that it hides."""
    if places is None:
        return max(0, length - level.kept) / length if length else 0.0
    hidden = places[level.kept :] if level.side == "right" else places[: max(0, len(places) - level.kept)]
    group, total = math.prod(map(len, hidden)), math.prod(map(len, places))
    return float(Fraction(group - 1, total - 1)) if total > 1 else 0.0
