"""How the oracle engine reads: each stored value by the rules of its declared type, one at a time."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.data.domain import Interval
from shoal.data.schema import Attribute, FileFormat, Outside
from shoal.data.type import Type
from shoal.engine.column import DTYPES
from shoal.engine.read import storage
from shoal.engine.read.input import Input
from shoal.engine.read.storage import WORDS, Storage
from shoal.engine.read.violations import LOOKED_AT, Violation, ViolationCounts, refuse, refuse_domain

Value = Any
LEAST, MOST = -(2**63), 2**63 - 1
MIDNIGHT = dt.time()


class UnreadableError(Exception):
    """A stored value is none of its declared type; says nothing more."""


def read_columns(opened: Input) -> list[list[Value]]:
    """All columns as lists of Python values, after every row was held against the schema."""
    stored: list[list[Value]] = [[] for _ in opened.attributes]
    for batch in opened.batches():
        for column, held in zip(stored, batch.columns, strict=True):
            column.extend(_python(held))
    found = []
    for attribute, column, kind in zip(opened.attributes, stored, opened.kinds, strict=True):
        refuse_domain(attribute)
        text = storage.storage_of(kind) is Storage.TEXT and not storage.spelled_out(kind)
        reader = _text_reader(attribute, opened.form) if text else _value_reader(attribute, opened.form)
        found.append(_read(attribute, column, reader))
    refuse(
        [finding for _, finding, _ in found], opened, lambda place, violation: found[place][2][violation][:LOOKED_AT]
    )
    return [values for values, _, _ in found]


def _text_reader(attribute: Attribute, form: FileFormat) -> Callable[[Value], Value]:
    """What reads a cell of text: codes of missing values, the decimal mark and the date format are the policy's."""
    wanted, mark = attribute.type, attribute.decimal or form.decimal
    codes = {*form.missing, *attribute.missing_values}
    swapped = str.maketrans({mark: ".", ".": mark})

    def reader(held: str) -> Value:
        if (held if wanted in WORDS else held.strip(" ")) in codes:
            return None
        if attribute.format is not None:
            return date_in_form(held.strip(" "), attribute.format.text, wanted)
        return read(held.translate(swapped) if wanted is Type.DECIMAL else held, wanted)

    return reader


def _value_reader(attribute: Attribute, form: FileFormat) -> Callable[[Value], Value]:
    """What reads a value that is stored as one: it is missing where it is what a code stands for."""
    codes = typed_codes(form, attribute)

    def reader(held: Value) -> Value:
        value = read(held, attribute.type)
        return None if value in codes else value

    return reader


def typed_codes(form: FileFormat, attribute: Attribute) -> tuple[Value, ...]:
    """The missing codes of a policy as values of a type; those that are none are left out."""
    found = []
    for code in (*form.missing, *attribute.missing_values):
        try:
            found.append(_text_reader(replace(attribute, missing_values=()), replace(form, missing=()))(code))
        except UnreadableError:
            continue
    return tuple(value for value in found if value is not None)


def date_in_form(text: str, form: str, wanted: Type) -> Value:
    """A date or time by its declared form, read letter by letter from the left."""
    told: dict[str, int] = {}
    at = 0
    parts = _parts(form)
    for place, part in enumerate(parts):
        if len(part) == 1:
            if text[at : at + 1] != part:
                raise UnreadableError
            at += 1
            continue
        beside = [*parts[max(place - 1, 0) : place], *parts[place + 1 : place + 2]]
        touching = any(each in DIGITS or each in NUMBERS for each in beside)
        told[part[1]], at = _sign(text, at, part[1], touching=touching)
    if at != len(text):
        raise UnreadableError
    return _told(told, wanted)


def _parts(form: str) -> list[str]:
    """The signs and letters of a form, in order; a doubled percent sign is a letter."""
    found: list[str] = []
    letters = iter(form)
    for letter in letters:
        sign = letter + next(letters) if letter == "%" else letter
        found.append("%" if sign == "%%" else sign)
    return found


NUMBERS = ("%Y", "%y", "%m", "%d", "%H", "%I", "%M", "%S", "%f")
DIGITS = tuple("0123456789")
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
FULL = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]


def _sign(text: str, at: int, sign: str, *, touching: bool) -> tuple[int, int]:
    """What a sign reads from a place of a text, and the place after it."""
    if sign in "bBp":
        words = {"b": MONTHS, "B": FULL, "p": ["am", "pm"]}[sign]
        for number, word in enumerate(words):
            if text[at : at + len(word)].lower() == word and text[at : at + len(word)].isascii():
                return number, at + len(word)
        raise UnreadableError
    least, most = {"Y": (4, 4), "y": (2, 2), "f": (1, 6)}.get(sign, (2 if touching else 1, 2))
    end = at
    while end < len(text) and end - at < most and text[end] in DIGITS:
        end += 1
    if end - at < least:
        raise UnreadableError
    digits = text[at:end].ljust(6, "0") if sign == "f" else text[at:end]
    return int(digits), end


def _told(told: dict[str, int], wanted: Type) -> Value:
    year = told["Y"] if "Y" in told else told["y"] + (1900 if told["y"] >= 69 else 2000)
    month = told["m"] if "m" in told else told.get("b", told.get("B", 0)) + 1
    hour = told.get("H", 0)
    if "I" in told:
        if not 1 <= told["I"] <= 12:
            raise UnreadableError
        hour = told["I"] % 12 + 12 * told["p"]
    try:
        whole = dt.datetime(year, month, told["d"], hour, told.get("M", 0), told.get("S", 0), told.get("f", 0))
    except ValueError:
        raise UnreadableError from None
    return whole.date() if wanted is Type.DATE else whole


def _python(held: Any) -> list[Value]:
    """Nanoseconds that Python's times cannot hold become a value that reads as nothing."""
    if str(held.type) != "timestamp[ns]":
        return list(held.to_pylist())
    whole = [None if value is None else divmod(value, 1000) for value in held.cast("int64").to_pylist()]
    epoch = dt.datetime(1970, 1, 1)
    return [
        None if parts is None else float("inf") if parts[1] else epoch + dt.timedelta(microseconds=parts[0])
        for parts in whole
    ]


def _read(
    attribute: Attribute, column: list[Value], reader: Callable[[Value], Value]
) -> tuple[list[Value], ViolationCounts, dict[Violation, list[int]]]:
    rows: dict[Violation, list[int]] = {violation: [] for violation in Violation}
    values: list[Value] = []
    for number, held in enumerate(column):
        try:
            value = None if held is None else reader(held)
            if value is not None and attribute.names and attribute.type is Type.INTEGER and isinstance(held, str):
                _spelled(held, storage.NAME)
        except UnreadableError:
            value = None
            rows[Violation.UNREADABLE].append(number)
        if value is not None and not _inside(value, attribute):
            value = _settled(value, attribute)
            rows[Violation.OUTSIDE].append(number)
        if value is None:
            rows[Violation.MISSING].append(number)
        values.append(value)
    counts = {violation: len(numbers) for violation, numbers in rows.items()}
    finding = ViolationCounts(
        attribute, counts[Violation.UNREADABLE], counts[Violation.MISSING], counts[Violation.OUTSIDE]
    )
    return values, finding, rows


def _inside(value: Value, attribute: Attribute) -> bool:
    if isinstance(value, float) and math.isinf(value):
        return False
    if attribute.domain is None:
        return True
    array = np.array([value], dtype=object).astype(DTYPES[attribute.type])
    if not isinstance(attribute.domain, Interval):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        array = np.array([text], dtype=object)
    return bool(attribute.domain.inside(array)[0])


def _settled(value: Value, attribute: Attribute) -> Value:
    if attribute.outside is Outside.SUPPRESS:
        return None
    if attribute.outside is Outside.CLAMP and isinstance(attribute.domain, Interval):
        ends = np.array([attribute.domain.low, attribute.domain.high], dtype=object).astype(DTYPES[attribute.type])
        low, high = ends.tolist()
        return min(max(value, low), high)
    return value


def read(held: Value, wanted: Type) -> Value:
    """One stored value as its declared type; None for a NaN; UnreadableError where it is none."""
    if isinstance(held, float) and math.isnan(held):
        return None
    value = _READERS[wanted](held.strip(" ") if isinstance(held, str) and wanted not in WORDS else held)
    return value + 0.0 if isinstance(value, float) else value


def _spelled(text: str, pattern: str) -> str:
    if not re.fullmatch(pattern, text, re.ASCII | re.IGNORECASE):
        raise UnreadableError
    return text


def _integer(held: Value) -> int:
    if isinstance(held, str):
        number = int(_spelled(held, storage.INTEGER))
    elif isinstance(held, float) and not (held.is_integer() and abs(held) <= storage.EXACT):
        raise UnreadableError
    else:
        number = int(held)
    if not LEAST <= number <= MOST:
        raise UnreadableError
    return number


def _decimal(held: Value) -> float | None:
    if isinstance(held, str):
        if held.lower() == storage.NOT_A_NUMBER:
            return None
        return float(_spelled(held, f"({storage.NUMBER})|({storage.INFINITE})"))
    return float(held)


def _boolean(held: Value) -> bool:
    if isinstance(held, bool):
        return held
    text = str(held).lower()
    if text in storage.TRUE:
        return True
    if text in storage.FALSE:
        return False
    raise UnreadableError


def _words(held: Value) -> str:
    return str(held).lower() if isinstance(held, bool) else str(held)


def _date(held: Value) -> dt.date:
    if isinstance(held, str):
        try:
            return dt.date.fromisoformat(_spelled(held, storage.DATE))
        except ValueError:
            raise UnreadableError from None
    if isinstance(held, dt.datetime):
        if held.time() != MIDNIGHT:
            raise UnreadableError
        return held.date()
    return _moment_or_date(held)


def _datetime(held: Value) -> dt.datetime:
    if isinstance(held, str):
        text = _spelled(held, storage.MOMENT).upper().removesuffix("Z").replace("T", " ")
        day, _, time = text.partition(" ")
        clock, _, fraction = time.partition(".")
        try:
            whole = dt.datetime.combine(dt.date.fromisoformat(day), dt.time.fromisoformat(clock) if clock else MIDNIGHT)
        except ValueError:
            raise UnreadableError from None
        return whole.replace(microsecond=int(fraction.ljust(6, "0"))) if fraction else whole
    if isinstance(held, dt.datetime):
        return held
    return dt.datetime.combine(_moment_or_date(held), MIDNIGHT)


def _moment_or_date(held: Value) -> dt.date:
    """Only nanoseconds are neither; see `_python`."""
    if not isinstance(held, dt.date):
        raise UnreadableError
    return held


_READERS: dict[Type, Any] = {
    Type.INTEGER: _integer,
    Type.DECIMAL: _decimal,
    Type.BOOLEAN: _boolean,
    Type.DATE: _date,
    Type.DATETIME: _datetime,
    **dict.fromkeys(WORDS, _words),
}
