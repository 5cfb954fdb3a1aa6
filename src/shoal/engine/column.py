"""What a column of a table is at one moment: its Arrow and NumPy forms, its recoding to labels, and its relabelling."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING, GroupLevel, IntervalLevel, Level, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Attribute
from shoal.data.type import Type, spell, texts
from shoal.engine.arrow_array import bare_numbers, missing_values, number_array, number_values, text_array, text_values
from shoal.engine.base import ABSENT, Array, Assignment
from shoal.engine.read.storage import WORDS
from shoal.errors import DomainError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

DTYPES: Mapping[Type, str] = {
    Type.INTEGER: "int64",
    Type.DECIMAL: "float64",
    Type.BOOLEAN: "bool",
    Type.DATE: "datetime64[D]",
    Type.DATETIME: "datetime64[us]",
    **dict.fromkeys(WORDS, "object"),
}


def arrow_type(kind: Type) -> pa.DataType:
    """Give the Arrow type in which values of a declared type are written."""
    import pyarrow as pa

    return {
        Type.INTEGER: pa.int64(),
        Type.DECIMAL: pa.float64(),
        Type.BOOLEAN: pa.bool_(),
        Type.DATE: pa.date32(),
        Type.DATETIME: pa.timestamp("us"),
    }.get(kind, pa.string())


@dataclass(frozen=True)
class Column:
    """A column: its name, the type of its values, and all its labels in order where they can be listed."""

    name: str
    type: Type
    labels: tuple[str, ...] | None = None
    recoded: bool = False

    def arrow_type(self) -> pa.DataType:
        """The Arrow type in which the values are written."""
        import pyarrow as pa

        return arrow_type(self.type) if self.labels is None else pa.dictionary(pa.int32(), pa.string())

    def to_arrow(self, held: pa.Array) -> pa.Array:
        """Give values, or codes of labels, in the Arrow type in which rows leave an engine."""
        if self.labels is None:
            shape = self.arrow_type()
            # A cast imports pyarrow.compute, which takes 40 ms.
            return held if held.type == shape else held.cast(shape)
        return self.dictionary_array(number_values(held), missing_values(held) if held.null_count else None)

    def codes_of(self, labels: Sequence[str]) -> npt.NDArray[np.int64]:
        """Give the code of each of these labels: its index among the listed labels."""
        place = {label: code for code, label in enumerate(self.labels or ())}
        return np.array([place[label] for label in labels], dtype=np.int64)

    def dictionary_array(self, codes: npt.NDArray[Any], absent: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Turn codes into an Arrow dictionary array whose dictionary has the labels that occur, in order: equal rows give equal
        bytes.
        """
        import pyarrow as pa

        labels = np.array(self.labels, dtype=object)
        held = codes if absent is None else codes[~absent]
        used = np.flatnonzero(np.bincount(held, minlength=len(labels)))
        place = np.zeros(len(labels), dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        indices = number_array(place[codes], absent)
        return pa.DictionaryArray.from_arrays(indices, text_array(labels[used].tolist()))


def recoded_column(attribute: Attribute | None, column: Column, level: Level) -> Column:
    """Describe the column after recoding to a level; UsageError where the level does not fit the column."""
    if column.recoded or attribute is None:
        raise UsageError(
            "a column is recoded once, from the values of the input",
            came=column.name,
            fix="recode the table that was opened",
        )
    if isinstance(level, ValueLevel):
        listed = attribute.domain.values if isinstance(attribute.domain, Values) and attribute.type in WORDS else None
        return Column(column.name, column.type, None if listed is None else tuple(sorted(listed)), recoded=True)
    if isinstance(level, IntervalLevel) and not attribute.type.numeric:
        raise UsageError(
            "intervals need numbers, dates or times", came=f"'{column.name}' of type {attribute.type.value}"
        )
    if isinstance(level, MaskLevel):
        if attribute.type not in WORDS:
            raise UsageError("only text can be masked", came=f"'{column.name}' of type {attribute.type.value}")
        return Column(column.name, Type.TEXT, None, recoded=True)
    if isinstance(level, TopLevel):
        return Column(column.name, Type.TEXT, (level.label,), recoded=True)
    if isinstance(level, IntervalLevel | GroupLevel):
        return Column(column.name, Type.TEXT, tuple(sorted({*level.labels, MISSING})), recoded=True)
    raise UsageError("a level of a kind that engines do not know", came=type(level).__name__)


def refuse_uncovered(name: str, rows: int) -> None:
    """Raise DomainError where a level has no group for values of `rows` rows."""
    if rows:
        raise DomainError(
            f"attribute '{name}': some values are not in the hierarchy",
            came=f"{rows:,} row" + "s" * (rows != 1),
            fix="list every value of the domain in the hierarchy",
        )


def edges_of(level: IntervalLevel, kind: Type) -> Array:
    """Give the edges of a level in the type of the values; for whole numbers, an edge of 17.5 is 18."""
    inner = [math.ceil(edge) for edge in level.edges] if kind is Type.INTEGER else list(level.edges)
    return np.array(inner, dtype=object).astype(DTYPES[kind])


def interval_codes(column: Column, level: IntervalLevel) -> list[int]:
    """Give the code of each interval of a level among the labels of the recoded column."""
    code = {label: place for place, label in enumerate(column.labels or ())}
    return [code[label] for label in level.labels]


FEW_ROWS = 50_000
"""Values of so many rows are numbered without Arrow's functions."""


def to_numpy(column: pa.Array, kind: Type) -> Array:
    """Turn an Arrow column into NumPy values of the declared type; with missing values, into a masked array."""
    values, absent = _values(column, kind)
    return np.ma.MaskedArray(values, absent) if absent.any() else values


def _values(column: pa.Array, kind: Type) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Give the values of the declared type, and which are missing; no masked array, whose module takes 8 ms to import."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return text_values(column) if kind in WORDS else _numbers(column, kind), missing_values(column)


def _numbers(column: pa.Array, kind: Type) -> Array:
    wide = "int64" if kind in (Type.DATE, Type.DATETIME) else DTYPES[kind]
    return number_values(bare_numbers(column)).astype(wide).view(DTYPES[kind])


def encode(column: pa.Array, kind: Type) -> tuple[Array, npt.NDArray[np.int32]]:
    """Give the sorted distinct values of a column and the code of each row: the index of its value, ABSENT for missing."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if (found := _encode_alone(column, kind)) is not None:
        return found
    coded = column.dictionary_encode()
    values = to_numpy(coded.dictionary, kind)
    order = np.argsort(values, kind="stable")
    place = np.empty(len(order) + 1, dtype=np.int32)
    place[order], place[-1] = np.arange(len(order), dtype=np.int32), ABSENT
    return values[order], place[number_values(coded.indices, -1)]


def _encode_alone(column: pa.Array, kind: Type) -> tuple[Array, npt.NDArray[np.int32]] | None:
    """The same for few rows, without pyarrow.compute, whose import takes 40 ms; None for others, where hashing is faster."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) or len(column) > FEW_ROWS:
        return None
    every, absent = _values(column, kind)
    held = every[~absent]
    if kind not in WORDS:
        # Two zeros, and numbers that are none, are for Arrow to tell apart.
        odd = kind is Type.DECIMAL and (np.isnan(held) | ((held == 0) & np.signbit(held))).any()
        return None if odd else encode_distinct(column, kind)
    listed = sorted(set(held.tolist()))
    place = {text: code for code, text in enumerate(listed)}
    codes = np.full(len(absent), ABSENT, dtype=np.int32)
    codes[~absent] = [place[text] for text in held.tolist()]
    distinct = np.empty(len(listed), dtype=object)
    distinct[:] = listed
    return distinct, codes


def encode_distinct(column: pa.Array, kind: Type) -> tuple[Array, npt.NDArray[np.int32]]:
    """Do what `encode` does for a column whose values mostly differ: numbers are sorted, which is faster than hashing them."""
    if kind in WORDS:
        return encode(column, kind)
    bare, absent = _values(column, kind)
    numbers = bare.view("int64") if bare.dtype.kind == "M" else bare
    there = np.flatnonzero(~absent)
    order = there[np.argsort(numbers[there])]
    ranked = numbers[order]
    differs = np.ones(len(ranked), dtype=np.bool_)
    np.not_equal(ranked[1:], ranked[:-1], out=differs[1:])
    codes = np.full(len(bare), ABSENT, dtype=np.int32)
    codes[order] = np.cumsum(differs) - 1
    return bare[order[differs]], codes


def column_of(name: str, values: Array) -> tuple[Column, pa.Array]:
    """Make a column from NumPy values; its type is that of the array. UsageError where no column type fits."""
    import pyarrow as pa

    absent = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.zeros(len(values), bool)
    bare = np.asarray(values)
    kinds = {"i": Type.INTEGER, "u": Type.INTEGER, "f": Type.DECIMAL, "b": Type.BOOLEAN, "U": Type.TEXT, "O": Type.TEXT}
    kind = kinds.get(bare.dtype.kind)
    if bare.dtype.kind == "M":
        kind = Type.DATE if bare.dtype == np.dtype("datetime64[D]") else Type.DATETIME
    if kind is None or bare.ndim != 1:
        raise UsageError(
            "cannot attach such an array", came=f"{bare.dtype}, {bare.ndim} dimensions", allowed="one column"
        )
    column = Column(name, kind)
    if kind is Type.DECIMAL:
        bare = bare.astype("float64") + 0.0
        absent = absent | np.isnan(bare)
    if kind is Type.TEXT:
        absent = absent | np.array([value is None for value in bare.tolist()], dtype=bool)
        texts = [None if gone else value for value, gone in zip(bare.tolist(), absent.tolist(), strict=True)]
        if any(not isinstance(text, str) for text in texts if text is not None):
            raise UsageError(
                "cannot attach such an array", came="objects that are not all text", allowed="text or None"
            )
        return column, text_array(texts)
    return column, pa.array(bare.astype(DTYPES[kind]), type=column.arrow_type(), mask=absent)


def quantile_ranks(at: Sequence[float], rows: int) -> list[int]:
    """Give the rank, counted from 1, of each quantile among so many rows; shares are read as exact decimals.

    >>> quantile_ranks([0.25, 0.5, 1], 10)
    [3, 5, 10]
    """
    shares = [Fraction(str(share)) for share in at]
    if any(not 0 <= share <= 1 for share in shares):
        raise UsageError("a quantile is a share between 0 and 1", came=", ".join(map(str, at)), allowed="0..1")
    return [max(1, math.ceil(share * rows)) for share in shares]


def group_means(parts: Iterable[tuple[Array, Sequence[Array]]], names: Sequence[str]) -> dict[str, Array]:
    """Compute the mean of each column in each group; a part has the group numbers and the columns of some rows, in row order."""
    sums: list[Array] = [np.zeros(0) for _ in names]
    counts: list[Array] = [np.zeros(0, dtype=np.int64) for _ in names]
    for groups, columns in parts:
        if np.ma.getmaskarray(groups).any() or (len(groups) and int(groups.min()) < 0):
            raise UsageError("groups are numbered 0, 1, 2, … and none is missing")
        most = int(groups.max()) + 1 if len(groups) else 0
        for place, column in enumerate(columns):
            grown = max(most, len(sums[place]))
            sums[place], counts[place] = (np.pad(old, (0, grown - len(old))) for old in (sums[place], counts[place]))
            there = ~np.ma.getmaskarray(column)
            # One value after the other: the sum does not depend on where a part ends.
            np.add.at(sums[place], groups[there], np.asarray(column)[there].astype(np.float64))
            np.add.at(counts[place], groups[there], 1)
    with np.errstate(invalid="ignore"):
        return {name: total / count for name, total, count in zip(names, sums, counts, strict=True)}


Indices = npt.NDArray[np.int32]
UNKNOWN = -1
"""The index of a label that the caller does not list."""


def relabelled_columns(
    names: Sequence[str], known: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]
) -> tuple[Column, ...]:
    """Describe the columns after relabelling; UsageError where the lists of labels do not fit the columns."""
    refuse_known(names, known)
    _refuse_lists("new labels", names, labels)
    if any(len(a) != len(b) for a, b in pairwise(labels)):
        raise UsageError("every column has a new label for each number", came=", ".join(str(len(a)) for a in labels))
    return tuple(
        Column(name, Type.TEXT, tuple(sorted(set(new))), recoded=True) for name, new in zip(names, labels, strict=True)
    )


def refuse_known(names: Sequence[str], known: Sequence[Sequence[str]]) -> None:
    """Raise UsageError where there is no column, or labels are not listed once for each column."""
    if not names:
        raise UsageError("no column to relabel", came="none", allowed="at least one")
    _refuse_lists("labels that are known", names, known)
    for name, listed in zip(names, known, strict=True):
        if len(set(listed)) != len(listed):
            raise UsageError(f"column '{name}': a known label is listed twice", fix="list each label once")


def _refuse_lists(words: str, names: Sequence[str], given: Sequence[Sequence[str]]) -> None:
    if len(given) != len(names):
        raise UsageError(f"{words} are listed for each column", came=len(given), allowed=f"{len(names)} lists")


def labels_of(values: Array) -> list[str]:
    """Give values (none of them missing) as labels: texts as they are, other values as a policy spells them."""
    return [spell(value) for value in values.tolist()] if values.dtype.kind == "f" else texts(values)


def indices_of(values: Array, known: Sequence[str]) -> Indices:
    """Give the index in `known` of a missing value's label and then of each value's label; UNKNOWN where it is not listed."""
    index = {label: place for place, label in enumerate(known)}
    return np.array([index.get(label, UNKNOWN) for label in [MISSING, *labels_of(values)]], dtype=np.int32)


def refuse_unknown(name: str, indices: Indices) -> None:
    """Raise UsageError where a label occurs that the caller does not list; the message does not quote the label."""
    if len(indices) and int(indices.min()) == UNKNOWN:
        raise UsageError(
            f"column '{name}' shows a label that is not among those known", fix="list every label it may show"
        )


def assign_numbers(assign: Assignment, indices: Sequence[Indices], count: int) -> npt.NDArray[Any]:
    """Call `assign` for some tuples, unless there are none, and check that each number is below `count`."""
    if not len(indices[0]):
        return indices[0]
    numbers = assign(indices)
    if numbers.shape != indices[0].shape or numbers.dtype.kind not in "iu":
        raise UsageError("a whole number is needed for each tuple", came=f"{numbers.dtype} of shape {numbers.shape}")
    if not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
        raise UsageError(
            "a tuple was given a number that has no labels",
            came=f"{numbers.min()}..{numbers.max()}",
            allowed=f"0..{count - 1}",
        )
    return numbers
