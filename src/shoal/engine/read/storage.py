"""How the columns of an input store their values, and which declared types can be read from that."""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Final

from shoal.data.schema import Attribute, FileFormat
from shoal.data.type import Type
from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


class Storage(Enum):
    """The kinds of stored values; the value of a member is how a message names it."""

    TEXT = "text"
    INTEGER = "whole numbers"
    FLOAT = "floating point numbers"
    BOOLEAN = "truth values"
    DATE = "dates"
    MOMENT = "times"
    NOTHING = "missing values alone"
    OTHER = "values that no declared type reads"


_TEXT_LIKE: Final = frozenset({Storage.TEXT, Storage.INTEGER, Storage.BOOLEAN})
READS: Final = {
    Type.INTEGER: frozenset({Storage.TEXT, Storage.INTEGER, Storage.FLOAT}),
    Type.DECIMAL: frozenset({Storage.TEXT, Storage.INTEGER, Storage.FLOAT}),
    Type.CATEGORY: _TEXT_LIKE,
    Type.ORDINAL: _TEXT_LIKE,
    Type.TEXT: _TEXT_LIKE,
    Type.BOOLEAN: frozenset({Storage.TEXT, Storage.INTEGER, Storage.BOOLEAN}),
    Type.DATE: frozenset({Storage.TEXT, Storage.DATE, Storage.MOMENT}),
    Type.DATETIME: frozenset({Storage.TEXT, Storage.DATE, Storage.MOMENT}),
}
"""A number with a fraction is no integer, a time that is not midnight no date: they are counted as unreadable."""
NAMES: Final = frozenset({Storage.TEXT, Storage.INTEGER})
"""What names people. Floating point numbers beyond 2^53, decimals with a fraction and truth values merge them."""
WORDS: Final = frozenset({Type.CATEGORY, Type.ORDINAL, Type.TEXT})
"""The types whose values are text."""

MOST_TEXT: Final = 1 << 30
"""Bytes of text in the rows that are handled at a time, where rows share texts."""
EXACT: Final = 2**53 - 1
"""A float beyond this is no exact whole number: 2^53 itself is also what 2^53 + 1 is rounded to."""

# How values are spelled where they are stored as text. Blanks around are allowed, except around text itself. The
# patterns mean the same to Python and to RE2; case is ignored.
INTEGER: Final = r"[+-]?[0-9]{1,19}"
NAME: Final = r"0|-?[1-9][0-9]{0,18}"
"""A whole number that names a person has this one spelling: as integers, 7 and 007 would be one person."""
NUMBER: Final = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,4})?"
INFINITE: Final = r"[+-]?inf(inity)?"
NOT_A_NUMBER: Final = "nan"
TRUE: Final = ("true", "yes", "1")
FALSE: Final = ("false", "no", "0")
DATE: Final = (
    r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"  # no year 0
)
MOMENT: Final = DATE + r"([t ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?z?)?"


def reads(attribute: Attribute) -> frozenset[Storage]:
    """Give the kinds of stored values that an attribute may be read from."""
    return READS[attribute.type] & NAMES if attribute.names else READS[attribute.type]


def codes_of(attribute: Attribute, form: FileFormat) -> tuple[str, ...]:
    """Give the texts that stand for a missing value of an attribute: those of its file and its own."""
    return tuple(dict.fromkeys((*form.missing, *attribute.missing_values)))


def mark_of(attribute: Attribute, form: FileFormat) -> str:
    """Give the decimal mark of an attribute where it is stored as text."""
    return form.decimal if attribute.decimal is None else attribute.decimal


def storage_of(kind: pa.DataType) -> Storage:
    """Give the kind of stored values of a column of this Arrow type."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return storage_of(kind.value_type)
    tests = (
        (Storage.TEXT, (_are_spelled, types.is_string, types.is_large_string, types.is_string_view, _whole_decimal)),
        (Storage.INTEGER, (types.is_integer,)),
        (Storage.FLOAT, (types.is_floating, types.is_decimal)),
        (Storage.BOOLEAN, (types.is_boolean,)),
        (Storage.DATE, (types.is_date,)),
        (Storage.MOMENT, (types.is_timestamp,)),
        (Storage.NOTHING, (types.is_null,)),
    )
    for storage, matching in tests:
        if any(matches(kind) for matches in matching):
            return storage
    return Storage.OTHER


@cache
def spelled_numbers() -> pa.DataType:
    """Give the type of a column of numbers that its reader spells out: whole ones without a point, as codes are.

    It is told apart from text because its decimal mark is a point whatever the policy says of the file.
    """
    import pyarrow as pa

    class SpelledNumbers(pa.ExtensionType):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(pa.large_string(), "shoal.spelled-numbers")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, _storage: pa.DataType, _serialized: bytes) -> SpelledNumbers:
            return cls()

    return SpelledNumbers()


def _are_spelled(kind: pa.DataType) -> bool:
    return bool(kind == spelled_numbers())


def _whole_decimal(kind: pa.DataType) -> bool:
    """Whether a type is an exact decimal without a fraction, which is spelled as a whole number."""
    from pyarrow import types

    return bool(types.is_decimal(kind) and kind.scale == 0)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Give the one Arrow type that stands for this type in every engine; times are in UTC and have no zone.

    Exact decimals are spelled out, as `large_string`, which tells them apart from what was text: their decimal mark is a
    point whatever the policy says of the file (`spelled_out`).
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ns" if kind.unit == "ns" else "us")
    if pa.types.is_decimal(kind) or _are_spelled(kind):
        return pa.large_string()
    plain = {
        Storage.TEXT: pa.string(),
        Storage.INTEGER: pa.uint64() if kind == pa.uint64() else pa.int64(),
        Storage.FLOAT: pa.float64(),
        Storage.BOOLEAN: pa.bool_(),
        Storage.DATE: pa.date32(),
        Storage.NOTHING: pa.string(),
    }
    return plain[storage_of(kind)]


def spelled_out(kind: pa.DataType) -> bool:
    """Whether a plain type stands for exact decimals or spelled numbers."""
    import pyarrow as pa

    return bool(kind == pa.large_string())


def plain(column: pa.Array) -> pa.Array:
    """Convert a column to its plain type. It was validated in full: what others say of bytes that are no UTF-8 quotes them."""
    import pyarrow as pa

    kind = plain_type(column.type)
    if _are_spelled(column.type):
        return column.storage
    _refuse_expansion(column)
    if pa.types.is_dictionary(column.type):
        if pa.types.is_string_view(column.type.value_type):  # Arrow does not decode these
            column = pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.large_string()))
        column = column.dictionary_decode()
    if column.type == kind:
        return column
    if pa.types.is_timestamp(column.type):
        # As a bare number it is counted in UTC; a cast to a type without a zone might mean local time.
        return column.cast(pa.int64()).cast(pa.timestamp(column.type.unit)).cast(kind)
    return _digits(column) if pa.types.is_decimal(column.type) else column.cast(kind)


def _refuse_expansion(column: pa.Array) -> None:
    """Raise where rows that refer to a few long texts would take more memory than `MOST_TEXT` when each has its own copy."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_string_view(column.type):
        views = np.frombuffer(column.buffers()[1], dtype=np.int32)[
            4 * column.offset : 4 * (column.offset + len(column))
        ]
        size = int(views[::4].sum(dtype=np.int64))
    elif pa.types.is_dictionary(column.type) and storage_of(column.type) is Storage.TEXT:
        size = _size_of_copies(column)
    else:
        return
    if size > MOST_TEXT:
        raise DataError(
            "some thousands of rows refer to texts that are too long together",
            allowed=f"{MOST_TEXT:,} bytes in {len(column):,} rows",
            fix="leave the column out, or store its texts as plain text",
        )


def _size_of_copies(column: pa.DictionaryArray) -> int:
    """The bytes that the texts of a dictionary take when each row has its own copy."""
    import numpy as np
    from pyarrow import compute

    texts = column.dictionary if _whole_decimal(column.dictionary.type) else column.dictionary.cast("large_binary")
    if texts is column.dictionary:
        return 0
    sizes = compute.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False)
    used = column.indices.drop_null().to_numpy(zero_copy_only=False)
    return int(np.bincount(used, minlength=len(sizes)).astype(np.int64)[: len(sizes)] @ sizes) if len(used) else 0


def _digits(column: pa.Array) -> pa.Array:
    """Spell exact decimals as their shortest text. A float in between would depend on how many places the column has, and
    those may come from one row.
    """
    import pyarrow as pa
    from pyarrow import compute

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    texts = column.cast(pa.string())
    if compute.any(compute.match_substring(texts, "E")).as_py():  # 1E-7, 0E-10
        texts = pa.array([None if value is None else f"{value:f}" for value in column.to_pylist()], pa.string())
    short = compute.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1")
    return compute.replace_substring_regex(short, r"\.$", "").cast(pa.large_string())
