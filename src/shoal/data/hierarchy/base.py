"""A hierarchy: levels of labels over one declared domain, from the value itself to one label for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Domain, Line, Pattern, list_values
from shoal.data.hierarchy.level import (
    OUTSIDE,
    Codes,
    GroupLevel,
    IntervalLevel,
    Level,
    MaskLevel,
    TopLevel,
    ValueLevel,
    coarsens,
    label_loss,
    loss_of_counts,
    loss_of_widths,
)
from shoal.data.type import DTYPES, Type, point, spell, texts
from shoal.errors import PolicyError, UsageError

MOST_LABELS = 100_000
"""A level of intervals has at most so many labels."""


@dataclass(frozen=True)
class Hierarchy:
    """Levels from the finest (0, the value itself) to the coarsest; `losses[i]` in [0, 1] follows from the hierarchy alone.

    Hierarchies are built from the words of a policy by `build.hierarchy`. `outside` lists the values that a file describes
    beyond the declared domain.

    Raises     UsageError where there is not one loss for each level.

    >>> from shoal.data.domain import Interval
    >>> from shoal.data.hierarchy.build import hierarchy
    >>> ages = hierarchy({"intervals": [10, 50]}, Type.INTEGER, Interval(0, 99))
    >>> len(ages), ages.labels(2)
    (4, ('[0, 50)', '[50, 100)'))
    """

    kind: str
    domain: Domain
    levels: tuple[Level, ...]
    losses: tuple[float, ...]
    spec: dict[str, Any]
    type: Type | None = None
    outside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.levels) != len(self.losses):
            raise UsageError("a hierarchy needs a loss for each level")

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        return f"<Hierarchy {self.kind}: {len(self)} levels>"

    def level(self, index: int) -> Level:
        """The level of this number.

        Raises     UsageError where there is no such level; the message says how many there are.
        """
        if not 0 <= index < len(self.levels):
            raise UsageError("no such level", came=index, allowed=f"0..{len(self.levels) - 1}")
        return self.levels[index]

    @cached_property
    def values(self) -> tuple[str, ...] | None:
        """The values of the domain as text, in the order of the file they came from; None where they cannot be listed."""
        for level in self.levels:
            if isinstance(level, GroupLevel):
                return level.leaves
        return list_values(self.type, self.domain)

    def labels(self, index: int) -> tuple[str, ...] | None:
        """The labels of a level in the order of their codes; None where they cannot be listed."""
        level = self.level(index)
        if level.labels is not None:
            return level.labels
        return None if self.values is None else tuple(dict.fromkeys(self._labels_of_values(level)))

    def encode(self, index: int, values: npt.NDArray[Any]) -> Codes:
        """The code of each value at a level, so that its label is `labels(index)[code]`; OUTSIDE for a value without one."""
        level = self.level(index)
        if level.labels is not None:
            return level.encode(values)
        labels = self.labels(index)
        if labels is None:
            raise UsageError("the labels of this level cannot be listed", came=self.domain.words())
        code = {label: i for i, label in enumerate(labels)}
        found = texts(values) if isinstance(level, ValueLevel) else level.apply(values).tolist()
        return np.fromiter((code.get(label, OUTSIDE) for label in found), dtype=np.int32, count=len(values))

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The hierarchy as a table, a row for each value: the value, then its label at each level above."""
        if self.values is None:
            raise UsageError(
                "this hierarchy cannot be written as a table: its domain has no list of values",
                came=self.domain.words(),
                fix="keep its specification instead",
            )
        return list(zip(*[self._labels_of_values(level) for level in self.levels], strict=True))

    def _labels_of_values(self, level: Level) -> list[str]:
        """The label of each listed value at a level."""
        values = list(self.values or ())
        if isinstance(level, ValueLevel):
            return values
        if isinstance(level, IntervalLevel):
            raw = np.array(values, dtype=DTYPES[self.type or Type.INTEGER])
            return list(level.apply(raw).tolist())
        if isinstance(level, MaskLevel):
            return level.mask_all(values)
        return list(level.apply(np.array(values, dtype=object)).tolist())

    def label_losses(self, index: int) -> Mapping[str, float] | float:
        """The loss of each label of a level: (values of the label − 1)/(values of the domain − 1), from the domain alone.

        Widths take the place of numbers of values where those cannot be counted. The answer is one number where every label
        loses the same, as the value itself (0) and one label for all (1) do.
        """
        level = self.level(index)
        if isinstance(level, ValueLevel):
            return 0.0
        if isinstance(level, TopLevel):
            return 1.0
        if isinstance(level, GroupLevel):
            sizes = Counter(level.codes)
            return {label: label_loss(sizes[code], len(level.leaves)) for code, label in enumerate(level.labels)}
        if isinstance(level, IntervalLevel):
            return dict(zip(level.labels, self._interval_losses(level), strict=True))
        if self.values is not None and not isinstance(self.domain, Pattern):
            shares = Counter(level.apply(np.array(self.values, dtype=object)).tolist())
            return {label: label_loss(count, len(self.values)) for label, count in shares.items()}
        return self.losses[index]

    def _interval_losses(self, level: IntervalLevel) -> list[float]:
        line = Line.of(self.type or Type.DECIMAL, self.domain)
        ends: list[Fraction | None] = [None, *(point(line.type, at) for at in level.edges), None]
        sizes = [line.size(a, b) for a, b in pairwise(ends)]
        total = sum(sizes, Fraction(0))
        if line.countable:
            return [label_loss(int(size), int(total)) for size in sizes]
        return [float(size / total) if total else 0.0 for size in sizes]


def check_nested(hierarchy: Hierarchy) -> None:
    """Check that a hierarchy starts at the value, ends in one label, and that each level coarsens the one before.

    Raises     PolicyError where it does not.
    """
    levels, losses = hierarchy.levels, hierarchy.losses
    if not isinstance(levels[0], ValueLevel) or not isinstance(levels[-1], TopLevel):
        raise PolicyError("a hierarchy goes from the value itself to one label for all")
    for at, (fine, coarse) in enumerate(pairwise(levels)):
        if not coarsens(fine, coarse):
            raise PolicyError(f"the levels do not nest: level {at + 1} parts what level {at} had put together")
    if any(a > b for a, b in pairwise(losses)) or losses[0] != 0 or losses[-1] != 1:
        raise PolicyError(
            "the losses of a hierarchy rise from 0 to 1", came=", ".join(f"{loss:.4g}" for loss in losses)
        )


# --- asking for a hierarchy ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IntervalEdges:
    """The inner edges of one level as points, one label more than edges, and whether its ends were declared open."""

    edges: Sequence[Any]
    labels: Sequence[str]
    open_below: bool = False
    open_above: bool = False


@dataclass(frozen=True)
class HierarchyRequest:
    """What a policy says about one hierarchy (its kind, the kind's argument and options), and the type and domain it is for."""

    kind: str
    spec: Mapping[str, Any]
    type: Type
    domain: Domain
    folder: Path | None = None

    @property
    def argument(self) -> Any:
        """What the policy writes behind the kind's own word."""
        return self.spec[self.kind]

    def option(self, name: str) -> Any:
        """The value of an option, or None."""
        return self.spec.get(name)

    def path(self) -> Path:
        """The file that the argument names, beside the policy unless it says otherwise."""
        return (self.folder or Path()) / str(self.argument)

    def error(
        self, words: str, *, came: object = None, allowed: str | None = None, fix: str | None = None
    ) -> PolicyError:
        """An error that says which kind of hierarchy it is about."""
        return PolicyError(f"hierarchy by {self.kind}: {words}", came=came, allowed=allowed, fix=fix)

    def as_list(self, raw: object) -> list[Any]:
        """A list as it is, and one thing as the list of it."""
        if isinstance(raw, Mapping) or raw is None:
            raise self.error("a list is needed", came=spell(raw), fix=f"write {self.kind}: [...]")
        return list(raw) if isinstance(raw, Sequence) and not isinstance(raw, str) else [raw]

    def build(self, levels: Iterable[Level], losses: Iterable[float], **more: Any) -> Hierarchy:
        """The hierarchy from the value itself over these levels to one label for all."""
        inner: tuple[Level, ...] = tuple(levels)
        ends = bool(inner) and isinstance(inner[-1], TopLevel)
        shares = tuple(losses)
        return Hierarchy(
            kind=self.kind,
            domain=self.domain,
            levels=(ValueLevel(), *inner) if ends else (ValueLevel(), *inner, TopLevel()),
            losses=(0.0, *shares) if ends else (0.0, *shares, 1.0),
            spec=_plain(self.spec),
            type=self.type,
            **more,
        )

    def build_intervals(self, line: Line, levels: Iterable[IntervalEdges]) -> Hierarchy:
        """The hierarchy of levels of intervals; it ends where one interval covers the domain."""
        found: list[Level] = []
        losses: list[float] = []
        for each in levels:
            if not each.edges:
                break
            edges = tuple(line.edge(at) for at in each.edges)
            found.append(IntervalLevel(edges, tuple(each.labels), each.open_below, each.open_above))
            sizes = line.sizes(each.edges)
            losses.append(loss_of_counts(map(int, sizes)) if line.countable else loss_of_widths(sizes))
        return self.build(found, losses)


def _plain(value: Any) -> Any:
    """A specification as plain Python: dicts, lists, and scalars as they came."""
    if isinstance(value, Mapping):
        return {spell(key) if not isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value
