"""The parts of an attribute's domain by which two tables are compared, and how much of a label lies in each of them.

A label that stands for several values is a distribution: its records are spread evenly over the values, or over the length of
the interval, that it stands for. Nothing is dropped: a suppressed cell stands for every value of the domain.

    numbers, dates, times    up to 20 runs of the line with about equally many records of the original each; a value that has more
                             records than a run has one of its own
    names                    the values, those beyond the 40 commonest together; a text with hidden letters, such as 031**, is
                             spread over the texts of the original that it may be
    a missing value          a part of its own, the last one

The parts follow the records of the original, so what is computed with them is for the custodian alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.assess.release.labels import Label, Span
from shoal.data.domain import Line, Pattern, list_values
from shoal.data.hierarchy.level import MISSING, SUPPRESSED
from shoal.data.schema import Attribute
from shoal.data.type import Type, text_at, texts
from shoal.errors import PolicyError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

RUNS = 20
NAMES = 40
OTHER = "(other values)"
_FIRST_DAY = 719_163
"""The number of 1970-01-01 in the count of days that `point` uses."""


@dataclass(frozen=True)
class ReadColumn:
    """The cells of a column in memory: numbers as points of their line (NaN where missing), names as codes (−1 where missing)."""

    points: Floats | None
    names: tuple[str, ...]
    codes: Ints

    def __len__(self) -> int:
        return len(self.codes) if self.points is None else len(self.points)

    def take(self, rows: Ints) -> ReadColumn:
        """The same column of some rows."""
        if self.points is None:
            return ReadColumn(None, self.names, self.codes[rows])
        return ReadColumn(self.points[rows], self.names, self.codes)


def read_column(kind: Type, values: Array) -> ReadColumn:
    """Read a column of typed values, as an engine collects them; masked cells are missing."""
    gone = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.zeros(len(values), dtype=bool)
    plain = np.ma.getdata(values)
    if kind.numeric:
        if kind in (Type.DATE, Type.DATETIME):
            whole = plain.astype("datetime64[D]" if kind is Type.DATE else "datetime64[us]")
            gone = gone | np.isnat(whole)
            points = whole.astype(np.int64).astype(np.float64) + (_FIRST_DAY if kind is Type.DATE else 0)
        else:
            points = plain.astype(np.float64)
        return ReadColumn(np.where(gone, np.nan, points), (), np.empty(0, dtype=np.int64))
    if plain.dtype.kind == "O":
        gone = gone | np.array([value is None for value in plain], dtype=bool)
    shown = np.array(texts(plain[~gone]), dtype=object)
    names, inverse = np.unique(shown.astype(str), return_inverse=True)
    codes = np.full(len(plain), -1, dtype=np.int64)
    codes[~gone] = inverse.ravel()
    return ReadColumn(None, tuple(map(str, names)), codes)


@dataclass(frozen=True, eq=False)
class AttributeParts:
    """The parts of one attribute: cut points of a line, or the part of each name; the missing value has the last."""

    name: str
    type: Type
    labels: tuple[str, ...]
    """What each part is, in words."""
    ends: tuple[float, float]
    """Where a line begins and ends: the declared domain, or what the original holds."""
    edges: Floats | None
    """The inner cut points of a line, in rising order; None for names."""
    part_of: Mapping[str, int]
    """The part of each name that is known: declared, or in the original."""
    discrete: bool = False
    """Whether values lie one step apart."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def missing(self) -> int:
        """The number of the part of missing values."""
        return len(self) - 1

    @property
    def numeric(self) -> bool:
        """Whether the attribute is a line, so that means and quantiles make sense."""
        return self.edges is not None

    @property
    def ordered(self) -> bool:
        """Whether parts have an order."""
        return self.numeric or self.type is Type.ORDINAL

    def parts_of(self, column: ReadColumn) -> Ints:
        """The part of each cell; a name that is not known is among the other values."""
        if self.edges is not None and column.points is not None:
            gone = np.isnan(column.points)
            return np.where(gone, self.missing, np.searchsorted(self.edges, column.points, side="right"))
        other = self.part_of.get(OTHER, self.missing)
        place = np.array([*(self.part_of.get(name, other) for name in column.names), self.missing], dtype=np.int64)
        return place[column.codes]

    @cached_property
    def _sizes(self) -> Floats:
        """How many known names each part has."""
        return np.bincount([part for name, part in self.part_of.items() if name != OTHER], minlength=len(self)).astype(
            np.float64
        )

    def shares(self, label: Label) -> Floats:
        """How much of a label lies in each part, its records spread evenly over what it stands for."""
        found = np.zeros(len(self))
        if self.edges is not None:
            spans = [(None, None)] if label.everything else label.spans
            for low, high in map(self._clip, spans):
                found[:-1] += self._lengths(low, high)
        elif label.everything:
            found += self._sizes
        else:
            for value in label.values:
                for part in self._parts_of_name(value):
                    found[part] += 1
        total = found.sum()
        if total > 0:
            return np.asarray(found / total)
        if label.missing or not (label.spans or label.values or label.everything):
            found[self.missing] = 1.0
            return found
        # Values that the domain does not have: spread over all of it, so that a record is never dropped.
        return (
            self.shares(Label(label.text, everything=True)) if not label.everything else _unit(len(self), len(self) - 1)
        )

    def _parts_of_name(self, name: str) -> list[int]:
        """The part of a name; of a text with hidden letters, those of the names that it may be; of an unknown one, the others."""
        if name in self.part_of:
            return [self.part_of[name]]
        hidden = self._behind(name) if SUPPRESSED in name else []
        return hidden or ([self.part_of[OTHER]] if OTHER in self.part_of else [])

    def _behind(self, masked: str) -> list[int]:
        """The parts of the known names that a text with hidden letters may be, one for each name."""
        hidden = frozenset(place for place, letter in enumerate(masked) if letter == SUPPRESSED)
        key = len(masked), hidden
        if key not in self._masked:
            found: dict[str, list[int]] = {}
            for name, part in self.part_of.items():
                if len(name) == len(masked) and name != OTHER:
                    text = "".join(SUPPRESSED if place in hidden else letter for place, letter in enumerate(name))
                    found.setdefault(text, []).append(part)
            self._masked[key] = found
        return self._masked[key].get(masked, [])

    @cached_property
    def _masked(self) -> dict[tuple[int, frozenset[int]], dict[str, list[int]]]:
        """The known names by what is left of them where letters at some places are hidden."""
        return {}

    def moments(self, label: Label) -> tuple[float, float]:
        """The mean and the mean square of what a label stands for; NaN where it stands for no number."""
        if self.edges is None:
            return float("nan"), float("nan")
        spans = [self._clip(span) for span in ([(None, None)] if label.everything else label.spans)]
        widths = np.array([max(high - low, 0.0) for low, high in spans])
        if not spans:
            return float("nan"), float("nan")
        weights = widths / widths.sum() if widths.sum() > 0 else np.full(len(spans), 1 / len(spans))
        means, squares = [], []
        for (low, high), width in zip(spans, widths, strict=True):
            mean = (low + high - 1) / 2 if self.discrete else (low + high) / 2
            variance = (max(width, 1.0) ** 2 - 1) / 12 if self.discrete else width**2 / 12
            means.append(mean)
            squares.append(mean**2 + variance)
        return float(weights @ np.array(means)), float(weights @ np.array(squares))

    def coverage(self, label: Label) -> float:
        """The share of the domain that a label leaves open: 0 for one value, 1 for every value; a missing value leaves none."""
        if label.everything:
            return 1.0
        if self.edges is not None:
            step = 1.0 if self.discrete else 0.0
            whole = self.ends[1] - self.ends[0] - step
            size = sum(max(0.0, high - low) for low, high in map(self._clip, label.spans)) - step
            return float(min(1.0, max(0.0, size) / whole)) if whole > 0 and label.spans else 0.0
        known = len(self.part_of) - (OTHER in self.part_of)
        return min(1.0, max(0, len(label.values) - 1) / (known - 1)) if known > 1 else 0.0

    def _clip(self, span: Span) -> tuple[float, float]:
        """A span inside the line; one that lies beside it is left as it is."""
        low = self.ends[0] if span[0] is None else float(span[0])
        high = self.ends[1] if span[1] is None else float(span[1])
        inner = max(low, self.ends[0]), min(high, self.ends[1])
        return inner if inner[0] < inner[1] else (low, high)

    def _lengths(self, low: float, high: float) -> Floats:
        """The length of an interval in each part of the line; an interval without length counts as a point."""
        assert self.edges is not None  # noqa: S101 - of a line
        if high <= low:
            return _unit(len(self) - 1, int(np.searchsorted(self.edges, low, side="right"))) * 1e-9
        cuts = np.concatenate([[-np.inf], self.edges, [np.inf]])
        return np.asarray(np.maximum(0.0, np.minimum(high, cuts[1:]) - np.maximum(low, cuts[:-1])))


def _unit(width: int, place: int) -> Floats:
    found = np.zeros(width)
    found[place] = 1.0
    return found


def parts_of(attribute: Attribute, original: ReadColumn, runs: int = RUNS, names: int = NAMES) -> AttributeParts:
    """Divide the domain of an attribute by the records of the original, into so many runs of a line or names at most.

    >>> from shoal.data.domain import Interval
    >>> from shoal.data.schema import Role
    >>> ages = read_column(Type.INTEGER, np.arange(100))
    >>> parts = parts_of(Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 99)), ages)
    >>> len(parts), parts.labels[0], parts.labels[-1]
    (21, '< 5', '(missing)')
    """
    kind = attribute.type
    if original.points is not None:
        return _line_parts(attribute.name, kind, _line_ends(attribute, original.points), original.points, runs)
    # A pattern says how texts are spelled and not which there are: those of the original are taken.
    listed = attribute.domain is not None and not isinstance(attribute.domain, Pattern)
    declared = list_values(attribute.type, attribute.domain) if listed and attribute.domain is not None else None
    return _name_parts(attribute, kind, declared, original, names)


def _line_ends(attribute: Attribute, points: Floats) -> tuple[float, float]:
    kind, step = attribute.type, 1.0 if attribute.type.discrete else 0.0
    if attribute.domain is not None and not isinstance(attribute.domain, Pattern):
        try:
            line = Line.of(kind, attribute.domain)
        except PolicyError:
            line = None
        if line is not None:
            return float(line.low), float(line.end)
    held = points[~np.isnan(points)]
    return (float(held.min()), float(held.max()) + step) if len(held) else (0.0, 1.0)


def _line_parts(name: str, kind: Type, ends: tuple[float, float], points: Floats, runs: int) -> AttributeParts:
    held = np.sort(points[~np.isnan(points)])
    edges: Floats = np.empty(0)
    if len(held):
        values, counts = np.unique(held, return_counts=True)
        if len(values) <= runs:
            edges = values[1:]
        else:
            places = (np.arange(1, runs) * len(held) / runs).astype(np.int64)
            heavy = values[counts * runs > len(held)]
            after = heavy + 1 if kind.discrete else np.nextafter(heavy, np.inf)
            edges = np.unique(np.concatenate([held[places], heavy, after]))
            edges = edges[(edges > values[0]) & (edges <= values[-1])]
    labels = [*_line_labels(kind, edges), MISSING]
    return AttributeParts(name, kind, tuple(labels), ends, edges, {}, kind.discrete)


def _line_labels(kind: Type, edges: Floats) -> list[str]:
    if not len(edges):
        return ["every value"]
    said = [_point_text(kind, edge) for edge in edges]
    return [f"< {said[0]}", *(f"{a} to < {b}" for a, b in pairwise(said)), f">= {said[-1]}"]


def _point_text(kind: Type, at: float) -> str:
    from fractions import Fraction

    if kind is Type.DECIMAL:
        return f"{at:,.6g}"
    return text_at(kind, Fraction(round(at)))


def _name_parts(
    attribute: Attribute, kind: Type, declared: Sequence[str] | None, original: ReadColumn, most: int
) -> AttributeParts:
    counts = np.bincount(original.codes[original.codes >= 0], minlength=len(original.names))
    known = dict.fromkeys([*(declared or ()), *original.names])
    many = dict(zip(original.names, counts.tolist(), strict=True))
    kept = list(known)
    if len(kept) > most:
        place = {name: number for number, name in enumerate(known)}
        kept = sorted(sorted(known, key=lambda name: -many.get(name, 0))[: most - 1], key=place.__getitem__)
    part_of = {name: number for number, name in enumerate(kept)}
    labels = [*kept]
    if len(known) > len(kept) or declared is None:
        labels.append(OTHER)
        part_of |= {name: len(kept) for name in known if name not in part_of}
        part_of[OTHER] = len(kept)
    return AttributeParts(attribute.name, kind, (*labels, MISSING), (0.0, 1.0), None, part_of)
