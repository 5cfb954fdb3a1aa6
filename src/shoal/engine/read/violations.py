"""Values that do not fit the schema: counted by attribute, and refused in one error that says in which rows, never a value.

What is probably wrong is judged by how the values are written, and the error says what to do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

from shoal.data.domain import Domain, Interval, Values
from shoal.data.schema import Attribute, FileFormat, Missing, Outside
from shoal.data.type import Type
from shoal.engine.read.storage import EXACT, WORDS, mark_of
from shoal.errors import DataError, DomainError, PolicyError

LOOKED_AT = 100
"""How many rows of each attribute are examined to say what is wrong."""
NAMED = 5
"""Rows of each attribute that a message names."""


class Violation(Enum):
    """The ways in which a value may violate the schema."""

    UNREADABLE = "some values do not read as their declared type"
    OUTSIDE = "some values lie outside their declared domain"
    MISSING = "some values are missing where the policy refuses missing values"


@dataclass(frozen=True)
class ViolationCounts:
    """How many rows of one attribute do not read as its type, are missing in the end, or lie outside its domain."""

    attribute: Attribute
    unreadable: int
    missing: int
    outside: int

    def count(self, violation: Violation) -> int:
        """How many rows have this violation, where the policy refuses it."""
        if violation is Violation.UNREADABLE:
            return self.unreadable
        if violation is Violation.OUTSIDE:
            return 0 if is_tolerated(self.attribute) else self.outside
        return self.missing if self.attribute.missing is Missing.REFUSE else 0


class StoredCells(Protocol):
    """What a message about violations needs of an input."""

    @property
    def form(self) -> FileFormat:
        """How its text is written, as the policy says."""

    @property
    def counted_from(self) -> str:
        """How a message says where the numbers of rows begin."""

    def cells(self, rows: Mapping[int, Sequence[int]]) -> dict[int, list[Any]]:
        """Read what is stored in some rows, numbered from 0, of the columns at these positions."""


def refuse(
    findings: Sequence[ViolationCounts], opened: StoredCells, rows_of: Callable[[int, Violation], list[int]]
) -> None:
    """Raise for the first kind of violation, with all attributes that have it.

    `rows_of` finds the first rows, numbered from 0, in which an attribute (by its position) has the violation.
    """
    for violation in Violation:
        bad = [(place, finding) for place, finding in enumerate(findings) if finding.count(violation)]
        if bad:
            raise _error(violation, bad, opened, {place: rows_of(place, violation) for place, _ in bad})


def _error(
    violation: Violation, bad: Sequence[tuple[int, ViolationCounts]], opened: StoredCells, rows: dict[int, list[int]]
) -> DataError:
    found = [(finding.attribute, finding.count(violation), rows[place]) for place, finding in bad]
    came = ", ".join(f"'{one.name}' in {_rows(count, numbers)}" for one, count, numbers in found)
    hints: Iterable[str] = ()
    if violation is not Violation.MISSING:
        cells = opened.cells(rows)
        hints = dict.fromkeys(
            hint for place, finding in bad for hint in _hints(violation, finding.attribute, cells[place], opened)
        )
    kind = DomainError if violation is Violation.OUTSIDE else DataError
    error = kind(
        violation.value,
        came=f"{came}{opened.counted_from}",
        allowed=_allowed_values(violation, [one for one, _, _ in found], opened),
        fix="; ".join([*hints, _fix(violation, bool(hints), [one for one, *_ in found])]),
    )
    error.rows = {one.name: tuple(number + 1 for number in numbers) for one, _, numbers in found}
    return error


def _hints(violation: Violation, attribute: Attribute, cells: Sequence[Any], opened: StoredCells) -> list[str]:
    if violation is Violation.UNREADABLE:
        return advise_unreadable(attribute, cells, opened.form)
    return advise_outside(attribute, cells)


def _allowed_values(violation: Violation, attributes: Sequence[Attribute], opened: StoredCells) -> str | None:
    if violation is Violation.UNREADABLE:
        return ", ".join(f"'{one.name}' {one.type.value} ({describe_type(one, opened.form)})" for one in attributes)
    if violation is Violation.OUTSIDE:
        return ", ".join(f"'{one.name}' {_words(one.domain)}" for one in attributes)
    return None


def _fix(violation: Violation, hinted: bool, attributes: Sequence[Attribute]) -> str:
    otherwise = "otherwise " if hinted else ""
    if violation is Violation.UNREADABLE:
        return f"{otherwise}correct the file, or declare the type that the column has"
    if violation is Violation.OUTSIDE:
        ways = "clamp or suppress" if any(isinstance(one.domain, Interval) for one in attributes) else "suppress"
        return f"{otherwise}correct the file, widen the domain, or set outside: {ways} where the method takes it"
    return "correct the file, or set missing: value where the method takes it"


def is_tolerated(attribute: Attribute) -> bool:
    """Whether values outside the domain are changed and not refused; only an interval has an end to clamp to."""
    if attribute.outside is Outside.CLAMP:
        return isinstance(attribute.domain, Interval)
    return attribute.outside is Outside.SUPPRESS


def refuse_domain(attribute: Attribute) -> None:
    """Raise PolicyError where values of the type cannot be compared with the domain."""
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


ALLOWED: Final = {
    Type.INTEGER: "whole numbers such as 12 or -3",
    Type.DECIMAL: "numbers such as 1{mark}5",
    Type.BOOLEAN: "true, yes or 1, and false, no or 0",
    Type.DATE: "dates such as 2025-03-01",
    Type.DATETIME: "times such as 2025-03-01 14:00",
}
_GAPS: Final = frozenset(
    {
        "na",
        "n/a",
        "#n/a",
        "n.a.",
        "nan",
        "null",
        "none",
        "nil",
        "missing",
        "unknown",
        "k.a.",
        "-",
        "--",
        ".",
        "?",
        "\\n",
    }
)
_SENTINELS: Final = frozenset(
    int(sign + digit * length) for sign in "-+" for digit in "98" for length in (1, 2, 3, 4, 5)
)

Looks = Callable[[Any], bool]


def describe_type(attribute: Attribute, form: FileFormat) -> str:
    """Describe how values of the attribute's type are written."""
    if attribute.format is not None:
        return f"written as {attribute.format.words()}, by `format: '{attribute.format.text}'`"
    return ALLOWED.get(attribute.type, "text").format(mark=mark_of(attribute, form))


def advise_unreadable(attribute: Attribute, cells: Sequence[Any], form: FileFormat) -> list[str]:
    """Advise what to do about values that do not read as their declared type."""
    return _true_sentences(cells, [*_gaps(), *_of_form(attribute), *_of_type(attribute, form)])


def advise_outside(attribute: Attribute, cells: Sequence[Any]) -> list[str]:
    """Advise what to do about values that lie outside their declared domain."""
    domain = attribute.domain
    if isinstance(domain, Values):
        return _true_sentences(cells, [*_gaps(), *_near(domain)])
    if isinstance(domain, Interval):
        return _true_sentences(cells, [*_sentinels(attribute.type)])
    words = attribute.type in WORDS and domain is not None
    return _true_sentences(
        cells,
        [*_gaps(), *_blanks_around(lambda text: bool(domain and domain.inside(_array(text))[0]))] if words else [],
    )


def _true_sentences(cells: Sequence[Any], cases: Sequence[tuple[str, Looks]]) -> list[str]:
    """Select the sentences that are true of some cell; of each cell, the first."""
    found = [next((words for words, looks in cases if looks(cell)), None) for cell in cells]
    return [words for words, _ in cases if words in found]


def _gaps() -> Iterator[tuple[str, Looks]]:
    yield (
        (
            "some look like spellings of a missing value (NA, N/A, NULL, - and the like): list those that are in the policy, as "
            "in `file: {missing: [NA]}`, or as `missing_values` of the column"
        ),
        lambda cell: isinstance(cell, str) and cell.strip().lower() in _GAPS,
    )
    yield (
        "some hold nothing but blanks: leave these cells empty",
        lambda cell: isinstance(cell, str) and not cell.strip(),
    )


def _of_form(attribute: Attribute) -> Iterator[tuple[str, Looks]]:
    """Describe dates that are not written in their declared form."""
    if attribute.format is None:
        return
    matches = re.compile(attribute.format.pattern).fullmatch
    yield (
        "some are written in the declared form and are no date that there is, such as 31.02.2024: correct them",
        lambda cell: isinstance(cell, str) and matches(cell.strip()) is not None,
    )
    example = attribute.format.words()
    yield (
        f"some are written as 2024-12-31, and `format` says otherwise: leave `format` out, or write them as {example}",
        _like(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([tT ].*)?"),
    )
    yield (
        "some are written in another form than `format` says: write all of them in one, and declare that",
        _like(r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}.*|[0-9]{8}"),
    )


def _of_type(attribute: Attribute, form: FileFormat) -> Iterator[tuple[str, Looks]]:
    kind = attribute.type
    if kind is Type.INTEGER:
        yield (
            "some are whole numbers with a fraction of zero (1.0 for 1): write them without it, or declare type: decimal",
            _like(r"[+-]?[0-9]+[.,]0+"),
        )
        yield from _thousands()
        yield "some have a fraction: declare type: decimal", _any(_like(r"[+-]?[0-9]*[.,][0-9]+"), _broken)
        yield (
            (
                "some are floating point numbers from 2^53 up, which cannot tell neighbouring whole numbers apart: store the "
                "column as whole numbers or as text"
            ),
            lambda cell: isinstance(cell, float) and abs(cell) > EXACT,
        )
    if kind is Type.DECIMAL:
        other = "," if mark_of(attribute, form) == "." else "."
        yield (
            (
                f"some have a decimal {'comma' if other == ',' else 'point'}: say so in the policy, "
                f"`file: {{decimal: '{other}'}}`, or `decimal: '{other}'` for the column"
            ),
            _like(rf"[+-]?[0-9]*\{other}[0-9]{{1,2}}|[+-]?[0-9]*\{other}[0-9]{{4,}}|[+-]?[0-9]+\{other}[0-9]{{3}}"),
        )
        yield from _thousands()
    if kind in (Type.INTEGER, Type.DECIMAL):
        yield (
            "some carry a currency or percent sign: write the number alone",
            lambda cell: isinstance(cell, str) and re.search(r"[€$£¥%]", cell) is not None,
        )
    if kind in (Type.DATE, Type.DATETIME) and attribute.format is None:
        yield (
            (
                "some are dates with the day first and points between (31.12.2024): write them as 2024-12-31, or say in the "
                "policy how the column is written, `format: '%d.%m.%Y'`"
            ),
            _like(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2,4}.*"),
        )
        yield (
            (
                "some are dates with slashes: write them as 2024-12-31, or say in the policy how the column is written, "
                "`format: '%m/%d/%Y'` or `'%d/%m/%Y'`"
            ),
            _like(r"[0-9]{1,4}/[0-9]{1,2}/[0-9]{2,4}.*"),
        )
        yield (
            (
                "some are dates without hyphens: write them as 2024-12-31, or say in the policy how the column is written, "
                "`format: '%Y%m%d'`"
            ),
            _like(r"[0-9]{8}"),
        )
    if kind is Type.DATE:
        yield (
            "some have a time of day: declare type: datetime",
            _any(_like(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[tT ].+"), lambda cell: not isinstance(cell, str)),
        )
    if kind is Type.DATETIME:
        yield (
            "some have an offset from UTC: write them in UTC, without one",
            _like(r"[0-9].*[0-9][+-][0-9]{2}:?[0-9]{2}"),
        )
    if kind is Type.BOOLEAN:
        yield (
            "some are other words for true and false: write true and false, or declare type: category with these words",
            _like(r"[a-zA-Z]{1,5}"),
        )


def _thousands() -> Iterator[tuple[str, Looks]]:
    yield (
        "some have thousands separators: write 1234 for 1,234",
        _like(r"[+-]?[0-9]{1,3}([.,' \u00a0\u202f’][0-9]{3})+([.,][0-9]+)?"),
    )


def _near(domain: Values) -> Iterator[tuple[str, Looks]]:
    """Describe texts that a small change turns into a declared value."""
    declared = domain.index
    folded = {value.casefold() for value in declared}
    composed = {unicodedata.normalize("NFC", value) for value in declared}
    numbers = {number for value in declared if (number := _number(value)) is not None}
    yield from _blanks_around(lambda text: text in declared)
    yield (
        "some differ from a declared value in upper and lower case alone: write them as the domain does",
        lambda cell: isinstance(cell, str) and cell.strip().casefold() in folded,
    )
    yield (
        "some are a declared number in another spelling (1.0 or 01 for 1): write them as the domain does",
        lambda cell: _number(str(cell)) in numbers,
    )
    yield (
        "some differ from a declared value in how accents are composed: write both in Unicode's form NFC",
        lambda cell: isinstance(cell, str) and unicodedata.normalize("NFC", cell.strip()) in composed,
    )
    yield (
        "some are a declared value read in the wrong encoding: the file is in UTF-8, so leave out `file: {encoding: ...}`",
        lambda cell: isinstance(cell, str) and _reread(cell) in declared,
    )


def _blanks_around(fits: Callable[[str], bool]) -> Iterator[tuple[str, Looks]]:
    yield (
        "some differ from what is declared in blanks around them alone: take the blanks away",
        lambda cell: isinstance(cell, str) and cell != cell.strip() and fits(cell.strip()),
    )


def _sentinels(kind: Type) -> Iterator[tuple[str, Looks]]:
    if kind in (Type.INTEGER, Type.DECIMAL):
        yield (
            (
                "some are numbers such as -9 or 999 that often stand for a missing value: if these do, list them in the policy, "
                "as in `file: {missing: ['-9']}`, or as `missing_values` of the column"
            ),
            lambda cell: _number(str(cell)) in _SENTINELS,
        )


def _like(pattern: str) -> Looks:
    matches = re.compile(pattern).fullmatch
    return lambda cell: isinstance(cell, str) and matches(cell.strip()) is not None


def _any(*several: Looks) -> Looks:
    return lambda cell: any(looks(cell) for looks in several)


def _broken(cell: Any) -> bool:
    return isinstance(cell, float) and not cell.is_integer()


def _number(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", ".")) if len(text) < 40 else None
    except ValueError:
        return None


def _reread(cell: str) -> str | None:
    try:
        return cell.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return None


def _array(text: str) -> Any:
    import numpy as np

    return np.array([text], dtype=object)
