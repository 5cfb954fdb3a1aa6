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
        reader = _text_reader(attribute.type, opened.form) if text else _value_reader(attribute.type, opened.form)
        found.append(_read(attribute, column, reader))
    refuse(
        [finding for _, finding, _ in found], opened, lambda place, violation: found[place][2][violation][:LOOKED_AT]
    )
    return [values for values, _, _ in found]


def _text_reader(wanted: Type, form: FileFormat) -> Callable[[Value], Value]:
    """What reads a cell of text: codes of missing values and the decimal mark are the policy's."""
    swapped = str.maketrans({form.decimal: ".", ".": form.decimal})

    def reader(held: str) -> Value:
        if (held if wanted in WORDS else held.strip(" ")) in form.missing:
            return None
        return read(held.translate(swapped) if wanted is Type.DECIMAL else held, wanted)

    return reader


def _value_reader(wanted: Type, form: FileFormat) -> Callable[[Value], Value]:
    """What reads a value that is stored as one: it is missing where it is what a code stands for."""
    codes = typed_codes(form, wanted)

    def reader(held: Value) -> Value:
        value = read(held, wanted)
        return None if value in codes else value

    return reader


def typed_codes(form: FileFormat, wanted: Type) -> tuple[Value, ...]:
    """The missing codes of a policy as values of a type; those that are none are left out."""
    found = []
    for code in form.missing:
        try:
            found.append(_text_reader(wanted, replace(form, missing=()))(code))
        except UnreadableError:
            continue
    return tuple(value for value in found if value is not None)


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
