"""What does not fit the schema, counted by attribute and refused in one error; never a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.data.domain import Domain, Interval
from shoal.data.schema import Attribute, Missing, Outside
from shoal.data.type import Type
from shoal.errors import DataError, DomainError, PolicyError


@dataclass(frozen=True)
class Finding:
    """Rows of one attribute that do not read as its type, are missing in the end, or lie outside its domain."""

    attribute: Attribute
    unreadable: int
    missing: int
    outside: int


def refuse(findings: Sequence[Finding]) -> None:
    """Raise for the first kind of trouble, with all attributes that have it."""
    unreadable = [
        f"'{f.attribute.name}' ({f.attribute.type.value}, {_rows(f.unreadable)})" for f in findings if f.unreadable
    ]
    if unreadable:
        raise DataError(
            "some values do not read as their declared type",
            came=", ".join(unreadable),
            fix="correct the file, or declare the type that the column has",
        )
    outside = [
        f"'{f.attribute.name}' ({_words(f.attribute.domain)}, {_rows(f.outside)})"
        for f in findings
        if f.outside and not forgiven(f.attribute)
    ]
    if outside:
        raise DomainError(
            "some values lie outside their declared domain",
            came=", ".join(outside),
            fix="correct the file, widen the domain, or set outside: clamp or suppress",
        )
    missing = [
        f"'{f.attribute.name}' ({_rows(f.missing)})"
        for f in findings
        if f.missing and f.attribute.missing is Missing.REFUSE
    ]
    if missing:
        raise DataError(
            "some values are missing where the policy refuses missing values",
            came=", ".join(missing),
            fix="correct the file, or set missing: value",
        )


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


def _rows(count: int) -> str:
    return f"{count:,} row" + "s" * (count != 1)


def _words(domain: Domain | None) -> str:
    return "every finite number" if domain is None else domain.words()
