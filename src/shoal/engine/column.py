"""What a column of a table is at one moment, and the two forms its values take outside an engine: Arrow and NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING, Cuts, Groups, Keep, Level, Masked, Whole
from shoal.data.schema import Attribute
from shoal.data.type import Type
from shoal.engine.base import ABSENT, Array
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


@dataclass(frozen=True)
class Column:
    """A name, what its values look like, and all its labels in order where they can be listed."""

    name: str
    type: Type
    labels: tuple[str, ...] | None = None
    recoded: bool = False

    def arrow_type(self) -> pa.DataType:
        """How its values are written."""
        import pyarrow as pa

        if self.labels is not None:
            return pa.dictionary(pa.int32(), pa.string())
        return {
            Type.INTEGER: pa.int64(),
            Type.DECIMAL: pa.float64(),
            Type.BOOLEAN: pa.bool_(),
            Type.DATE: pa.date32(),
            Type.DATETIME: pa.timestamp("us"),
        }.get(self.type, pa.string())

    def codes_of(self, labels: Sequence[str]) -> npt.NDArray[np.int64]:
        """The place of each of these labels among those that are listed."""
        place = {label: code for code, label in enumerate(self.labels or ())}
        return np.array([place[label] for label in labels], dtype=np.int64)

    def coded(self, codes: npt.NDArray[Any], absent: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Labels by their codes, with a dictionary of those that occur, in order: equal rows give equal bytes."""
        import pyarrow as pa

        labels = np.array(self.labels, dtype=object)
        held = codes if absent is None else codes[~absent]
        used = np.flatnonzero(np.bincount(held, minlength=len(labels)))
        place = np.zeros(len(labels), dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        indices = pa.array(place[codes], mask=absent)
        return pa.DictionaryArray.from_arrays(indices, pa.array(labels[used].tolist(), pa.string()))


def recoded(attribute: Attribute | None, column: Column, level: Level) -> Column:
    """What the column is after recoding; UsageError where the level does not fit it."""
    if column.recoded or attribute is None:
        raise UsageError(
            "a column is recoded once, from the values of the input",
            came=column.name,
            fix="recode the table that was opened",
        )
    if isinstance(level, Keep):
        listed = attribute.domain.values if isinstance(attribute.domain, Values) and attribute.type in WORDS else None
        return Column(column.name, column.type, None if listed is None else tuple(sorted(listed)), recoded=True)
    if isinstance(level, Cuts) and not attribute.type.numeric:
        raise UsageError(
            "intervals need numbers, dates or times", came=f"'{column.name}' of type {attribute.type.value}"
        )
    if isinstance(level, Masked):
        if attribute.type not in WORDS:
            raise UsageError("only text can be masked", came=f"'{column.name}' of type {attribute.type.value}")
        return Column(column.name, Type.TEXT, None, recoded=True)
    if isinstance(level, Whole):
        return Column(column.name, Type.TEXT, (level.label,), recoded=True)
    if isinstance(level, Cuts | Groups):
        return Column(column.name, Type.TEXT, tuple(sorted({*level.labels, MISSING})), recoded=True)
    raise UsageError("a level of a kind that engines do not know", came=type(level).__name__)


def refuse_uncovered(name: str, rows: int) -> None:
    """Raise where a level's table has no group for values that occur."""
    if rows:
        raise DomainError(
            f"attribute '{name}': some values are not in the hierarchy",
            came=f"{rows:,} row" + "s" * (rows != 1),
            fix="list every value of the domain in the hierarchy",
        )


def edges_of(level: Cuts, kind: Type) -> Array:
    """Edges in the type of the values; a whole number reaches 17.5 when it reaches 18."""
    inner = [math.ceil(edge) for edge in level.edges] if kind is Type.INTEGER else list(level.edges)
    return np.array(inner, dtype=object).astype(DTYPES[kind])


def natural(column: pa.Array, kind: Type) -> Array:
    """An Arrow column as NumPy values of the declared type; a masked array where something is missing."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    absent = column.is_null().to_numpy(zero_copy_only=False)
    if kind in WORDS:
        values = column.to_numpy(zero_copy_only=False)
    else:
        zero = {Type.BOOLEAN: False, Type.DECIMAL: 0.0}.get(kind, 0)
        bare = column.cast({Type.DATE: pa.int32(), Type.DATETIME: pa.int64()}.get(kind, column.type))
        values = bare.fill_null(zero).to_numpy(zero_copy_only=False).astype(_wide(kind)).view(DTYPES[kind])
    return np.ma.MaskedArray(values, absent) if absent.any() else values


def _wide(kind: Type) -> str:
    return "int64" if kind in (Type.DATE, Type.DATETIME) else DTYPES[kind]


def encoded(column: pa.Array, kind: Type) -> tuple[Array, npt.NDArray[np.int32]]:
    """The sorted values of a column and the place of each row's among them, ABSENT for missing."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    coded = column.dictionary_encode()
    values = natural(coded.dictionary, kind)
    order = np.argsort(values, kind="stable")
    place = np.empty(len(order) + 1, dtype=np.int32)
    place[order], place[-1] = np.arange(len(order), dtype=np.int32), ABSENT
    return values[order], place[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


def attached(name: str, values: Array) -> tuple[Column, pa.Array]:
    """A new column from NumPy values, whose type is that of the array."""
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
        return column, pa.array(texts, pa.string())
    return column, pa.array(bare.astype(DTYPES[kind]), type=column.arrow_type(), mask=absent)


def ranks(at: Sequence[float], rows: int) -> list[int]:
    """Which value, counted from 1, has at least each share of the values at or below it; shares are read as decimals."""
    shares = [Fraction(str(share)) for share in at]
    if any(not 0 <= share <= 1 for share in shares):
        raise UsageError("a quantile is a share of the rows", came=", ".join(map(str, at)), allowed="0..1")
    return [max(1, math.ceil(share * rows)) for share in shares]


def means(parts: Iterable[tuple[Array, Sequence[Array]]], names: Sequence[str]) -> dict[str, Array]:
    """Means by group number; each part has the groups and the columns of some rows, in row order."""
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
