"""Expressions for Spark: reading a value by its declared type, checking its domain, recoding, ordering.

Values travel in few types: whole numbers as bigint, decimals as double, dates as days and times as microseconds since 1970, truth
values as boolean, everything else as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import functions as F

from shoal.data.date_format import CENTURY, MONTHS
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.level import MaskLevel
from shoal.data.schema import Attribute, FileFormat, Outside
from shoal.data.type import Type
from shoal.engine.column import DTYPES
from shoal.engine.read import storage
from shoal.engine.read.storage import WORDS, Storage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

BLANKS = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""What is taken away around numbers, dates and truth values: the blanks of Unicode, as DuckDB has them."""
DAY = 86_400_000_000
"""Microseconds of a day."""
TYPES = {
    Type.INTEGER: "bigint",
    Type.DECIMAL: "double",
    Type.BOOLEAN: "boolean",
    Type.DATE: "int",
    Type.DATETIME: "bigint",
    **dict.fromkeys(WORDS, "string"),
}
ARROW_TYPES = {Type.DATE: "int32", Type.DATETIME: "int64"}


def names(count: int, prefix: str = "c") -> list[str]:
    """Give the column names c0, c1, …"""
    return [f"{prefix}{place}" for place in range(count)]


def number_of(value: Any, kind: Type) -> Any:
    """Give a number, date or time of a policy as the plain number in which values of the type travel."""
    scalar = np.array(value, dtype=object).astype(DTYPES[kind])[()]
    return (
        int(scalar.astype(np.int64))
        if kind in (Type.DATE, Type.DATETIME)
        else scalar.item()
        if hasattr(scalar, "item")
        else scalar
    )


def literal(value: Any, kind: Type) -> Column:
    """Write a number, date or time of a policy as a literal."""
    return F.lit(number_of(value, kind)).cast(TYPES[kind])


def as_text(x: Column, kind: Type) -> Column:
    """Give a value as the text by which hierarchies and lists name it."""
    if kind is Type.DATE:
        return F.date_from_unix_date(x).cast("string")
    return x if kind in WORDS else x.cast("string")


def read_value(x: Column, kind: pa.DataType, attribute: Attribute, form: FileFormat) -> tuple[Column, Column | None]:
    """Give the expression for a stored column as its declared type, and the one that says whether it does not read as one.

    The second is None where every value reads. A text that is a missing code is missing before it is read; of other columns, a
    value that is one.
    """
    wanted, codes = attribute.type, storage.codes_of(attribute, form)
    if storage.storage_of(kind) is Storage.TEXT and not storage.spelled_out(kind):
        if codes:
            bare = x if wanted in WORDS else _trim(x)
            x = F.when(~bare.isin(list(codes)), x)
        return _read_type(_with_point(x, attribute, form), kind, attribute)
    value, wrong = _read_type(x, kind, attribute)
    if not codes:
        return value, wrong
    typed = [_of_written(_with_point(F.lit(code), attribute, form), attribute) for code in codes]
    same = reduce(lambda a, b: a | b, [F.coalesce(value == each, F.lit(False)) for each in typed])
    return F.when(~same, value), wrong


def _with_point(x: Column, attribute: Attribute, form: FileFormat) -> Column:
    """Replace the decimal mark of an attribute by a point."""
    mark = storage.mark_of(attribute, form)
    if mark == "." or attribute.type is not Type.DECIMAL:
        return x
    return F.translate(x, f"{mark}.", f".{mark}")


def _of_written(x: Column, attribute: Attribute) -> Column:
    """Give the value of a text: by the declared date format, or as its type is spelled; missing where it is none."""
    form = attribute.format
    if form is None:
        return _of_text(x, attribute.type)
    t, pattern = _trim(x), rf"\A{form.pattern}\z"
    held = {sign: F.regexp_extract(t, pattern, at) for at, sign in enumerate(form.signs, start=1)}
    parts = [_year(held), F.lit("-"), _month(held), F.lit("-"), _two(held["%d"])]
    if form.has_time:
        parts += [F.lit(" "), _hour(held)]
        for sign in ("%M", "%S"):
            parts += [F.lit(":"), _two(held[sign]) if sign in held else F.lit("00")]
        parts += [F.lit("."), held["%f"]] if "%f" in held else []
    return F.when(t.rlike(pattern), _of_iso(F.concat(*parts), attribute.type))


def _of_iso(x: Column, wanted: Type) -> Column:
    return F.unix_date(x.try_cast("date")) if wanted is Type.DATE else F.unix_micros(x.try_cast("timestamp"))


def _trim(x: Column) -> Column:
    return F.btrim(x, F.lit(BLANKS))


def _two(x: Column) -> Column:
    return F.lpad(x, 2, "0")


def _year(held: Mapping[str, Column]) -> Column:
    if "%Y" in held:
        return held["%Y"]
    century = F.when(held["%y"] >= str(CENTURY), F.lit("19")).otherwise(F.lit("20"))
    return F.concat(century, held["%y"])


def _month(held: Mapping[str, Column]) -> Column:
    if "%m" in held:
        return _two(held["%m"])
    name = F.lower(F.substring(held["%b"] if "%b" in held else held["%B"], 1, 3))
    cases = F.lit(None).cast("string")
    for at, month in enumerate(MONTHS, start=1):
        cases = F.when(name == month[:3].lower(), F.lit(f"{at:02d}")).otherwise(cases)
    return cases


def _hour(held: Mapping[str, Column]) -> Column:
    if "%H" in held:
        return _two(held["%H"])
    later = F.when(F.lower(held["%p"]) == "pm", F.lit(12)).otherwise(F.lit(0))
    return _two((held["%I"].cast("int") % 12 + later).cast("string"))


def _read_type(x: Column, kind: pa.DataType, attribute: Attribute) -> tuple[Column, Column | None]:
    held, wanted = storage.storage_of(kind), attribute.type
    if attribute.names and held is Storage.TEXT and wanted is Type.INTEGER:
        value = F.when(_matches(x, storage.NAME), x.try_cast("bigint"))
        return value, value.isNull() & x.isNotNull()
    value = _of_written(x, attribute) if held is Storage.TEXT else _READ[held](x, kind, wanted)
    if _always(held, kind, wanted):
        return value, None
    present = x.isNotNull()
    if held is Storage.FLOAT:
        present &= ~F.isnan(x)
    if held is Storage.TEXT and wanted is Type.DECIMAL:
        present &= F.lower(_trim(x)) != storage.NOT_A_NUMBER
    return value, value.isNull() & present


def _always(held: Storage, kind: pa.DataType, wanted: Type) -> bool:
    """Whether every value of a column reads as its declared type."""
    if held is Storage.TEXT:
        return wanted in WORDS
    if held is Storage.INTEGER:
        return wanted is not Type.BOOLEAN
    if held is Storage.MOMENT:
        return str(kind.unit) != "ns" and wanted is Type.DATETIME
    return not (held is Storage.FLOAT and wanted is Type.INTEGER)


def _matches(x: Column, pattern: str) -> Column:
    return x.rlike(rf"(?i)\A(?:{pattern})\z")


def _of_text(x: Column, wanted: Type) -> Column:
    t = _trim(x)
    if wanted is Type.INTEGER:
        return F.when(_matches(t, storage.INTEGER), t.try_cast("bigint"))
    if wanted is Type.DECIMAL:
        infinite = F.when(F.substring(t, 1, 1) == "-", F.lit(float("-inf"))).otherwise(F.lit(float("inf")))
        found = F.when(_matches(t, storage.NUMBER), t.try_cast("double")).when(_matches(t, storage.INFINITE), infinite)
        return _plain_zero(found)
    if wanted is Type.BOOLEAN:
        low = F.lower(t)
        return F.when(low.isin(list(storage.TRUE)), F.lit(True)).when(low.isin(list(storage.FALSE)), F.lit(False))
    if wanted is Type.DATE:
        return F.when(_matches(t, storage.DATE), F.unix_date(t.try_cast("date")))
    if wanted is Type.DATETIME:
        bare = F.rtrim(F.replace(F.upper(t), F.lit("T"), F.lit(" ")), F.lit("Z"))
        padding = F.when(F.length(bare) == 10, F.lit(" 00:00:00")).when(F.length(bare) == 16, F.lit(":00"))
        moment = F.concat(bare, padding.otherwise(F.lit(""))).try_cast("timestamp")
        return F.when(_matches(t, storage.MOMENT), F.unix_micros(moment))
    return x


def _plain_zero(x: Column) -> Column:
    """A decimal whose zero has no sign."""
    return F.when(x == 0.0, F.lit(0.0)).otherwise(x)


def _of_integer(x: Column, _: pa.DataType, wanted: Type) -> Column:
    if wanted is Type.BOOLEAN:
        return F.when(x == 1, F.lit(True)).when(x == 0, F.lit(False))
    return x.cast(TYPES[wanted])


def _of_float(x: Column, _: pa.DataType, wanted: Type) -> Column:
    if wanted is Type.INTEGER:
        whole = (F.rint(x) == x) & (F.abs(x) <= float(storage.EXACT)) & ~F.isnan(x)
        return F.when(whole, x.cast("bigint"))
    return F.when(~F.isnan(x), _plain_zero(x))


def _of_boolean(x: Column, _: pa.DataType, wanted: Type) -> Column:
    return x if wanted is Type.BOOLEAN else x.cast("string")


def _of_date(x: Column, _: pa.DataType, wanted: Type) -> Column:
    return x if wanted is Type.DATE else x.cast("bigint") * F.lit(DAY)


def _of_moment(x: Column, kind: pa.DataType, wanted: Type) -> Column:
    moment = x
    if kind.unit == "ns":
        moment = F.when(x % 1000 == 0, divide(x, 1000))
    if wanted is Type.DATE:
        return F.when(moment % DAY == 0, divide(moment, DAY).cast("int"))
    return moment


def divide(x: Column, by: int) -> Column:
    """Divide whole numbers, rounding towards zero."""
    return F.call_function("div", x, F.lit(by).cast("bigint"))


def _of_nothing(_: Column, __: pa.DataType, wanted: Type) -> Column:
    return F.lit(None).cast(TYPES[wanted])


_READ = {
    Storage.INTEGER: _of_integer,
    Storage.FLOAT: _of_float,
    Storage.BOOLEAN: _of_boolean,
    Storage.DATE: _of_date,
    Storage.MOMENT: _of_moment,
    Storage.NOTHING: _of_nothing,
}


def outside(v: Column, attribute: Attribute) -> Column | None:
    """Whether a value lies outside its domain, an interval or a list; None where none can."""
    infinite = None
    if attribute.type is Type.DECIMAL:
        infinite = (v == float("inf")) | (v == float("-inf"))
    if isinstance(attribute.domain, Interval):
        low, high = (literal(end, attribute.type) for end in (attribute.domain.low, attribute.domain.high))
        beyond = (v < low) | (v > high)
        return F.coalesce(beyond if infinite is None else beyond | infinite, F.lit(False))
    if isinstance(attribute.domain, Values):
        return F.coalesce(~as_text(v, attribute.type).isin(list(attribute.domain.values)), F.lit(False))
    return None if infinite is None else F.coalesce(infinite, F.lit(False))


def apply_outside_rule(v: Column, attribute: Attribute, out: Column | None) -> Column:
    """Clamp or suppress a value that lies outside its domain, as the policy says."""
    if out is None:
        return v
    if attribute.outside is Outside.SUPPRESS:
        return F.when(~out, v)
    if attribute.outside is Outside.CLAMP and isinstance(attribute.domain, Interval):
        low, high = (literal(end, attribute.type) for end in (attribute.domain.low, attribute.domain.high))
        return F.when(v < low, low).when(v > high, high).otherwise(v)
    return v


def interval_code(x: str, edges: Sequence[str], codes: Sequence[int]) -> str:
    """Give the code of the interval that a value lies in, by binary search: a hundred edges cost seven comparisons."""
    if not edges:
        return str(codes[0])
    middle = len(edges) // 2
    below = interval_code(x, edges[:middle], codes[: middle + 1])
    above = interval_code(x, edges[middle + 1 :], codes[middle + 1 :])
    return f"CASE WHEN {x} < {edges[middle]} THEN {below} ELSE {above} END"


def edge(value: Any, kind: Type) -> str:
    """Write an edge of an interval as text for `interval_code`."""
    plain = number_of(value, kind)
    return f"{plain!r}D" if kind is Type.DECIMAL else f"{plain}L"


def mask(x: Column, level: MaskLevel) -> Column:
    """Mask a text as a level says; letters are code points."""
    hidden = F.greatest(F.length(x) - F.lit(level.kept), F.lit(0))
    stars = F.repeat(F.lit(level.letter), hidden)
    if level.side == "right":
        return F.concat(F.substring(x, F.lit(1), F.lit(level.kept)), stars)
    return F.concat(stars, F.substring(x, hidden + F.lit(1), F.length(x)))


def order_by(columns: Sequence[str]) -> list[Column]:
    """Order by these columns, missing first; text is compared byte by byte, which is code point by code point."""
    return [F.col(column).asc_nulls_first() for column in columns]
