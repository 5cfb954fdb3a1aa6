"""Records as points: columns of different kinds made comparable, each by a declared rule.

    column          coordinate                          one unit is, by deviation         by domain (SC13 Eq 6.7)
    NumericColumn   the number                          its standard deviation            the width of the declared domain
    OrdinalColumn   the rank in the declared order      the ranks' standard deviation     the number of steps
    NominalColumn   a point for each value, as far      the records' distance from        the distance of the boundaries
                    apart as the taxonomy says          their average, root mean square   (6.2, 6.3)

With Scale.NONE a number is taken as it is. A column that does not vary has no deviation and becomes zeros; columns that repeat
each other are left, and count twice. Numbers are taken from their smallest and brought to size by a power of two before
anything is averaged, so neither an offset nor a factor of the input costs digits.

A missing value is refused, or (Missing.VALUE) a value of its own: in the middle of the others and one unit off their line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import fsum, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute, Missing
from shoal.data.taxonomy import Taxonomy
from shoal.data.type import Type, texts
from shoal.errors import DataError, DomainError, ParameterError, UsageError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Scale(Enum):
    """What one unit of a coordinate is: see the table at the top of this module."""

    DEVIATION = "deviation"  # read from the records
    DOMAIN = "domain"  # declared
    NONE = "none"  # as it comes


@dataclass(frozen=True, eq=False)
class MetricColumn(ABC):
    """One attribute of all records, with a distance between its values; None, NaN and masked values are missing.

    >>> points([NumericColumn(np.array([1.0, 3.0]))], Scale.DEVIATION).ravel().tolist()
    [-1.0, 1.0]
    """

    values: Array
    name: str = "column"
    missing: Missing = Missing.REFUSE

    @cached_property
    def absent(self) -> npt.NDArray[np.bool_]:
        """Which values are missing.

        Raises     DataError where some are and the column refuses them.
        """
        values = self.values
        gone = np.array(np.ma.getmaskarray(values))
        if values.dtype.kind == "f":
            gone |= np.isnan(np.ma.getdata(values))
        elif values.dtype.kind == "O":
            gone |= np.fromiter((v is None or v != v for v in np.ma.getdata(values)), np.bool_, len(values))  # noqa: PLR0124
        if self.missing is Missing.REFUSE and gone.any():
            raise DataError(
                f"attribute '{self.name}': values are missing",
                came=f"{np.count_nonzero(gone)} of {len(gone)}",
                allowed="none",
                fix="leave those records out, or say missing=Missing.VALUE",
            )
        return gone

    @abstractmethod
    def places(self, scale: Scale) -> Floats:
        """Coordinates of the values that are there, a row each, in units of the scale."""

    @abstractmethod
    def reaches(self, upper: bool) -> Floats:
        """How far the values that are there lie from the lower or the upper boundary of the domain, in its units."""

    @abstractmethod
    def keys(self) -> Array:
        """Numbers that order the values that are there, for ties."""

    def positions(self) -> Array:
        """Numbers that put the values that are there on a line, along which they can be cut."""
        return self.keys()

    def coordinates(self, scale: Scale) -> Floats:
        """The coordinates of all records; one more for those whose value is missing, if there are any."""
        there = ~self.absent
        found = self.places(scale)
        if there.all():
            return found
        whole = np.zeros((len(there), found.shape[1] + 1))
        whole[there, :-1] = found
        if there.any():
            whole[~there, :-1] = (found.min(axis=0) + found.max(axis=0)) / 2
        whole[~there, -1] = 1.0
        return whole

    @property
    def present(self) -> Array:
        """The values that are there."""
        values = np.ma.getdata(self.values)
        return values[~self.absent] if self.absent.any() else values

    def end(self, upper: bool) -> Floats:
        """The distance of every record from a boundary; a missing value lies beside the middle."""
        if not self.absent.any():
            return self.reaches(upper)
        whole = np.full(len(self.absent), sqrt(1.25))
        whole[~self.absent] = self.reaches(upper)
        return whole

    def order(self) -> Array:
        """Numbers that order all records, missing first."""
        if not self.absent.any():
            return self.keys()
        whole = np.full(len(self.absent), -np.inf)
        whole[~self.absent] = self.keys()
        return whole


@dataclass(frozen=True, eq=False)
class NumericColumn(MetricColumn):
    """Numbers; `low` and `high` are the declared ends of their domain."""

    low: float | None = None
    high: float | None = None

    def places(self, scale: Scale) -> Floats:
        if scale is Scale.DOMAIN:
            return self.reaches(upper=False)[:, None]
        values = self.keys()
        if not len(values):
            return np.zeros((0, 1))
        least = values.min()
        with np.errstate(over="ignore"):
            moved = (values - least).view(np.uint64) if values.dtype.kind == "i" else values - least
        if values.dtype.kind == "f" and not np.isfinite(moved).all():
            moved = values / 4 - least / 4
        line = moved.astype(np.float64)
        if scale is Scale.NONE:
            return np.asarray(line[:, None])
        return standardize(np.ldexp(line, -np.frexp(line.max())[1])[:, None])

    def reaches(self, upper: bool) -> Floats:
        low, high = self.low, self.high
        if low is None or high is None or not -np.inf < low < high < np.inf:
            raise ParameterError(
                f"attribute '{self.name}': the domain is not declared",
                came=f"{low}..{high}",
                allowed="two finite numbers, the lower first",
                fix="declare what values make sense; never read it from the data",
            )
        values = self.keys().astype(np.float64, copy=False)
        if len(values) and (values.min() < low or values.max() > high):
            raise DomainError(
                f"attribute '{self.name}': values outside its domain {low}..{high}", fix="widen the domain"
            )
        return (high - values if upper else values - low) / (high - low)

    def keys(self) -> Array:
        present = self.present
        if present.dtype.kind in "biu" and present.dtype != np.uint64:
            return present.astype(np.int64)
        try:
            numbers = present.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise DataError(f"attribute '{self.name}': values are not numbers", allowed="numbers") from None
        if np.isinf(numbers).any():
            raise DataError(f"attribute '{self.name}': values are infinite", allowed="finite numbers")
        return numbers


@dataclass(frozen=True, eq=False)
class OrdinalColumn(MetricColumn):
    """Values with a declared order, lowest first."""

    levels: Sequence[str] = ()

    def places(self, scale: Scale) -> Floats:
        ranks = self.keys()[:, None].astype(np.float64)
        if scale is Scale.DEVIATION:
            return standardize(ranks)
        return self._share(ranks) if scale is Scale.DOMAIN else ranks

    def _share(self, ranks: Floats) -> Floats:
        return ranks / max(1, len(self.levels) - 1)

    def reaches(self, upper: bool) -> Floats:
        ranks = self.keys()
        return self._share((len(self.levels) - 1 - ranks if upper else ranks).astype(np.float64))

    def keys(self) -> Array:
        return _codes(self, self.levels)


@dataclass(frozen=True, eq=False)
class NominalColumn(MetricColumn):
    """Values without an order, and a taxonomy that says how near they are; `leaves` lists them as they stand on a line."""

    taxonomy: Taxonomy | None = None
    leaves: Sequence[str] | None = None

    @property
    def tree(self) -> Taxonomy:
        """The taxonomy, or an error where there is none."""
        if self.taxonomy is None:
            raise UsageError(
                f"attribute '{self.name}': a nominal column without a taxonomy", fix="give it one, flat or deep"
            )
        return self.taxonomy

    def places(self, scale: Scale) -> Floats:
        found = embed(self.tree)[_codes(self, self.tree.values)]
        if scale is Scale.DEVIATION:
            return standardize(found)
        across = self.tree.distance(*self.tree.boundaries)
        return found / across if scale is Scale.DOMAIN and across else found

    def reaches(self, upper: bool) -> Floats:
        ends = self.tree.boundaries
        distances = self.tree.distances([ends[int(upper)]])[0] / (self.tree.distance(*ends) or 1.0)
        return np.asarray(distances[_codes(self, self.tree.values)])

    def keys(self) -> Array:
        alphabet = np.argsort(np.argsort(np.array(self.tree.values, dtype=object)))
        return alphabet[_codes(self, self.tree.values)]

    def positions(self) -> Array:
        return self.keys() if self.leaves is None else _codes(self, self.leaves)


def points(columns: Sequence[MetricColumn], scale: Scale) -> Floats:
    """The records as points whose Euclidean distance is that of SC13 Eq 6.7, or of z-scores; see the table above."""
    if not columns:
        raise UsageError("records without columns", fix="name at least one column")
    if len({len(column.values) for column in columns}) > 1:
        raise UsageError("columns of different lengths", came=", ".join(str(len(column.values)) for column in columns))
    return np.hstack([column.coordinates(scale) for column in columns])


def standardize(places: Floats) -> Floats:
    """Less their average, in units of their root mean square distance from it; zeros where nothing varies."""
    if not len(places):
        return places
    moved = places - np.array([fsum(column) / len(places) for column in places.T.tolist()])
    deviation = sqrt(fsum((moved * moved).sum(axis=1).tolist()) / len(places))
    return moved / deviation if deviation and (places != places[0]).any() else np.zeros_like(places)


def embed(tree: Taxonomy) -> Floats:
    """A point for each value of a taxonomy, such that Euclidean distances are those of Eq 6.6.

    Values are embedded one after the other, each in the space of those before it and at most one dimension more: a
    Cholesky factor, the same on every machine. Leaves at one depth are an ultrametric, which always has places, and leaves
    of no tree that we tried had none; where a value lies above another there may be none, and then every squared distance
    between different values is raised by one constant (Lingoes), as small as will do: nearer stays nearer.
    """
    squares = tree.distances() ** 2
    count = len(squares)
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    lowest = float(np.linalg.eigvalsh(-0.5 * centred)[0]) if count else 0.0
    if lowest < -1e-9:
        squares += 2 * np.ceil(-lowest * 1e6) / 1e6 * (1 - np.eye(count))
    rest = (squares[:, :1] + squares[:1] - squares) / 2
    places = np.zeros((count, count))
    for j in range(count):
        if rest[j, j] > 1e-10:
            places[:, j] = rest[:, j] / np.sqrt(rest[j, j])
            places[:j, j] = 0.0
            rest = rest - places[:, j : j + 1] * places[:, j]
    kept = places[:, (places != 0).any(axis=0)]
    return kept if kept.shape[1] else np.zeros((count, 1))


def _codes(column: MetricColumn, known: Sequence[str]) -> Array:
    """The code of each value that is not missing: its number in a declared list."""
    return numbered(column.present, known, column.name)


def numbered(values: Array, known: Sequence[str], name: str) -> npt.NDArray[np.int64]:
    """The number of each text in a declared list; DomainError, which quotes none, where one is not in it."""
    index = {value: i for i, value in enumerate(known)}
    codes = np.fromiter((index.get(value, -1) for value in values.tolist()), np.int64, len(values))
    unknown = int(np.count_nonzero(codes < 0))
    if unknown:
        raise DomainError(
            f"attribute '{name}': {unknown} values are not among the declared ones", fix="declare every value"
        )
    return codes


# --- the columns of a table -------------------------------------------------------------------------------------------

ROOT = "*"
MOST_CONCEPTS = 1_000
"""A nominal attribute with more different values than this is refused: its points would need as many dimensions."""


def columns_of(attributes: Sequence[Attribute], values: Mapping[str, Array]) -> list[MetricColumn]:
    """One column for each attribute, from arrays in row order; what is missing is masked."""
    return [column_of(attribute, values[attribute.name]) for attribute in attributes]


def column_of(attribute: Attribute, values: Array) -> MetricColumn:
    """One attribute: numbers, dates and times on a line, ordered values by rank, others by a taxonomy."""
    name, missing = attribute.name, attribute.missing
    if attribute.outside.value == "suppress":
        missing = Missing.VALUE  # what lay outside is missing now
    if attribute.type.numeric or attribute.type is Type.BOOLEAN:
        low, high = ends(attribute)
        return NumericColumn(numbers(values), name, missing, low, high)
    if attribute.type is Type.ORDINAL and isinstance(attribute.domain, Values):
        return OrdinalColumn(as_objects(values), name, missing, attribute.domain.values)
    tree = taxonomy_of(attribute, values)
    return NominalColumn(as_objects(values), name, missing, tree, leaf_order(attribute, tree.values))


def numbers(values: Array) -> Array:
    """Dates as days, times as microseconds, truth as 0 and 1; numbers as they are."""
    data, gone = np.ma.getdata(values), np.ma.getmaskarray(values)
    if data.dtype.kind in "Mb":
        data = data.astype(np.int64)
    return np.ma.masked_array(data, gone) if gone.any() else data


def as_objects(values: Array) -> Array:
    """Texts as objects, None where one is missing."""
    data = np.array(np.ma.getdata(values), dtype=object)
    data[np.ma.getmaskarray(values)] = None
    return data


def ends(attribute: Attribute) -> tuple[float | None, float | None]:
    """The declared ends of a domain of numbers, dates or times, as numbers."""
    if attribute.type is Type.BOOLEAN:
        return 0.0, 1.0
    domain = attribute.domain
    if not isinstance(domain, Interval):
        return None, None
    kind = {Type.DATE: "datetime64[D]", Type.DATETIME: "datetime64[us]"}.get(attribute.type)
    found = [np.datetime64(end).astype(kind).astype(np.int64) if kind else end for end in (domain.low, domain.high)]
    return float(found[0]), float(found[1])


def taxonomy_of(attribute: Attribute, values: Array) -> Taxonomy:
    """What says how near values are: the hierarchy's tree over the values that occur, or one concept above them all."""
    present = sorted(set(texts(np.array(np.ma.getdata(values)[~np.ma.getmaskarray(values)], dtype=object))))
    if len(present) > MOST_CONCEPTS:
        raise DataError(
            f"attribute '{attribute.name}': too many different values to compare",
            came=f"{len(present):,}",
            allowed=f"at most {MOST_CONCEPTS:,} for a column without numbers",
            fix="give it the role other or drop, or recode it first",
        )
    if attribute.hierarchy is None or not present:
        return Taxonomy({ROOT: None, **{value: ROOT for value in present if value != ROOT}}, tuple(present) or None)
    above = _labels(attribute.hierarchy, present)
    for level, labels in enumerate(above):
        if any(label is None for label in labels):
            raise DataError(
                f"attribute '{attribute.name}': its hierarchy lacks a value that occurs",
                came=f"level {level}",
                fix="add every value of the domain to the hierarchy",
            )
    rows = [tuple(str(label) for label in row) for row in zip(*above, strict=True)]
    return Taxonomy.of_rows(rows, present)


def leaf_order(attribute: Attribute, values: Sequence[str]) -> tuple[str, ...]:
    """Different values as they stand below their hierarchy: depth first, at each level in the order of the declared domain.

    So values of one label are neighbours, at every level, and of two labels the one comes first whose first value is declared
    first. Without a hierarchy it is the order of the domain; values and labels that nothing lists stand by the alphabet.
    """
    present = sorted(values)
    if attribute.hierarchy is None:
        listed = attribute.domain.values if isinstance(attribute.domain, Values) else ()
        place = {value: number for number, value in enumerate(listed)}
        return tuple(sorted(present, key=lambda value: (place.get(value, len(place)), value)))
    keys: list[list[tuple[int, str]]] = []
    for level, labels in enumerate(_labels(attribute.hierarchy, present)[: len(attribute.hierarchy)]):
        place = {label: number for number, label in enumerate(attribute.hierarchy.labels(level) or ())}
        keys.append([(place.get(str(label), len(place)), str(label)) for label in labels])
    return tuple(value for *_, value in sorted(zip(*reversed(keys), present, strict=True)))


def _labels(hierarchy: Hierarchy, present: list[str]) -> list[list[str | None]]:
    """Each value's label at each level; one concept above all where the last level is not one."""
    array = np.array(present, dtype=object)
    found: list[list[str | None]] = [
        list(present)
        if isinstance(level, ValueLevel)
        else [None if label is None else str(label) for label in level.apply(array)]
        for level in hierarchy.levels
    ]
    return found if len(set(found[-1])) <= 1 else [*found, [ROOT] * len(present)]
