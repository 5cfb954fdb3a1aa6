"""Sets of values that a policy names in a rule: one value, a list of values, or the two ends of a range; and their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.data.cells import AttributeCells, label_values
from shoal.data.domain import Interval, Line, Values, list_values
from shoal.data.schema import Attribute
from shoal.data.type import point, text_at
from shoal.errors import PolicyError


@dataclass(frozen=True)
class DeclaredValues:
    """Values of one attribute: those from `low` to before `end` on the line of a number, date or time, or those listed.

    Of numbers that cannot be counted, such as decimals, the upper end of a range belongs to it only where the domain ends there.
    """

    attribute: Attribute
    listed: frozenset[str] = frozenset()
    low: Fraction | None = None
    end: Fraction | None = None

    @classmethod
    def of(cls, attribute: Attribute, values: Sequence[str]) -> DeclaredValues:
        """The set that a rule names; two values of a number, date or time are the ends of a range.

        Raises     PolicyError where a value is not in the declared domain, or a range ends before it begins.

        >>> from shoal.data.schema import Role
        >>> from shoal.data.type import Type
        >>> age = Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 110))
        >>> DeclaredValues.of(age, ("0", "15")).end
        Fraction(16, 1)
        """
        for value in values:
            _refuse_outside(attribute, value)
        values = tuple(dict.fromkeys(_spelling(attribute, value) for value in values))
        if not attribute.type.numeric or len(values) != 2 or attribute.domain is None:
            return cls(attribute, frozenset(values))
        low, high = (point(attribute.type, value) for value in values)
        if low > high:
            raise PolicyError("a range ends before it begins", came=" to ".join(values), allowed="[low, high]")
        if isinstance(attribute.domain, Values):
            between = (each for each in attribute.domain.values if low <= point(attribute.type, each) <= high)
            return cls(attribute, frozenset(_spelling(attribute, each) for each in between))
        return cls(attribute, low=low, end=high + 1 if attribute.type.discrete else high)

    def holds(self, value: str) -> bool:
        """Whether a listed value of the domain belongs to the set."""
        if self.low is None or self.end is None:
            return _spelling(self.attribute, value) in self.listed
        return self.low <= point(self.attribute.type, value) < self.end

    def words(self) -> list[str]:
        """The set as a policy writes it, one way for each meaning."""
        if self.low is None or self.end is None:
            kind = self.attribute.type
            return sorted(self.listed, key=lambda text: point(kind, text)) if kind.numeric else sorted(self.listed)
        last = self.end - 1 if self.attribute.type.discrete else self.end
        return [text_at(self.attribute.type, at) for at in (self.low, last)]

    def cells(self, cells: AttributeCells) -> tuple[bool, ...]:
        """Which cells of the attribute lie in the set; the cell of missing values never does.

        Raises     PolicyError where a cell lies partly in it, so that nobody could say of a row in that cell whether it does.
        """
        values = None if self.attribute.domain is None else list_values(self.attribute.type, self.attribute.domain)
        inside = self._of_spans(cells) if values is None else self._of_values(cells, values)
        if inside is None or None in inside:
            partly = "" if inside is None else cells.labels[inside.index(None)]
            raise PolicyError(
                f"attribute '{self.attribute.name}': the values lie partly in a cell, which cannot be told apart",
                came=partly or "values that cannot be listed",
                allowed="ranges and lists that end where cells end",
                fix="end the range where a cell ends, or take a finer level of its hierarchy",
            )
        return tuple(bool(each) for each in inside)

    def _of_values(self, cells: AttributeCells, values: Sequence[str]) -> list[bool | None]:
        """True for a cell whose values are all in the set, False for one that has none of them, None for one that has some."""
        code = {label: number for number, label in enumerate(cells.labels)}
        found: list[list[int]] = [[0, 0] for _ in cells.labels]
        for value, label in zip(values, label_values(self.attribute, cells.level, values), strict=True):
            found[code[label]][self.holds(value)] += 1
        return [None if out and held else bool(held) for out, held in found]

    def _of_spans(self, cells: AttributeCells) -> list[bool | None] | None:
        """The same for the cells of a line whose values cannot be listed; None where nothing can be said."""
        if cells.bounds is None or self.low is None or self.end is None:
            return None
        found: list[bool | None] = []
        for first, last in zip(cells.bounds, cells.bounds[1:], strict=False):
            if self.low <= first and last <= self.end:
                found.append(True)
            else:
                found.append(False if last <= self.low or self.end <= first else None)
        return [*found, *[False] * (len(cells) - len(found))]


def _refuse_outside(attribute: Attribute, value: str) -> None:
    domain = attribute.domain
    if domain is None:
        return
    if isinstance(domain, Interval) or attribute.type.numeric:
        at, line = point(attribute.type, value), Line.of(attribute.type, domain)
        inside = line.low <= at <= line.high and (line.listed is None or at in line.listed)
    else:
        inside = bool(domain.inside(np.array([value], dtype=object))[0])
    if not inside:
        raise PolicyError("a value that is not in the domain", came=value, allowed=domain.words())


def _spelling(attribute: Attribute, value: str) -> str:
    """One spelling for each number or date, and texts as they are."""
    return text_at(attribute.type, point(attribute.type, value)) if attribute.type.numeric else value
