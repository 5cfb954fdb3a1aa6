"""What is probably wrong with values that do not fit, judged by how they are written; says what to do, never a value."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from shoal.data.domain import Interval, Values
from shoal.data.file_format import FileFormat
from shoal.data.schema import Attribute
from shoal.data.type import Type
from shoal.engine.read.storage import EXACT, WORDS

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


def kinds_of(attribute: Attribute, form: FileFormat) -> str:
    """What values of the attribute's type look like."""
    return ALLOWED.get(attribute.type, "text").format(mark=form.decimal)


def unreadable(attribute: Attribute, cells: Sequence[Any], form: FileFormat) -> list[str]:
    """What to do about values that do not read as their declared type."""
    return _said(cells, [*_gaps(), *_of_type(attribute.type, form)])


def outside(attribute: Attribute, cells: Sequence[Any]) -> list[str]:
    """What to do about values that lie outside their declared domain."""
    domain = attribute.domain
    if isinstance(domain, Values):
        return _said(cells, [*_gaps(), *_near(domain)])
    if isinstance(domain, Interval):
        return _said(cells, [*_coded(attribute.type)])
    words = attribute.type in WORDS and domain is not None
    return _said(
        cells, [*_gaps(), *_padded(lambda text: bool(domain and domain.inside(_array(text))[0]))] if words else []
    )


def _said(cells: Sequence[Any], cases: Sequence[tuple[str, Looks]]) -> list[str]:
    """The sentences that are true of some cell; of each cell, the first."""
    found = [next((words for words, looks in cases if looks(cell)), None) for cell in cells]
    return [words for words, _ in cases if words in found]


def _gaps() -> Iterator[tuple[str, Looks]]:
    yield (
        (
            "some look like spellings of a missing value (NA, N/A, NULL, - and the like): list those that are in the policy, as "
            "in `file: {missing: [NA]}`"
        ),
        lambda cell: isinstance(cell, str) and cell.strip().lower() in _GAPS,
    )
    yield (
        "some hold nothing but blanks: leave these cells empty",
        lambda cell: isinstance(cell, str) and not cell.strip(),
    )


def _of_type(kind: Type, form: FileFormat) -> Iterator[tuple[str, Looks]]:
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
        other = "," if form.decimal == "." else "."
        yield (
            (
                f"some have a decimal {'comma' if other == ',' else 'point'}: say so in the policy, "
                f"`file: {{decimal: '{other}'}}`"
            ),
            _like(rf"[+-]?[0-9]*\{other}[0-9]{{1,2}}|[+-]?[0-9]*\{other}[0-9]{{4,}}|[+-]?[0-9]+\{other}[0-9]{{3}}"),
        )
        yield from _thousands()
    if kind in (Type.INTEGER, Type.DECIMAL):
        yield (
            "some carry a currency or percent sign: write the number alone",
            lambda cell: isinstance(cell, str) and re.search(r"[€$£¥%]", cell) is not None,
        )
    if kind in (Type.DATE, Type.DATETIME):
        yield (
            "some are dates with the day first and points between (31.12.2024): write them as 2024-12-31",
            _like(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2,4}.*"),
        )
        yield "some are dates with slashes: write them as 2024-12-31", _like(r"[0-9]{1,4}/[0-9]{1,2}/[0-9]{2,4}.*")
        yield "some are dates without hyphens: write them as 2024-12-31", _like(r"[0-9]{8}")
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
    """Texts that a small change turns into a declared value."""
    declared = domain.index
    folded = {value.casefold() for value in declared}
    composed = {unicodedata.normalize("NFC", value) for value in declared}
    numbers = {number for value in declared if (number := _number(value)) is not None}
    yield from _padded(lambda text: text in declared)
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


def _padded(fits: Callable[[str], bool]) -> Iterator[tuple[str, Looks]]:
    yield (
        "some differ from what is declared in blanks around them alone: take the blanks away",
        lambda cell: isinstance(cell, str) and cell != cell.strip() and fits(cell.strip()),
    )


def _coded(kind: Type) -> Iterator[tuple[str, Looks]]:
    if kind in (Type.INTEGER, Type.DECIMAL):
        yield (
            (
                "some are numbers such as -9 or 999 that often stand for a missing value: if these do, list them in the policy, "
                "as in `file: {missing: ['-9']}`"
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
