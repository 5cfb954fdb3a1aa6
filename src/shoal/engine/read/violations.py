"""What does not fit the schema, counted by attribute and refused in one error that says in which rows; never a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from shoal.data.domain import Domain, Interval
from shoal.data.schema import Attribute, Missing, Outside
from shoal.data.type import Type
from shoal.engine.read import advice
from shoal.errors import DataError, DomainError, PolicyError

if TYPE_CHECKING:
    from shoal.engine.read.source import Source

LOOKED_AT = 100
"""Rows of each attribute whose cells are looked at to say what is wrong."""
NAMED = 5
"""Rows of each attribute that a message names."""


class Trouble(Enum):
    """What may be wrong with a value."""

    UNREADABLE = "some values do not read as their declared type"
    OUTSIDE = "some values lie outside their declared domain"
    MISSING = "some values are missing where the policy refuses missing values"


@dataclass(frozen=True)
class Finding:
    """Rows of one attribute that do not read as its type, are missing in the end, or lie outside its domain."""

    attribute: Attribute
    unreadable: int
    missing: int
    outside: int

    def count(self, trouble: Trouble) -> int:
        """How many rows have this trouble, as far as the policy minds."""
        if trouble is Trouble.UNREADABLE:
            return self.unreadable
        if trouble is Trouble.OUTSIDE:
            return 0 if forgiven(self.attribute) else self.outside
        return self.missing if self.attribute.missing is Missing.REFUSE else 0


def refuse(findings: Sequence[Finding], source: Source, rows_of: Callable[[int, Trouble], list[int]]) -> None:
    """Raise for the first kind of trouble, with all attributes that have it.

    `rows_of` finds the first rows, numbered from 0, in which an attribute (by its place) has the trouble.
    """
    for trouble in Trouble:
        bad = [(place, finding) for place, finding in enumerate(findings) if finding.count(trouble)]
        if bad:
            raise _error(trouble, bad, source, {place: rows_of(place, trouble) for place, _ in bad})


def _error(
    trouble: Trouble, bad: Sequence[tuple[int, Finding]], source: Source, rows: dict[int, list[int]]
) -> DataError:
    found = [(finding.attribute, finding.count(trouble), rows[place]) for place, finding in bad]
    came = ", ".join(f"'{one.name}' in {_rows(count, numbers)}" for one, count, numbers in found)
    hints: Iterable[str] = ()
    if trouble is not Trouble.MISSING:
        cells = source.cells(rows)
        hints = dict.fromkeys(
            hint for place, finding in bad for hint in _hints(trouble, finding.attribute, cells[place], source)
        )
    kind = DomainError if trouble is Trouble.OUTSIDE else DataError
    error = kind(
        trouble.value,
        came=f"{came}{source.counted_from}",
        allowed=_allowed(trouble, [one for one, _, _ in found], source),
        fix="; ".join([*hints, _fix(trouble, bool(hints))]),
    )
    error.rows = {one.name: tuple(number + 1 for number in numbers) for one, _, numbers in found}
    return error


def _hints(trouble: Trouble, attribute: Attribute, cells: Sequence[Any], source: Source) -> list[str]:
    if trouble is Trouble.UNREADABLE:
        return advice.unreadable(attribute, cells, source.form)
    return advice.outside(attribute, cells)


def _allowed(trouble: Trouble, attributes: Sequence[Attribute], source: Source) -> str | None:
    if trouble is Trouble.UNREADABLE:
        return ", ".join(f"'{one.name}' {one.type.value} ({advice.kinds_of(one, source.form)})" for one in attributes)
    if trouble is Trouble.OUTSIDE:
        return ", ".join(f"'{one.name}' {_words(one.domain)}" for one in attributes)
    return None


def _fix(trouble: Trouble, hinted: bool) -> str:
    otherwise = "otherwise " if hinted else ""
    if trouble is Trouble.UNREADABLE:
        return f"{otherwise}correct the file, or declare the type that the column has"
    if trouble is Trouble.OUTSIDE:
        return f"{otherwise}correct the file, widen the domain, or set outside: clamp or suppress"
    return "correct the file, or set missing: value"


def forgiven(attribute: Attribute) -> bool:
    """Whether values outside are changed and not refused; only an interval has an end to clamp to."""
    if attribute.outside is Outside.CLAMP:
        return isinstance(attribute.domain, Interval)
    return attribute.outside is Outside.SUPPRESS


def refuse_domain(attribute: Attribute) -> None:
    """Raise where a domain cannot be held against values of the type."""
    listed = attribute.domain is not None and not isinstance(attribute.domain, Interval)
    if listed and attribute.type in (Type.DECIMAL, Type.DATETIME):
        raise PolicyError(
            f"attribute '{attribute.name}': decimals and times have no list or pattern of values",
            allowed="a domain from a lowest to a highest value",
        )
    if isinstance(attribute.domain, Interval) and not attribute.type.numeric:
        raise PolicyError(
            f"attribute '{attribute.name}': a domain from low to high needs numbers, dates or times",
            came=attribute.type.value,
        )


def _rows(count: int, numbers: Sequence[int]) -> str:
    named = ", ".join(str(number + 1) for number in numbers[:NAMED]) + (", …" if count > NAMED else "")
    return f"{count:,} row{'s' * (count != 1)} ({named})"


def _words(domain: Domain | None) -> str:
    return "every finite number" if domain is None else domain.words()
