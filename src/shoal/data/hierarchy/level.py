"""One level of a hierarchy: a total map from the declared domain to labels, the same on every engine.

Five primitives carry every kind of hierarchy: `Keep` (the value itself), `Groups` (a table of values),
`Cuts` (half-open intervals of numbers, dates or times), `Masked` (letters replaced), and `Whole` (one
label for everything). A missing value has its own label at every level but `Whole`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
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
    """A map from values to labels; `labels[code]` where they can be listed."""

    labels: tuple[str, ...] | None

    @abstractmethod
    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The labels of values without missing ones, as objects (the values themselves for `Keep`)."""

    def place(self, values: npt.NDArray[Any]) -> Codes:  # noqa: ARG002
        """The code of each value, so that its label is `labels[code]`; OUTSIDE for what the level does not cover."""
        raise UsageError("the labels of this level cannot be listed", fix="ask for the labels themselves")


@dataclass(frozen=True)
class Keep(Level):
    """The value itself, in its own type."""

    labels: tuple[str, ...] | None = None

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values


@dataclass(frozen=True)
class Whole(Level):
    """Everything, missing values too, under one label."""

    label: str = SUPPRESSED

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one label."""
        return (self.label,)

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.full(len(values), self.label, dtype=object)

    def place(self, values: npt.NDArray[Any]) -> Codes:
        return np.zeros(len(values), dtype=np.int32)


@dataclass(frozen=True)
class Groups(Level):
    """A table: leaf i carries labels[codes[i]]. Leaves are texts; numbers and dates are looked up by their text."""

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
        """Each leaf's label."""
        return {leaf: self.labels[code] for leaf, code in zip(self.leaves, self.codes, strict=True)}

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        table = self.table
        return np.array([table.get(value) for value in texts(values)], dtype=object)

    @cached_property
    def _code(self) -> dict[str, int]:
        return dict(zip(self.leaves, self.codes, strict=True))

    def place(self, values: npt.NDArray[Any]) -> Codes:
        code = self._code
        return np.fromiter((code.get(value, OUTSIDE) for value in texts(values)), dtype=np.int32, count=len(values))


@dataclass(frozen=True)
class Cuts(Level):
    """Half-open intervals: labels[i] for edges[i] <= value < edges[i + 1]; the first and last reach beyond the edges."""

    edges: tuple[Any, ...]
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.edges) + 1:
            raise UsageError("a level needs one label more than inner edges")
        if any(not a < b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise UsageError("a level's edges do not rise", came=", ".join(str(e) for e in self.edges[:8]))
        if len(set(self.labels)) != len(self.labels):
            raise UsageError("a level uses one label for two groups")

    def place(self, values: npt.NDArray[Any]) -> Codes:
        # A whole number reaches 17.5 when it reaches 18; a cast would make it 17.
        inner = [math.ceil(edge) for edge in self.edges] if values.dtype.kind in "iu" else list(self.edges)
        edges = np.array(inner).astype(values.dtype) if inner else np.array([], dtype=values.dtype)
        return np.searchsorted(edges, values, side="right").astype(np.int32)

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.array(self.labels, dtype=object)[self.place(values)]


@dataclass(frozen=True)
class Masked(Level):
    """`kept` letters of a text, each letter hidden on `side` replaced by `letter` (nothing, for a bare prefix)."""

    kept: int
    side: str
    letter: str = "*"
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.kept < 0:
            raise UsageError("a mask keeps a negative number of letters", came=self.kept)
        if self.side not in ("left", "right"):
            raise UsageError("a mask hides letters on one side", came=self.side, allowed="left or right")

    def mask(self, value: str) -> str:
        """One text, masked on its side."""
        hidden = max(0, len(value) - self.kept)
        return (
            value[: len(value) - hidden] + self.letter * hidden
            if self.side == "right"
            else self.letter * hidden + value[hidden:]
        )

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.array([self.mask(value) for value in values.tolist()], dtype=object)
