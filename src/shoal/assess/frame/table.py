"""Published tables as frames that programs can use: values of their types, ordered categories, intervals, codes of sets.

    intervals="text"       labels stay labels, as categories
    intervals="columns"    each labelled column of numbers, dates or times is followed by NAME_low and NAME_high
    intervals="struct"     the two ends take the place of the label: a struct of Arrow and Polars, an Interval of pandas
    sets="text"            sets of values stay labels
    sets="codes"           a set has its short code in the place of its label

An interval holds its lower end and not its upper one. An upper end that is included is moved to the next number or microsecond,
so both say the same. A set of numbers with gaps has the ends of the whole. A missing value is null; in a table of counts it stays
the label `(missing)`, so that no line is lost when lines are grouped.

Categories are ordered where values have an order and no two labels overlap.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.assess.frame.column import EVERY, GONE, SET, VALUE, PublishedColumn, PublishedLabel
from shoal.data.hierarchy.level import MISSING
from shoal.data.type import Type, point, value_at
from shoal.engine.column import arrow_type
from shoal.errors import UsageError, VerificationError
from shoal.progress import Stage, each_of, silent

if TYPE_CHECKING:
    import pyarrow as pa

Intervals = Literal["text", "columns", "struct"]
Sets = Literal["text", "codes"]


@dataclass(frozen=True)
class TypedColumn:
    """How one column of a published table is typed."""

    column: PublishedColumn
    type: Type
    """The type of its cells, where they are values."""
    labels: tuple[PublishedLabel, ...] | None
    """Its labels; None where its cells are values, or labels that are not listed."""
    keeps_missing: bool = False
    """Whether a missing value stays a label."""

    @property
    def has_ends(self) -> bool:
        """Whether its labels stand for pieces of a line."""
        return self.labels is not None and self.column.type.numeric

    @property
    def is_ordered(self) -> bool:
        """Whether one label is before the other: values have an order, and no two labels overlap."""
        if self.labels is None or self.keeps_missing:
            return False
        own = [label for label in self.labels if label.kind != GONE]
        if self.column.type is Type.ORDINAL:
            return all(label.kind == VALUE for label in own)
        if not self.column.type.numeric or any(label.kind in (SET, EVERY) for label in own):
            return False
        spans = [span for span in map(self.column.span_of, own) if span is not None]
        ends = [(low, high) for low, high in spans if low is not None and high is not None]
        return len(ends) == len(own) and all(one[1] <= other[0] for one, other in pairwise(ends))


def typed_column(column: PublishedColumn, rules: tuple[str, ...], *, counts: bool) -> TypedColumn:
    """How a column of one table is typed, by its rule file; `counts` for a table of counts, where listed values are labels.

    A column with several rules shows labels of several levels: text, even where some are values.
    """
    if len(rules) == 1 and rules[0] in column.kept and (column.type.numeric or not counts):
        return TypedColumn(column, column.type, None, counts)
    if not column.unlisted.isdisjoint(rules):
        return TypedColumn(column, Type.TEXT, None, counts)
    return TypedColumn(column, Type.TEXT, column.labels_of(*rules), counts)


def check_options(intervals: str, sets: str) -> None:
    """Raise UsageError for an option that is none."""
    for name, came, allowed in (
        ("intervals", intervals, ("text", "columns", "struct")),
        ("sets", sets, ("text", "codes")),
    ):
        if came not in allowed:
            raise UsageError(f"{name} is none of its options", came=came, allowed=", ".join(allowed))


def typed_table(
    table: pa.Table,
    columns: Sequence[TypedColumn],
    *,
    intervals: Intervals = "text",
    sets: Sets = "text",
    stage: Stage = silent,
) -> pa.Table:
    """A published table with typed columns; columns of the table that are not described stay as they are. `stage` is told what is
    done.

    Raises     UsageError for an option that is none, VerificationError for a label that its rule does not have.
    """
    import pyarrow as pa

    check_options(intervals, sets)
    by_name = {each.column.name: each for each in columns}
    taken, found = set(table.column_names), {}
    for name in each_of(table.column_names, stage, "reading the labels"):
        own, cells = by_name.get(name), table.column(name)
        if own is None:
            found[name] = cells
        elif own.labels is None:
            found[name] = _values(own, cells)
        else:
            indices = _indices(own, cells)
            if not (intervals == "struct" and own.has_ends):
                found[name] = _categories(own, indices, sets)
            if intervals == "text" or not own.has_ends:
                continue
            ends = _ends(own, indices)
            if intervals == "struct":
                found[name] = pa.StructArray.from_arrays(ends, names=["low", "high"])
                continue
            for suffix, values in zip(("_low", "_high"), ends, strict=True):
                added = f"{name}{suffix}"
                while added in taken:
                    added += "_"
                taken.add(added)
                found[added] = values
    return pa.table(found)


def _indices(own: TypedColumn, cells: pa.ChunkedArray) -> Any:
    """For each cell the number of its label; the number after the last for a missing value that is null from now on."""
    import pyarrow as pa

    from shoal.assess.release.view import label_texts

    if not pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_encode(null_encoding="encode")
    encoded = cells.unify_dictionaries().combine_chunks()  # numbers: the texts of many parts do not fit into one array
    texts = label_texts(pa.chunked_array([encoded.dictionary]))
    labels = own.labels or ()
    place = {label.text: number for number, label in enumerate(labels) if own.keeps_missing or label.kind != GONE}
    place.setdefault(MISSING, len(labels))
    try:
        known = np.array([*(place[text] for text in texts), len(labels)], dtype=np.int64)
    except KeyError:
        raise VerificationError(f"column '{own.column.name}': a label that its rule does not have") from None
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    gone = encoded.indices.is_null().to_numpy(zero_copy_only=False)
    return known[np.where(gone, len(texts), np.nan_to_num(codes)).astype(np.int64)]


def _categories(own: TypedColumn, indices: Any, sets: Sets) -> pa.Array:
    """Labels, or codes of sets, as a dictionary in the order of the column."""
    import pyarrow as pa

    labels = own.labels or ()
    shown = [label.code if sets == "codes" and label.code is not None else label.text for label in labels]
    listed = list(
        dict.fromkeys(
            text for text, label in zip(shown, labels, strict=True) if own.keeps_missing or label.kind != GONE
        )
    )
    place = {text: number for number, text in enumerate(listed)}
    codes = np.array([*(place.get(text, 0) for text in shown), 0], dtype=np.int32)[indices]
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, pa.int32(), mask=indices == len(labels)), pa.array(listed, pa.string()), ordered=own.is_ordered
    )


def _ends(own: TypedColumn, indices: Any) -> list[pa.Array]:
    """The two ends of every cell's interval."""
    import pyarrow as pa

    pairs = [(None, None) if label.kind == GONE else end_values(own.column, label) for label in own.labels or ()]
    kind = arrow_type(own.column.type)
    return [pa.array([*(pair[end] for pair in pairs), None], kind).take(pa.array(indices)) for end in (0, 1)]


def end_values(column: PublishedColumn, label: PublishedLabel) -> tuple[Any, Any]:
    """The ends of a label's interval as values; an upper end that is included is moved to the next number or microsecond."""
    texts = column.end_texts(label)
    if texts is None:
        return None, None
    low, high = (value_at(column.type, point(column.type, text)) if text else None for text in texts[:2])
    if high is not None and texts[2]:
        high = math.nextafter(high, math.inf) if column.type is Type.DECIMAL else high + timedelta(microseconds=1)
    return low, high


def _values(own: TypedColumn, cells: pa.ChunkedArray) -> Any:
    """Cells that are values, in their own type; a category with its declared values, where they are listed."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        gone = [""] if own.keeps_missing and own.type not in _NUMBERS else ["", MISSING]
        absent = compute.is_in(cells, value_set=pa.array(gone))
        cells = compute.if_else(absent, None, cells)
    listed = own.column.values
    if own.type in (Type.CATEGORY, Type.ORDINAL) and listed is not None:
        texts = cells.cast(pa.string())
        places = compute.index_in(texts, value_set=pa.array(listed))
        if places.null_count == texts.null_count:
            ordered = own.type is Type.ORDINAL
            return pa.DictionaryArray.from_arrays(
                places.combine_chunks(), pa.array(listed, pa.string()), ordered=ordered
            )
    return cells.cast(arrow_type(own.type))


_NUMBERS = (Type.INTEGER, Type.DECIMAL, Type.BOOLEAN, Type.DATE, Type.DATETIME)


def as_pandas(table: pa.Table) -> Any:
    """A typed table as a pandas frame: whole numbers and truth stay such where some are missing, ends become Intervals."""
    import pyarrow as pa

    try:
        pd: Any = importlib.import_module("pandas")
    except ImportError:
        raise UsageError("pandas is not installed", fix="install pandas, or use to_arrow()") from None
    found = {}
    for field in table.schema:
        cells = table.column(field.name)
        if pa.types.is_struct(field.type):
            found[field.name] = _intervals(pd, cells.combine_chunks())
        elif pa.types.is_integer(field.type):
            found[field.name] = pd.array(cells.to_pandas(types_mapper=pd.ArrowDtype), dtype="Int64")
        elif pa.types.is_boolean(field.type):
            found[field.name] = pd.array(cells.to_pylist(), dtype="boolean")
        elif pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
            found[field.name] = pd.Series(cells.cast(pa.timestamp("us")).to_pandas(), dtype="datetime64[us]")
        else:
            found[field.name] = cells.to_pandas()
    return pd.DataFrame(found)


def _intervals(pd: Any, cells: pa.StructArray) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    low, high = cells.field("low"), cells.field("high")
    both = compute.and_(compute.is_valid(low), compute.is_valid(high))
    is_time = pa.types.is_date(low.type) or pa.types.is_timestamp(low.type)
    stored, shown = (pa.timestamp("us"), "datetime64[us]") if is_time else (pa.float64(), "float64")
    ends = [pd.Series(compute.if_else(both, each, None).cast(stored).to_pandas(), dtype=shown) for each in (low, high)]
    return pd.arrays.IntervalArray.from_arrays(ends[0].array, ends[1].array, closed="left")
