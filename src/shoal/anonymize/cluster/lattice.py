"""Records on a lattice: every attribute in whole numbers, by a map that treats each value by itself and is declared in advance.

    column            code of a value                                   what a cluster adds up
    NumberLattice     steps of its grid above the domain's lower end    the codes
    ConceptLattice    its number among the declared values              for each concept the whole distances to its records

Sums of whole numbers are exact, so how far one record can move them is known exactly too. A domain, a hierarchy or a grid that
was read from rows would void every promise; everything here follows from the declared attribute.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.columns import (
    MOST_CONCEPTS,
    Floats,
    MetricColumn,
    NominalColumn,
    NumericColumn,
    Scale,
    leaf_order,
    numbered,
    taxonomy_of,
)
from shoal.data.domain import Line, Values, list_values
from shoal.data.schema import Attribute, Missing, Outside, Schema
from shoal.data.taxonomy import Taxonomy
from shoal.data.type import Type, texts, value_at
from shoal.errors import DataError, DomainError, PolicyError, PreconditionError, UsageError
from shoal.guarantee.centroids import CentroidAttribute

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
FINE = 1 << 20
"""The most steps of a decimal attribute's domain: its step is the least power of ten with no more."""
WIDE = 1 << 31
"""The most steps of a domain of whole numbers, dates or times: one each where they are no more, else powers of ten."""
WIDEST = 10**300
"""The widest domain of decimals: the distance of two of its values is a float."""
DISTANCE_STEPS = 1_000_000
"""Whole steps to a taxonomy distance of one."""
THEOREM = "insensitive-centroids"


@dataclass(frozen=True, eq=False)
class AttributeLattice(ABC):
    """One attribute in whole numbers: how its values are coded, ordered, and shown again."""

    attribute: Attribute

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.attribute.name

    @abstractmethod
    def centroid_attribute(self, weight: Fraction = Fraction(1)) -> CentroidAttribute:
        """What the noise of its centroids depends on."""

    @abstractmethod
    def codes(self, values: Array) -> Codes:
        """The code of each value; DataError where one is missing, DomainError where one lies outside."""

    @abstractmethod
    def column(self, codes: Codes) -> MetricColumn:
        """The codes as a column that has distances from the ends of its domain, and an order for ties."""

    @abstractmethod
    def shown(self, codes: Codes) -> Array:
        """What is published for each code of a centroid."""

    def _refuse_missing(self, values: Array) -> Array:
        data = np.ma.getdata(values)
        gone = np.ma.getmaskarray(values).copy()
        if data.dtype.kind == "f":
            gone |= np.isnan(data)
        if gone.any():
            raise DataError(
                f"attribute '{self.name}': values are missing",
                came=f"{np.count_nonzero(gone):,} of {len(gone):,}",
                allowed="none",
                fix="leave those records out, or fill them in, before the table is released",
            )
        return data


@dataclass(frozen=True, eq=False)
class NumberLattice(AttributeLattice):
    """Numbers, dates, times or ordered values: the code is the number of steps above the lower end, rounded to the nearest.

    >>> from shoal.data.domain import Interval
    >>> from shoal.data.schema import Role
    >>> NumberLattice.of(Attribute("age", Role.QUASI, Type.INTEGER, Interval(10, 110))).steps
    100
    """

    low: Fraction
    """The point of code 0."""
    step: Fraction
    """How far apart two codes are."""
    steps: int
    """The largest code: that of the domain's upper end."""
    high: Fraction = Fraction(0)
    """The domain's upper end, at which the last step ends, a whole one or less."""
    listed: Mapping[int, Fraction] | None = None
    """The codes that may be shown and their points, where the domain lists its values; None: all of them."""

    @classmethod
    def of(cls, attribute: Attribute) -> NumberLattice:
        """The lattice of a declared attribute.

        Raises     PreconditionError where no domain is declared, or it has a single value.
        """
        domain = attribute.domain
        if attribute.type is Type.ORDINAL:
            if not isinstance(domain, Values):
                raise _undeclared(attribute)
            last = len(domain.values) - 1
            return cls._checked(attribute, Fraction(0), Fraction(1), last, Fraction(last), None)
        if domain is None:
            raise _undeclared(attribute)
        try:
            line = Line.of(attribute.type, domain)
        except PolicyError:
            raise _undeclared(attribute) from None
        if line.high - line.low > WIDEST:
            raise PreconditionError(
                THEOREM,
                f"attribute '{attribute.name}': its domain is too wide for the numbers of a table",
                allowed="up to 1e300 from end to end",
                fix="declare a narrower domain, with outside: clamp",
            )
        step = grid_step(attribute.type, line.high - line.low)
        steps = ceil((line.high - line.low) / step) if step else 0
        listed: dict[int, Fraction] | None = None
        if line.listed is not None and step:
            listed = {}
            for at in line.listed:
                nearest = steps if at == line.high else int((at - line.low) / step + Fraction(1, 2))
                listed.setdefault(nearest, at)
        return cls._checked(attribute, line.low, step, steps, line.high, listed)

    @classmethod
    def _checked(
        cls,
        attribute: Attribute,
        low: Fraction,
        step: Fraction,
        steps: int,
        high: Fraction,
        listed: Mapping[int, Fraction] | None,
    ) -> NumberLattice:
        if steps < 1:
            raise PreconditionError(
                THEOREM,
                f"attribute '{attribute.name}' has a single declared value, which has no centroids to find",
                fix="leave it out of the release",
            )
        return cls(attribute, low, step, steps, high, listed)

    def centroid_attribute(self, weight: Fraction = Fraction(1)) -> CentroidAttribute:
        return CentroidAttribute(self.name, "numeric", steps=self.steps, weight=weight)

    def codes(self, values: Array) -> Codes:
        data = self._refuse_missing(values)
        if self.attribute.type is Type.ORDINAL and isinstance(self.attribute.domain, Values):
            return numbered(data, self.attribute.domain.values, self.name)
        if self.attribute.type is Type.DECIMAL:
            above = (data.astype(np.float64) - float(self.low)) / float(self.step)
            found = np.floor(above + 0.5)
            outside = ~((above > -0.5 - 1e-6) & (above < self.steps + 0.5 + 1e-6))
            last = data == float(self.high)
        else:
            points = _points(self.attribute.type, data)
            # Two whole numbers of 64 bits may be farther apart than such a number can say; without a sign there is room.
            steps, left = np.divmod(
                points.view(np.uint64) - np.uint64(int(self.low) % (1 << 64)), np.uint64(int(self.step))
            )
            found = steps + (left >= np.uint64(ceil(self.step / 2)))
            outside = (points < int(self.low)) | (found > np.uint64(self.steps))
            last = points == int(self.high)
        if outside.any():
            raise DomainError(
                f"attribute '{self.name}': {np.count_nonzero(outside):,} values outside its domain",
                allowed="" if self.attribute.domain is None else self.attribute.domain.words(),
                fix="widen the domain, or set outside: clamp",
            )
        # The upper end is a code of its own: the last step may be a short one.
        return np.where(last, self.steps, np.clip(found, 0, self.steps)).astype(np.int64)

    def column(self, codes: Codes) -> MetricColumn:
        return NumericColumn(codes, self.name, Missing.REFUSE, 0.0, float(self.steps))

    def shown(self, codes: Codes) -> Array:
        codes = self._nearest_listed(np.clip(codes, 0, self.steps))
        kind = self.attribute.type
        if kind is Type.ORDINAL and isinstance(self.attribute.domain, Values):
            return np.array(self.attribute.domain.values, dtype=object)[codes]
        different, places = np.unique(codes, return_inverse=True)
        points = [self._point(code) for code in different.tolist()]
        held = np.array([value_at(kind, at) for at in points], dtype=_DTYPES[kind])
        return np.asarray(held[places])

    def _point(self, code: int) -> Fraction:
        return min(self.high, self.low + self.step * code) if self.listed is None else self.listed[code]

    def _nearest_listed(self, codes: Codes) -> Codes:
        if self.listed is None:
            return codes
        known = np.array(list(self.listed), dtype=np.int64)
        right = np.clip(np.searchsorted(known, codes), 1, max(1, len(known) - 1))
        left = known[right - 1]
        upper = known[np.minimum(right, len(known) - 1)]
        return np.where(codes - left <= upper - codes, left, upper)


_DTYPES = {Type.INTEGER: "int64", Type.DECIMAL: "float64", Type.DATE: "datetime64[D]", Type.DATETIME: "datetime64[us]"}
_FIRST_DAY = 719_163
"""The number of 1970-01-01 among days, as `data.type.point` counts them."""


def _points(kind: Type, values: Array) -> Codes:
    if kind is Type.DATE:
        return values.astype("datetime64[D]").astype(np.int64) + _FIRST_DAY
    if kind is Type.DATETIME:
        return np.asarray(values.astype("datetime64[us]").astype(np.int64))
    return np.asarray(values.astype(np.int64))


def grid_step(kind: Type, width: Fraction) -> Fraction:
    """The step of a domain so wide: one for whole numbers, days and microseconds, a power of ten for decimals and wide domains.

    >>> grid_step(Type.DECIMAL, Fraction(100))
    Fraction(1, 10000)
    """
    most = FINE if kind is Type.DECIMAL else WIDE
    if width == 0:
        return Fraction(0)
    step = Fraction(1)
    while width / step > most:
        step *= 10
    while kind is Type.DECIMAL and width / (step / 10) <= most:
        step /= 10
    return step


@dataclass(frozen=True, eq=False)
class CodedColumn(MetricColumn):
    """A column of codes: what is true of a value is looked up in a column that holds every declared value once."""

    declared: MetricColumn | None = None

    def places(self, scale: Scale) -> Floats:
        if scale is Scale.DEVIATION:
            raise UsageError(f"attribute '{self.name}': codes have no deviation", allowed="the scale of the domain")
        return np.asarray(self._declared.places(scale)[self.values])

    def reaches(self, upper: bool) -> Floats:
        return np.asarray(self._declared.reaches(upper)[self.values])

    def keys(self) -> Array:
        return np.asarray(self._declared.keys()[self.values])

    @property
    def _declared(self) -> MetricColumn:
        if self.declared is None:
            raise UsageError(f"attribute '{self.name}': codes of no declared values", fix="give the column of values")
        return self.declared


@dataclass(frozen=True, eq=False)
class ConceptLattice(AttributeLattice):
    """Values without an order: the code is the value's number, and a centroid is a concept that is near to a cluster's values.

    `candidates` are the concepts that may be drawn: all of the declared hierarchy, or the values where none is declared.
    """

    taxonomy: Taxonomy
    candidates: tuple[str, ...]

    @classmethod
    def of(cls, attribute: Attribute) -> ConceptLattice:
        """The lattice of a declared attribute.

        Raises     PreconditionError where its values are not listed, are too many, or are one alone.
        """
        if attribute.type is Type.BOOLEAN:
            listed: tuple[str, ...] | None = ("false", "true")
        else:
            listed = None if attribute.domain is None else list_values(attribute.type, attribute.domain)
        if listed is None:
            raise _undeclared(attribute)
        if not 1 < len(listed) <= MOST_CONCEPTS:
            raise PreconditionError(
                THEOREM,
                f"attribute '{attribute.name}': no centroid can be drawn from so many values",
                came=len(listed),
                allowed=f"2 to {MOST_CONCEPTS:,} declared values",
                fix="leave it out of the release, or recode it first",
            )
        tree = taxonomy_of(attribute, np.array(listed, dtype=object))
        inner = attribute.hierarchy is not None and attribute.type is not Type.BOOLEAN
        return cls(attribute, tree, tree.nodes if inner else tuple(sorted(listed)))

    @cached_property
    def distances(self) -> Codes:
        """The distance of each candidate (rows) from each value (columns), in whole steps."""
        real = self.taxonomy.distances(self.candidates, self.taxonomy.values)
        return np.floor(real * DISTANCE_STEPS + 0.5).astype(np.int64)

    @cached_property
    def spread(self) -> int:
        """How far one replaced value moves the difference of two candidates' scores.

        The largest over values x and x' of max_c (d(c, x) − d(c, x')) − min_c (d(c, x) − d(c, x')): never more than twice the
        diameter of the whole distances.
        """
        found = 0
        for value in range(self.distances.shape[1]):
            moved = self.distances[:, [value]] - self.distances
            found = max(found, int((moved.max(axis=0) - moved.min(axis=0)).max()))
        return found

    def centroid_attribute(self, weight: Fraction = Fraction(1)) -> CentroidAttribute:
        return CentroidAttribute(
            self.name, "categorical", spread=self.spread, concepts=len(self.candidates), weight=weight
        )

    def codes(self, values: Array) -> Codes:
        data = self._refuse_missing(values)
        return numbered(np.array(texts(data), dtype=object), self.taxonomy.values, self.name)

    def column(self, codes: Codes) -> MetricColumn:
        known = np.array(self.taxonomy.values, dtype=object)
        order = leaf_order(self.attribute, self.taxonomy.values)
        once = NominalColumn(known, self.name, Missing.REFUSE, self.taxonomy, order)
        return CodedColumn(codes, self.name, Missing.REFUSE, once)

    def shown(self, codes: Codes) -> Array:
        names: Array = np.array(self.candidates, dtype=object)
        if self.attribute.type is Type.BOOLEAN:
            names = np.array([name == "true" for name in self.candidates])
        return np.asarray(names[codes])


def lattices_of(schema: Schema) -> tuple[AttributeLattice, ...]:
    """The lattice of every published attribute, in the order of the schema.

    Raises     PreconditionError where an attribute has no declared domain, or may be missing.
    """
    return tuple(lattice_of(attribute) for attribute in schema.published)


def lattice_of(attribute: Attribute) -> AttributeLattice:
    """The lattice of one attribute: by steps for what has an order, by concepts for what has none."""
    if attribute.missing is not Missing.REFUSE or attribute.outside is Outside.SUPPRESS:
        raise PreconditionError(
            THEOREM,
            f"attribute '{attribute.name}' may be missing, and a cluster has no centroid of values that are not there",
            came=f"missing: {attribute.missing.value}, outside: {attribute.outside.value}",
            allowed="missing: refuse, outside: error or clamp",
            fix="say missing: refuse, and leave out or fill in such records first; or drop the attribute",
        )
    if attribute.type.numeric or attribute.type is Type.ORDINAL:
        return NumberLattice.of(attribute)
    return ConceptLattice.of(attribute)


def _undeclared(attribute: Attribute) -> PreconditionError:
    return PreconditionError(
        THEOREM,
        f"attribute '{attribute.name}' has no declared domain, and one read from the rows would tell of them",
        came="no domain" if attribute.domain is None else attribute.domain.words(),
        allowed="two ends for numbers, dates and times; a list of values for others",
        fix="declare what values make sense; never read it from the data",
    )
