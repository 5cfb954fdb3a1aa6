"""SQL expressions for DuckDB, as text: reading a value by its declared type, checking its domain, recoding, ordering.

No text here comes from a table. Columns are called c0, c1, …; what a policy declares is either a literal of a
number or a date, or lies in a table of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.date_format import CENTURY, MONTHS
from shoal.data.domain import Interval
from shoal.data.hierarchy.level import MaskLevel
from shoal.data.schema import Attribute, FileFormat, Outside
from shoal.data.type import Type
from shoal.engine.column import DTYPES
from shoal.engine.read import storage
from shoal.engine.read.storage import WORDS, Storage

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {
    Type.INTEGER: "BIGINT",
    Type.DECIMAL: "DOUBLE",
    Type.BOOLEAN: "BOOLEAN",
    Type.DATE: "DATE",
    Type.DATETIME: "TIMESTAMP",
    **dict.fromkeys(WORDS, "VARCHAR"),
}


NEVER = "FALSE"


def quote(text: str, mark: str = "'") -> str:
    """Quote a string (or, with the mark '"', a name) for SQL."""
    return mark + text.replace(mark, mark * 2) + mark


def literal(value: Any, kind: Type) -> str:
    """Write a number, date or time of a policy as an SQL literal."""
    scalar = np.array(value, dtype=object).astype(DTYPES[kind])[()]
    return f"CAST({quote(str(scalar).replace('T', ' '))} AS {TYPES[kind]})"


def names(count: int, prefix: str = "c") -> list[str]:
    """Give the column names c0, c1, …"""
    return [f"{prefix}{place}" for place in range(count)]


def order_by(columns: Sequence[str]) -> str:
    """Order by these columns, missing first; text is compared byte by byte, which is code point by code point."""
    return ", ".join(f"{column} ASC NULLS FIRST" for column in columns)


def grouping_bits(columns: Sequence[str]) -> dict[str, int]:
    """Give what `grouping_id` of these columns is where only one of them is grouped by: a bit for each of the others."""
    every = (1 << len(columns)) - 1
    return {x: every ^ (1 << (len(columns) - 1 - place)) for place, x in enumerate(columns)}


def read_value(x: str, kind: pa.DataType, attribute: Attribute, form: FileFormat) -> tuple[str, str]:
    """Give the SQL for the value of a stored column as its declared type, and the SQL that says whether it does not read as one.

    A text that is a missing code is missing before it is read; of other columns, a value that is one.
    """
    wanted, codes = attribute.type, storage.codes_of(attribute, form)
    if storage.storage_of(kind) is Storage.TEXT and not storage.spelled_out(kind):
        if codes:
            bare = x if wanted in WORDS else f"trim({x})"
            x = f"CASE WHEN {bare} NOT IN ({', '.join(map(quote, codes))}) THEN {x} END"
        return _read_type(_with_point(x, attribute, form), kind, attribute)
    value, wrong = _read_type(x, kind, attribute)
    if not codes:
        return value, wrong
    typed = [_of_written(_with_point(quote(code), attribute, form), kind, attribute) for code in codes]
    return (
        f"CASE WHEN {value} IN ({', '.join(typed)}) THEN NULL ELSE {value} END",
        wrong,
    )  # a code of no such type is NULL


def _with_point(x: str, attribute: Attribute, form: FileFormat) -> str:
    """Replace the decimal mark of an attribute by the point that DuckDB reads."""
    mark = storage.mark_of(attribute, form)
    if mark == "." or attribute.type is not Type.DECIMAL:
        return x
    return f"translate({x}, '{mark}.', '.{mark}')"


def _of_written(x: str, kind: pa.DataType, attribute: Attribute) -> str:
    """Give the value of a text: by the declared date format, or as its type is spelled; NULL where it is none."""
    form = attribute.format
    if form is None:
        return _of_text(x, kind, attribute.type)
    t, pattern = f"trim({x})", quote(f"^{form.pattern}$")
    held = {sign: f"regexp_extract({t}, {pattern}, {at})" for at, sign in enumerate(form.signs, start=1)}
    iso = f"{_year(held)} || '-' || {_month(held)} || '-' || {_two(held['%d'])}"
    if form.has_time:
        iso += f" || ' ' || {_hour(held)}"
        iso += "".join(f" || ':' || {_two(held[sign]) if sign in held else quote('00')}" for sign in ("%M", "%S"))
        iso += f" || '.' || {held['%f']}" if "%f" in held else ""
    return f"CASE WHEN regexp_matches({t}, {pattern}) THEN TRY_CAST({iso} AS {TYPES[attribute.type]}) END"


def _two(x: str) -> str:
    return f"lpad({x}, 2, '0')"


def _year(held: Mapping[str, str]) -> str:
    if "%Y" in held:
        return held["%Y"]
    return f"CASE WHEN {held['%y']} >= '{CENTURY}' THEN '19' ELSE '20' END || {held['%y']}"


def _month(held: Mapping[str, str]) -> str:
    if "%m" in held:
        return _two(held["%m"])
    name = f"lower(left({held.get('%b', held.get('%B'))}, 3))"
    cases = [f"WHEN {quote(month[:3].lower())} THEN '{at:02d}'" for at, month in enumerate(MONTHS, start=1)]
    return f"CASE {name} {' '.join(cases)} END"


def _hour(held: Mapping[str, str]) -> str:
    if "%H" in held:
        return _two(held["%H"])
    hour = f"CAST({held['%I']} AS INTEGER)"
    later = f"CASE WHEN lower({held['%p']}) = 'pm' THEN 12 ELSE 0 END"
    return _two(f"CAST({hour} % 12 + {later} AS VARCHAR)")


def _read_type(x: str, kind: pa.DataType, attribute: Attribute) -> tuple[str, str]:
    held, wanted = storage.storage_of(kind), attribute.type
    if attribute.names and held is Storage.TEXT and wanted is Type.INTEGER:
        value = f"CASE WHEN {_matches(x, storage.NAME)} THEN TRY_CAST({x} AS BIGINT) END"
        return value, f"({value} IS NULL AND {x} IS NOT NULL)"
    value = _of_written(x, kind, attribute) if held is Storage.TEXT else _READ[held](x, kind, wanted)
    if _always(held, kind, wanted):
        return value, NEVER
    absent = f"{x} IS NULL"
    if held is Storage.FLOAT:
        absent += f" OR {not_a_number(x)}"
    if held is Storage.TEXT and wanted is Type.DECIMAL:
        absent += f" OR lower(trim({x})) = '{storage.NOT_A_NUMBER}'"
    return value, f"({value} IS NULL AND NOT ({absent}))"


def _always(held: Storage, kind: pa.DataType, wanted: Type) -> bool:
    """Whether every value of a column reads as its declared type."""
    if held is Storage.TEXT:
        return wanted in WORDS
    if held is Storage.INTEGER:
        return str(kind) != "uint64" and wanted is not Type.BOOLEAN
    if held is Storage.MOMENT:
        return str(kind.unit) != "ns" and wanted is Type.DATETIME
    return not (held is Storage.FLOAT and wanted is Type.INTEGER)


def _matches(x: str, pattern: str) -> str:
    return f"regexp_full_match({x}, {quote(pattern)}, 'i')"


def _of_text(x: str, _: pa.DataType, wanted: Type) -> str:
    t = f"trim({x})"
    if wanted is Type.INTEGER:
        return f"CASE WHEN {_matches(t, storage.INTEGER)} THEN TRY_CAST({t} AS BIGINT) END"
    if wanted is Type.DECIMAL:
        infinite = f"CASE WHEN {t}[1] = '-' THEN '-inf'::DOUBLE ELSE 'inf'::DOUBLE END"
        return (
            f"(CASE WHEN {_matches(t, storage.NUMBER)} THEN TRY_CAST({t} AS DOUBLE)"
            f" WHEN {_matches(t, storage.INFINITE)} THEN {infinite} END + 0.0::DOUBLE)"
        )
    if wanted is Type.BOOLEAN:
        true, false = (", ".join(map(quote, words)) for words in (storage.TRUE, storage.FALSE))
        return f"CASE WHEN lower({t}) IN ({true}) THEN TRUE WHEN lower({t}) IN ({false}) THEN FALSE END"
    if wanted is Type.DATE:
        return f"CASE WHEN {_matches(t, storage.DATE)} THEN TRY_CAST({t} AS DATE) END"
    if wanted is Type.DATETIME:
        bare = f"rtrim(replace(upper({t}), 'T', ' '), 'Z')"
        padding = f"CASE length({bare}) WHEN 10 THEN ' 00:00:00' WHEN 16 THEN ':00' ELSE '' END"
        return f"CASE WHEN {_matches(t, storage.MOMENT)} THEN TRY_CAST({bare} || {padding} AS TIMESTAMP) END"
    return x


def _of_integer(x: str, kind: pa.DataType, wanted: Type) -> str:
    if wanted is Type.BOOLEAN:
        return f"CASE {x} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END"
    cast = "TRY_CAST" if str(kind) == "uint64" else "CAST"
    return f"{cast}({x} AS {TYPES[wanted]})"


def not_a_number(x: str) -> str:
    """Whether a stored float is NaN."""
    return f"isnan({x})"


def _of_float(x: str, _: pa.DataType, wanted: Type) -> str:
    if wanted is Type.INTEGER:
        limit = f"{storage.EXACT}::DOUBLE"
        return f"CASE WHEN {x} = trunc({x}) AND abs({x}) <= {limit} THEN TRY_CAST({x} AS BIGINT) END"
    return f"CASE WHEN NOT {not_a_number(x)} THEN CAST({x} AS DOUBLE) + 0.0::DOUBLE END"


def _of_boolean(x: str, _: pa.DataType, wanted: Type) -> str:
    return x if wanted is Type.BOOLEAN else f"CAST({x} AS VARCHAR)"


def _of_date(x: str, _: pa.DataType, wanted: Type) -> str:
    return f"CAST({x} AS {TYPES[wanted]})"


def _of_moment(x: str, kind: pa.DataType, wanted: Type) -> str:
    moment = f"make_timestamp(epoch_us({x}))"  # in UTC, whether or not the column knows a zone
    if kind.unit == "ns":
        moment = f"CASE WHEN epoch_ns({x}) % 1000 = 0 THEN make_timestamp(epoch_ns({x}) // 1000) END"
    if wanted is Type.DATE:
        return f"CASE WHEN {moment} = date_trunc('day', {moment}) THEN CAST({moment} AS DATE) END"
    return moment


def _of_nothing(_: str, __: pa.DataType, wanted: Type) -> str:
    return f"CAST(NULL AS {TYPES[wanted]})"


_READ = {
    Storage.TEXT: _of_text,
    Storage.INTEGER: _of_integer,
    Storage.FLOAT: _of_float,
    Storage.BOOLEAN: _of_boolean,
    Storage.DATE: _of_date,
    Storage.MOMENT: _of_moment,
    Storage.NOTHING: _of_nothing,
}


def outside(v: str, attribute: Attribute, listed: str | None, *, inside: bool) -> str:
    """Whether a value lies outside its domain; `listed` is a table of the texts inside it, or of those outside."""
    infinite = f"isinf({v})" if attribute.type is Type.DECIMAL else NEVER
    if isinstance(attribute.domain, Interval):
        low, high = (literal(end, attribute.type) for end in (attribute.domain.low, attribute.domain.high))
        return f"({v} < {low} OR {v} > {high} OR {infinite})"
    if listed is None:
        return infinite
    return f"(CAST({v} AS VARCHAR) {'NOT IN' if inside else 'IN'} (FROM {listed}))"


def apply_outside_rule(v: str, attribute: Attribute, out: str) -> str:
    """Clamp or suppress a value that lies outside its domain, as the policy says."""
    if attribute.outside is Outside.SUPPRESS:
        return f"CASE WHEN {out} THEN NULL ELSE {v} END"
    if attribute.outside is Outside.CLAMP and isinstance(attribute.domain, Interval):
        low, high = (literal(end, attribute.type) for end in (attribute.domain.low, attribute.domain.high))
        return f"CASE WHEN {v} < {low} THEN {low} WHEN {v} > {high} THEN {high} ELSE {v} END"
    return v


def interval_code(x: str, edges: Sequence[str], codes: Sequence[int]) -> str:
    """Give the code of the interval that a value lies in, by binary search: a hundred edges cost seven comparisons."""
    if not edges:
        return str(codes[0])
    middle = len(edges) // 2
    below = interval_code(x, edges[:middle], codes[: middle + 1])
    above = interval_code(x, edges[middle + 1 :], codes[middle + 1 :])
    return f"CASE WHEN {x} < {edges[middle]} THEN {below} ELSE {above} END"


def mask(x: str, level: MaskLevel) -> str:
    """Mask a text as a level says; letters are code points."""
    hidden = f"greatest(length({x}) - {level.kept}, 0)"
    stars = f"repeat({quote(level.letter)}, {hidden})"
    if level.side == "right":
        return f"left({x}, {level.kept}) || {stars}"
    return f"{stars} || substring({x}, {hidden} + 1)"


def code_type(labels: int) -> str:
    """Give the smallest integer type with a code for so many labels."""
    return "UTINYINT" if labels <= 1 << 8 else "USMALLINT" if labels <= 1 << 16 else "UINTEGER"
